"""Scores against hand-worked numbers and scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from bakeoff.probes import quality

CLASSES = ("a", "b", "c")


def probabilities(rows: list[list[float]]) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


def test_a_worked_example() -> None:
    labels = np.array([0, 0, 1, 1])
    scored = quality.score(
        labels, probabilities([[0.8, 0.2, 0], [0.4, 0.6, 0], [0.1, 0.9, 0], [0.25, 0.75, 0]]), CLASSES, fit_labels=np.array([1, 1, 0])
    )
    assert scored.n == 4
    assert scored.accuracy == 0.75
    assert scored.macro_f1_all == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert scored.log_loss == pytest.approx(-(math.log(0.8) + math.log(0.4) + math.log(0.9) + math.log(0.75)) / 4, abs=1e-6)
    assert scored.brier == pytest.approx((0.08 + 0.72 + 0.02 + 0.125) / 4, abs=1e-6)
    assert scored.majority_baseline == 0.5
    assert not scored.collapsed
    assert (scored.classes["a"].precision, scored.classes["a"].recall) == (1.0, 0.5)
    assert (scored.classes["b"].precision, scored.classes["b"].recall) == (pytest.approx(2 / 3), 1.0)
    assert (scored.classes["c"].support, scored.classes["c"].precision, scored.classes["c"].recall) == (0, None, None)


def test_macro_f1_counts_classes_of_ten_rows_and_all_of_them_where_none_has_ten() -> None:
    labels = np.array([0] * 10 + [1] * 12 + [2] * 2)
    answers = np.array([0] * 10 + [1] * 12 + [0] * 2)
    scored = quality.score(labels, np.eye(3, dtype=np.float32)[answers], CLASSES, fit_labels=labels)
    f1_a = 2 * 10 / (10 + 12)
    assert scored.macro_f1 == pytest.approx((f1_a + 1.0) / 2)
    assert scored.macro_f1_all == pytest.approx((f1_a + 1.0 + 0.0) / 3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_scores_are_scikit_learns(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, n)
    given_probabilities = random.dirichlet([1, 1, 1], n).astype(np.float32)
    scored = quality.score(labels, given_probabilities, CLASSES, fit_labels=labels)
    predicted = given_probabilities.argmax(axis=1)
    assert scored.accuracy == pytest.approx(metrics.accuracy_score(labels, predicted))
    present = sorted(set(labels.tolist()))
    assert scored.macro_f1_all == pytest.approx(metrics.f1_score(labels, predicted, labels=present, average="macro", zero_division=0))
    exact = given_probabilities.astype(float) / given_probabilities.astype(float).sum(axis=1, keepdims=True)
    assert scored.log_loss == pytest.approx(metrics.log_loss(labels, exact, labels=[0, 1, 2]))
    assert 0 <= scored.ece <= 1


def test_calibration_error_by_hand() -> None:
    confidence = np.array([0.95, 0.95, 0.55, 0.55])
    correct = np.array([True, True, True, False])
    assert quality.expected_calibration_error(confidence, correct) == pytest.approx((2 * 0.05 + 2 * 0.05) / 4)


def test_one_class_for_every_row_is_collapsed_and_near_chance() -> None:
    labels = np.array([0, 1] * 50)
    scored = quality.score(labels, np.tile(probabilities([[0.2, 0.8, 0]]), (100, 1)), CLASSES, fit_labels=labels)
    assert scored.collapsed
    codes = {diagnostic.code: diagnostic.message for diagnostic in quality.diagnose(scored, labels, learning_rate=0.1)}
    assert set(codes) == {"collapsed", "near_chance"}
    assert codes["near_chance"].endswith("check the learning rate first (it is 0.1)")


@pytest.mark.parametrize(("right", "near"), [(50, True), (58, True), (59, False), (70, False)])
def test_near_chance_is_what_always_answering_one_class_explains(right: int, near: bool) -> None:
    labels = np.array([0, 1] * 50)
    answers = labels.copy()
    answers[right:] = 1 - answers[right:]
    scored = quality.score(labels, np.eye(3, dtype=np.float32)[answers], CLASSES, fit_labels=labels)
    # the exact one-sided 95% lower bound of 58 in 100 is 49.3%, of 59 in 100 it is 50.3%
    assert [found.code for found in quality.diagnose(scored, labels, learning_rate=None)] == (["near_chance"] if near else [])


def test_a_good_model_has_no_diagnostics() -> None:
    labels = np.array([0, 1] * 50)
    scored = quality.score(labels, np.eye(3, dtype=np.float32)[labels], CLASSES, fit_labels=labels)
    assert quality.diagnose(scored, labels, learning_rate=1e-3) == ()


@pytest.mark.parametrize("bad", [[[float("nan"), 1, 0]], [[float("inf"), 0, 0]]])
def test_what_is_not_finite_has_no_score(bad: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="nothing to score"):
        quality.score(np.array([0]), probabilities(bad), CLASSES, fit_labels=np.array([0]))
