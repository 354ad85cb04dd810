"""The page of long documents: its sentences, tables and figures, and how cells that were not run are told."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import factories
import reading
from bakeoff import spec
from bakeoff.config import Composer
from bakeoff.report import troubles
from bakeoff.report.evidence import Outcome, outcomes
from bakeoff.report.longdoc_blocks import longdoc_blocks
from bakeoff.report.pages import write_report
from bakeoff.report.summary import sections
from bakeoff.store import Store
from bakeoff.sweep import Cell, Sweep
from factories import cell, sweep_of

LENGTHS = [300] * 50 + [900] * 100 + [1500] * 50
HARD = np.random.default_rng(3).permutation(200)


def bake_reader(store: Store, model: str | spec.Model, name: str, accuracy: float, **changes: object) -> spec.Run:
    run = reading.make_run(model, name, dataset=changes.pop("dataset", None))  # type: ignore[arg-type]
    right = [int(hard < round(200 * accuracy)) for hard in HARD]
    reading.bake(store, run, right, **({"lengths": LENGTHS} | changes))  # type: ignore[arg-type]
    return run


@pytest.fixture
def runs(store: Store) -> list[spec.Run]:
    return [
        bake_reader(store, "pretrained", "head 256", 0.7),
        bake_reader(store, "pretrained", "tail 256", 0.8),
        bake_reader(store, "pretrained", "windows", 0.85, predict_seconds=8.0),
        bake_reader(store, reading.PIECES, "full", 0.75),
        bake_reader(store, reading.PIECES, "tail 256", 0.8),
    ]


def page(store: Store, runs: list[spec.Run], folder: Path) -> str:
    return write_report([sweep_of(*map(cell, runs))], store, folder).read_text()


def test_the_sentences(runs: list[spec.Run], store: Store) -> None:
    found, _, pairs = longdoc_blocks(sections(runs, store), store)
    first, past, everywhere, long, equal = found.notes
    assert re.match(r"pretrained \(minilm-l6\) at 256 tokens: the tail scores 10\.0 points above the head \(95% interval \+5\.8 to ", first)
    assert first.endswith("200 documents, 1 seed).")
    n_wrong = sum(135 <= 0 or (140 <= hard < 170) for hard in HARD[50:])
    assert f"minus head-256 is +{100 * n_wrong / 150:.1f} points" in past
    assert "the best of 2 other readings there" in past
    assert "150 documents, 1 seed), where the smallest detectable difference is " in past
    assert "the best of 3 readings by encoders, minus bilstm (minilm-l6) on the whole document is +10.0 points on all" in everywhere
    assert "on documents over 512 tokens of pretrained (minilm-l6)" in long
    assert equal == "At equal tokens read, pretrained (minilm-l6) minus bilstm (minilm-l6): tail-256 0.0 (−1.8 to +1.8) points."
    assert len(pairs.grids[0].rows) == 5


def test_head_and_tail_that_are_not_told_apart_say_so(store: Store) -> None:
    runs = [bake_reader(store, "pretrained", "head 256", 0.705), bake_reader(store, "pretrained", "tail 256", 0.7)]
    found, *_ = longdoc_blocks(sections(runs, store), store)
    assert "the head scores 0.5 points above the tail" in found.notes[0]
    assert found.notes[0].endswith("1 seed): these rows and seeds do not tell the two apart.")


def test_the_table_of_readers(runs: list[spec.Run], store: Store) -> None:
    _, ways, _ = longdoc_blocks(sections(runs, store), store)
    (grid,) = ways.grids
    best = dict(zip(grid.heads, grid.rows[0], strict=True))
    right = HARD < 170
    assert best["reading"] == "windows-256-64 mean_logits"
    assert (best["text read %"], best["tokens a document"], best["predicting, s a document"]) == ("25.0", "256", "0.0400")
    assert best["accuracy %"].startswith("85.0 (")
    assert best["to 512 tokens %"] == f"{100 * right[:50].mean():.1f} (n 50)"
    assert best["513–1,024 tokens %"] == f"{100 * right[50:150].mean():.1f} (n 100)"
    assert best["1,025–2,048 tokens %"] == f"{100 * right[150:].mean():.1f} (n 50)"
    assert "over 2,048 tokens %" not in best
    assert grid.runs[0] == (runs[2].run_id,)


@pytest.mark.parametrize(
    ("lengths", "told"), [("dataset", "single"), ("grid", "single, by length"), ("long_grid", "single, by length up to 32,768 tokens")]
)
def test_a_latency_cell_names_its_lengths(lengths: str, told: str) -> None:
    assert troubles._what(factories.make_latency_run(lengths=lengths), "bilstm").split(" · ")[-1] == told


def test_generated_documents_say_what_an_ideal_reader_has(store: Store) -> None:
    dataset = Composer().job(["dataset=needle", "model=majority"]).run.dataset
    told = (("head 256", 0.25), ("tail 256", None))
    runs = [bake_reader(store, "pretrained", name, 0.7, dataset=dataset, visible=visible) for name, visible in told]
    found, ways, _ = longdoc_blocks(sections(runs, store), store)
    assert found.paragraphs[1].startswith("The ideal reader sees one look at a time")
    (grid,) = ways.grids
    shown = {row[grid.heads.index("reading")]: row[grid.heads.index("ideal reader %")] for row in grid.rows}
    assert shown == {"head-256": "62.5", "tail-256": "–"}


def test_figures_name_their_slices_and_readings(runs: list[spec.Run], store: Store) -> None:
    _, ways, _ = longdoc_blocks(sections(runs, store), store)
    encoder, bilstm, seconds = ways.figures
    for text in ("windows-256-64 mean_logits", "tail-256", "head-256", "to 512 tokens", "513–1,024 tokens", "1,025–2,048 tokens"):
        assert f">{text}<" in encoder.svg, text
    assert ">full<" in bilstm.svg
    assert ">over 2,048 tokens<" not in encoder.svg
    assert ">seconds a document (log scale)<" in seconds.svg
    assert ">pretrained · windows-256-64 mean_logits<" in seconds.svg
    assert seconds.runs == tuple(run.run_id for run in sorted(runs, key=lambda run: seconds.runs.index(run.run_id)))
    assert len({figure.file for figure in ways.figures}) == 3


def test_the_page_has_the_block_only_where_a_model_reads_in_several_ways(runs: list[spec.Run], store: Store, tmp_path: Path) -> None:
    assert "## Ways to read long documents: reviews, all 8,000 labels" in page(store, runs, tmp_path)
    assert len(list((tmp_path / "figures").glob("reading-*.svg"))) == 2
    assert "Ways to read" not in page(store, [runs[0], runs[3]], tmp_path)
    assert list((tmp_path / "figures").glob("reading-*.svg")) == []


def test_few_groups_are_an_illustration_without_verdict(store: Store, tmp_path: Path) -> None:
    dataset = factories.make_dataset(group="book")
    readers = {"head 256": 0.7, "tail 256": 0.8}
    groups = np.arange(200) // 25
    runs = [bake_reader(store, "pretrained", name, score, dataset=dataset, groups=groups) for name, score in readers.items()]
    found, _, pairs = longdoc_blocks(sections(runs, store), store)
    assert found.warnings == (
        "Illustration, without verdict: the test rows stand in 8 groups (book), and fewer than 20 say little of others.",
    )
    assert found.notes == ()
    assert dict(zip(pairs.grids[0].heads, pairs.grids[0].rows[0], strict=True))["groups"] == "8"


def test_published_numbers_stand_beside_newsgroups_with_the_variant(store: Store) -> None:
    changes = {"asset": "newsgroups", "path": None, "text": None, "label": None, "format": "orange"}
    dataset = factories.make_dataset(name="newsgroups", split="official", held_out_rows=None, **changes)
    runs = [bake_reader(store, "pretrained", name, 0.8, dataset=dataset) for name in ("head 256", "tail 256")]
    found, *_ = longdoc_blocks(sections(runs, store), store)
    assert "BERT 84.79" in found.notes[-1]
    assert "ToBERT 85.52" in found.notes[-1]
    assert "another variant" in found.notes[-1]


def in_folds(*, folds: int, seeds: int, names: tuple[str, ...]) -> tuple[Cell, ...]:
    """Cells of an encoder in these folds and seeds, read in these ways; `windows` is refused."""
    cells = []
    for fold in range(folds):
        for name in names:
            for seed in range(seeds):
                words = ("dataset=reviews", f"dataset.fold={fold}", "model=pretrained", f"longdoc={name}", f"seed={seed}")
                run = reading.make_run("pretrained", name, seed=seed, dataset=reading.folds_of(fold))
                refused = Cell(overrides=words, run=None, reason="not with this model")
                cells.append(refused if name == "windows" else Cell(overrides=words, run=run))
    return tuple(cells)


def told(sweep: Sweep, store: Store) -> list[str]:
    return [row.what for row in troubles.troubles(sweep.runs, outcomes(sweep, store))]


def test_cells_that_differ_in_fold_and_seed_share_a_line(store: Store) -> None:
    sweep = sweep_of(*in_folds(folds=2, seeds=3, names=("head 256", "tail 256", "windows")))
    assert told(sweep, store) == [
        "reviews, folds 0, 1 · pretrained (minilm-l6) · head-256 · all labels · seeds 0, 1, 2 · 6 Runs",
        "reviews, folds 0, 1 · pretrained (minilm-l6) · tail-256 · all labels · seeds 0, 1, 2 · 6 Runs",
        "dataset=reviews model=pretrained longdoc=windows dataset.fold=0,1",
    ]
    assert troubles.listed(outcomes(sweep, store)) == outcomes(sweep, store)
    assert troubles.lines_to_bake([sweep], outcomes(sweep, store), overrides=()) == []


def test_hundreds_of_cells_not_run_are_a_line_a_model(store: Store, tmp_path: Path) -> None:
    cells = in_folds(folds=5, seeds=6, names=("head 256", "tail 256", "windows"))
    sweep = sweep_of(*cells, name="long")
    for each in cells[:7:6]:  # one head and one tail of fold 0
        assert each.run is not None
        bake_reader(
            store, each.run.model, "head 256" if "longdoc=head 256" in each.overrides else "tail 256", 0.7, dataset=each.run.dataset
        )
    assert told(sweep, store) == [
        "reviews, folds 0, 1, 2, 3, 4 · pretrained (minilm-l6) · all labels · readings head-256, tail-256 · "
        "seeds 0, 1, 2, 3, 4, 5 · 58 Runs",
        "dataset=reviews model=pretrained longdoc=windows dataset.fold=0,1,2,3,4",
    ]
    overrides = ["dataset.path=/home/alice/reviews"]
    text = write_report([sweep], store, tmp_path, overrides=overrides).read_text()
    assert "\nbakeoff sweep sweeps/long.yaml dataset.path=reviews model=pretrained  # 58 Runs\n" in text
    assert "One line a cell, without those not run" in text
    assert text.count("`bakeoff run ") == 2 + 30  # recorded, and not applicable
    html = (tmp_path / "index.html").read_text()
    assert "bakeoff sweep sweeps/long.yaml dataset.path=reviews model=pretrained  # 58 Runs" in html


def test_each_sweep_has_its_own_lines(store: Store) -> None:
    cells = in_folds(folds=5, seeds=6, names=("head 256", "tail 256"))
    other = tuple(
        Cell(overrides=("model=bilstm", f"seed={seed}"), run=dataclasses.replace(reading.make_run("bilstm", "full", seed=seed)))
        for seed in range(3)
    )
    sweeps = [sweep_of(*cells, name="long"), sweep_of(*other, name="whole")]
    found: list[Outcome] = [outcome for sweep in sweeps for outcome in outcomes(sweep, store)]
    assert troubles.lines_to_bake(sweeps, found, overrides=()) == [
        "bakeoff sweep sweeps/long.yaml model=pretrained  # 60 Runs",
        "bakeoff sweep sweeps/whole.yaml model=bilstm  # 3 Runs",
    ]
    assert troubles.lines_to_bake(sweeps, found, overrides=("model=bilstm",))[1] == "bakeoff sweep sweeps/whole.yaml model=bilstm  # 3 Runs"
