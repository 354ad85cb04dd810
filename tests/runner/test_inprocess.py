"""The same contract without processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import toys

from bakeoff.runner.events import Event, Finished, Notice, Waiting
from bakeoff.runner.inprocess import run_inprocess
from bakeoff.store import Store

HOLD = "import fcntl,sys; f=open(sys.argv[1],'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"


def test_failures_do_not_end_it(tmp_path: Path) -> None:
    store, runs = Store(tmp_path / "runs"), [toys.make_run(seed, redistributable=False) for seed in range(4)]
    bake = toys.baker(tmp_path / "ledger", {0: "raise", 1: "system exit"})
    store.write_record(toys.make_record(runs[3]))
    outcome = run_inprocess(runs, store=store, bake=bake, share_texts=True, on_event=lambda _: None)
    assert outcome.baked == (runs[2].run_id,)
    assert outcome.present == (runs[3].run_id,)
    assert outcome.failed == {runs[0].run_id: f"RuntimeError: cannot convert {toys.CANARY}", runs[1].run_id: "SystemExit: 3"}
    assert [failure["type"] for failure in store.failures()] == [
        kind for _, kind in sorted([(runs[0].run_id, "RuntimeError"), (runs[1].run_id, "SystemExit")])
    ]


def test_ctrl_c_stops_it_and_records_no_failure(tmp_path: Path) -> None:
    store, runs = Store(tmp_path / "runs"), [toys.make_run(seed) for seed in range(3)]

    def on_event(event: Event) -> None:
        if isinstance(event, Finished):
            raise KeyboardInterrupt

    outcome = run_inprocess(runs, store=store, bake=toys.baker(tmp_path / "ledger"), share_texts=True, on_event=on_event)
    assert (outcome.baked, outcome.failed, outcome.interrupted) == ((runs[0].run_id,), {}, True)
    assert store.failures() == []


@pytest.mark.parametrize(("signals", "baked"), [((signal.SIGINT,), 1), ((signal.SIGINT, signal.SIGINT), 0), ((signal.SIGTERM,), 0)])
def test_ctrl_c_once_finishes_the_run_and_twice_stops_it(tmp_path: Path, signals: tuple[signal.Signals, ...], baked: int) -> None:
    store, runs = Store(tmp_path / "runs"), [toys.make_run(seed) for seed in range(3)]
    notices: list[str] = []

    def on_event(event: Event) -> None:
        if isinstance(event, Notice):
            notices.append(event.text)
        if event == Notice(text="the same notice"):
            for number in signals:
                os.kill(os.getpid(), number)

    outcome = run_inprocess(runs, store=store, bake=toys.baker(tmp_path / "ledger", seconds=0.2), share_texts=True, on_event=on_event)
    assert (len(outcome.baked), outcome.failed, outcome.interrupted) == (baked, {}, True)
    assert notices[1:] == (["finishing 1 Run; Ctrl-C again stops it now"] if signal.SIGINT in signals else [])
    assert store.failures() == []


def test_a_run_over_its_time_limit_is_stopped(tmp_path: Path) -> None:
    store, runs = Store(tmp_path / "runs"), [toys.make_run(seed, redistributable=False) for seed in range(2)]
    bake = toys.baker(tmp_path / "ledger", {0: "sleep"})
    outcome = run_inprocess(runs, store=store, bake=bake, share_texts=False, limit_seconds=0.6, on_event=lambda _: None)
    assert outcome.baked == (runs[1].run_id,)
    assert outcome.failed == {runs[0].run_id: "TimeLimit: stopped after machine.time_limit_minutes=0.01: raise the limit, or ask for less"}


def test_a_run_locked_elsewhere_is_left_until_last(tmp_path: Path) -> None:
    store, runs = Store(tmp_path / "runs"), [toys.make_run(seed) for seed in range(2)]
    lock = store.root / ".locks" / runs[0].run_id
    lock.parent.mkdir(parents=True)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    seen: list[Event] = []

    def on_event(event: Event) -> None:
        seen.append(event)
        if isinstance(event, Finished) and holder.poll() is None:
            holder.communicate("")

    outcome = run_inprocess(runs, store=store, bake=toys.baker(tmp_path / "ledger"), share_texts=True, on_event=on_event)
    assert outcome.baked == (runs[1].run_id, runs[0].run_id)
    assert sum(isinstance(event, Waiting) for event in seen) == 1
