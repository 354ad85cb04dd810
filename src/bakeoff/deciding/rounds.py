"""What to run next: cheapest first, in rounds, each chosen from what the ones before have shown."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bakeoff.deciding.offers import LONG_SHARE, SMALLER_SEEDS, UNLABELLED, Candidate, Offer, floors, readings, timed_as, trained
from bakeoff.deciding.standing import Standing

Name = Literal["floors", "models", "readings", "draws", "budgets", "again"]
WHY: dict[Name, str] = {
    "floors": "what any model has to beat",
    "models": "one draw of each model that is trained by steps",
    "readings": "other ways to read long documents",
    "draws": "more draws for whoever is undecided",
    "budgets": "fewer labels, to say what more would buy",
    "again": "the earlier winner and its rivals, on the file as it has grown",
}
SHARES = (2, 4)
"""Smaller budgets are a half and a quarter of the labels."""
LEAST_LABELS = 100
FACTOR = 3.0
"""Runs side by side should take alike, up to this factor, so that no core waits long."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """Runs that belong together; after it the page is written anew."""

    name: Name
    offers: tuple[Offer, ...]


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known when the next round is chosen."""

    pool_rows: int
    truncated_share: float
    """Of documents that the encoder's own reading cuts."""
    standing: Standing = field(default_factory=Standing)
    is_settled: Callable[[Offer], bool]
    """Whether an offer is recorded, failed, or left out for want of time."""
    dropped: Mapping[Candidate, str] = field(default_factory=dict)
    """Candidate → why it is not trained at all."""
    slots: int = 1
    """Runs at a time: where fewer candidates are open, several of their draws are one round."""


def next_round(known: Known) -> Round | None:
    """The first round that has something to run; null once nothing is left that the rule asks for."""
    return next(rounds(known), None)


def rounds(known: Known) -> Iterator[Round]:
    """Every round that has something to run as things stand, in order; more draws are asked one seed at a time."""
    planned: tuple[tuple[Name, Sequence[Offer]], ...] = (
        ("floors", floors()),
        ("models", trained()),
        ("readings", readings() if known.truncated_share > LONG_SHARE else ()),
        *(("draws", draw) for draw in _draws(known)),
        ("budgets", _smaller(known)),
    )
    for name, offers in planned:
        if left := tuple(offer for offer in offers if not known.is_settled(offer) and offer.candidate not in known.dropped):
            yield Round(name=name, offers=left)


def _draws(known: Known) -> list[list[Offer]]:
    """Seed by seed, so that all who are open have as many; several seeds together while slots would stay empty."""
    found, asked = known.standing, list[list[Offer]]()
    for seed in range(1, found.advised_seeds):
        draws = [Offer(model=model, reading=reading, seed=seed) for model, reading in found.open]
        left = [offer for offer in draws if not known.is_settled(offer)]
        if asked and len(asked[-1]) < known.slots:
            asked[-1] += left
        else:
            asked.append(left)
    return asked


def _smaller(known: Known) -> list[Offer]:
    """The leader on a half and a quarter of the labels, with two draws of each; nothing for one that reads no label."""
    leader = known.standing.leader
    if leader is None or leader[0] == UNLABELLED:
        return []
    sizes = [labels for share in SHARES if (labels := known.pool_rows // share) >= LEAST_LABELS]
    return [Offer(model=leader[0], reading=leader[1], labels=labels, seed=seed) for labels in sizes for seed in range(SMALLER_SEEDS)]


def everybody_open() -> Standing:
    """How things stand before anybody is scored, for a plan: everybody may need more draws, and the last may lead."""
    every = tuple(offer.candidate for offer in (*floors(), *trained()) if offer.model != "majority" and offer.labels != 0)
    return Standing(open=every, leader=every[-2])


@dataclass(frozen=True, kw_only=True)
class Wave:
    """What of a round starts together, and what does not fit."""

    together: tuple[Offer, ...]
    too_long: tuple[Offer, ...]
    """Would not end in time: left out for good, since time only runs out."""


def wave(offers: Sequence[Offer], *, seconds: Callable[[Offer], float], fits: Callable[[float], bool], slots: int) -> Wave:
    """The cheapest of these, if it fits, and beside it those that take most like it, at most one a slot.

    Runs that start together can all be given the same time limit, which no Run that waits for a slot could keep.
    """
    expected = {offer: seconds(offer) for offer in offers}
    fitting = sorted((offer for offer in offers if fits(expected[offer])), key=expected.__getitem__)
    too_long = tuple(offer for offer in offers if offer not in fitting)
    if not fitting:
        return Wave(together=(), too_long=too_long)
    first, *others = fitting
    alike = [each for each in others if expected[each] <= FACTOR * expected[first] and expected[first] <= FACTOR * expected[each]]
    last = others[:1] if len(others) == 1 else []  # which would otherwise run alone afterwards
    chosen = sorted(alike or last, key=lambda each: abs(expected[each] - expected[first]))[: slots - 1]
    return Wave(together=(first, *chosen), too_long=too_long)


def dropped_by_latency(slow: Mapping[Candidate, str], offers: Sequence[Offer], *, measured: Container[Candidate]) -> dict[Candidate, str]:
    """Candidate → why it cannot be served in time, by `slow`, which says that of those whose latency was `measured`.

    A model whose own reading, which no other one undercuts, is too slow is too slow in every reading that was not measured itself.
    """
    found = {}
    for offer in offers:
        served = timed_as(offer)
        if served in slow:
            found[offer.candidate] = slow[served]
        elif served not in measured and (reason := slow.get((served[0], None))) is not None:
            found[offer.candidate] = f"as in its own reading, {reason}"
    return found
