"""Made-up records of models that read long documents in several ways."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import factories
from bakeoff import spec
from bakeoff.record import Record
from bakeoff.store import Store

PIECES = dataclasses.replace(
    factories.MODELS["bilstm"],
    vocabulary="word_pieces",  # type: ignore[arg-type]
    checkpoint="minilm-l6",
    checkpoint_fingerprint="c" * 64,
)
"""A BiLSTM over the word pieces of the encoder in `factories`."""


def longdoc(name: str) -> spec.LongDoc:
    """A way to read by its short name: `full`, `windows`, `head 256`."""
    strategy, _, size = name.partition(" ")
    if strategy == "windows":
        return spec.LongDoc(
            strategy="windows", max_tokens=None, window_tokens=256, overlap_tokens=64, pool="mean_logits", trained_windows=8
        )
    return spec.LongDoc(strategy=strategy, max_tokens=int(size) if size else None)  # type: ignore[arg-type]


def make_run(model: str | spec.Model, name: str, *, seed: int = 0, dataset: spec.Dataset | None = None) -> spec.Run:
    """A Run that reads as `name` says, with all labels."""
    return dataclasses.replace(factories.make_run(model=model, labels="all", seed=seed, dataset=dataset), longdoc=longdoc(name))


def folds_of(fold: int) -> spec.Dataset:
    """A dataset that brings its own folds."""
    changes = {"format": "folder", "text": None, "label": None, "path": "reviews", "fold_pattern": r"^cv(\d)"}
    return factories.make_dataset(split="fold", fold=fold, held_out_rows=None, **changes)


def bake(
    store: Store,
    run: spec.Run,
    right: Sequence[int],
    *,
    lengths: Sequence[int] | None,
    groups: np.ndarray | None = None,
    predict_seconds: float | None = 2.0,
    prefix: str = "",
    visible: float | None = None,
) -> Record:
    """Write the answers of a Run on rows of two classes that take turns, right where `right` is 1, with the length of each document."""
    labels = np.arange(len(right)) % 2
    predicted = np.where(np.array(right, dtype=bool), labels, 1 - labels)
    plain = factories.make_record(run, labels, predicted)
    record = factories.save(
        store,
        run,
        labels,
        predicted,
        groups=groups,
        data=dataclasses.replace(plain.data, read_fraction=0.25, processed_tokens_mean=256.0, visible_fraction=visible),
        training=dataclasses.replace(plain.training, predict_seconds=predict_seconds),
    )
    file = store.folder(run.run_id) / "predictions.parquet"
    table = parquet.read_table(file)
    rows = pa.array([f"{prefix}{row_id}" for row_id in table["row_id"].to_pylist()], pa.string())
    table = table.set_column(0, "row_id", rows)
    if lengths is not None:
        table = table.append_column("length_tokens", pa.array(lengths, pa.int32()))
    parquet.write_table(table, file)
    return record
