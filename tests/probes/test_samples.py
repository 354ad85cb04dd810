"""Percentiles, ratios and intervals of turns whose answer is known."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.probes import samples
from bakeoff.probes.latency import Turn
from bakeoff.probes.rules import Rules
from bakeoff.probes.samples import Samples, draws, gather, percentiles, ratio, resampled, stage_medians_ms, summarise
from bakeoff.record import Interval

MS = 1_000_000
RNG = np.random.default_rng


def turn(*ms: float, first: int = 0, stages: object = None) -> Turn:
    return Turn(opening=first - 3, first=first, total_ns=[round(each * MS) for each in ms], after_switch_ns=0, stages=stages, seconds=0.0)  # type: ignore[arg-type]


def of(*turns: Turn) -> Samples:
    return gather(dict(enumerate(turns)), batch_size=1, n_batches=10)


def test_turns_become_samples_per_document() -> None:
    got = gather({4: turn(2, 4, first=9), 7: turn(6, first=11)}, batch_size=2, n_batches=10)
    assert got.total_ms.tolist() == [1.0, 2.0, 3.0]
    assert (got.rounds.tolist(), got.call.tolist(), got.batch.tolist()) == ([4, 4, 7], [0, 1, 0], [9, 0, 1])


def test_percentiles_are_the_smallest_sample_that_so_many_do_not_exceed() -> None:
    got = summarise(of(turn(*range(1, 5001))), rules=Rules(resamples=10), resolution_ns=40, batch_size=1, rng=RNG(0))
    assert got.values == {"p50_ms": 2500.0, "p90_ms": 4500.0, "p95_ms": 4750.0, "p99_ms": 4950.0}
    assert got.missing == {}
    assert got.intervals == {name: Interval(low=value, high=value) for name, value in got.values.items()}  # one turn is all there is


@pytest.mark.parametrize(("n", "there"), [(19, 0), (20, 1), (499, 1), (500, 2), (1000, 3), (4999, 3), (5000, 4)])
def test_too_few_samples_leave_a_percentile_empty_with_the_reason(n: int, there: int) -> None:
    got = summarise(of(turn(*[1.0] * n)), rules=Rules(resamples=10), resolution_ns=40, batch_size=1, rng=RNG(0))
    names = list(samples.PERCENTILES)
    assert [name for name in names if got.values[name] is not None] == names[:there] == list(got.intervals)
    assert list(got.missing) == names[there:]
    if there == 3:
        assert got.missing["p99_ms"] == f"p99 needs 5,000 samples; {n:,} were taken in the 180 s of a model"


def test_no_sample_at_all() -> None:
    got = summarise(of(), rules=Rules(), resolution_ns=40, batch_size=1, rng=RNG(0))
    assert set(got.missing) == set(got.values) == set(samples.PERCENTILES)


def test_a_clock_too_coarse_leaves_only_whole_blocks() -> None:
    # Steps of 1 ms and calls of half: single calls read 0 or 1, and the means of whole turns 0.5, 0.5 and 0.6.
    coarse = of(turn(0, 1, 0, 1), turn(1, 0, 1, 0), turn(1, 1, 0, 1, 0))
    got = summarise(coarse, rules=Rules(resamples=50), resolution_ns=MS, batch_size=1, rng=RNG(0))
    assert got.values == {"p50_ms": 0.5, "p90_ms": None, "p95_ms": None, "p99_ms": None}
    assert got.missing["p50_ms"] == "the clock moves in steps of 1000 µs, above 1/20 of a call: this is the median of block means"
    assert got.missing["p99_ms"].endswith("only whole blocks of calls can be timed")
    assert got.intervals["p50_ms"].low == 0.5


def test_a_batch_is_what_the_clock_times_not_a_document() -> None:
    fine = gather({0: turn(*[2.0] * 40)}, batch_size=100, n_batches=10)
    got = summarise(fine, rules=Rules(resamples=10), resolution_ns=MS // 20, batch_size=100, rng=RNG(0))
    assert got.values["p50_ms"] == 0.02


def test_drift_cancels_in_a_ratio() -> None:
    """The machine slows down threefold during the session, for all alike."""
    drift = np.linspace(1, 3, 200)
    model = of(*(turn(*[10 * slow] * 5) for slow in drift))
    reference = of(*(turn(*[0.5 * slow] * 40) for slow in drift))
    got = ratio(model, reference, rules=Rules(), rng=RNG(0))
    assert got is not None
    assert got.value == pytest.approx(20.0, rel=1e-6)
    assert (got.interval.low, got.interval.high) == pytest.approx((20.0, 20.0), rel=1e-6)
    alone = summarise(model, rules=Rules(), resolution_ns=40, batch_size=1, rng=RNG(0)).intervals["p50_ms"]
    assert alone.high - alone.low > 1.0, "the median itself is uncertain"


def test_a_ratio_uses_the_rounds_that_both_took_part_in() -> None:
    model = gather({0: turn(4), 1: turn(4)}, batch_size=1, n_batches=10)
    reference = gather({0: turn(2), 1: turn(2), 2: turn(50), 3: turn(50), 4: turn(50)}, batch_size=1, n_batches=10)
    got = ratio(model, reference, rules=Rules(resamples=20), rng=RNG(0))
    assert got is not None
    assert (got.value, got.reference_p50_ms) == (2.0, 2.0)
    assert ratio(model, gather({1: turn(2)}, batch_size=1, n_batches=10), rules=Rules(), rng=RNG(0)) is None


@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=5),
    st.integers(0, 5),
    st.lists(st.sampled_from([0.5, 0.9, 0.95, 0.99]), min_size=1, max_size=2),
)
def test_resampling_by_weights_is_resampling_by_hand(turns: list[list[int]], seed: int, shares: list[float]) -> None:
    counts = draws(len(turns), 7, RNG(seed))
    assert counts.sum(axis=1).tolist() == [len(turns)] * 7
    got = resampled(of(*(turn(*each) for each in turns)), counts, shares)
    for row, times in zip(got, counts, strict=True):
        by_hand = np.array(list(itertools.chain.from_iterable(each * int(n) for each, n in zip(turns, times, strict=True))), dtype=float)
        assert row.tolist() == percentiles(by_hand, shares).tolist()


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Turns differ by more than calls within one, which resampling single calls would miss."""
    covered = 0
    for number in range(200):
        rng = RNG(number)
        level = rng.normal(10, 1, size=60)
        data = of(*(turn(*(mean + rng.normal(0, 0.1, size=8))) for mean in level))
        got = summarise(data, rules=dataclasses.replace(Rules(), resamples=200), resolution_ns=40, batch_size=1, rng=rng).intervals[
            "p50_ms"
        ]
        covered += got.low <= 10 <= got.high
    assert 0.89 <= covered / 200 <= 0.99


def test_stages_are_medians_per_document() -> None:
    @dataclasses.dataclass(frozen=True)
    class Stages:
        tokenise_ns: int
        window_ns: int = 2 * MS
        forward_ns: int = 8 * MS
        pool_ns: int = 0

    turns = {number: turn(1, stages=Stages(tokenise_ns=ns * MS)) for number, ns in enumerate((1, 2, 9))} | {3: turn(1)}
    assert stage_medians_ms(turns, batch_size=2) == {"tokenise": 1.0, "window": 1.0, "forward": 4.0, "pool": 0.0}
    assert stage_medians_ms({0: turn(1)}, batch_size=1) == {}
