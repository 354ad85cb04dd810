"""Ratios of latency Runs: from the raw samples of a session in which both took turns, else through what every session times."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bakeoff.claims.claim import Baked, Interval, NotMeasured, Verdict
from bakeoff.claims.rules import Measured
from bakeoff.probes import samples
from bakeoff.probes.rules import Rules
from bakeoff.probes.samples import Samples
from bakeoff.record import LatencyFacts
from bakeoff.spec import Latency

SAMPLES = "latency.parquet"


@dataclass(frozen=True, kw_only=True)
class Times:
    """How many times as long one model takes as another at the median, with its 95% interval."""

    figure: float
    interval: Interval

    @property
    def measured(self) -> Measured:
        """As rules take it."""
        return Measured(figure=self.figure, interval=self.interval, detectable=self.detectable)

    @property
    def detectable(self) -> float:
        """The factor by which a ratio would have to differ to be told from this one: from the middle of the interval to its further end."""
        return max(self.interval.high / self.figure, self.figure / self.interval.low)


def facts_of(baked: Baked) -> LatencyFacts:
    """The facts of a latency Run."""
    assert baked.record.latency is not None, "a latency Run that is recorded has its facts"
    return baked.record.latency


def over_reference(baked: Baked) -> Times:
    """A model's median over that of the BiLSTM which every session times, from shared rounds. Raises NotMeasured without one."""
    facts = facts_of(baked)
    if facts.ratio_to_reference is None or facts.ratio_interval is None:
        why = facts.missing.get("ratio_to_reference", "the session had no reference")
        raise NotMeasured(f"{baked.record.run.model.name} has no ratio to the BiLSTM of its session ({why}): bake it again")
    return Times(figure=facts.ratio_to_reference, interval=Interval(low=facts.ratio_interval.low, high=facts.ratio_interval.high))


def between(slower: Baked, faster: Baked) -> Times:
    """The ratio of two medians from the rounds of one session in which both took a turn, which are resampled.

    Of two sessions, such as where another claim timed one of the two before: the ratio of their ratios to the BiLSTM, each from its own
    session (`through_reference`). Raises NotMeasured where that was not measured.
    """
    if facts_of(slower).session_id != facts_of(faster).session_id:
        return through_reference(slower, faster)
    found = samples.ratio(_read(slower), _read(faster), rules=Rules(), rng=np.random.default_rng(0))
    if found is None:
        raise NotMeasured(
            f"{slower.record.run.model.name} and {faster.record.run.model.name} shared fewer than two rounds: bake them again"
        )
    return Times(figure=found.value, interval=Interval(low=found.interval.low, high=found.interval.high))


def through_reference(slower: Baked, faster: Baked) -> Times:
    """The ratio of two ratios to one reference. Their intervals are of different sessions and so independent: distances add up in squares.

    On logarithms (Zou & Donner, 2008, Statistics in Medicine 27). Raises NotMeasured where machine or reference are not the same.
    """
    ours, theirs = slower.record.run.probe, faster.record.run.probe
    assert isinstance(ours, Latency)
    assert isinstance(theirs, Latency)
    if (ours.reference, ours.machine) != (theirs.reference, theirs.machine):
        raise NotMeasured(
            f"{slower.record.run.model.name} and {faster.record.run.model.name} were timed on different machines, or beside different "
            "references: bake their latency Runs again, together"
        )
    above, below = over_reference(slower), over_reference(faster)
    low = math.hypot(math.log(above.figure / above.interval.low), math.log(below.interval.high / below.figure))
    high = math.hypot(math.log(above.interval.high / above.figure), math.log(below.figure / below.interval.low))
    figure = above.figure / below.figure
    return Times(figure=figure, interval=Interval(low=figure * math.exp(-low), high=figure * math.exp(high)))


def quiet(verdict: Verdict, baked: Iterable[Baked]) -> Verdict:
    """The verdict, or *inconclusive* where other processes disturbed a session, whose ratios are not to be trusted."""
    return "inconclusive" if any(facts_of(one).contended for one in baked) else verdict


def notes(baked: Iterable[Baked]) -> tuple[str, ...]:
    """What a reader should know of the sessions: who else used the processor."""
    shares = {facts_of(one).session_id: facts_of(one).foreign_cpu_share for one in baked if facts_of(one).contended}
    return tuple(
        f"Session {session} was disturbed: other processes used {share:.2f} of a core. Bake its Runs again on an idle machine."
        for session, share in shares.items()
    )


def apart(slower: Baked, faster: Baked) -> tuple[str, ...]:
    """What a reader should know of a ratio of two sessions; nothing of a ratio within one."""
    names = f"{slower.record.run.model.name} and {faster.record.run.model.name}"
    said = f"{names} were timed in different sessions, each against the BiLSTM, and are compared through it."
    return (said,) if facts_of(slower).session_id != facts_of(faster).session_id else ()


def _read(baked: Baked) -> Samples:
    """The timed calls of a Run, by round of its session."""
    import pyarrow.parquet as parquet

    path = baked.folder / SAMPLES
    if not path.exists():
        raise NotMeasured(f"{baked.record.run_id} has a record but no {SAMPLES}: bake its sweep again with bakeoff sweep FILE --rebake all")
    table = parquet.ParquetFile(path).read(columns=["turn", "call", "kind", "total_ns"], use_threads=False)
    kinds = np.array(table["kind"].to_pylist(), dtype=str)
    turn, call, total_ns = (np.array(table[name].to_pylist(), dtype=np.float64) for name in ("turn", "call", "total_ns"))
    kept = kinds == "sample"
    return Samples(
        total_ms=total_ns[kept] / 1e6 / facts_of(baked).batch_size,
        rounds=turn[kept].astype(np.int64),
        call=call[kept].astype(np.int64),
        batch=np.zeros(int(kept.sum()), dtype=np.int64),
    )
