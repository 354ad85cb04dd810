"""Datasets on the hub: in-memory ones in place of a download, and a real round trip through files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Sequence, Value

from bakeoff import fingerprint, spec
from bakeoff.data import sources
from bakeoff.data.dataset import prepare, verify
from bakeoff.data.sources import RawRows
from bakeoff.errors import DataError

Make = Callable[..., spec.Dataset]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CLASSES = Features({"text": Value("string"), "label": ClassLabel(names=["neg", "pos"])})


@pytest.fixture
def hub(make_dataset: Make) -> Make:
    """A dataset at `owner/reviews`, official split, from the fields that matter to a test."""

    def make(**fields: object) -> spec.Dataset:
        values: dict[str, Any] = {"hub": "owner/reviews", "hub_config": None, "revision": COMMIT, "hub_pool": "train", "hub_test": "test"}
        values |= {"format": "hub", "text": "text", "label": "label", "split": "official"} | fields
        named = {"config": values["hub_config"], "revision": values["revision"], "pool": values["hub_pool"], "test": values["hub_test"]}
        return make_dataset(**{"fingerprint": fingerprint.of_hub_dataset(values["hub"], **named)} | values)

    return make


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[Any, ...]]]:
    """Have `datasets.load_dataset` give these splits, whatever is asked; returns what was asked."""

    def put(features: Features | None = CLASSES, **splits: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
        asked: list[tuple[Any, ...]] = []
        found = DatasetDict({name: Dataset.from_dict(columns, features=features) for name, columns in splits.items()})

        def load(path: str, name: str | None = None, *, revision: str | None = None) -> DatasetDict:
            asked.append((path, name, revision))
            return found

        monkeypatch.setattr(datasets, "load_dataset", load)
        return asked

    return put


def test_class_labels_are_their_names_and_texts_are_as_they_stand(hub: Make, serve: Callable[..., Any]) -> None:
    texts = ["NA", "null", "None", "", "a\r\nb"]
    asked = serve(train={"text": texts, "label": [0, 1, 0, 1, 1]}, test={"text": ["t"], "label": [1]})
    assert sources.read(hub(hub_config="plain")) == {
        "pool": RawRows(texts=("NA", "null", "None", "", "a\nb"), labels=("neg", "pos", "neg", "pos", "pos"), groups=None),
        "test": RawRows(texts=("t",), labels=("pos",), groups=None),
    }
    assert asked == [("owner/reviews", "plain", COMMIT)]


def test_pairs_groups_plain_labels_and_folds(hub: Make, serve: Callable[..., Any]) -> None:
    rows = {
        "q": [f"q{each}" for each in "abcdefghi"],
        "a": [f"a{each}" for each in "abcdefghi"],
        "y": [7.0, 8.0, 9.0] * 3,
        "user": [*range(9)],
    }
    serve(None, train=rows)
    dataset = hub(text="q", text_pair="a", label="y", group="user", split="fold", hub_test=None, fold=0)
    (found,) = sources.read(dataset).values()
    assert (found.texts[1], found.pairs, found.labels[:3], found.groups) == (
        "qb",
        tuple(rows["a"]),
        ("7", "8", "9"),
        tuple("012345678"),
    )
    prepared = prepare(dataset)
    assert prepared.classes == ("7", "8", "9")
    assert len(prepared.pool) + len(prepared.test) == 9


def test_the_label_map_names_the_classes_of_the_hub(hub: Make, serve: Callable[..., Any]) -> None:
    serve(train={"text": ["a", "b"], "label": [0, 1]}, test={"text": ["t"], "label": [1]})
    assert sources.read(hub(label_map={"neg": "bad"}))["pool"].labels == ("bad", "pos")


MANY = Features({"text": Value("string"), "label": Sequence(Value("string"))})


@pytest.mark.parametrize(
    ("features", "columns", "fields", "message"),
    [
        (CLASSES, {"text": ["a", "b"], "label": [0, -1]}, {}, r"owner/reviews \(train\) has no label in 1 rows, the first is row 2: label"),
        (CLASSES, {"text": ["a", None], "label": [0, 1]}, {}, r"dataset.text=text is null in row 2 of owner/reviews \(train\): it should"),
        (
            None,
            {"text": [1, 2], "label": ["x", "y"]},
            {},
            r"dataset.text=text is int in row 1 of owner/reviews \(train\): it should be a te",
        ),
        (CLASSES, {"text": ["a", "b"], "label": [1, 1]}, {}, r"owner/reviews \(train\) has one class only \(pos\): a classifier needs"),
        (CLASSES, {"text": [], "label": []}, {}, r"owner/reviews \(train\) has no rows: give"),
        (MANY, {"text": ["a", "b"], "label": [["x"], ["x", "y"]]}, {}, r"a label holds several classes at once \(multi-label\)"),
        (
            CLASSES,
            {"text": ["a", "b"], "label": [0, 1]},
            {"text": "sentence"},
            r"dataset.text=sentence is no column of owner/reviews \(train\); there are label, text",
        ),
        (
            CLASSES,
            {"text": ["a", "b"], "label": [0, 1]},
            {"text_pair": "txt"},
            r"dataset.text_pair=txt is no column of owner/reviews \(train\); did you mean text\? There are label, text",
        ),
        (
            CLASSES,
            {"text": ["a", "b"], "label": [0, 1]},
            {"hub_test": "tests"},
            r"dataset.hub_test=tests is no split of owner/reviews; did you mean test\? There are test, train",
        ),
        (
            CLASSES,
            {"text": ["a", "b"], "label": [0, 1]},
            {"hub_pool": "all"},
            r"dataset.hub_pool=all is no split of owner/reviews; there are test, train",
        ),
    ],
)
def test_mistakes_about_the_hub_are_one_sentence(
    hub: Make, serve: Callable[..., Any], features: Features | None, columns: dict[str, list[Any]], fields: dict[str, str], message: str
) -> None:
    serve(features, train=columns, test=columns)
    with pytest.raises(DataError, match=f"^{message}"):
        sources.read(hub(**fields))


@pytest.mark.parametrize("error", [ConnectionError("canary"), FileNotFoundError("canary"), ValueError("canary"), RuntimeError("canary")])
def test_a_hub_that_cannot_be_reached_is_one_sentence(hub: Make, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def unreachable(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataError) as raised:
        prepare(hub())
    assert str(raised.value) == (
        f"dataset.hub=owner/reviews could not be had from the Hugging Face hub ({type(error).__name__}): check the name, "
        "dataset.hub_config, dataset.revision and the network, or use a file with dataset=csv or a starter dataset "
        "(books, movie, newsgroups, reuters52, reuters8)"
    )
    assert "canary" not in str(raised.value)


def test_the_fingerprint_covers_commit_configuration_and_splits(hub: Make) -> None:
    asked = [
        hub(),
        hub(revision=COMMIT[::-1]),
        hub(hub="other/reviews"),
        hub(hub_config="small"),
        hub(hub_pool="validation"),
        hub(hub_test="validation"),
    ]
    assert len({dataset.fingerprint for dataset in asked}) == len(asked)
    for dataset in asked:
        verify(dataset)
    with pytest.raises(DataError, match=r"^owner/reviews changed since this Run was composed"):
        verify(hub(fingerprint="0" * 64))


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        (
            None,
            r"dataset.hub=owner/reviews is on the hub and needs its commit: set dataset.revision=<40 hex digits> \(the starter datasets",
        ),
        ("main", r"dataset.revision=main should be a commit of 40 hex digits"),
        (COMMIT.upper(), r"dataset.revision=\w+ should be a commit of 40 hex digits"),
    ],
)
def test_only_a_commit_is_an_identity(hub: Make, revision: str | None, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        hub(revision=revision)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hub_pool": None}, "dataset.hub=owner/reviews goes with dataset.format=hub and dataset.hub_pool"),
        ({"format": "csv"}, "dataset.hub=owner/reviews goes with dataset.format=hub and dataset.hub_pool"),
        ({"path": "f.csv"}, "dataset.hub=owner/reviews goes with dataset.format=hub and dataset.hub_pool"),
        ({"text": None}, "dataset.text is empty: name the column that holds the text"),
        ({"hub_test": None}, "dataset.split=official needs dataset.hub_test=SPLIT with the official test rows"),
        ({"split": "fold"}, "dataset.hub_test needs dataset.split=official, but dataset.split=fold"),
    ],
)
def test_a_hub_dataset_that_makes_no_sense_is_refused(hub: Make, fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        hub(**fields)


def test_a_round_trip_through_real_files(hub: Make, make_dataset: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")
    texts = [f"{word} text number" for word in ("one", "two", "three", "four", "NA", "None")]
    for name, rows in (("train", texts[:4]), ("test", texts[4:])):
        split = Dataset.from_dict({"text": rows, "label": [i % 2 for i in range(len(rows))]}, features=CLASSES)
        (tmp_path / "reviews" / "data").mkdir(parents=True, exist_ok=True)
        split.to_parquet(tmp_path / "reviews" / "data" / f"{name}-00000-of-00001.parquet")
    prepared = prepare(hub(hub=str(tmp_path / "reviews")))
    assert set(prepared.pool.texts) == set(texts[:4])
    assert set(prepared.test.texts) == set(texts[4:])
    assert prepared.classes == ("neg", "pos")
    table = tmp_path / "f.csv"
    table.write_text("text,label\n" + "".join(f"{text},{('neg', 'pos')[i % 2]}\n" for i, text in enumerate(texts[:4])))
    held = tmp_path / "t.csv"
    held.write_text("text,label\n" + "".join(f"{text},{('neg', 'pos')[i % 2]}\n" for i, text in enumerate(texts[4:])))
    same = prepare(make_dataset(path=table, test_path=held))
    assert (same.pool.row_ids, same.pool.labels.tolist()) == (prepared.pool.row_ids, prepared.pool.labels.tolist())
