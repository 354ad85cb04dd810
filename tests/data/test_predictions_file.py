"""Answers made elsewhere: what a file may say, and the sentence for what it may not."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from bakeoff import fingerprint
from bakeoff.data import predictions_file
from bakeoff.data.predictions_file import FileAnswers
from bakeoff.errors import DataError
from bakeoff.spec import Predictions

IDS = tuple(f"{letter * 16}-0" for letter in "abcd")
CLASSES = ("angry", "calm", "sad")
LABELS = ("calm", "sad", "calm", "angry")


def read(file: Path, classes: tuple[str, ...] = CLASSES) -> FileAnswers:
    model = Predictions(name="rules", default_longdoc=None, path=str(file), fingerprint=fingerprint.of_bytes(file))  # type: ignore[arg-type]
    return predictions_file.read(model, IDS, classes)


def csv_file(folder: Path, *lines: str, head: str = "row_id,label") -> Path:
    file = folder / "answers.csv"
    file.write_text("\n".join([head, *lines]) + "\n")
    return file


def right(**more: list[Any]) -> list[dict[str, Any]]:
    """A correct row for each id; `more` are further columns."""
    return [{"row_id": IDS[i], "label": LABELS[i], **{name: values[i] for name, values in more.items()}} for i in range(4)]


def lines(rows: list[dict[str, Any]]) -> list[str]:
    return [",".join(str(value) for value in row.values()) for row in rows]


def test_answers_come_back_in_the_order_of_the_test_rows(tmp_path: Path) -> None:
    answers = read(csv_file(tmp_path, *reversed(lines(right()))))
    assert answers.probabilities.tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert not answers.has_probabilities
    assert answers.milliseconds.tolist() == answers.prices.tolist() == []


def test_the_rest_of_a_probability_is_shared_by_the_other_classes(tmp_path: Path) -> None:
    rows = right(probability=[0.9, 1, 0.5, 1 / 3])
    answers = read(csv_file(tmp_path, *lines(rows), head="row_id,label,probability"))
    assert answers.has_probabilities
    assert answers.probabilities[:3].tolist() == pytest.approx(np.array([[0.05, 0.9, 0.05], [0, 0, 1], [0.25, 0.5, 0.25]]), abs=1e-7)
    assert answers.probabilities[3].argmax() == 0, "at 1/3 all are equally likely, and the label is still the answer"
    assert answers.probabilities.sum(axis=1) == pytest.approx(np.ones(4))


ROWS = right(probability=[0.9, 0.8, 0.7, 0.6], milliseconds=[10, 20, None, 40], price=[0.001, 0.002, 0.003, None])


def as_csv(folder: Path) -> Path:
    said = [{name: "" if value is None else value for name, value in row.items()} for row in ROWS]
    return csv_file(folder, *lines(said), head="row_id,label,probability,milliseconds,price")


def as_json_lines(folder: Path) -> Path:
    file = folder / "answers.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    return file


def as_parquet(folder: Path) -> Path:
    parquet.write_table(pa.Table.from_pylist(ROWS), folder / "answers.parquet")
    return folder / "answers.parquet"


@pytest.mark.parametrize("write", [as_csv, as_json_lines, as_parquet])
def test_each_format_says_the_same(tmp_path: Path, write: Any) -> None:
    answers = read(write(tmp_path))
    assert answers.probabilities.max(axis=1).tolist() == pytest.approx([0.9, 0.8, 0.7, 0.6])
    assert answers.milliseconds.tolist() == [10, 20, 40]
    assert answers.prices.tolist() == [0.001, 0.002, 0.003]


def test_a_file_of_ids_and_texts_may_keep_its_texts(tmp_path: Path) -> None:
    rows = [f'{row_id},"said ""no"",\nthen left",{label}' for row_id, label in zip(IDS, LABELS, strict=True)]
    assert read(csv_file(tmp_path, *rows, head="row_id,text,label")).probabilities.argmax(axis=1).tolist() == [1, 2, 1, 0]


def test_texts_of_any_length_may_stay(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    rows = [f"{row_id},{'word ' * 40_000},{label}" for row_id, label in zip(IDS, LABELS, strict=True)]
    assert read(csv_file(tmp_path, *rows, head="row_id,text,label")).probabilities.argmax(axis=1).tolist() == [1, 2, 1, 0]
    assert csv.field_size_limit() == limit


def test_numbers_that_are_classes_mean_the_same_in_each_format(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(
        "\n".join(json.dumps({"row_id": row_id, "label": label}) for row_id, label in zip(IDS, [1, "1", 2.0, "2"], strict=True))
    )
    assert read(file, classes=("1", "2")).probabilities.argmax(axis=1).tolist() == [0, 0, 1, 1]


BAD: list[tuple[str, list[str], str]] = [
    (
        "row_id,label",
        [f"{IDS[0]},calm", f"{IDS[2]},calm"],
        "has no answer for 2 of 4 test rows, the first is bbbbbbbbbbbbbbbb-0: answer every row of "
        "`bakeoff data DATASET --test-rows FILE.csv`",
    ),
    (
        "row_id,label",
        [f"{row_id},calm" for row_id in (*IDS, IDS[1], IDS[1])],
        "answers 1 row more than once, the first is bbbbbbbbbbbbbbbb-0: keep one answer a row",
    ),
    (
        "row_id,label",
        [f"{row_id},calm" for row_id in (*IDS, "0123456789abcdef-0")],
        "has 1 row that the test set does not have, the first is 0123456789abcdef-0: take the ids from "
        "`bakeoff data DATASET --test-rows FILE.csv`",
    ),
    (
        "row_id,label",
        [f"{row_id},calm" for row_id in (*IDS, "a secret letter", "another")],
        "has 2 rows that the test set does not have, the first is in row 5, and has not the form of an id: take the ids from "
        "`bakeoff data DATASET --test-rows FILE.csv`",
    ),
    (
        "row_id,label",
        [f"{IDS[0]},calm", f"{IDS[1]},clam", f"{IDS[2]},", f"{IDS[3]},sad"],
        "has 2 rows whose label is no class, the first is bbbbbbbbbbbbbbbb-0 (clam); did you mean calm? There are angry, calm, sad",
    ),
    (
        "row_id,label",
        [f"{IDS[0]},calm", f"{IDS[1]},{'a secret letter ' * 9}", f"{IDS[2]},sad", f"{IDS[3]},sad"],
        "has 1 row whose label is no class, the first is bbbbbbbbbbbbbbbb-0 (a text of 143 characters); there are angry, calm, sad",
    ),
    (
        "row_id,label,probability",
        [f"{IDS[0]},calm,0.9", f"{IDS[1]},calm,90", f"{IDS[2]},calm,1.2", f"{IDS[3]},calm,1"],
        "has 2 rows whose probability is above 1, the first is bbbbbbbbbbbbbbbb-0: write 0.9 for 90%",
    ),
    (
        "row_id,label,probability",
        [f"{IDS[0]},calm,0.9", f"{IDS[1]},calm,-0.1", f"{IDS[2]},calm,high", f"{IDS[3]},calm,1"],
        "has 2 rows whose probability is no number from 0 up, the first is bbbbbbbbbbbbbbbb-0",
    ),
    (
        "row_id,label,probability",
        [f"{IDS[0]},calm,0.9", f"{IDS[1]},calm,", f"{IDS[2]},calm,0.5", f"{IDS[3]},calm,1"],
        "has no probability in 1 row, the first is bbbbbbbbbbbbbbbb-0: state all, or leave the column out",
    ),
    (
        "row_id,label,probability",
        [f"{IDS[0]},calm,0.9", f"{IDS[1]},calm,0.3", f"{IDS[2]},calm,0.5", f"{IDS[3]},calm,1"],
        "has 1 row whose probability is below 1/3, the first is bbbbbbbbbbbbbbbb-0: it is that of the label in its row, which must be the "
        "likeliest",
    ),
    (
        "row_id,label,price",
        [f"{IDS[0]},calm,0.9", f"{IDS[1]},calm,nan", f"{IDS[2]},calm,", f"{IDS[3]},calm,1"],
        "has 1 row whose price is no number from 0 up, the first is bbbbbbbbbbbbbbbb-0",
    ),
    (
        "row_id,label,probabilty",
        [f"{IDS[0]},calm,0.9"],
        "has a column probabilty, which means nothing here; did you mean probability? There are label, milliseconds, price, probability, "
        "row_id, text, text_pair",
    ),
    (
        "id,label",
        [],
        "has a column id, which means nothing here; did you mean row_id? There are label, milliseconds, price, probability, row_id, text, "
        "text_pair",
    ),
    (
        ",row_id,label",
        [f"0,{IDS[0]},calm"],
        "has no name for its column 1: leave it out (pandas writes one unless told index=False)",
    ),
    (
        f"{IDS[0]},a secret letter",
        [f"{IDS[1]},calm"],
        f"has a column {IDS[0]}, which means nothing here; there are label, milliseconds, price, probability, row_id, text, text_pair",
    ),
    (
        "label,a secret letter",
        [],
        "has a text in place of the name of column 2: its first line must name the columns",
    ),
    ("row_id", [], "has no column label: it should have row_id and label, and may have probability, milliseconds, price"),
    ("row_id,label", [f"{IDS[0]},calm,0.9"], "has rows with more cells than its header: quote texts that hold a separator"),
]


@pytest.mark.parametrize(("head", "rows", "sentence"), BAD, ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_what_is_wrong_is_one_sentence_with_a_count_and_an_id(tmp_path: Path, head: str, rows: list[str], sentence: str) -> None:
    with pytest.raises(DataError) as raised:
        read(csv_file(tmp_path, *rows, head=head))
    assert str(raised.value) == f"model.path=answers.csv {sentence}"
    assert "secret" not in str(raised.value)


def test_files_that_cannot_be_read_are_one_sentence_each(tmp_path: Path) -> None:
    wrong = {
        "answers.txt": (b"x", "should end in .csv, .jsonl or .parquet"),
        "answers.jsonl": (b'{"row_id": 1}\n[2]\n', "has no JSON object in line 2: write one object a line"),
        "answers.parquet": (b"x", "is no Parquet file that can be read: save it again"),
        "answers.csv": (b'row_id,label\n"a,b\n', "is no CSV behind line 1: close each quoted text"),
    }
    for name, (raw, sentence) in wrong.items():
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(DataError) as raised:
            read(tmp_path / name)
        assert str(raised.value) == f"model.path={name} {sentence}"


def test_a_file_that_changed_or_went_is_refused(tmp_path: Path) -> None:
    file = csv_file(tmp_path, *lines(right()))
    model = Predictions(name="rules", default_longdoc=None, path=str(file), fingerprint="f" * 64)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"^model\.path=answers\.csv changed since this Run was composed"):
        predictions_file.read(model, IDS, CLASSES)
    file.unlink()
    with pytest.raises(DataError, match=r"^model\.path=answers\.csv is no file: check the path$"):
        predictions_file.read(model, IDS, CLASSES)
