"""What turns say: percentiles over documents, ratios, and 95% intervals from resampling turns.

A percentile is the smallest sample that at least that share of the samples does not exceed. Calls of one turn share the
machine's mood, so whole turns are drawn with replacement (a cluster bootstrap; Davison & Hinkley 1997, section 3.8).
A ratio draws rounds, in each of which both models took a turn.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bakeoff.probes.latency import Stages, Turn
from bakeoff.probes.rules import Rules
from bakeoff.record import Interval

PERCENTILES: dict[str, float] = {"p50_ms": 0.50, "p90_ms": 0.90, "p95_ms": 0.95, "p99_ms": 0.99}
STAGES = ("tokenise", "window", "forward", "pool")
FINEST_SHARE = 20
"""A clock is too coarse for calls shorter than this many of its steps."""
_CELLS = 4_000_000
"""Weights held at a time while resampling."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Samples:
    """A model's timed calls, shape (samples,) each."""

    total_ms: Floats
    """Per document: a call's time over its batch size."""
    rounds: Ints
    call: Ints
    """Place in its turn, from 0."""
    batch: Ints
    """Number of the batch, from 0 to the number of different batches."""

    def in_rounds(self, rounds: Collection[int]) -> "Samples":
        """Those of some rounds."""
        kept = np.isin(self.rounds, np.asarray(sorted(rounds), dtype=np.int64))
        return Samples(total_ms=self.total_ms[kept], rounds=self.rounds[kept], call=self.call[kept], batch=self.batch[kept])


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Percentiles with their intervals, and why some are missing."""

    values: dict[str, float | None]
    intervals: dict[str, Interval]
    missing: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A model's median over the reference's, from the rounds that both took part in."""

    value: float
    interval: Interval
    reference_p50_ms: float


def gather(turns: Mapping[int, Turn], *, batch_size: int, n_batches: int) -> Samples:
    """The timed calls of a model's turns, in order; `turns` is round → turn."""
    sizes = [len(turn.total_ns) for turn in turns.values()]
    call = np.concatenate([np.arange(size) for size in sizes]) if sizes else np.empty(0, dtype=np.int64)
    first = np.repeat(np.asarray([turn.first for turn in turns.values()], dtype=np.int64), sizes)
    return Samples(
        total_ms=np.asarray([ns for turn in turns.values() for ns in turn.total_ns], dtype=np.float64) / 1e6 / batch_size,
        rounds=np.repeat(np.asarray(list(turns), dtype=np.int64), sizes),
        call=call.astype(np.int64),
        batch=(first + call) % n_batches,
    )


def summarise(samples: Samples, *, rules: Rules, resolution_ns: int, batch_size: int, rng: np.random.Generator) -> Summary:
    """Percentiles over a model's calls; one with too few samples is None, and `missing` says why.

    With a clock too coarse for one call, the median over turns of a turn's mean stands in for p50, and the rest is missing.
    """
    n = len(samples.total_ms)
    if n and resolution_ns * FINEST_SHARE > np.median(samples.total_ms) * batch_size * 1e6:
        return _of_whole_blocks(samples, resolution_ns=resolution_ns, rules=rules, rng=rng)
    needed = {"p50_ms": rules.samples_p50, "p90_ms": rules.samples_p90, "p95_ms": rules.samples_p95, "p99_ms": rules.samples_p99}
    names = [name for name in PERCENTILES if n >= needed[name]]
    missing = {
        name: f"{name.removesuffix('_ms')} needs {needed[name]:,} samples; {n:,} were taken in the {rules.seconds_per_model:g} s of a model"
        for name in PERCENTILES
        if name not in names
    }
    values: dict[str, float | None] = dict.fromkeys(PERCENTILES)
    if not names:
        return Summary(values=values, intervals={}, missing=missing)
    shares = [PERCENTILES[name] for name in names]
    values |= dict(zip(names, percentiles(samples.total_ms, shares).tolist(), strict=True))
    drawn = resampled(samples, draws(len(np.unique(samples.rounds)), rules.resamples, rng), shares)
    return Summary(values=values, intervals={name: interval(drawn[:, i]) for i, name in enumerate(names)}, missing=missing)


def ratio(model: Samples, reference: Samples, *, rules: Rules, rng: np.random.Generator) -> Ratio | None:
    """The ratio of medians over shared rounds; None where there are fewer than two of them."""
    shared = np.intersect1d(model.rounds, reference.rounds)
    if len(shared) < 2:
        return None
    model, reference = model.in_rounds(shared.tolist()), reference.in_rounds(shared.tolist())
    above, below = (float(percentiles(each.total_ms, [0.5])[0]) for each in (model, reference))
    counts = draws(len(shared), rules.resamples, rng)
    drawn = resampled(model, counts, [0.5])[:, 0] / resampled(reference, counts, [0.5])[:, 0]
    return Ratio(value=above / below, interval=interval(drawn), reference_p50_ms=below)


def stage_medians_ms(turns: Mapping[int, Turn], *, batch_size: int) -> dict[str, float]:
    """Medians per document of the stages of the calls that were timed stage by stage."""
    staged: Sequence[Stages] = [turn.stages for turn in turns.values() if turn.stages is not None]
    if not staged:
        return {}
    return {stage: float(np.median([getattr(each, f"{stage}_ns") for each in staged])) / 1e6 / batch_size for stage in STAGES}


def percentiles(values: Floats, shares: Sequence[float]) -> Floats:
    """The smallest value that at least a share of `values`, shape (n,), does not exceed; shape (shares,)."""
    ordered: Floats = np.quantile(values, shares, method="inverted_cdf")
    return ordered


def draws(n: int, resamples: int, rng: np.random.Generator) -> Ints:
    """How often each of n things is drawn when n are drawn with replacement; shape (resamples, n)."""
    counts: Ints = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    return counts


def resampled(samples: Samples, counts: Ints, shares: Sequence[float]) -> Floats:
    """Percentiles of resamples, shape (resamples, shares); `counts` is (resamples, rounds), in ascending order of rounds."""
    _, place = np.unique(samples.rounds, return_inverse=True)
    order = np.argsort(samples.total_ms, kind="stable")
    values, place = samples.total_ms[order], place[order]
    found = np.empty((len(counts), len(shares)))
    step = max(1, _CELLS // len(values))
    for begin in range(0, len(counts), step):
        weights = counts[begin : begin + step].astype(np.int32)[:, place]
        reached = np.cumsum(weights, axis=1, dtype=np.int32)
        for row, line in enumerate(reached, start=begin):
            # A hair less than the share: 0.95 × 1,000 is a little above 950 in binary.
            found[row] = values[np.searchsorted(line, np.asarray(shares) * line[-1] * (1 - 1e-12))]
    return found


def interval(drawn: Floats) -> Interval:
    """The middle 95% of resamples, shape (resamples,)."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(low=float(low), high=float(high))


def _of_whole_blocks(samples: Samples, *, resolution_ns: int, rules: Rules, rng: np.random.Generator) -> Summary:
    rounds, place = np.unique(samples.rounds, return_inverse=True)
    means = np.bincount(place, weights=samples.total_ms) / np.bincount(place)
    blocks = Samples(total_ms=means, rounds=rounds, call=np.zeros_like(rounds), batch=np.zeros_like(rounds))
    why = f"the clock moves in steps of {resolution_ns / 1000:g} µs, above 1/{FINEST_SHARE} of a call: "
    missing = dict.fromkeys(PERCENTILES, why + "only whole blocks of calls can be timed") | {
        "p50_ms": why + "this is the median of block means"
    }
    drawn = resampled(blocks, draws(len(rounds), rules.resamples, rng), [0.5])
    values: dict[str, float | None] = dict.fromkeys(PERCENTILES)
    values["p50_ms"] = float(percentiles(means, [0.5])[0])
    return Summary(values=values, intervals={"p50_ms": interval(drawn[:, 0])}, missing=missing)
