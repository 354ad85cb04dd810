"""The rules that claims are judged by, on worked examples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import binom, ttest_1samp

from bakeoff.claims import rules
from bakeoff.claims.claim import Interval, Verdict
from bakeoff.report import stats


def between(low: float, high: float) -> Interval:
    return Interval(low=low, high=high)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        (between(10, 40), "holds"),
        (between(18, 22), "holds"),
        (between(9.9, 15), "inconclusive"),
        (between(30, 40.1), "inconclusive"),
        (between(5, 50), "inconclusive"),
        (between(2, 9.9), "does not hold"),
        (between(40.1, 60), "does not hold"),
    ],
)
def test_about_twenty_times_is_from_ten_to_forty(interval: Interval, verdict: Verdict) -> None:
    assert rules.about(20, interval) == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.4, 2.2, "holds"), (1.39, 1.8, "inconclusive"), (1.1, 1.39, "does not hold"), (2.21, 3.0, "does not hold")],
)
def test_sixty_percent_faster(low: float, high: float, verdict: Verdict) -> None:
    assert rules.sixty_percent_faster(between(low, high)) == verdict


@pytest.mark.parametrize(
    ("low", "high", "point", "competitive"),
    [
        (-0.5, 1.0, "holds", "holds"),
        (0.2, 1.1, "inconclusive", "holds"),
        (1.1, 2.0, "does not hold", "holds"),
        (1.9, 2.1, "does not hold", "inconclusive"),
        (2.1, 9.0, "does not hold", "does not hold"),
        (-9.0, -4.0, "holds", "holds"),
    ],
)
def test_a_loss_within_a_point_and_competitive(low: float, high: float, point: Verdict, competitive: Verdict) -> None:
    assert (rules.within_a_point(between(low, high)), rules.competitive(between(low, high))) == (point, competitive)


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [(0.1, 2.0, "holds", "does not hold"), (-1.0, 1.0, "inconclusive", "inconclusive"), (-2.0, 0.0, "does not hold", "inconclusive")],
)
def test_above_and_below_zero(low: float, high: float, above: Verdict, below: Verdict) -> None:
    assert (rules.above(0, between(low, high)), rules.below(0, between(low, high))) == (above, below)
    assert rules.below(0, between(-2.0, -0.1)) == "holds"


def test_near_chance_and_trains() -> None:
    assert rules.near_chance(between(0.48, 0.52), majority=0.5) == "holds"
    assert rules.near_chance(between(0.48, 0.53), majority=0.5) == "inconclusive"
    assert rules.near_chance(between(0.53, 0.6), majority=0.5) == "does not hold"
    assert (rules.trains(0.75, majority=0.5), rules.trains(0.751, majority=0.5)) == (False, True)


def test_several_questions_fail_by_one() -> None:
    assert rules.all_of(["holds", "holds"]) == "holds"
    assert rules.all_of(["holds", "inconclusive"]) == "inconclusive"
    assert rules.all_of(["inconclusive", "does not hold", "holds"]) == "does not hold"
    assert rules.all_of(["inconclusive", "cannot be tested here"]) == "cannot be tested here"
    assert (rules.exact(True), rules.exact(False)) == ("holds", "does not hold")


def test_parameter_counts_match_within_five_per_cent() -> None:
    assert rules.matched([1000, 950])
    assert not rules.matched([1000, 949])
    assert rules.matched([1000, 980, 960])


def test_a_mean_over_draws_has_students_interval() -> None:
    draws = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = rules.over_draws(draws)
    expected = ttest_1samp(draws, 0).confidence_interval(0.95)
    assert found.figure == 3
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.interval.low == pytest.approx(1.0368, abs=5e-5)
    assert found.detectable == pytest.approx(math.sqrt(0.5) * (2.776445 + 0.940965), abs=1e-5)
    with pytest.raises(ValueError, match="at least two"):
        rules.over_draws([1.0])


@given(some.lists(some.floats(-50, 50), min_size=2, max_size=12))
def test_the_detectable_difference_is_that_of_the_pages(values: list[float]) -> None:
    found = rules.over_draws(values)
    same = stats.interval(np.asarray(values), row_variance=0.0, rows=2, least=-1e9, most=1e9)
    if np.ptp(values) > 1e-6:
        assert found.detectable == pytest.approx(stats.smallest_detectable(same), rel=1e-6)
    assert found.interval.low <= found.figure <= found.interval.high


@given(some.lists(some.floats(0.01, 100), min_size=2, max_size=8), some.floats(0.1, 10))
def test_a_ratio_scales_with_its_unit(ratios: list[float], scale: float) -> None:
    found, scaled = rules.times_over_draws(ratios), rules.times_over_draws([ratio * scale for ratio in ratios])
    assert scaled.figure == pytest.approx(found.figure * scale, rel=1e-9)
    assert scaled.interval.high == pytest.approx(found.interval.high * scale, rel=1e-6)
    assert scaled.detectable == pytest.approx(found.detectable, rel=1e-6)
    assert found.detectable >= 1


def test_a_difference_in_points() -> None:
    estimate = stats.interval(np.array([0.01, 0.02, 0.03]), row_variance=0.0, rows=1000, least=-1.0, most=1.0)
    found = rules.in_points(estimate)
    assert found.figure == pytest.approx(2.0)
    assert found.interval.high - found.figure == pytest.approx(4.302653 / math.sqrt(3), abs=1e-5)
    assert found.detectable == pytest.approx(100 * stats.smallest_detectable(estimate))


def barnard(hits: int, other_hits: int, of: int) -> float:
    """Barnard's test by its definition: the largest chance, whatever the common share, of a table that is at least as uneven."""
    counts = np.arange(of + 1)
    first, other = np.meshgrid(counts / of, counts / of, indexing="ij")
    pooled = (first + other) / 2
    with np.errstate(invalid="ignore"):
        statistic = np.nan_to_num(np.abs(first - other) / np.sqrt(pooled * (1 - pooled) * 2 / of))
    uneven = statistic >= statistic[hits, other_hits] - 1e-9
    chances = [binom.pmf(counts, of, share) for share in np.linspace(0.001, 0.999, 999)]
    return float(max(np.outer(chance, chance)[uneven].sum() for chance in chances))


def test_shares_are_told_apart_by_an_exact_test() -> None:
    clear = rules.shares(10, 10, 2, 10)
    assert clear.difference.figure == pytest.approx(80)
    assert clear.p_value == pytest.approx(barnard(10, 2, 10), rel=1e-3)
    assert rules.more_often(clear) == "holds"
    assert rules.more_often(rules.shares(2, 10, 10, 10)) == "does not hold"
    # Newcombe (1998), table II: 56/70 against 48/80 is 0.2000 (0.0524 to 0.3339) by method 10.
    known = rules.shares(56, 70, 48, 80).difference
    assert (known.figure, known.interval.low, known.interval.high) == pytest.approx((20.0, 5.24, 33.39), abs=0.005)


def test_shares_that_are_alike_say_what_could_have_been_seen() -> None:
    alike = rules.shares(10, 10, 10, 10)
    assert (alike.p_value, alike.difference.figure) == (1.0, 0.0)
    assert rules.more_often(alike) == "inconclusive"
    assert alike.difference.detectable is None  # no share is above ten of ten
    half = rules.shares(6, 10, 5, 10)
    assert rules.more_often(half) == "inconclusive"
    assert half.difference.detectable == pytest.approx(50)
