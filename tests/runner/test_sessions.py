"""Latency Runs in exclusive sessions, with real processes that time nothing."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import toys

from bakeoff.runner.events import Event, Failed, Finished, Notice, Outcome, Present, Started, Waiting
from bakeoff.runner.sessions import ALONE, run_sessions, sessions_of
from bakeoff.spec import Run
from bakeoff.store import Store

HOLD = "import fcntl,sys; f=open(sys.argv[1],'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"


class Bench:
    """A store and a ledger in a temporary folder, and what was told."""

    def __init__(self, folder: Path) -> None:
        self.store, self.ledger = Store(folder / "runs"), folder / "ledger"
        self.events: list[Event] = []

    def time(self, runs: list[Run], *, seconds: float = 0.0, **more: object) -> Outcome:
        self.events = []
        options = {"share_texts": False, "on_event": self.events.append, "preload": ["bakeoff.record"]} | more
        return run_sessions(runs, store=self.store, bake=toys.timer(self.ledger, seconds), **options)  # type: ignore[arg-type]

    def hold(self, name: str) -> "subprocess.Popen[str]":
        lock = self.store.root / ".locks" / name
        lock.parent.mkdir(parents=True, exist_ok=True)
        holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        return holder


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_session_is_of_one_dataset_device_thread_count_and_scenario() -> None:
    first, second = toys.make_latency_run("a"), toys.make_latency_run("b", engine="onnx")
    others = [
        toys.make_latency_run("a", threads=2),
        toys.make_latency_run("a", scenario="offline", batch_size=None),
        toys.make_latency_run("a", device="cuda"),
    ]
    groups = sessions_of([first, *others, second, toys.make_latency_run("c", lengths="grid")])
    assert [[run.run_id for run in group] for group in groups] == [
        [first.run_id, second.run_id, toys.make_latency_run("c", lengths="grid").run_id],
        *([run.run_id] for run in others),
    ]


@pytest.mark.parametrize("in_process", [False, True])
def test_each_session_is_one_call_and_one_fails_alone(bench: Bench, in_process: bool) -> None:
    runs = [toys.make_latency_run(name) for name in ("a", "fails", "c")]
    other = toys.make_latency_run("a", threads=2)
    outcome = bench.time([runs[0], other, *runs[1:]], in_process=in_process)
    assert toys.sessions(bench.ledger) == [[run.run_id for run in runs], [other.run_id]]
    assert outcome.baked == (runs[0].run_id, runs[2].run_id, other.run_id)
    assert outcome.failed == {runs[1].run_id: f"RuntimeError: cannot convert {toys.CANARY}"}
    assert [failure["run_id"] for failure in bench.store.failures()] == [runs[1].run_id]
    assert {record.run_id for record in bench.store.load_all()} == set(outcome.baked)
    assert [type(event) for event in bench.events if not isinstance(event, Notice)] == [
        *[Started] * 3,
        Finished,
        Failed,
        Finished,
        Started,
        Finished,
    ]


def test_resuming_times_only_what_is_missing(bench: Bench) -> None:
    runs = [toys.make_latency_run(name) for name in ("a", "b", "c")]
    bench.time(runs[:2])
    stamps = {run.run_id: (bench.store.folder(run.run_id) / "record.json").stat().st_mtime_ns for run in runs[:2]}
    outcome = bench.time(runs)
    assert (outcome.baked, outcome.present) == ((runs[2].run_id,), tuple(run.run_id for run in runs[:2]))
    assert toys.sessions(bench.ledger)[-1] == [runs[2].run_id]
    assert stamps == {run_id: (bench.store.folder(run_id) / "record.json").stat().st_mtime_ns for run_id in stamps}
    again = bench.time(runs, rebake_all=True)
    assert again.baked == tuple(run.run_id for run in runs)
    assert len(list((bench.store.root / ".old").iterdir())) == 3


@pytest.mark.parametrize(("act", "message"), [("kill", "killed by signal 9 (SIGKILL)"), ("exit 9", None), ("raise", None)])
def test_a_session_that_dies_fails_its_runs_and_not_the_next_session(bench: Bench, act: str, message: str | None) -> None:
    runs = [toys.make_latency_run("a"), toys.make_latency_run(act)]
    other = toys.make_latency_run("a", threads=2)
    outcome = bench.time([*runs, other])
    assert outcome.baked == (other.run_id,)
    assert set(outcome.failed) == {run.run_id for run in runs}
    assert {failure["run_id"] for failure in bench.store.failures()} == set(outcome.failed)
    if message:
        assert all(message in text for text in outcome.failed.values())


def test_a_run_that_another_process_holds_has_not_failed_when_its_session_dies(bench: Bench) -> None:
    run = toys.make_latency_run("kill")
    events: list[Event] = []

    def tell(event: Event) -> None:
        events.append(event)
        if isinstance(event, Started) and not any(isinstance(each, Waiting) for each in events):
            time.sleep(1.0)  # until the session is dead
            locked.enter_context(bench.store.lock(run.run_id))
        elif isinstance(event, Waiting):
            locked.close()

    with contextlib.ExitStack() as locked:
        outcome = bench.time([run], on_event=tell)
    assert [type(event) for event in events if not isinstance(event, Notice)] == [Started, Waiting, Started, Failed]
    failure = bench.store.failure(run.run_id)
    assert failure is not None
    assert failure["attempt"] == 1
    assert list(outcome.failed) == [run.run_id]


def test_no_text_of_private_data_leaves_an_exception(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    runs = [toys.make_latency_run(name, redistributable=False) for name in ("fails", "raise")]
    outcome = bench.time(runs)
    assert len(outcome.failed) == 2
    everything = "".join(path.read_text() for path in bench.store.root.rglob("*") if path.is_file())
    assert toys.CANARY not in everything + "".join(capfd.readouterr()) + repr(outcome) + repr(bench.events)


def test_the_log_is_in_the_first_runs_folder_and_the_others_say_so(bench: Bench) -> None:
    runs = [toys.make_latency_run(name) for name in "ab"]
    bench.time(runs)
    first, second = ((bench.store.folder(run.run_id) / "log.txt").read_text() for run in runs)
    assert first.splitlines()[1:] == ["printed by the session"]
    assert second.endswith(f"the log of its session is in {runs[0].run_id}/log.txt\n")


def test_a_run_locked_elsewhere_is_left_until_last(bench: Bench) -> None:
    runs = [toys.make_latency_run(name) for name in "ab"]
    holder = bench.hold(runs[0].run_id)

    def on_event(event: Event) -> None:
        bench.events.append(event)
        if isinstance(event, Finished) and holder.poll() is None:
            holder.communicate("")

    outcome = bench.time(runs, on_event=on_event)
    assert outcome.baked == (runs[1].run_id, runs[0].run_id)
    assert toys.sessions(bench.ledger) == [[runs[1].run_id], [runs[0].run_id]]


def test_two_sessions_are_never_held_at_once(bench: Bench) -> None:
    run, holder = toys.make_latency_run(), bench.hold(ALONE)
    threading.Timer(1.0, lambda: holder.communicate("")).start()
    assert bench.time([run]).baked == (run.run_id,)
    assert next(event.text for event in bench.events if isinstance(event, Notice)) == "another session is being held: this one waits for it"


def test_ctrl_c_once_holds_the_session_to_its_end_and_no_other(bench: Bench) -> None:
    runs = [toys.make_latency_run("a"), toys.make_latency_run("b"), toys.make_latency_run("a", threads=2)]

    def on_event(event: Event) -> None:
        bench.events.append(event)
        if event == Notice(text="the same notice"):
            os.kill(os.getpid(), signal.SIGINT)

    outcome = bench.time(runs, seconds=1.0, on_event=on_event)
    assert outcome == Outcome(baked=(runs[0].run_id, runs[1].run_id), present=(), failed={}, interrupted=True)
    said = [event.text for event in bench.events if isinstance(event, Notice)]
    assert said == ["the same notice", "finishing 1 session of 2 Runs; Ctrl-C again stops it now"]


def test_a_session_over_its_time_limit_is_stopped_and_the_next_one_is_held(bench: Bench) -> None:
    runs = [toys.make_latency_run("sleep"), toys.make_latency_run("b"), toys.make_latency_run("a", threads=2)]
    outcome = bench.time(runs, limit_seconds=1.5)  # 3 s for the first two
    assert outcome.baked == (runs[2].run_id,)
    assert set(outcome.failed) == {runs[0].run_id, runs[1].run_id}
    assert all(text.startswith("TimeLimit: stopped after machine.time_limit_minutes=0.025") for text in outcome.failed.values())
    assert bench.time(runs[1:2], limit_seconds=1.5).baked == (runs[1].run_id,)


@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)])
def test_an_interrupted_session_leaves_no_failure(bench: Bench, numbers: tuple[signal.Signals, ...]) -> None:
    runs = [toys.make_latency_run("a"), toys.make_latency_run("a", threads=2)]

    def on_event(event: Event) -> None:
        if event == Notice(text="the same notice"):
            for number in numbers:
                os.kill(os.getpid(), number)

    begin = time.monotonic()
    outcome = bench.time(runs, seconds=30.0, on_event=on_event)
    assert outcome == Outcome(baked=(), present=(), failed={}, interrupted=True)
    assert time.monotonic() - begin < 15
    assert (bench.store.load_all(), bench.store.failures()) == ([], [])
    assert len(toys.sessions(bench.ledger)) == 1


def test_a_recorded_run_is_present(bench: Bench) -> None:
    run = toys.make_latency_run()
    bench.store.write_record(toys.make_record(run))
    assert bench.time([run]).present == (run.run_id,)
    assert bench.events == [Present(run=run)]
    assert not [event for event in bench.events if isinstance(event, Waiting)]


def test_a_store_that_cannot_be_written_fails_every_run_and_raises_nothing(bench: Bench) -> None:
    bench.store.root.write_text("a file where the folder should be")
    runs = [toys.make_latency_run(name) for name in "ab"]
    outcome = bench.time(runs)
    assert set(outcome.failed) == {run.run_id for run in runs}
    assert all("could not be written either" in text for text in outcome.failed.values())
