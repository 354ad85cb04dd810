"""What a Run costs beyond its training and prediction: process, cached tokens, audit, record, W&B offline.

Bakes Runs of the cheapest real kind one after another through the ordinary runner, and prints for each the wall time of
its process less the seconds of training and prediction that its record states.

    python benchmarks/run_overhead.py [runs]
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from bakeoff.commands.baking import PRELOAD, bake_one
from bakeoff.config import Composer
from bakeoff.data.checks import check
from bakeoff.provenance import provenance
from bakeoff.runner.events import Event, Finished
from bakeoff.runner.local import run_local
from bakeoff.store import Store


def main(count: int) -> None:
    """Print the overhead of `count` Runs of each kind and their median."""
    import functools

    composer = Composer()
    for model in ("tfidf", "bilstm", "pretrained"):
        short = ["model.training.min_steps=5", "model.training.epochs=1"] if model != "tfidf" else []
        jobs = [composer.job([f"model={model}", "budget.labels=100", f"seed={seed}", *short]) for seed in range(count + 1)]
        check(jobs[0].run)
        with tempfile.TemporaryDirectory() as folder:
            store, walls = Store(Path(folder)), {}

            def note(event: Event, walls: dict[str, float] = walls) -> None:
                if isinstance(event, Finished):
                    walls[event.run.run_id] = event.seconds

            work = functools.partial(bake_one, machine=jobs[0].machine, code=provenance(), group=None)
            started = time.perf_counter()
            run_local([job.run for job in jobs], store=store, bake=work, slots=1, preload=PRELOAD, share_texts=False, on_event=note)
            total = time.perf_counter() - started
            overheads = []
            for job in jobs[1:]:  # the first one waits for the fork server and fills the caches
                record = store.load(job.run.run_id)
                assert record is not None
                overheads.append(walls[job.run.run_id] - record.training.seconds - (record.training.predict_seconds or 0.0))
        listed = " ".join(f"{seconds:.2f}" for seconds in overheads)
        print(f"{model:<11} median {statistics.median(overheads):.2f} s of {listed}; {count + 1} Runs in {total:.1f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
