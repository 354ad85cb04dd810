import dataclasses
import hashlib
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff import spec
from bakeoff.data import dataset as module
from bakeoff.data.dataset import Prepared, Rows, prepare
from bakeoff.errors import DataError

Make = Callable[..., spec.Dataset]
LETTERS = str.maketrans("0123456789", "abcdefghij")


def write(path: Path, rows: list[tuple[str, ...]], header: str = "text,label") -> Path:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    return path


def many(n: int = 200, classes: int = 2) -> list[tuple[str, ...]]:
    """Rows without a word in common; the numbers are spelled in letters, since digits are masked."""
    return [(" ".join(str(i).translate(LETTERS) + end for end in "xyz"), f"c{i % classes}") for i in range(n)]


def same(a: Rows, b: Rows) -> bool:
    return (a.row_ids, a.texts, a.groups) == (b.row_ids, b.texts, b.groups) and bool(
        np.array_equal(a.labels, b.labels) and np.array_equal(a.clusters, b.clusters)
    )


def test_row_ids_hash_the_text_and_count_equal_texts_by_label(make_dataset: Make, tmp_path: Path) -> None:
    rows = [("x", "b"), ("x", "a"), ("x", "b"), *many(40)]
    prepared = prepare(make_dataset(path=write(tmp_path / "f.csv", rows)))
    digest = hashlib.sha256(b"x").hexdigest()[:16]
    together = [side for side in (prepared.pool, prepared.test) if f"{digest}-0" in side.row_ids]
    assert len(together) == 1
    found = [
        (row_id, prepared.classes[label]) for row_id, label in zip(together[0].row_ids, together[0].labels, strict=True) if digest in row_id
    ]
    assert found == [(f"{digest}-0", "a"), (f"{digest}-1", "b"), (f"{digest}-2", "b")]


@pytest.mark.parametrize("split", [{"split": "fold", "fold": 1}, {"split": "held_out_rows", "held_out_rows": 30}])
def test_the_order_of_the_file_does_not_matter(make_dataset: Make, tmp_path: Path, split: dict[str, object]) -> None:
    rows = [*many(150, classes=3), ("x y z 1", "c0"), ("X y z 2", "c1")]
    shuffled = rows[:]
    random.Random(0).shuffle(shuffled)
    here = prepare(make_dataset(path=write(tmp_path / "a.csv", rows), **split))
    there = prepare(make_dataset(path=write(tmp_path / "b.csv", shuffled), **split))
    assert here.classes == there.classes
    assert same(here.pool, there.pool)
    assert same(here.test, there.test)


def test_held_out_rows_are_exactly_so_many(make_dataset: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", many(200))
    prepared = prepare(make_dataset(path=path, split="held_out_rows", held_out_rows=37))
    assert (len(prepared.pool), len(prepared.test), prepared.left_out) == (163, 37, 0)
    with pytest.raises(DataError, match=r"^dataset.held_out_rows=200 should be below the 200 rows there are$"):
        prepare(make_dataset(path=path, split="held_out_rows", held_out_rows=200))


def test_five_folds_share_out_every_row(make_dataset: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", many(200))
    tests = [prepare(make_dataset(path=path, fold=fold)).test.row_ids for fold in range(5)]
    assert len({row_id for ids in tests for row_id in ids}) == sum(map(len, tests)) == 200
    assert min(map(len, tests)) > 20


def test_appending_rows_moves_no_old_row(make_dataset: Make, tmp_path: Path) -> None:
    before = prepare(make_dataset(path=write(tmp_path / "a.csv", many(150))))
    after = prepare(make_dataset(path=write(tmp_path / "b.csv", many(200))))
    assert set(before.test.row_ids) <= set(after.test.row_ids)
    assert set(before.pool.row_ids) <= set(after.pool.row_ids)


def test_near_duplicates_of_test_rows_are_left_out_of_the_pool(make_dataset: Make, tmp_path: Path) -> None:
    plain = prepare(make_dataset(path=write(tmp_path / "a.csv", many(100))))
    twins = [(f"Order {i}: {text} {text}", "c0") for i, text in enumerate(plain.test.texts)]
    found = prepare(make_dataset(path=write(tmp_path / "b.csv", [*many(100), *twins])))
    # a twin has the words of its test row and two more (3 of 5), and the words of nobody else
    assert found.left_out == 0
    twins = [(f"{text.upper()} {text}!", "c0") for text in plain.test.texts]
    found = prepare(make_dataset(path=write(tmp_path / "c.csv", [*many(100), *twins])))
    words = {frozenset(text.lower().rstrip("!").split()) for text in found.test.texts}
    assert not words & {frozenset(text.lower().rstrip("!").split()) for text in found.pool.texts}
    assert {frozenset(text.lower().rstrip("!").split()) for text in found.dropped.texts} <= words
    assert found.left_out == len(found.dropped) > 0
    assert len(found.pool) + len(found.test) + found.left_out == 100 + len(twins)
    assert not found.contaminated.any()


def test_a_group_is_never_on_both_sides(make_dataset: Make, tmp_path: Path) -> None:
    rows = [(text, label, f"g{i // 4}") for i, (text, label) in enumerate(many(200))]
    path = write(tmp_path / "f.csv", rows, "text,label,g")
    for split in ({"fold": 2}, {"split": "held_out_rows", "held_out_rows": 40}):
        prepared = prepare(make_dataset(path=path, group="g", **split))
        assert not set(prepared.pool.groups or ()) & set(prepared.test.groups or ())
        assert len(prepared.test) >= 20


def test_an_official_split_keeps_all_rows_and_marks_the_contaminated(make_dataset: Make, tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", [("a b c d", "2"), ("e f", "10"), ("g h", "10")])
    test = write(tmp_path / "test.csv", [("A b  C d", "2"), ("a b c d e", "7"), ("i j", "2"), ("e f", "10")])
    prepared = prepare(make_dataset(path=train, test_path=test))
    assert prepared.classes == ("2", "7", "10")
    assert (len(prepared.pool), len(prepared.test), prepared.left_out) == (3, 4, 0)
    marked = dict(zip(prepared.test.texts, prepared.contaminated.tolist(), strict=True))
    assert marked == {"A b  C d": True, "a b c d e": True, "i j": False, "e f": True}
    # equal texts in pool and test have different ids
    assert len(set(prepared.pool.row_ids + prepared.test.row_ids)) == 7


def test_an_official_test_row_whose_group_is_in_the_pool_is_contaminated(make_dataset: Make, tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", [("a", "x", "1"), ("b", "y", "2")], "text,label,g")
    test = write(tmp_path / "test.csv", [("c", "x", "1"), ("d", "y", "3")], "text,label,g")
    prepared = prepare(make_dataset(path=train, test_path=test, group="g"))
    assert dict(zip(prepared.test.texts, prepared.contaminated.tolist(), strict=True)) == {"c": True, "d": False}


def test_classes_mean_the_same_when_a_split_lacks_one(make_dataset: Make, tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", [("a", "x"), ("b", "y"), ("c", "z")])
    test = write(tmp_path / "test.csv", [("d", "z"), ("e", "x")])
    prepared = prepare(make_dataset(path=train, test_path=test))
    assert prepared.classes == ("x", "y", "z")
    assert {text: prepared.classes[label] for text, label in zip(prepared.test.texts, prepared.test.labels, strict=True)} == {
        "d": "z",
        "e": "x",
    }


@pytest.mark.parametrize(("small", "metric"), [(3, "accuracy"), (2, "macro_f1")])
def test_the_metric_follows_the_balance_of_the_pool(make_dataset: Make, tmp_path: Path, small: int, metric: str) -> None:
    train = write(tmp_path / "train.csv", [(f"a{i}", "x") for i in range(9)] + [(f"b{i}", "y") for i in range(small)])
    test = write(tmp_path / "test.csv", [("c", "x")])
    assert prepare(make_dataset(path=train, test_path=test)).primary_metric == metric
    assert prepare(make_dataset(path=train, test_path=test, metric="macro_f1")).primary_metric == "macro_f1"


def test_bytes_that_changed_are_refused(make_dataset: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", many(100))
    composed = make_dataset(path=path)
    prepare(composed)
    write(path, [*many(99), ("jjx jjy jjz", "c0")])  # one label changed, the size too
    with pytest.raises(DataError, match=r"^f.csv changed since this Run was composed"):
        prepare(composed)
    assert len(prepare(make_dataset(path=path)).pool) > 0
    write(path, many(100))  # the same bytes again, at another time
    os.utime(path, ns=(time.time_ns(), time.time_ns()))
    prepare(composed)


def test_a_split_that_leaves_nothing_is_refused(make_dataset: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", [("same words here", "a"), ("same words here", "b")])
    with pytest.raises(DataError, match=r"^dataset.split=fold leaves (no test rows|fewer than two classes to train on) of 2 rows"):
        prepare(make_dataset(path=path))


def prepared_file(cache: Path) -> Path:
    (path,) = (cache / "prepared").iterdir()
    return path


def equal(a: Prepared, b: Prepared) -> bool:
    return (
        same(a.pool, b.pool)
        and same(a.test, b.test)
        and same(a.dropped, b.dropped)
        and a.contaminated.tolist() == b.contaminated.tolist()
        and (a.classes, a.primary_metric) == (b.classes, b.primary_metric)
    )


@pytest.mark.parametrize("group", [None, "g"])
def test_the_second_time_comes_from_the_cache(
    make_dataset: Make, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, group: str | None
) -> None:
    rows = [(text, label, f"g{i // 4}") for i, (text, label) in enumerate([*many(100), *many(30)])]
    composed = make_dataset(path=write(tmp_path / "f.csv", rows, "text,label,g"), group=group)
    first = prepare(composed)
    monkeypatch.setattr(module, "_build", lambda dataset: pytest.fail("built again"))
    again = prepare(composed)
    assert equal(first, again)
    assert again.pool.labels.dtype == again.pool.clusters.dtype == np.int64
    # the metric is asked for anew, since it is no part of the question
    assert prepare(dataclasses.replace(composed, metric="macro_f1")).primary_metric == "macro_f1"


@pytest.mark.parametrize("damage", ["truncated", "flipped", "other", "empty"])
def test_a_damaged_cache_file_is_built_again(make_dataset: Make, tmp_path: Path, own_cache: Path, damage: str) -> None:
    composed = make_dataset(path=write(tmp_path / "f.csv", many(100)))
    first = prepare(composed)
    path = prepared_file(own_cache)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[60] ^= 1  # inside the first data page
    path.write_bytes({"truncated": whole[: len(whole) // 2], "flipped": bytes(flipped), "other": b"PAR1 no", "empty": b""}[damage])
    assert equal(prepare(composed), first)
    assert path.read_bytes() == whole


def test_take(make_rows: Callable[..., Rows]) -> None:
    taken = make_rows([0, 1, 2], groups=["a", "b", "c"]).take([2, 0])
    assert (taken.texts, taken.labels.tolist(), taken.groups, len(taken)) == (("text 2", "text 0"), [2, 0], ("c", "a"), 2)
    assert len(taken.take([])) == 0
