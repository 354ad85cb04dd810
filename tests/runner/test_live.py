"""The table on a terminal, and the lines where there is none."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import toys
from rich.console import Console

from bakeoff.runner import live
from bakeoff.runner.events import Event, Failed, Finished, Notice, Present, Started, Waiting
from bakeoff.store import Store

RUNS = [toys.make_run(seed, model=model) for seed in (0, 1) for model in ("pretrained", "bilstm", "tfidf")]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn(table: live.Table) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=100).print(table)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def finished(run: toys.Run, *, seconds: float, accuracy: float | None = 0.5) -> Finished:
    return Finished(run=run, seconds=seconds, status="ok", accuracy=accuracy)


def test_the_table_counts_and_names_what_runs_and_what_is_best() -> None:
    clock = Clock()
    table = live.Table(runs=RUNS, slots=2, seconds={run.run_id: 100.0 for run in RUNS}, clock=clock)
    assert drawn(table) == ["0 of 6 done, 0 running, 0 failed, about 5 min left"]
    for event in (Started(run=RUNS[0]), Started(run=RUNS[1])):
        table(event)
    clock.now = 50.0
    table(finished(RUNS[1], seconds=50.0, accuracy=0.8))
    table(Started(run=RUNS[2]))
    clock.now = 62.0
    assert drawn(table) == [
        "1 of 6 done, 2 running, 0 failed, about 2 min left",
        "running      62 s   toy · pretrained · full · 100 labels · seed 0",
        "running      12 s   toy · tfidf · full · 100 labels · seed 0",
        "best so far  80.0%  toy · bilstm · full · 100 labels · seed 0",
    ]
    table(Failed(run=RUNS[0], type_="ValueError", message="no", written=True))
    table(finished(RUNS[2], seconds=12.0, accuracy=0.7))  # not better
    table(Present(run=RUNS[3]))
    table(Waiting(run=RUNS[4]))
    assert drawn(table) == [
        "3 of 6 done, 0 running, 1 failed, 1 baked by another process, about 31 s left",
        "best so far  80.0%  toy · bilstm · full · 100 labels · seed 0",
    ]
    for run in RUNS[4:]:
        table(finished(run, seconds=1.0, accuracy=0.9))
    assert drawn(table)[0] == "5 of 6 done, 0 running, 1 failed"
    assert drawn(table)[1].startswith("best so far  90.0%")


def test_time_left_follows_the_pace_and_the_slots() -> None:
    clock = Clock()
    table = live.Table(runs=RUNS[:3], slots=2, seconds={run.run_id: 10.0 for run in RUNS}, clock=clock)
    assert table.left_seconds() == 20.0
    table(Started(run=RUNS[0]))
    clock.now = 4.0
    assert table.left_seconds() == 16.0  # 6 s, then 10; beside them 10 s
    table(finished(RUNS[0], seconds=30.0))  # three times what was expected
    assert table.left_seconds() == 30.0
    timed = toys.make_latency_run()
    alone = live.Table(runs=[*RUNS[:2], timed], slots=2, seconds={run.run_id: 10.0 for run in (*RUNS, timed)}, clock=clock)
    assert alone.left_seconds() == 20.0  # a session begins when all else is over


def test_what_nothing_is_known_of_is_expected_to_take_its_rough_seconds() -> None:
    assert live.Table(runs=RUNS[2:3], slots=1, seconds={}).left_seconds() == 5.0


def test_many_runs_at_once_are_not_all_named() -> None:
    runs = [toys.make_run(seed) for seed in range(live.MOST_ROWS + 3)]
    table = live.Table(runs=runs, slots=20, seconds={}, clock=Clock())
    for run in runs:
        table(Started(run=run))
    assert len(drawn(table)) == 1 + live.MOST_ROWS + 1
    assert drawn(table)[-1].split() == ["and", "3", "more"]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (89.4, "89 s"), (90.0, "2 min"), (5340.0, "89 min"), (5400.0, "1 h 30 min"), (7500.0, "2 h 05 min")]
)
def test_durations(seconds: float, said: str) -> None:
    assert live.duration(seconds) == said


@pytest.mark.parametrize(
    ("terminal", "environment", "lively"),
    [
        (True, {"TERM": "xterm-256color"}, True),
        (False, {"TERM": "xterm-256color"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_where_a_table_is_drawn(monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], lively: bool) -> None:
    for key in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(key, raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert live.is_lively(stream) == lively


def test_without_a_terminal_every_run_has_a_line(tmp_path: Path) -> None:
    stream = io.StringIO()
    with live.telling(RUNS, store=Store(tmp_path), stream=stream, slots=1, seconds={}) as tell:
        for event in (Started(run=RUNS[0]), finished(RUNS[0], seconds=1.0), Notice(text="by the way")):
            tell(event)
    assert [line[:10] for line in stream.getvalue().splitlines()] == ["[1/6] done", "by the way"]


SCRIPT = """
import sys, pathlib, toys
from bakeoff.runner import live
from bakeoff.runner.local import run_local
from bakeoff.store import Store

runs, store = [toys.make_run(seed) for seed in range(3)], Store(pathlib.Path(sys.argv[1]))
with live.telling(runs, store=store, stream=sys.stderr, slots=2, seconds={}) as tell:
    bake = toys.baker(pathlib.Path(sys.argv[2]), {1: "raise"}, seconds=0.3)
    run_local(runs, store=store, bake=bake, slots=2, preload=["bakeoff.record"], share_texts=False, on_event=tell)
"""


def test_on_a_terminal_failures_stand_above_the_table(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "PYTHONPATH": str(Path(__file__).parent)}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "runs"), str(tmp_path / "ledger")]
    process = subprocess.Popen(command, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            if not (more := os.read(ours, 4096)):
                break
        except OSError:  # how Linux says that the other end is closed
            break
        shown += more
    assert process.wait(timeout=60) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "")
    failure = f"failed  {toys.make_run(1).run_id}"
    assert text.count(failure) == 1
    assert text.count("the same notice") == 1
    assert "running" in text
    last = text[text.rindex("2 of 3 done, 0 running, 1 failed") :]
    assert failure not in last
    assert "best so far  75.0%" in last
    assert "done   " not in text  # Runs that went well have no line of their own


def test_events_that_the_table_does_not_know_change_nothing() -> None:
    table = live.Table(runs=RUNS, slots=1, seconds={}, clock=Clock())
    before = drawn(table)
    event: Event = Notice(text="x")
    table(event)
    assert drawn(table) == before
