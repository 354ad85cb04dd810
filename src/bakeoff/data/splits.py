"""Which rows are test rows, decided row by row from a hash, so that appending rows moves no old row.

A row's key is its group where there is one, otherwise its masked text; equal keys are always on one side.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from bakeoff.spec import FOLDS


def in_fold(keys: Sequence[str], fold: int) -> np.ndarray:
    """Bool mask of the rows whose key falls into `fold` of the five."""
    return np.array([int(_digest(key)[:16], 16) % FOLDS == fold for key in keys], dtype=bool)


def lowest_hashes(keys: Sequence[str], count: int) -> np.ndarray:
    """Bool mask of `count` rows with the lowest hashes.

    Rows of one key go together, so a key that would overfill the count is passed over for the next one;
    fewer than `count` rows are marked only when no key fills the gap.
    """
    rows_of_key: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        rows_of_key.setdefault(key, []).append(i)
    chosen = np.zeros(len(keys), dtype=bool)
    left = count
    for key in sorted(rows_of_key, key=_digest):
        if len(rows_of_key[key]) <= left:
            chosen[rows_of_key[key]] = True
            left -= len(rows_of_key[key])
    return chosen


def _digest(key: str) -> str:
    return hashlib.sha256(f"split|{key}".encode()).hexdigest()
