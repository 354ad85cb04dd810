"""One-sided bounds of a mean, Holm's correction over several, and the size of study that would decide.

A loss (reference − candidate) is judged against a margin, from both sides, with the standard error and the degrees of
freedom of `stats`:

    as good:  p = P(t_ν ≤ (mean − margin) / SE)      worse:  p = P(t_ν ≥ (mean − margin) / SE)

Where all rows and seeds agree, SE is 0 and the exact binomial bound stands in, one-sided here: 1 − level^(1/n).

Sources: Holm (1979), Scandinavian Journal of Statistics 6(2); non-inferiority by a one-sided bound, Schuirmann (1987),
Journal of Pharmacokinetics and Biopharmaceutics 15(6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from bakeoff.report.choice import Needed
from bakeoff.report.stats import Estimate, Floats

ALPHA = 0.05
MOST_TIMES = 1000
"""A study this many times as large is the largest that is thought of."""

Side = Literal["below", "above"]


@dataclass(frozen=True, kw_only=True)
class Holm:
    """What a family of tests comes to: for each, its adjusted p-value and the level at which it was tested.

    A test is significant exactly where its own p-value is below its level. Once one is not, those with larger p-values
    are held to its level, so that a bound at `level` never says more than the procedure does.
    """

    adjusted: tuple[float, ...]
    levels: tuple[float, ...]


def holm(p_values: Sequence[float], alpha: float = ALPHA) -> Holm:
    """Holm's step-down procedure."""
    count = len(p_values)
    adjusted, levels = [1.0] * count, [alpha] * count
    highest, stopped_at = 0.0, 0.0
    for rank, index in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = highest
        levels[index] = stopped_at or alpha / (count - rank)
        if p_values[index] >= levels[index]:
            stopped_at = levels[index]
    return Holm(adjusted=tuple(adjusted), levels=tuple(levels))


def p_value(loss: Estimate, *, margin: float, side: Side) -> float:
    """Of the hypothesis that the true loss lies on the other side of the margin: `below` shows as good, `above` worse."""
    gap = margin - loss.mean if side == "below" else loss.mean - margin
    error = loss.standard_error
    if error > 0 and loss.units > 1:
        return float(stdtr(loss.degrees, -gap / error))
    return float((1 - min(gap, 1.0)) ** loss.units) if gap > 0 else 1.0


def bound(loss: Estimate, *, level: float, side: Side) -> float:
    """The one-sided bound at a level: the upper one for `below`, the lower one for `above`, within [−1, 1]."""
    error = loss.standard_error
    exact = 1 - level ** (1 / loss.units)
    half = float(stdtrit(loss.degrees, 1 - level)) * error if error > 0 and loss.units > 1 else exact
    return min(1.0, loss.mean + half) if side == "below" else max(-1.0, loss.mean - half)


def needed(loss: Estimate, *, margin: float, level: float) -> Needed | None:
    """How many more test rows (or groups) alone, or draws alone, take the bound past the margin if the mean stays.

    A / S shrinks with draws and B / n with rows. What of B comes from single draws shrinks with draws too, and what of A
    comes from single rows with rows, which is not counted on: the numbers are rather too large. Null is beyond MOST_TIMES
    what there is. None over folds, which there are no more of: with K of them only a larger pool decides.
    """
    if loss.folds is not None:
        return None
    gap = abs(loss.mean - margin)
    units, draws = _sizes(loss.units), _sizes(max(loss.seeds, 2))
    by_units = _enough(loss, draws=np.full_like(units, loss.seeds), units=units, gap=gap, level=level)
    by_draws = _enough(loss, draws=draws, units=np.full_like(draws, loss.units), gap=gap, level=level)
    return Needed(
        more_units=None if by_units is None else round(units[by_units]) - loss.units,
        units="test rows" if loss.groups is None else "groups",
        more_draws=None if by_draws is None else round(draws[by_draws]) - loss.seeds,
    )


def _sizes(now: int) -> Floats:
    """Whole numbers from what there is to MOST_TIMES as many: every one at first, then in steps of about 0.6%."""
    return np.unique(np.round(now * np.geomspace(1, MOST_TIMES, 1200)))


def _enough(loss: Estimate, *, draws: Floats, units: Floats, gap: float, level: float) -> int | None:
    """Index of the first study whose one-sided half width is below the gap; None where none is."""
    a = loss.seed_variance * loss.seeds / draws
    b = loss.row_variance * loss.units / units
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = (a + b) ** 2 / (a**2 / np.maximum(draws - 1, 1) + b**2 / np.maximum(units - 1, 1))
    half = np.where(a + b > 0, stdtrit(np.where(a + b > 0, degrees, 1.0), 1 - level) * np.sqrt(a + b), 1 - level ** (1 / units))
    found = np.flatnonzero(half < gap)
    return int(found[0]) if found.size else None
