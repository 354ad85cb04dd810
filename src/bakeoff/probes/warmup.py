"""Before the turns: warm a model up, find its best batch, and see how fine the clock is."""

import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from bakeoff.data.tokens import Document
from bakeoff.probes.rules import Batches, Call, Clock, Rules, batches_of


@dataclass(frozen=True, kw_only=True)
class WarmUp:
    """How a model was warmed up."""

    calls: int
    stable: bool

    def and_also(self, other: "WarmUp") -> "WarmUp":
        """Both together."""
        return WarmUp(calls=self.calls + other.calls, stable=self.stable and other.stable)


def warm_up(
    call: Call,
    batches: Batches,
    *,
    rules: Rules,
    clock: Clock = time.perf_counter_ns,
    synchronise: Callable[[], object] | None = None,
) -> WarmUp:
    """Call a model until the median of a block is within the tolerance of the block's before, or its time is up."""
    medians: list[float] = []
    calls, deadline = 0, clock() + round(rules.warm_up_seconds * 1e9)
    block = [batches[i % len(batches)] for i in range(rules.warm_up_calls)]
    while True:
        taken: list[int] = []
        for batch in block:
            before = clock()
            call(batch)
            if synchronise is not None:
                synchronise()
            taken.append(clock() - before)
            if clock() >= deadline:
                break
        calls += len(taken)
        whole = len(taken) == len(block)
        if whole or not medians:
            medians.append(statistics.median(taken))
        stable = whole and len(medians) > 1 and abs(medians[-1] - medians[-2]) <= rules.warm_up_tolerance * medians[-2]
        if stable or clock() >= deadline:
            return WarmUp(calls=calls, stable=stable)


def best_batch(
    call: Call,
    documents: Sequence[Document],
    *,
    clock: Clock = time.perf_counter_ns,
    synchronise: Callable[[], object] | None = None,
    largest: int = 1024,
    least_ms: float = 200.0,
) -> "Search":
    """The batch size with the highest throughput among powers of two, tried upwards until two in a row are below it or memory is short.

    Each size answers the same documents, from the first, for at least `least_ms` and two calls, after one untimed call.
    """
    rates: dict[int, float] = {}
    ended: Literal["falling", "memory", "largest"] = "largest"
    size = 1
    while size <= largest:
        batches = batches_of(documents, size)
        try:
            rate = _throughput(call, batches, clock=clock, synchronise=synchronise, least_ms=least_ms)
        except Exception as error:
            if not is_out_of_memory(error) or not rates:
                raise
            ended = "memory"
            break
        rates[size] = rate * size
        if len(rates) > 2 and max(list(rates.values())[-2:]) < max(rates.values()):
            ended = "falling"
            break
        size *= 2
    return Search(best=max(rates, key=rates.__getitem__), documents_per_second=rates, ended=ended)


@dataclass(frozen=True, kw_only=True)
class Search:
    """What the search for the best batch found."""

    best: int
    documents_per_second: dict[int, float]
    ended: Literal["falling", "memory", "largest"]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, PyTorch's own included, says that memory was short."""
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower() or "can't allocate memory" in str(error).lower()


def clock_resolution_ns(clock: Clock = time.perf_counter_ns, readings: int = 2000) -> int:
    """The smallest step that a clock was seen to make."""
    times = [clock() for _ in range(readings)]
    steps = [after - before for before, after in itertools.pairwise(times) if after > before]
    return min(steps, default=math.ceil(1e9))


def _throughput(call: Call, batches: Batches, *, clock: Clock, synchronise: Callable[[], object] | None, least_ms: float) -> float:
    """Batches a second."""

    def answer(batch: Sequence[Document]) -> None:
        call(batch)
        if synchronise is not None:
            synchronise()

    answer(batches[0])
    begin, calls = clock(), 0
    while calls < 2 or clock() - begin < least_ms * 1e6:
        answer(batches[calls % len(batches)])
        calls += 1
    return calls / ((clock() - begin) / 1e9)
