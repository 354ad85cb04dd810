"""What a page says of tuning, worked out from trials in the store."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import factories
from bakeoff import tuning
from bakeoff.record import Record
from bakeoff.report.evidence import read_evidence, write_evidence
from bakeoff.report.pages import write_report
from bakeoff.report.trials import efforts
from bakeoff.spec import Run
from bakeoff.store import Store
from factories import cell, sweep_of


def with_recipe(run: Run, *, name: str | None = None, **changes: Any) -> Run:
    """A BiLSTM's Run with another learning rate, number of epochs or dropout."""
    training = dataclasses.replace(run.model.training, **{key: value for key, value in changes.items() if key != "dropout"})
    dropout = changes.get("dropout", run.model.dropout)
    return dataclasses.replace(run, model=dataclasses.replace(run.model, name=name or run.model.name, training=training, dropout=dropout))


def try_it(store: Store, run: Run, score: float | None) -> Record:
    """Record a trial of a Run's recipe; without a score it diverged."""
    asked = tuning.as_trial(run)
    labels, predicted = factories.make_predictions(accuracy=score or 0.5)
    quality = {} if score is None else {"validation": factories.split_quality(labels, predicted)}
    record = factories.make_record(asked, labels, predicted, quality=quality, status="ok" if quality else "diverged")
    store.folder(asked.run_id).mkdir(parents=True)
    store.write_record(record)
    return record


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """A default and a tuned BiLSTM of three seeds each, after three trials on seed 0, and a TF-IDF that nobody tuned."""
    default = [factories.make_run(model="bilstm", labels=1000, seed=seed) for seed in range(3)]
    tuned = [with_recipe(run, name="bilstm_tuned", learning_rate=1e-3, dropout=0.1) for run in default]
    for run in default:
        factories.bake(store, run, accuracy=0.6)
    for run in tuned:
        factories.bake(store, run, accuracy=0.7)
    floor = factories.make_run(model="tfidf", labels=1000)
    factories.bake(store, floor, accuracy=0.65)
    try_it(store, default[0], 0.62)
    try_it(store, with_recipe(default[0], learning_rate=1e-3, dropout=0.1), 0.745)
    try_it(store, with_recipe(default[0], epochs=9), 0.7)
    return [*default, *tuned, floor]


def page(store: Store, runs: list[Run], folder: Path) -> str:
    return write_report([sweep_of(*map(cell, runs))], store, folder).read_text()


def test_nothing_is_said_where_nothing_was_tuned(store: Store, tmp_path: Path) -> None:
    run = factories.make_run(model="bilstm", labels=1000)
    factories.bake(store, run, accuracy=0.6)
    try_it(store, factories.make_run(model="bilstm", labels=300), 0.7)  # of another budget
    assert efforts([run], store) == []
    assert "recipes were chosen" not in page(store, [run], tmp_path)


def test_tried_and_chosen_values_stand_beside_both_scores(store: Store, runs: list[Run], tmp_path: Path) -> None:
    (effort,) = efforts(runs, store)
    assert (effort.default, effort.tuned) == (runs[0], runs[3])
    assert len(effort.trials) == 3
    assert effort.best.quality["validation"].accuracy == 0.745
    text = page(store, runs, tmp_path)
    assert "## How the recipes were chosen" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| bilstm | 1,000 | 3 |")]
    cells = [each.strip() for each in line.strip("|").split("|")]
    tried = "dropout 0.1, 0.5; training.learning_rate 2e-05, 0.001; training.epochs 3, 9"
    assert cells[3].replace("\\", "") == tried
    assert cells[4].replace("\\", "") == "dropout 0.1 instead of 0.5; training.learning_rate 0.001 instead of 2e-05"
    assert cells[5:7] == ["62.0", "74.5"]
    assert [each.partition(" (")[0] for each in cells[7:]] == ["60.0", "70.0"]
    assert "bilstm_tuned" in text
    html = (tmp_path / "index.html").read_text()
    assert "How the recipes were chosen" in html


def test_the_default_may_win(store: Store, tmp_path: Path) -> None:
    run = factories.make_run(model="bilstm", labels=1000)
    factories.bake(store, run, accuracy=0.6)
    try_it(store, run, 0.7)
    try_it(store, with_recipe(run, epochs=9), 0.7)  # equal, so the default stays
    try_it(store, with_recipe(run, epochs=12), None)
    text = page(store, [run], tmp_path)
    (line,) = [line for line in text.splitlines() if line.startswith("| bilstm | 1,000 | 3 |")]
    assert [each.strip() for each in line.strip("|").split("|")][3:7] == ["training.epochs 3, 9, 12", "the default", "70.0", "70.0"]
    assert "- 1 trial diverged and could not be chosen." in text


def test_spaces_of_different_sizes_are_told(store: Store, runs: list[Run], tmp_path: Path) -> None:
    try_it(store, runs[-1], 0.66)
    assert "Not every model had equally many trials: from 1 to 3, since some spaces are small." in page(store, runs, tmp_path)


def test_trials_belong_to_the_evidence_and_are_no_candidates(store: Store, runs: list[Run], tmp_path: Path) -> None:
    sweep = sweep_of(*map(cell, runs))
    before = write_report([sweep], store, tmp_path / "page").read_bytes()
    write_evidence([sweep], store, tmp_path / "page")
    kept = Store(tmp_path / "page" / "records")
    assert sum(record.run.is_trial for record in kept.load_all()) == 3
    again = write_report(read_evidence(kept).sweeps, kept, tmp_path / "again")
    assert again.read_bytes() == before
    assert (tmp_path / "page" / "records.csv").read_text().count("\n") == 1 + len(runs)


def test_a_sweep_over_trials_has_no_score_to_show(store: Store, tmp_path: Path) -> None:
    run = factories.make_run(model="bilstm", labels=1000)
    record = try_it(store, run, 0.7)
    text = page(store, [record.run], tmp_path)
    assert "1 of 1 Run have a record" in text
    assert "| model | reading |" not in text


def test_the_effort_of_every_model_is_told(store: Store, runs: list[Run], tmp_path: Path) -> None:
    assert "- Tuning: bilstm 3 trials; none for tfidf" in page(store, runs, tmp_path)
