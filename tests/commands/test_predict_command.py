"""`bakeoff predict`: a file in, a file out, nothing lost and nothing overwritten."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import bakery
from bakeoff.cache import cache_root
from bakeoff.commands import confirm as confirming
from bakeoff.commands import predict as command
from bakeoff.errors import DataError
from bakeoff.shipping import folder as files
from bakeoff.shipping.folder import Shipment

HOW = command.How(threads=1, batch_size=2, encoding="auto")
NOTHING = command.Asked(text=None, text_pair=None, id=None, label=None)


@pytest.fixture
def made(tmp_path: Path) -> bakery.Baked:
    file = bakery.write_csv(tmp_path / "tickets.csv", bakery.rows(200))
    job = bakery.compose(*bakery.on_table(file), "machine.keep_weights=all", *bakery.TINY["tfidf"], "budget.labels=100")
    baked = bakery.bake(job)
    (tmp_path / "model").mkdir()
    files.write(tmp_path / "model", Shipment(run=job.run, source=baked.folder / "model", engine="eager", refitted=False))
    return baked


def lines(path: Path) -> list[list[str]]:
    with open(path, newline="") as file:
        return list(csv.reader(file))


def asked(**columns: str) -> command.Asked:
    return command.Asked(**{"text": None, "text_pair": None, "id": None, "label": None} | columns)  # type: ignore[arg-type]


def test_a_file_is_labelled_in_its_order(made: bakery.Baked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, texts = tmp_path / "labels.csv", [text for text, _ in bakery.rows(301, seed=5)]
    file = bakery.write_csv(tmp_path / "new.csv", [(text, f"{number}") for number, text in enumerate(texts)])
    assert command.predict(tmp_path / "model", file, asked(id="label"), HOW, out=out) == 0
    found = lines(out)
    assert found[0] == ["id", "row", "label", "probability"]
    assert [line[0] for line in found[1:]] == [str(number) for number in range(301)]
    assert [line[1] for line in found[1:]] == [str(number) for number in range(1, 302)]
    from bakeoff.shipping import served

    expected = served.load(tmp_path / "model", threads=1).classifier.probabilities(texts)
    assert [line[2] for line in found[1:]] == [("neg", "pos")[number] for number in expected.argmax(axis=1)]
    assert np.abs(np.asarray([float(line[3]) for line in found[1:]]) - expected.max(axis=1)).max() <= 5.1e-7
    assert "301 rows are labelled in" in capsys.readouterr().err
    assert not (tmp_path / "labels.csv.partial").exists()


def test_standard_output_takes_it_too(made: bakery.Baked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new.jsonl").write_text('{"body": "good"}\n{"body": "bad"}\n')
    command.predict(tmp_path / "model", tmp_path / "new.jsonl", asked(text="body"), HOW, out=None)
    assert [line.split(",")[:2] for line in capsys.readouterr().out.splitlines()] == [["row", "label"], ["1", "neg"], ["2", "pos"]]


def test_nothing_is_overwritten(made: bakery.Baked, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="exists already: name a new file"):
        command.predict(tmp_path / "model", tmp_path / "tickets.csv", NOTHING, HOW, out=tmp_path / "tickets.csv")


def test_rows_before_a_bad_line_are_kept(made: bakery.Baked, tmp_path: Path) -> None:
    file, out = tmp_path / "new.csv", tmp_path / "labels.csv"
    file.write_text('text,n\ngood,1\nbad,2\ngood,3\n"bad"x,4\n')
    with pytest.raises(DataError, match=r"broken quote at line 5: .* \(the 3 rows before it are labelled in labels.csv.partial\)$"):
        command.predict(tmp_path / "model", file, NOTHING, HOW, out=out)
    assert not out.exists()
    assert [line[1] for line in lines(tmp_path / "labels.csv.partial")] == ["label", "neg", "pos", "neg"]


@pytest.mark.parametrize(
    ("name", "columns", "said"),
    [
        ("none.csv", {}, "none.csv cannot be read (No such file or directory): check the path"),
        ("tickets.csv", {"text": "txt"}, "--text txt is no column of tickets.csv; did you mean text? There are label, text"),
        ("tickets.csv", {"text_pair": "label"}, "the model reads one text a row, not two: leave --text-pair out"),
    ],
)
def test_a_wrong_file_or_column_is_told(name: str, columns: dict[str, str], said: str, made: bakery.Baked, tmp_path: Path) -> None:
    with pytest.raises(DataError) as mistake:
        command.predict(tmp_path / "model", tmp_path / name, asked(**columns), HOW, out=tmp_path / "out.csv")
    assert str(mistake.value) == said
    assert not (tmp_path / "out.csv.partial").exists()


def test_fresh_labels_confirm_a_model_and_old_ones_do_not(made: bakery.Baked, tmp_path: Path) -> None:
    def confirm(rows: Sequence[bakery.Row]) -> str:
        file = bakery.write_csv(tmp_path / "fresh.csv", rows)
        return confirming.confirm(tmp_path / "model", file, asked(label="label"), HOW)

    new, old = bakery.rows(80, seed=9), bakery.rows(200)[:3]
    first = confirm([*new, *old])
    assert first.splitlines()[0].endswith("on 80 rows that nothing of the model has seen")
    assert first.splitlines()[1] == "3 rows were left out: their texts are in the Run's data, or nearly, or stand twice in the file"
    again = confirm([*new[:2], *bakery.rows(10, seed=11)])
    assert "2 of these rows confirmed this model before" in again.splitlines()[-1]
    assert "(confirmation 2; " in again.splitlines()[-1]
    assert confirm([*new[:2], *bakery.rows(10, seed=11)]).splitlines()[-1].endswith("so they are not counted again")
    assert json.loads((tmp_path / "model" / "confirmations.json").read_text())["count"] == 2
    with pytest.raises(DataError, match="pass --label COLUMN"):
        confirming.confirm(tmp_path / "model", tmp_path / "fresh.csv", NOTHING, HOW)


def test_rows_appended_to_the_data_since_confirm_a_model(made: bakery.Baked, tmp_path: Path) -> None:
    fresh = bakery.rows(40, seed=9)
    grown = bakery.write_csv(tmp_path / "tickets.csv", [*bakery.rows(200), *fresh])
    said = confirming.confirm(tmp_path / "model", grown, asked(label="label"), HOW)
    assert said.splitlines()[0].endswith("on 40 rows that nothing of the model has seen")
    assert said.splitlines()[1].startswith("200 rows were left out")
    (tmp_path / "model" / "confirmations.json").unlink()
    for file in (cache_root() / "prepared").glob("*"):
        file.unlink()
    with pytest.raises(DataError) as mistake:
        confirming.confirm(tmp_path / "model", grown, asked(label="label"), HOW)
    assert str(mistake.value) == (
        f"the data of {made.record.run_id} (tickets) has changed and is no longer in the cache as it was, so nothing says which labels "
        "are new: put its file back as it was when the model was chosen"
    )
    assert not (tmp_path / "model" / "confirmations.json").exists()


def test_texts_without_labels_that_the_run_read_confirm_nothing(tmp_path: Path) -> None:
    file, read = bakery.write_csv(tmp_path / "tickets.csv", bakery.rows(200)), bakery.rows(30, seed=9)
    (tmp_path / "more.txt").write_text("\n".join(text for text, _ in read[:20]))
    extra = ("budget.unlabelled=file", f"budget.unlabelled_path={tmp_path / 'more.txt'}")
    job = bakery.compose(*bakery.on_table(file), "machine.keep_weights=all", *bakery.TINY["tfidf"], "budget.labels=100", *extra)
    baked = bakery.bake(job)
    (tmp_path / "model").mkdir()
    files.write(tmp_path / "model", Shipment(run=job.run, source=baked.folder / "model", engine="eager", refitted=False))
    said = confirming.confirm(tmp_path / "model", bakery.write_csv(tmp_path / "fresh.csv", read), asked(label="label"), HOW)
    assert said.splitlines()[0].endswith("on 10 rows that nothing of the model has seen")
    assert said.splitlines()[1].startswith("20 rows were left out")
