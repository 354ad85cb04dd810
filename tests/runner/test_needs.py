"""A Run that is built from another's weights: who is baked first, who waits, who fails with whom, and weights that are gone."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import toys

import factories
from bakeoff.record import Record
from bakeoff.runner import needs, weights
from bakeoff.runner.events import Event, Failed, Finished, Notice, Outcome, Present, Started, Waiting
from bakeoff.runner.inprocess import run_inprocess
from bakeoff.runner.local import run_local
from bakeoff.runner.plan import as_json, as_text, plan, to_bake
from bakeoff.spec import Run
from bakeoff.store import Store
from bakeoff.sweep import Cell, Sweep

HOLD = "import fcntl,sys; f=open(sys.argv[1],'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
TEACHER = toys.make_run(50, model="pretrained")
STUDENTS = [toys.taught(seed, teacher=TEACHER) for seed in range(2)]


class Bench:
    """A store, a ledger, and either executor."""

    def __init__(self, folder: Path, executor: str) -> None:
        self.store, self.ledger, self.executor = Store(folder / "runs"), folder / "ledger", executor
        self.events: list[Event] = []

    def sweep(
        self,
        runs: list[Run],
        acts: dict[int, str] | None = None,
        *,
        bake: Callable[..., Record] | None = None,
        slots: int = 2,
        **more: object,
    ) -> Outcome:
        self.events = []
        options: dict[str, object] = {"store": self.store, "share_texts": True, "on_event": self.events.append} | more
        options["bake"] = bake or toys.keeper(self.ledger, acts)
        if self.executor == "inprocess":
            return run_inprocess(runs, **options)  # type: ignore[arg-type]
        return run_local(runs, slots=slots, preload=["bakeoff.record"], **options)  # type: ignore[arg-type]

    def record(self, run: Run) -> None:
        """A record without weights."""
        self.store.folder(run.run_id).mkdir(parents=True)
        (self.store.folder(run.run_id) / "predictions.parquet").write_text(str(run.seed))
        self.store.write_record(toys.make_record(run))


@pytest.fixture(params=["local", "inprocess"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path, request.param)


def sweep(*runs: Run) -> Sweep:
    return Sweep(name="toy", description="", path="toy.yaml", cells=tuple(Cell(overrides=("model=x",), run=run) for run in runs))


def ids(*runs: Run) -> list[str]:
    return [run.run_id for run in runs]


# The order.


def test_what_is_needed_comes_before_and_once(tmp_path: Path) -> None:
    other = toys.make_run(7)
    ordered = needs.with_needs([other, STUDENTS[1], STUDENTS[0], TEACHER], Store(tmp_path))
    assert ids(*ordered) == ids(other, TEACHER, STUDENTS[1], STUDENTS[0])
    assert needs.needed_by([other, *STUDENTS]) == {TEACHER.run_id}


def test_what_has_its_weights_is_left_out_and_so_is_what_can_have_none(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "inprocess")
    bench.record(TEACHER)
    assert ids(*needs.with_needs(STUDENTS, bench.store)) == ids(TEACHER, *STUDENTS)
    (bench.store.folder(TEACHER.run_id) / "model").mkdir()
    assert ids(*needs.with_needs(STUDENTS, bench.store)) == ids(*STUDENTS)
    diverged = toys.make_run(51, model="pretrained")
    bench.store.write_record(dataclasses.replace(toys.make_record(diverged), status="diverged"))
    student = toys.taught(teacher=diverged)
    assert ids(*needs.with_needs([student], bench.store)) == ids(student)


def test_timing_a_student_needs_no_teacher(tmp_path: Path) -> None:
    timed = dataclasses.replace(STUDENTS[0], probe=toys.make_latency_run().probe)
    assert ids(*needs.with_needs([timed], Store(tmp_path))) == ids(timed)


# The plan.


def test_a_plan_lists_what_is_needed_and_no_cell(tmp_path: Path) -> None:
    planned = plan(sweep(*STUDENTS), Store(tmp_path))
    assert [(each.state, each.reason, each.bake) for each in planned] == [
        ("todo", None, True),
        ("todo", None, True),
        ("todo", "needed by 2 Runs", True),
    ]
    assert json.loads(as_json(planned))[-1]["run_id"] == TEACHER.run_id
    assert ids(*to_bake(planned)) == ids(*STUDENTS)
    lines = as_text(planned).splitlines()
    assert TEACHER.run_id in lines[0]
    assert lines[0].endswith("(needed by 2 Runs)")
    assert lines[-1] == "to bake: 3, roughly 55 s for 3 without records of their like"


def test_a_plan_says_whose_weights_are_baked_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "inprocess")
    bench.record(TEACHER)
    cell, *_ = plan(sweep(TEACHER, *STUDENTS), bench.store)
    assert (cell.state, cell.reason, cell.bake) == ("todo", "recorded, but its weights are gone and needed by 2 Runs", True)
    *_, extra = plan(sweep(*STUDENTS), bench.store, rebake="all")
    assert (extra.state, extra.reason) == ("todo", "recorded, but its weights are gone and needed by 2 Runs")
    (bench.store.folder(TEACHER.run_id) / "model").mkdir()
    assert [each.state for each in plan(sweep(TEACHER, *STUDENTS), bench.store)] == ["done", "todo", "todo"]
    assert len(plan(sweep(*STUDENTS), bench.store, rebake="all")) == 2


def test_a_plan_needs_nothing_for_what_it_does_not_bake(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "inprocess")
    for student in STUDENTS:
        bench.record(student)
    assert [each.state for each in plan(sweep(*STUDENTS), bench.store)] == ["done", "done"]


def test_other_seeds_of_a_student_tell_how_long_it_takes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    students = [toys.taught(seed, teacher=toys.make_run(seed, model="pretrained")) for seed in range(2)]
    store.write_record(toys.make_record(students[0], seconds=90))
    assert plan(sweep(students[1]), store)[0].estimate_seconds == 90


# The executors.


def test_a_teacher_is_baked_once_and_before_its_students(bench: Bench) -> None:
    outcome = bench.sweep(list(STUDENTS))
    assert outcome.failed == {}
    assert outcome.baked[0] == TEACHER.run_id
    assert sorted(outcome.baked[1:]) == sorted(ids(*STUDENTS))
    assert toys.begun(bench.ledger)[0] == TEACHER.run_id
    assert len(toys.begun(bench.ledger)) == 3
    assert bench.sweep(list(STUDENTS)).present == tuple(ids(*STUDENTS))


def test_other_runs_go_on_while_students_wait(tmp_path: Path) -> None:
    bench, others = Bench(tmp_path, "local"), [toys.make_run(seed) for seed in (7, 8)]
    outcome = bench.sweep([STUDENTS[0], *others], bake=toys.keeper(bench.ledger, seconds=0.3))
    started = [event.run.run_id for event in bench.events if isinstance(event, Started)]
    assert set(started[:2]) == {TEACHER.run_id, others[0].run_id}
    ends = [event.run.run_id for event in bench.events if isinstance(event, Started | Finished)]
    assert ends.index(STUDENTS[0].run_id) > 2
    assert outcome.failed == {}


@pytest.mark.parametrize("act", ["raise chained", "exit 9"])
def test_a_teacher_that_failed_fails_its_students_with_that_reason(bench: Bench, act: str) -> None:
    if bench.executor == "inprocess" and act == "exit 9":
        pytest.skip("it would end this process")
    other = toys.make_run(7)
    outcome = bench.sweep([*STUDENTS, other], {50: act})
    why = {
        "raise chained": "DataError: dataset.label=score is a number",
        "exit 9": "ProcessDied: the process ended with exit code 9 before it gave an answer",
    }[act]
    assert outcome.failed == {TEACHER.run_id: why} | dict.fromkeys(
        ids(*STUDENTS), f"NeedFailed: its teacher pretrained ({TEACHER.run_id}) failed: {why}"
    )
    assert outcome.baked == (other.run_id,)
    assert sorted(toys.begun(bench.ledger)) == sorted(ids(TEACHER, other))
    failure = bench.store.failure(STUDENTS[0].run_id)
    assert failure is not None
    assert (failure["type"], failure["message"]) == ("NeedFailed", f"its teacher pretrained ({TEACHER.run_id}) failed: {why}")
    assert failure["run"]["teacher"]["model"]["name"] == "pretrained"
    again = bench.sweep(list(STUDENTS))
    assert (len(again.baked), again.failed) == (3, {})


def test_a_teacher_that_diverged_fails_its_students(bench: Bench) -> None:
    bench.store.write_record(dataclasses.replace(toys.make_record(TEACHER), status="diverged"))
    outcome = bench.sweep([STUDENTS[0]])
    assert outcome.failed == {
        STUDENTS[0].run_id: f"NeedFailed: its teacher pretrained ({TEACHER.run_id}) failed: its loss stopped being finite"
    }
    assert toys.begun(bench.ledger) == []


def test_students_wait_for_a_teacher_that_another_process_bakes(bench: Bench) -> None:
    lock = bench.store.root / ".locks" / TEACHER.run_id
    lock.parent.mkdir(parents=True)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    seen: list[Event] = []

    def on_event(event: Event) -> None:
        seen.append(event)
        if isinstance(event, Finished) and holder.poll() is None:
            holder.communicate("")

    other = toys.make_run(7)
    outcome = bench.sweep([STUDENTS[0], other], slots=1, on_event=on_event)
    assert outcome.baked == tuple(ids(other, TEACHER, STUDENTS[0]))
    assert [event.run.run_id for event in seen if isinstance(event, Waiting)] == [TEACHER.run_id]


# Weights that are gone.


def test_weights_that_are_gone_are_baked_again_and_the_record_stays(bench: Bench) -> None:
    bench.record(TEACHER)
    folder = bench.store.folder(TEACHER.run_id)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    assert before.keys() == {"record.json", "predictions.parquet"}
    outcome = bench.sweep([TEACHER, *STUDENTS])
    assert outcome.present == (TEACHER.run_id,)
    assert sorted(outcome.baked) == sorted(ids(*STUDENTS))
    assert {name: ((folder / name).read_bytes(), (folder / name).stat().st_mtime_ns) for name in before} == before
    assert (folder / "model" / "weights").read_text() == TEACHER.run_id
    assert [path.name for path in bench.store.root.iterdir() if path.name.startswith(".weights")] == []
    notice = f"{TEACHER.run_id} {TEACHER.title}: its weights are gone and are baked again; its record stays"
    assert Notice(text=notice) in bench.events
    assert toys.begun(bench.ledger)[0] == TEACHER.run_id


def test_a_cell_that_nobody_needs_stays_without_weights(bench: Bench) -> None:
    bench.record(TEACHER)
    assert bench.sweep([TEACHER]).present == (TEACHER.run_id,)
    assert bench.events[-1] == Present(run=TEACHER)
    assert toys.begun(bench.ledger) == []


def test_baking_all_anew_replaces_what_was_asked_for_and_nothing_else(bench: Bench) -> None:
    bench.sweep([STUDENTS[0]])
    before = (bench.store.folder(TEACHER.run_id) / "record.json").stat().st_mtime_ns
    assert bench.sweep([STUDENTS[0]], rebake_all=True).baked == (STUDENTS[0].run_id,)
    assert (bench.store.folder(TEACHER.run_id) / "record.json").stat().st_mtime_ns == before
    assert bench.sweep([STUDENTS[0], TEACHER], rebake_all=True).baked == (TEACHER.run_id, STUDENTS[0].run_id)
    assert (bench.store.folder(TEACHER.run_id) / "record.json").stat().st_mtime_ns > before


def test_weights_that_answer_otherwise_are_refused(bench: Bench) -> None:
    bench.record(TEACHER)
    (bench.store.folder(TEACHER.run_id) / "predictions.parquet").unlink()
    outcome = bench.sweep([STUDENTS[0]])
    why = (
        f"BakeoffError: the weights of {TEACHER.run_id} are gone, and baked again here it gives predictions of other rows: "
        f"move the folder runs/{TEACHER.run_id} away and bake it again"
    )
    assert outcome.failed == {
        TEACHER.run_id: why,
        STUDENTS[0].run_id: f"NeedFailed: its teacher pretrained ({TEACHER.run_id}) failed: {why}",
    }
    assert bench.store.load(TEACHER.run_id) is not None
    assert not (bench.store.folder(TEACHER.run_id) / "model").exists()
    assert [event.run.run_id for event in bench.events if isinstance(event, Failed)] == ids(TEACHER, STUDENTS[0])


def test_a_bake_that_leaves_no_weights_is_told(bench: Bench) -> None:
    bench.record(TEACHER)
    outcome = bench.sweep([STUDENTS[0]], bake=toys.baker(bench.ledger))
    assert outcome.failed[TEACHER.run_id] == (
        f"BakeoffError: {TEACHER.run_id} was baked again for its weights and gave none: move the folder runs/{TEACHER.run_id} away "
        "and bake it again"
    )


def test_how_far_predictions_are_apart(tmp_path: Path) -> None:
    labels = np.arange(6) % 2
    for name, predicted in (("one", labels), ("same", labels), ("other", 1 - labels)):
        factories.write_predictions(tmp_path / name, labels, predicted)
    factories.write_predictions(tmp_path / "fewer", labels[:4], labels[:4])
    file = {name: tmp_path / name / "predictions.parquet" for name in ("one", "same", "other", "fewer", "gone", "gone too")}
    assert weights.difference(file["one"], file["same"]) == 0.0
    assert weights.difference(file["one"], file["other"]) == 1.0
    assert weights.difference(file["one"], file["fewer"]) is None
    assert weights.difference(file["one"], file["gone"]) is None
    assert weights.difference(file["gone"], file["gone too"]) == 0.0
