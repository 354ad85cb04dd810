"""A bench that hands out made Runs, for tests of cost claims and of claims about architectures: nothing is trained or timed."""

import csv
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import factories
from bakeoff import record as records
from bakeoff import spec
from bakeoff.claims.claim import Baked, NotMeasured, Size
from bakeoff.store import Store

ROUNDS, CALLS = 60, 10


@dataclass
class MadeBench:
    """Hands out Runs by sweep; with an override in `by_override`, those of that override."""

    sweeps: Mapping[str, Sequence[Baked]]
    size: Size = "small"
    by_override: Mapping[tuple[str, str], Sequence[Baked]] = field(default_factory=dict)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def bake(self, sweep: str, *overrides: str, keep_weights: bool = False) -> tuple[Baked, ...]:
        self.asked.append((sweep, *overrides))
        if keep_weights:
            self.kept.append(sweep)
        for override in overrides:
            if (sweep, override) in self.by_override:
                return tuple(self.by_override[sweep, override])
        if sweep not in self.sweeps:
            raise NotMeasured(f"{sweep} is not here")
        return tuple(self.sweeps[sweep])

    def texts(self, run: spec.Run) -> Mapping[str, str]:
        raise AssertionError("these claims read no text")

    def predict(self, baked: Baked, texts: Sequence[str]) -> np.ndarray:
        raise AssertionError("these claims ask no weights")

    def say(self, line: str) -> None:
        pass


def timed(
    store: Store,
    model: str | spec.Model,
    *,
    ms: float,
    ratio: float | None = None,
    session_id: str = "5e5510a0",
    rounds: Sequence[int] = range(ROUNDS),
    name: str | None = None,
    probe: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Baked:
    """A latency Run every call of which took `ms`, with its raw samples; `changes` replace fields of its facts."""
    run = factories.make_latency_run(model=model, **(probe or {}))
    if name is not None:
        run = dataclasses.replace(run, model=dataclasses.replace(run.model, name=name))
    facts = factories.make_latency_facts(p50_ms=ms, ratio=ratio, session_id=session_id, **changes)
    record = factories.bake_latency(store, run, facts)
    n = len(rounds) * CALLS
    table = {
        "turn": pa.array(np.repeat(list(rounds), CALLS), pa.int32()),
        "call": pa.array(np.tile(np.arange(CALLS), len(rounds)), pa.int32()),
        "kind": pa.array(["sample"] * n),
        "total_ns": pa.array([round(ms * 1e6)] * n, pa.int64()),
    }
    others = {
        "turn": pa.array([0], pa.int32()),
        "call": pa.array([0], pa.int32()),
        "kind": pa.array(["reference"]),
        "total_ns": pa.array([7], pa.int64()),
    }
    parquet.write_table(pa.concat_tables([pa.table(table), pa.table(others)]), store.folder(run.run_id) / "latency.parquet")
    return Baked(record=record, folder=store.folder(run.run_id))


def scored(store: Store, run: spec.Run, right: int, *, rows: int = 1000, lengths: Sequence[int] | None = None, **changes: Any) -> Baked:
    """A quality Run that answers the first `right` of `rows` rows right; `changes` replace fields of its record."""
    labels = np.arange(rows) % 2
    predicted = np.where(np.arange(rows) < right, labels, 1 - labels)
    return answered(store, run, labels, predicted, lengths=lengths, **changes)


def answered(
    store: Store, run: spec.Run, labels: np.ndarray, predicted: np.ndarray, *, lengths: Sequence[int] | None = None, **changes: Any
) -> Baked:
    """A quality Run with these answers; `lengths` are tokens of its test rows."""
    record = factories.save(store, run, labels, predicted, **changes)
    if lengths is not None:
        file = store.folder(run.run_id) / "predictions.parquet"
        parquet.write_table(parquet.read_table(file).append_column("length_tokens", pa.array(lengths, pa.int32())), file)
    return Baked(record=record, folder=store.folder(run.run_id))


def history(baked: Baked, *, train: Sequence[float] = (), validation: Mapping[int, float] | None = None) -> Baked:
    """Write the losses of each step, from 1, and of validations by step."""
    with open(baked.folder / "history.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "train_loss", "learning_rate", "validation_loss"])
        writer.writerows([step, loss, 1e-3, ""] for step, loss in enumerate(train, start=1))
        writer.writerows([step, "", "", loss] for step, loss in (validation or {}).items())
    return baked


def size(*, beside_words: int, words: int = 10_000) -> records.Size:
    """Of a model with so many parameters."""
    total = beside_words + words
    return records.Size(
        parameters_total=total, parameters_trainable=total, parameters_embedding=words, bytes=4 * total, flops_per_document=None
    )


def training(**changes: Any) -> records.TrainingFacts:
    """How fitting went."""
    return dataclasses.replace(_plain().training, **changes)


def data(**changes: Any) -> records.DataFacts:
    """What a Run saw."""
    return dataclasses.replace(_plain().data, **changes)


def store(folder: Path) -> Store:
    """An empty store."""
    return Store(folder)


def _plain() -> records.Record:
    labels = np.arange(40) % 2
    return factories.make_record(factories.make_run(), labels, labels)
