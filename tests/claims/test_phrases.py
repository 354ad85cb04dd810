"""Differences in words."""

import pytest

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Interval, Verdict
from bakeoff.claims.rules import Measured, Part


def test_a_negative_loss_is_a_gain() -> None:
    assert (phrases.loses(1.26), phrases.loses(-0.42), phrases.loses(-0.04)) == ("loses 1.3 points", "gains 0.4 points", "loses 0.0 points")
    assert (phrases.leads(8.4, "tfidf"), phrases.leads(-0.4, "tfidf")) == ("leads tfidf by 8.4 points", "is 0.4 points behind tfidf")


def test_signs() -> None:
    assert (phrases.signed(1.26), phrases.signed(-0.4), phrases.signless(-0.4)) == ("+1.3", "−0.4", "−0.4")
    assert phrases.span(Interval(low=-1.25, high=3.0)) == "−1.2 to 3.0"


@pytest.mark.parametrize(("value", "said"), [(1.1e-13, "1.1e-13"), (2e-6, "2e-6"), (2.4e21, "2.4e21"), (0.0, "0"), (-3e-9, "-3e-9")])
def test_tiny_and_huge(value: float, said: str) -> None:
    assert phrases.tiny(value) == said


def part(asks: str, verdict: Verdict) -> Part:
    return Part(
        asks=asks, measured=Measured(figure=-1.0, interval=Interval(low=-2.0, high=0.5), detectable=3.0), unit="points", verdict=verdict
    )


def test_the_part_that_decides_is_the_first_with_the_verdict_of_all() -> None:
    parts = [part("one", "inconclusive"), part("two", "does not hold"), part("three", "does not hold"), part("four", "holds")]
    assert rules.deciding(parts).asks == "two"
    assert rules.deciding([parts[3], parts[0]]).asks == "one"
    assert rules.deciding([parts[3]]).told == "four: holds (−1.0 points, −2.0 to 0.5)."
