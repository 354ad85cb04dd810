"""How right saved predictions are: computed once, over all rows, outside the training loop."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest
from sklearn.metrics import log_loss, precision_recall_fscore_support

from bakeoff.record import MACRO_MIN_ROWS, ClassQuality, Diagnostic, SplitQuality

ECE_BINS = 15

Labels = npt.NDArray[np.int64]


def score(
    labels: Labels,
    probabilities: npt.NDArray[np.float32],
    classes: Sequence[str],
    *,
    fit_labels: Labels,
    with_probabilities: bool = True,
) -> SplitQuality:
    """Quality of `probabilities` (rows, classes) against `labels` (rows,), class indices.

    `with_probabilities` is False where they only say which label was answered: then what judges them is null.

    The majority baseline answers the class that is largest in `fit_labels`. Raises ValueError without rows or with
    a probability that is not finite, since neither has a score.
    """
    if len(labels) == 0 or not np.isfinite(probabilities).all():
        raise ValueError("no rows, or probabilities that are not finite: there is nothing to score")
    n_classes = len(classes)
    exact = probabilities.astype(np.float64)
    exact /= exact.sum(axis=1, keepdims=True)
    predicted = exact.argmax(axis=1)
    correct = predicted == labels
    precision, recall, f1, support = precision_recall_fscore_support(labels, predicted, labels=range(n_classes), zero_division=0.0)
    predicted_counts = np.bincount(predicted, minlength=n_classes)
    present = support > 0
    counted = support >= MACRO_MIN_ROWS if (support >= MACRO_MIN_ROWS).any() else present
    one_hot = np.eye(n_classes)[labels]
    return SplitQuality(
        n=len(labels),
        accuracy=float(correct.mean()),
        macro_f1=float(f1[counted].mean()),
        macro_f1_all=float(f1[present].mean()),
        log_loss=(float(log_loss(labels, exact, labels=range(n_classes))) if n_classes > 1 else 0.0) if with_probabilities else None,
        brier=float(((exact - one_hot) ** 2).sum(axis=1).mean()) if with_probabilities else None,
        ece=expected_calibration_error(exact.max(axis=1), correct) if with_probabilities else None,
        majority_baseline=float((labels == np.bincount(fit_labels, minlength=n_classes).argmax()).mean()),
        collapsed=len(np.unique(predicted)) == 1,
        classes={
            name: ClassQuality(
                support=int(support[i]),
                precision=float(precision[i]) if predicted_counts[i] else None,
                recall=float(recall[i]) if support[i] else None,
            )
            for i, name in enumerate(classes)
        },
    )


def expected_calibration_error(confidence: npt.NDArray[np.float64], correct: npt.NDArray[np.bool_]) -> float:
    """Mean gap between confidence and accuracy over 15 equal-width bins, weighted by rows (Guo et al., 2017).

    Both arguments have shape (rows,); a confidence on a bin's edge belongs to the bin below it.
    """
    bins = np.clip(np.ceil(confidence * ECE_BINS).astype(int) - 1, 0, ECE_BINS - 1)
    rows = np.bincount(bins, minlength=ECE_BINS)
    gaps = np.abs(np.bincount(bins, correct, ECE_BINS) - np.bincount(bins, confidence, ECE_BINS))
    return float(gaps.sum() / rows.sum())


def diagnose(
    quality: SplitQuality, labels: Labels, *, learning_rate: float | None, split: Literal["test", "validation"] = "test"
) -> tuple[Diagnostic, ...]:
    """Signs that a model did not learn: one class for every row, or accuracy that chance explains.

    Near chance: the one-sided 95% lower bound (exact binomial) of accuracy is not above the largest class share of the
    rows of that `split`, so that always answering that class explains it.
    """
    found = []
    if quality.collapsed:
        found.append(Diagnostic(code="collapsed", message=f"one class was predicted for every {split} row"))
    largest_share = float(np.bincount(labels).max() / len(labels))
    bound = binomtest(round(quality.accuracy * quality.n), quality.n, alternative="greater").proportion_ci(0.95).low
    if bound <= largest_share:
        first = "" if learning_rate is None else f"; check the learning rate first (it is {learning_rate:g})"
        message = f"{split} accuracy {quality.accuracy:.1%} is not shown to be above the largest class share {largest_share:.1%}{first}"
        found.append(Diagnostic(code="near_chance", message=message))
    return tuple(found)
