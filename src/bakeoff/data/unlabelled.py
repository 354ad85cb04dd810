"""Text without labels that a budget lets models read: the rest of the pool, or a file, kept apart from what judges."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff import fingerprint, spec
from bakeoff.cache import cache_root
from bakeoff.data import near_duplicates, tables
from bakeoff.data.budget import Spent, bundles
from bakeoff.data.dataset import Prepared
from bakeoff.data.encodings import decode
from bakeoff.data.tokens import Document
from bakeoff.errors import DataError

DEFAULT_COLUMN = "text"
"""The column of texts where the dataset names none."""


@dataclass(frozen=True, kw_only=True)
class Unlabelled:
    """What a budget lets models read beside its labelled rows."""

    documents: tuple[Document, ...]
    """Texts, or pairs of texts."""
    left_out: int = 0
    """Texts that equal one that judges, or nearly, or in the pool are of its group, and so were not read."""


def read(budget: spec.Budget, dataset: spec.Dataset, prepared: Prepared, spent: Spent) -> Unlabelled:
    """The unlabelled rest of the pool, or the texts of `budget.unlabelled_path`: those that repeat none that judges.

    A row of the pool is left out when it is bundled with a validation row; what test rows have in the pool is `prepare`'s affair.

    Raises DataError as `lines` does.
    """
    if budget.unlabelled == "none":
        return Unlabelled(documents=())
    if budget.unlabelled == "pool":
        bundle_of = bundles(prepared.pool)
        kept = ~np.isin(bundle_of[spent.unlabelled], bundle_of[spent.validation])
        return Unlabelled(documents=prepared.pool.take(spent.unlabelled[kept]).documents, left_out=int((~kept).sum()))
    found = lines(budget, dataset)
    judges = (*prepared.test.whole_texts, *prepared.pool.take(spent.validation).whole_texts)
    masked = [near_duplicates.mask(text) for text in (*judges, *found)]
    marked = np.arange(len(masked)) < len(judges)
    kept = ~near_duplicates.find(masked).touches(marked)[len(judges) :]
    return Unlabelled(documents=tuple(text for text, keep in zip(found, kept, strict=True) if keep), left_out=int((~kept).sum()))


def lines(budget: spec.Budget, dataset: spec.Dataset) -> list[str]:
    """The texts of `budget.unlabelled_path`, white space alone left out: a text a line of .txt, or a column of .csv, .tsv, .jsonl.

    Raises DataError when its bytes are not those of its fingerprint, or when it cannot be read or holds no text.
    """
    assert budget.unlabelled_path is not None, "budget.unlabelled=file comes with a path"
    path = Path(budget.unlabelled_path)
    place = f"budget.unlabelled_path={path.name}"
    if not path.is_file():
        raise DataError(f"{place} is no file: check the path")
    if fingerprint.of_texts(path, cache_root()) != budget.unlabelled_fingerprint:
        raise DataError(
            f"{place} changed since this Run was composed (its fingerprint differs): compose the Run again to use the new bytes"
        )
    text = decode(path.read_bytes(), encoding=dataset.encoding, name=place).replace("\r\n", "\n").replace("\r", "\n")
    column = dataset.text or DEFAULT_COLUMN
    match path.suffix.lower():
        case ".txt":
            found = text.split("\n")
        case ".csv":
            found = _table(text, ",", column, place)
        case ".tsv":
            found = _table(text, "\t", column, place)
        case ".jsonl" | ".ndjson":
            found = _json_lines(text, column, place)
        case _:
            raise DataError(f"{place} should end in .txt (a text a line), .csv, .tsv or .jsonl (a column called {column})")
    found = [each for each in found if each.strip()]
    if not found:
        raise DataError(f"{place} holds no text: give a file with at least one")
    return found


def _table(text: str, delimiter: str, column: str, place: str) -> list[str]:
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter, strict=True)
    found = []
    try:
        with tables.cells_of_any_length():
            header = [name.strip() for name in rows.fieldnames or ()]
            rows.fieldnames = header
            if column not in header:
                # cells are not listed: in a file without a header they are documents
                raise DataError(f"{place} has no column {column} (it has {len(header)}): its first line must name the columns")
            for row in rows:
                if any(cell.strip() for cell in row.get(None) or ()):
                    raise DataError(
                        f"{place} has more cells in the row that ends in line {rows.line_num} than the {len(header)} in its header: "
                        "quote texts that hold a separator"
                    )
                found.append(row[column] or "")
        return found
    except csv.Error:
        raise DataError(f"{place} has a broken quote before line {rows.line_num + 1}: close each quoted text") from None


def _json_lines(text: str, column: str, place: str) -> list[str]:
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"{place} is not valid JSON in line {number}: write one object a line") from None
        if not isinstance(values, dict) or not isinstance(values.get(column), str):
            raise DataError(f"{place} has no text under {column} in line {number}: write one object a line, with a string there")
        found.append(values[column])
    return found
