"""Only rows that nothing of a model has seen confirm it, and how often is noted."""

import dataclasses
from pathlib import Path

import pytest

import bakery
import served
from bakeoff.data import dataset
from bakeoff.data.dataset import Prepared
from bakeoff.errors import DataError
from bakeoff.shipping import confirm
from bakeoff.shipping.stream import Chunk


def used() -> Prepared:
    made = served.prepared()
    return dataclasses.replace(made, dropped=served.rows(2, 3))


def test_rows_of_the_data_are_left_out_whatever_their_case_and_digits() -> None:
    data = used()
    documents = [data.pool.texts[0].upper(), f"  {data.test.texts[1]}", data.dropped.texts[0], "brand new 12", "Brand new 7", "another"]
    found = confirm.fresh([Chunk(documents=documents, labels=["pos"] * 5 + ["neg"])], data, served.CLASSES)
    assert found.documents == ["brand new 12", "another"]
    assert found.labels.tolist() == [1, 0]
    assert found.left_out == 4


def test_a_file_of_known_rows_confirms_nothing() -> None:
    data = used()
    with pytest.raises(DataError, match="all 60 rows of the file were there when the model was chosen"):
        confirm.fresh([Chunk(documents=list(data.pool.texts), labels=["pos"] * 60)], data, served.CLASSES)


@pytest.mark.parametrize(
    ("label", "said"),
    [("po", "row 2 of the file has a label that is no class of the model; did you mean pos?"), ("", "row 2 .* has no label")],
)
def test_a_label_that_is_no_class_is_told_by_its_row(label: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        confirm.fresh([Chunk(documents=["x", "y"], labels=["pos", label])], used(), served.CLASSES)


def test_ids_are_those_of_datasets(tmp_path: Path) -> None:
    file = bakery.write_csv(tmp_path / "rows.csv", bakery.rows(40))
    prepared = dataset.prepare(bakery.compose(*bakery.on_table(file), "model=majority").run.dataset)
    rows = prepared.pool
    assert [confirm.row_id(text) for text in rows.texts] == [row_id.partition("-")[0] for row_id in rows.row_ids]
    assert confirm.row_id(("a", "b")) not in {confirm.row_id("ab"), confirm.row_id("a\nb"), confirm.row_id(("ab", ""))}


def test_confirmations_are_counted(tmp_path: Path) -> None:
    first = confirm.Confirmation(at="2026-01-01T00:00:00Z", n=2, left_out=0, accuracy=0.5, low=0.0, high=1.0, row_ids=("a", "b"))
    assert confirm.earlier(tmp_path) == []
    (tmp_path / confirm.FILE).write_text(confirm.note([], first))
    before = confirm.earlier(tmp_path)
    assert before[0]["row_ids"] == ["a", "b"]
    assert confirm.repeated(before, ["b", "c", "a"]) == 2
    assert '"count": 2' in confirm.note(before, dataclasses.replace(first, row_ids=("c",)))
    (tmp_path / confirm.FILE).write_text("{")
    with pytest.raises(DataError, match="cannot be read: move it away"):
        confirm.earlier(tmp_path)
