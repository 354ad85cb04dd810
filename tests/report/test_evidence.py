"""What becomes of cells, and pages that are rebuilt from committed evidence."""

import dataclasses
import json
from pathlib import Path

import pytest

import factories
from bakeoff.errors import DataError
from bakeoff.record import Diagnostic
from bakeoff.report import evidence
from bakeoff.report.pages import write_report
from bakeoff.store import Store
from bakeoff.sweep import Cell, Sweep
from factories import cell, sweep_of


def test_each_cell_has_a_status_and_a_reason(small: Sweep, store: Store) -> None:
    found = [(outcome.status, outcome.reason) for outcome in evidence.outcomes(small, store)]
    assert found.count(("ok", None)) == 16
    assert ("failed", "RuntimeError: out of memory") in found
    assert ("missing", "not baked yet") in found
    assert found[-1] == ("not_applicable", "longdoc.max_tokens=1024 is above the 512 positions of minilm-l6")


def test_a_diverged_run_says_why(store: Store) -> None:
    run = factories.make_run(model="bilstm")
    labels, predicted = factories.make_predictions(accuracy=0.5)
    record = factories.make_record(run, labels, predicted)
    diagnostics = (Diagnostic(code="not_finite", message="the loss stopped being finite at step 3"),)
    training = dataclasses.replace(record.training, diagnostics=diagnostics, stop_reason="not_finite")
    store.write_record(dataclasses.replace(record, status="diverged", quality={}, training=training))
    (outcome,) = evidence.outcomes(sweep_of(cell(run)), store)
    assert (outcome.status, outcome.reason) == ("diverged", "the loss stopped being finite at step 3")


def test_a_page_is_rebuilt_from_its_evidence(small: Sweep, store: Store, tmp_path: Path) -> None:
    page, again = tmp_path / "page", tmp_path / "again"
    write_report([small], store, page)
    evidence.write_evidence([small], store, page)
    kept = Store(page / "records")
    sweeps = evidence.read_evidence(kept).sweeps
    write_report(sweeps, kept, again)
    evidence.write_evidence(sweeps, kept, again)
    files = sorted(path.relative_to(page) for path in page.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert all((page / file).read_bytes() == (again / file).read_bytes() for file in files)
    assert {path.name for path in (page / "records").rglob("*.*")} == {"plan.json", "record.json", "predictions.parquet", "failure.json"}


def test_rebuilding_in_place_keeps_the_evidence(small: Sweep, store: Store, tmp_path: Path) -> None:
    evidence.write_evidence([small], store, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    kept = Store(tmp_path / "records")
    evidence.write_evidence(evidence.read_evidence(kept).sweeps[:0], kept, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


def test_evidence_of_runs_that_left_the_sweep_goes(small: Sweep, store: Store, tmp_path: Path) -> None:
    evidence.write_evidence([small], store, tmp_path)
    evidence.write_evidence([sweep_of(small.cells[0])], store, tmp_path)
    assert [path.name for path in sorted((tmp_path / "records").iterdir())] == sorted([small.runs[0].run_id, "plan.json"])


def test_evidence_above_the_limit_is_refused(small: Sweep, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MOST_BYTES", 50_000)
    with pytest.raises(DataError, match=r"^the records of small take 0\.\d MB, above the 0 MB"):
        evidence.write_evidence([small], store, tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_no_evidence_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no readable plan"):
        evidence.read_evidence(Store(tmp_path))


def test_folders_stay_home(store: Store, tmp_path: Path) -> None:
    dataset = factories.make_dataset(path="/home/alice/acme/mail.csv")
    run = factories.make_run(dataset=dataset)
    factories.bake(store, run, accuracy=0.6)
    sweep = Sweep(
        name="own",
        description="",
        path="/home/alice/own.yaml",
        cells=(Cell(overrides=("dataset=csv", "dataset.path='/home/alice/acme/mail.csv'", "seed=0"), run=run),),
    )
    overrides = ["dataset.path=/home/alice/acme/mail.csv"]
    evidence.write_evidence([sweep], store, tmp_path / "page", overrides=overrides)
    page = write_report([sweep], store, tmp_path / "page", overrides=overrides).read_text()
    assert "\nbakeoff sweep own.yaml dataset.path=mail.csv\nbakeoff report own.yaml dataset.path=mail.csv\n" in page
    assert evidence.read_evidence(Store(tmp_path / "page" / "records")).overrides == ("dataset.path=mail.csv",)
    texts = [path.read_text() for path in (tmp_path / "page").rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert not any("alice" in text or "acme" in text for text in texts)
    plan = json.loads((tmp_path / "page" / "records" / "plan.json").read_text())
    assert plan["sweeps"][0]["cells"][0]["overrides"] == ["dataset=csv", "dataset.path='mail.csv'", "seed=0"]
    assert plan["sweeps"][0]["cells"][0]["run"]["dataset"]["path"] == "mail.csv"


def test_commands_name_the_seed_once(small: Sweep, store: Store) -> None:
    first = evidence.outcomes(small, store)[0]
    assert first.command == "bakeoff run dataset=reviews model=majority budget.labels=100 seed=0"
    bare = Cell(overrides=("dataset=reviews", "model=tfidf"), run=factories.make_run(seed=2))
    assert evidence.outcomes(sweep_of(bare), store)[0].command == "bakeoff run dataset=reviews model=tfidf seed=2"
