"""How long a page of 10,000 records takes, figures and all; the records are made up, 200 test rows each.

Two datasets, ten models, ten budgets and fifty seeds. Prints the seconds from sweep to page, of the clock and of the
processor, which differ where the machine is shared; with --profile also where they go.

    python benchmarks/report_speed.py [records] [--profile]
"""

import cProfile
import dataclasses
import pstats
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from bakeoff.config import Composer
from bakeoff.record import SCHEMA_VERSION, ClassQuality, DataFacts, MachineFacts, Provenance, Record, Size, SplitQuality, TrainingFacts
from bakeoff.report.pages import write_report
from bakeoff.report.store_cache import ReadOnce
from bakeoff.spec import BiLstm, Run
from bakeoff.sweep import Cell, Sweep

ROWS, DATASETS, SEEDS = 200, 2, 50
BUDGETS = (30, 100, 300, 600, 1000, 2000, 3000, 4000, 6000, 8000)


def main(wanted: int, *, profile: bool) -> None:
    """Make the records, then time the page."""
    with tempfile.TemporaryDirectory() as folder:
        store, runs = ReadOnce(Path(folder) / "runs"), list(made_up(wanted))
        began = time.perf_counter()
        for place, run in enumerate(runs):
            write(store, run, 0.55 + 0.02 * (place % 17))
        print(f"{len(runs):,} records written in {time.perf_counter() - began:.1f} s", flush=True)
        cells = tuple(Cell(overrides=(f"model={run.model.name}", f"seed={run.seed}"), run=run) for run in runs)
        sweep = Sweep(name="speed", description="", path="speed.yaml", cells=cells)
        watch = cProfile.Profile(time.process_time)
        began, computed = time.perf_counter(), time.process_time()
        if profile:
            watch.enable()
        page = write_report([sweep], store, Path(folder) / "page")
        watch.disable()
        wall, busy = time.perf_counter() - began, time.process_time() - computed
        print(
            f"page of {len(runs):,} records in {wall:.1f} s, {busy:.1f} of them computing ({page.stat().st_size / 1e6:.1f} MB of Markdown)"
        )
        if profile:
            pstats.Stats(watch).sort_stats("cumulative").print_stats(45)


def made_up(wanted: int) -> list[Run]:
    """Runs of two datasets and ten models at ten budgets, fifty seeds each, as many as wanted."""
    template = Composer().job(["dataset=movie", "model=bilstm", "budget.labels=100", "seed=0"]).run
    found = []
    for dataset in range(DATASETS):
        data = dataclasses.replace(template.dataset, name=f"set {dataset}", family=f"set {dataset}", fingerprint=f"{dataset:064x}")
        for width in range(10):
            assert isinstance(template.model, BiLstm)
            model = dataclasses.replace(template.model, name=f"bilstm {width}", hidden_dim=16 * (width + 1))
            for labels in BUDGETS:
                for seed in range(SEEDS):
                    budget = dataclasses.replace(template.budget, labels=labels, draw=seed)
                    found.append(dataclasses.replace(template, dataset=data, model=model, budget=budget, seed=seed))
    return found[:wanted]


def write(store: ReadOnce, run: Run, accuracy: float) -> None:
    """A record with its predictions, without the care that real ones are written with."""
    draw = np.random.default_rng([run.seed, int(run.budget.labels)])
    labels = np.arange(ROWS) % 2
    predicted = np.where(draw.random(ROWS) < accuracy, labels, 1 - labels)
    right, folder = labels == predicted, store.folder(run.run_id)
    sure = np.where(right, 0.5 + draw.random(ROWS) / 2, 0.5 + draw.random(ROWS) / 4)
    probabilities = np.where(np.arange(2)[None, :] == predicted[:, None], sure[:, None], 1 - sure[:, None])
    folder.mkdir(parents=True)
    columns = {
        "row_id": pa.array([f"{row:016x}-0" for row in range(ROWS)], pa.string()),
        "label": pa.array(labels, pa.int32()),
        "predicted": pa.array(predicted, pa.int32()),
        "probabilities": pa.array(probabilities.tolist(), pa.list_(pa.float32())),
        "contaminated": pa.array(np.zeros(ROWS, bool)),
        "group": pa.array([None] * ROWS, pa.int32()),
    }
    parquet.write_table(pa.table(columns), folder / "predictions.parquet", compression="zstd")
    (folder / "record.json").write_text(record(run, right).to_json(), encoding="utf-8")


def record(run: Run, right: np.ndarray) -> Record:
    """A record whose accuracy is that of its answers; the rest is made up."""
    n, share = int(run.budget.labels), float(right.mean())
    quality = SplitQuality(
        n=ROWS,
        accuracy=share,
        macro_f1=share,
        macro_f1_all=share,
        log_loss=0.6,
        brier=0.2,
        ece=0.05,
        majority_baseline=0.5,
        collapsed=False,
        classes={name: ClassQuality(support=100, precision=share, recall=share) for name in ("negative", "positive")},
    )
    return Record(
        schema_version=SCHEMA_VERSION,
        run_id=run.run_id,
        question_id=run.question_id,
        status="ok",
        started_at="2026-03-01T10:00:00Z",
        finished_at="2026-03-01T10:01:00Z",
        run=run,
        machine=MachineFacts(processor="Example CPU", usable_cpus=2, memory_gb=8.0, gpu=None, device="cpu"),
        data=DataFacts(
            revision=run.dataset.fingerprint,
            classes=("negative", "positive"),
            primary_metric="accuracy",
            n_pool=8568,
            n_fit=n - n // 5,
            n_val=n // 5,
            n_test=ROWS,
            subset_hashes={},
            truncated_fraction=0.0,
            length_tokens={"p50": 21.0, "p95": 40.0, "max": 57.0},
            audit=(),
        ),
        training=TrainingFacts(
            epochs=3.0,
            steps=100,
            best_step=None,
            best_validation_loss=None,
            seconds=12.5,
            predict_seconds=1.0,
            tokens_per_second=None,
            peak_memory_mb=500.0,
            stop_reason="schedule",
            selected={},
            diagnostics=(),
        ),
        quality={"test": quality},
        size=Size(parameters_total=1000, parameters_trainable=1000, parameters_embedding=0, bytes=4000, flops_per_document=None),
        provenance=Provenance(commit="1234567890abcdef", dirty=False, versions={"torch": "2.13.0"}),
    )


if __name__ == "__main__":
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    main(int(numbers[0]) if numbers else 10_000, profile="--profile" in sys.argv)
