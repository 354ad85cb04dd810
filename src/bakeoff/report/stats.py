"""Means with 95% intervals over seeds and test rows, and paired differences by the same formula.

The design is crossed: each of S seeds (a draw of labels and an initialisation) answers the same n test rows.
With x_s the metric of seed s and d_i the row part of the seed-averaged metric,

    SE² = A + B,   A = var(x_s) / S   (between seeds),   B = sampling variance of the seed average over test rows
    interval = mean ± t(0.975, ν) · SE,   ν = (A + B)² / (A² / (S − 1) + B² / (n − 1))

For accuracy B = var(d_i) / n with d_i the share of seeds that answer row i right; for macro-F1 B is the
variance over a seeded bootstrap of rows. One seed leaves B alone, with n − 1 degrees of freedom.

Sources: variance of a mean over two crossed random factors, Owen (2007), "The pigeonhole bootstrap", Annals of
Applied Statistics 1(2); degrees of freedom, Satterthwaite (1946), Biometrics Bulletin 2(6). The part of the
seed-by-row interaction stands in both A and B, so intervals are a little wide, never narrow, on that account.
Where all rows and seeds agree SE is 0 and the exact binomial bound (Clopper and Pearson, 1934) stands in:
nothing seen in n rows excludes a share of up to 1 − 0.025^(1/n).

The interval is about other test rows and other draws from the same pool. It is not corrected for looking at
several candidates.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

LEVEL = 0.95
RESAMPLES = 500
MIN_CLASS_ROWS = 10
"""Macro-F1 averages over classes with at least this many test rows, like `record.SplitQuality.macro_f1`."""
_BLOCK_CELLS = 4_000_000

Metric = Literal["accuracy", "macro_f1"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean with its 95% interval; `sd` is the standard deviation between seeds, null for one seed."""

    mean: float
    low: float
    high: float
    sd: float | None
    seeds: int
    rows: int
    degrees: float

    @property
    def excludes_zero(self) -> bool:
        """For a difference: whether the interval lies on one side of zero."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What one candidate answered at one budget: S seeds, n test rows sorted by row id."""

    row_ids: NDArray[Any]
    """Shape [n]."""
    labels: NDArray[np.int64]
    """Shape [n]: class indices."""
    predicted: NDArray[np.int64]
    """Shape [S, n]."""
    seeds: tuple[tuple[int, int], ...]
    """Draw and seed of each of the S."""

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Shape [S, n]."""
        right: NDArray[np.bool_] = self.predicted == self.labels
        return right

    @cached_property
    def resampled_macro_f1(self) -> Floats:
        """Macro-F1 of each seed on each bootstrap sample of rows, shape [S, RESAMPLES]."""
        blocks = [
            np.stack([macro_f1(self.labels, predicted, weights=weights) for predicted in self.predicted])
            for weights in resampling_weights(len(self.labels))
        ]
        return np.concatenate(blocks, axis=1)

    def scores(self, metric: Metric) -> Floats:
        """The metric of each seed, shape [S]."""
        if metric == "accuracy":
            return np.asarray(self.correct.mean(axis=1), dtype=np.float64)
        return np.stack([macro_f1(self.labels, predicted)[0] for predicted in self.predicted])

    def only(self, seeds: tuple[tuple[int, int], ...]) -> "Answers":
        """The answers of these seeds, in this order."""
        if seeds == self.seeds:
            return self
        rows = [self.seeds.index(seed) for seed in seeds]
        return Answers(row_ids=self.row_ids, labels=self.labels, predicted=self.predicted[rows], seeds=seeds)


def estimate(answers: Answers, metric: Metric) -> Estimate:
    """The mean of a metric with its interval, bounded to [0, 1]."""
    if metric == "accuracy":
        row_variance = _variance_of_mean(answers.correct.mean(axis=0, dtype=np.float64))
    else:
        row_variance = _variance(answers.resampled_macro_f1.mean(axis=0))
    return interval(answers.scores(metric), row_variance=row_variance, rows=len(answers.labels), least=0.0, most=1.0)


def difference(a: Answers, b: Answers, metric: Metric) -> Estimate | None:
    """Metric of `a` minus metric of `b`, paired over the seeds they share and over rows; None if they share no seed or differ in rows."""
    shared = tuple(seed for seed in a.seeds if seed in b.seeds)
    if not shared or not np.array_equal(a.row_ids, b.row_ids) or not np.array_equal(a.labels, b.labels):
        return None
    a, b = a.only(shared), b.only(shared)
    if metric == "accuracy":
        by_row = a.correct.mean(axis=0, dtype=np.float64) - b.correct.mean(axis=0, dtype=np.float64)
        row_variance = _variance_of_mean(by_row)
    else:
        row_variance = _variance(a.resampled_macro_f1.mean(axis=0) - b.resampled_macro_f1.mean(axis=0))
    return interval(a.scores(metric) - b.scores(metric), row_variance=row_variance, rows=len(a.labels), least=-1.0, most=1.0)


def interval(scores: Floats, *, row_variance: float, rows: int, least: float, most: float) -> Estimate:
    """The mean of per-seed scores, shape [S], with the interval of this module's formula, bounded to [least, most]."""
    mean, seeds = float(scores.mean()), len(scores)
    seed_variance = _variance(scores) / seeds if seeds > 1 else 0.0
    degrees = satterthwaite(seed_variance, seeds - 1, row_variance, rows - 1)
    total = seed_variance + row_variance
    exact = 1 - ((1 - LEVEL) / 2) ** (1 / rows)
    half = float(stdtrit(degrees, (1 + LEVEL) / 2) * np.sqrt(total)) if total > 0 else exact
    return Estimate(
        mean=mean,
        low=max(least, mean - half),
        high=min(most, mean + half),
        sd=float(np.sqrt(_variance(scores))) if seeds > 1 else None,
        seeds=seeds,
        rows=rows,
        degrees=degrees,
    )


def satterthwaite(a: float, a_degrees: float, b: float, b_degrees: float) -> float:
    """Effective degrees of freedom of a sum of two variances; a part that is zero drops out."""
    below = sum(part**2 / degrees for part, degrees in ((a, a_degrees), (b, b_degrees)) if part > 0 and degrees > 0)
    return (a + b) ** 2 / below if below > 0 else max(b_degrees, 1.0)


def macro_f1(labels: NDArray[np.int64], predicted: NDArray[np.int64], *, weights: NDArray[np.float32] | None = None) -> Floats:
    """Mean F1 over the classes with enough rows in `labels`, for each row of `weights` [B, n] (all ones if None); shape [B]."""
    support = np.bincount(labels)
    counted = np.flatnonzero(support >= MIN_CLASS_ROWS)
    if counted.size == 0:
        counted = np.flatnonzero(support > 0)
    if weights is None:
        weights = np.ones((1, len(labels)), dtype=np.float32)
    is_label, is_predicted = labels[:, None] == counted, predicted[:, None] == counted  # [n, K]
    # Sums of whole numbers below 2^24 are exact in float32, whatever the order, so every machine gets the same.
    hits = (weights @ (is_label & is_predicted).astype(np.float32)).astype(np.float64)  # [B, K]
    ones = (weights @ (is_label.astype(np.float32) + is_predicted)).astype(np.float64)  # [B, K]
    f1: Floats = np.divide(2 * hits, ones, out=np.zeros_like(hits), where=ones > 0)
    return np.asarray(f1.mean(axis=1))


def resampling_weights(rows: int) -> Iterator[NDArray[np.float32]]:
    """How often each row stands in each of RESAMPLES bootstrap samples, in blocks of shape [b, rows].

    The same for every candidate on these rows, so that candidates pair.
    """
    generator = np.random.default_rng(0)
    block = max(1, min(RESAMPLES, _BLOCK_CELLS // rows))
    for start in range(0, RESAMPLES, block):
        picks = [generator.integers(0, rows, size=rows) for _ in range(min(block, RESAMPLES - start))]
        yield np.stack([np.bincount(pick, minlength=rows) for pick in picks]).astype(np.float32)


def _variance(values: Floats) -> float:
    # Equal values can leave a variance of about 1e-34 from rounding; that is no spread.
    return float(values.var(ddof=1)) if len(values) > 1 and np.ptp(values) > 1e-12 else 0.0


def _variance_of_mean(by_row: Floats) -> float:
    return _variance(by_row) / len(by_row)
