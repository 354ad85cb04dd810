"""Figures that every test row gives in every draw, as means with the interval of `report.stats`: crossed draws and rows."""

import numpy as np
from numpy.typing import NDArray

from bakeoff.report import stats
from bakeoff.report.stats import Answers, Estimate, Floats

_MOST = 2.0
"""A difference of two differences of shares lies from -2 to 2."""


def mean(values: Floats, answers: Answers, *, least: float = -_MOST, most: float = _MOST) -> Estimate:
    """The mean of `values`, shape (draws, rows), such as what a row loses in a draw; `answers` say how rows are grouped.

    It lies from `least` to `most`, as a share does from 0 to 1.
    """
    row_variance = answers.row_variance(values.mean(axis=0))
    rows = values.shape[1]
    return stats.interval(values.mean(axis=1), row_variance=row_variance, rows=rows, groups=answers.n_groups, least=least, most=most)


def between(values: Floats, these: NDArray[np.bool_], others: NDArray[np.bool_], answers: Answers) -> Estimate:
    """The mean of `values`, shape (draws, rows), over `these` rows minus that over `others`: two disjoint masks, neither empty.

    Rows of the two are drawn apart, so their variances add up; the interval's rows are those of the smaller set.
    """
    scores = values[:, these].mean(axis=1) - values[:, others].mean(axis=1)
    by_row = values.mean(axis=0)
    row_variance = sum(answers.where(rows).row_variance(by_row[rows]) for rows in (these, others))
    fewer = these if these.sum() <= others.sum() else others
    return stats.interval(
        scores, row_variance=row_variance, rows=int(fewer.sum()), groups=answers.where(fewer).n_groups, least=-_MOST, most=_MOST
    )
