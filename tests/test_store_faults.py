"""Stores that cannot take a record, and records that are none: one clear sentence, and what was there stays as it is."""

import contextlib
import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import factories
from bakeoff import locks
from bakeoff import record as records
from bakeoff import store as stores
from bakeoff.errors import BakeoffError
from bakeoff.runner import plan as planning
from bakeoff.runner.attempt import tasks
from bakeoff.runner.events import Event, Notice
from bakeoff.runner.inprocess import run_inprocess
from bakeoff.store import NoLocks, Store, StoreError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def snapshot(store: Store) -> dict[str, bytes]:
    """Every file of a store but its locks."""
    return {str(path): path.read_bytes() for path in store.root.rglob("*") if path.is_file() and stores.LOCKS not in path.parts}


def failing(number: int) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


# A disk that is full, read-only, or without locks.


def test_a_store_that_cannot_be_read_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.root.mkdir()
    monkeypatch.setattr(Path, "iterdir", failing(errno.EACCES))
    with pytest.raises(StoreError, match=r"runs cannot be read \(Permission denied\): set BAKEOFF_RUNS"):
        store.load_all()


@pytest.mark.parametrize(
    ("call", "number", "sentence"),
    [
        ("fsync", errno.ENOSPC, "the disk of {root} is full (No space left on device): free some, for example with bakeoff clean"),
        ("replace", errno.EDQUOT, "the disk of {root} is full (Disk quota exceeded): free some"),
        ("mkdir", errno.EROFS, "nothing can be written to {root} (Read-only file system): set BAKEOFF_RUNS to a folder"),
        ("open", errno.EACCES, "nothing can be written to {root} (Permission denied): set BAKEOFF_RUNS to a folder"),
    ],
)
def test_a_store_that_takes_no_record_says_so_before_anything_starts(
    store: Store, monkeypatch: pytest.MonkeyPatch, call: str, number: int, sentence: str
) -> None:
    if call == "mkdir":
        monkeypatch.setattr(Path, "mkdir", failing(number))
    elif call == "open":
        monkeypatch.setattr("builtins.open", failing(number))
    else:
        monkeypatch.setattr(os, call, failing(number))
    with pytest.raises(StoreError) as refused:
        store.check_usable()
    monkeypatch.undo()
    assert str(refused.value).startswith(sentence.format(root=store.root))
    assert "\n" not in str(refused.value)
    assert not snapshot(store)


def test_a_store_that_is_a_file_says_so(store: Store) -> None:
    store.root.write_text("no folder")
    with pytest.raises(StoreError, match=r"nothing can be written to .*runs \((File exists|Not a directory)\): set BAKEOFF_RUNS"):
        store.check_usable()


def test_a_usable_store_is_left_as_it_was(store: Store) -> None:
    factories.bake(store, factories.make_run(), accuracy=0.8)
    before = snapshot(store)
    store.check_usable()
    assert snapshot(store) == before
    assert list((store.root / stores.LOCKS).iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_locks_is_named(store: Store, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    earlier = factories.bake(store, factories.make_run(), accuracy=0.8)
    (store.root / stores.LOCKS).mkdir()
    (store.root / stores.LOCKS / earlier.run_id).touch()
    monkeypatch.setattr(fcntl, "lockf", failing(number))
    for ask in (store.check_usable, lambda: store.is_locked(earlier.run_id), store.holders):
        with pytest.raises(NoLocks, match=rf"the file system of {store.root}/\.locks has no file locks \(.*\), .* on a local disk$"):
            ask()
    # A Run that meets it all the same fails with this sentence, and is not baked.
    run = factories.make_run(seed=1)
    outcome = run_inprocess([run], store=store, bake=never, share_texts=False, on_event=lambda _: None)
    assert list(outcome.failed) == [run.run_id]
    assert outcome.failed[run.run_id].startswith(f"NoLocks: the file system of {store.root}")
    assert store.load_all() == [earlier]


def never(*_: object) -> records.Record:
    raise AssertionError("nothing may be baked")


def test_a_disk_that_fills_up_while_renaming_leaves_no_half_of_a_record(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = factories.bake(store, factories.make_run(), accuracy=0.8)
    before = snapshot(store)
    monkeypatch.setattr(os, "replace", failing(errno.ENOSPC))
    record = factories.make_record(factories.make_run(seed=1), *factories.make_predictions(accuracy=0.5))
    with pytest.raises(OSError, match="No space left"):
        store.write_record(record)
    monkeypatch.undo()
    assert snapshot(store) == before
    assert store.load_all() == [earlier]


# Locks that say who holds them.


def test_a_lock_says_who_holds_it(store: Store) -> None:
    run = factories.make_run()
    assert store.holders() == []
    with store.lock(run.run_id, title=run.title):
        (holder,) = store.holders()
        assert (holder.run_id, holder.title, holder.pid) == (run.run_id, run.title, os.getpid())
        assert holder.started_at is not None
        assert store.is_locked(run.run_id)
        with pytest.raises(stores.Locked), store.lock(run.run_id):
            pass
    assert not store.is_locked(run.run_id)
    assert store.holders() == []


def test_asking_about_a_lock_of_ones_own_does_not_free_it(store: Store) -> None:
    run_id = "0123456789ab"
    with store.lock(run_id):
        assert store.is_locked(run_id)
        assert store.holders()[0].run_id == run_id
        child = os.fork()
        if child == 0:  # another process, which must not get it
            try:
                with store.lock(run_id):
                    os._exit(0)
            except stores.Locked:
                os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


@pytest.mark.parametrize("said", ["", "{", "[1]", '{"title": "x"'])
def test_a_lock_that_says_nothing_is_a_lock(store: Store, said: str) -> None:
    with locks.hold(store.root / stores.LOCKS / "0123456789ab", says=said):
        assert store.holders() == [stores.Holder(run_id="0123456789ab")]


def test_a_full_disk_does_not_keep_a_lock_from_being_taken(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwrite", failing(errno.ENOSPC))
    with store.lock("0123456789ab"):
        assert store.is_locked("0123456789ab")


# Records that are none.


def newer(store: Store, run_id: str) -> Path:
    """Turn a record into one of a schema to come."""
    path = store.folder(run_id) / stores.RECORD
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": records.SCHEMA_VERSION + 1, "novelty": 1}))
    return path


def test_a_record_of_a_newer_schema_is_told_and_neither_deleted_nor_baked_over(store: Store) -> None:
    runs = [factories.make_run(seed=seed) for seed in range(2)]
    kept, other = (factories.bake(store, run, accuracy=0.8) for run in runs)
    newer(store, other.run_id)
    before = snapshot(store)
    assert store.load_all() == [kept]
    (found,) = store.all_unreadable()
    assert (found.run_id, found.newer) == (other.run_id, True)
    told = "a newer bakeoff wrote it (schema version 2, here 1): upgrade bakeoff to read it"
    assert found.why == f"{other.run_id}/record.json is no record: {told}"
    outcome = run_inprocess([runs[1]], store=store, bake=never, share_texts=False, on_event=lambda _: None)
    assert outcome.failed == {other.run_id: f"BakeoffError: {found.why}"}
    after = snapshot(store)
    assert {path: content for path, content in after.items() if not path.endswith(stores.FAILURE)} == before


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it is not whole, or no JSON"),
        ('{"schema_version": 1, "run', "it is not whole, or no JSON"),
        ("[]", "not a record of schema version 1"),
        ('{"schema_version": 0}', "not a record of schema version 1"),
        ('{"schema_version": 1}', "Run=None should be a group of settings"),
        (b"\xff\xfe", "it is not whole, or no JSON"),
    ],
)
def test_a_corrupt_record_is_named_and_the_others_are_read(store: Store, content: str | bytes, why: str) -> None:
    kept, bad = (factories.bake(store, factories.make_run(seed=seed), accuracy=0.8) for seed in range(2))
    path = store.folder(bad.run_id) / stores.RECORD
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert store.load_all() == [kept]
    (found,) = store.all_unreadable()
    assert (found.run_id, found.newer) == (bad.run_id, False)
    assert found.why.startswith(f"{bad.run_id}/record.json is no record: ")
    assert why in found.why or content == '{"schema_version": 1}'
    assert store.all_unreadable(but={bad.run_id}) == []


def test_the_record_of_another_run_is_named(store: Store) -> None:
    record, other = factories.bake(store, factories.make_run(), accuracy=0.8), factories.make_run(seed=1).run_id
    os.rename(store.folder(record.run_id), store.folder(other))
    assert store.all_unreadable()[0].why == f"{other}/record.json is no record: it is the record of {record.run_id}"


def test_a_corrupt_record_is_baked_again_as_the_plan_said_and_its_folder_is_kept(store: Store) -> None:
    run = factories.make_run()
    record = factories.bake(store, run, accuracy=0.8)
    path = store.folder(run.run_id) / stores.RECORD
    path.write_text("half")
    (planned,) = planning.plan(factories.sweep_of(factories.cell(run)), store)
    assert (planned.state, planned.bake) == ("todo", True)
    why = f"{run.run_id}/record.json is no record: it is not whole, or no JSON"
    assert planned.reason == f"{why}; its folder will be kept in .old/"
    seen: list[Event] = []

    def bake(*given: Any) -> records.Record:
        given[3](record)
        return record

    outcome = run_inprocess([run], store=store, bake=bake, share_texts=False, on_event=seen.append)
    assert outcome.baked == (run.run_id,)
    assert [event.text for event in seen if isinstance(event, Notice)] == [
        f"{why}; its folder is kept in .old/, and the Run is baked again"
    ]
    (old,) = (store.root / ".old").iterdir()
    assert (old / stores.RECORD).read_text() == "half"
    assert store.load(run.run_id) == record
    assert tasks([run], store=store, share_texts=False, rebake_all=False)[0].replaces_ns is None


PLAIN = json.loads(factories.make_record(factories.make_run(), *factories.make_predictions(accuracy=0.5)).to_json())


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, below in inner for place in places(below, (*path, key)))]


@settings(max_examples=200, deadline=None)
@given(
    place=st.sampled_from(places(PLAIN)[1:]),
    instead=st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.just([]), st.just({}), st.just([[1]]), st.just({"a": 1})
    ),
)
def test_whatever_stands_in_a_record_it_is_read_or_refused_in_one_sentence(place: tuple[Any, ...], instead: Any) -> None:
    plain = json.loads(json.dumps(PLAIN))
    inner = plain
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = instead
    with contextlib.suppress(BakeoffError):
        assert records.from_json(json.dumps(plain)).run_id == PLAIN["run_id"]
