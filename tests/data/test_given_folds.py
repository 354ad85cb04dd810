"""Folds that the data brings: in a column, or in the names of its files; and groups in names."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bakeoff import spec
from bakeoff.config import Composer, quoted
from bakeoff.data import splits
from bakeoff.data.dataset import prepare
from bakeoff.errors import DataError, NotApplicable

Make = Callable[..., spec.Dataset]
WORDS = ("apple", "pear", "plum", "cherry", "grape", "lemon", "melon", "peach", "olive", "fig", "date", "lime")


def table(path: Path, folds: Sequence[object], *, texts: Sequence[str] = WORDS) -> Path:
    lines = [f"{text},{'ab'[i % 2]},{fold}" for i, (text, fold) in enumerate(zip(texts, folds, strict=False))]
    path.write_text("\n".join(["text,label,part", *lines]) + "\n")
    return path


def folder(path: Path, names: Sequence[str]) -> Path:
    for i, name in enumerate(names):
        (path / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        (path / "ab"[i % 2] / name).write_text(WORDS[i])
    return path


def test_rows_of_the_fold_are_test_rows_and_all_others_the_pool(make_dataset: Make, tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", [0, 0, 1, 1, "2", "2.0", 7, 7, 7, 7, 7, 7])
    for fold, expected in ((0, {"apple", "pear"}), (1, {"plum", "cherry"}), (2, {"grape", "lemon"}), (7, set(WORDS[6:]))):
        prepared = prepare(make_dataset(path=path, fold_column="part", fold=fold))
        assert set(prepared.test.texts) == expected
        assert set(prepared.pool.texts) == set(WORDS) - expected
        assert not prepared.contaminated.any()


def test_json_lines_give_folds_as_numbers(make_dataset: Make, tmp_path: Path) -> None:
    rows = [{"text": word, "label": "ab"[i % 2], "part": i // 4} for i, word in enumerate(WORDS)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    prepared = prepare(make_dataset(path=tmp_path / "t.jsonl", format="jsonl", fold_column="part", fold=2))
    assert set(prepared.test.texts) == set(WORDS[8:])


@pytest.mark.parametrize("odd", ["", "x", "1.5", "-1", "True"])
def test_a_fold_that_is_no_whole_number_is_refused_and_not_quoted(make_dataset: Make, tmp_path: Path, odd: str) -> None:
    path = table(tmp_path / "t.csv", [0, 1, odd, 1, odd, 1])
    with pytest.raises(DataError) as refused:
        prepare(make_dataset(path=path, fold_column="part"))
    assert str(refused.value) == (
        "dataset.fold_column=part is no whole number from 0 in 2 rows of t.csv, the first is row 4: "
        "write the number of each row's fold there"
    )


def test_a_fold_that_no_row_has_lists_the_folds_that_exist(make_dataset: Make, tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", [3, 1, 1, 3, 10, 10])
    with pytest.raises(DataError, match=r"^dataset\.fold=0 holds no row: the folds that the data brings are 1, 3, 10$"):
        prepare(make_dataset(path=path, fold_column="part"))
    with pytest.raises(DataError, match=r"are 0, 1, 2, .*, 18, 19 … 29$"):
        splits.in_given_fold(range(30), 30)


def test_a_column_that_is_not_there_names_the_nearest(make_dataset: Make, tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", [0, 1, 0, 1])
    with pytest.raises(DataError, match=r"^dataset\.fold_column=prat is no column of t\.csv; did you mean part\?"):
        prepare(make_dataset(path=path, fold_column="prat"))


def test_given_folds_keep_all_rows_and_mark_the_contaminated(make_dataset: Make, tmp_path: Path) -> None:
    texts = ["one two three four five", "one two three four five", "six seven", "eight nine", "ten eleven", "twelve thirteen"]
    path = table(tmp_path / "t.csv", [0, 1, 0, 0, 1, 1], texts=texts)
    given = prepare(make_dataset(path=path, fold_column="part"))
    assert (len(given.pool), len(given.test), given.left_out) == (3, 3, 0)
    assert [text for text, marked in zip(given.test.texts, given.contaminated, strict=True) if marked] == [texts[0]]


def test_a_group_on_both_sides_marks_its_test_rows(make_dataset: Make, tmp_path: Path) -> None:
    lines = [f"{word},{'ab'[i % 2]},{i % 3},{group}" for i, (word, group) in enumerate(zip(WORDS, "pqrsptuvwxyz", strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(["text,label,part,writer", *lines]) + "\n")
    prepared = prepare(make_dataset(path=tmp_path / "t.csv", fold_column="part", group="writer"))
    assert prepared.test.groups is not None
    assert [text for text, marked in zip(prepared.test.texts, prepared.contaminated, strict=True) if marked] == ["apple"]


def test_row_ids_do_not_depend_on_the_fold_or_on_the_order_of_rows(make_dataset: Make, tmp_path: Path) -> None:
    texts, folds = ["same", "same", "other", "third", "same", "more"], [1, 0, 1, 0, 0, 1]
    rows = list(zip(texts, "aabbaa", folds, strict=True))
    ids = []
    for name, order in (("a", rows), ("b", rows[::-1])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label,part", *(f"{t},{c},{f}" for t, c, f in order)]) + "\n")
        for fold in (0, 1):
            prepared = prepare(make_dataset(path=tmp_path / f"{name}.csv", fold_column="part", fold=fold))
            ids.append((fold, sorted(prepared.test.row_ids)))
    assert ids[:2] == ids[2:]
    assert not set(ids[0][1]) & set(ids[1][1])


def test_file_names_give_folds_and_groups(make_dataset: Make, tmp_path: Path) -> None:
    names = [f"cv{i % 3:02d}_{'xyz'[i // 4]}{i}.txt" for i in range(12)]
    path = folder(tmp_path / "f", names)
    chosen = make_dataset(path=path, format="folder", fold_pattern=r"^cv(\d+)_", group_pattern=r"_([a-z])", fold=2)
    prepared = prepare(chosen)
    assert set(prepared.test.texts) == {WORDS[i] for i in (2, 5, 8, 11)}
    assert dict(zip(prepared.test.texts, prepared.test.groups or (), strict=True)) == {"plum": "x", "lemon": "y", "olive": "z", "lime": "z"}
    assert prepared.contaminated.all()
    again = prepare(chosen)
    assert (again.test.row_ids, again.test.groups, again.contaminated.tolist()) == (
        prepared.test.row_ids,
        prepared.test.groups,
        prepared.contaminated.tolist(),
    )


def test_groups_in_names_never_cross_a_fold_by_hash(make_dataset: Make, tmp_path: Path) -> None:
    names = [f"{'pqrs'[i % 4]}{i}.txt" for i in range(12)]
    path, chosen = folder(tmp_path / "f", [*names[:4], *names[5:], names[4]]), []  # every group has both classes
    for fold in range(5):
        if splits.in_fold("pqrs", fold).any():
            prepared = prepare(make_dataset(path=path, format="folder", group_pattern="^([a-z])", fold=fold))
            assert prepared.pool.groups is not None
            assert prepared.test.groups is not None
            assert not set(prepared.pool.groups) & set(prepared.test.groups)
            chosen += sorted(set(prepared.test.groups))
    assert sorted(chosen) == ["p", "q", "r", "s"]


@pytest.mark.parametrize(
    ("key", "pattern", "message"),
    [
        ("fold_pattern", r"^cv(\d)", "finds nothing in the file name nofold.txt: it should match the name of every file"),
        ("group_pattern", r"_(\d)", "finds nothing in the file name nofold.txt: it should match the name of every file"),
        ("fold_pattern", r"^(\w+)\.", "finds no whole number in the file name cv0_1.txt: put digits alone into its brackets"),
    ],
)
def test_a_name_without_a_match_is_one_sentence(make_dataset: Make, tmp_path: Path, key: str, pattern: str, message: str) -> None:
    path = folder(tmp_path / "f", ["nofold.txt", "cv1_2.txt", "cv0_1.txt"])
    with pytest.raises(DataError) as refused:
        prepare(make_dataset(path=path, format="folder", **{key: pattern}))
    assert str(refused.value) == f"dataset.{key}={pattern} {message}"


def test_a_configuration_with_folds_of_its_own_asks_about_the_first(tmp_path: Path) -> None:
    own = f"dataset.path={quoted(str(folder(tmp_path / 'f', ['cv0.txt', 'cv1.txt', 'cv2.txt'])))}"
    run = Composer().job(["dataset=folder", own, "dataset.fold_pattern='^cv(\\d)'"]).run
    assert (run.dataset.split, run.dataset.fold, run.dataset.fold_pattern) == ("fold", 0, r"^cv(\d)")
    named = Composer().job(["dataset=movie_reviews", own, "dataset.fold=9"]).run
    assert (named.dataset.name, named.dataset.fold, named.dataset.fold_pattern) == ("movie_reviews", 9, r"^cv(\d)")
    columns = [f"dataset.path={quoted(str(table(tmp_path / 't.csv', [0, 1])))}", "dataset.text=text", "dataset.label=label"]
    tabled = Composer().job(["dataset=csv", *columns, "dataset.fold_column=part", "dataset.fold=31"]).run
    assert (tabled.dataset.split, tabled.dataset.fold, tabled.dataset.fold_column) == ("fold", 31, "part")
    with pytest.raises(NotApplicable, match=r"^dataset\.test_path means nothing to data with folds of its own"):
        Composer().job(["dataset=csv", *columns, "dataset.fold_column=part", f"dataset.test_path={quoted(str(tmp_path / 't.csv'))}"])


def test_the_folds_of_the_film_reviews(make_dataset: Make, shared: Path) -> None:
    """`cv000` … `cv999` in both folders: ten folds of 200, half of each class."""
    names = [file.name for file in sorted((shared / "movie_reviews").glob("*/*.txt"))]
    chosen = make_dataset(path=shared / "movie_reviews", format="folder", fold_pattern=r"^cv(\d)", fold=3)
    folds = [splits.fold_number(splits.fold_in_name(chosen, name)) for name in names]
    assert np.bincount([fold for fold in folds if fold is not None]).tolist() == [200] * 10
    prepared = prepare(chosen)
    assert (len(prepared.pool), len(prepared.test), prepared.left_out) == (1800, 200, 0)
    assert np.bincount(prepared.test.labels).tolist() == [100, 100]


def test_the_books_of_the_novels_stay_on_one_side(make_dataset: Make, shared: Path) -> None:
    novels = shared / "novel_chapters"
    prepared = prepare(make_dataset(path=novels / "train.jsonl", test_path=novels / "test.jsonl", format="jsonl", group="book"))
    assert (len(prepared.pool), len(prepared.test), len(prepared.classes)) == (279, 160, 8)
    assert prepared.pool.groups is not None
    assert prepared.test.groups is not None
    assert not set(prepared.pool.groups) & set(prepared.test.groups)
    assert not prepared.contaminated.any()
