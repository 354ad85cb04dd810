"""What claims read of baked Runs: matrices of draws and rows, their differences, and what diverged."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from learning_bench import ROWS, bench, half_width_points, over_draws

import factories
from bakeoff import spec
from bakeoff.claims.scores import change_of_gap, difference, never_pretrained, scored
from bakeoff.errors import DataError


def by_model(run: spec.Run) -> str:
    return run.model.name


def test_cells_are_matrices_of_draws_and_rows(tmp_path: Path) -> None:
    cells = scored(
        bench(tmp_path, {"s": [*over_draws("tfidf", 1000, 600, 620), *over_draws("bilstm", 1000, 500)]}).bake("s"),
        by=by_model,
    )
    assert list(cells) == ["tfidf", "bilstm"]
    tfidf = cells["tfidf"]
    assert tfidf.answers.correct.shape == (2, ROWS)
    assert tfidf.answers.correct.sum(axis=1).tolist() == [600, 620]
    assert tfidf.by_draw == {(0, 0): 0.6, (1, 1): 0.62}
    assert (tfidf.n_labels, tfidf.majority, tfidf.diverged) == (1000, 0.5, 0)
    assert tfidf.on(np.arange(ROWS) < 610).answers.scores("accuracy").tolist() == [600 / 610, 1.0]


def test_a_difference_is_paired_over_rows(tmp_path: Path) -> None:
    cells = scored(
        bench(tmp_path, {"s": [*over_draws("tfidf", 1000, 600, 600), *over_draws("bilstm", 1000, 500, 500)]}).bake("s"), by=by_model
    )
    found = difference(cells["tfidf"], cells["bilstm"])
    assert found is not None
    assert found.mean == pytest.approx(0.1)
    assert 100 * (found.high - found.mean) == pytest.approx(half_width_points(100))


def test_one_answer_without_labels_stands_for_every_draw(tmp_path: Path) -> None:
    cells = scored(
        bench(tmp_path, {"s": [*over_draws("tfidf", 1000, 600, 620, 640), *over_draws("zero_shot", 0, 500)]}).bake("s"), by=by_model
    )
    one, other = difference(cells["tfidf"], cells["zero_shot"]), difference(cells["zero_shot"], cells["tfidf"])
    assert one is not None
    assert other is not None
    assert (one.seeds, one.mean) == (3, pytest.approx(0.12))
    assert other.mean == pytest.approx(-0.12)


def test_a_change_of_the_gap_pairs_all_four(tmp_path: Path) -> None:
    runs = [
        *over_draws("tfidf", 100, 500, 500),
        *over_draws("tfidf", 1000, 600, 600),
        *over_draws("bilstm", 100, 400, 400),
        *over_draws("bilstm", 1000, 550, 550, 999),
    ]
    cells = scored(bench(tmp_path, {"s": runs}).bake("s"), by=lambda run: (run.model.name, run.budget.labels))
    found = change_of_gap(cells["tfidf", 1000], cells["bilstm", 1000], from_a=cells["tfidf", 100], from_b=cells["bilstm", 100])
    assert found is not None
    # Rows 400 to 499 were the old lead, rows 550 to 599 are the new one.
    by_row = np.concatenate([-np.ones(100), np.ones(50), np.zeros(850)])
    assert found.seeds == 2
    assert found.mean == pytest.approx(-0.05)
    assert found.row_variance == pytest.approx(float(by_row.var(ddof=1)) / ROWS)


def test_a_run_that_diverged_answers_the_most_frequent_class(tmp_path: Path) -> None:
    cells = scored(bench(tmp_path, {"s": [*over_draws("tfidf", 1000, 600), *over_draws("bilstm", 1000, None, 700)]}).bake("s"), by=by_model)
    assert cells["bilstm"].by_draw == {(0, 0): 0.5, (1, 1): 0.7}
    assert cells["bilstm"].diverged == 1
    only = scored(bench(tmp_path, {"s": [*over_draws("tfidf", 1000, 600), *over_draws("bilstm", 1000, None, None)]}).bake("s"), by=by_model)
    assert only["bilstm"].by_draw == {(0, 0): 0.5, (1, 1): 0.5}
    with pytest.raises(DataError, match="every Run of this claim diverged"):
        scored(bench(tmp_path, {"s": over_draws("bilstm", 1000, None)}).bake("s"), by=by_model)


def test_two_runs_a_draw_are_two_cells_in_one_and_refused(tmp_path: Path) -> None:
    models = [factories.MODELS["bilstm"], dataclasses.replace(factories.MODELS["bilstm"], dropout=0.5)]
    made = bench(tmp_path, {"s": [cell for model in models for cell in over_draws(model, 1000, 600, 610)]}).bake("s")
    with pytest.raises(DataError, match="several Runs a draw"):
        scored(made, by=by_model)


def test_other_test_rows_and_lost_predictions_are_refused(tmp_path: Path) -> None:
    made = bench(tmp_path, {"s": [*over_draws("tfidf", 1000, 600), *over_draws("bilstm", 1000, 500)]}).bake("s")
    labels, predicted = factories.make_predictions(accuracy=0.5, rows=200)
    factories.write_predictions(made[1].folder, labels, predicted)
    other = dataclasses.replace(made[1], record=factories.make_record(made[1].record.run, labels, predicted))
    with pytest.raises(DataError, match="answers other test rows than the rest of its claim"):
        scored([made[0], other], by=by_model)
    (made[0].folder / "predictions.parquet").unlink()
    with pytest.raises(DataError, match=r"has a record but no predictions\.parquet"):
        scored(made, by=by_model)


def test_lengths_are_in_the_order_of_the_rows(tmp_path: Path) -> None:
    made = bench(tmp_path, {"s": over_draws("frozen", 1000, 600)}, lengths=range(ROWS)).bake("s")
    (cell,) = scored(made, by=by_model).values()
    assert cell.lengths_tokens is not None
    assert cell.lengths_tokens.tolist() == list(range(ROWS))
    assert bool((cell.answers.row_ids[1:] > cell.answers.row_ids[:-1]).all())


def test_only_models_of_this_datasets_labels_were_never_pretrained() -> None:
    runs = {name: factories.make_run(model=name, labels=1000) for name in factories.MODELS}
    assert {name for name, run in runs.items() if never_pretrained(run)} == {"majority", "tfidf", "bilstm", "scratch"}
    bilstm = factories.MODELS["bilstm"]
    pieces = dataclasses.replace(
        bilstm, vocabulary="word_pieces", embeddings="checkpoint", checkpoint="minilm-l6", checkpoint_fingerprint="c" * 64
    )
    assert not never_pretrained(factories.make_run(model=pieces))
