"""How long `bakeoff sweep` takes to find that nothing is left to do, with 1,000 and with 10,000 made-up records.

Four models, five learning rates and five budgets; the rest of the count is seeds. Each sweep is a process of its own, as
people start it. Prints its seconds of the clock and of the processor, which differ where the machine is shared; with
--profile also where they go.

    python benchmarks/sweep_speed.py [records …] [--profile]
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml
from report_speed import ROWS, record

from bakeoff.config import load_sweep
from bakeoff.store import RECORD, Store

GRID = {
    "dataset": ["movie"],
    "model": ["bilstm", "scratch", "pretrained", "distilled"],
    "model.training.learning_rate": [1e-5, 2e-5, 5e-5, 1e-4, 1e-3],
    "budget.labels": [100, 300, 1000, 2000, 3000],
}


def main(counts: list[int], *, profile: bool) -> None:
    """Time a sweep over each count of records."""
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            print(told(Path(folder), count, profile=profile), flush=True)


def told(folder: Path, count: int, *, profile: bool) -> str:
    """What it took, in a line."""
    grid = {**GRID, "seed": list(range(count // 100))}
    file = folder / "speed.yaml"
    file.write_text(yaml.safe_dump({"method": "grid", "parameters": {key: {"values": values} for key, values in grid.items()}}))
    store, right = Store(folder / "runs"), np.arange(ROWS) % 4 > 0
    runs = load_sweep(file).runs
    for run in runs:
        store.folder(run.run_id).mkdir(parents=True)
        (store.folder(run.run_id) / RECORD).write_text(record(run, right).to_json(), encoding="utf-8")
    profiler = ["-m", "cProfile", "-s", "cumulative"] if profile else []
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *profiler, "-m", "bakeoff.cli", "sweep", str(file)],
        env=os.environ | {"BAKEOFF_RUNS": str(store.root)},
        capture_output=True,
        text=True,
        check=True,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert f"0 Runs to bake, {len(runs)} already recorded" in done.stderr, done.stderr
    if profile:
        print("\n".join(done.stdout.splitlines()[:70]))
    return f"{len(runs):,} recorded Runs: {wall:.1f} s, {busy:.1f} of them computing"


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(numbers or [1_000, 10_000], profile="--profile" in sys.argv)
