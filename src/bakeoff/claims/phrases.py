"""Differences in words, so that no sentence says that something loses −0.4 points."""

from bakeoff.claims.claim import Interval
from bakeoff.report.words import MINUS


def loses(points: float) -> str:
    """`loses 1.3 points`, or `gains 0.4 points` of a negative loss."""
    return f"{'gains' if round(points, 1) < 0 else 'loses'} {abs(points):.1f} points"


def leads(points: float, other: str) -> str:
    """`leads tfidf by 8.4 points`, or `is 0.4 points behind tfidf`."""
    return f"is {abs(points):.1f} points behind {other}" if round(points, 1) < 0 else f"leads {other} by {points:.1f} points"


def signed(value: float) -> str:
    """`+1.3`, `−0.4`."""
    return f"{value:+.1f}".replace("-", MINUS)


def signless(value: float) -> str:
    """`1.3`, `−0.4`: without a sign where it is not negative."""
    return f"{value:.1f}".replace("-", MINUS)


def span(interval: Interval) -> str:
    """`−0.4 to 1.3`."""
    return f"{signless(interval.low)} to {signless(interval.high)}"


def tiny(value: float) -> str:
    """`1.1e-13`, `2e-6`, `0`."""
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return "0" if value == 0 else f"{mantissa.removesuffix('.0')}e{int(exponent)}"
