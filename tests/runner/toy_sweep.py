"""A sweep of toy Runs as a program of its own, for tests that kill it: ROOT LEDGER RUNS SECONDS."""

import json
import sys
from pathlib import Path

import toys

from bakeoff.runner.local import run_local
from bakeoff.store import Store

if __name__ == "__main__":
    root, ledger, runs, seconds = sys.argv[1:]
    outcome = run_local(
        [toys.make_run(seed) for seed in range(int(runs))],
        store=Store(Path(root)),
        bake=toys.baker(Path(ledger), seconds=float(seconds)),
        slots=2,
        preload=["bakeoff.record"],
        share_texts=False,
        on_event=lambda event: print(type(event).__name__, getattr(getattr(event, "run", None), "run_id", ""), flush=True),
    )
    print(json.dumps({"baked": outcome.baked, "failed": outcome.failed, "interrupted": outcome.interrupted}))
