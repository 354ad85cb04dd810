"""What a page refuses, in one sentence each, and what it says of tuning."""

import dataclasses
import json
from pathlib import Path

import pytest

import factories
from bakeoff.errors import DataError
from bakeoff.record import Provenance
from bakeoff.report.evidence import outcomes, read_evidence, write_evidence
from bakeoff.report.guards import refuse, tuning
from bakeoff.report.pages import write_report
from bakeoff.spec import Run
from bakeoff.store import Store
from factories import cell, sweep_of

DIRTY = Provenance(commit="fedcba0987654321", dirty=True, versions={})


@pytest.fixture
def run(store: Store) -> Run:
    found = factories.make_run(labels=1000)
    factories.bake(store, found, accuracy=0.7)
    return found


def rewrite(store: Store, run_id: str, **changes: object) -> None:
    path = store.folder(run_id) / "record.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_clean_records_pass(store: Store, run: Run) -> None:
    found = store.load_all()
    assert [record.run_id for record in found] == [run.run_id]
    assert not any(record.provenance.dirty for record in found)
    refuse([run, factories.make_run(seed=9)], found, store, allow_dirty=False)  # nor is a Run refused that is not baked yet


def test_uncommitted_code_is_refused_unless_it_is_allowed(store: Store, run: Run) -> None:
    other = factories.make_run(labels=1000, seed=1)
    factories.bake(store, other, accuracy=0.7, provenance=DIRTY)
    found = [record for one in (run, other) if (record := store.load(one.run_id)) is not None]
    with pytest.raises(
        DataError,
        match=rf"^1 of 2 records come from code with uncommitted changes \(the first is {other.run_id}\): commit .* --allow-dirty",
    ):
        refuse([run, other], found, store, allow_dirty=False)
    refuse([run, other], found, store, allow_dirty=True)


def test_another_schema_is_not_taken_for_a_run_that_is_not_baked(store: Store, run: Run) -> None:
    rewrite(store, run.run_id, schema_version=2)
    with pytest.raises(DataError, match=rf"^{run.run_id} is a record of schema version 2 where this bakeoff reads 1: bake it again"):
        refuse([run], [], store, allow_dirty=False)


def test_a_record_of_another_recipe_is_refused(store: Store, run: Run) -> None:
    plain = json.loads((store.folder(run.run_id) / "record.json").read_text())["run"]
    rewrite(store, run.run_id, run=plain | {"seed": 5})
    with pytest.raises(
        DataError, match=rf"^{run.run_id} has a record that cannot stand on this page: record {run.run_id} holds a Run whose id is"
    ):
        refuse([run], [], store, allow_dirty=False)


def test_a_file_that_is_no_record_is_baked_again(store: Store, run: Run) -> None:
    (store.folder(run.run_id) / "record.json").write_text("{")
    refuse([run], [], store, allow_dirty=False)
    (told,) = outcomes(sweep_of(cell(run)), store)
    assert (told.status, told.reason) == ("missing", "not baked yet")


def test_evidence_of_a_changed_recipe_is_refused(store: Store, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_evidence([sweep_of(cell(run))], store, tmp_path / "page")
    kept = Store(tmp_path / "page" / "records")
    assert read_evidence(kept).sweeps[0].cells[0].run == run
    plan = json.loads((kept.root / "plan.json").read_text())
    plan["sweeps"][0]["cells"][0]["run_id"] = "0" * 12
    (kept.root / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(
        DataError, match=rf"^000000000000 was baked with a recipe that has changed since \(it would be {run.run_id} now\): bake"
    ):
        read_evidence(kept)


def test_machines_share_no_table_of_latencies(store: Store, tmp_path: Path) -> None:
    for name, ms in (("Fast CPU", 1.0), ("Slow CPU", 9.0)):
        run = factories.make_latency_run(machine=f"{name}, 2 CPUs, 8 GB, torch 2.13.0")
        machine = dataclasses.replace(factories.make_record(run, *factories.make_predictions(accuracy=1.0)).machine, processor=name)
        factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=ms, ratio=ms, session_id=name[:4]), machine=machine)
    runs = [record.run for record in store.load_all()]
    text = write_report([sweep_of(*map(cell, runs))], store, tmp_path / "page").read_text()
    tables = [part.split("\n## ")[0] for part in text.split("\n### ") if "| p50 ms |" in part.split("\n## ")[0]]
    assert [[name for name in ("Fast", "Slow") if f"Machine: {name} CPU" in part] for part in tables] == [["Fast"], ["Slow"]]
    assert [part.count("\n| bilstm |") for part in tables] == [1, 1]


def test_tuning_is_told_of_every_model(store: Store, run: Run, tmp_path: Path) -> None:
    assert tuning([run], store) == "no model was tuned: each has the recipe of its configuration"
    text = write_report([sweep_of(cell(run))], store, tmp_path / "page").read_text()
    assert "- Tuning: no model was tuned: each has the recipe of its configuration" in text
