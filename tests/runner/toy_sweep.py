"""A sweep of toy Runs as a program of its own, for tests that kill it: ROOT LEDGER RUNS SECONDS [SLOTS]."""

import dataclasses
import json
import sys
from pathlib import Path

import toys

from bakeoff.runner.events import Event, Notice
from bakeoff.runner.local import run_local
from bakeoff.store import Store


def tell(event: Event) -> None:
    """A line: what it is, and of which Run, or what it says."""
    print(type(event).__name__, event.text if isinstance(event, Notice) else event.run.run_id, flush=True)


if __name__ == "__main__":
    root, ledger, runs, seconds, *slots = sys.argv[1:]
    outcome = run_local(
        [toys.make_run(seed) for seed in range(int(runs))],
        store=Store(Path(root)),
        bake=toys.baker(Path(ledger), seconds=float(seconds)),
        slots=int(slots[0]) if slots else 2,
        preload=["bakeoff.record"],
        share_texts=False,
        on_event=tell,
    )
    print(json.dumps(dataclasses.asdict(outcome)))
