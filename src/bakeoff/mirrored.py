"""What the W&B mirror shows of a Run's answers: a confusion matrix and an error table, with texts only where they are given."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet

from bakeoff.record import Record

MOST_ERRORS = 200


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table for W&B."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def sheets(record: Record, predictions: Path, texts: Mapping[str, str] | None) -> list[Sheet]:
    """The confusion matrix, a row for each pair of label and answer that occurs, and the surest mistakes by row id.

    `texts` are by row id, and null where they must not be shared. Then classes go by their number too: a wrongly named label
    column makes texts of their names.
    """
    table = parquet.read_table(predictions, columns=["row_id", "label", "predicted", "probabilities"])
    ids = table["row_id"].to_pylist()
    label, answered = (table[name].to_numpy().astype(np.int64) for name in ("label", "predicted"))
    sure = table["probabilities"].combine_chunks().flatten().to_numpy().reshape(len(ids), -1).max(axis=1)
    names = [f"class {i}" for i in range(len(record.data.classes))] if texts is None else list(record.data.classes)
    counts = np.bincount(label * len(names) + answered, minlength=len(names) ** 2)
    matrix = tuple((names[place // len(names)], names[place % len(names)], int(counts[place])) for place in np.flatnonzero(counts))
    wrong = np.flatnonzero(label != answered)
    worst = wrong[np.argsort(-sure[wrong], kind="stable")][:MOST_ERRORS]
    shown = () if texts is None else ("text",)
    errors = tuple(
        (
            ids[i],
            names[label[i]],
            names[answered[i]],
            round(float(sure[i]), 4),
            *(() if texts is None else (texts.get(ids[i]),)),
        )
        for i in worst
    )
    return [
        Sheet(name="confusion", columns=("label", "answered", "rows"), rows=matrix),
        Sheet(name="errors", columns=("row_id", "label", "answered", "confidence", *shown), rows=errors),
    ]
