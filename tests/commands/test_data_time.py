"""`bakeoff data` on a file with dates, and on one that is wrong in its own options' words."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bakery
from bakeoff.commands import decide_against
from bakeoff.commands.data import data
from bakeoff.config import Composer
from bakeoff.data.dataset import prepare
from bakeoff.deciding.old_report import OldReport
from bakeoff.errors import DataError


def rows(count: int, *, day: int = 1) -> list[dict[str, str]]:
    return [
        {"body": text, "topic": str(label), "received": f"2024-03-{day + i * 20 // count:02}"}
        for i, (text, label) in enumerate(bakery.rows(count))
    ]


def write(path: Path, found: list[dict[str, str]]) -> str:
    pq.write_table(pa.Table.from_pylist(found), path)
    return str(path)


OPTIONS = {"text": "body", "label": "topic", "time": "received"}


def test_the_newest_rows_of_a_parquet_file(tmp_path: Path) -> None:
    path = write(tmp_path / "f.parquet", rows(200))
    assert "\ntest rows are the newest, from 2024-03-17T00:00:00 on\n" in data(path, OPTIONS, model="tfidf", format="table")
    plain = json.loads(data(path, OPTIONS, model="tfidf", format="json"))
    assert plain["n_test"] == 40
    assert plain["n_pool"] + sum(one["count"] for one in plain["findings"] if one["code"] == "left_out") == 160


def test_a_mistake_is_told_in_options(tmp_path: Path) -> None:
    path = write(tmp_path / "f.parquet", rows(200))
    with pytest.raises(
        DataError, match=r"^--time recieved is no column of f.parquet; did you mean received\? There are body, received, topic$"
    ):
        data(path, {**OPTIONS, "time": "recieved"}, model="tfidf", format="table")
    with pytest.raises(DataError, match=r"^--time body is no time in row 1 of f.parquet: name a column of dates, written as 2024-03-01"):
        data(path, {**OPTIONS, "time": "body"}, model="tfidf", format="table")


def test_settings_that_pin_a_cut_compose_to_the_same_split(tmp_path: Path) -> None:
    path = write(tmp_path / "f.parquet", rows(200))
    asked = ["dataset=csv", f"dataset.path={path}", "dataset.text=body", "dataset.label=topic", "dataset.time=received", "model=tfidf"]
    own = Composer().job(asked).run.dataset
    settings = decide_against.pinned(own)
    assert settings == {"dataset.newest_from": "['2024-03-17T00:00:00','2024-03-20T00:00:00.000001']", "dataset.newest_share": "null"}
    pinned = Composer().job([*asked, *(f"{key}={value}" for key, value in settings.items())]).run.dataset
    assert (pinned.newest_from, pinned.newest_share) == (("2024-03-17T00:00:00", "2024-03-20T00:00:00.000001"), None)
    assert prepare(pinned).test.row_ids == prepare(own).test.row_ids
    assert decide_against.pinned(Composer().job([*asked[:4], "model=tfidf"]).run.dataset) == {}


def test_a_grown_file_gets_a_cut_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "f.parquet", rows(200))
    asked = ["dataset=csv", f"dataset.path={path}", "dataset.text=body", "dataset.label=topic", "dataset.time=received", "model=tfidf"]
    own = Composer().job(asked).run.dataset
    first = Composer().job([*asked, *(f"{key}={value}" for key, value in decide_against.pinned(own).items())]).run
    old = OldReport(
        winner=SimpleNamespace(runs=(first,), answers=SimpleNamespace(row_ids=np.array(prepare(first.dataset).test.row_ids))), rivals=()
    )
    write(
        tmp_path / "f.parquet",
        [*rows(200), *({**row, "body": row["body"][::-1], "received": row["received"].replace("-03-", "-04-")} for row in rows(100))],
    )
    now = Composer().job(asked).run.dataset
    assert decide_against.grown(old, now) == {
        "dataset.newest_from": "['2024-03-17T00:00:00','2024-03-20T00:00:00.000001','2024-04-17T00:00:00','2024-04-20T00:00:00.000001']",
        "dataset.newest_share": "null",
    }
    write(tmp_path / "f.parquet", [{**row, "body": row["body"][::-1]} for row in rows(200)])
    with pytest.raises(DataError, match=r"^f has none of last month's test rows: give the file that has grown, or leave out --against$"):
        decide_against.grown(old, Composer().job(asked).run.dataset)
