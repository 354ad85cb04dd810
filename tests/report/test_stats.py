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


def answers(correct: list[list[int]] | np.ndarray, *, first_seed: int = 0) -> Answers:
    """Answers on rows that all bear label 1, right where `correct` [S, n] is 1."""
    predicted = np.asarray(correct, dtype=np.int64)
    rows = np.array([f"{i:06d}" for i in range(predicted.shape[1])])
    seeds = tuple((first_seed + s, first_seed + s) for s in range(len(predicted)))
    return Answers(row_ids=rows, labels=np.ones(predicted.shape[1], np.int64), predicted=predicted, seeds=seeds)


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
