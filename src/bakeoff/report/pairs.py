"""Scores and paired losses of contenders: on one test set, or pooled over folds; and of two exported models.

On one test set the formula is that of `stats`. Over K folds every row is tested once, so the metric is that of the
out-of-fold answers put together. Folds train on rows that overlap, so their scores are no independent sample, and the
variance is the corrected one of the resampled t-test, with s² the variance of the K seed-averaged scores of the folds:

    SE² = (1 / K + r) · s²,   r = test rows / pool rows,   ν = K − 1

Source: Nadeau and Bengio (2003), "Inference for the generalization error", Machine Learning 52(3). Their r is over the
training rows, all that are not tested; here labels are drawn from these, so the overlap is at most what r corrects for.

Several seeds on one draw of labels are one look at that draw: scores are averaged within a draw, and S of `stats` counts
draws.

Models that read no label answer alike in every draw: their one set of answers pairs with each of the other's draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from bakeoff.report import stats
from bakeoff.report.choice import Contender
from bakeoff.report.stats import LEVEL, Answers, Estimate, Floats, Metric


@dataclass(frozen=True, kw_only=True)
class McNemar:
    """Two models on the same rows: how often only one of them is right, and the exact two-sided p-value."""

    only_first: int
    only_second: int
    p: float


def score(contender: Contender, metric: Metric) -> Estimate:
    """The mean of the metric over seeds with its interval, bounded to [0, 1]."""
    if len(contender.folds) == 1:
        return _score(contender.folds[0], metric)
    by_fold = np.array([answers.scores(metric).mean() for answers in contender.folds])
    rows, seeds = sum(len(answers.labels) for answers in contender.folds), contender.seeds
    mean = float(together(contender.folds).scores(metric).mean())
    return corrected(by_fold, mean=mean, share=contender.pool_share, rows=rows, seeds=seeds, least=0.0)


def loss(reference: Contender, contender: Contender, metric: Metric) -> Estimate | None:
    """Metric of the reference minus that of the contender, paired over rows and the seeds they share; None where they share none."""
    pairs = [_aligned(reference, contender, fold) for fold in range(min(len(reference.folds), len(contender.folds)))]
    if len(reference.folds) != len(contender.folds) or None in pairs:
        return None
    found = [pair for pair in pairs if pair is not None]
    if len(found) == 1:
        return _difference(*found[0], metric)
    if not all(np.array_equal(a.row_ids, b.row_ids) for a, b in found):
        return None
    by_fold = np.array([(a.scores(metric) - b.scores(metric)).mean() for a, b in found])
    mean = float((together([a for a, _ in found]).scores(metric) - together([b for _, b in found]).scores(metric)).mean())
    rows, seeds = sum(len(a.labels) for a, _ in found), min(a.n_draws for a, _ in found)
    share = max(reference.pool_share, contender.pool_share)
    return corrected(by_fold, mean=mean, share=share, rows=rows, seeds=seeds, least=-1.0)


def together(folds: Sequence[Answers]) -> Answers:
    """The rows of all folds after one another, answered by the seeds that answered every fold (else by as many as every fold has)."""
    if len(folds) == 1:
        return folds[0]
    shared = tuple(seed for seed in folds[0].seeds if all(seed in answers.seeds for answers in folds))
    fewest = min(len(answers.seeds) for answers in folds)
    predicted = [answers.only(shared).predicted if shared else answers.predicted[:fewest] for answers in folds]
    ids = np.concatenate([answers.row_ids for answers in folds])
    labels = np.concatenate([answers.labels for answers in folds])
    seeds = shared or folds[0].seeds[:fewest]
    return Answers(row_ids=ids, labels=labels, predicted=np.concatenate(predicted, axis=1), seeds=seeds, groups=_groups(folds))


def _groups(folds: Sequence[Answers]) -> NDArray[np.int64] | None:
    """Groups numbered on from fold to fold, since none crosses; None where a fold's rows have none."""
    found, after = [], 0
    for answers in folds:
        if answers.groups is None:
            return None
        found.append(answers.groups + after)
        after += int(answers.groups.max()) + 1
    return np.concatenate(found)


def corrected(by_fold: Floats, *, mean: float, share: float, rows: int, seeds: int, least: float) -> Estimate:
    """The interval of the corrected resampled t around the pooled mean; `by_fold` has shape [K], `share` is r of the formula.

    Its A is the plain variance of the mean of the folds, and its B what the correction adds.
    """
    folds = len(by_fold)
    variance = float(by_fold.var(ddof=1)) if np.ptp(by_fold) > 1e-12 else 0.0
    total = (1 / folds + share) * variance
    half = float(stdtrit(folds - 1, (1 + LEVEL) / 2) * np.sqrt(total)) if total > 0 else 1 - ((1 - LEVEL) / 2) ** (1 / rows)
    return Estimate(
        mean=mean,
        low=max(least, mean - half),
        high=min(1.0, mean + half),
        sd=float(np.sqrt(variance)),
        seeds=seeds,
        rows=rows,
        groups=None,
        degrees=folds - 1,
        seed_variance=variance / folds,
        row_variance=share * variance,
        folds=folds,
    )


def mcnemar(first: Answers, second: Answers) -> McNemar:
    """The exact test for two models as they are (one seed each), on the same rows: says nothing of other draws of labels.

    Source: McNemar (1947), Psychometrika 12(2); exact, by the binomial distribution of the rows on which one alone is
    right. Raises ValueError for more than one seed, or other rows.
    """
    from statsmodels.stats.contingency_tables import mcnemar as test

    if len(first.seeds) != 1 or len(second.seeds) != 1 or not np.array_equal(first.row_ids, second.row_ids):
        raise ValueError("McNemar's test compares two exported models on the same rows: give one seed of each")
    a, b = first.correct[0], second.correct[0]
    table = [[int((a & b).sum()), int((a & ~b).sum())], [int((~a & b).sum()), int((~a & ~b).sum())]]
    return McNemar(only_first=table[0][1], only_second=table[1][0], p=float(test(table, exact=True).pvalue))


def _score(answers: Answers, metric: Metric) -> Estimate:
    if answers.n_draws == len(answers.seeds):
        return stats.estimate(answers, metric)
    rows, share = len(answers.labels), _share_of_each(answers)
    if metric == "accuracy":
        row_variance = answers.row_variance(share @ answers.correct)
    else:
        row_variance = answers.resampled_variance(share @ answers.resampled_macro_f1)
    scores = _by_draw(answers, answers.scores(metric))
    return stats.interval(scores, row_variance=row_variance, rows=rows, groups=answers.n_groups, least=0.0, most=1.0)


def _difference(a: Answers, b: Answers, metric: Metric) -> Estimate | None:
    """Of two with the same seeds."""
    found = stats.difference(a, b, metric)
    if found is None or a.n_draws == len(a.seeds):
        return found
    share, groups = _share_of_each(a), b.groups if a.groups is None else a.groups
    a, b = (one if one.groups is groups else replace(one, groups=groups) for one in (a, b))
    if metric == "accuracy":
        row_variance = a.row_variance(share @ a.correct - share @ b.correct)
    else:
        row_variance = a.resampled_variance(share @ a.resampled_macro_f1 - share @ b.resampled_macro_f1)
    scores = _by_draw(a, a.scores(metric) - b.scores(metric))
    return stats.interval(scores, row_variance=row_variance, rows=found.rows, groups=found.groups, least=-1.0, most=1.0)


def _by_draw(answers: Answers, scores: Floats) -> Floats:
    """The mean within each draw of per-seed `scores`, shape [D]."""
    draws = [draw for draw, _ in answers.seeds]
    return np.array([scores[np.equal(draws, draw)].mean() for draw in dict.fromkeys(draws)])


def _share_of_each(answers: Answers) -> Floats:
    """What each seed weighs where draws weigh alike, shape [S]; sums to 1."""
    draws = [draw for draw, _ in answers.seeds]
    return np.array([1 / draws.count(draw) / answers.n_draws for draw in draws])


def _aligned(reference: Contender, contender: Contender, fold: int) -> tuple[Answers, Answers] | None:
    """Both with the same seeds in one fold; one set of answers that no seed changes stands for each of the other's seeds."""
    a, b = reference.folds[fold], contender.folds[fold]
    if not reference.reads_labels and not contender.reads_labels:
        return _as_seeds(a, ((0, 0),)), _as_seeds(b, ((0, 0),))
    if not reference.reads_labels:
        return _as_seeds(a, b.seeds), b
    if not contender.reads_labels:
        return a, _as_seeds(b, a.seeds)
    shared = tuple(seed for seed in a.seeds if seed in b.seeds)
    return (a.only(shared), b.only(shared)) if shared else None


def _as_seeds(answers: Answers, seeds: tuple[tuple[int, int], ...]) -> Answers:
    return replace(answers, predicted=np.repeat(answers.predicted[:1], len(seeds), axis=0), seeds=seeds)
