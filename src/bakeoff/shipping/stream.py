"""Rows of a CSV file or of JSON lines, some at a time, so that memory does not grow with the file.

Errors name lines and never quote a text. What stands before a line that cannot be read is given first.
"""

import codecs
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bakeoff.data import encodings, tables
from bakeoff.data.tokens import Document
from bakeoff.errors import DataError

TABLES, OBJECTS = {".csv": ",", ".tsv": "\t"}, (".jsonl", ".ndjson")
CHUNK_CHARACTERS = 8_000_000
"""A chunk of long documents has fewer rows."""
_HEAD_BYTES = 65_536
_BOMS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_NO_TEXT = ((b"PK\x03\x04", "a zip archive or a spreadsheet"), (b"\x1f\x8b", "compressed"), (b"PAR1", "Parquet"), (b"%PDF", "a PDF"))


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns are read; all but `text` may be none."""

    text: str
    text_pair: str | None = None
    label: str | None = None
    id: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """Option → column, of those that are read."""
        options = {"text": self.text, "text-pair": self.text_pair, "label": self.label, "id": self.id}
        return {option: column for option, column in options.items() if column is not None}


@dataclass(kw_only=True)
class Chunk:
    """Some rows in the order of the file; lists of columns that are not read stay empty."""

    documents: list[Document] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    labels: list[object] = field(default_factory=list)


def chunks(handle: IO[bytes], path: Path, columns: Columns, *, rows: int, encoding: str) -> Iterator[Chunk]:
    """At most `rows` rows at a time. Raises DataError, after the rows before it, where a line cannot be read.

    `encoding` is a codec's name, or auto for UTF-8, and UTF-16 or UTF-32 with a byte order mark.
    """
    suffix = path.suffix.lower()
    if suffix not in (*TABLES, *OBJECTS):
        raise DataError(f"{path.name} should end in {', '.join((*TABLES, *OBJECTS))}, which says how to read it")
    lines = io.TextIOWrapper(handle, encoding=_codec(handle, path, encoding), newline="")
    values = _of_table(lines, path.name, columns, TABLES[suffix]) if suffix in TABLES else _of_objects(lines, path.name, columns)
    chunk, size, mistake, options = Chunk(), 0, None, list(columns.named)
    place = {option: options.index(option) if option in options else None for option in ("text-pair", "label", "id")}
    pair, label, named = place["text-pair"], place["label"], place["id"]
    try:
        for cells in values:
            text = _clean(cells[0])
            chunk.documents.append(text if pair is None else (text, _clean(cells[pair])))
            if label is not None:
                chunk.labels.append(cells[label])
            if named is not None:
                chunk.ids.append(_as_text(cells[named]))
            size += len(text) if pair is None else len(text) + len(cells[pair])
            if len(chunk.documents) == rows or size > CHUNK_CHARACTERS:
                yield chunk
                chunk, size = Chunk(), 0
    except DataError as error:
        mistake = error
    if chunk.documents:
        yield chunk
    lines.detach()
    if mistake is not None:
        raise mistake


def _codec(handle: IO[bytes], path: Path, encoding: str) -> str:
    head = handle.read(_HEAD_BYTES)
    handle.seek(0)
    for magic, what in _NO_TEXT:
        if head.startswith(magic):
            raise DataError(f"{path.name} is {what}, not text: save it as CSV or JSON lines first")
    if not head.strip():
        raise DataError(f"{path.name} is empty: give a file with rows")
    if encoding == "auto":
        codec = next((codec for mark, codec in _BOMS if head.startswith(mark)), "utf-8-sig")
        if codec == "utf-8-sig" and b"\0" in head:
            codec = "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
            raise DataError(f"{path.name} is not UTF-8 and is likely {codec}: pass --encoding {codec}")
        return codec
    try:
        encodings.decode(b"", encoding=encoding, name=path.name)
        codec = codecs.lookup(encoding).name
        if codec.startswith("utf"):
            return _past_its_mark(codec, head)
        encodings.decode(head[: head.rfind(b"\n") + 1], encoding=encoding, name=path.name)  # a wrong codec may garble and never fail
    except DataError as wrong:
        raise DataError(str(wrong).replace("dataset.encoding=", "--encoding ")) from None
    return codec


def _past_its_mark(codec: str, head: bytes) -> str:
    """The codec that takes a byte order mark away, where one stands in a file whose UTF was named without."""
    if codec == "utf-8":
        return "utf-8-sig"
    return next((marked for mark, marked in _BOMS if head.startswith(mark) and codec.startswith(marked)), codec)


def _of_table(lines: io.TextIOWrapper, name: str, columns: Columns, delimiter: str) -> Iterator[list[str]]:
    """The cells of each row that are read, in the order of `columns.named`."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        with tables.cells_of_any_length():
            header = next((cells for cells in reader if cells), [])
            wanted = [_place(header, column, option, name) for option, column in columns.named.items()]
            least = max(place for place, cell in enumerate(header) if cell.strip()) + 1
            for cells in reader:
                if not cells:
                    continue
                if len(cells) < least or any(cell.strip() for cell in cells[len(header) :]):
                    raise DataError(
                        f"{name} has {len(cells)} cells in line {reader.line_num} but {len(header)} in its header: quote texts that hold "
                        "a separator"
                    )
                yield [cells[place] for place in wanted]
    except csv.Error:
        raise DataError(
            f'{name} has a broken quote at line {reader.line_num}: close each quoted text and write a quote inside one as ""'
        ) from None
    except UnicodeError:
        raise _not_decoded(lines, name, reader.line_num) from None


def _of_objects(lines: io.TextIOWrapper, name: str, columns: Columns) -> Iterator[list[Any]]:
    """The values of each object that are read, in the order of `columns.named`."""
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except (ValueError, RecursionError):
                values = None
            if not isinstance(values, dict):
                raise DataError(f"{name} has no JSON object in line {number}: write one object a line")
            for option, column in columns.named.items():
                if column not in values:
                    raise DataError(f"--{option} {column} is missing in line {number} of {name}; {tables.nearest_column(column, values)}")
                if option in ("text", "text-pair") and not isinstance(values[column], str):
                    raise DataError(f'--{option} {column} is no text in line {number} of {name}: write "" where there is none')
            yield [values[column] for column in columns.named.values()]
    except UnicodeError:
        raise _not_decoded(lines, name, number) from None


def _not_decoded(lines: io.TextIOWrapper, name: str, number: int) -> DataError:
    return DataError(f"{name} is not {lines.encoding.removesuffix('-sig')} behind line {number}: pass --encoding, for example cp1252")


def _place(header: list[str], column: str, option: str, name: str) -> int:
    found = [place for place, cell in enumerate(header) if cell.strip() == column.strip()]
    if not found:
        raise DataError(f"--{option} {column} is no column of {name}; {tables.nearest_column(column, header)}")
    if len(found) > 1:
        raise DataError(f"--{option} {column} names {len(found)} columns of {name}: give each column its own name")
    return found[0]


def _as_text(value: object) -> str:
    """An id as its file writes it; nothing for null."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _clean(text: str) -> str:
    """Line ends as \\n, and half a surrogate pair as the replacement character, as when a dataset is read."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
