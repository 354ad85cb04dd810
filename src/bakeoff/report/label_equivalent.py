"""How many labels one model needs to score what another scores with N: the label equivalent, with its spread over draws.

For one draw of the labels, a non-decreasing fit (least squares, by pooling adjacent violators; Barlow, Bartholomew, Bremner
and Brunk, 1972, "Statistical Inference under Order Restrictions") of the metric over its budgets, joined by straight lines
on the logarithm of labels, is inverted at the other model's score with the same draw. Where the fit reaches that score
at its smallest budget already the answer is "at most" that budget, and where it never does "more than" the largest:
nothing is carried on beyond what was measured.

Over draws stands the median, with the interval between two order statistics (David and Nagaraja, 2003, "Order
Statistics", 7.1), which holds for any distribution and takes "more than" as it is. It is the narrowest symmetrical one
with at least 95% coverage, and else the lowest and highest draw, with the coverage that those have: 93.75% of 5 draws.
It speaks of other draws scored on these test rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

LEVEL = 0.95
_SAME = 1e-12
"""Scores that differ by less are equal: means of the same counts may differ in their last digit."""

Side = Literal["at_most", "exactly", "more_than"]
_RANKS: dict[Side, int] = {"at_most": 0, "exactly": 1, "more_than": 2}


@dataclass(frozen=True, kw_only=True)
class Labels:
    """A number of labels, or what is known of it: at most so many, or more than so many."""

    n: float
    side: Side = "exactly"

    @property
    def _order(self) -> tuple[int, float]:
        return (_RANKS[self.side], self.n)

    def __lt__(self, other: "Labels") -> bool:
        """Whether this is fewer: "at most" the smallest budget is the fewest, "more than" the largest the most."""
        return self._order < other._order


@dataclass(frozen=True, kw_only=True)
class LabelEquivalent:
    """The median over draws with its interval."""

    middle: Labels
    low: Labels
    high: Labels
    coverage: float
    """How often such an interval holds the median over all draws."""
    by_draw: tuple[Labels, ...]
    """In the order in which draws were given."""


def label_equivalent(curves: Sequence[Mapping[int, float]], targets: Sequence[float]) -> LabelEquivalent:
    """What number of labels scores `targets`, by the curve (labels → score) of the same draw.

    Budgets without labels have no logarithm and are left out. Raises ValueError without draws, and for a curve with fewer
    than two budgets.
    """
    if not curves or len(curves) != len(targets):
        raise ValueError("it takes at least one draw, and a curve and a target of each")
    found = tuple(labels_for(curve, target) for curve, target in zip(curves, targets, strict=True))
    ordered = sorted(found)
    n = len(ordered)
    below, coverage = _interval_of_median(n)
    return LabelEquivalent(
        middle=_between(ordered[(n - 1) // 2], ordered[n // 2]),
        low=ordered[below],
        high=ordered[n - 1 - below],
        coverage=coverage,
        by_draw=found,
    )


def labels_for(curve: Mapping[int, float], target: float) -> Labels:
    """The fewest labels at which the non-decreasing fit of one draw's curve reaches the target."""
    from scipy.optimize import isotonic_regression  # takes longer to import than most pages without a curve take

    budgets = sorted(n for n in curve if n > 0)
    if len(budgets) < 2:
        raise ValueError("a curve needs two budgets with labels")
    fitted = isotonic_regression(np.array([curve[n] for n in budgets], dtype=np.float64)).x
    if fitted[0] >= target - _SAME:
        return Labels(n=float(budgets[0]), side="at_most")
    if fitted[-1] < target - _SAME:
        return Labels(n=float(budgets[-1]), side="more_than")
    after = int(np.argmax(fitted >= target - _SAME))
    share = min(1.0, (target - fitted[after - 1]) / (fitted[after] - fitted[after - 1]))
    low, high = math.log(budgets[after - 1]), math.log(budgets[after])
    return Labels(n=math.exp(low + share * (high - low)))


def _interval_of_median(n: int) -> tuple[int, float]:
    """From how many-th lowest (from 0) to how many-th highest of n draws the interval goes, and its coverage."""
    below = 0
    while 2 * (below + 1) < n and 1 - 2 * _at_most(below + 1, n) >= LEVEL:
        below += 1
    return below, 1 - 2 * _at_most(below, n) if n > 1 else 0.0


def _at_most(k: int, n: int) -> float:
    """The probability of at most k heads in n tosses of a fair coin."""
    return sum(math.comb(n, heads) for heads in range(k + 1)) / float(2**n)


def _between(a: Labels, b: Labels) -> Labels:
    """Half way on the log scale, and the lower of the two where one of them is only bounded."""
    return Labels(n=math.sqrt(a.n * b.n)) if a.side == b.side == "exactly" else a
