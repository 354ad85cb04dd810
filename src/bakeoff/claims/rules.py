"""What the claims are judged by: figures with their intervals, and the verdicts that follow from them.

Every rule reads an interval: it holds where the whole interval is on its side, does not hold where none of it is, and is
inconclusive where the interval covers both. Losses and differences of accuracy are in points (hundredths), ratios in times.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.special import stdtrit
from scipy.stats import barnard_exact

from bakeoff.claims import phrases
from bakeoff.claims.claim import Interval, Verdict
from bakeoff.report.stats import LEVEL, POWER, Estimate, smallest_detectable

POINT, COMPETITIVE, CHANCE, ALIKE = 1.0, 2.0, 0.02, 0.05
"""Points that may be lost to be *within a point* and *competitive*; share above the majority's that is still *near chance*; by how
much of the larger two parameter counts may differ that count as matched."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A figure with its 95% interval and the smallest difference that its design could have seen, all in one unit."""

    figure: float
    interval: Interval
    detectable: float | None
    """None where nothing could have been told apart."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One of several things that a rule asks, and the figure that answers it."""

    asks: str
    """Such as `2e-05 is within a point of the best rate`."""
    measured: Measured
    unit: str
    verdict: Verdict

    @property
    def told(self) -> str:
        """What came of it, as a note."""
        low, high = (phrases.signless(end) for end in (self.measured.interval.low, self.measured.interval.high))
        apart = "" if self.unit.startswith(("×", "%")) else " "
        return f"{self.asks}: {self.verdict} ({phrases.signless(self.measured.figure)}{apart}{self.unit}, {low} to {high})."


@dataclass(frozen=True, kw_only=True)
class Shares:
    """How much more often one thing happens than another, in points, and how likely a gap as wide is where both are alike."""

    difference: Measured
    p_value: float


# Figures.


def in_points(estimate: Estimate) -> Measured:
    """A mean or difference of shares (`report.stats`: paired over rows and draws) in points."""
    interval = Interval(low=100 * estimate.low, high=100 * estimate.high)
    return Measured(figure=100 * estimate.mean, interval=interval, detectable=100 * smallest_detectable(estimate))


def over_draws(values: Sequence[float]) -> Measured:
    """The mean of one figure a draw, such as differences that are paired within a draw, with Student's t interval.

    The smallest detectable difference is `report.stats.smallest_detectable`'s. Raises ValueError below two draws.
    """
    n = len(values)
    if n < 2:
        raise ValueError("an interval over draws takes at least two")
    mean = math.fsum(values) / n
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    t = float(stdtrit(n - 1, (1 + LEVEL) / 2))
    found = error * (t + float(stdtrit(n - 1, POWER)))
    return Measured(figure=mean, interval=Interval(low=mean - t * error, high=mean + t * error), detectable=found)


def times_over_draws(ratios: Sequence[float]) -> Measured:
    """The geometric mean of one ratio a draw, all above zero, its interval from their logarithms.

    `detectable` is a factor too: a ratio that far from another would have been told from it.
    """
    logs = over_draws([math.log(ratio) for ratio in ratios])
    interval = Interval(low=math.exp(logs.interval.low), high=math.exp(logs.interval.high))
    return Measured(
        figure=math.exp(logs.figure), interval=interval, detectable=None if logs.detectable is None else math.exp(logs.detectable)
    )


def shares(hits: int, of: int, other_hits: int, other_of: int) -> Shares:
    """Whether `hits` of `of` is more than `other_hits` of `other_of`, by Barnard's exact test (1945, Nature 156).

    The interval is Newcombe's of Wilson scores (1998, Statistics in Medicine 17, method 10). The smallest detectable difference
    is the least by which the first share, of the same size, would have to be above the other for p ≤ 5%; None where none is high enough.
    """
    first, other = hits / of, other_hits / other_of
    a, b = _wilson(hits, of), _wilson(other_hits, other_of)
    low = first - other - math.hypot(first - a.low, b.high - other)
    high = first - other + math.hypot(a.high - first, other - b.low)
    found = [count / of - other for count in range(of + 1) if count / of > other and _barnard(count, of, other_hits, other_of) <= 1 - LEVEL]
    detectable = 100 * min(found) if found else None
    measured = Measured(figure=100 * (first - other), interval=Interval(low=100 * low, high=100 * high), detectable=detectable)
    return Shares(difference=measured, p_value=_barnard(hits, of, other_hits, other_of))


# Verdicts.


def exact(holds: bool) -> Verdict:
    """Of a figure that has no interval."""
    return "holds" if holds else "does not hold"


def at_most(limit: float, interval: Interval) -> Verdict:
    """Whether a figure is at most `limit`: its upper 95% bound is."""
    return _sides(holds=interval.high <= limit, fails=interval.low > limit)


def below(limit: float, interval: Interval) -> Verdict:
    """Whether a figure is below `limit`: its upper 95% bound is."""
    return _sides(holds=interval.high < limit, fails=interval.low >= limit)


def above(limit: float, interval: Interval) -> Verdict:
    """Whether a figure exceeds `limit`: its lower 95% bound does."""
    return _sides(holds=interval.low > limit, fails=interval.high <= limit)


def within(low: float, high: float, interval: Interval) -> Verdict:
    """Whether a figure lies between two bounds, themselves included."""
    return _sides(holds=low <= interval.low and interval.high <= high, fails=interval.high < low or high < interval.low)


def about(times: float, interval: Interval, low: float = 0.5, high: float = 2.0) -> Verdict:
    """*About x×*: the interval of the ratio lies within [x/2, 2x]."""
    return within(low * times, high * times, interval)


def sixty_percent_faster(interval: Interval) -> Verdict:
    """*60% faster*: 1.6 times as fast, the interval of the ratio within [1.4, 2.2]."""
    return within(1.4, 2.2, interval)


def within_a_point(loss: Interval) -> Verdict:
    """*Within a point*: the upper bound of the loss, in points, is at most 1.0."""
    return at_most(POINT, loss)


def competitive(loss: Interval) -> Verdict:
    """*Competitive*: the upper bound of the loss, in points, is at most 2.0."""
    return at_most(COMPETITIVE, loss)


def near_chance(accuracy: Interval, *, majority: float) -> Verdict:
    """*Near chance*: the upper bound of an accuracy is at most the largest class's share + 2 points; all shares from 0 to 1."""
    return at_most(majority + CHANCE, accuracy)


def trains(training_accuracy: float, *, majority: float) -> bool:
    """*Trains*: its training accuracy is above the largest class's share + half of what that lacks to 1."""
    return training_accuracy > majority + (1 - majority) / 2


def more_often(found: Shares) -> Verdict:
    """Whether the first share is larger, by the exact test at 5%."""
    seen, gap = found.p_value <= 1 - LEVEL, found.difference.figure
    return _sides(holds=seen and gap > 0, fails=seen and gap < 0)


def deciding(parts: Sequence[Part]) -> Part:
    """The part that a verdict over all of them rests on: the first with that verdict, so the first of all where the claim holds."""
    verdict = all_of(part.verdict for part in parts)
    return next(part for part in parts if part.verdict == verdict)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a rule that asks several things: it holds where all do, and does not where one does not."""
    seen = set(verdicts)
    order: tuple[Verdict, ...] = ("does not hold", "cannot be tested here", "inconclusive")
    return next((verdict for verdict in order if verdict in seen), "holds")


def matched(parameters: Sequence[int]) -> bool:
    """Whether parameter counts that are compared differ by at most 5% of the largest."""
    return max(parameters) - min(parameters) <= ALIKE * max(parameters)


def _sides(*, holds: bool, fails: bool) -> Verdict:
    return "holds" if holds else "does not hold" if fails else "inconclusive"


def _wilson(hits: int, of: int) -> Interval:
    """Wilson's score interval (1927) of a share."""
    z = 1.959963984540054
    share, scale = hits / of, 1 + z**2 / of
    middle = (share + z**2 / (2 * of)) / scale
    half = z * math.sqrt(share * (1 - share) / of + z**2 / (4 * of**2)) / scale
    return Interval(low=max(0.0, middle - half), high=min(1.0, middle + half))


def _barnard(hits: int, of: int, other_hits: int, other_of: int) -> float:
    table = [[hits, other_hits], [of - hits, other_of - other_hits]]
    if hits + other_hits in (0, of + other_of):  # all alike: the test has no statistic
        return 1.0
    return float(barnard_exact(table).pvalue)
