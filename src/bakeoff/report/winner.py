"""What the best score is worth once it is known to be the best of several, and how often each contender would have won.

The best of several measured scores is too high on average, since luck helps to win. So the winner is picked on bootstrap
samples of rows (whole groups, where there are some) and scored on the rows that each sample left out. Draws of labels are
not resampled: three seeds give too few.

Source: the out-of-bag estimate of Efron and Tibshirani (1997), JASA 92(438), applied to the selection as Tibshirani and
Tibshirani (2009), Annals of Applied Statistics 3(2), discuss it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.report import stats
from bakeoff.report.choice import Contender
from bakeoff.report.pairs import together
from bakeoff.report.stats import Answers, Floats, Metric


@dataclass(frozen=True, kw_only=True)
class Winners:
    """`wins` by contender key, shares that add up to 1; ties are shared."""

    wins: Mapping[str, float]
    corrected: float
    """The mean score, on the rows left out, of whoever won on the sample."""


def winners(contenders: Sequence[Contender], metric: Metric) -> Winners:
    """Winners over RESAMPLES bootstrap samples of the rows that all of these (at least one) answered."""
    every = [together(contender.folds) for contender in contenders]
    first = every[0]
    alike = [i for i, answers in enumerate(every) if np.array_equal(answers.row_ids, first.row_ids)]
    answered = [every[i] for i in alike]
    groups = next((answers.groups for answers in answered if answers.groups is not None), None)
    shares, scores = np.zeros(len(alike)), []
    for weights in stats.resampling_weights(len(first.labels), groups):
        left_out = (weights == 0).astype(np.float32)
        weights, left_out = (part[left_out.any(axis=1)] for part in (weights, left_out))
        inside, outside = (_by_sample(answered, part, metric) for part in (weights, left_out))
        is_best = inside >= inside.max(axis=0) - 1e-12
        split = is_best / is_best.sum(axis=0)
        shares += split.sum(axis=1)
        scores.append((split * outside).sum(axis=0))
    count = sum(len(block) for block in scores)
    if count == 0:  # one row, or one group: no sample leaves any out
        best = np.array([answers.scores(metric).mean() for answers in answered])
        return Winners(wins={contenders[alike[int(best.argmax())]].key: 1.0}, corrected=float(best.max()))
    wins = {contender.key: 0.0 for contender in contenders}
    wins |= {contenders[i].key: float(share / count) for i, share in zip(alike, shares, strict=True)}
    return Winners(wins=wins, corrected=float(np.concatenate(scores).mean()))


def _by_sample(answered: Sequence[Answers], weights: NDArray[np.float32], metric: Metric) -> Floats:
    """The seed-averaged metric of each of C contenders on each sample of rows, shape [C, b]."""
    if metric == "accuracy":
        right = np.stack([answers.correct.mean(axis=0, dtype=np.float64) for answers in answered])  # [C, n]
        return np.asarray(right @ weights.T.astype(np.float64) / weights.sum(axis=1), dtype=np.float64)
    scores = [[stats.macro_f1(one.labels, predicted, weights=weights) for predicted in one.predicted] for one in answered]
    return np.stack([np.mean(by_seed, axis=0) for by_seed in scores])
