"""Runs that are baked elsewhere, on a cluster of this very process: what travels, comes back, stays, and is lost."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import toys
import travellers

from bakeoff.cache import cache_root
from bakeoff.runner import elsewhere, remote
from bakeoff.runner.elsewhere import Order, Returned
from bakeoff.runner.events import Event, Failed, Finished, Notice, Outcome, Present, Started
from bakeoff.runner.local import run_local
from bakeoff.runner.remote import Lost, run_remote
from bakeoff.runner.shipping import Packed
from bakeoff.spec import Machine, Run
from bakeoff.store import Store

HOLD = "import fcntl,sys; f=open(sys.argv[1],'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"


@dataclass(kw_only=True)
class Here:
    """A cluster whose worker is this process; it bakes when it is asked for what it made."""

    machine: Machine = travellers.MACHINE
    sweep: str = "sweep"
    takes: str = "1 CPU"
    n_slots: int = 2
    loses: dict[int, int] = field(default_factory=dict)
    """Seed → how often its worker is lost."""
    breaks: frozenset[int] = frozenset()
    """Seeds on which the worker itself, not its child, fails."""
    puts: list[Packed] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    stopped: list[Hashable] = field(default_factory=list)

    def slots(self) -> int:
        return self.n_slots

    def put(self, files: Packed) -> Any:
        self.puts.append(files)
        return len(self.puts) - 1

    def submit(self, order: Order) -> Hashable:
        self.orders.append(order)
        return len(self.orders) - 1

    def wait(self, references: Sequence[Hashable], *, seconds: float) -> Sequence[Hashable]:
        return references[:1] if seconds else ()

    def get(self, reference: Hashable) -> Returned:
        assert isinstance(reference, int)
        order = self.orders[reference]
        if self.loses.get(order.run.seed, 0):
            self.loses[order.run.seed] -= 1
            raise Lost("NodeDiedError")
        if order.run.seed in self.breaks:
            raise OSError(28, "No space left on device")
        return elsewhere.bake(order, gpus=("3",), fetch=lambda number: self.puts[number])

    def stop(self, references: Sequence[Hashable]) -> None:
        self.stopped += references


class Bench:
    """A store, a ledger and a file of data in a temporary folder, and what the last sweep told."""

    def __init__(self, folder: Path) -> None:
        self.store, self.ledger, self.data = Store(folder / "runs"), folder / "ledger", folder / "tickets.csv"
        self.data.write_text("text,label")
        self.events: list[Event] = []

    def run(self, seed: int = 0, *, model: str = "majority") -> Run:
        return travellers.run_of(self.data, seed, model=model)

    def sweep(self, runs: Sequence[Run], cluster: Here, acts: dict[int, str] | None = None, **more: Any) -> Outcome:
        self.events = []
        options = {"environment": {"WANDB_MODE": "offline"}, "on_event": self.events.append} | more
        bake = travellers.looker(self.ledger, acts)
        return run_remote(runs, cluster, store=self.store, bake=bake, rename=travellers.rename, preload=["bakeoff.record"], **options)

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def files(self, run: Run) -> list[str]:
        folder = self.store.folder(run.run_id)
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

    def seen(self, run: Run) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.store.folder(run.run_id) / "seen.json").read_text())
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def left(sweep: str = "sweep") -> list[str]:
    """What lies in a sweep's folder on a node, without the cache."""
    folder = cache_root() / "elsewhere" / sweep
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


def test_a_run_comes_back_as_if_it_had_been_baked_here(bench: Bench, tmp_path: Path) -> None:
    run, here = bench.run(), Store(tmp_path / "here")
    options: dict[str, Any] = {"preload": ["bakeoff.record"], "share_texts": False, "on_event": lambda _: None}
    run_local([run], store=here, bake=toys.baker(tmp_path / "other"), slots=1, **options)
    assert bench.sweep([run], Here()).baked == (run.run_id,)
    assert bench.files(run) == ["log.txt", "model/weights", "predictions.parquet", "record.json", "run.yaml", "seen.json"]
    for name in ("record.json", "predictions.parquet"):
        assert (bench.store.folder(run.run_id) / name).read_bytes() == (here.folder(run.run_id) / name).read_bytes()
    assert (bench.store.folder(run.run_id) / "log.txt").read_text().splitlines()[1:] == ["printed by bake"]
    assert (bench.store.folder(run.run_id) / "run.yaml").read_text() == f"{bench.data} in {bench.store.folder(run.run_id)}"
    assert (bench.store.root / ".wandb" / f"offline-{run.run_id}").read_text() == "curves"
    (end,) = bench.told(Finished)
    assert (end.run, end.accuracy) == (run, 0.75)
    assert bench.told(Started) == [Started(run=run)]
    assert bench.told(Notice) == [Notice(text="the same notice")]


def test_a_run_sees_its_own_device_threads_data_and_variables(bench: Bench) -> None:
    run = bench.run()
    bench.sweep([run], Here())
    seen = bench.seen(run)
    assert (seen["CUDA_VISIBLE_DEVICES"], seen["OMP_NUM_THREADS"], seen["WANDB_MODE"]) == ("3", "1", "offline")
    assert (seen["data"], Path(seen["path"]).name) == ("text,label", "tickets.csv")
    assert Path(seen["path"]).is_relative_to(cache_root() / "elsewhere" / "sweep" / "files")
    assert seen["BAKEOFF_CACHE"] == str(cache_root() / "elsewhere" / "sweep" / "cache")


def test_data_is_put_once_and_laid_out_once_and_nothing_stays(bench: Bench) -> None:
    runs = [bench.run(seed) for seed in range(3)]
    cluster = Here()
    bench.sweep(runs, cluster, {1: "raise", 2: "exit 9"})
    assert cluster.puts == [{"tickets.csv": b"text,label"}]
    (only,) = left()
    assert only.endswith("/tickets.csv")
    elsewhere.clean("sweep")
    assert not (cache_root() / "elsewhere").exists()


def test_a_failure_and_a_death_are_told_and_the_others_go_on(bench: Bench) -> None:
    runs = [bench.run(seed) for seed in range(4)]
    outcome = bench.sweep(runs, Here(), {0: "raise", 1: "exit 9"})
    assert outcome.baked == (runs[2].run_id, runs[3].run_id)
    assert outcome.failed == {
        runs[0].run_id: f"RuntimeError: cannot convert {toys.CANARY}",
        runs[1].run_id: "ProcessDied: the process ended with exit code 9 before it gave an answer",
    }
    assert [type(event) for event in bench.events if isinstance(event, Failed | Finished)] == [Failed, Failed, Finished, Finished]
    assert bench.files(runs[0]) == bench.files(runs[1]) == ["failure.json", "log.txt"]
    failure = bench.store.failure(runs[0].run_id)
    assert failure is not None
    assert failure["traceback"][-1].startswith("toys.py:")
    assert failure["run"]["dataset"]["path"] == "tickets.csv"


def test_no_text_of_private_data_comes_back(bench: Bench) -> None:
    run = bench.run()
    run = replace(run, dataset=replace(run.dataset, redistributable=False))
    outcome = bench.sweep([run], Here(), {0: "raise"})
    everything = "".join(path.read_text() for path in bench.store.root.rglob("*") if path.is_file()) + repr(outcome) + repr(bench.events)
    assert toys.CANARY not in everything


def test_attempts_are_counted_and_logs_are_added_up(bench: Bench) -> None:
    run = bench.run()
    bench.sweep([run], Here(), {0: "raise"})
    bench.sweep([run], Here(), {0: "exit 9"})
    failure = bench.store.failure(run.run_id)
    assert failure is not None
    assert failure["attempt"] == 2
    assert bench.sweep([run], Here()).baked == (run.run_id,)
    assert (bench.store.folder(run.run_id) / "log.txt").read_text().count("--- ") == 3
    assert bench.sweep([run], Here()).present == (run.run_id,)
    assert bench.sweep([run], Here(), rebake_all=True).baked == (run.run_id,)
    assert len(list((bench.store.root / ".old").iterdir())) == 1
    assert (bench.store.folder(run.run_id) / "log.txt").read_text().count("--- ") == 1


def test_a_lost_worker_costs_only_its_own_run_which_is_baked_again(bench: Bench) -> None:
    runs = [bench.run(seed) for seed in range(3)]
    outcome = bench.sweep(runs, Here(loses={1: 2}))
    assert (sorted(outcome.baked), outcome.failed) == (sorted(run.run_id for run in runs), {})
    assert sorted(toys.begun(bench.ledger)) == sorted(outcome.baked)
    assert len([event for event in bench.told(Started) if event.run.seed == 1]) == 3
    assert sum("worker was lost (NodeDiedError)" in event.text for event in bench.told(Notice)) == 1


def test_a_run_that_loses_every_worker_has_failed(bench: Bench) -> None:
    runs = [bench.run(seed) for seed in range(2)]
    outcome = bench.sweep(runs, Here(loses={0: remote.ATTEMPTS}))
    assert outcome.baked == (runs[1].run_id,)
    assert outcome.failed == {runs[0].run_id: "WorkerLost: its worker was lost 3 times (NodeDiedError): often a node without enough memory"}


def test_a_worker_that_fails_itself_fails_its_run_alone(bench: Bench) -> None:
    runs = [bench.run(seed) for seed in range(2)]
    outcome = bench.sweep(runs, Here(breaks=frozenset({0})))
    assert outcome.baked == (runs[1].run_id,)
    assert outcome.failed[runs[0].run_id].endswith("No space left on device")


def test_data_that_is_gone_fails_its_run_alone(bench: Bench, tmp_path: Path) -> None:
    runs = [travellers.run_of(tmp_path / "gone.csv"), bench.run(1)]
    outcome = bench.sweep(runs, Here())
    assert outcome.baked == (runs[1].run_id,)
    assert outcome.failed == {runs[0].run_id: "DataError: dataset.path=gone.csv does not exist any more, or is empty: check the path"}


def test_without_a_node_the_rest_fails_instead_of_waiting_for_ever(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "EMPTY_SECONDS", 0.0)
    run = bench.run()
    assert bench.sweep([run], Here(n_slots=0)).failed == {
        run.run_id: "NoNodeLeft: no node with 1 CPU for it is left in the cluster: add one, and run the same command again"
    }


def test_a_teachers_weights_travel_to_its_students_once(bench: Bench) -> None:
    teacher = bench.run(model="bilstm")
    students = [replace(toys.taught(teacher=teacher, dropout=dropout), dataset=teacher.dataset) for dropout in (0.2, 0.3)]
    cluster = Here()
    outcome = bench.sweep(students, cluster)
    assert outcome.baked[0] == teacher.run_id
    assert set(outcome.baked[1:]) == {student.run_id for student in students}
    assert all(bench.seen(student)["weights"] == {"teacher": teacher.run_id} for student in students)
    assert [sorted(files) for files in cluster.puts] == [["tickets.csv"], ["model/weights", "record.json"]]
    assert len(toys.begun(bench.ledger)) == 3


def test_weights_that_are_gone_are_baked_again_elsewhere_and_the_record_stays(bench: Bench) -> None:
    teacher = bench.run(model="bilstm")
    bench.sweep([teacher], Here())
    record, weights = (bench.store.folder(teacher.run_id) / name for name in ("record.json", "model/weights"))
    before = record.stat().st_mtime_ns
    weights.unlink()
    weights.parent.rmdir()
    student = replace(toys.taught(teacher=teacher), dataset=teacher.dataset)
    cluster = Here()
    outcome = bench.sweep([student], cluster)
    assert (outcome.baked, outcome.present) == ((student.run_id,), (teacher.run_id,))
    assert (record.stat().st_mtime_ns, weights.read_text()) == (before, teacher.run_id)
    assert [order.environment["WANDB_MODE"] for order in cluster.orders] == ["disabled", "offline"]
    assert any("its weights are gone" in event.text for event in bench.told(Notice))


def test_of_a_teacher_that_fails_the_students_fail_unbaked(bench: Bench) -> None:
    teacher = bench.run(model="bilstm")
    student = replace(toys.taught(teacher=teacher), dataset=teacher.dataset)
    outcome = bench.sweep([student], Here(), {0: "raise"})
    assert set(outcome.failed) == {teacher.run_id, student.run_id}
    assert outcome.failed[student.run_id].startswith(f"NeedFailed: its teacher bilstm ({teacher.run_id}) failed")


def test_only_the_best_weights_of_a_question_stay(bench: Bench) -> None:
    runs = [bench.run(seed) for seed in range(3)]
    bench.sweep(runs, Here(machine=replace(travellers.MACHINE, keep_weights="best")))
    kept = [run.run_id for run in runs if (bench.store.folder(run.run_id) / "model").is_dir()]
    assert kept == [min(run.run_id for run in runs)]


def test_a_run_that_another_process_bakes_is_left_until_last(bench: Bench) -> None:
    runs = [bench.run(seed) for seed in range(2)]
    lock = bench.store.root / ".locks" / runs[0].run_id
    lock.parent.mkdir(parents=True)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"

    def on_event(event: Event) -> None:
        if isinstance(event, Finished) and holder.poll() is None:
            holder.communicate("")

    assert bench.sweep(runs, Here(), on_event=on_event).baked == (runs[1].run_id, runs[0].run_id)


def test_after_one_interrupt_what_is_out_is_finished_and_nothing_else(bench: Bench) -> None:
    runs = [bench.run(seed) for seed in range(4)]

    def on_event(event: Event) -> None:
        bench.events.append(event)
        if isinstance(event, Started) and event.run == runs[1]:
            os.kill(os.getpid(), signal.SIGINT)

    outcome = bench.sweep(runs, Here(), on_event=on_event)
    assert (outcome.baked, outcome.failed, outcome.interrupted) == ((runs[0].run_id, runs[1].run_id), {}, True)
    assert next(event.text for event in bench.told(Notice)) == "finishing 2 Runs; Ctrl-C again stops them now"


@pytest.mark.parametrize("signals", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM]])
def test_after_two_interrupts_what_is_out_is_stopped_and_the_store_goes_on(bench: Bench, signals: list[signal.Signals]) -> None:
    runs, cluster = [bench.run(seed) for seed in range(3)], Here()

    def on_event(event: Event) -> None:
        if isinstance(event, Started) and event.run == runs[1]:
            for number in signals:
                os.kill(os.getpid(), number)

    outcome = bench.sweep(runs, cluster, on_event=on_event)
    assert (outcome.baked, outcome.failed, outcome.interrupted) == ((), {}, True)
    assert len(cluster.stopped) == 2
    assert not any(bench.store.is_locked(run.run_id) for run in runs)
    assert len(bench.sweep(runs, Here()).baked) == 3


def test_a_present_run_needs_no_worker(bench: Bench) -> None:
    run, cluster = bench.run(), Here()
    bench.store.write_record(toys.make_record(run))
    assert bench.sweep([run], cluster).present == (run.run_id,)
    assert (bench.events, cluster.orders) == ([Present(run=run)], [])
