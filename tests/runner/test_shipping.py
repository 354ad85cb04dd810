"""What travels with a Run, and where it lies then."""

from dataclasses import replace
from pathlib import Path

import pytest
import toys
from hypothesis import given
from hypothesis import strategies as st

from bakeoff import record
from bakeoff.errors import DataError
from bakeoff.runner import shipping
from bakeoff.spec import BiLstm, Predictions, Pretrained, Run
from bakeoff.store import Store

NAMES = st.from_regex(r"([a-z]{1,2}/){0,2}[a-z]{1,2}\.txt", fullmatch=True)


def full(tmp_path: Path) -> Run:
    """A Run that reads data, test data, unlabelled texts and vectors of its own."""
    run = toys.make_run(model="bilstm")
    assert isinstance(run.model, BiLstm)
    dataset = replace(run.dataset, path=str(tmp_path / "a.csv"), test_path=str(tmp_path / "b.csv"), split="official", fold=None)
    budget = replace(run.budget, unlabelled="file", unlabelled_path=str(tmp_path / "c.txt"), unlabelled_fingerprint="c" * 64)
    model = replace(run.model, embeddings="vectors", vectors=str(tmp_path / "d.txt"), vectors_fingerprint="d" * 64)
    return replace(run, dataset=dataset, budget=budget, model=model)


def test_every_field_that_may_name_a_folder_travels() -> None:
    assert {field for _, field in shipping.FINGERPRINTS} == set(record.PATHS)


def test_all_own_files_are_found_and_moved_and_the_run_stays_the_same(tmp_path: Path) -> None:
    run = full(tmp_path)
    found = {(own.noun, own.field): own for own in shipping.own_files(run)}
    assert {key: (own.path.name, own.fingerprint[0]) for key, own in found.items()} == {
        ("dataset", "path"): ("a.csv", "f"),
        ("dataset", "test_path"): ("b.csv", "f"),
        ("budget", "unlabelled_path"): ("c.txt", "c"),
        ("model", "vectors"): ("d.txt", "d"),
    }
    there = shipping.moved(run, Path("/there"))
    assert there.run_id == run.run_id
    assert isinstance(there.model, BiLstm)
    moved = (there.dataset.path, there.dataset.test_path, there.budget.unlabelled_path, there.model.vectors)
    assert moved == tuple(f"/there/{own.place}" for own in found.values())
    assert [Path(str(path)).name for path in moved] == ["a.csv", "b.csv", "c.txt", "d.txt"]
    assert len({own.place.parent for own in found.values()}) == 4


def test_what_has_a_name_everywhere_stays_here() -> None:
    run = toys.make_run(model="pretrained")
    run = replace(run, dataset=replace(run.dataset, asset="movie", path=None, text=None, label=None, format="movie"))
    assert shipping.own_files(run) == []
    assert shipping.moved(run, Path("/there")) == run


def test_a_file_of_predictions_and_a_folder_of_a_checkpoint_are_a_models_own() -> None:
    run = toys.make_run(model="pretrained")
    assert isinstance(run.model, Pretrained)
    checkpoint = replace(run, model=replace(run.model, checkpoint="/home/anne/bert"))
    predictions = replace(
        run, model=Predictions(name="rules", default_longdoc=toys.FULL, path="/home/anne/rules.csv", fingerprint="e" * 64)
    )
    assert [(own.field, own.path.name) for own in shipping.own_files(checkpoint)][1:] == [("checkpoint", "bert")]
    assert [(own.field, own.path.name) for own in shipping.own_files(predictions)][1:] == [("path", "rules.csv")]


def test_equal_bytes_under_one_name_are_one_and_other_bytes_are_another(tmp_path: Path) -> None:
    run = full(tmp_path)
    again = replace(run, seed=7)
    other = replace(run, dataset=replace(run.dataset, fingerprint="e" * 64))
    places = [{own.field: own.place for own in shipping.own_files(each)} for each in (run, again, other)]
    assert places[0] == places[1]
    assert {field for field in places[0] if places[0][field] != places[2][field]} == {"path", "test_path"}


def own(path: Path, noun: shipping.Noun = "dataset", field: str = "path") -> shipping.Own:
    return shipping.Own(noun=noun, field=field, path=path, fingerprint="f" * 64)


def test_a_folder_of_classes_and_a_checkpoint_are_packed_as_they_are_read(tmp_path: Path) -> None:
    for name in ("reviews/pos/1.txt", "reviews/neg/1.txt", "reviews/readme.txt", "reviews/pos/deep/2.txt"):
        shipping.unpack({name: name.encode()}, tmp_path)
    assert shipping.pack_own(own(tmp_path / "reviews")) == {
        "reviews/neg/1.txt": b"reviews/neg/1.txt",
        "reviews/pos/1.txt": b"reviews/pos/1.txt",
    }
    for name in ("config.json", "model.safetensors", "vocab.txt", "optimizer.pt", "1_Pooling/config.json", "runs/events"):
        shipping.unpack({f"bert/{name}": b""}, tmp_path)
    assert sorted(shipping.pack_own(own(tmp_path / "bert", "model", "checkpoint"))) == [
        "bert/1_Pooling/config.json",
        "bert/config.json",
        "bert/model.safetensors",
        "bert/vocab.txt",
    ]


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^budget.unlabelled_path=gone.txt does not exist any more, or is empty: check the path$"):
        shipping.pack_own(own(tmp_path / "gone.txt", "budget", "unlabelled_path"))


@given(packed=st.dictionaries(NAMES, st.binary(max_size=20), max_size=6))
def test_what_is_packed_is_unpacked(tmp_path_factory: pytest.TempPathFactory, packed: shipping.Packed) -> None:
    folder = tmp_path_factory.mktemp("there")
    shipping.unpack(packed, folder)
    assert shipping.pack(folder) == packed
    assert shipping.below({f"x/{name}": content for name, content in packed.items()} | {"y/z": b""}, "x") == packed


def test_weights_that_are_gone_are_not_sent_as_none(tmp_path: Path) -> None:
    (tmp_path / "0123456789ab").mkdir()
    with pytest.raises(DataError, match="the weights of 0123456789ab are gone"):
        shipping.pack_weights(Store(tmp_path), "0123456789ab")


def test_links_are_not_packed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("text")
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "folder").symlink_to(tmp_path / "there")
    (tmp_path / "packed" / "file").symlink_to(tmp_path / "there" / "file")
    assert shipping.pack(tmp_path / "packed") == {}


@pytest.mark.parametrize("name", ["/etc/file", "../file", "a/../../file"])
def test_nothing_is_written_outside_a_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="leads out of its folder"):
        shipping.unpack({name: b""}, tmp_path)


def test_weights_travel_with_their_record(tmp_path: Path) -> None:
    store, run = Store(tmp_path / "runs"), toys.make_run()
    store.write_record(toys.make_record(run))
    shipping.unpack({"model/weights": b"w", "predictions.parquet": b"p"}, store.folder(run.run_id))
    packed = shipping.pack_weights(store, run.run_id)
    assert (sorted(packed), packed["model/weights"]) == (["model/weights", "record.json"], b"w")
