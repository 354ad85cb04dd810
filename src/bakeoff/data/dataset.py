"""A dataset made ready: row ids, classes, near-duplicate clusters, and the split into train pool and test."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bakeoff import fingerprint, spec
from bakeoff.cache import cache_root
from bakeoff.data import file_size, labels, near_duplicates, newest, row_ids, sources, splits
from bakeoff.data.rewrites import rewrite
from bakeoff.data.times import Moment
from bakeoff.errors import DataError

# Raise it when the same bytes would be prepared differently.
_PREPARED_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Rows:
    """n rows in the order of their ids, which come from the texts and never from the order of a file."""

    row_ids: tuple[str, ...]
    """16 hex digits of the text's SHA-256 (of a pair: of both texts'), a dash, and a counter over equal rows sorted by label."""
    texts: tuple[str, ...]
    labels: np.ndarray
    """int64 indices into the classes, shape (n,)."""
    groups: tuple[str, ...] | None
    clusters: np.ndarray
    """int64 near-duplicate clusters, shape (n,); pool and test share the numbers."""
    pairs: tuple[str, ...] | None = None
    """The second text of each row, where a row is a pair of texts."""

    @property
    def all_texts(self) -> tuple[str, ...]:
        """Every text there is, the second ones of pairs after the first ones: what a vocabulary is learned from."""
        return self.texts + (self.pairs or ())

    @property
    def documents(self) -> tuple[str, ...] | tuple[tuple[str, str], ...]:
        """One thing a row to read: a text, or a pair of texts."""
        return self.texts if self.pairs is None else tuple(zip(self.texts, self.pairs, strict=True))

    @property
    def whole_texts(self) -> tuple[str, ...]:
        """One text a row: a pair as one, on two lines."""
        return tuple(_joined(self.texts, self.pairs))

    def __len__(self) -> int:
        return len(self.row_ids)

    def take(self, indices: Sequence[int] | np.ndarray) -> "Rows":
        """The rows at `indices`, in that order."""
        chosen = np.asarray(indices, dtype=np.int64)
        return Rows(
            row_ids=tuple(self.row_ids[i] for i in chosen),
            texts=tuple(self.texts[i] for i in chosen),
            labels=self.labels[chosen],
            groups=None if self.groups is None else tuple(self.groups[i] for i in chosen),
            clusters=self.clusters[chosen],
            pairs=None if self.pairs is None else tuple(self.pairs[i] for i in chosen),
        )


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A dataset split into the train pool, from which budgets are drawn, and the test rows."""

    classes: tuple[str, ...]
    """Sorted over pool and test together, so that an index means the same class everywhere."""
    pool: Rows
    test: Rows
    contaminated: np.ndarray
    """Bool over test rows: a near-duplicate, or a row of the same group, stands in the pool (official splits and given folds only)."""
    dropped: Rows
    """Rows left out of the pool because they are near-duplicates of test rows (none for official splits and given folds), or of
    the group of a newer test row."""
    primary_metric: Literal["accuracy", "macro_f1"]
    newest_from: tuple[str, ...] | None = None
    """Where time was cut, as `dataset.newest_from` pins it, with an end behind the newest row; null for other splits."""
    generated: bool = False
    """Whether the texts were made up, so that nobody prepared them."""

    @property
    def left_out(self) -> int:
        """How many rows were left out of the pool."""
        return len(self.dropped)


def prepare(dataset: spec.Dataset) -> Prepared:
    """Read and split a dataset, from the cache when the same bytes were prepared before.

    Raises DataError when the bytes are not those of `dataset.fingerprint`, or as `sources.read` does.
    """
    verify(dataset)
    prepared = remembered(dataset)
    if prepared is None:
        file_size.refuse_too_large(dataset)
        prepared = _build(dataset)
        verify(dataset)  # a file rewritten while it was read must not be kept under the old fingerprint
        _save(_cached(dataset), prepared)
    return prepared


def remembered(dataset: spec.Dataset) -> Prepared | None:
    """A dataset as it was when its bytes were prepared here, whatever its files hold by now; None where the cache has it no more."""
    return _load(_cached(dataset), dataset)


def _cached(dataset: spec.Dataset) -> Path:
    question = {"version": _PREPARED_VERSION, "dataset": spec.identity(dataset)}
    key = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
    return cache_root() / "prepared" / f"{key[:24]}.parquet"


def verify(dataset: spec.Dataset) -> None:
    """Raise DataError when a dataset's bytes differ from its fingerprint; starter assets are verified when fetched."""
    if dataset.needle is not None:
        found, name = fingerprint.of_generated(spec.identity(dataset.needle)), "dataset.needle"
    elif dataset.hub is not None:
        found, name = _of_hub(dataset), dataset.hub
    elif dataset.asset is not None:
        found, name = fingerprint.of_dataset_asset(dataset.asset), dataset.asset
    else:
        files = sources.paths(dataset)
        found, name = fingerprint.of_files(files["pool"], files.get("test"), cache_root()), files["pool"].name
    if found != dataset.fingerprint:
        raise DataError(f"{name} changed since this Run was composed (its fingerprint differs): compose the Run again to use the new bytes")


def _of_hub(dataset: spec.Dataset) -> str:
    return fingerprint.of_hub_dataset(
        str(dataset.hub), config=dataset.hub_config, revision=dataset.revision, pool=dataset.hub_pool, test=dataset.hub_test
    )


def _build(dataset: spec.Dataset) -> Prepared:
    raw = sources.read(dataset)
    parts = [(role == "test", rows) for role, rows in raw.items()]
    texts = [text for _, rows in parts for text in rows.texts]
    pairs = [pair for _, rows in parts for pair in rows.pairs or ()] if dataset.text_pair else None
    names = [label for _, rows in parts for label in rows.labels]
    groups = [group for _, rows in parts for group in rows.groups or ()]
    given = row_ids.given_by(parts)
    ids = row_ids.of_parts([rows for _, rows in parts], given=given)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    classes = labels.in_order(names)
    index = {name: i for i, name in enumerate(classes)}
    whole = _joined(texts, pairs)
    masked = [near_duplicates.mask(whole[i]) for i in order]
    near = near_duplicates.find(masked) if dataset.needle is None else _all_apart(len(masked))
    # Ids, duplicates and the split are those of the raw texts, so that rows pair with those of the same data left alone.
    texts, pairs = rewrite(texts, dataset.rewrite), None if pairs is None else rewrite(pairs, dataset.rewrite)
    rows = Rows(
        row_ids=tuple(ids[i] for i in order),
        texts=tuple(texts[i] for i in order),
        labels=np.array([index[names[i]] for i in order], dtype=np.int64),
        groups=tuple(groups[i] for i in order) if groups else None,
        clusters=near.clusters(),
        pairs=None if pairs is None else tuple(pairs[i] for i in order),
    )

    keeps_all = dataset.split == "official" or dataset.brings_folds
    kind = raw["pool"].time_kind
    cuts = None if kind is None else newest.cuts_of(dataset, given, kind)
    is_test = _test_mask(dataset, rows.groups or masked, given=[given[i] for i in order], cuts=cuts)
    drops = np.zeros(len(rows), dtype=bool) if keeps_all else near.touches(is_test) & ~is_test
    if cuts is not None and rows.groups is not None:  # a group may have written before and after the cut
        drops |= ~is_test & np.isin(np.array(rows.groups), np.array(rows.groups)[is_test])
    pool, test = rows.take(np.flatnonzero(~is_test & ~drops)), rows.take(np.flatnonzero(is_test))
    if len(test) == 0 or len(set(pool.labels.tolist())) < 2:
        lacking = "no test rows" if len(test) == 0 else "fewer than two classes to train on"
        raise DataError(f"dataset.split={dataset.split} leaves {lacking} of {len(rows)} rows: use another split or more data")
    contaminated = near.touches(~is_test)[is_test] if keeps_all else np.zeros(len(test), dtype=bool)
    if keeps_all and pool.groups is not None and test.groups is not None:
        contaminated = contaminated | np.isin(np.array(test.groups), np.array(pool.groups))
    return Prepared(
        classes=classes,
        pool=pool,
        test=test,
        contaminated=contaminated,
        dropped=rows.take(np.flatnonzero(drops)),
        primary_metric=_metric(dataset, pool, classes),
        newest_from=None if cuts is None or kind is None else newest.pinned(newest.closed(cuts, given), kind),
        generated=dataset.needle is not None,
    )


def _test_mask(dataset: spec.Dataset, keys: Sequence[str], *, given: Sequence[Moment], cuts: Sequence[Moment] | None) -> np.ndarray:
    if cuts is not None:
        return newest.is_newest(given, cuts)
    if dataset.split == "official":
        return np.array(given, dtype=bool)
    if dataset.split == "fold":
        assert dataset.fold is not None
        return (
            splits.in_given_fold([int(fold) for fold in given], dataset.fold)
            if dataset.brings_folds
            else splits.in_fold(keys, dataset.fold)
        )
    assert dataset.held_out_rows is not None
    if dataset.held_out_rows >= len(keys):
        raise DataError(f"dataset.held_out_rows={dataset.held_out_rows} should be below the {len(keys)} rows there are")
    return splits.lowest_hashes(keys, dataset.held_out_rows)


def _all_apart(count: int) -> near_duplicates.NearDuplicates:
    """Generated rows are drawn apart: all hold the same few words, and none is another's copy."""
    return near_duplicates.NearDuplicates(bags=np.arange(count), pairs=np.empty((0, 2), dtype=np.int64))


def _joined(texts: Sequence[str], pairs: Sequence[str] | None) -> Sequence[str]:
    return texts if pairs is None else [f"{first}\n{second}" for first, second in zip(texts, pairs, strict=True)]


def _metric(dataset: spec.Dataset, pool: Rows, classes: tuple[str, ...]) -> Literal["accuracy", "macro_f1"]:
    if dataset.metric != "auto":
        return dataset.metric
    counts = np.bincount(pool.labels, minlength=len(classes))
    return "accuracy" if counts.max() <= 3 * counts.min() else "macro_f1"


def _save(path: Path, prepared: Prepared) -> None:
    """Write a cache file whole or not at all; its pages carry checksums."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sides = (prepared.pool, prepared.test, prepared.dropped)
    second = {}
    if prepared.pool.pairs is not None:
        second["pair"] = pa.array([pair for side in sides for pair in side.pairs or ()], type=pa.large_string())
    table = pa.table(
        {
            "row_id": [row_id for side in sides for row_id in side.row_ids],
            "text": pa.array([text for side in sides for text in side.texts], type=pa.large_string()),
            "label": np.concatenate([side.labels for side in sides]),
            "group": pa.array([group for side in sides for group in side.groups or [None] * len(side)], type=pa.large_string()),
            "cluster": np.concatenate([side.clusters for side in sides]),
            "contaminated": np.concatenate(
                [np.zeros(len(side), dtype=bool) if side is not prepared.test else prepared.contaminated for side in sides]
            ),
        }
        | second
    )
    facts = {"classes": prepared.classes, "n_pool": len(prepared.pool), "n_test": len(prepared.test), "n": table.num_rows}
    facts |= {} if prepared.newest_from is None else {"newest_from": prepared.newest_from}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(table.replace_schema_metadata({"bakeoff": json.dumps(facts)}), temporary, write_page_checksum=True)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _load(path: Path, dataset: spec.Dataset) -> Prepared | None:
    """What a cache file holds; None when it is missing or damaged."""
    if not path.exists():
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, page_checksum_verification=True)
        facts = json.loads(table.schema.metadata[b"bakeoff"])
        groups = table["group"].to_pylist()
        rows = Rows(
            row_ids=tuple(table["row_id"].to_pylist()),
            texts=tuple(table["text"].to_pylist()),
            labels=table["label"].to_numpy().astype(np.int64),
            groups=None if None in groups else tuple(groups),
            clusters=table["cluster"].to_numpy().astype(np.int64),
            pairs=None if dataset.text_pair is None else tuple(table["pair"].to_pylist()),
        )
        n_pool, n_seen, classes = facts["n_pool"], facts["n_pool"] + facts["n_test"], tuple(facts["classes"])
        contaminated = table["contaminated"].to_numpy()[n_pool:n_seen]
        if len(rows) != facts["n"]:
            return None
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None
    pool = rows.take(range(n_pool))
    return Prepared(
        classes=classes,
        pool=pool,
        test=rows.take(range(n_pool, n_seen)),
        contaminated=contaminated,
        dropped=rows.take(range(n_seen, len(rows))),
        primary_metric=_metric(dataset, pool, classes),
        newest_from=tuple(facts["newest_from"]) if "newest_from" in facts else None,
        generated=dataset.needle is not None,
    )
