"""What a model card says that other records know: its score with an interval, how fast it is, what it was compared with."""

import dataclasses
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bakeoff.commands.saved_runs import Saved
from bakeoff.data.dataset import Prepared
from bakeoff.record import Record
from bakeoff.report import stats
from bakeoff.runner.weights import PREDICTIONS
from bakeoff.shipping.card import Facts, scripts_of
from bakeoff.shipping.check import Agreement, Probabilities
from bakeoff.shipping.folder import Engine
from bakeoff.spec import Latency, Quality, Run, identity
from bakeoff.store import Store

_NAMES: dict[stats.Metric, str] = {"accuracy": "accuracy", "macro_f1": "macro-F1"}
_MOST_RIVALS, _MOST_TEXTS = 12, 1000


def gather(saved: Saved, prepared: Prepared, store: Store, *, engine: Engine, found: Probabilities, agreement: Agreement) -> Facts:
    """The facts of a card; `found` is what the folder answers to the test rows, shape (rows, classes)."""
    table = pq.read_table(store.folder(saved.run.run_id) / PREDICTIONS, columns=["predicted", "group"])
    groups = None if table["group"].null_count else np.asarray(table["group"].to_numpy(), dtype=np.int64)
    as_scored = _answers(prepared, np.asarray(table["predicted"].to_numpy(), dtype=np.int64), groups)
    own = None
    if engine == "onnx_int8":
        rounded = _scores(_answers(prepared, found.argmax(axis=1), groups), saved.record)
        own = (
            f"Rounded to {engine} it changes {agreement.changed_labels:,} of {agreement.n:,} labels, and probabilities by up to "
            f"{agreement.max_difference:.2g}; it then scores {rounded}."
        )
    records = store.load_all()
    return Facts(
        score=f"On {len(prepared.test):,} test rows that it never saw: {_scores(as_scored, saved.record)}.",
        latency=_latency(saved.run, records, engine),
        chosen=_chosen(saved, records),
        scripts=scripts_of(prepared.test.whole_texts[:_MOST_TEXTS]),
        engine_score=own,
    )


def _answers(prepared: Prepared, predicted: np.ndarray, groups: np.ndarray | None) -> stats.Answers:
    numbered = None if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.int64)
    return stats.Answers(
        row_ids=np.asarray(prepared.test.row_ids),
        labels=prepared.test.labels,
        predicted=predicted[None].astype(np.int64),
        seeds=((0, 0),),
        groups=numbered,
    )


def _scores(answers: stats.Answers, record: Record) -> str:
    """The primary metric first."""
    order: tuple[stats.Metric, ...] = ("accuracy", "macro_f1") if record.data.primary_metric == "accuracy" else ("macro_f1", "accuracy")
    found = [(_NAMES[metric], stats.estimate(answers, metric)) for metric in order]
    return ", ".join(f"{name} {each.mean:.1%} (95% interval {each.low:.1%} to {each.high:.1%})" for name, each in found)


def _latency(run: Run, records: list[Record], engine: Engine) -> str:
    """What a latency Run of this architecture and engine measured, or how to measure it."""
    timed = [record for record in records if _is_timed(record, run, engine)]
    for record in sorted(timed, key=lambda each: each.finished_at, reverse=True):
        assert record.latency is not None
        assert isinstance(record.run.probe, Latency)
        threads = record.run.probe.threads
        return (
            f"p95 {record.latency.p95_ms:.3g} ms a document, one at a time, {engine} with "
            f"{threads} CPU thread{'s' if threads > 1 else ''}, on {record.run.probe.machine} (Run `{record.run_id}`)."
        )
    return f"Not measured on any machine; where the data is, `{shlex.join(['bakeoff', 'run', *to_time(run, engine)])}` does."


def to_time(run: Run, engine: Engine) -> list[str]:
    """Overrides that time the model on the Run's documents, read as the Run reads them; files by their last part."""
    dataset, words = run.dataset, [f"dataset={run.dataset.name}"]
    if dataset.path is not None:
        words = ["dataset=folder" if dataset.format == "folder" else "dataset=csv", f"dataset.path={Path(dataset.path).name}"]
        words += [] if dataset.test_path is None else [f"dataset.test_path={Path(dataset.test_path).name}"]
        given = {name: getattr(dataset, name) for name in ("text", "label", "text_pair", "group", "encoding")}
        words += [f"dataset.{name}={value}" for name, value in given.items() if value not in (None, "auto")]
    reading = {name: value for name, value in dataclasses.asdict(run.longdoc).items() if value is not None}
    words.append(f"longdoc={reading.pop('strategy')}")
    words += [f"longdoc.{name}={value}" for name, value in reading.items()]
    return [*words, f"model={run.model.name}", "probe=latency", f"probe.engine={engine}"]


def _is_timed(record: Record, run: Run, engine: Engine) -> bool:
    other, probe = record.run, record.run.probe
    if not isinstance(probe, Latency) or record.latency is None or record.latency.p95_ms is None:
        return False
    asked = probe.engine == engine and probe.device == "cpu" and probe.scenario == "single" and probe.lengths == "dataset"
    return (
        asked
        and other.dataset.fingerprint == run.dataset.fingerprint
        and identity(other.model, part="architecture") == identity(run.model, part="architecture")
        and _reading(other) == _reading(run)
    )


def _reading(run: Run) -> dict[str, object]:
    return {name: value for name, value in dataclasses.asdict(run.longdoc).items() if name != "trained_windows"}


def _chosen(saved: Saved, records: list[Record]) -> tuple[str, ...]:
    """How the weights were chosen, and the other models that were scored on the same rows with as many labels."""
    record, training = saved.record, saved.record.training
    lines = []
    if training.selected:
        chosen = ", ".join(f"{name} = {value:g}" for name, value in training.selected.items())
        lines.append(f"Chosen by cross-validation over its own labels: {chosen}.")
    if training.best_step is not None and training.best_validation_loss is not None:
        lines.append(
            f"Of the training steps the one with the lowest validation loss was kept: step {training.best_step:,} of {training.steps:,}, "
            f"loss {training.best_validation_loss:.3g}."
        )
    rivals = _rivals(saved, records)
    if len(rivals) > 1:
        metric = record.data.primary_metric
        lines.append("Scored on the same test rows with as many labels (means over seeds; the best of several is a little too high):")
        lines += [f"| model | reading | Runs | {_NAMES[metric]} |", "|---|---|---|---|"]
        for (name, reading), scores in sorted(rivals.items(), key=lambda item: -float(np.mean(item[1])))[:_MOST_RIVALS]:
            own = " (this one)" if (name, reading) == _candidate(saved.run) else ""
            lines.append(f"| {name}{own} | {reading} | {len(scores)} | {np.mean(scores):.1%} |")
    else:
        lines.append("Nothing else was scored on the same test rows with as many labels.")
    return tuple(lines)


def _rivals(saved: Saved, records: list[Record]) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = {}
    for record in records:
        same = record.data.subset_hashes.get("test") == saved.record.data.subset_hashes["test"]
        quality = isinstance(record.run.probe, Quality) and record.quality.get("test")
        if same and quality and record.run.budget.labels == saved.run.budget.labels:
            score = quality.accuracy if saved.record.data.primary_metric == "accuracy" else quality.macro_f1
            found.setdefault(_candidate(record.run), []).append(score)
    return found


def _candidate(run: Run) -> tuple[str, str]:
    return run.model.name, run.longdoc.label
