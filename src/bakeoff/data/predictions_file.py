"""Answers made elsewhere, read from a file and held against the test rows. Errors name rows by id or number, never by text."""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bakeoff import fingerprint
from bakeoff.cache import cache_root
from bakeoff.data import labels, tables
from bakeoff.data.encodings import decode
from bakeoff.errors import DataError
from bakeoff.spec import Predictions

REQUIRED, NUMBERS = ("row_id", "label"), ("probability", "milliseconds", "price")
IGNORED = ("text", "text_pair")
"""Columns that `bakeoff data --test-rows` writes and that may stay where they are."""
_ROW_ID = re.compile(r"[0-9a-f]{16}-[0-9]+")
_TIE = 1e-6


@dataclass(frozen=True, kw_only=True)
class FileAnswers:
    """What a file says of n test rows, in the order of the dataset."""

    probabilities: npt.NDArray[np.float32]
    """Shape (n, classes). The rest of a stated probability is shared by the other classes; unstated, the label has all of it."""
    has_probabilities: bool
    milliseconds: npt.NDArray[np.float64]
    """Shape (stated,): those rows that say how long their answer took."""
    prices: npt.NDArray[np.float64]
    """Shape (stated,): those rows that say what their answer cost, in the currency of the prices."""


def read(model: Predictions, row_ids: Sequence[str], classes: Sequence[str]) -> FileAnswers:
    """The answers to the test rows `row_ids`, each exactly once.

    Raises DataError, in one sentence, for a file that cannot be read or has changed, for missing, repeated and unknown
    rows, for a label that is no class, and for a number that makes no sense.
    """
    path = Path(model.path)
    name = f"model.path={path.name}"
    if not path.is_file():
        raise DataError(f"{name} is no file: check the path")
    if fingerprint.of_bytes(path, cache_root()) != model.fingerprint:
        raise DataError(f"{name} changed since this Run was composed (its fingerprint differs): compose the Run again")
    table = _table(path, name)
    position = _positions(table["row_id"], row_ids, name)
    answered = _labels(table["label"], table["row_id"], classes, name)
    order = np.argsort(position)
    stated = {column: _numbers(table[column], column, table["row_id"], name) for column in NUMBERS if column in table}
    probability = stated.get("probability")
    if probability is not None:
        _check_probability(probability, table["row_id"], len(classes), name)
    return FileAnswers(
        probabilities=_spread(answered, probability, len(classes))[order],
        has_probabilities=probability is not None,
        milliseconds=_present(stated.get("milliseconds")),
        prices=_present(stated.get("price")),
    )


def _spread(answered: npt.NDArray[np.int64], probability: npt.NDArray[np.float64] | None, n_classes: int) -> npt.NDArray[np.float32]:
    """Probabilities (rows, classes) of labels with one stated probability each, or with none."""
    sure = np.ones(len(answered)) if probability is None else np.maximum(probability, 1 / n_classes + _TIE)
    spread = np.repeat(((1 - sure) / max(1, n_classes - 1))[:, None], n_classes, axis=1)
    spread[np.arange(len(answered)), answered] = sure
    return spread.astype(np.float32)


def _positions(given: Sequence[str], row_ids: Sequence[str], name: str) -> npt.NDArray[np.int64]:
    place = {row_id: i for i, row_id in enumerate(row_ids)}
    unknown = [i for i, row_id in enumerate(given) if row_id not in place]
    if unknown:
        raise DataError(
            f"{name} has {_rows(len(unknown))} that the test set does not have, the first is {_where(given, unknown[0])}: take the ids "
            "from `bakeoff data DATASET --test-rows FILE.csv`"
        )
    times = Counter(given)
    if repeated := [row_id for row_id in row_ids if times[row_id] > 1]:
        raise DataError(f"{name} answers {_rows(len(repeated))} more than once, the first is {repeated[0]}: keep one answer a row")
    if missing := [row_id for row_id in row_ids if row_id not in times]:
        raise DataError(
            f"{name} has no answer for {len(missing):,} of {_rows(len(row_ids), 'test row')}, the first is {missing[0]}: answer every row "
            "of `bakeoff data DATASET --test-rows FILE.csv`"
        )
    return np.asarray([place[row_id] for row_id in given], dtype=np.int64)


def _labels(given: Sequence[Any], ids: Sequence[str], classes: Sequence[str], name: str) -> npt.NDArray[np.int64]:
    index = {each: i for i, each in enumerate(classes)}
    names = [labels.canonical(value) for value in given]
    wrong = [i for i, each in enumerate(names) if each not in index]
    if wrong:
        first = names[wrong[0]]
        said = "empty" if first is None else first if len(first) <= labels.MAX_LABEL_CHARACTERS else f"a text of {len(first)} characters"
        hint = labels.nearest(first or "", classes)
        raise DataError(f"{name} has {_rows(len(wrong))} whose label is no class, the first is {ids[wrong[0]]} ({said}); {hint}")
    return np.asarray([index[each] for each in names if each is not None], dtype=np.int64)


def _numbers(given: Sequence[Any], column: str, ids: Sequence[str], name: str) -> npt.NDArray[np.float64]:
    """Shape (rows,), NaN where a row says nothing."""
    found = np.asarray([_number(value) for value in given], dtype=np.float64)
    wrong = np.flatnonzero(np.isinf(found) | (found < 0))
    if len(wrong):
        raise DataError(f"{name} has {_rows(len(wrong))} whose {column} is no number from 0 up, the first is {ids[wrong[0]]}")
    return found


def _check_probability(found: npt.NDArray[np.float64], ids: Sequence[str], n_classes: int, name: str) -> None:
    if len(missing := np.flatnonzero(np.isnan(found))):
        raise DataError(
            f"{name} has no probability in {_rows(len(missing))}, the first is {ids[missing[0]]}: state all, or leave the column out"
        )
    if len(above := np.flatnonzero(found > 1)):
        raise DataError(f"{name} has {_rows(len(above))} whose probability is above 1, the first is {ids[above[0]]}: write 0.9 for 90%")
    if len(low := np.flatnonzero(found < 1 / n_classes - _TIE)):
        raise DataError(
            f"{name} has {_rows(len(low))} whose probability is below 1/{n_classes}, the first is {ids[low[0]]}: it is that of the label "
            "in its row, which must be the likeliest"
        )


def _number(value: Any) -> float:
    """NaN for nothing, infinity for what is no number."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    try:
        number = float(value) if not isinstance(value, bool) else math.inf
    except (TypeError, ValueError):
        return math.inf
    return math.inf if isinstance(value, str) and math.isnan(number) else number


def _present(stated: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64]:
    return np.zeros(0) if stated is None else stated[~np.isnan(stated)]


def _table(path: Path, name: str) -> dict[str, list[Any]]:
    """Column → values, row ids as text."""
    readers = {".csv": _csv, ".jsonl": _json_lines, ".ndjson": _json_lines, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise DataError(f"{name} should end in .csv, .jsonl or .parquet")
    columns, rows = readers[path.suffix.lower()](path, name)
    known = (*REQUIRED, *NUMBERS, *IGNORED)
    for number, column in enumerate(columns, start=1):
        if not column:
            raise DataError(f"{name} has no name for its column {number}: leave it out (pandas writes one unless told index=False)")
        if not tables.is_name(column):
            raise DataError(f"{name} has a text in place of the name of column {number}: its first line must name the columns")
        if column not in known:
            raise DataError(f"{name} has a column {column}, which means nothing here; {labels.nearest(column, known)}")
    for column in REQUIRED:
        if column not in columns:
            raise DataError(f"{name} has no column {column}: it should have row_id and label, and may have {', '.join(NUMBERS)}")
    table: dict[str, list[Any]] = {column: [row.get(column) for row in rows] for column in columns if column not in IGNORED}
    table["row_id"] = [str(value).strip() for value in table["row_id"]]
    return table


def _csv(path: Path, name: str) -> tuple[list[str], list[dict[str, Any]]]:
    text = decode(path.read_bytes(), encoding="auto", name=name)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        with tables.cells_of_any_length():
            columns = [column.strip() for column in reader.fieldnames or []]
            reader.fieldnames = columns
            rows = list(reader)
    except csv.Error:
        raise DataError(f"{name} is no CSV behind line {reader.line_num}: close each quoted text") from None
    if any(None in row for row in rows):
        raise DataError(f"{name} has rows with more cells than its header: quote texts that hold a separator")
    return columns, rows


def _json_lines(path: Path, name: str) -> tuple[list[str], list[dict[str, Any]]]:
    rows = list(_objects(decode(path.read_bytes(), encoding="auto", name=name), name))
    return list(dict.fromkeys(column for row in rows for column in row)), rows


def _objects(text: str, name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise DataError(f"{name} has no JSON object in line {number}: write one object a line")
        yield values


def _parquet(path: Path, name: str) -> tuple[list[str], list[dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException):
        raise DataError(f"{name} is no Parquet file that can be read: save it again") from None
    return table.column_names, table.to_pylist()


def _where(ids: Sequence[str], row: int) -> str:
    """An id, or the row's number where what stands there has not the form of one."""
    return ids[row] if _ROW_ID.fullmatch(ids[row]) else f"in row {row + 1}, and has not the form of an id"


def _rows(count: int, noun: str = "row") -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
