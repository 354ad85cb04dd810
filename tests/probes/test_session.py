"""Sessions over real processes that serve toy models."""

import dataclasses
import os
import time
from collections.abc import Sequence

import pytest
import toy_served

import factories
from bakeoff import spec
from bakeoff.errors import BakeoffError, NotApplicable
from bakeoff.probes import session
from bakeoff.probes.contention import CpuReading
from bakeoff.probes.rules import Rules
from bakeoff.probes.serving import Bench
from bakeoff.probes.session import Candidate, Outcome
from bakeoff.probes.worker import Worker, WorkerDied

RULES = Rules(
    block_ms=2.0,
    least_calls=2,
    least_rounds=4,
    samples_p50=2,
    samples_p90=4,
    samples_p95=8,
    samples_p99=16,
    warm_up_calls=3,
    warm_up_seconds=0.05,
    seconds_per_model=5.0,
)
DOCUMENTS = [f"document number {number}" for number in range(12)]


def run(name: str, **changes: object) -> spec.Run:
    model = dataclasses.replace(factories.MODELS["bilstm"], name=name, hidden_dim=1 + sum(map(ord, name)))
    return factories.make_latency_run(model=model, **changes)


def hold(runs: Sequence[spec.Run], *, rules: Rules = RULES, foreign: float = 0.0, asked: Sequence[str] = ()) -> Outcome:
    readings = iter(
        [CpuReading(wall_seconds=0, busy_seconds=0, own_seconds=0), CpuReading(wall_seconds=1, busy_seconds=foreign, own_seconds=0)]
    )
    return session.hold(
        [Candidate(run=each, asked=asked) for each in runs],
        reference=runs[0].run_id,
        documents=DOCUMENTS,
        kit=toy_served.KIT,
        rules=rules,
        notify=lambda _: None,
        session_id="00c0ffee-20260101T000000Z",
        read_cpu=lambda: next(readings),
    )


def test_models_of_two_engines_are_timed_in_a_process_an_engine() -> None:
    runs = [run("fast one"), run("plain"), run("other", engine="onnx")]
    outcome = hold(runs, foreign=0.3)
    assert (outcome.failed, outcome.foreign_cpu_share, outcome.session_id) == ({}, 0.3, "00c0ffee-20260101T000000Z")
    fast, plain, other = (outcome.measured[each.run_id] for each in runs)
    processes = [each.served.notes[0].split()[0] for each in (fast, plain, other)]
    assert processes[0] == processes[1] != processes[2]
    assert str(os.getpid()) not in processes
    assert "'OMP_NUM_THREADS': '1', 'OMP_WAIT_POLICY': 'PASSIVE', 'KMP_BLOCKTIME': '0'" in fast.served.notes[0]
    for each in (fast, plain, other):
        assert sum(len(turn.total_ns) for turn in each.turns.values()) >= 16
        assert each.warm_up is not None
        assert each.lengths_tokens is not None
        assert each.lengths_tokens.tolist() == [5] * 12
        assert each.start_up_seconds is not None
        assert each.peak_memory_mb is not None
        assert 0 < each.start_up_seconds < 60
        assert 10 < each.peak_memory_mb < 2000
    assert plain.turns.keys() <= fast.turns.keys(), "the reference takes part in every round"
    assert all(ns >= 1_000_000 for turn in plain.turns.values() for ns in turn.total_ns)
    assert os.environ.get("OMP_WAIT_POLICY") is None


def test_start_up_is_without_what_serving_does_not_do() -> None:
    bench = Bench(toy_served.KIT, threads=1, device="cpu")
    begin = time.monotonic()
    loaded = bench.load("it", run("checks"), None, ["a b c"])
    assert 0.3 <= loaded.preparing_seconds <= loaded.answered_at - begin
    assert loaded.answered_at - begin - loaded.preparing_seconds < 0.1


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("refused", NotApplicable, "probe.engine=onnx cannot take it: set probe.engine=eager"),
        ("stillborn", WorkerDied, "the process that served this model ended with exit code 9 before it gave an answer"),
        ("raises", RuntimeError, "cannot convert document"),
    ],
)
def test_a_model_that_refuses_or_fails_ends_alone(name: str, kind: type[Exception], message: str) -> None:
    runs = [run("fast one"), run(name), run("fast two")]
    outcome = hold(runs)
    assert list(outcome.failed) == [runs[1].run_id]
    assert type(outcome.failed[runs[1].run_id]) is kind
    assert message in str(outcome.failed[runs[1].run_id])
    assert list(outcome.measured) == [runs[0].run_id, runs[2].run_id]


def test_a_process_that_dies_in_a_turn_ends_the_runs_of_its_engine() -> None:
    runs = [run("fast one"), run("killed", engine="onnx"), run("fast two", engine="onnx")]
    outcome = hold(runs)
    assert list(outcome.measured) == [runs[0].run_id]
    assert set(outcome.failed) == {each.run_id for each in runs[1:]}
    message = "the process that served this model was killed by signal 9 (SIGKILL): often out of memory"
    assert {str(error) for error in outcome.failed.values()} == {message}


def test_the_batch_of_the_offline_scenario_is_searched_for_or_given() -> None:
    runs = [
        run("greedy", scenario="offline"),
        run("fast", scenario="offline", batch_size=3),
        run("greedy too", scenario="offline", batch_size=8),
    ]
    outcome = hold(runs)
    searched, given = (outcome.measured[each.run_id] for each in runs[:2])
    assert searched.search is not None
    assert searched.batch_size == searched.search.best <= 4
    assert (given.batch_size, given.search) == (3, None)
    error = outcome.failed[runs[2].run_id]
    assert isinstance(error, BakeoffError | MemoryError)


def test_a_grid_has_turns_at_each_length_that_the_model_reads() -> None:
    grid = dataclasses.replace(run("fast grid", lengths="grid"), longdoc=spec.LongDoc(strategy="head", max_tokens=32))
    outcome = hold([run("fast one"), grid], rules=dataclasses.replace(RULES, seconds_per_model=2.0))
    measured = outcome.measured[grid.run_id]
    assert list(measured.grid) == [8, 16, 32]
    assert all(sum(len(turn.total_ns) for turn in turns.values()) >= 8 for turns in measured.grid.values())
    assert measured.turns == {}
    assert measured.grid_reasons == dict.fromkeys((64, 128, 256, 512, 1024, 2048, 4096), "longdoc=head-32 reads 32 tokens of a document")


def test_answers_that_are_asked_for_are_given() -> None:
    runs = [run("fast one"), run("fast two", engine="onnx")]
    measured = hold(runs, asked=DOCUMENTS[:2]).measured[runs[1].run_id]
    assert measured.answers is not None
    assert measured.answers.tolist() == [[0.75, 0.25]] * 2


def test_a_worker_that_is_gone_says_so_each_time_it_is_asked() -> None:
    worker = Worker(toy_served.KIT, threads=1, device="cpu")
    with pytest.raises(WorkerDied, match="exit code 9"):
        worker.ask("load", "x", run("stillborn"), None, DOCUMENTS)
    with pytest.raises(WorkerDied, match="exit code 9"):
        worker.ask("lengths_tokens", "x")
    worker.close()
