"""predictions.parquet: what a Run answered, row by row, which pages pair by."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.data.dataset import Prepared, Rows


def write_predictions(
    file: Path, prepared: Prepared, probabilities: npt.NDArray[np.float32], *, lengths_tokens: npt.NDArray[np.int64] | None = None
) -> None:
    """One line a test row: id, label and prediction as class indices, probabilities, group, length; equal answers, equal bytes."""
    lengths = lengths_tokens if lengths_tokens is not None and len(lengths_tokens) else [None] * len(prepared.test)
    columns = {
        "row_id": pa.array(prepared.test.row_ids, pa.string()),
        "label": pa.array(prepared.test.labels, pa.int32()),
        "predicted": pa.array(probabilities.argmax(axis=1), pa.int32()),
        "probabilities": pa.array(list(probabilities), pa.list_(pa.float32())),
        "contaminated": pa.array(prepared.contaminated, pa.bool_()),
        "group": pa.array(_group_numbers(prepared.test), pa.int32()),
        "length_tokens": pa.array(lengths, pa.int32()),
    }
    pq.write_table(pa.table(columns), file, compression="zstd")


def _group_numbers(rows: Rows) -> list[int | None]:
    """A number for each row's group, by sorted name; null without groups."""
    if rows.groups is None:
        return [None] * len(rows)
    numbers = {name: number for number, name in enumerate(sorted(set(rows.groups)))}
    return [numbers[name] for name in rows.groups]
