"""Turns and samples: how models are timed side by side, without processes, devices or a clock of its own.

Models take turns in random order, so that a slower minute of the machine falls on all of them alike. A turn is a few
untimed calls, which make caches as warm as in serving, and then a block of timed ones. What the samples say is in
`samples`.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from bakeoff.data.tokens import Document
from bakeoff.probes.rules import Batches, Call, Clock, Rules, batches_of
from bakeoff.probes.warmup import warm_up


class Stages(Protocol):
    """One call, stage by stage."""

    @property
    def tokenise_ns(self) -> int: ...
    @property
    def window_ns(self) -> int: ...
    @property
    def forward_ns(self) -> int: ...
    @property
    def pool_ns(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One model's turn. Batch numbers count on from turn to turn; the batch itself is that number modulo their count."""

    opening: int
    """Batch of the call after the switch, the first of the untimed ones."""
    first: int
    """Batch of the first timed call; the others follow one by one."""
    total_ns: list[int]
    """One a timed call."""
    after_switch_ns: int
    stages: Stages | None
    """Of one more call after the block, on the batch after the last."""
    seconds: float
    """All of the turn, untimed calls included."""


@dataclass(kw_only=True)
class Played:
    """Turns by model. `failed` holds the error of a model that raised and dropped out; its turns are of no use."""

    turns: dict[str, dict[int, Turn]] = field(default_factory=dict)
    """Model → round → turn."""
    failed: dict[str, Exception] = field(default_factory=dict)


def choose_documents(n: int, rules: Rules) -> np.ndarray:
    """Which of n test documents are timed, in which order: the same for every model and every session of a dataset.

    A permutation, cut where a model with the samples for p95 has seen every document.
    """
    return np.random.default_rng(0).permutation(n)[: rules.samples_p95]


def take_turn(
    call: Call,
    batches: Batches,
    first: int,
    *,
    rules: Rules,
    clock: Clock = time.perf_counter_ns,
    synchronise: Callable[[], object] | None = None,
    staged: Callable[[Sequence[Document]], Stages] | None = None,
) -> Turn:
    """One turn that goes on with batch number `first`; `synchronise` waits for the device before the clock is read."""
    n, begin = len(batches), clock()
    opening, after_switch_ns = first - rules.untimed_calls, 0
    for i in range(rules.untimed_calls):  # on what the last turn ended with, so that no timed document was just seen
        before = clock()
        call(batches[(opening + i) % n])
        if synchronise is not None:
            synchronise()
        if i == 0:
            after_switch_ns = clock() - before
    total_ns: list[int] = []
    number = first
    before = clock()
    deadline = before + round(rules.block_ms * 1e6)
    while True:
        batch = batches[number % n]
        before = clock()
        call(batch)
        if synchronise is not None:
            synchronise()
        after = clock()
        total_ns.append(after - before)
        number += 1
        if after >= deadline and len(total_ns) >= rules.least_calls:
            break
    stages = staged(batches[number % n]) if staged is not None else None
    return Turn(
        opening=opening, first=first, total_ns=total_ns, after_switch_ns=after_switch_ns, stages=stages, seconds=(clock() - begin) / 1e9
    )


def play_rounds(
    players: Mapping[str, Callable[[int], Turn]],
    *,
    rng: np.random.Generator,
    rules: Rules,
    always: Collection[str] = (),
) -> Played:
    """Rounds of turns in random order until every player has enough; a player is given the batch number to go on with.

    Those in `always` take part in every round, so that every other one has its ratio to them from shared rounds. A
    player that raises drops out.
    """
    played = Played(turns={name: {} for name in players})
    samples, seconds, following = (dict.fromkeys(players, 0), dict.fromkeys(players, 0.0), dict.fromkeys(players, 0))
    number = 0
    while True:

        def wants(name: str) -> bool:
            return name not in played.failed and not is_enough(
                samples[name], rounds=len(played.turns[name]), seconds=seconds[name], rules=rules
            )

        open_ = [name for name in players if wants(name)]
        if not open_:
            return played
        joined = [name for name in players if name in open_ or (name in always and name not in played.failed)]
        for name in (joined[i] for i in rng.permutation(len(joined))):
            try:
                turn = players[name](following[name])
            except Exception as error:
                played.failed[name] = error
                continue
            played.turns[name][number] = turn
            samples[name] += len(turn.total_ns)
            seconds[name] += turn.seconds
            following[name] = turn.first + len(turn.total_ns)
        number += 1


def is_enough(samples: int, *, rounds: int, seconds: float, rules: Rules) -> bool:
    """Whether a model needs no further turn: it has the samples for p99, or can only have those for p95, or no time left."""
    if samples < rules.samples_anyhow:
        return False
    if seconds >= rules.seconds_per_model:
        return True
    if rounds < rules.least_rounds or samples < rules.samples_p95:
        return False
    return samples >= rules.samples_p99 or seconds / samples * rules.samples_p99 > rules.seconds_per_model


def take_turns(
    pipelines: Mapping[str, Call],
    documents: Sequence[Document],
    *,
    batch_size: int,
    rng: np.random.Generator,
    rules: Rules | None = None,
    clock: Clock = time.perf_counter_ns,
    synchronise: Callable[[], object] | None = None,
) -> Played:
    """Warm up and time models of this very process against each other; `session` does it over processes."""
    rules = rules or Rules()
    batches = batches_of(documents, batch_size)
    for call in pipelines.values():
        warm_up(call, batches, rules=rules, clock=clock, synchronise=synchronise)

    def player(call: Call) -> Callable[[int], Turn]:
        return lambda first: take_turn(call, batches, first, rules=rules, clock=clock, synchronise=synchronise)

    return play_rounds({name: player(call) for name, call in pipelines.items()}, rng=rng, rules=rules)
