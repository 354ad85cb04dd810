"""What tables in files have in common: cells of any length, and errors that name columns without quoting a document."""

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bakeoff.data import labels

MAX_NAME_CHARACTERS = 20
"""A longer cell of a header, or one with a space in it, may be a document, as in a file without a header."""


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
