"""Bricks timed against each other in this process: blocks of calls in turns, as `probes.latency` times whole models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bakeoff.probes import samples
from bakeoff.probes.contention import CONTENDED_SHARE, foreign_share, read_cpu
from bakeoff.probes.latency import take_turns
from bakeoff.probes.rules import Rules
from bakeoff.probes.samples import Ratio, Samples

SAMPLES = 1000
CALLS_A_TURN = 5
LEAST_ROUNDS = 3
"""Turns of each at least, however slow its calls are: fewer cannot be resampled."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """What was timed together, by name."""

    calls: Mapping[str, Samples]
    foreign_cpu_share: float
    """CPU time of other processes over the wall time, in cores."""

    def p50_ms(self, name: str) -> float:
        """The median call."""
        return float(samples.percentiles(self.calls[name].total_ms, [0.5])[0])

    def n(self, name: str) -> int:
        """How many calls were timed."""
        return len(self.calls[name].total_ms)

    def ratio(self, above: str, below: str) -> Ratio:
        """The ratio of two medians, its interval from resampling the rounds that both took part in."""
        found = samples.ratio(self.calls[above], self.calls[below], rules=_rules(seconds=0.0), rng=np.random.default_rng(0))
        assert found is not None, "everything is timed in LEAST_ROUNDS rounds at least"
        return found

    @property
    def note(self) -> str | None:
        """What a reader should know of this session; null for a quiet one."""
        share = self.foreign_cpu_share
        return (
            None if share <= CONTENDED_SHARE else f"other processes used {share:.2f} of a core meanwhile: run it again on an idle machine"
        )


def time_in_turns(calls: Mapping[str, Callable[[], object]], *, seconds: float, synchronise: Callable[[], object] | None = None) -> Session:
    """SAMPLES timed calls of each, or as many as `seconds` a call allow, in rounds of turns in random order.

    `synchronise` waits for the device before the clock is read.
    """
    pipelines = {name: _ignoring(call) for name, call in calls.items()}
    before = read_cpu()
    played = take_turns(
        pipelines, ("",), batch_size=1, rng=np.random.default_rng(0), rules=_rules(seconds=seconds), synchronise=synchronise
    )
    for error in played.failed.values():
        raise error
    found = {name: samples.gather(turns, batch_size=1, n_batches=1) for name, turns in played.turns.items()}
    return Session(calls=found, foreign_cpu_share=foreign_share(before, read_cpu()))


def _ignoring(call: Callable[[], object]) -> Callable[[object], object]:
    return lambda _: call()


def _rules(*, seconds: float) -> Rules:
    return Rules(
        untimed_calls=1,
        block_ms=0.0,
        least_calls=CALLS_A_TURN,
        least_rounds=LEAST_ROUNDS,
        samples_p95=SAMPLES,
        samples_p99=SAMPLES,
        samples_anyhow=LEAST_ROUNDS * CALLS_A_TURN,
        seconds_per_model=seconds,
        warm_up_calls=5,
        warm_up_seconds=2.0,
    )
