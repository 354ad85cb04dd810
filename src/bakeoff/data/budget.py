"""Which labels a Run may spend: one order of the pool a draw, its first N rows, and who validates."""

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bakeoff import spec
from bakeoff.data.dataset import Rows
from bakeoff.data.near_duplicates import components
from bakeoff.errors import DataError, NotApplicable

VALIDATION_FROM_LABELS = 300


@dataclass(frozen=True, kw_only=True)
class Spent:
    """A budget of N labels, as int64 indices into the pool, each in the draw's order; len(fit) + len(validation) = N."""

    fit: np.ndarray
    validation: np.ndarray
    unlabelled: np.ndarray
    """The rest of the pool, whose labels are not spent."""


def draw_order(rows: Rows, *, draw: int, order: Literal["stratified", "random"]) -> np.ndarray:
    """The pool's one order of a draw: int64 indices, shape (n,); a budget of N is its first N.

    Stratified: within a class, rows are sorted by hash(draw, row id) and the j-th of n_c (j from 1) gets the key
    (j - 1/2) / n_c; sorting all rows by key (ties by hash of draw and class) keeps every prefix proportional, since
    up to any key k a class has k·n_c rows, give or take half a row. Random: all rows sorted by hash(draw, row id).
    """
    hashes = [_hash(draw, row_id) for row_id in rows.row_ids]
    shuffled = sorted(range(len(rows)), key=lambda i: (hashes[i], rows.row_ids[i]))
    if order == "random":
        return np.array(shuffled, dtype=np.int64)
    class_of = rows.labels.tolist()
    sizes = np.bincount(rows.labels).tolist()
    ties = [_hash(draw, f"class {ordinal}") for ordinal in range(len(sizes))]
    taken = [0] * len(sizes)
    keys: dict[int, tuple[float, str]] = {}
    for i in shuffled:
        c = class_of[i]
        # A quotient of whole numbers is rounded correctly, so equal keys are equal floats.
        keys[i] = ((2 * taken[c] + 1) / (2 * sizes[c]), ties[c])
        taken[c] += 1
    return np.array(sorted(shuffled, key=keys.__getitem__), dtype=np.int64)


def spend(rows: Rows, budget: spec.Budget, *, validation: bool) -> Spent:
    """Spend a budget on the pool `rows`; without `validation` (closed-form models) all N labels are for fitting.

    From 300 labels up, a row of rank r in its class (from 0, in the draw's order) validates when
    (r + class ordinal) mod 5 = 4, unless an earlier row of its group or cluster has chosen its side. Rows count as
    one such bundle when groups and clusters chain them together, so that neither is ever on both sides.
    Raises NotApplicable for a budget above the pool, and DataError when one side would be empty.
    """
    n = len(rows) if budget.labels == "all" else budget.labels
    if n > len(rows):
        raise NotApplicable(
            f"budget.labels={n} is more than the {len(rows)} labelled rows of the train pool: use at most {len(rows)}, or all"
        )
    order = draw_order(rows, draw=budget.draw, order=budget.order)
    chosen, unlabelled = order[:n], order[n:]
    if not validation or n < VALIDATION_FROM_LABELS:
        return Spent(fit=chosen, validation=chosen[:0], unlabelled=unlabelled)
    validates = _validates(rows, chosen)
    if validates.all() or not validates.any():
        raise DataError(
            f"budget.labels={n} cannot be divided into rows to fit and rows to validate, since groups and near-duplicates chain "
            f"them together: use a finer dataset.group, or fewer than {VALIDATION_FROM_LABELS} labels"
        )
    return Spent(fit=chosen[~validates], validation=chosen[validates], unlabelled=unlabelled)


def _validates(rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """Bool over the `chosen` rows: whether each is for validation."""
    bundle_of = bundles(rows)
    side_of_bundle: dict[int, bool] = {}
    rank = [0] * (int(rows.labels.max()) + 1)
    sides = np.empty(len(chosen), dtype=bool)
    for position, (ordinal, bundle) in enumerate(zip(rows.labels[chosen].tolist(), bundle_of[chosen].tolist(), strict=True)):
        sides[position] = side_of_bundle.setdefault(bundle, (rank[ordinal] + ordinal) % 5 == 4)
        rank[ordinal] += 1
    return sides


def bundles(rows: Rows) -> np.ndarray:
    """A number for each row; rows chained by shared clusters and groups over the whole pool have the same one."""
    if rows.groups is None:
        return rows.clusters
    first_of_cluster: dict[int, int] = {}
    first_of_group: dict[str, int] = {}
    links = [
        (i, first)
        for i, (cluster, group) in enumerate(zip(rows.clusters.tolist(), rows.groups, strict=True))
        for first in (first_of_cluster.setdefault(cluster, i), first_of_group.setdefault(group, i))
    ]
    return components(len(rows), np.array(links, dtype=np.int64))


def _hash(draw: int, text: str) -> str:
    return hashlib.sha256(f"{draw}|{text}".encode()).hexdigest()
