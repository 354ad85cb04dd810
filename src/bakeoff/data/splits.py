"""Which rows are test rows, decided row by row from a hash, so that appending rows moves no old row; or by given folds.

A row's key is its group where there is one, otherwise its masked text; equal keys are always on one side.
"""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from bakeoff.errors import DataError
from bakeoff.spec import FOLDS, Dataset

MOST_LISTED = 20
"""Folds that an error lists; of more it names the last one too."""
_WHOLE = re.compile(r"([0-9]+)(\.0+)?")


def in_fold(keys: Sequence[str], fold: int) -> np.ndarray:
    """Bool mask of the rows whose key falls into `fold` of the five."""
    return np.array([int(_digest(key)[:16], 16) % FOLDS == fold for key in keys], dtype=bool)


def fold_number(value: str | None) -> int | None:
    """The fold that a cell or a part of a file's name gives, a whole number from 0; None for anything else."""
    found = None if value is None else _WHOLE.fullmatch(value)
    return None if found is None else int(found[1])


def fold_in_name(dataset: Dataset, name: str) -> str | None:
    """What `dataset.fold_pattern` finds in a file's name; None without one. Raises DataError where it finds no whole number."""
    found = _in_name("fold_pattern", dataset.fold_pattern, name)
    if found is not None and fold_number(found) is None:
        raise DataError(
            f"dataset.fold_pattern={dataset.fold_pattern} finds no whole number in the file name {name}: put digits alone into its brackets"
        )
    return found


def group_in_name(dataset: Dataset, name: str) -> str | None:
    """What `dataset.group_pattern` finds in a file's name; None without one. Raises DataError where it finds nothing."""
    return _in_name("group_pattern", dataset.group_pattern, name)


def in_given_fold(folds: Sequence[int], fold: int) -> np.ndarray:
    """Bool mask of the rows that the data itself puts into `fold`. Raises DataError where no row is in it."""
    if fold not in folds:
        raise DataError(f"dataset.fold={fold} holds no row: the folds that the data brings are {_listed(sorted(set(folds)))}")
    return np.array([each == fold for each in folds], dtype=bool)


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


def _in_name(key: str, pattern: str | None, name: str) -> str | None:
    if pattern is None:
        return None
    found = re.search(pattern, name)
    if found is None or not found[1]:
        raise DataError(f"dataset.{key}={pattern} finds nothing in the file name {name}: it should match the name of every file")
    return found[1]


def _listed(folds: list[int]) -> str:
    return ", ".join(map(str, folds[:MOST_LISTED])) + (f" … {folds[-1]}" if len(folds) > MOST_LISTED else "")


def _digest(key: str) -> str:
    return hashlib.sha256(f"split|{key}".encode()).hexdigest()
