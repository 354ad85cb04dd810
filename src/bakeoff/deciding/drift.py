"""What is different about the rows that were appended: class mix, length, and how well they are answered."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from bakeoff.record import MACRO_MIN_ROWS
from bakeoff.report import stats
from bakeoff.report.stats import Answers, Estimate, Metric

PERCENTILES = {"p50": 50, "p95": 95}


@dataclass(frozen=True, kw_only=True)
class Old:
    """Last month's test rows among today's."""

    n_rows: int
    """How many there were."""
    is_old: NDArray[np.bool_]
    """Shape (n,): which of today's test rows are among them."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One number of old and of new test rows; null where there are none."""

    old: float | None
    new: float | None


@dataclass(frozen=True, kw_only=True)
class Changes:
    """New test rows against old ones."""

    n_old: int
    n_new: int
    n_gone: int
    """Old test rows that the grown file no longer has."""
    shares: dict[str, Pair]
    """Class → its share of the rows."""
    mix_p_value: float | None
    """Of Pearson's chi-square test that old and new rows have one class mix; null where there are no new or no old rows."""
    length_tokens: dict[str, Pair]
    """p50 and p95 of the documents; empty where nobody counted."""
    score: Estimate | None
    """The retrained winner on new rows minus on old rows, unpaired; null where there are no new or no old rows, and of macro-F1
    where no class has rows enough on both sides."""
    since_then: bool = False
    """Whether old rows count as the winner answered them last month, when they were the newest."""


def changes(
    old: Old,
    winner: Answers,
    *,
    metric: Metric,
    classes: Sequence[str],
    lengths_tokens: NDArray[np.int64] | None,
    then: Answers | None = None,
) -> Changes:
    """What changed, on today's test rows; `lengths_tokens` has shape (n,).

    Where time splits rows, `then` is what the winner answered last month: old test rows lie in the midst of today's pool, and a
    retrained winner that knows what came after them finds them easier than the newest ones, though nothing has changed.
    """
    parts = {True: old.is_old, False: ~old.is_old}
    counts = {side: np.bincount(winner.labels[rows], minlength=len(classes)) for side, rows in parts.items()}
    both = bool(old.is_old.any() and not old.is_old.all())
    return Changes(
        n_old=int(old.is_old.sum()),
        n_new=int((~old.is_old).sum()),
        n_gone=old.n_rows - int(old.is_old.sum()),
        shares={name: Pair(old=_share(counts[True], i), new=_share(counts[False], i)) for i, name in enumerate(classes)},
        mix_p_value=_mix_p_value(np.stack([counts[True], counts[False]])) if both else None,
        length_tokens={}
        if lengths_tokens is None
        else {
            key: Pair(old=_percentile(lengths_tokens[old.is_old], percent), new=_percentile(lengths_tokens[~old.is_old], percent))
            for key, percent in PERCENTILES.items()
        },
        score=unpaired(winner.where(~old.is_old), winner.where(old.is_old) if then is None else then, metric) if both else None,
        since_then=then is not None,
    )


def unpaired(a: Answers, b: Answers, metric: Metric) -> Estimate | None:
    """Metric of `a` minus metric of `b`, one candidate's answers to different rows: row variances add up, seeds are shared.

    Degrees of freedom are those of the smaller set of rows, which is on the safe side. Macro-F1 is over rows of the classes that
    have enough on both sides, since means over different classes do not compare. None where no seed or no such class is shared.
    """
    shared = tuple(seed for seed in a.seeds if seed in b.seeds)
    if not shared:
        return None
    a, b = a.only(shared), b.only(shared)
    if metric == "macro_f1":
        ours, theirs = (np.flatnonzero(np.bincount(each.labels) >= MACRO_MIN_ROWS) for each in (a, b))
        both = np.intersect1d(ours, theirs)
        if not both.size:
            return None
        if not np.array_equal(ours, theirs):
            a, b = (each.where(np.isin(each.labels, both)) for each in (a, b))
    variances = []
    for each in (a, b):
        by_row = each.correct.mean(axis=0, dtype=np.float64)
        variances.append(
            each.row_variance(by_row) if metric == "accuracy" else each.resampled_variance(each.resampled_macro_f1.mean(axis=0))
        )
    fewest = min((a, b), key=lambda each: each.n_groups or len(each.labels))
    return stats.interval(
        a.scores(metric) - b.scores(metric),
        row_variance=sum(variances),
        rows=len(fewest.labels),
        groups=fewest.n_groups,
        least=-1.0,
        most=1.0,
    )


def _share(counts: NDArray[np.int64], index: int) -> float | None:
    return float(counts[index] / counts.sum()) if counts.sum() else None


def _mix_p_value(counts: NDArray[np.int64]) -> float:
    """Of a table of shape (2, classes) without the classes that neither side has."""
    present = counts[:, counts.sum(axis=0) > 0]
    return float(chi2_contingency(present, correction=False).pvalue) if present.shape[1] > 1 else 1.0


def _percentile(lengths: NDArray[np.int64], percent: int) -> float | None:
    return float(np.percentile(lengths, percent, method="inverted_cdf")) if len(lengths) else None
