"""The store: written once, whole or not at all, locked by one process, read strictly."""

import dataclasses
import errno
import json
import multiprocessing
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import factories
from bakeoff import record as records
from bakeoff import store as stores
from bakeoff.errors import BakeoffError
from bakeoff.store import Locked, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def test_a_record_comes_back_as_it_was_written(store: Store) -> None:
    written = factories.bake(store, factories.make_run(model="pretrained"), accuracy=0.8)
    assert store.load(written.run_id) == written
    assert store.load_all() == [written]


def test_a_record_is_never_overwritten(store: Store) -> None:
    written = factories.bake(store, factories.make_run(), accuracy=0.8)
    path = store.folder(written.run_id) / stores.RECORD
    before = path.read_bytes()
    with pytest.raises(BakeoffError, match="already recorded; a record is never overwritten"):
        store.write_record(dataclasses.replace(written, finished_at="2030-01-01T00:00:00Z"))
    assert path.read_bytes() == before


@pytest.mark.parametrize("cut", [0, 1, 100, -2])
def test_half_a_record_is_no_record(store: Store, cut: int) -> None:
    written = factories.bake(store, factories.make_run(), accuracy=0.8)
    path = store.folder(written.run_id) / stores.RECORD
    path.write_text(path.read_text()[:cut])
    assert store.load(written.run_id) is None
    assert store.load_all() == []


def test_a_record_in_another_runs_folder_is_no_record(store: Store) -> None:
    written = factories.bake(store, factories.make_run(), accuracy=0.8)
    other = factories.make_run(seed=1).run_id
    os.rename(store.folder(written.run_id), store.folder(other))
    assert store.load(other) is None


def test_a_record_whose_run_was_edited_is_no_record(store: Store) -> None:
    written = factories.bake(store, factories.make_run(), accuracy=0.8)
    path = store.folder(written.run_id) / stores.RECORD
    plain = json.loads(path.read_text())
    plain["run"]["seed"] = 7
    path.write_text(json.dumps(plain))
    assert store.load(written.run_id) is None


def test_an_unknown_field_in_a_record_is_refused() -> None:
    labels, predicted = factories.make_predictions(accuracy=0.5)
    plain = json.loads(factories.make_record(factories.make_run(), labels, predicted).to_json())
    plain["surprise"] = 1
    with pytest.raises(BakeoffError, match="surprise is not a setting"):
        records.from_json(json.dumps(plain))


def test_records_keep_the_last_part_of_paths() -> None:
    labels, predicted = factories.make_predictions(accuracy=0.5)
    dataset = factories.make_dataset(
        path="/home/someone/customer/tickets.csv", test_path="/home/someone/test.csv", split="official", held_out_rows=None
    )
    text = factories.make_record(factories.make_run(dataset=dataset), labels, predicted).to_json()
    assert "someone" not in text
    assert json.loads(text)["run"]["dataset"]["path"] == "tickets.csv"


def test_only_paths_are_shortened() -> None:
    """A column may be called /label, and its name is part of the question."""
    labels, predicted = factories.make_predictions(accuracy=0.5)
    run = factories.make_run(dataset=factories.make_dataset(label="/label", path="/home/someone/tickets.csv"))
    text = factories.make_record(run, labels, predicted).to_json()
    assert "someone" not in text
    again = records.from_json(text)
    assert (again.run.dataset.label, again.run.run_id) == ("/label", run.run_id)


def test_a_full_disk_leaves_nothing_half_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = factories.bake(store, factories.make_run(), accuracy=0.8)

    def no_space(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    run = factories.make_run(seed=1)
    labels, predicted = factories.make_predictions(accuracy=0.5)
    with pytest.raises(OSError, match="No space left"):
        store.write_record(factories.make_record(run, labels, predicted))
    monkeypatch.undo()
    assert list(store.folder(run.run_id).iterdir()) == []
    assert store.load_all() == [earlier]


def test_failures_count_attempts_and_vanish_behind_a_record(store: Store) -> None:
    run = factories.make_run()
    store.write_failure(run, type_="ValueError", message="no", trace=["a.py:1 in f"])
    store.write_failure(run, type_="ValueError", message="no", trace=["a.py:1 in f"])
    failure = store.failure(run.run_id)
    assert failure is not None
    assert (failure["attempt"], failure["run_id"], failure["run"]["seed"]) == (2, run.run_id, 0)
    factories.bake(store, run, accuracy=0.8)
    assert store.failure(run.run_id) is None
    assert store.failures() == []


def test_setting_aside_deletes_nothing(store: Store) -> None:
    written = factories.bake(store, factories.make_run(), accuracy=0.8)
    store.set_aside(written.run_id)
    assert store.load(written.run_id) is None
    (kept,) = (store.root / ".old").iterdir()
    assert (kept / stores.RECORD).exists()
    assert (kept / "predictions.parquet").exists()


def _hold(root: Path, run_id: str, held: "multiprocessing.synchronize.Event") -> None:
    with Store(root).lock(run_id):
        held.set()
        os.kill(os.getpid(), 9)


def test_a_lock_is_exclusive_and_the_kernel_frees_it_at_death(store: Store) -> None:
    context = multiprocessing.get_context("fork")
    held = context.Event()
    with store.lock("0123456789ab"):
        process = context.Process(target=_try_lock, args=(store.root, "0123456789ab"))
        process.start()
        process.join()
        assert process.exitcode == 3
    process = context.Process(target=_hold, args=(store.root, "0123456789ab", held))
    process.start()
    process.join()
    assert held.is_set()
    assert process.exitcode == -9
    with store.lock("0123456789ab"):
        pass


def _try_lock(root: Path, run_id: str) -> None:
    try:
        with Store(root).lock(run_id):
            os._exit(0)
    except Locked:
        os._exit(3)


@given(
    seed=st.integers(0, 10_000),
    labels=st.one_of(st.just("all"), st.integers(1, 10**6)),
    kind=st.sampled_from(["majority", "tfidf", "bilstm", "pretrained"]),
)
def test_any_record_survives_its_json(seed: int, labels: int | str, kind: str) -> None:
    answers = factories.make_predictions(accuracy=0.5, rows=20)
    written = factories.make_record(factories.make_run(model=kind, labels=labels, seed=seed), *answers)
    assert records.from_json(written.to_json()) == written
