"""What the best gets wrong and how far it can be trusted, on answers that can be counted by hand."""

import dataclasses
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import factories
from bakeoff.report import winner_figures
from bakeoff.report.figures import look_of
from bakeoff.report.pages import write_report
from bakeoff.report.stats import Answers
from bakeoff.report.summary import sections
from bakeoff.report.winner_answers import class_gaps, confusions, coverages, mistakes, reliability, selective, winner
from bakeoff.report.winner_figures import Gap
from bakeoff.report.winner_view import OTHERS, fewer, winner_blocks
from bakeoff.spec import Run
from bakeoff.store import Store
from factories import cell, sweep_of

HOSTILE = ("<script>alert(1)</script>", "a|b `c` =cmd()\nnew \u202eright")


def answers(labels: list[int], predicted: list[list[int]], groups: list[int] | None = None) -> Answers:
    return Answers(
        row_ids=np.array([f"{row:04d}" for row in range(len(labels))]),
        labels=np.array(labels),
        predicted=np.array(predicted),
        seeds=tuple((seed, seed) for seed in range(len(predicted))),
        groups=None if groups is None else np.array(groups),
    )


def test_confusions_are_counted_over_seeds() -> None:
    found = confusions(answers([0, 0, 1, 2], [[0, 1, 1, 2], [0, 2, 1, 2]]), 3)
    assert found.tolist() == [[2, 1, 1], [0, 2, 0], [0, 0, 2]]


def test_reliability_bins_by_equal_width() -> None:
    confidence, correct = np.array([[0.95, 0.97, 0.5, 0.52]]), np.array([[True, False, True, True]])
    low, high = reliability(confidence, correct)
    assert (low.confidence, low.accuracy, low.share) == (pytest.approx(0.51), 1.0, 0.5)
    assert (high.confidence, high.accuracy, high.share) == (pytest.approx(0.96), 0.5, 0.5)
    # On the edge of two of the 15 bins, 9/15, it belongs to the one below.
    assert len(reliability(np.array([[9 / 15, 8.5 / 15]]), np.array([[True, True]]))) == 1


def test_the_surest_answers_come_first_and_ties_together() -> None:
    curve = selective(np.array([0.6, 0.9, 0.9, 0.8]), np.array([False, True, False, True]))
    assert curve.covered.tolist() == [0.5, 0.75, 1.0]
    assert curve.accuracy.tolist() == [0.5, pytest.approx(2 / 3), 0.5]


def test_coverage_is_the_largest_share_that_keeps_the_precision() -> None:
    one = selective(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, True]))
    other = selective(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, True, False]))
    loose, strict = coverages([one, other], (0.75, 1.0))
    assert (loose.mean, loose.low, loose.high) == (1.0, 1.0, 1.0)
    assert (strict.mean, strict.low, strict.high) == (0.5, 0.25, 0.75)
    never = coverages([selective(np.array([0.9, 0.8]), np.array([False, True]))], (0.9,))
    assert never[0].high == 0.0


def test_classes_are_compared_on_their_own_rows() -> None:
    labels = [0] * 20 + [1] * 12 + [2] * 5
    right, half = list(labels), [1] * 10 + [0] * 10 + labels[20:]
    first, second = class_gaps(answers(labels, [right, right]), answers(labels, [half, half]), ("a", "b", "c"))
    assert (first.name, first.support, first.gap.mean) == ("a", 20, 0.5)
    # By row the difference is 1 for ten rows and 0 for ten, the same for both seeds: 0.5 ± t(19) · sqrt(0.25 · 20/19 / 20).
    assert first.gap.high - 0.5 == pytest.approx(2.093024 * (0.25 / 19) ** 0.5, abs=1e-6)
    assert (second.name, second.gap.mean) == ("b", 0.0)
    other = dataclasses.replace(answers(labels, [right]), row_ids=np.array([f"x{row}" for row in range(37)]))
    assert class_gaps(answers(labels, [right]), other, ("a", "b", "c")) == ()


def test_groups_stay_groups_within_a_class() -> None:
    labels = [0] * 20 + [1] * 20
    wrong = [1] * 10 + [0] * 10 + labels[20:]
    grouped = [row // 10 for row in range(40)]
    (gap, _) = class_gaps(answers(labels, [labels], grouped), answers(labels, [wrong], grouped), ("a", "b"))
    assert (gap.gap.groups, gap.gap.degrees) == (2, 1.0)


def test_many_classes_are_joined_but_for_the_most_mistaken() -> None:
    counts = np.eye(5, dtype=np.int64) * 10
    counts[0, 3], counts[4, 3] = 7, 2
    found = fewer(counts, ["a", "b", "c", "d", "e"], most=3)
    assert found.names == ("a", "d", OTHERS)
    assert found.counts.tolist() == [[10, 7, 0], [0, 10, 0], [0, 2, 30]]
    assert fewer(counts, ["a", "b", "c", "d", "e"], most=5).counts is counts


def with_confidence(store: Store, run: Run, confidence: np.ndarray) -> None:
    """Give a Run's saved answers another confidence, in their order."""
    path = store.folder(run.run_id) / "predictions.parquet"
    table = parquet.read_table(path)
    predicted = table["predicted"].to_numpy()
    values = np.where(np.arange(2) == predicted[:, None], confidence[:, None], 1 - confidence[:, None])
    place = table.column_names.index("probabilities")
    parquet.write_table(table.set_column(place, "probabilities", pa.array(values.tolist(), pa.list_(pa.float32()))), path)


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """An encoder and a floor, two seeds each, 200 test rows; the encoder is sure of row 7 and wrong about it."""
    found = [factories.make_run(model=model, labels=1000, seed=seed) for model in ("tfidf", "pretrained") for seed in (0, 1)]
    for run in found:
        factories.bake(store, run, accuracy=0.7 if run.model.kind == "tfidf" else 0.8)
        with_confidence(store, run, np.linspace(0.6, 0.9, 200))
    return found


def test_the_surest_mistakes_come_first(store: Store, runs: list[Run]) -> None:
    found = winner(sections(runs, store)[0], store)
    assert found is not None
    assert found.standing.candidate.kind == "pretrained"
    assert found.runs == tuple(run.run_id for run in runs[2:])
    listed = mistakes(found, most=5)
    assert all(one.confidence is not None for one in listed)
    assert [one.row_id for one in listed] == sorted((one.row_id for one in listed), reverse=True)
    assert {one.run_id for one in listed} == {runs[2].run_id}
    assert all(one.label != one.answered for one in listed)


def test_a_majority_that_wins_has_no_part(store: Store) -> None:
    run = factories.make_run(model="majority", labels=1000)
    factories.bake(store, run, accuracy=0.5)
    assert winner_blocks(sections([run], store), store) == []


def test_the_block_tells_its_runs_and_shows_texts_only_where_they_are_given(store: Store, runs: list[Run]) -> None:
    found = sections(runs, store)
    (block,) = winner_blocks(found, store)
    assert block.heading == "The best at 1,000 labels: pretrained (minilm-l6) on reviews"
    assert [figure.file for figure in block.figures] == [
        f"{name}-reviews.svg" for name in ("confusion", "calibration", "coverage", "classes")
    ]
    assert block.figures[0].runs == tuple(run.run_id for run in runs[2:])
    assert set(block.figures[3].runs) == {run.run_id for run in runs}
    assert [grid.name for grid in block.grids] == ["Coverage at a given precision, reviews"]
    texts = {runs[0].dataset.fingerprint: {f"{row:016x}": f"text {row} " + "x" * 500 for row in range(200)}}
    (shown,) = winner_blocks(found, store, texts=texts)
    row = shown.grids[1].rows[0]
    assert row[-1].startswith(f"text {int(row[0], 16)} x")
    assert len(row[-1]) == 400


def test_answers_without_probabilities_have_no_curve(store: Store) -> None:
    run = factories.make_run(labels=1000)
    labels, predicted = factories.make_predictions(accuracy=0.7)
    quality = dataclasses.replace(factories.split_quality(labels, predicted), ece=None, log_loss=None, brier=None)
    factories.save(store, run, labels, predicted, quality={"test": quality})
    (block,) = winner_blocks(sections([run], store), store)
    assert [figure.file for figure in block.figures] == ["confusion-reviews.svg"]
    assert block.notes == ("It answered without probabilities, so nothing can be said of its confidence.",)


def test_names_of_classes_from_strangers_are_harmless_everywhere(store: Store, tmp_path: Path) -> None:
    runs = [factories.make_run(model=model, labels=1000) for model in ("tfidf", "bilstm")]
    for run, accuracy in zip(runs, (0.7, 0.8), strict=True):
        record = factories.make_record(run, *factories.make_predictions(accuracy=accuracy), HOSTILE)
        data = dataclasses.replace(record.data, classes=HOSTILE)
        factories.save(store, run, *factories.make_predictions(accuracy=accuracy), HOSTILE, data=data)
    markdown = write_report([sweep_of(*map(cell, runs))], store, tmp_path / "page").read_text()
    html = (tmp_path / "page" / "index.html").read_text()
    for text in (markdown, html, *(path.read_text() for path in (tmp_path / "page" / "figures").glob("*.svg"))):
        assert "<script>alert" not in text
        assert "\u202e" not in text
    assert "&lt;script&gt;alert" in html
    assert "\\\\u202eright" in markdown  # the escape itself is escaped
    for path in (tmp_path / "page" / "figures").glob("*.svg"):
        ElementTree.fromstring(path.read_text())


def test_figures_have_the_same_bytes_and_name_their_classes() -> None:
    counts, names = np.array([[8, 2], [1, 9]]), ["negative", "p" * 40]
    first = winner_figures.confusion(counts, names, salt="x")
    assert winner_figures.confusion(counts, names, salt="x") == first
    texts = [element.text for element in ElementTree.fromstring(first).iter("{http://www.w3.org/2000/svg}text")]
    assert {"80", "20", "10", "90", "negative", "p" * 25 + "…"} <= set(texts)
    gaps = [Gap(label="a (20)", mean=5.0, low=-1.0, high=11.0)]
    assert "a (20)" in winner_figures.recall_gaps(gaps, look_of(0), axis="", salt="x")
