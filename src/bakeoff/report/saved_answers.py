"""The predictions that Runs saved, as arrays in one order of rows; read once a page where the store remembers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bakeoff.errors import DataError
from bakeoff.record import Record, SplitQuality
from bakeoff.report.stats import Answers
from bakeoff.report.store_cache import ReadOnce
from bakeoff.store import Store

PREDICTIONS = "predictions.parquet"
COLUMNS = ("row_id", "label", "predicted", "group")


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Row ids sorted, and where each of these stands in its file."""

    sorted: NDArray[np.str_]
    order: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class _Saved:
    """One file, its rows sorted by id; groups are numbered from 0 without gaps, None for rows that have none."""

    stored: dict[str, tuple[Any, ...]]
    """Column → its type and its bytes in the file; Runs on one test set have the same of all but their answers."""
    rows: _Rows
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    groups: NDArray[np.int64] | None


def on_test(record: Record) -> SplitQuality:
    """Quality on the test rows of a record with a score."""
    return record.quality["test"]


def read_answers(store: Store, records: Sequence[Record]) -> Answers:
    """The saved predictions of Runs on the same test rows; a store that reads once hands out the same arrays again.

    Raises DataError if they are missing, differ in rows or groups, or contradict the record. Files without a `group`
    column are from before groups were saved: what the others say holds for them.
    """
    if not isinstance(store, ReadOnce):
        return _read_answers(store, records)
    run_ids = tuple(record.run_id for record in records)
    if run_ids not in store.answers:
        store.answers[run_ids] = _read_answers(store, records)
    return store.answers[run_ids]


def _read_answers(store: Store, records: Sequence[Record]) -> Answers:
    read: list[_Saved] = []
    groups = None
    for record in records:
        path = store.folder(record.run_id) / PREDICTIONS
        if not path.exists():
            raise DataError(f"{record.run_id} has a record but no {PREDICTIONS}: bake it again with --rebake all")
        saved = _read(path, read[-1] if read else None)
        accuracy = float((saved.labels == saved.predicted).mean())
        if len(saved.labels) != on_test(record).n or abs(accuracy - on_test(record).accuracy) > 1e-9:
            raise DataError(f"{record.run_id}: {PREDICTIONS} and record.json disagree on the accuracy: bake it again with --rebake all")
        read.append(saved)
        if saved.groups is not None:
            if groups is not None and groups is not saved.groups and not np.array_equal(groups, saved.groups):
                raise DataError(f"{record.run_id} and {records[0].run_id} put the test rows in different groups: bake them again")
            groups = saved.groups
    first = read[0]
    for record, saved in zip(records, read, strict=True):
        same_rows = saved.rows is first.rows or np.array_equal(first.rows.sorted, saved.rows.sorted)
        if not same_rows or (saved.labels is not first.labels and not np.array_equal(first.labels, saved.labels)):
            raise DataError(f"{record.run_id} and {records[0].run_id} ask about one test set but answer different rows: bake them again")
    seeds = tuple((record.run.budget.draw, record.run.seed) for record in records)
    predicted = np.stack([saved.predicted for saved in read])
    return Answers(row_ids=first.rows.sorted, labels=first.labels, predicted=predicted, seeds=seeds, groups=groups)


def _read(path: Path, known: _Saved | None) -> _Saved:
    """A file's columns; those that are the same bytes as in the file before it are taken from there."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    raw = path.read_bytes()
    file = parquet.ParquetFile(pa.BufferReader(raw))
    stored = _stored(file.metadata, raw)
    same = set() if known is None else {name for name in COLUMNS if stored.get(name) == known.stored.get(name)}
    if "row_id" not in same:
        same, known = set(), None
    # One thread: most files are small, and to share them out would take three times as long as to read them.
    table = file.read(columns=[name for name in file.schema_arrow.names if name in COLUMNS and name not in same], use_threads=False)
    rows = _rows(table["row_id"]) if known is None else known.rows
    labels = known.labels if known is not None and "label" in same else _numbers(table["label"])[rows.order]
    groups = known.groups if known is not None and "group" in same else _groups(table, rows.order)
    predicted = known.predicted if known is not None and "predicted" in same else _numbers(table["predicted"])[rows.order]
    return _Saved(stored=stored, rows=rows, labels=labels, predicted=predicted, groups=groups)


def _stored(metadata: Any, raw: bytes) -> dict[str, tuple[Any, ...]]:
    """Of each column how and what a file holds of it, part by part."""
    found: dict[str, tuple[Any, ...]] = {}
    for part in range(metadata.num_row_groups):
        group = metadata.row_group(part)
        for place in range(group.num_columns):
            column = group.column(place)
            if (name := column.path_in_schema) in COLUMNS:
                begin = column.dictionary_page_offset or column.data_page_offset
                held = (column.physical_type, column.compression, raw[begin : begin + column.total_compressed_size])
                found[name] = (*found.get(name, ()), held)
    return found


def _rows(column: Any) -> _Rows:
    rows = np.array(column.to_pylist(), dtype=str)
    order = np.argsort(rows, kind="stable")
    return _Rows(sorted=rows[order], order=order)


def _numbers(column: Any) -> NDArray[np.int64]:
    # PyArrow's own way to NumPy imports pandas, which takes longer than reading a hundred files; NumPy reads its buffers.
    array = column.combine_chunks()
    if array.null_count or str(array.type) != "int32":
        return np.array(array.to_pylist(), dtype=np.int64)
    return np.frombuffer(array.buffers()[1], dtype=np.int32)[array.offset : array.offset + len(array)].astype(np.int64)


def _groups(table: Any, order: NDArray[np.int64]) -> NDArray[np.int64] | None:
    if "group" not in table.column_names or table["group"].null_count:
        return None
    _, numbered = np.unique(np.array(table["group"].to_pylist())[order], return_inverse=True)
    return numbered.astype(np.int64)
