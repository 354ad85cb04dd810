"""`bakeoff run -m` with real processes: each job its own, those that are recorded skipped, and one that dies ends no other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.config import Composer, expand
from bakeoff.store import RECORD, Store, default_root
from bakery import on_table, rows, write_csv

DIES = """
import os
import bakeoff.models.linear as linear

linear.TfidfClassifier.fit = lambda *_: os._exit(9)
"""


@pytest.mark.slow
def test_every_job_is_finished_though_some_die_and_a_second_call_skips_what_is_there(tmp_path: Path) -> None:
    here, startup = tmp_path / "here", tmp_path / "startup"
    for folder in (here, startup):
        folder.mkdir()
    (startup / "sitecustomize.py").write_text(DIES)
    table = on_table(write_csv(tmp_path / "pool.csv", rows(24)), write_csv(tmp_path / "test.csv", rows(12, seed=1)))
    overrides = [*table, "model=tfidf,majority", "seed=0,1"]
    runs = [Composer().job(job).run for job in expand(overrides)]
    assert [(run.model.name, run.seed) for run in runs] == [("tfidf", 0), ("tfidf", 1), ("majority", 0), ("majority", 1)]

    def called(**environment: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "bakeoff.cli", "run", "-m", *overrides]
        return subprocess.run(command, cwd=here, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=250)

    first, store = called(PYTHONPATH=str(startup)), Store(default_root())
    good = [str(store.folder(run.run_id) / RECORD) for run in runs[2:]]
    assert (first.returncode, first.stdout.splitlines()) == (1, good), first.stderr
    assert {failure["run_id"] for failure in store.failures()} == {run.run_id for run in runs[:2]}
    assert {failure["type"] for failure in store.failures()} == {"ProcessDied"}
    for run in runs[:2]:
        assert run.run_id in first.stderr

    stamps = [Path(path).stat().st_mtime_ns for path in good]
    again = called()
    assert (again.returncode, again.stdout.splitlines()) == (0, [str(store.folder(run.run_id) / RECORD) for run in runs]), again.stderr
    assert [Path(path).stat().st_mtime_ns for path in good] == stamps
    assert store.failures() == []
    assert list(here.iterdir()) == []
