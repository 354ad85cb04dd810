"""Intervals against numbers worked by hand, against scikit-learn, and against simulated studies."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn.metrics import f1_score

from bakeoff.report import stats
from bakeoff.report.stats import Answers


def answers(correct: list[list[int]] | np.ndarray, *, first_seed: int = 0, groups: list[int] | np.ndarray | None = None) -> Answers:
    """Answers on rows that all bear label 1, right where `correct` [S, n] is 1."""
    predicted = np.asarray(correct, dtype=np.int64)
    rows = np.array([f"{i:06d}" for i in range(predicted.shape[1])])
    seeds = tuple((first_seed + s, first_seed + s) for s in range(len(predicted)))
    labels, of = np.ones(predicted.shape[1], np.int64), None if groups is None else np.asarray(groups, dtype=np.int64)
    return Answers(row_ids=rows, labels=labels, predicted=predicted, seeds=seeds, groups=of)


def test_two_seeds_and_four_rows_by_hand() -> None:
    # Seeds score 3/4 and 2/4: variance 1/32, A = 1/64. Rows are right in 1, 1, 1/2 and 0 of the seeds: variance 11/48, B = 11/192.
    a, b = 1 / 64, 11 / 192
    degrees = (a + b) ** 2 / (a**2 / 1 + b**2 / 3)
    found = stats.interval(np.array([0.75, 0.5]), row_variance=b, rows=4, least=-9, most=9)
    half = scipy_stats.t.ppf(0.975, degrees) * math.sqrt(a + b)
    assert found.degrees == pytest.approx(degrees) == pytest.approx(3.97298, abs=1e-4)
    assert (found.low, found.high) == pytest.approx((0.625 - half, 0.625 + half))
    assert found.sd == pytest.approx(math.sqrt(1 / 32))
    bounded = stats.estimate(answers([[1, 1, 1, 0], [1, 1, 0, 0]]), "accuracy")
    assert (bounded.mean, bounded.low, bounded.high, bounded.seeds, bounded.rows) == (0.625, 0.0, 1.0, 2, 4)
    assert bounded.degrees == pytest.approx(degrees)


def test_one_seed_leaves_the_rows() -> None:
    found = stats.estimate(answers([[1] * 80 + [0] * 20]), "accuracy")
    # 0.8 ± 1.98422 · sqrt(0.8 · 0.2 / 99)
    assert (found.low, found.high) == pytest.approx((0.8 - 0.079768, 0.8 + 0.079768), abs=1e-5)
    assert found.sd is None
    assert found.degrees == 99


def test_identical_seeds_leave_the_rows() -> None:
    one, three = answers([[1] * 80 + [0] * 20]), answers([[1] * 80 + [0] * 20] * 3)
    alone, together = stats.estimate(one, "accuracy"), stats.estimate(three, "accuracy")
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high))
    assert together.sd == 0.0


def test_all_right_gives_the_exact_binomial_bound() -> None:
    found = stats.estimate(answers([[1] * 50] * 3), "accuracy")
    exact = scipy_stats.binomtest(50, 50).proportion_ci(0.95, method="exact")
    assert (found.mean, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(exact.low)


def test_paired_difference_by_hand() -> None:
    a = answers([[1, 1, 1, 0], [1, 1, 1, 1]])
    b = answers([[1, 0, 1, 0], [0, 0, 1, 1]])
    # Seeds differ by 1/4 and 1/2: A = 1/64. Rows differ by 1/2, 1, 0, 0: variance 11/48, B = 11/192.
    found = stats.difference(a, b, "accuracy")
    assert found is not None
    assert found.mean == 0.375
    half = scipy_stats.t.ppf(0.975, found.degrees) * math.sqrt(1 / 64 + 11 / 192)
    assert (found.low, found.high) == pytest.approx((0.375 - half, min(1.0, 0.375 + half)))


def test_differences_pair_shared_seeds_only() -> None:
    a, b = answers([[1, 1, 0, 0], [1, 1, 1, 0]]), answers([[1, 0, 0, 0]], first_seed=1)
    found = stats.difference(a, b, "accuracy")
    assert found is not None
    assert (found.mean, found.seeds) == (0.5, 1)
    assert stats.difference(a, answers([[1, 0, 0, 0]], first_seed=5), "accuracy") is None
    assert stats.difference(a, answers([[1, 0, 0]]), "accuracy") is None


def test_the_same_answers_differ_by_nothing_that_is_known_exactly() -> None:
    a = answers([[1] * 70 + [0] * 30] * 3)
    found = stats.difference(a, a, "accuracy")
    assert found is not None
    assert (found.mean, found.excludes_zero) == (0.0, False)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 100)) == pytest.approx(-found.low)


def test_one_seed_and_three_groups_by_hand() -> None:
    found = stats.estimate(answers([[1, 1, 1, 0, 0, 1]], groups=[0, 0, 0, 1, 1, 2]), "accuracy")
    # Mean 2/3, so rows are off by 1/3 or −2/3, groups by 1, −4/3 and 1/3: squares 26/9, and B = 3/2 · 26/9 / 36 = 13/108.
    half = scipy_stats.t.ppf(0.975, 2) * math.sqrt(13 / 108)
    assert (found.rows, found.groups, found.degrees) == (6, 3, 2)
    assert half == pytest.approx(1.4928, abs=1e-4)
    assert (found.low, found.high) == (0.0, 1.0)
    wide = stats.interval(np.array([2 / 3]), row_variance=13 / 108, rows=6, groups=3, least=-9, most=9)
    assert (wide.low, wide.high) == pytest.approx((2 / 3 - half, 2 / 3 + half))


def test_two_seeds_and_groups_join_by_satterthwaite() -> None:
    # Seeds score 3/6 and 5/6: A = 1/36. Rows are right in 1, 1, 1, 0, 1/2, 1/2 of the seeds, so group 0 is off by 3 · 1/3,
    # group 1 by −2/3 and group 2 by 2 · −1/6: B = 3/2 · 14/9 / 36 = 7/108, and ν = (3 + 7)² / (3² + 7² / 2).
    correct = [[1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 1, 1]]
    found = stats.estimate(answers(correct, groups=[0, 0, 0, 1, 2, 2]), "accuracy")
    assert found.degrees == pytest.approx(100 / 33.5)
    assert (found.mean, found.groups) == (pytest.approx(2 / 3), 3)


def test_paired_difference_over_groups_by_hand() -> None:
    groups = np.repeat(np.arange(20), 5)
    a, b = (answers([np.isin(groups, list(right)).astype(int)], groups=groups) for right in (range(15), range(3, 13)))
    # a leads in groups 0 to 2, 13 and 14, so by 0.25: five groups are off by 5 · 0.75, fifteen by −5 · 0.25.
    variance = 20 / 19 * 25 * (5 * 0.75**2 + 15 * 0.25**2) / 100**2
    found, half = stats.difference(a, b, "accuracy"), scipy_stats.t.ppf(0.975, 19) * math.sqrt(variance)
    assert found is not None
    assert (found.mean, found.groups, found.degrees) == (0.25, 20, pytest.approx(19))
    assert (found.low, found.high) == pytest.approx((0.25 - half, 0.25 + half))
    assert half == pytest.approx(0.20792, abs=1e-5)


def test_what_one_file_knows_of_groups_holds_for_both() -> None:
    generator = np.random.default_rng(6)
    groups = np.repeat(np.arange(10), 6)
    correct = generator.integers(0, 2, (2, 1, 60))
    grouped, plain = ([answers(one, groups=of) for one in correct] for of in (groups, None))
    for metric in ("accuracy", "macro_f1"):
        expected = stats.difference(*grouped, metric)
        assert stats.difference(grouped[0], plain[1], metric) == stats.difference(plain[0], grouped[1], metric) == expected
        assert stats.difference(*plain, metric) != expected


def test_rows_that_each_are_a_group_change_nothing() -> None:
    correct = np.random.default_rng(8).integers(0, 2, (3, 80))
    alone, grouped = (stats.estimate(answers(correct, groups=of), "accuracy") for of in (None, np.arange(80)))
    assert (grouped.low, grouped.high, grouped.degrees) == pytest.approx((alone.low, alone.high, alone.degrees))


def test_copies_of_a_row_in_its_group_add_nothing() -> None:
    correct = np.random.default_rng(9).integers(0, 2, (2, 50))
    single = stats.estimate(answers(correct), "accuracy")
    copied = stats.estimate(answers(np.repeat(correct, 4, axis=1), groups=np.repeat(np.arange(50), 4)), "accuracy")
    assert (copied.low, copied.high, copied.degrees) == pytest.approx((single.low, single.high, single.degrees))


def test_one_group_says_nothing_of_others() -> None:
    found = stats.estimate(answers([[1, 1, 0, 0], [1, 1, 1, 0]], groups=[0] * 4), "accuracy")
    assert (found.low, found.high) == (0.0, 1.0)
    same = stats.estimate(answers([[1] * 40], groups=np.repeat(np.arange(8), 5)), "accuracy")
    assert same.low == pytest.approx(0.025 ** (1 / 8))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_intervals_hold_their_mean_and_turn_with_the_sign(seeds: int, rows: int, number: int) -> None:
    generator = np.random.default_rng(number)
    a, b = (answers(generator.integers(0, 2, (seeds, rows))) for _ in range(2))
    for metric in ("accuracy", "macro_f1"):
        one, there, back = stats.estimate(a, metric), stats.difference(a, b, metric), stats.difference(b, a, metric)
        assert there is not None
        assert back is not None
        assert 0 <= one.low <= one.mean <= one.high <= 1
        assert (there.mean, there.low, there.high) == pytest.approx((-back.mean, -back.high, -back.low))


def test_macro_f1_is_scikit_learns_over_classes_with_ten_rows() -> None:
    generator = np.random.default_rng(3)
    labels = np.r_[generator.integers(0, 4, 300), np.full(9, 4)]
    predicted = np.where(generator.random(309) < 0.7, labels, generator.integers(0, 6, 309))
    (found,) = stats.macro_f1(labels, predicted)
    assert found == pytest.approx(f1_score(labels, predicted, labels=range(4), average="macro"))
    (few,) = stats.macro_f1(labels[:5], predicted[:5])
    assert few == pytest.approx(f1_score(labels[:5], predicted[:5], labels=np.unique(labels[:5]), average="macro", zero_division=0))


def test_resampled_macro_f1_is_macro_f1_of_resampled_rows() -> None:
    generator = np.random.default_rng(4)
    labels, predicted = generator.integers(0, 3, (2, 200))
    weights = np.concatenate(list(stats.resampling_weights(200)))
    assert weights.shape == (stats.RESAMPLES, 200)
    assert (weights.sum(axis=1) == 200).all()
    rows = np.repeat(np.arange(200), weights[17].astype(int))
    found = stats.macro_f1(labels, predicted, weights=weights)
    assert found[17] == pytest.approx(f1_score(labels[rows], predicted[rows], average="macro"))


def test_bootstrap_spread_of_macro_f1_agrees_with_the_delta_method() -> None:
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 2, 1500)
    predicted = np.where(generator.random(1500) < 0.8, labels, 1 - labels)
    influence = np.zeros(1500)
    for c in (0, 1):
        is_label, is_predicted = labels == c, predicted == c
        f1 = 2 * (is_label & is_predicted).sum() / (is_label.sum() + is_predicted.sum())
        influence += (2 * (is_label & is_predicted) - f1 * (is_label + 1.0 * is_predicted)) / (is_label.mean() + is_predicted.mean()) / 2
    expected = 1.96 * influence.std() / math.sqrt(1500)
    rows = np.array([f"{i:06d}" for i in range(1500)])
    found = stats.estimate(Answers(row_ids=rows, labels=labels, predicted=predicted[None], seeds=((0, 0),)), "macro_f1")
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.1)


def test_bootstrap_of_groups_draws_whole_groups_and_is_as_wide_as_the_formula() -> None:
    generator = np.random.default_rng(10)
    groups = np.repeat(np.arange(60), 10)
    (weights, *_) = stats.resampling_weights(600, groups)
    assert all((row.reshape(60, 10) == row.reshape(60, 10)[:, :1]).all() for row in weights)
    assert weights.reshape(-1, 60, 10)[:, :, 0].sum(axis=1).tolist() == [60.0] * stats.RESAMPLES
    # With balanced classes and errors alike in both, macro-F1 is accuracy to first order.
    labels = np.tile([0, 1], 300)
    wrong = (generator.random(60) < 0.2)[groups] ^ (generator.random(600) < 0.05)
    rows = np.array([f"{i:06d}" for i in range(600)])
    found = Answers(row_ids=rows, labels=labels, predicted=np.where(wrong, 1 - labels, labels)[None], seeds=((0, 0),), groups=groups)
    by_metric = [stats.estimate(found, metric) for metric in ("macro_f1", "accuracy")]
    macro, accuracy = ((one.high - one.low) / 2 for one in by_metric)
    assert macro == pytest.approx(accuracy, rel=0.1)
    by_row = stats.estimate(Answers(row_ids=rows, labels=labels, predicted=found.predicted, seeds=found.seeds), "macro_f1")
    assert macro > 2 * (by_row.high - by_row.low) / 2
    assert [one.degrees for one in by_metric] == pytest.approx([59, 59])


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("sd", [0.005, 0.02])
def test_coverage_of_simulated_studies(seeds: int, sd: float) -> None:
    """Rows differ in difficulty, seeds in skill; 300 studies of 500 rows: 90% to 98.5% of the intervals hold the truth."""
    generator, truth, held = np.random.default_rng(seeds), 0.75, 0
    for _ in range(300):
        difficulty = generator.choice([-0.2, 0.2], size=500)
        skill = generator.normal(0, sd, size=(seeds, 1))
        found = stats.estimate(answers(generator.random((seeds, 500)) < truth + difficulty + skill), "accuracy")
        held += found.low <= truth <= found.high
    assert 0.90 <= held / 300 <= 0.985


def test_coverage_of_simulated_studies_in_groups() -> None:
    """40 groups of 5 to 15 rows that share their difficulty: row-wise intervals would hold the truth in 6 studies of 10."""
    generator, truth, held, by_row = np.random.default_rng(11), 0.75, 0, 0
    for _ in range(300):
        groups = np.repeat(np.arange(40), generator.integers(5, 16, size=40))
        share = truth + generator.choice([-0.24, 0.24], size=40)[groups] + generator.normal(0, 0.01, size=(3, 1))
        correct = generator.random((3, len(groups))) < share
        found, rows = (stats.estimate(answers(correct, groups=of), "accuracy") for of in (groups, None))
        held, by_row = held + (found.low <= truth <= found.high), by_row + (rows.low <= truth <= rows.high)
    assert 0.90 <= held / 300 <= 0.985
    assert by_row / 300 < 0.80
