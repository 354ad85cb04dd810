"""Every claim is where its name says, and complete."""

import re
from pathlib import Path

import pytest

from bakeoff.claims import registry
from bakeoff.claims.claim import Claim, Kind
from bakeoff.errors import ConfigError

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", registry.NAMES)
def test_a_claim_is_complete(name: str) -> None:
    claim = registry.load(name)
    assert claim.name == name
    assert claim.kind == registry.KIND_OF[name]
    assert claim.statement
    assert claim.rule
    assert re.search(r"\b(Varied|Counted|Measured)\b", claim.how), f"the docstring of {name} does not say what is varied and measured"
    assert not re.search(r"  |[*`]", claim.how)
    assert set(claim.seconds) <= {"small", "full"}
    assert claim.seconds
    assert all(seconds > 0 for seconds in claim.seconds.values())
    for sweep in claim.sweeps:
        assert (ROOT / "sweeps" / "claims" / f"{sweep}.yaml").is_file(), f"{name} names a sweep that is not there"


def test_every_file_is_registered_and_every_sweep_is_used() -> None:
    modules = {registry.module_of(name).rpartition(".")[2] for name in registry.NAMES}
    for kind, names in registry.BY_KIND.items():
        folder = ROOT / "src" / "bakeoff" / "claims" / kind
        claims = {path.stem for path in folder.glob("*.py") if re.search(r"^CLAIM\b", path.read_text(encoding="utf-8"), re.MULTILINE)}
        assert claims == {name.replace("-", "_") for name in names}
    assert len(modules) == len(registry.NAMES)
    used = {sweep for name in registry.NAMES for sweep in registry.load(name).sweeps}
    assert {path.stem for path in (ROOT / "sweeps" / "claims").glob("*.yaml")} == used


def test_the_small_forms_fit_two_cores() -> None:
    small = {name: registry.load(name).seconds.get("small") for name in registry.NAMES}
    limits: dict[Kind, int] = {"mechanism": 60, "cost": 20 * 60}
    for kind, limit_seconds in limits.items():
        claims = [registry.load(name) for name in registry.BY_KIND[kind]]
        assert None not in [small[claim.name] for claim in claims]
        assert registry.seconds_together(claims, "small") <= limit_seconds
    needed = ("labels-1000", "learning-rate", "tokeniser", "needle", "masked-lm-helps", "typos", "long-documents")
    assert all(small[name] is not None for name in needed)


def test_what_several_claims_bake_is_counted_once() -> None:
    def takes(*names: str) -> float:
        return registry.seconds_together([registry.load(name) for name in names], "small")

    assert takes("inference-cost") == takes("distilled") == 440
    assert takes("inference-cost", "distilled") == takes("distilled", "inference-cost") == 450
    assert takes("zero-shot-first") == 450
    assert takes("labels-1000", "crossover", "zero-shot-first") == 1600 + 700 + 20


@pytest.mark.parametrize("name", registry.NAMES)
def test_what_is_shared_is_a_part_and_told_once(name: str) -> None:
    claim = registry.load(name)
    for other, shared in claim.shared_seconds.items():
        its: Claim = registry.load(other)
        assert name not in its.shared_seconds
        assert all(0 < seconds < min(claim.seconds[size], its.seconds[size]) for size, seconds in shared.items())


def test_a_name_that_is_none_meets_the_nearest() -> None:
    registry.check_names(["needle", "typos"])
    with pytest.raises(ConfigError, match=r"^labels_1000 is no claim; did you mean labels-1000\?$"):
        registry.check_names(["needle", "labels_1000"])
    with pytest.raises(ConfigError, match=r"^zzz is no claim; there are worked-example, sqrt-dk, "):
        registry.check_names(["zzz"])
