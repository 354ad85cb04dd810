"""Processes that raise, die, hang on and wait; each test uses real ones."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toys

from bakeoff.runner import child
from bakeoff.runner.events import Event, Failed, Finished, Notice, Outcome, Present, Waiting
from bakeoff.runner.local import run_local
from bakeoff.spec import Run
from bakeoff.store import Store

HOLD = "import fcntl,sys; f=open(sys.argv[1],'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"


class Bench:
    """A store and a ledger in a temporary folder, and what the last sweep told."""

    def __init__(self, folder: Path) -> None:
        self.store, self.ledger = Store(folder / "runs"), folder / "ledger"
        self.events: list[Event] = []

    def sweep(self, runs: list[Run], acts: dict[int, str] | None = None, *, slots: int = 2, **more: object) -> Outcome:
        self.events = []
        options = {"share_texts": False, "on_event": self.events.append} | more
        bake = toys.baker(self.ledger, acts)
        return run_local(runs, store=self.store, bake=bake, slots=slots, preload=["bakeoff.record"], **options)  # type: ignore[arg-type]

    def told(self, kind: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def log(self, run: Run) -> str:
        return (self.store.folder(run.run_id) / "log.txt").read_text()

    def hold(self, run: Run) -> "subprocess.Popen[str]":
        lock = self.store.root / ".locks" / run.run_id
        lock.parent.mkdir(parents=True, exist_ok=True)
        holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        return holder


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_one_raises_one_exits_with_nine_one_is_killed_and_two_are_fine(bench: Bench) -> None:
    runs = [toys.make_run(seed) for seed in range(5)]
    outcome = bench.sweep(runs, {0: "raise", 1: "exit 9", 3: "kill"})
    assert sorted(outcome.baked) == sorted([runs[2].run_id, runs[4].run_id])
    assert outcome.failed == {
        runs[0].run_id: f"RuntimeError: cannot convert {toys.CANARY}",
        runs[1].run_id: "ProcessDied: the process ended with exit code 9 before it gave an answer",
        runs[3].run_id: "ProcessDied: the process was killed by signal 9 (SIGKILL): often out of memory",
    }
    assert not outcome.interrupted
    assert [record.run_id for record in bench.store.load_all()] == sorted(outcome.baked)
    assert {failure["run_id"]: failure["message"] for failure in bench.store.failures()} == {
        run_id: text.split(": ", 1)[1] for run_id, text in outcome.failed.items()
    }


def test_a_failure_is_told_at_once(bench: Bench) -> None:
    runs = [toys.make_run(seed) for seed in range(3)]
    bench.sweep(runs, {0: "exit 9"}, slots=1)
    ends = [event for event in bench.events if isinstance(event, Failed | Finished)]
    assert [(type(end), end.run.seed) for end in ends] == [(Failed, 0), (Finished, 1), (Finished, 2)]
    last = ends[-1]
    assert isinstance(last, Finished)
    assert (last.accuracy, last.status) == (0.75, "ok")


@pytest.mark.parametrize(
    ("act", "type_", "message"),
    [
        ("system exit", "SystemExit", "3"),
        ("abort", "ProcessDied", "the process was killed by signal 6 (SIGABRT)"),
        ("out of memory", "MemoryError", ""),
    ],
)
def test_other_ways_to_die(bench: Bench, act: str, type_: str, message: str) -> None:
    run = toys.make_run()
    bench.sweep([run], {0: act})
    failure = bench.store.failure(run.run_id)
    assert failure is not None
    assert (failure["type"], failure["message"], failure["attempt"]) == (type_, message, 1)


def test_attempts_are_counted_and_a_success_ends_the_failure(bench: Bench) -> None:
    run = toys.make_run()
    bench.sweep([run], {0: "raise"})
    bench.sweep([run], {0: "exit 9"})
    failure = bench.store.failure(run.run_id)
    assert failure is not None
    assert failure["attempt"] == 2
    assert bench.sweep([run]).baked == (run.run_id,)
    assert bench.store.failures() == []
    assert bench.log(run).count("--- ") == 3


def test_leftovers_are_cleared_and_output_goes_to_the_log(bench: Bench) -> None:
    run = toys.make_run()
    folder = bench.store.folder(run.run_id)
    (folder / "model").mkdir(parents=True)
    (folder / "leftover.txt").write_text("half")
    (folder / "model" / "weights").write_text("half")
    assert bench.sweep([run]).baked == (run.run_id,)
    assert sorted(path.name for path in folder.iterdir()) == ["log.txt", "predictions.parquet", "record.json"]
    assert bench.log(run).splitlines()[1:] == ["printed by bake"]


def test_an_unreadable_record_is_set_aside_not_deleted(bench: Bench) -> None:
    run = toys.make_run()
    folder = bench.store.folder(run.run_id)
    folder.mkdir(parents=True)
    (folder / "record.json").write_text('{"schema_version": 0}')
    assert bench.sweep([run]).baked == (run.run_id,)
    (old,) = (bench.store.root / ".old").iterdir()
    assert (old / "record.json").read_text() == '{"schema_version": 0}'


def test_a_recorded_run_is_not_touched_unless_all_are_asked_for(bench: Bench) -> None:
    run = toys.make_run()
    bench.sweep([run, run])
    before = (bench.store.folder(run.run_id) / "record.json").stat().st_mtime_ns
    outcome = bench.sweep([run])
    assert (outcome.baked, outcome.present) == ((), (run.run_id,))
    assert (bench.store.folder(run.run_id) / "record.json").stat().st_mtime_ns == before
    assert bench.sweep([run], rebake_all=True).baked == (run.run_id,)
    assert (bench.store.folder(run.run_id) / "record.json").stat().st_mtime_ns > before
    (old,) = (bench.store.root / ".old").iterdir()
    assert (old / "record.json").stat().st_mtime_ns == before
    assert toys.begun(bench.ledger) == [run.run_id] * 2


def test_a_notice_of_many_runs_is_told_once(bench: Bench) -> None:
    bench.sweep([toys.make_run(seed) for seed in range(3)])
    assert bench.told(Notice) == [Notice(text="the same notice")]


def test_a_run_locked_elsewhere_is_left_until_last(bench: Bench) -> None:
    runs = [toys.make_run(seed) for seed in range(3)]
    holder = bench.hold(runs[0])
    seen: list[Event] = []

    def on_event(event: Event) -> None:
        seen.append(event)
        if sum(isinstance(each, Finished) for each in seen) == 2 and holder.poll() is None:
            holder.communicate("")

    outcome = bench.sweep(runs, slots=1, on_event=on_event)
    assert outcome.baked == (runs[1].run_id, runs[2].run_id, runs[0].run_id)
    assert [event.run.seed for event in seen if isinstance(event, Waiting)] == [0]


def test_a_run_recorded_elsewhere_meanwhile_is_present(bench: Bench) -> None:
    runs = [toys.make_run(seed) for seed in range(2)]
    holder = bench.hold(runs[0])

    def on_event(event: Event) -> None:
        bench.events.append(event)
        if isinstance(event, Finished):
            bench.store.write_record(toys.make_record(runs[0]))
            holder.communicate("")

    outcome = bench.sweep(runs, on_event=on_event)
    assert (outcome.baked, outcome.present) == ((runs[1].run_id,), (runs[0].run_id,))
    assert runs[0].run_id not in toys.begun(bench.ledger)
    assert not bench.told(Failed)


@pytest.mark.parametrize("redistributable", [False, True])
@pytest.mark.parametrize("act", ["raise", "raise chained", "raise in thread"])
def test_no_text_of_private_data_leaves_an_exception(
    bench: Bench, capfd: pytest.CaptureFixture[str], act: str, redistributable: bool
) -> None:
    run = toys.make_run(redistributable=redistributable)
    outcome = bench.sweep([run], {0: act})
    everything = "".join(path.read_text() for path in bench.store.root.rglob("*") if path.is_file())
    everything += "".join(capfd.readouterr()) + repr(outcome) + repr(bench.events)
    shown = redistributable and act != "raise chained"
    assert (toys.CANARY in everything) == shown
    if act == "raise chained":
        assert outcome.failed == {run.run_id: "DataError: dataset.label=score is a number"}
        failure = bench.store.failure(run.run_id)
        assert failure is not None
        assert "caused by ValueError:" in failure["traceback"]


def test_sharing_texts_keeps_the_message(bench: Bench) -> None:
    run = toys.make_run(redistributable=False)
    assert bench.sweep([run], {0: "raise"}, share_texts=True).failed == {run.run_id: f"RuntimeError: cannot convert {toys.CANARY}"}


def test_a_full_disk_fails_the_run_loudly_and_earlier_records_stay(bench: Bench) -> None:
    runs = [toys.make_run(seed, redistributable=False) for seed in range(2)]
    bench.sweep(runs[:1])
    before = (bench.store.folder(runs[0].run_id) / "record.json").read_bytes()
    outcome = bench.sweep(runs, {1: "full disk"})
    assert outcome.failed == {
        runs[1].run_id: "OSError: No space left on device; failure.json could not be written either (No space left on device)"
    }
    (failed,) = bench.told(Failed)
    assert isinstance(failed, Failed)
    assert not failed.written
    assert (bench.store.folder(runs[0].run_id) / "record.json").read_bytes() == before
    assert bench.store.load(runs[1].run_id) is None
    assert bench.sweep(runs).baked == (runs[1].run_id,)


def test_a_thread_that_never_ends_does_not_keep_the_slot(bench: Bench) -> None:
    run = toys.make_run()
    begin = time.monotonic()
    assert bench.sweep([run], {0: "linger"}).baked == (run.run_id,)
    assert time.monotonic() - begin < 20


def test_a_run_over_its_time_limit_is_stopped_and_the_others_go_on(bench: Bench) -> None:
    runs = [toys.make_run(seed) for seed in range(3)]
    begin = time.monotonic()
    outcome = bench.sweep(runs, {1: "sleep"}, limit_seconds=1.5)
    assert time.monotonic() - begin < 20
    assert sorted(outcome.baked) == sorted([runs[0].run_id, runs[2].run_id])
    message = "stopped after machine.time_limit_minutes=0.025: raise the limit, or ask for less"
    assert outcome.failed == {runs[1].run_id: f"TimeLimit: {message}"}
    failure = bench.store.failure(runs[1].run_id)
    assert failure is not None
    assert (failure["type"], failure["message"], failure["attempt"]) == ("TimeLimit", message, 1)
    assert not outcome.interrupted
    assert not bench.store.is_locked(runs[1].run_id)


def test_one_that_does_not_listen_is_killed_when_its_time_is_over(bench: Bench) -> None:
    begin = time.monotonic()
    outcome = bench.sweep([toys.make_run()], {0: "sleep deaf"}, limit_seconds=2.0)
    assert 4.5 < time.monotonic() - begin < 20
    assert [text.split(":")[0] for text in outcome.failed.values()] == ["TimeLimit"]


def test_one_that_answers_with_an_error_when_its_time_is_over_is_told_as_late(bench: Bench) -> None:
    run = toys.make_run()
    outcome = bench.sweep([run], {0: "sleep wordy"}, limit_seconds=2.0)
    failure = bench.store.failure(run.run_id)
    assert failure is not None
    assert [text.split(":")[0] for text in outcome.failed.values()] == [failure["type"]] == ["TimeLimit"]


def test_an_error_by_the_stop_of_a_sweep_is_no_failure(bench: Bench) -> None:
    def stop(event: Event) -> None:
        if isinstance(event, Notice):
            time.sleep(0.5)  # until it sleeps
            os.kill(os.getpid(), signal.SIGTERM)

    outcome = bench.sweep([toys.make_run()], {0: "sleep wordy"}, on_event=stop)
    assert (outcome.interrupted, outcome.failed) == (True, {})


@pytest.mark.slow
def test_a_run_that_is_asked_to_end_while_lightning_trains_ends_by_the_signal(bench: Bench) -> None:
    run = toys.make_run()
    outcome = bench.sweep([run], {0: "end while training"})
    assert outcome.failed == {run.run_id: "ProcessDied: the process was killed by signal 15 (SIGTERM)"}


def test_a_store_that_cannot_be_written_fails_every_run_and_raises_nothing(bench: Bench) -> None:
    bench.store.root.write_text("a file where the folder should be")
    run = toys.make_run()
    outcome = bench.sweep([run])
    assert list(outcome.failed) == [run.run_id]
    assert "could not be written either" in outcome.failed[run.run_id]


def test_modules_of_the_working_directory_are_not_preloaded(tmp_path: Path) -> None:
    (tmp_path / "colorsys.py").write_text("open('imported', 'w')")
    code = (
        "import toys, pathlib; from bakeoff.runner.local import run_local; from bakeoff.store import Store\n"
        "print(run_local([toys.make_run()], store=Store(pathlib.Path('runs').absolute()), bake=toys.baker(pathlib.Path('ledger')),"
        " slots=1, preload=['colorsys'], share_texts=False, on_event=lambda _: None).failed)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "{}\n"
    assert not (tmp_path / "imported").exists()


def test_present_runs_need_no_process(bench: Bench) -> None:
    run = toys.make_run()
    bench.store.write_record(toys.make_record(run))
    assert bench.sweep([run]).present == (run.run_id,)
    assert bench.events == [Present(run=run)]


def test_a_run_whose_fork_server_dies_before_it_begins_is_baked_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process may be alive and about to take its lock, or gone; neither is a failure of the Run."""
    monkeypatch.setattr(child, "one", toys.one_whose_fork_server_dies)
    run = toys.make_run(0)
    bench.store.root.mkdir(parents=True, exist_ok=True)
    outcome = bench.sweep([run])
    assert outcome.failed == {}
    assert (*outcome.baked, *outcome.present) == (run.run_id,)
    assert toys.begun(bench.ledger) == [run.run_id]
    assert bench.store.load(run.run_id) is not None
