import csv
from pathlib import Path

import numpy as np
import pytest

import bakery
from bakeoff.commands import suspects as command
from bakeoff.commands.data import data
from bakeoff.config import Composer
from bakeoff.data.dataset import Prepared, prepare
from bakeoff.errors import ConfigError, DataError
from bakeoff.training import suspects
from bakeoff.training.suspects import Suspect

CLASSES = ("cars", "food", "trips")
TOPICS = {"cars": "engine wheel brake gear", "food": "soup bread cheese salt", "trips": "train hotel beach map"}


def write(path: Path, *, rows: int = 600, flipped: float = 0.05, group: bool = False) -> set[str]:
    """A table of texts with a few words of their topic among others; gives the texts whose label was flipped."""
    generator = np.random.default_rng(3)
    wrong: set[str] = set()
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", *(["customer"] if group else [])])
        for i in range(rows):
            topic = CLASSES[i % 3]
            words = [*generator.choice(TOPICS[topic].split(), 2), *generator.choice(bakery.FILLER, 8)]
            generator.shuffle(words)
            text, label = " ".join(words), topic
            if generator.random() < flipped:
                label = CLASSES[(i + 1) % 3]
                wrong.add(text)
            writer.writerow([text, label, *([f"c{i // 4}"] if group else [])])
    return wrong


def read(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def prepared_of(path: Path, *more: str) -> tuple[Prepared, list[str]]:
    settings = ["dataset=csv", f"dataset.path={path}", "dataset.text=text", "dataset.label=label", *more]
    return prepare(Composer().job(settings).run.dataset), settings


def test_flipped_labels_are_found(tmp_path: Path) -> None:
    wrong = write(tmp_path / "f.csv")
    prepared, settings = prepared_of(tmp_path / "f.csv")
    found = suspects.find(prepared, [Composer().job([*settings, "model=tfidf"]).run])
    flipped = {i for i, text in enumerate(prepared.pool.texts) if text in wrong}
    assert len(flipped) == 33
    assert {each.row for each in found} <= flipped  # precision 1
    assert len(found) == 29  # recall 29/33
    for each in found:
        assert prepared.classes[each.label] != prepared.classes[each.predicted]
        assert each.predicted_probability > each.label_probability
    assert [each.margin for each in found] == sorted(each.margin for each in found)


def test_a_copy_never_votes_for_its_own_label(tmp_path: Path) -> None:
    """A wrong label that stands on four equal texts is as wrong as on one: the copies share a fold."""
    write(tmp_path / "f.csv", flipped=0.0)
    with open(tmp_path / "f.csv", "a") as file:
        file.write("soup bread cheese salt gobal,trips\n" * 4)
    prepared, settings = prepared_of(tmp_path / "f.csv")
    copies = {i for i, text in enumerate(prepared.pool.texts) if text.endswith("gobal")}
    assert len(copies) == 4
    found = suspects.find(prepared, [Composer().job([*settings, "model=tfidf"]).run])
    assert copies <= {each.row for each in found}


def test_rows_are_ranked_by_confident_learning() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1])
    probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.45, 0.55], [0.2, 0.8], [0.7, 0.3]])
    # Thresholds: class 0 (0.9 + 0.8 + 0.1) / 3 = 0.6, class 1 (0.55 + 0.8 + 0.3) / 3 = 0.55
    assert suspects.rank(labels, probabilities) == (
        Suspect(row=2, label=0, predicted=1, label_probability=0.1, predicted_probability=0.9),
        Suspect(row=5, label=1, predicted=0, label_probability=0.3, predicted_probability=0.7),
    )


def test_a_class_without_labels_is_never_suggested() -> None:
    found = suspects.rank(np.array([0, 1]), np.array([[0.2, 0.1, 0.7], [0.1, 0.2, 0.7]]))
    assert found == ()


def test_the_command_writes_rows_of_the_user_s_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = write(tmp_path / "f.csv", group=True)
    lines = (tmp_path / "f.csv").read_text().splitlines()
    monkeypatch.setattr(command, "is_here", lambda run: run.model.name == "tfidf")
    monkeypatch.setattr("bakeoff.commands.data.lengths_tokens", lambda run, documents: np.ones(len(documents), dtype=np.int64))
    options = {"text": "text", "label": "label", "group": "customer"}
    out = tmp_path / "out.csv"
    data(str(tmp_path / "f.csv"), options, model="tfidf", format="table", suspects=10, out=out)
    rows = read(out)
    assert list(rows[0]) == ["row_id", "row", "label", "predicted", "label_probability", "predicted_probability", "text"]
    assert len(rows) == 10
    for row in rows:
        assert lines[int(row["row"]) - 1].startswith(f"{row['text']},{row['label']},")
    assert sum(row["text"] in wrong for row in rows) >= 9
    said = capsys.readouterr().err
    assert said.startswith("asking tfidf about the labels of ")
    assert said.splitlines()[1].startswith("10 of ")
    assert f"pool rows, by tfidf that never saw the row, are in {out}: read them before you relabel" in said
    assert not any(row["text"] in said for row in rows)
    with pytest.raises(DataError, match=rf"^--out {out} exists already and may hold work on labels: name a new file$"):
        data(str(tmp_path / "f.csv"), options, model="tfidf", format="table", suspects=10, out=out)
    with pytest.raises(ConfigError, match=r"^--out x.csv names the file of --suspects: add --suspects 50, for example$"):
        data(str(tmp_path / "f.csv"), options, model="tfidf", format="table", out=Path("x.csv"))


@pytest.mark.parametrize("text", ["=1+1 soup", "+soup", "-soup", "@soup", "\tsoup"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert command._escaped(text) == f"'{text}"
    assert command._escaped("soup = 1") == "soup = 1"
    assert [command._escaped(label) for label in ("-1", "+1", "-0.5")] == ["-1", "+1", "-0.5"]  # labels, which no spreadsheet runs
