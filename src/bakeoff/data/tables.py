"""Tables in files: CSV, TSV, JSON lines and Parquet to rows of typed cells, and what tables have in common.

Errors name columns, rows and lines, and never quote a document.
"""

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.data import labels
from bakeoff.data.encodings import decode
from bakeoff.data.newlines import newlines
from bakeoff.errors import DataError

MAX_NAME_CHARACTERS = 20
"""A longer cell of a header, or one with a space in it, may be a document, as in a file without a header."""
_SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_USE = {",": "use dataset.format=csv", "\t": "use dataset.format=tsv"}


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: its number (in a table with a header that is row 1; in JSON lines its line), where that is, and its cells by setting."""

    number: int
    place: str
    cells: dict[str, Any]


def rows(path: Path, form: str, *, columns: Mapping[str, str], encoding: str, place: str) -> Iterator[TableRow]:
    """The rows of a table in the format `form`; `columns` are setting → column, `place` is what errors call the file.

    Raises DataError for a file that is no such table, and for a column that it does not have, or has twice.
    """
    if form == "parquet":
        yield from _parquet(path, columns, place)
    else:
        text = newlines(decode(path.read_bytes(), encoding=encoding, name=place))
        yield from (
            _json_lines(text, columns, place) if form == "jsonl" else _separated(text, "\t" if form == "tsv" else ",", columns, place)
        )


@contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Lifts the limit of `csv`, 131,072 characters a cell, which is global to the process and is given back."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def is_name(cell: str) -> bool:
    """Whether a cell of a header may stand in an error."""
    return len(cell) <= MAX_NAME_CHARACTERS and not any(map(str.isspace, cell))


def nearest_column(name: str, header: Iterable[str]) -> str:
    """ "did you mean …?", or which columns there are instead: those that may be documents by their number, from 1."""
    cells = [cell.strip() for cell in header]
    numbered = [f"column {number}" for number, cell in enumerate(cells, start=1) if not is_name(cell)]
    return labels.nearest(name, (cell for cell in cells if cell and is_name(cell)), also=numbered)


def _separated(text: str, separator: str, columns: Mapping[str, str], place: str) -> Iterator[TableRow]:
    lines = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    row = 0
    try:
        with cells_of_any_length():
            header = next((cells for cells in lines if cells), None)
            if header is None:
                raise DataError(f"{place} is empty: give a file with a header and rows")
            _refuse_other_separator(separator.join(header), separator, columns.values(), place)
            wanted = {key: _column(header, name, key, place) for key, name in columns.items()}
            named = max(index for index, name in enumerate(header) if name.strip()) + 1
            row = 1
            for cells in lines:
                row += 1
                if not cells:
                    continue
                if len(cells) < named or any(cell.strip() for cell in cells[len(header) :]):
                    raise DataError(
                        f"{place} has {len(cells)} cells in row {row} but {len(header)} in its header: quote texts that hold a separator"
                    )
                yield TableRow(row, place, {key: cells[index] for key, index in wanted.items()})
    except csv.Error:
        if row == 0:  # "a";"b" is a broken quote to whoever looks for commas
            _refuse_other_separator(text.lstrip("\n").partition("\n")[0], separator, columns.values(), place)
        raise DataError(f'{place} has a broken quote in row {row + 1}: close each quoted text and write a quote inside one as ""') from None


def _refuse_other_separator(line: str, separator: str, wanted: Iterable[str], place: str) -> None:
    """Raise DataError for a header that names the wanted columns, or several at all, only when it is cut at another separator."""
    names = {name.strip() for name in wanted}
    if names <= set(_cut(line, separator)):
        return
    for other, word in _SEPARATORS.items():
        if other != separator and (
            names <= set(cells := _cut(line, other)) or (separator not in line and len(cells) > 1 and all(map(is_name, cells)))
        ):
            advice = _USE.get(other, "save it with commas, as CSV")
            raise DataError(f"{place} is separated by {word} and not by {_SEPARATORS[separator]}: {advice}")


def _cut(line: str, separator: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(separator)]


def _json_lines(text: str, columns: Mapping[str, str], place: str) -> Iterator[TableRow]:
    """One object a line."""
    # split("\n") and not splitlines, which also cuts at the line separators that JSON allows inside a string
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"{place} is not valid JSON in line {number}: write one object a line") from None
        if not isinstance(values, dict):
            raise DataError(f"{place} has no JSON object in line {number}: write one object a line")
        for key, name in columns.items():
            if name not in values:
                raise DataError(f"dataset.{key}={name} is missing in line {number} of {place}; {nearest_column(name, map(str, values))}")
        yield TableRow(number, f"line {number} of {place}", {key: values[name] for key, name in columns.items()})


def _parquet(path: Path, columns: Mapping[str, str], place: str) -> Iterator[TableRow]:
    """Rows by their number from 1; only the columns that are asked for are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.stat().st_size == 0:
        raise DataError(f"{place} is empty: give a file with labelled rows")
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException):
        raise DataError(f"{place} is no Parquet file that can be read: save it again, or set dataset.format to what it is") from None
    names = file.schema_arrow.names
    header = {key: names[_column(names, name, key, place)] for key, name in columns.items()}
    number = 0
    try:
        for batch in file.iter_batches(columns=sorted(set(header.values()))):
            cells = {key: _plain(batch.column(batch.schema.get_field_index(name))) for key, name in header.items()}
            for values in zip(*cells.values(), strict=True):
                number += 1
                yield TableRow(number, f"row {number} of {place}", dict(zip(cells, values, strict=True)))
    except (OSError, pa.ArrowException):
        raise DataError(f"{place} is damaged behind row {number}: save it again") from None
    except OverflowError:
        raise DataError(f"{place} holds a moment beyond the year 9999 behind row {number}: correct it or leave its row out") from None


def _plain(column: Any) -> list[Any]:
    """Python values of an Arrow array; moments to the microsecond, beyond which Python has none."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False)
    values: list[Any] = column.to_pylist()
    return values


def _column(header: list[str], name: str, key: str, place: str) -> int:
    found = [index for index, column in enumerate(header) if column.strip() == name.strip()]
    if not found:
        raise DataError(f"dataset.{key}={name} is no column of {place}; {nearest_column(name, header)}")
    if len(found) > 1:
        raise DataError(f"dataset.{key}={name} names {len(found)} columns of {place}: give each column its own name")
    return found[0]
