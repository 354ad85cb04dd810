"""What a record says of a session, and the raw samples beside it."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
import toy_served

from bakeoff.probes.facts import ONLY_IN_GRID, Setting, facts_of
from bakeoff.probes.kit import Served
from bakeoff.probes.latency import Turn
from bakeoff.probes.raw import SCHEMA, write_samples
from bakeoff.probes.rules import Rules
from bakeoff.probes.session import Measured, Outcome
from bakeoff.probes.warmup import Search, WarmUp
from bakeoff.record import Agreement, Interval, LatencyFacts, Size

MS = 1_000_000
RULES = Rules(resamples=20)
SIZE = Size(parameters_total=3, parameters_trainable=2, parameters_embedding=1, bytes=12, flops_per_document=5e6)


def turn(first: int, *ms: float, staged: bool = True) -> Turn:
    stages = toy_served.Stages() if staged else None
    return Turn(
        opening=first - 3, first=first, total_ns=[round(each * MS) for each in ms], after_switch_ns=9 * MS, stages=stages, seconds=0.1
    )


def measured(ms: float = 2.0, *, rounds: int = 200, **changes: Any) -> Measured:
    made = Measured(
        warm_up=WarmUp(calls=40, stable=True),
        start_up_seconds=1.23456,
        peak_memory_mb=300.0,
        lengths_tokens=np.array([3, 5, 7]),
        turns={number: turn(5 * number, *[ms] * 5) for number in range(rounds)},
        served=Served(size=SIZE, flops=5e6, peak_gflops=50.0, agreement=None, notes=("a note",)),
    )
    return dataclasses.replace(made, **changes)


def facts(model: Measured, *, reference: Measured | None = None, foreign: float = 0.0, agreement: Agreement | None = None) -> LatencyFacts:
    outcome = Outcome(session_id="00c0ffee-20260101T000000Z", measured={}, failed={}, foreign_cpu_share=foreign)
    setting = Setting(
        outcome=outcome,
        n_documents=3,
        reference=reference,
        reference_reason="the reference could not be timed (WorkerDied)",
        rules=RULES,
        resolution_ns=40,
    )
    return facts_of(model, setting, versions={"torch": "2"}, tokens={"p50": 5.0}, agreement=agreement)


def test_the_facts_of_a_model_that_is_four_times_the_reference() -> None:
    got = facts(measured(2.0), reference=measured(0.5))
    same = Interval(low=2.0, high=2.0)
    assert (got.p50_ms, got.p90_ms, got.p95_ms, got.p99_ms) == (2.0, 2.0, 2.0, None)
    assert got.intervals == {"p50_ms": same, "p90_ms": same, "p95_ms": same}
    assert got.missing == {"p99_ms": "p99 needs 5,000 samples; 1,000 were taken in the 180 s of a model"}
    assert (got.n_samples, got.n_turns, got.n_documents, got.batch_size) == (1000, 200, 3, 1)
    assert (got.ratio_to_reference, got.ratio_interval, got.reference_p50_ms) == (4.0, Interval(low=4.0, high=4.0), 0.5)
    assert got.throughput_per_second == pytest.approx(500.0)
    assert got.stages_ms == {"tokenise": 0.001, "window": 0.002, "forward": 0.003, "pool": 0.004}
    assert got.after_switch_ms == 9.0
    assert (got.warm_up_calls, got.warm_up_stable, got.session_id) == (40, True, "00c0ffee-20260101T000000Z")
    assert (got.notes, got.engine_versions, got.tokens) == (("a note",), {"torch": "2"}, {"p50": 5.0})
    # 5 MFLOP in 2 ms are 2.5 GFLOP/s, of 50.
    assert (got.cost.start_up_seconds, got.cost.peak_memory_mb, got.cost.bytes_in_memory) == (1.235, 300.0, 12)
    assert got.cost.share_of_peak == pytest.approx(0.05)
    assert got.grid == ()


@pytest.mark.parametrize(("foreign", "contended"), [(0.0, False), (0.05, False), (0.051, True), (1.0, True)])
def test_a_session_is_contended_above_a_twentieth_of_a_core(foreign: float, contended: bool) -> None:
    got = facts(measured(), reference=measured(), foreign=foreign)
    assert (got.contended, got.foreign_cpu_share) == (contended, foreign)
    assert got.ratio_to_reference == 1.0, "kept, for whoever asks about this session alone"


def test_without_the_reference_there_is_no_ratio() -> None:
    got = facts(measured())
    assert (got.ratio_to_reference, got.ratio_interval, got.reference_p50_ms) == (None, None, None)
    assert got.missing["ratio_to_reference"] == "the reference could not be timed (WorkerDied)"


def test_a_batch_is_counted_per_document() -> None:
    search = Search(best=4, documents_per_second={1: 1.0, 2: 2.0, 4: 3.0}, ended="memory")
    got = facts(measured(8.0, batch_size=4, search=search))
    assert (got.p50_ms, got.batch_size, got.after_switch_ms) == (2.0, 4, 2.25)
    assert got.throughput_per_second == pytest.approx(500.0)
    assert got.notes[1:] == ("the search for the best batch ended at 4 documents: the next batch size did not fit in memory",)


def test_what_looks_wrong_is_noted() -> None:
    agreement = Agreement(n=32, max_probability_difference=0.031, changed_labels=2, tolerance=0.0001)
    got = facts(measured(warm_up=WarmUp(calls=3, stable=False)), agreement=agreement)
    assert got.agreement == agreement
    assert got.notes[1:] == (
        "warm-up did not settle within 10 s: medians of consecutive blocks still differed",
        "answers differ from eager ones by up to 0.031 in probability, above the 0.0001 allowed for this engine",
    )


def test_a_grid_has_a_median_a_length_and_reasons_for_the_others() -> None:
    cells = {8: {number: turn(5 * number, *[1.0] * 5) for number in range(20)}, 16: {0: turn(0, *[3.0] * 5)}}
    reasons = dict.fromkeys((32, 64, 128, 256, 512, 1024, 2048, 4096), "longdoc=head-16 reads 16 tokens of a document")
    got = facts(measured(turns={}, grid=cells, grid_reasons=reasons), reference=measured())
    assert [(point.tokens, point.n_samples, point.p50_ms) for point in got.grid[:3]] == [(8, 100, 1.0), (16, 5, None), (32, 0, None)]
    assert got.grid[0].interval == Interval(low=1.0, high=1.0)
    assert [point.reason for point in got.grid[:3]] == [
        None,
        "p50 needs 20 samples; 5 were taken in the 18 s of a model",
        "longdoc=head-16 reads 16 tokens of a document",
    ]
    assert len(got.grid) == 10
    assert (got.p50_ms, got.throughput_per_second, got.n_samples, got.n_turns) == (None, None, 105, 21)
    assert got.missing == dict.fromkeys(("p50_ms", "p90_ms", "p95_ms", "p99_ms", "ratio_to_reference"), ONLY_IN_GRID)


def test_raw_samples_hold_every_call(tmp_path: Path) -> None:
    model = measured(turns={0: turn(0, 1, 2), 3: turn(2, 3, staged=False)})
    reference = measured(turns={0: turn(0, 0.5), 1: turn(1, 0.25)}, lengths_tokens=np.array([30, 50, 70]))
    write_samples(tmp_path / "latency.parquet", model, reference, row_ids=["a", "b", "c"])
    table = parquet.read_table(tmp_path / "latency.parquet")
    assert table.schema.equals(SCHEMA)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert rows == [
        (0, 0, "sample", "a", 3, MS, None, None, None, None),
        (0, 1, "sample", "b", 5, 2 * MS, None, None, None, None),
        (3, 0, "sample", "c", 7, 3 * MS, None, None, None, None),
        (0, 0, "after_switch", "a", 3, 9 * MS, None, None, None, None),
        (3, 0, "after_switch", "c", 7, 9 * MS, None, None, None, None),
        (0, 2, "stages", "c", 7, 10_000, 1000, 2000, 3000, 4000),
        (0, 0, "reference", "a", 30, MS // 2, None, None, None, None),
    ]


def test_raw_samples_of_batches_and_of_a_grid(tmp_path: Path) -> None:
    batches = measured(batch_size=2, turns={0: turn(0, 1, 1, staged=False)})
    write_samples(tmp_path / "batches.parquet", batches, None, row_ids=["a", "b", "c"])
    rows = parquet.read_table(tmp_path / "batches.parquet").to_pylist()
    assert [(row["document"], row["tokens"]) for row in rows] == [("a", 8), ("c", 10), ("c", 10)]  # the second is c and a
    grid = measured(turns={}, grid={8: {0: turn(19, 1, 1, staged=False)}})
    write_samples(tmp_path / "grid.parquet", grid, measured(), row_ids=["a", "b", "c"])
    rows = parquet.read_table(tmp_path / "grid.parquet").to_pylist()
    assert [(row["kind"], row["document"], row["tokens"]) for row in rows] == [
        ("sample", "grid-8-19", 8),
        ("sample", "grid-8-0", 8),
        ("after_switch", "grid-8-16", 8),
    ]


def test_a_run_without_a_turn_has_an_empty_file(tmp_path: Path) -> None:
    write_samples(tmp_path / "none.parquet", measured(turns={}), None, row_ids=["a", "b", "c"])
    assert parquet.read_table(tmp_path / "none.parquet").num_rows == 0
