"""Only rows that nothing of a model has seen confirm it, and how often is noted."""

import dataclasses
from pathlib import Path

import pytest

import bakery
import served
from bakeoff.data import dataset
from bakeoff.data.tokens import Document
from bakeoff.errors import DataError
from bakeoff.shipping import confirm
from bakeoff.shipping.stream import Chunk


def used() -> list[Document]:
    return [*served.rows(60, 1).texts, *served.rows(21, 2).texts]


def test_rows_of_the_data_are_left_out_whatever_their_case_and_digits() -> None:
    data = used()
    documents = [str(data[0]).upper(), f"  {data[61]}", data[1], "brand new 12", "Brand new 7", "another"]
    found = confirm.fresh([Chunk(documents=documents, labels=["pos"] * 5 + ["neg"])], data, served.CLASSES, {})
    assert found.documents == ["brand new 12", "another"]
    assert found.labels.tolist() == [1, 0]
    assert found.left_out == 4


def test_near_copies_of_the_data_are_left_out() -> None:
    data: list[Document] = ["one two three four five six seven eight nine", ("a pair", "of two texts")]
    documents: list[Document] = ["one two three four five six seven eight ten", "one two three four five six nine ten new", "else"]
    found = confirm.fresh([Chunk(documents=documents, labels=["pos", "pos", "neg"])], data, served.CLASSES, {})  # 8 of 10 words, 7 of 11
    assert (found.documents, found.labels.tolist(), found.left_out) == (documents[1:], [1, 0], 1)
    assert found.row_ids == [confirm.row_id(document) for document in documents[1:]]


def test_a_file_of_known_rows_confirms_nothing() -> None:
    data = used()
    with pytest.raises(DataError, match="all 60 rows of the file were there when the model was chosen"):
        confirm.fresh([Chunk(documents=data[:60], labels=["pos"] * 60)], data, served.CLASSES, {})
    with pytest.raises(DataError, match=r"^the file has no rows: "):
        confirm.fresh([], data, served.CLASSES, {})


def test_labels_are_renamed_as_those_of_the_run() -> None:
    rows = [Chunk(documents=["a", "b", "c"], labels=["0", 1.0, "neg"])]
    assert confirm.fresh(rows, [], served.CLASSES, {"0": "pos", "1": "neg"}).labels.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("label", "said"),
    [("po", "row 2 of the file has a label that is no class of the model; did you mean pos?"), ("", "row 2 .* has no label")],
)
def test_a_label_that_is_no_class_is_told_by_its_row(label: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        confirm.fresh([Chunk(documents=["x", "y"], labels=["pos", label])], used(), served.CLASSES, {})


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
    assert confirm.same_rows(before, ["b", "a"]) == before[0]
    assert confirm.same_rows(before, ["a"]) is None
    (tmp_path / confirm.FILE).write_text("{")
    with pytest.raises(DataError, match="cannot be read: move it away"):
        confirm.earlier(tmp_path)
