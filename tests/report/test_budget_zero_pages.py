"""Pages with models that read no label, and with answers from a file."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import factories
from bakeoff import record as records
from bakeoff.report import figures, frame
from bakeoff.report.candidates import candidates
from bakeoff.report.costs import Prices
from bakeoff.report.figures import Baseline, Line, Point
from bakeoff.report.pages import write_report
from bakeoff.spec import BiLstm, Predictions, Run, ZeroShot
from bakeoff.store import Store
from factories import cell, sweep_of

STATED = records.Stated(p50_ms=812.0, p95_ms=2310.4, n_timed=200, price_per_document=0.00031, n_priced=150)


def bake(store: Store, run: Run, *, accuracy: float, **changes: Any) -> Run:
    """A Run as `bake` leaves it where nothing is fitted; `changes` replace fields of its quality."""
    stated = changes.pop("stated", None)
    labels, predicted = factories.make_predictions(accuracy=accuracy)
    quality = dataclasses.replace(factories.split_quality(labels, predicted), **changes)
    factories.save(store, run, labels, predicted, quality={"test": quality}, stated=stated)
    return run


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """zero_shot and answers from a file at 0 labels, tfidf at 100 and 1,000."""
    zero, file = (factories.make_run(model=model, labels=0) for model in ("zero_shot", "predictions"))
    bake(store, zero, accuracy=0.7)
    bake(store, file, accuracy=0.9, log_loss=None, brier=None, ece=None, stated=STATED)
    learned = [factories.make_run(labels=labels) for labels in (100, 1000)]
    for run in learned:
        factories.bake(store, run, accuracy=0.6)
    return [zero, file, *learned]


def page(store: Store, runs: list[Run], folder: Path, prices: Prices | None = None) -> str:
    return write_report([sweep_of(*map(cell, runs))], store, folder, prices=prices).read_text()


def row(markdown: str, start: str) -> list[str]:
    (line, *_) = [line for line in markdown.splitlines() if line.startswith(f"| {start} |")]
    return [text.strip() for text in line.strip("|").split("|")]


def test_a_table_of_no_labels_stands_first_and_says_only_what_is_known(store: Store, runs: list[Run], tmp_path: Path) -> None:
    text = page(store, runs, tmp_path / "page")
    assert text.index("### reviews, 0 labels") < text.index("### reviews, 100 labels")
    scores = text.split("### reviews, 0 labels")[1]
    ours, theirs = row(scores, r"zero_shot (minilm-l6)"), row(scores, "**rules**")
    assert (ours[2], ours[10], ours[13]) == ("float32", "0.500", "12.5")
    assert (theirs[2], theirs[3], theirs[10], theirs[11], theirs[13]) == ("unknown", "**90.0**", "–", "–", "–")


def test_what_a_file_states_is_told_as_stated_and_similarities_as_uncalibrated(store: Store, runs: list[Run], tmp_path: Path) -> None:
    prices = Prices(currency="EUR", cpu_core_hour=1.0, gpu_hour=1.0, note="")
    time = "812 ms a document at the median, 2,310 at the 95th percentile"
    assert f"rules states in its file, and nobody measured here: {time}; 310 EUR a million documents (of 150 rows)." in page(
        store, runs, tmp_path / "priced", prices
    )
    text = page(store, runs, tmp_path / "page")
    assert f"{time}; 310 in the currency of the prices a million documents (of 150 rows)." in text
    assert "The probabilities of zero_shot (minilm-l6) are similarities at a fixed scale and not calibrated" in text
    assert text.count("not calibrated") == 1
    assert "nobody measured here" in (tmp_path / "page" / "index.html").read_text()


def test_no_command_is_printed_for_what_cannot_be_timed(store: Store, runs: list[Run], tmp_path: Path) -> None:
    timed = factories.make_latency_run(model="bilstm")
    factories.bake_latency(store, timed, factories.make_latency_facts(p50_ms=1.0))
    text = page(store, [*runs, timed], tmp_path / "page")
    joined = text.split("## Accuracy against latency")[1].split("## Latency")[0]
    assert "- Cannot be timed, so neither slow nor fast: rules and zero_shot (minilm-l6)." in joined.replace("\\_", "_")
    assert "- Not measured, so neither slow nor fast: tfidf. To have it measured:" in joined
    assert [line for line in joined.splitlines() if "probe=latency" in line] == [
        "bakeoff run dataset=reviews model=tfidf probe=latency probe.device=cpu probe.threads=1"
    ]


def test_seeds_are_not_asked_for_where_nothing_is_drawn(store: Store, tmp_path: Path) -> None:
    zero = bake(store, factories.make_run(model="zero_shot"), accuracy=0.7)
    assert "too few seeds" not in page(store, [zero], tmp_path / "page")
    learned = factories.make_run(labels=100)
    factories.bake(store, learned, accuracy=0.6)
    assert "The fewest behind a score: 1 seed at 100 labels." in page(store, [zero, learned], tmp_path / "more")


def test_the_flat_table_leaves_out_what_is_not_known(store: Store, runs: list[Run]) -> None:
    rows = {line["model"]: line for line in frame.flat_rows(store)}
    assert (rows["rules"]["budget"], rows["rules"]["loss"], rows["rules"]["ece"], rows["rules"]["n_fit"]) == ("0", None, None, 0)
    assert frame.flat_rows(store)[0]["budget"] == "0"


def test_a_model_stays_one_candidate_whatever_each_dataset_told_it() -> None:
    told = [factories.make_dataset(name=name, label_descriptions={"a": words}) for name, words in (("one", "x"), ("two", "y"))]
    base = factories.MODELS["zero_shot"]
    assert isinstance(base, ZeroShot)
    runs = [
        factories.make_run(model=dataclasses.replace(base, descriptions=dict(dataset.label_descriptions)), dataset=dataset)
        for dataset in told
    ]
    own = factories.make_run(model=dataclasses.replace(base, descriptions={"a": "my own words"}), dataset=told[0])
    found = candidates(runs)
    assert {candidate.label for candidate in found.values()} == {"zero_shot (minilm-l6)"}
    assert len({candidate.key for candidate in found.values()}) == 1
    assert candidates([runs[0], own])[own.run_id].label == "zero_shot (minilm-l6) · a my own words"


def test_two_files_of_one_name_are_told_apart_by_theirs_without_a_folder() -> None:
    base = factories.MODELS["predictions"]
    assert isinstance(base, Predictions)
    runs = [
        factories.make_run(model=dataclasses.replace(base, path=f"/home/somebody/{name}.csv", fingerprint=name[0] * 64))
        for name in ("first", "second")
    ]
    assert [candidates(runs)[run.run_id].label for run in runs] == ["rules · path first.csv", "rules · path second.csv"]


def test_files_are_told_apart_by_their_last_part_and_no_fingerprint_is_shown() -> None:
    base = factories.MODELS["bilstm"]
    assert isinstance(base, BiLstm)
    vectors = [
        dataclasses.replace(base, embeddings="vectors", vectors=f"/home/somebody/{name}.txt", vectors_fingerprint=name[0] * 64)
        for name in ("glove", "fast")
    ]
    found = [candidates(runs)[run.run_id].label for runs in [[factories.make_run(model=model) for model in vectors]] for run in runs]
    assert found == ["bilstm · vectors glove.txt", "bilstm · vectors fast.txt"]
    runs = [unlabelled(None), unlabelled("/home/somebody/tickets.txt"), unlabelled("/home/somebody/mails.txt")]
    assert [candidates(runs)[run.run_id].label for run in runs] == [
        "tfidf · unlabelled none",
        "tfidf · unlabelled tickets.txt",
        "tfidf · unlabelled mails.txt",
    ]


def unlabelled(path: str | None) -> Run:
    run = factories.make_run()
    if path is None:
        return run
    file = {"unlabelled": "file", "unlabelled_path": path, "unlabelled_fingerprint": path[-7] * 64}
    return dataclasses.replace(run, budget=dataclasses.replace(run.budget, **file))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("budgets", "places"),
    [
        ((100, 1000, 10_000), {100: 100, 1000: 1000, 10_000: 10_000}),
        ((0, 100, 1000, 10_000), {0: 10, 100: 100, 1000: 1000, 10_000: 10_000}),
        ((0, 300), {0: 30, 300: 300}),
    ],
)
def test_no_labels_stand_one_usual_step_before_the_fewest(budgets: tuple[int, ...], places: dict[int, float]) -> None:
    assert figures.label_places(budgets) == pytest.approx(places)


def test_a_curve_with_no_labels_has_a_tick_for_them() -> None:
    lines = [
        Line(label="zero", order=0, points=(Point(labels=0, mean=60, low=57, high=63),)),
        Line(label="tfidf", order=1, points=(Point(labels=100, mean=60, low=57, high=63), Point(labels=1000, mean=70, low=67, high=73))),
    ]
    baseline = Baseline(labels=(0, 100, 1000), scores=(50.0, 50.0, 50.0))
    svg = figures.curves(lines, baseline, ticks={0: "0", 100: "100", 1000: "all 1,000"}, axis="Accuracy, %", salt="x")
    assert ">0<" in svg
    assert "(log scale; 0 stands apart)" in svg
    assert "nan" not in svg.lower()
