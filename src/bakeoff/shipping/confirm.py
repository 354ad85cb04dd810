"""A shipped model scored on labels that nothing of it has seen, and a note of how often that was done."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bakeoff.data import labels as names
from bakeoff.data import near_duplicates
from bakeoff.data.tokens import Document
from bakeoff.errors import DataError
from bakeoff.shipping.stream import Chunk

FILE = "confirmations.json"


@dataclass(frozen=True, kw_only=True)
class Fresh:
    """Labelled rows that the Run's data does not hold."""

    documents: list[Document]
    labels: npt.NDArray[np.int64]
    """Shape (rows,): class indices."""
    row_ids: list[str]
    """16 hex digits of each text's hash."""
    left_out: int
    """Rows whose text, or nearly, the Run's data has, by the measure that keeps pool and test apart; or that stand twice in the file."""


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """One time that the model was scored on fresh labels; `row_ids` are hashes of texts."""

    at: str
    n: int
    left_out: int
    accuracy: float
    low: float
    high: float
    row_ids: tuple[str, ...]


def fresh(chunks: Iterable[Chunk], used: Sequence[Document], classes: Sequence[str], label_map: Mapping[str, str]) -> Fresh:
    """The rows of a labelled file that may confirm a model, which none of `used` is; labels are renamed as the Run's data was.

    Raises DataError for a label that is no class, and where no row is left.
    """
    seen, renamed = {key(document) for document in used}, {names.canonical(raw) or raw: name for raw, name in label_map.items()}
    index = {name: number for number, name in enumerate(classes)}
    documents, found, ids, row, left_out = list[Document](), list[int](), list[str](), 0, 0
    for chunk in chunks:
        for document, value in zip(chunk.documents, chunk.labels, strict=True):
            row += 1
            name = names.canonical(value)
            name = None if name is None else renamed.get(name, name)
            if name not in index:
                said = "no label" if name is None else "a label that is no class of the model"
                hint = "" if name is None or len(name) > names.MAX_LABEL_CHARACTERS else f"; {names.nearest(name, classes)}"
                raise DataError(f"row {row} of the file has {said}{hint}")
            own = key(document)
            if own in seen:
                left_out += 1
                continue
            seen.add(own)
            documents.append(document)
            found.append(index[name])
            ids.append(row_id(document))
    kept = _unlike(documents, used)
    left_out += len(documents) - len(kept)
    if row == 0:
        raise DataError("the file has no rows: give rows that were labelled since the model was chosen")
    if not kept:
        raise DataError(
            f"all {row:,} rows of the file were there when the model was chosen (in its pool, its test rows or its unlabelled texts), so "
            "they confirm nothing: give rows that were labelled since"
        )
    return Fresh(
        documents=[documents[i] for i in kept],
        labels=np.asarray([found[i] for i in kept], dtype=np.int64),
        row_ids=[ids[i] for i in kept],
        left_out=left_out,
    )


def _unlike(documents: Sequence[Document], used: Iterable[Document]) -> list[int]:
    """Which of these documents are near-duplicates of none that is used."""
    masked = [*map(key, used)]
    near = near_duplicates.find([*masked, *map(key, documents)])
    touched = near.touches(np.arange(len(masked) + len(documents)) < len(masked))[len(masked) :]
    return np.flatnonzero(~touched).tolist()


def key(document: Document) -> str:
    """What two documents share that are the same but for case, digits and spaces."""
    texts = (document,) if isinstance(document, str) else document
    return "\n".join(near_duplicates.mask(text) for text in texts)


def row_id(document: Document) -> str:
    """The hash that begins a row's id, as datasets give it."""
    if isinstance(document, str):
        return hashlib.sha256(document.encode()).hexdigest()[:16]
    digests = "".join(hashlib.sha256(text.encode()).hexdigest() for text in document)
    return hashlib.sha256(digests.encode()).hexdigest()[:16]


def earlier(folder: Path) -> list[dict[str, Any]]:
    """The confirmations that a folder has had, oldest first."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))["confirmations"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(f"{folder / FILE} cannot be read: move it away, and count this confirmation as a further one") from None
    return list(found)


def note(before: Sequence[dict[str, Any]], confirmation: Confirmation) -> str:
    """The text of the folder's file with one more confirmation."""
    plain = {"count": len(before) + 1, "confirmations": [*before, asdict(confirmation)]}
    return json.dumps(plain, indent=1) + "\n"


def same_rows(before: Sequence[dict[str, Any]], row_ids: Sequence[str]) -> dict[str, Any] | None:
    """The confirmation by these very rows, in whatever order, if there was one."""
    return next((each for each in before if set(each["row_ids"]) == set(row_ids)), None)


def repeated(before: Sequence[dict[str, Any]], row_ids: Sequence[str]) -> int:
    """How many of these rows confirmed the model before."""
    known = {row_id for each in before for row_id in each["row_ids"]}
    return sum(row_id in known for row_id in row_ids)
