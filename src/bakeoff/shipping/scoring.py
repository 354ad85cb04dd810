"""A stream of rows to a stream of answers."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TextIO

from bakeoff.shipping.parts.classifier import Classifier
from bakeoff.shipping.stream import Chunk

CHUNK_BATCHES = 64
"""Batches of a chunk, whose rows are sorted by length among themselves."""
OWN_COLUMNS = ("row", "label", "probability")
_FORMULA = ("=", "@", "\t", "\r", "+", "-")


@dataclass
class Tally:
    """How far it has come."""

    rows: int = 0


def score(
    chunks: Iterable[Chunk],
    classifier: Classifier,
    out: TextIO,
    *,
    batch_size: int,
    id_column: str | None,
    tally: Tally,
    moved: Callable[[], None] = lambda: None,
) -> None:
    """Write a line a row, in their order: its id where a column has one, its number from 1, its label and the label's probability.

    `moved` is called after each chunk. Raises what reading the chunks raises; the rows before are written by then.
    """
    writer = csv.writer(out, lineterminator="\n")
    own = [] if id_column is None else ["id" if id_column in OWN_COLUMNS else escaped(id_column)]
    writer.writerow([*own, *OWN_COLUMNS])
    names = [escaped(name) for name in classifier.classes]
    for chunk in chunks:
        found = classifier.probabilities(chunk.documents, batch_size=batch_size)
        numbers = range(tally.rows + 1, tally.rows + 1 + len(found))
        labels = [names[number] for number in found.argmax(axis=1).tolist()]
        shares = [f"{share:.6f}" for share in found.max(axis=1).tolist()]
        if id_column is None:
            writer.writerows(zip(numbers, labels, shares, strict=True))
        else:
            writer.writerows(zip(map(escaped, chunk.ids), numbers, labels, shares, strict=True))
        tally.rows += len(found)
        moved()


def escaped(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: a quote is set before one; numbers stay."""
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
