"""`bakeoff clean` frees weights and caches, and no record, ever."""

import dataclasses
from pathlib import Path

import pytest

import factories
from bakeoff.commands.clean import BUSY, clean
from bakeoff.errors import ConfigError
from bakeoff.runner.needs import MODEL, has_weights
from bakeoff.spec import Distillation, Run
from bakeoff.store import RECORD, Store

NOTHING = {"weights": False, "caches": False, "assets": False, "old": False, "dry_run": False}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("BAKEOFF_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "cache"))
    return Store(tmp_path / "runs")


def taught() -> Run:
    """A student of `factories.make_run(model="pretrained")`."""
    how = Distillation(temperature=2.0, soft_weight=1.0, hard_weight=0.5, hidden_weight=0.0, transfer_epochs=1)
    teacher = factories.make_run(model="pretrained")
    model = dataclasses.replace(factories.MODELS["bilstm"], teacher=teacher.model.name, distillation=how)
    return dataclasses.replace(factories.make_run(model="bilstm"), model=model, teacher=teacher)


def weights(folder: Path, *, megabytes: float = 1.5) -> Path:
    """Weights of so many MB in a Run's folder."""
    (folder / MODEL).mkdir(parents=True)
    (folder / MODEL / "model.safetensors").write_bytes(b"0" * int(megabytes * 1e6))
    return folder / MODEL


def stamps(store: Store) -> dict[Path, tuple[int, bytes]]:
    """Every file of the store that is no weight, and when it was written."""
    paths = (path for path in store.root.rglob("*") if path.is_file() and MODEL not in path.parts and ".locks" not in path.parts)
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}


def test_it_asks_what_to_free() -> None:
    with pytest.raises(ConfigError, match="nothing to free is named: add --weights, --caches, --assets or --old"):
        clean(**NOTHING)


def test_weights_go_and_records_stay(store: Store) -> None:
    recorded = [factories.bake(store, factories.make_run(seed=seed), accuracy=0.8) for seed in range(3)]
    kept = [weights(store.folder(record.run_id)) for record in recorded[:2]]
    before = stamps(store)
    said = clean(**(NOTHING | {"weights": True, "dry_run": True}))
    assert said.splitlines() == ["would free      3.0 MB  weights of 2 Runs", "would free      3.0 MB in all; every record stays"]
    assert all(folder.exists() for folder in kept)
    said = clean(**(NOTHING | {"weights": True}))
    assert said.splitlines() == ["freed      3.0 MB  weights of 2 Runs", "freed      3.0 MB in all; every record stays"]
    assert not any(folder.exists() for folder in kept)
    assert stamps(store) == before
    assert store.load_all() == sorted(recorded, key=lambda record: record.run_id)
    assert clean(**(NOTHING | {"weights": True})) == "freed      0.0 MB in all; every record stays"


@pytest.mark.parametrize("dry_run", [False, True])
def test_weights_of_a_run_that_is_being_baked_stay(store: Store, dry_run: bool) -> None:
    run = factories.make_run()
    folder = weights(store.folder(run.run_id))
    with store.lock(run.run_id, title=run.title):
        said = clean(**(NOTHING | {"weights": True, "dry_run": dry_run}))
    assert said.splitlines()[0] == f"kept: all weights, since {BUSY}"
    assert (folder / "model.safetensors").exists()


def test_while_something_is_baked_a_teacher_of_students_to_come_and_the_caches_stay(store: Store, tmp_path: Path) -> None:
    teacher = factories.make_run(model="pretrained")
    factories.bake(store, teacher, accuracy=0.8)
    folder, cache = weights(store.folder(teacher.run_id)), tmp_path / "cache" / "features"
    cache.mkdir(parents=True)
    with store.lock("0123456789ab"):
        said = clean(**(NOTHING | {"weights": True, "caches": True}))
    kept = [f"kept: all weights, since {BUSY}", f"kept: all caches, since {BUSY}"]
    assert said.splitlines() == [*kept, "freed      0.0 MB in all; every record stays"]
    assert folder.exists()
    assert cache.exists()


def test_what_a_killed_deletion_left_is_no_weight_and_goes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    record = factories.bake(store, factories.make_run(), accuracy=0.8)
    weights(store.folder(record.run_id))
    with monkeypatch.context() as killed:
        killed.setattr("shutil.rmtree", lambda *_, **__: None)
        assert clean(**(NOTHING | {"weights": True})).splitlines()[-1] == "freed      0.0 MB in all; every record stays"
    assert not has_weights(store, record.run_id)
    assert clean(**(NOTHING | {"weights": True})).splitlines()[-1] == "freed      1.5 MB in all; every record stays"
    assert [path.name for path in store.folder(record.run_id).iterdir() if "model" in path.name] == []


def test_weights_that_an_unfinished_run_is_built_from_stay(store: Store) -> None:
    teacher, student = factories.make_run(model="pretrained"), taught()
    assert student.teacher == teacher
    factories.bake(store, teacher, accuracy=0.8)
    folder = weights(store.folder(teacher.run_id))
    store.write_failure(student, type_="ValueError", message="no", trace=[])
    said = clean(**(NOTHING | {"weights": True}))
    assert f"kept: the weights of {teacher.run_id}, since {student.run_id} is not baked yet" in said.splitlines()
    assert folder.exists()
    factories.bake(store, student, accuracy=0.8)  # now nothing needs them
    clean(**(NOTHING | {"weights": True}))
    assert not folder.exists()


def test_weights_of_runs_set_aside_go_and_their_records_stay(store: Store) -> None:
    record = factories.bake(store, factories.make_run(), accuracy=0.8)
    weights(store.folder(record.run_id), megabytes=2)
    store.set_aside(record.run_id)
    before = stamps(store)
    said = clean(**(NOTHING | {"old": True}))
    assert said.splitlines()[0] == "freed      2.0 MB  weights of Runs that were set aside"
    assert stamps(store) == before
    assert any(path.name == RECORD for path in before)
    assert not list((store.root / ".old").glob(f"*/{MODEL}"))


def test_caches_go_and_assets_only_when_asked_for(store: Store, tmp_path: Path) -> None:
    record = factories.bake(store, factories.make_run(), accuracy=0.8)
    for name in ("prepared", "tokens", "features", "onnx", "sha256", "assets", "somebody elses"):
        (tmp_path / "cache" / name / "deep").mkdir(parents=True)
        (tmp_path / "cache" / name / "deep" / "file").write_bytes(b"0" * 500_000)
    said = clean(**(NOTHING | {"caches": True}))
    assert said.splitlines()[-1] == "freed      2.5 MB in all; every record stays"
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["assets", "somebody elses"]
    clean(**(NOTHING | {"assets": True}))
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["somebody elses"]
    assert store.load(record.run_id) == record


def test_a_link_inside_weights_frees_no_file_elsewhere(store: Store, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_bytes(b"0" * 1_000_000)
    record = factories.bake(store, factories.make_run(), accuracy=0.8)
    folder = weights(store.folder(record.run_id), megabytes=1)
    (folder / "link").symlink_to(precious)
    assert clean(**(NOTHING | {"weights": True})).splitlines()[0] == "freed      1.0 MB  weights of 1 Run"
    assert (precious / "file").exists()


def test_a_store_that_is_not_there_is_not_made(store: Store) -> None:
    assert clean(**(NOTHING | {"weights": True, "old": True})) == "freed      0.0 MB in all; every record stays"
    assert not store.root.exists()
