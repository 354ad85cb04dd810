"""Workers, fork servers and whole sweeps killed at random until everything is recorded: each Run has one record, and it is whole."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import toys

from bakeoff import record as records
from bakeoff.store import RECORD, Store

SCRIPT = Path(__file__).with_name("toy_sweep.py")
WORKERS = 3
FILES = {"record.json", "predictions.parquet", "log.txt", "failure.json"}
Stamp = tuple[int, int]


@dataclass(kw_only=True)
class Study:
    """Runs of one store, killed and started again until all are recorded."""

    folder: Path
    runs: int
    draw: random.Random
    seconds: float = 0.2
    """What a Run takes."""
    killed: dict[str, int] = field(default_factory=lambda: {"worker": 0, "fork server": 0, "sweep": 0})
    launches: int = 0
    _stamps: dict[str, Stamp] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The store of the study."""
        return Store(self.folder / "runs")

    @property
    def ledger(self) -> Path:
        """What each Run noted down."""
        return self.folder / "ledger"

    def launch(self) -> "subprocess.Popen[str]":
        """One sweep over all Runs."""
        self.launches += 1
        command = [sys.executable, str(SCRIPT), str(self.store.root), str(self.ledger), str(self.runs), str(self.seconds), str(WORKERS)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def until_recorded(self, *, sweeps: int) -> None:
        """Launch so many sweeps at a time and kill at random every few Runs; after each launch nothing that was recorded has moved."""
        while len(self.check()) < self.runs:
            assert self.launches < 10 * self.runs
            before, noted = set(self._stamps), len(toys.begun(self.ledger))
            at_work = [self.launch() for _ in range(sweeps)]
            while any(each.poll() is None for each in at_work):
                kill_at = len(toys.begun(self.ledger)) + self.draw.randint(1, 3)
                while any(each.poll() is None for each in at_work) and len(toys.begun(self.ledger)) < kill_at:
                    time.sleep(0.01)
                time.sleep(self.draw.uniform(0.0, 1.5 * self.seconds))
                self.kill(self.draw.choice(at_work))
            for each in at_work:
                each.communicate()
            assert before.isdisjoint(toys.begun(self.ledger)[noted:]), "a recorded Run was baked again"

    def kill(self, sweep: "subprocess.Popen[str]") -> None:
        """Kill a worker of a sweep, more rarely its fork server or the sweep itself; nothing where there is none."""
        kind = self.draw.choices(list(self.killed), [0.8, 0.05, 0.15])[0]
        try:
            children = psutil.Process(sweep.pid).children()
            workers = [worker for child in children for worker in child.children()]
            servers = [worker.parent() for worker in workers]
            victims = {"worker": workers, "fork server": servers, "sweep": [psutil.Process(sweep.pid)] if workers else []}[kind]
            if victims:
                os.kill(self.draw.choice([each.pid for each in victims if each is not None]), signal.SIGKILL)
                self.killed[kind] += 1
        except (psutil.NoSuchProcess, ProcessLookupError):
            return

    def check(self) -> set[str]:
        """The ids of what is recorded, after seeing that each record is whole and that those of before are the same files."""
        found: dict[str, Stamp] = {}
        for number in range(self.runs):
            path = self.store.folder(toys.make_run(number).run_id) / RECORD
            if path.exists():
                assert records.from_json(path.read_text()).run_id == path.parent.name
                found[path.parent.name] = (path.stat().st_ino, path.stat().st_mtime_ns)
        assert found.items() >= self._stamps.items(), "a record was replaced or lost"
        self._stamps = found
        return set(found)

    def check_end(self) -> None:
        """Every Run has its one record, and nothing is left of the attempts but what tells of them."""
        wanted = {toys.make_run(number).run_id for number in range(self.runs)}
        assert self.check() == wanted
        assert {path.name for path in self.store.root.iterdir()} == wanted | {".locks"}
        assert self.store.failures() == []
        for run_id in wanted:
            names = {path.name for path in self.store.folder(run_id).iterdir()}
            assert {"record.json", "predictions.parquet"} <= names <= FILES
            assert not self.store.is_locked(run_id)
        done = self.launch()
        out, err = done.communicate(timeout=120)
        answer = json.loads(out.splitlines()[-1])
        assert (done.returncode, answer["baked"], answer["failed"], answer["interrupted"]) == (0, [], {}, False), err
        assert self.check() == wanted


@pytest.mark.parametrize(
    ("runs", "seconds", "sweeps", "seed"),
    [
        pytest.param(24, 0.1, 1, 0, marks=pytest.mark.slow),
        pytest.param(24, 0.1, 2, 1, marks=pytest.mark.slow),
        pytest.param(300, 0.3, 1, 2, marks=[pytest.mark.stress, pytest.mark.timeout(3600)]),
        pytest.param(100, 0.3, 2, 3, marks=[pytest.mark.stress, pytest.mark.timeout(3600)]),
    ],
)
def test_whatever_is_killed_every_run_gets_its_one_record(tmp_path: Path, runs: int, seconds: float, sweeps: int, seed: int) -> None:
    study, began = Study(folder=tmp_path, runs=runs, seconds=seconds, draw=random.Random(seed)), time.monotonic()
    study.until_recorded(sweeps=sweeps)
    study.check_end()
    assert study.killed["worker"] > 0
    kills = ", ".join(f"{count} {kind}s" for kind, count in study.killed.items())
    begun, seconds_taken = len(toys.begun(study.ledger)), time.monotonic() - began
    print(f"{runs} Runs, {sweeps} × {WORKERS} workers: killed {kills}; {study.launches} sweeps, {begun} attempts, {seconds_taken:.0f} s")


@pytest.mark.slow
def test_two_sweeps_started_together_share_the_work(tmp_path: Path) -> None:
    study = Study(folder=tmp_path, runs=30, seconds=0.3, draw=random.Random(0))
    answers = [json.loads(each.communicate(timeout=200)[0].splitlines()[-1]) for each in [study.launch(), study.launch()]]
    wanted = sorted(toys.make_run(number).run_id for number in range(30))
    assert sorted(answers[0]["baked"] + answers[1]["baked"]) == wanted
    assert sorted(toys.begun(study.ledger)) == wanted
    assert min(len(answer["baked"]) for answer in answers) >= 3
    assert [answer["failed"] for answer in answers] == [{}, {}]
    study.check_end()
