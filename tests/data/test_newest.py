"""The newest share as test rows; and for every split that files may grow under: appended rows move no old row."""

import csv
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bakeoff import spec
from bakeoff.data import newest
from bakeoff.data.dataset import Prepared, prepare
from bakeoff.data.dataset import _build as build
from bakeoff.errors import DataError

Make = Callable[..., spec.Dataset]
Row = tuple[str, str, str, int]
"""Text, label, customer and day of the year 2024."""
WORDS = ("alpha", "bravo", "cargo", "delta", "eagle", "fudge", "green", "hotel", "igloo", "joker", "karma", "llama")


def write(path: Path, rows: Sequence[Row]) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label", "customer", "day"))
        writer.writerows((text, label, customer, f"2024-{1 + day // 28:02}-{1 + day % 28:02}") for text, label, customer, day in rows)
    return path


def plain(count: int, *, days: int = 300) -> list[Row]:
    """Rows of different words, so that none is another's copy; row i is of day i × days / count."""
    names = ["".join("abcdefghij"[int(digit)] for digit in f"{i:03}") for i in range(count)]  # digits are all one when masked
    return [(" ".join(f"{name}{end}" for end in "uvwxyz"), "ab"[i % 2], f"c{i % 17}", i * days // count) for i, name in enumerate(names)]


def texts(part: object) -> set[str]:
    return set(part.texts)  # type: ignore[attr-defined]


def test_the_newest_fifth_is_tested(make_dataset: Make, tmp_path: Path) -> None:
    rows = plain(100)
    found = prepare(make_dataset(path=write(tmp_path / "f.csv", rows[::-1]), split="newest", time="day", newest_share=0.2))
    assert texts(found.test) == {text for text, *_ in rows[80:]}
    assert texts(found.pool) == {text for text, *_ in rows[:80]}
    assert found.newest_from == ("2024-09-17T00:00:00", "2024-11-18T00:00:00.000001")  # days 240 and 297 of months of 28 days
    again = prepare(make_dataset(path=tmp_path / "f.csv", split="newest", time="day", newest_share=0.2))
    assert again.newest_from == found.newest_from  # from the cache
    pinned = prepare(make_dataset(path=tmp_path / "f.csv", split="newest", time="day", newest_from=found.newest_from))
    assert pinned.test.row_ids == found.test.row_ids


def test_equal_times_stay_on_one_side(make_dataset: Make, tmp_path: Path) -> None:
    rows = plain(100, days=4)  # 25 rows a day
    for share, tested in ((0.2, 25), (0.01, 25), (0.35, 25), (0.4, 50), (0.99, 75)):
        found = prepare(make_dataset(path=write(tmp_path / "f.csv", rows), split="newest", time="day", newest_share=share))
        assert (len(found.test), len(found.pool)) == (tested, 100 - tested)


def test_one_time_only_has_no_newest_rows(make_dataset: Make, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"^dataset.time=day is the same in every row, so no row is newer than another: name another column$"
    ):
        prepare(make_dataset(path=write(tmp_path / "f.csv", plain(20, days=1)), split="newest", time="day", newest_share=0.2))


def test_pool_rows_of_a_newer_group_and_copies_of_test_rows_are_left_out(make_dataset: Make, tmp_path: Path) -> None:
    rows = plain(100)
    rows = [(text, label, "returns" if i in (3, 95) else f"c{i}", day) for i, (text, label, _, day) in enumerate(rows)]
    rows.append((rows[99][0].upper(), "a", "copies", 5))
    found = prepare(make_dataset(path=write(tmp_path / "f.csv", rows), split="newest", time="day", newest_share=0.2, group="customer"))
    assert texts(found.dropped) == {rows[3][0], rows[100][0]}
    assert len(found.test) == 20
    assert set(found.pool.groups or ()).isdisjoint(found.test.groups or ())


def test_times_are_no_part_of_row_ids(make_dataset: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", plain(60))
    by_time = prepare(make_dataset(path=path, split="newest", time="day", newest_share=0.2))
    by_hash = prepare(make_dataset(path=path))
    assert {*by_time.pool.row_ids, *by_time.test.row_ids} == {*by_hash.pool.row_ids, *by_hash.test.row_ids}


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        (
            ("soon",),
            "dataset.newest_from=soon is no time: write it as 2024-03-01 or 2024-03-01T12:00:00, or as the number that the column holds",
        ),
        (("2024",), "dataset.newest_from=2024 should be a date, since dataset.time=day holds dates"),
        (("2024-03-02", "2024-03-01"), "dataset.newest_from=2024-03-02, 2024-03-01 should hold different times, the earliest first"),
        (("2030-01-01",), "dataset.split=newest leaves no test rows of 20 rows: use another split or more data"),
    ],
)
def test_cuts_that_make_no_sense(make_dataset: Make, tmp_path: Path, cuts: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError) as raised:
        prepare(make_dataset(path=write(tmp_path / "f.csv", plain(20)), split="newest", time="day", newest_from=cuts))
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"time": "day"}, "dataset.time=day goes with dataset.split=newest, but dataset.split=fold"),
        ({"split": "newest", "newest_share": 0.2}, "dataset.time=None goes with dataset.split=newest, but dataset.split=newest"),
        ({"newest_share": 0.2}, "dataset.newest_share and dataset.newest_from need dataset.time, the column that says what is newest"),
        (
            {"split": "newest", "time": "day"},
            "dataset.newest_share=None and dataset.newest_from=None: set one of the two, the other is null",
        ),
        ({"split": "newest", "time": "day", "newest_share": 1.0}, "dataset.newest_share=1.0 should be between 0 and 1, for example 0.2"),
        (
            {"split": "newest", "time": "day", "newest_share": 0.2, "newest_from": ("2024",)},
            "dataset.newest_share=0.2 and dataset.newest_from=('2024',): set one of the two, the other is null",
        ),
    ],
)
def test_settings_that_make_no_sense(make_dataset: Make, tmp_path: Path, fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        make_dataset(path=write(tmp_path / "f.csv", plain(20)), **fields)
    assert str(raised.value) == message


def test_appended_rows_are_divided_anew_and_old_ones_stay(make_dataset: Make, tmp_path: Path) -> None:
    rows = plain(100)
    old = prepare(make_dataset(path=write(tmp_path / "f.csv", rows[:50]), split="newest", time="day", newest_share=0.2))
    assert old.newest_from is not None
    pinned = make_dataset(path=write(tmp_path / "f.csv", rows), split="newest", time="day", newest_from=old.newest_from)
    waiting = prepare(pinned)
    assert texts(waiting.test) == {text for text, *_ in rows[40:50]}  # what was appended is no test row before it is divided
    cuts = newest.grown_from(pinned, old.newest_from, 0.2)
    assert len(cuts) == 4
    assert cuts[:2] == old.newest_from
    found = prepare(dataclasses.replace(pinned, newest_from=cuts))
    assert texts(found.test) == {text for text, *_ in (*rows[40:50], *rows[90:])}
    assert texts(found.pool) == {text for text, *_ in (*rows[:40], *rows[50:90])}
    assert found.newest_from == cuts


@pytest.mark.parametrize(
    ("cuts", "moments", "expected"),
    [
        ((8, 11), [*range(11)], (8, 11)),  # nothing appended
        ((8, 11), [*range(11), 11], (8, 11, 11, 12)),  # one time only: all of it is test
        ((8, 11), [*range(21)], (8, 11, 19, 21)),
        ((8, 11, 19, 21), [*range(31)], (8, 11, 19, 21, 29, 31)),
        ((0.5, 2.5), [0.5, 2.0, 2.5, 3.5], (0.5, 2.5, 3.5, 3.5000000000000004)),
    ],
)
def test_cuts_of_a_file_that_grows(cuts: tuple[float, ...], moments: list[float], expected: tuple[float, ...]) -> None:
    assert newest.grown(cuts, moments, 0.2) == expected


row = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(("a", "b", "c")),
    st.sampled_from(tuple(f"c{i}" for i in range(8))),
    st.integers(0, 90),
)


@pytest.mark.parametrize("split", ["random", "groups", "time", "time with groups"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(row, min_size=12, max_size=40), appended=st.lists(row, max_size=30), data=st.data())
def test_appending_rows_moves_no_old_row(
    make_dataset: Make, tmp_path: Path, split: str, first: list[Row], appended: list[Row], data: st.DataObject
) -> None:
    """No text changes sides. Copies are counted by time, so of a text that came in late the last copy, not the first, has a new id."""
    fields: dict[str, object] = {"group": "customer"} if "groups" in split else {}
    if split.startswith("time"):
        fields |= {"split": "newest", "time": "day", "newest_share": 0.3}
    old = built(make_dataset(path=write(tmp_path / "f.csv", first), **fields))
    if old is None:
        return
    everything = data.draw(st.permutations([*first, *appended]))
    path = write(tmp_path / "f.csv", everything)
    dataset = make_dataset(path=path, **fields)
    if split.startswith("time"):
        cuts = newest.grown_from(dataset, old.newest_from or (), 0.3)
        dataset = dataclasses.replace(dataset, newest_share=None, newest_from=cuts)
    new = built(dataset)
    if new is None:
        return
    assert not set(old.test.row_ids) & set(new.pool.row_ids)
    assert not set(old.pool.row_ids) & set(new.test.row_ids)
    assert not texts(new.pool) & texts(new.test)
    assert not texts(old.test) & texts(new.pool)
    assert len(new.pool) + len(new.test) + len(new.dropped) == len(everything)
    if "groups" in split:
        assert set(new.pool.groups or ()).isdisjoint(new.test.groups or ())
    else:
        assert set(old.test.row_ids) <= set(new.test.row_ids) or split == "time"


def built(dataset: spec.Dataset) -> Prepared | None:
    """Prepared anew; None for rows that a split refuses."""
    try:
        return build(dataset)
    except DataError:
        return None
