"""A sweep killed at any moment, two sweeps at once, and nothing left running afterwards."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import toys

from bakeoff import record as records
from bakeoff.store import Store

SCRIPT = Path(__file__).with_name("toy_sweep.py")
RUNS = 6


def launch(folder: Path, seconds: float, *, runs: int = RUNS) -> "subprocess.Popen[str]":
    command = [sys.executable, str(SCRIPT), str(folder / "runs"), str(folder / "ledger"), str(runs), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(ledger: Path, begins: int) -> None:
    deadline = time.monotonic() + 30
    while len(toys.begun(ledger)) < begins:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def alive(pids: list[int]) -> list[int]:
    """Which processes still run two seconds later (a dead one nobody has waited for is dead)."""
    deadline = time.monotonic() + 2
    while True:
        left = [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def family(process: "subprocess.Popen[str]") -> list[int]:
    return [child.pid for child in psutil.Process(process.pid).children(recursive=True)]


def stamps(store: Store) -> dict[str, int]:
    return {record.run_id: (store.folder(record.run_id) / "record.json").stat().st_mtime_ns for record in store.load_all()}


@pytest.mark.parametrize(
    "seed",
    [
        0,
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4)),
        *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(4, 20)),
    ],
)
def test_kill_at_a_random_moment_then_resume(tmp_path: Path, seed: int) -> None:
    store, ledger = Store(tmp_path / "runs"), tmp_path / "ledger"
    draw = random.Random(seed)
    sweep = launch(tmp_path, 0.15)
    wait_for(ledger, 1)
    time.sleep(draw.uniform(0.0, 0.6))
    children = family(sweep)
    sweep.kill()
    sweep.communicate()
    assert alive(children) == []

    finished, begun = stamps(store), toys.begun(ledger)
    resumed = launch(tmp_path, 0.0)
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, err
    answer = json.loads(out.splitlines()[-1])

    wanted = {toys.make_run(number).run_id for number in range(RUNS)}
    assert set(answer["baked"]) == wanted - set(finished)  # none lost, none baked twice
    assert sorted(toys.begun(ledger)[len(begun) :]) == sorted(answer["baked"])
    assert {run_id: stamp for run_id, stamp in stamps(store).items() if run_id in finished} == finished
    for run_id in wanted:
        files = {path.name for path in store.folder(run_id).iterdir()}
        assert files == {"record.json", "predictions.parquet", "log.txt"}
        assert records.from_json((store.folder(run_id) / "record.json").read_text()).run_id == run_id
    assert store.failures() == []


@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)])
def test_a_stopped_sweep_says_so_and_leaves_nothing_half_written(tmp_path: Path, numbers: tuple[signal.Signals, ...]) -> None:
    sweep = launch(tmp_path, 30.0, runs=3)
    wait_for(tmp_path / "ledger", 2)
    children = family(sweep)
    for number in numbers:
        sweep.send_signal(number)
        time.sleep(0.3)
    out, _ = sweep.communicate(timeout=20)
    assert json.loads(out.splitlines()[-1]) == {"baked": [], "present": [], "failed": {}, "interrupted": True, "seconds": {}}
    assert alive(children) == []
    store = Store(tmp_path / "runs")
    assert (store.load_all(), store.failures()) == ([], [])


def test_ctrl_c_once_finishes_what_runs_and_starts_nothing_new(tmp_path: Path) -> None:
    """The whole process group hears Ctrl-C, as it does from a terminal."""
    command = [sys.executable, str(SCRIPT), str(tmp_path / "runs"), str(tmp_path / "ledger"), str(RUNS), "1.5"]
    sweep = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(tmp_path / "ledger", 2)
    os.killpg(sweep.pid, signal.SIGINT)
    out, _ = sweep.communicate(timeout=20)
    *told, last = out.splitlines()
    answer = json.loads(last)
    assert (sorted(answer["baked"]), answer["failed"], answer["interrupted"]) == (sorted(toys.begun(tmp_path / "ledger")), {}, True)
    assert len(answer["baked"]) == 2
    assert told.count("Notice finishing 2 Runs; Ctrl-C again stops them now") == 1
    store = Store(tmp_path / "runs")
    assert {record.run_id for record in store.load_all()} == set(answer["baked"])
    resumed = launch(tmp_path, 0.0)
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, err
    answer = json.loads(out.splitlines()[-1])
    assert (len(answer["baked"]), len(answer["present"]), answer["interrupted"]) == (RUNS - 2, 2, False)


@pytest.mark.slow
def test_a_stop_of_the_whole_process_group_is_no_failure_of_a_run(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path / "runs"), str(tmp_path / "ledger"), "3", "30"]
    sweep = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(tmp_path / "ledger", 2)
    os.killpg(sweep.pid, signal.SIGTERM)
    out, _ = sweep.communicate(timeout=20)
    assert json.loads(out.splitlines()[-1]) == {"baked": [], "present": [], "failed": {}, "interrupted": True, "seconds": {}}
    assert Store(tmp_path / "runs").failures() == []


def test_two_sweeps_at_once_bake_no_run_twice(tmp_path: Path) -> None:
    sweeps = [launch(tmp_path, 0.1), launch(tmp_path, 0.1)]
    answers = [json.loads(sweep.communicate(timeout=60)[0].splitlines()[-1]) for sweep in sweeps]
    wanted = sorted(toys.make_run(number).run_id for number in range(RUNS))
    assert sorted(toys.begun(tmp_path / "ledger")) == wanted
    assert sorted(answers[0]["baked"] + answers[1]["baked"]) == wanted
    assert [answer["failed"] for answer in answers] == [{}, {}]


@pytest.mark.slow
def test_a_fork_server_that_dies_ends_no_run_that_goes_on(tmp_path: Path) -> None:
    sweep = launch(tmp_path, 1.0, runs=4)
    wait_for(tmp_path / "ledger", 2)
    servers = {psutil.Process(int(line.split()[2])).ppid() for line in (tmp_path / "ledger").read_text().splitlines()}
    assert len(servers) == 1
    os.kill(servers.pop(), signal.SIGKILL)
    out, err = sweep.communicate(timeout=60)
    answer = json.loads(out.splitlines()[-1])
    assert answer["failed"] == {}, err
    assert len(Store(tmp_path / "runs").load_all()) == 4
    assert len(toys.begun(tmp_path / "ledger")) == 4
