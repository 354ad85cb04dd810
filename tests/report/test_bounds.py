"""One-sided bounds and Holm against scipy, statsmodels and numbers worked by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

from bakeoff.report import bounds, stats
from bakeoff.report.stats import Estimate


def loss(mean: float, *, a: float = 0.0, b: float = 0.0, seeds: int = 3, rows: int = 1000, groups: int | None = None) -> Estimate:
    """A loss with these variances of its mean."""
    apart = math.sqrt(a * seeds)  # three scores mean − x, mean, mean + x have variance x²
    scores = np.array([mean - apart, mean, mean + apart]) if seeds == 3 else np.full(seeds, mean)
    return stats.interval(scores, row_variance=b, rows=rows, groups=groups, least=-1.0, most=1.0)


def test_holm_is_statsmodels() -> None:
    generator = np.random.default_rng(0)
    for count in (*range(1, 13), 12, 12, 12):
        p_values = list(generator.random(count) ** 4)
        rejected, adjusted, *_ = multipletests(p_values, alpha=0.05, method="holm")
        found = bounds.holm(p_values)
        assert found.adjusted == pytest.approx(adjusted)
        assert [p < level for p, level in zip(p_values, found.levels, strict=True)] == rejected.tolist()


def test_holm_by_hand() -> None:
    # 0.01 < 0.05/3; then 0.03 > 0.05/2 stops it, and 0.04 is held to 0.05/2 as well.
    found = bounds.holm([0.04, 0.01, 0.03])
    assert found.adjusted == pytest.approx((0.06, 0.03, 0.06))
    assert found.levels == pytest.approx((0.025, 0.05 / 3, 0.025))


def test_bounds_and_p_values_by_hand() -> None:
    found = loss(0.004, a=4e-6, b=5e-6)
    assert found.standard_error == pytest.approx(0.003)
    # Satterthwaite: (4 + 5)² / (4² / 2 + 5² / 999) = 81 / 8.025
    assert found.degrees == pytest.approx(10.0934, abs=1e-4)
    half = scipy_stats.t.ppf(0.95, found.degrees) * 0.003
    assert bounds.bound(found, level=0.05, side="below") == pytest.approx(0.004 + half)
    assert bounds.bound(found, level=0.05, side="above") == pytest.approx(0.004 - half)
    assert bounds.p_value(found, margin=0.01, side="below") == pytest.approx(scipy_stats.t.sf(2, found.degrees))
    assert bounds.p_value(found, margin=0.01, side="above") == pytest.approx(scipy_stats.t.cdf(2, found.degrees))


def test_answers_that_all_agree_have_the_exact_bound() -> None:
    found = loss(0.0, rows=100)
    assert bounds.bound(found, level=0.05, side="below") == pytest.approx(1 - 0.05 ** (1 / 100)) == pytest.approx(0.029513, abs=1e-6)
    assert bounds.p_value(found, margin=0.01, side="below") == pytest.approx(0.99**100)
    assert bounds.p_value(found, margin=0.01, side="above") == 1.0
    assert bounds.p_value(loss(0.0, rows=100, groups=20), margin=0.01, side="below") == pytest.approx(0.99**20)


@settings(max_examples=200)
@given(st.floats(-0.1, 0.1), st.floats(0, 1e-3), st.floats(0, 1e-3), st.floats(0.001, 0.2), st.sampled_from(["below", "above"]))
def test_a_bound_passes_the_margin_exactly_where_its_p_value_is_below_its_level(mean, a, b, level, side) -> None:  # type: ignore[no-untyped-def]
    found, margin = loss(mean, a=a, b=b), 0.01
    p, bound = bounds.p_value(found, margin=margin, side=side), bounds.bound(found, level=level, side=side)
    if abs(p - level) > 1e-9:
        assert (p < level) == (bound < margin if side == "below" else bound > margin)


def test_rows_that_would_decide_by_hand() -> None:
    # SE is 1 point and all of it between rows, so 1.645 · 1 point · sqrt(1000 / n) < 1 point from n = 2,706 up.
    found = bounds.needed(loss(0.0, b=1e-4), margin=0.01, level=0.05)
    assert found.units == "test rows"
    assert found.more_units == pytest.approx(1706, rel=0.02)
    assert found.more_draws is None
    enough = 1000 + (found.more_units or 0)
    assert bounds.bound(loss(0.0, b=0.1 / enough, rows=enough), level=0.05, side="below") < 0.01


def test_draws_that_would_decide_by_hand() -> None:
    # A = (1 point)² at 3 draws, with S − 1 degrees: t(0.95, S − 1) · sqrt(3 / S) < 1 first holds at S = 11.
    found = bounds.needed(loss(0.0, a=1e-4), margin=0.01, level=0.05)
    holds = [scipy_stats.t.ppf(0.95, s - 1) * math.sqrt(3 / s) < 1 for s in range(3, 12)]
    assert holds.index(True) == (found.more_draws or 0)
    assert found.more_units is None


def test_over_folds_nothing_but_a_larger_pool_decides() -> None:
    assert bounds.needed(replace(loss(0.0, b=1e-4), folds=5), margin=0.01, level=0.05) is None


def test_both_kinds_of_spread_may_each_be_enough_or_neither() -> None:
    neither = bounds.needed(loss(0.0, a=1e-4, b=1e-4), margin=0.01, level=0.05)
    assert (neither.more_units, neither.more_draws) == (None, None)
    both = bounds.needed(loss(0.0, a=4e-6, b=2.4e-5), margin=0.01, level=0.025)
    assert both.more_units is not None
    assert both.more_draws is not None
    assert bounds.needed(loss(0.01, b=1e-4), margin=0.01, level=0.05).more_units is None
    assert bounds.needed(loss(0.0, b=1e-4, groups=50), margin=0.01, level=0.05).units == "groups"
