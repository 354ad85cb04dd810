"""Whether a tokeniser's ids are those that a checkpoint's weights were trained with, told without running the model."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bakeoff.data import vectors
from bakeoff.errors import DataError

MIN_WORDS = 100
"""Fewer pairs of a word and its plural say nothing, as in a vocabulary of another language or of bytes."""
MAX_WORDS = 1_000
"""More are thinned out evenly, so that looking costs no memory to speak of."""
MIN_NEARER = 0.05
"""Cosine. The starter checkpoint's plurals are nearer by 0.59, and by less than 0.01 under ids that were shuffled."""
_SPACE_MARKS = "Ġ▁"
"""What some tokenisers write for the space before a word."""


def fits(folder: Path, ids: Mapping[str, int]) -> bool | None:
    """Whether the word-pieces `ids` fit the table of the checkpoint in `folder`; None where that cannot be told.

    In a trained table a word lies nearer to its own plural than to another word's; under another vocabulary's ids it lies
    no nearer to one than to the other.
    """
    try:
        table = vectors.table_of(folder)
    except DataError:
        return None
    nearer = plurals_nearer(table, ids)
    return None if nearer is None else nearer >= MIN_NEARER


def plurals_nearer(table: npt.NDArray[np.float32], ids: Mapping[str, int]) -> float | None:
    """Mean cosine of words and their plurals minus that of words and the plurals of others; `table` is (word-pieces, width).

    None for fewer than MIN_WORDS such words.
    """
    known = {piece.lstrip(_SPACE_MARKS): i for piece, i in ids.items() if piece.lstrip(_SPACE_MARKS).isalpha() and i < len(table)}
    words = sorted(word for word in known if len(word) >= 4 and f"{word}s" in known)
    if len(words) < MIN_WORDS:
        return None
    words = words[:: -(-len(words) // MAX_WORDS)]
    singular, plural = (_directions(table[[known[word + end] for word in words]]) for end in ("", "s"))
    own, others = (singular * plural).sum(axis=1), (singular * np.roll(plural, 1, axis=0)).sum(axis=1)
    return float((own - others).mean())


def _directions(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    exact = rows.astype(np.float64)
    return np.asarray(exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-12))
