"""Runs, records and predictions made in code, for tests that need answers without baking them."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from bakeoff import record as records
from bakeoff import spec
from bakeoff.store import Store
from bakeoff.sweep import Cell, Sweep

CLASSES = ("negative", "positive")
TRAINING = spec.Training(
    learning_rate=2e-5,
    weight_decay=0.01,
    batch_size=16,
    epochs=3,
    min_steps=100,
    warmup_fraction=0.1,
    schedule="linear",
    clip_norm=1.0,
)
FULL = spec.LongDoc(strategy="full", max_tokens=None)
HEAD = spec.LongDoc(strategy="head", max_tokens=256)
MODELS: dict[str, spec.Model] = {
    "majority": spec.Majority(name="majority", default_longdoc=FULL),
    "tfidf": spec.Tfidf(name="tfidf", default_longdoc=FULL, ngram_max=2, min_count=1, sublinear_tf=True, c_grid=(1.0, 10.0), cv_folds=3),
    "bilstm": spec.BiLstm(
        name="bilstm",
        default_longdoc=FULL,
        precision="float32",
        embedding_dim=16,
        hidden_dim=16,
        layers=1,
        pooling="max",
        dropout=0.5,
        min_count=1,
        max_vocabulary=1000,
        training=TRAINING,
    ),
    "scratch": spec.Scratch(
        name="scratch",
        default_longdoc=FULL,
        precision="float32",
        width=16,
        layers=2,
        heads=2,
        feed_forward=32,
        positions="rotary",
        max_positions=None,
        norm="before",
        causal=False,
        pooling="mean",
        dropout=0.1,
        vocabulary="words",
        checkpoint=None,
        revision=None,
        checkpoint_fingerprint=None,
        min_count=1,
        max_vocabulary=1000,
        training=TRAINING,
        teacher=None,
        distillation=None,
        start=None,
    ),
    "frozen": spec.Frozen(
        name="frozen",
        default_longdoc=HEAD,
        checkpoint="minilm-l6",
        revision=None,
        checkpoint_fingerprint="c" * 64,
        precision="float32",
        pooling="mean",
        normalise=True,
        c_grid=(1.0, 10.0, 100.0),
        cv_folds=3,
    ),
    "zero_shot": spec.ZeroShot(
        name="zero_shot",
        default_longdoc=HEAD,
        method="similarity",
        checkpoint="minilm-l6",
        revision=None,
        checkpoint_fingerprint="c" * 64,
        precision="float32",
        template="{}",
        descriptions={"negative": "a bad film"},
    ),
    "off_the_shelf": spec.OffTheShelf(
        name="off_the_shelf",
        default_longdoc=HEAD,
        checkpoint="sentiment",
        revision=None,
        checkpoint_fingerprint="c" * 64,
        precision="float32",
        labels={"NEG": "negative", "POS": "positive"},
    ),
    "predictions": spec.Predictions(name="rules", default_longdoc=FULL, path="answers.csv", fingerprint="f" * 64),
    "pretrained": spec.Pretrained(
        name="pretrained",
        default_longdoc=HEAD,
        checkpoint="minilm-l6",
        revision=None,
        checkpoint_fingerprint="c" * 64,
        precision="float32",
        pooling="mean",
        training=TRAINING,
    ),
}


def make_dataset(**changes: Any) -> spec.Dataset:
    """A dataset of two balanced classes with 200 held-out rows."""
    return spec.Dataset(
        **{
            "name": "reviews",
            "description": "One-sentence film reviews.",
            "family": "reviews",
            "redistributable": False,
            "metric": "auto",
            "asset": None,
            "path": "reviews.csv",
            "test_path": None,
            "format": "csv",
            "fingerprint": "a" * 64,
            "text": "text",
            "label": "label",
            "group": None,
            "encoding": "utf-8",
            "label_map": {},
            "split": "held_out_rows",
            "fold": None,
            "held_out_rows": 200,
        }
        | changes
    )


def make_run(*, model: str | spec.Model = "tfidf", labels: Any = 100, seed: int = 0, dataset: spec.Dataset | None = None) -> spec.Run:
    """A quality Run; `model` is a key of MODELS or a model, and the draw is the seed. A model that reads no label gets none."""
    chosen = MODELS[model] if isinstance(model, str) else model
    labels = 0 if isinstance(chosen, spec.BudgetZero) else labels
    return spec.Run(
        dataset=dataset or make_dataset(),
        budget=spec.Budget(labels=labels, draw=seed, order="stratified", unlabelled="none"),
        model=chosen,
        longdoc=chosen.default_longdoc,
        probe=spec.Quality(threads=1),
        seed=seed,
    )


def cell(run: spec.Run) -> Cell:
    """The cell that a sweep file would list for a Run."""
    values = {"dataset": run.dataset.name, "model": run.model.name, "budget.labels": run.budget.labels, "seed": run.seed}
    return Cell(overrides=tuple(f"{key}={value}" for key, value in values.items()), run=run)


def sweep_of(*cells: Cell, name: str = "small") -> Sweep:
    """A sweep of these cells."""
    return Sweep(name=name, description="Which model reads film reviews best?", path=f"sweeps/{name}.yaml", cells=cells)


def make_predictions(*, accuracy: float, rows: int = 200, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels that take turns, and predictions of which exactly round(accuracy × rows) are right, hard rows alike for every seed."""
    labels = np.arange(rows) % classes
    difficulty = np.random.default_rng(7).normal(size=rows) + 0.5 * np.random.default_rng([seed, rows]).normal(size=rows)
    predicted = labels.copy()
    wrong = np.argsort(difficulty)[round(accuracy * rows) :]
    predicted[wrong] = (labels[wrong] + 1) % classes
    return labels, predicted


def split_quality(labels: np.ndarray, predicted: np.ndarray, classes: Sequence[str] = CLASSES) -> records.SplitQuality:
    """Quality computed plainly; log loss, Brier and ECE are made up."""
    f1s, per_class = [], {}
    for index, name in enumerate(classes):
        hits = int(((labels == index) & (predicted == index)).sum())
        support, answered = int((labels == index).sum()), int((predicted == index).sum())
        if support >= 10:
            f1s.append(2 * hits / (support + answered) if support + answered else 0.0)
        per_class[name] = records.ClassQuality(
            support=support, precision=hits / answered if answered else None, recall=hits / support if support else None
        )
    accuracy = float((labels == predicted).mean())
    return records.SplitQuality(
        n=len(labels),
        accuracy=accuracy,
        macro_f1=float(np.mean(f1s)),
        macro_f1_all=float(np.mean(f1s)),
        log_loss=round(1.2 - accuracy, 6),
        brier=0.2,
        ece=0.05,
        majority_baseline=float((labels == 0).mean()),
        collapsed=len(set(predicted.tolist())) == 1,
        classes=per_class,
    )


def make_record(
    run: spec.Run, labels: np.ndarray, predicted: np.ndarray, classes: Sequence[str] = CLASSES, **changes: Any
) -> records.Record:
    """The record of a Run that gave these answers on its test rows; `changes` replace fields of Record."""
    n = 8000 if run.budget.labels == "all" else int(run.budget.labels)
    n_val = n // 5 if n >= 300 and run.model.kind in ("bilstm", "pretrained") else 0
    tokenised = run.model.kind != "majority"
    return dataclasses.replace(
        records.Record(
            schema_version=records.SCHEMA_VERSION,
            run_id=run.run_id,
            question_id=run.question_id,
            status="ok",
            started_at="2026-03-01T10:00:00Z",
            finished_at="2026-03-01T10:01:00Z",
            run=run,
            machine=records.MachineFacts(processor="Example CPU 3.0", usable_cpus=2, memory_gb=7.8, gpu=None, device="cpu"),
            data=records.DataFacts(
                revision=run.dataset.fingerprint,
                classes=tuple(classes),
                primary_metric="accuracy",
                n_pool=8000,
                n_fit=n - n_val,
                n_val=n_val,
                n_test=len(labels),
                subset_hashes={"fit": "0" * 64, "validation": "0" * 64, "test": "0" * 64},
                truncated_fraction=(0.031 if run.longdoc.strategy == "head" else 0.0) if tokenised else None,
                length_tokens={"p50": 20.0, "p90": 41.0, "p95": 48.0, "p99": 60.0, "max": 71.0} if tokenised else {},
                audit=(
                    records.Finding(code="near_duplicates", count=3, message="3 pool rows nearly repeat a test row and were left out."),
                ),
            ),
            training=records.TrainingFacts(
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
            quality={"test": split_quality(labels, predicted, classes)},
            latency=None,
            size=records.Size(
                parameters_total=1000, parameters_trainable=1000, parameters_embedding=0, bytes=4000, flops_per_document=None
            ),
            provenance=records.Provenance(commit="1234567890abcdef", dirty=False, versions={"bakeoff": "0.1.0", "torch": "2.13.0"}),
        ),
        **changes,
    )


def write_predictions(
    folder: Path, labels: np.ndarray, predicted: np.ndarray, *, classes: int = 2, groups: np.ndarray | None = None
) -> None:
    """`predictions.parquet` of a Run, with made-up row ids and sure probabilities; `groups` are ordinals, None for rows without."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table(
        {
            "row_id": pa.array([f"{row:016x}" for row in range(len(labels))], pa.string()),
            "label": pa.array(labels, pa.int32()),
            "predicted": pa.array(predicted, pa.int32()),
            "probabilities": pa.array(np.eye(classes)[predicted].tolist(), pa.list_(pa.float32())),
            "contaminated": pa.array(np.zeros(len(labels), bool)),
            "group": pa.array([None] * len(labels) if groups is None else groups, pa.int32()),
        }
    )
    parquet.write_table(table, folder / "predictions.parquet")


def bake(store: Store, run: spec.Run, *, accuracy: float, rows: int = 200, **changes: Any) -> records.Record:
    """Write the predictions and the record of a Run of two classes that scores this accuracy."""
    labels, predicted = make_predictions(accuracy=accuracy, rows=rows, seed=run.seed)
    if run.model.kind == "majority":
        predicted = np.zeros_like(labels)
    return save(store, run, labels, predicted, **changes)


def save(
    store: Store,
    run: spec.Run,
    labels: np.ndarray,
    predicted: np.ndarray,
    classes: Sequence[str] = CLASSES,
    *,
    groups: np.ndarray | None = None,
    **changes: Any,
) -> records.Record:
    """Write given answers of a Run and their record."""
    record = make_record(run, labels, predicted, classes, **changes)
    write_predictions(store.folder(run.run_id), labels, predicted, classes=len(classes), groups=groups)
    store.write_record(record)
    return record


MACHINE = "Example CPU 3.0, 2 CPUs, 8 GB, torch 2.13.0"
GRID_TOKENS = (8, 16, 32, 64, 128, 256, 512, 1024)


def encoder(name: str, *, layers: int, width: int = 768) -> spec.Pretrained:
    """A BERT of these numbers without a checkpoint, as untrained latency Runs time it."""
    size = spec.EncoderSize(family="bert", layers=layers, width=width, heads=12, feed_forward=4 * width, vocabulary=30522, positions=512)
    base = MODELS["pretrained"]
    assert isinstance(base, spec.Pretrained)
    return dataclasses.replace(base, name=name, checkpoint=name, checkpoint_fingerprint=f"architecture:{layers}x{width}", size=size)


def make_latency_run(
    *, model: str | spec.Model = "bilstm", labels: Any = 100, dataset: spec.Dataset | None = None, **changes: Any
) -> spec.Run:
    """An untrained eager latency Run, one document at a time on one CPU thread; `changes` replace fields of the probe."""
    probe = {
        "device": "cpu",
        "threads": 1,
        "engine": "eager",
        "scenario": "single",
        "batch_size": None if changes.get("scenario") == "offline" else 1,
        "lengths": "dataset",
        "weights": "untrained",
        "reference": "bilstm",
        "machine": MACHINE,
    }
    return dataclasses.replace(make_run(model=model, labels=labels, dataset=dataset), probe=spec.Latency(**(probe | changes)))


def make_latency_facts(*, p50_ms: float, ratio: float | None = None, **changes: Any) -> records.LatencyFacts:
    """Facts in which every percentile follows from the median; `ratio` is that to the reference."""
    names = {"p50_ms": 1.0, "p90_ms": 1.6, "p95_ms": 2.0, "p99_ms": 3.0}
    values = {name: round(p50_ms * times, 6) for name, times in names.items()}
    values["p99_ms"] = None  # 2,000 samples
    made = {
        **values,
        "session_id": "5e5510a0",
        "unit": "ms per document",
        "n_samples": 2000,
        "n_turns": 40,
        "n_documents": 200,
        "batch_size": 1,
        "warm_up_calls": 12,
        "warm_up_stable": True,
        "tokens": {"p50": 20.0, "p90": 41.0, "p95": 48.0, "p99": 60.0, "max": 71.0},
        "intervals": {name: _around(value) for name, value in values.items() if value is not None},
        "missing": {"p99_ms": "2,000 samples, and it takes 5,000"},
        "throughput_per_second": round(900 / p50_ms, 6),
        "stages_ms": {"tokenise": 0.1, "window": 0.01, "forward": round(p50_ms * 0.8, 6), "pool": 0.02},
        "after_switch_ms": round(p50_ms * 1.5, 6),
        "reference_p50_ms": 1.0,
        "ratio_to_reference": ratio,
        "ratio_interval": _around(ratio) if ratio is not None else None,
        "contended": False,
        "foreign_cpu_share": 0.01,
        "clock_resolution_ns": 1,
        "engine_versions": {"torch": "2.13.0"},
        "agreement": None,
        "notes": (),
        "cost": records.ServingCost(
            flops=2e6 * p50_ms,
            bytes_in_memory=4_000_000,
            peak_memory_mb=300.0,
            start_up_seconds=1.25,
            peak_gflops=95.0,
            share_of_peak=0.021,
        ),
        "grid": (),
    }
    return records.LatencyFacts(**(made | changes))


def make_grid(*, fixed_ms: float, ms_a_token: float, exponent: float = 1.0, most: int = 1024) -> tuple[records.GridPoint, ...]:
    """Medians of ms_a_token × tokens^exponent, never below `fixed_ms`; lengths above `most` are not read."""
    points = []
    for tokens in GRID_TOKENS:
        ms = max(fixed_ms, ms_a_token * tokens**exponent) if tokens <= most else None
        reason = None if ms is not None else f"the model reads {most} tokens at most"
        interval = None if ms is None else _around(ms)
        points.append(records.GridPoint(tokens=tokens, n_samples=0 if ms is None else 200, p50_ms=ms, interval=interval, reason=reason))
    return tuple(points)


def bake_latency(store: Store, run: spec.Run, facts: records.LatencyFacts, **changes: Any) -> records.Record:
    """Write the record of a latency Run; without quality unless `changes` have it."""
    labels, predicted = make_predictions(accuracy=1.0)
    record = make_record(run, labels, predicted, **({"quality": {}, "latency": facts} | changes))
    data = dataclasses.replace(record.data, n_fit=0, n_val=0)
    training = dataclasses.replace(record.training, seconds=0.0, stop_reason="not_trained", steps=0)
    record = dataclasses.replace(record, data=data, training=training)
    store.folder(run.run_id).mkdir(parents=True, exist_ok=True)
    store.write_record(record)
    return record


def _around(value: float) -> records.Interval:
    return records.Interval(low=round(value * 0.95, 6), high=round(value * 1.05, 6))
