"""What `bakeoff status` says of a store and a sweep that another process bakes."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import factories
from bakeoff.commands import status as command
from bakeoff.spec import Run
from bakeoff.store import Store
from bakeoff.sweep import Cell

HOLD = """
import sys, pathlib
from bakeoff.store import Store
with Store(pathlib.Path(sys.argv[1])).lock(sys.argv[2], title=sys.argv[3]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAKEOFF_RUNS", str(tmp_path / "runs"))
    return Store(tmp_path / "runs")


@pytest.fixture
def elsewhere(store: Store) -> Iterator["subprocess.Popen[str]"]:
    """Another process that bakes the Run of seed 1."""
    run = factories.make_run(seed=1)
    arguments = [sys.executable, "-c", HOLD, str(store.root), run.run_id, run.title]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.communicate("")


def later(store: Store, **more: float) -> datetime:
    """So much after the first Run began."""
    started_at = store.holders()[0].started_at
    assert started_at is not None
    return datetime.fromisoformat(started_at) + timedelta(**more)


def test_nothing_is_said_of_an_empty_store(store: Store) -> None:
    assert command.status([], []) == "nothing is being baked in runs"
    assert not store.root.exists()


def test_what_runs_in_a_store_is_named_with_its_time_and_process(store: Store, elsewhere: "subprocess.Popen[str]") -> None:
    run = factories.make_run(seed=1)
    assert command.status([], [], now=later(store, minutes=4)).splitlines() == [
        "1 Run is being baked in runs",
        f"running  {run.run_id}  {run.title} for 4 min   (process {elsewhere.pid} on {socket.gethostname()})",
    ]
    elsewhere.communicate("")
    assert command.status([], [], now=datetime.now(UTC)) == "nothing is being baked in runs"


def test_a_sweep_is_counted_by_state(
    store: Store, elsewhere: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs: list[Run] = [factories.make_run(seed=seed) for seed in range(5)]
    factories.bake(store, runs[0], accuracy=0.8)
    store.write_failure(runs[2], type_="ValueError", message="no", trace=[])
    impossible = Cell(overrides=("model=bilstm", "longdoc=head"), run=None, reason="bilstm reads all")
    # A Run that stands in the grid twice counts once; one that no sweep names is told apart.
    swept = factories.sweep_of(*(factories.cell(run) for run in (*runs, runs[0])), impossible)
    monkeypatch.setattr(command.config, "load_sweep", lambda *_: swept)
    monkeypatch.setattr(command, "checked_against_data", lambda sweep, _: sweep)
    lines = command.status([Path("small.yaml")], [], now=later(store, seconds=75)).splitlines()
    assert lines[0].startswith("small: 1 of 5 done, 1 running, 1 failed, 2 to do, about ")
    assert lines[0].endswith(" of work for one slot, 1 not applicable")
    assert lines[1:] == [
        f"running  {runs[1].run_id}  {runs[1].title} for 75 s   (process {elsewhere.pid} on {socket.gethostname()})",
        f"failed   {runs[2].run_id}  {factories.cell(runs[2]).title}   ValueError: no (log: runs/{runs[2].run_id}/failure.json)",
    ]
    with store.lock("0123456789ab", title="another"):
        said = command.status([Path("small.yaml")], [], now=later(store, seconds=75)).splitlines()
    assert said[-1] == "1 Run of no sweep named here is being baked in runs too"
    assert os.listdir(tmp_path) == ["runs"]
