"""Simulated studies with known truths; `benchmarks/choosing.py` runs them at full size."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "choosing.py"


@pytest.fixture(scope="module")
def choosing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("choosing", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["choosing"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("competitors", "studies"), [(2, 200), (12, 40)])
def test_the_cheapest_is_not_recommended_where_it_is_three_points_worse(choosing: ModuleType, competitors: int, studies: int) -> None:
    assert choosing.share_wrong(competitors=competitors, studies=studies, seed_sd=0.01) <= 0.05


def test_the_cheapest_is_recommended_where_nothing_is_lost(choosing: ModuleType) -> None:
    assert choosing.share_wrong(competitors=2, studies=40, seed_sd=0.002, seeds=5, rows=8000, worse=0.0) >= 0.8


@pytest.mark.parametrize("seeds", [3, 10])
@pytest.mark.parametrize("seed_sd", [0.005, 0.02])
def test_intervals_hold_the_truth(choosing: ModuleType, seeds: int, seed_sd: float) -> None:
    assert choosing.coverage(seeds=seeds, seed_sd=seed_sd, studies=200) >= 0.90


@pytest.mark.stress
@pytest.mark.parametrize("competitors", [2, 12])
@pytest.mark.parametrize("seed_sd", [0.005, 0.01])
def test_the_cheapest_at_full_size(choosing: ModuleType, competitors: int, seed_sd: float) -> None:
    assert choosing.share_wrong(competitors=competitors, studies=2000, seed_sd=seed_sd) <= 0.05


@pytest.mark.stress
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("seed_sd", [0.005, 0.01, 0.02])
def test_coverage_at_full_size(choosing: ModuleType, seeds: int, seed_sd: float) -> None:
    assert choosing.coverage(seeds=seeds, seed_sd=seed_sd, studies=1000) >= 0.92
