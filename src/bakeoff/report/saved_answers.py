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
    """Row ids as they stand in a file, and sorted; Runs on one test set share them."""

    raw: tuple[bytes, bytes]
    sorted: NDArray[np.str_]
    order: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class _Saved:
    """One file, its rows sorted by id; groups are numbered from 0 without gaps, None for rows that have none."""

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
        saved = _read(path, read[-1].rows if read else None)
        accuracy = float((saved.labels == saved.predicted).mean())
        if len(saved.labels) != on_test(record).n or abs(accuracy - on_test(record).accuracy) > 1e-9:
            raise DataError(f"{record.run_id}: {PREDICTIONS} and record.json disagree on the accuracy: bake it again with --rebake all")
        read.append(saved)
        if saved.groups is not None:
            if groups is not None and not np.array_equal(groups, saved.groups):
                raise DataError(f"{record.run_id} and {records[0].run_id} put the test rows in different groups: bake them again")
            groups = saved.groups
    first = read[0]
    for record, saved in zip(records, read, strict=True):
        same_rows = saved.rows is first.rows or np.array_equal(first.rows.sorted, saved.rows.sorted)
        if not same_rows or not np.array_equal(first.labels, saved.labels):
            raise DataError(f"{record.run_id} and {records[0].run_id} ask about one test set but answer different rows: bake them again")
    seeds = tuple((record.run.budget.draw, record.run.seed) for record in records)
    predicted = np.stack([saved.predicted for saved in read])
    return Answers(row_ids=first.rows.sorted, labels=first.labels, predicted=predicted, seeds=seeds, groups=groups)


def _read(path: Path, known: _Rows | None) -> _Saved:
    """A file's columns; its rows are taken from the file before it where they are the same bytes."""
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(path)
    # One thread: most files are small, and to share them out would take three times as long as to read them.
    table = file.read(columns=[name for name in file.schema_arrow.names if name in COLUMNS], use_threads=False)
    rows = _rows(table["row_id"].combine_chunks(), known)
    labels, predicted = (_numbers(table[name])[rows.order] for name in ("label", "predicted"))
    return _Saved(rows=rows, labels=labels, predicted=predicted, groups=_groups(table, rows.order))


def _rows(column: Any, known: _Rows | None) -> _Rows:
    _, offsets, texts = column.buffers()
    raw = (offsets.to_pybytes(), texts.to_pybytes())
    if known is not None and column.offset == 0 and raw == known.raw:
        return known
    rows = np.array(column.to_pylist(), dtype=str)
    order = np.argsort(rows, kind="stable")
    return _Rows(raw=raw if column.offset == 0 else (b"", b""), sorted=rows[order], order=order)


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
