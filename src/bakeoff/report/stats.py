"""Means with 95% intervals over seeds and test rows, and paired differences by the same formula.

The design is crossed: each of S seeds (a draw of labels and an initialisation) answers the same n test rows.
With x_s the metric of seed s and d_i the row part of the seed-averaged metric,

    SE² = A + B,   A = var(x_s) / S   (between seeds),   B = sampling variance of the seed average over test rows
    interval = mean ± t(0.975, ν) · SE,   ν = (A + B)² / (A² / (S − 1) + B² / (n − 1))

For accuracy B = var(d_i) / n with d_i the share of seeds that answer row i right; for macro-F1 B is n / (n − 1)
times the variance over a seeded bootstrap of rows. One seed leaves B alone, with n − 1 degrees of freedom.

Where rows stand in G groups (a customer, a thread), groups are what was sampled, so G takes the place of n in the
degrees of freedom and in the bootstrap, which draws whole groups, and for accuracy, with e_i = d_i − mean(d),

    B = G / (G − 1) · Σ_g (Σ_{i in g} e_i)² / n²

which is var(d_i) / n again where every row is a group of its own. One group (or row) says nothing of others: only
the exact bound below is left.

Sources: variance of a mean over two crossed random factors, Owen (2007), "The pigeonhole bootstrap", Annals of
Applied Statistics 1(2); degrees of freedom, Satterthwaite (1946), Biometrics Bulletin 2(6); variance from groups,
Liang and Zeger (1986), Biometrika 73(1), and its G − 1, Cameron and Miller (2015), Journal of Human Resources 50(2). The part of the
seed-by-row interaction stands in both A and B, so intervals are a little wide, never narrow, on that account.
Where all rows and seeds agree SE is 0 and the exact binomial bound (Clopper and Pearson, 1934) stands in:
nothing seen in n rows (or G groups) excludes a share of up to 1 − 0.025^(1/n).

The interval is about other test rows and other draws from the same pool. It is not corrected for looking at
several candidates.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from bakeoff.record import MACRO_MIN_ROWS

LEVEL = 0.95
POWER = 0.8
RESAMPLES = 500
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
    groups: int | None
    """How many groups the rows stand in; null where each row stands alone."""
    degrees: float
    seed_variance: float
    """A of the formula; 0 for one seed."""
    row_variance: float
    """B of the formula."""
    folds: int | None = None
    """Over how many folds scores were pooled, whose correction stands in A and B; null on one test set."""

    @property
    def standard_error(self) -> float:
        """Of the mean; 0 where all rows and seeds agree, and the exact bound stands in."""
        return float(np.sqrt(self.seed_variance + self.row_variance))

    @property
    def units(self) -> int:
        """What was sampled: groups where rows stand in some, else rows."""
        return self.groups or self.rows

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
    groups: NDArray[np.int64] | None = None
    """Shape [n]: each row's group, from 0 without gaps; null where rows have none."""

    @property
    def n_groups(self) -> int | None:
        """How many groups the rows stand in."""
        return None if self.groups is None else int(self.groups.max()) + 1

    @property
    def n_draws(self) -> int:
        """How many draws of labels stand behind the seeds."""
        return len({draw for draw, _ in self.seeds})

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Shape [S, n]."""
        right: NDArray[np.bool_] = self.predicted == self.labels
        return right

    @cached_property
    def resampled_macro_f1(self) -> Floats:
        """Macro-F1 of each seed on each bootstrap sample of rows (of whole groups, where there are some), shape [S, RESAMPLES]."""
        blocks = [
            np.stack([macro_f1(self.labels, predicted, weights=weights) for predicted in self.predicted])
            for weights in resampling_weights(len(self.labels), self.groups)
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
        return replace(self, predicted=self.predicted[[self.seeds.index(seed) for seed in seeds]], seeds=seeds)

    def where(self, chosen: NDArray[np.bool_]) -> "Answers":
        """The answers on the chosen rows alone, shape [n]; at least one."""
        groups = None if self.groups is None else np.unique(self.groups[chosen], return_inverse=True)[1].astype(np.int64)
        return Answers(
            row_ids=self.row_ids[chosen],
            labels=self.labels[chosen],
            predicted=self.predicted[:, chosen],
            seeds=self.seeds,
            groups=groups,
        )

    def row_variance(self, by_row: Floats) -> float:
        """Sampling variance of the mean of `by_row`, shape [n], over rows or groups; 0 where there is only one."""
        apart = by_row - by_row.mean()
        sums = apart if self.groups is None else np.bincount(self.groups, weights=apart)
        # Equal values can leave about 1e-17 from rounding; that is no spread.
        if len(sums) < 2 or np.abs(sums).max() < 1e-12:
            return 0.0
        return float((sums**2).sum()) * len(sums) / (len(sums) - 1) / len(by_row) ** 2

    def resampled_variance(self, by_sample: Floats) -> float:
        """Sampling variance that bootstrap samples show, shape [RESAMPLES]; 0 where there is only one row or group."""
        units = self.n_groups or len(self.labels)
        return 0.0 if units < 2 else _variance(by_sample) * units / (units - 1)


def estimate(answers: Answers, metric: Metric) -> Estimate:
    """The mean of a metric with its interval, bounded to [0, 1]."""
    if metric == "accuracy":
        row_variance = answers.row_variance(answers.correct.mean(axis=0, dtype=np.float64))
    else:
        row_variance = answers.resampled_variance(answers.resampled_macro_f1.mean(axis=0))
    rows, groups = len(answers.labels), answers.n_groups
    return interval(answers.scores(metric), row_variance=row_variance, rows=rows, groups=groups, least=0.0, most=1.0)


def difference(a: Answers, b: Answers, metric: Metric) -> Estimate | None:
    """Metric of `a` minus metric of `b`, paired over the seeds they share and over rows; None if they share no seed or differ in rows.

    Groups that one of the two knows hold for both.
    """
    shared = tuple(seed for seed in a.seeds if seed in b.seeds)
    if not shared or not np.array_equal(a.row_ids, b.row_ids) or not np.array_equal(a.labels, b.labels):
        return None
    groups = b.groups if a.groups is None else a.groups
    a, b = (one.only(shared) if one.groups is groups else replace(one.only(shared), groups=groups) for one in (a, b))
    if metric == "accuracy":
        by_row = a.correct.mean(axis=0, dtype=np.float64) - b.correct.mean(axis=0, dtype=np.float64)
        row_variance = a.row_variance(by_row)
    else:
        row_variance = a.resampled_variance(a.resampled_macro_f1.mean(axis=0) - b.resampled_macro_f1.mean(axis=0))
    scores = a.scores(metric) - b.scores(metric)
    return interval(scores, row_variance=row_variance, rows=len(a.labels), groups=a.n_groups, least=-1.0, most=1.0)


def interval(scores: Floats, *, row_variance: float, rows: int, groups: int | None = None, least: float, most: float) -> Estimate:
    """The mean of per-seed scores, shape [S], with the interval of this module's formula, bounded to [least, most]."""
    mean, seeds, units = float(scores.mean()), len(scores), groups or rows
    seed_variance = _variance(scores) / seeds if seeds > 1 else 0.0
    degrees = satterthwaite(seed_variance, seeds - 1, row_variance, units - 1)
    total = seed_variance + row_variance
    exact = 1 - ((1 - LEVEL) / 2) ** (1 / units)
    half = float(stdtrit(degrees, (1 + LEVEL) / 2) * np.sqrt(total)) if total > 0 and units > 1 else exact
    return Estimate(
        mean=mean,
        low=max(least, mean - half),
        high=min(most, mean + half),
        sd=float(np.sqrt(_variance(scores))) if seeds > 1 else None,
        seeds=seeds,
        rows=rows,
        groups=groups,
        degrees=degrees,
        seed_variance=seed_variance,
        row_variance=row_variance,
    )


def smallest_detectable(difference: Estimate) -> float:
    """The true difference that a two-sided 5% test finds in 80% of repeats with as many seeds and rows.

        (t(0.975, ν) + t(0.8, ν)) · SE,   SE = half the width of the interval / t(0.975, ν)

    with ν the degrees of freedom of the difference (Bloom, 1995, "Minimum detectable effects", Evaluation Review 19(5)).
    """
    half = max(difference.high - difference.mean, difference.mean - difference.low)
    return float(half * (1 + stdtrit(difference.degrees, POWER) / stdtrit(difference.degrees, (1 + LEVEL) / 2)))


def satterthwaite(a: float, a_degrees: float, b: float, b_degrees: float) -> float:
    """Effective degrees of freedom of a sum of two variances; a part that is zero drops out."""
    below = sum(part**2 / degrees for part, degrees in ((a, a_degrees), (b, b_degrees)) if part > 0 and degrees > 0)
    return (a + b) ** 2 / below if below > 0 else max(b_degrees, 1.0)


def macro_f1(labels: NDArray[np.int64], predicted: NDArray[np.int64], *, weights: NDArray[np.float32] | None = None) -> Floats:
    """Mean F1 over the classes with enough rows in `labels`, for each row of `weights` [B, n] (all ones if None); shape [B]."""
    support = np.bincount(labels)
    counted = np.flatnonzero(support >= MACRO_MIN_ROWS)
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


def resampling_weights(rows: int, groups: NDArray[np.int64] | None = None) -> Iterator[NDArray[np.float32]]:
    """How often each row stands in each of RESAMPLES bootstrap samples, in blocks of shape [b, rows].

    With `groups`, shape [rows], whole groups are drawn, so the rows of one stand in a sample equally often. The same
    for every candidate on these rows, so that candidates pair.
    """
    generator = np.random.default_rng(0)
    units = rows if groups is None else int(groups.max()) + 1
    block = max(1, min(RESAMPLES, _BLOCK_CELLS // rows))
    for start in range(0, RESAMPLES, block):
        picks = [generator.integers(0, units, size=units) for _ in range(min(block, RESAMPLES - start))]
        counts = np.stack([np.bincount(pick, minlength=units) for pick in picks]).astype(np.float32)
        yield counts if groups is None else counts[:, groups]


def _variance(values: Floats) -> float:
    # Equal values can leave a variance of about 1e-34 from rounding; that is no spread.
    return float(values.var(ddof=1)) if len(values) > 1 and np.ptp(values) > 1e-12 else 0.0
