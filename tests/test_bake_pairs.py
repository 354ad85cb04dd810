"""Runs on pairs of texts: a class that only the two halves together tell (pitfall 28), learned, saved and served."""

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import bakery
import served
from bakeoff import spec
from bakeoff.config import quoted
from bakeoff.data import budget
from bakeoff.data.dataset import prepare
from bakeoff.probes.engines import build_pipeline
from bakeoff.spec import Run
from bakeoff.training.learn import learn

KINDS = ("majority", "tfidf", "bilstm", "pretrained", "scratch", "frozen")
CUES = ("good", "bad")
EXTRA = {
    "scratch": ("model=scratch", "model.width=8", "model.heads=2", "model.layers=1", "model.feed_forward=16", "model.min_count=1"),
    "frozen": ("model=frozen", "model.cv_folds=2", "longdoc.max_tokens=32"),
}


def write_pairs(path: Path, count: int, *, second: bool = True, seed: int = 0) -> Path:
    """Random words, with the cue of the class in the second text (or in the first); the other text says nothing."""
    random = np.random.default_rng(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "label"])
        for i in range(count):
            told, plain = (" ".join(random.choice(bakery.FILLER, size=6, replace=False)) for _ in range(2))
            told = f"{told} {CUES[i % 2]}"
            writer.writerow([*((plain, told) if second else (told, plain)), ("neg", "pos")[i % 2]])
    return path


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bakery.checkpoint(tmp_path_factory.mktemp("toy") / "toy")


def overrides(kind: str, toy: Path, table: Path, *more: str) -> list[str]:
    model = [*bakery.TINY.get(kind, EXTRA.get(kind, ())), *(bakery.QUICK if kind == "scratch" else ())]
    if kind in ("pretrained", "frozen"):
        model.append(bakery.checkpoint_override(toy))
    data = ["dataset=csv", f"dataset.path={quoted(str(table))}", "dataset.text=a", "dataset.text_pair=b", "dataset.label=label"]
    return [*data, "machine.wandb=disabled", *model, *more]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_bakes_and_its_saved_model_serves_what_it_answered(kind: str, toy: Path, tmp_path: Path) -> None:
    table = write_pairs(tmp_path / "pairs.csv", 120)
    job = bakery.compose(*overrides(kind, toy, table, "budget.labels=40", "machine.keep_weights=all"))
    baked = bakery.bake(job)
    assert baked.record.status == "ok"
    prepared = prepare(job.run.dataset)
    assert prepared.test.pairs is not None
    run = dataclasses.replace(job.run, probe=served.latency())
    for weights in (None, baked.folder / "model"):
        pipeline = build_pipeline(run, prepared, classes=prepared.classes, weights_folder=weights)
        answers = pipeline.probabilities(prepared.test.documents)
        assert np.isfinite(answers).all()
        assert pipeline.lengths_tokens(prepared.test.documents).tolist() == [13 + extra(kind)] * len(prepared.test)
    recorded = np.asarray([baked.answers[row_id][1] for row_id in prepared.test.row_ids])
    assert np.abs(answers - recorded).max() < 1e-5
    assert baked.record.data.length_tokens["p50"] == 13 + extra(kind)


def extra(kind: str) -> int:
    """Tokens beside the 13 words of a row."""
    return {"majority": 0, "tfidf": 0, "bilstm": 1, "scratch": 1, "pretrained": 3, "frozen": 3}[kind]


def score(run: Run) -> float:
    prepared = prepare(run.dataset)
    spent = budget.spend(prepared.pool, run.budget, validation=isinstance(run.model, spec.Neural))
    learned = learn(run, prepared, spent, device="cpu", log=lambda step, metrics: None)
    assert learned.test is not None
    return float((learned.test.argmax(axis=1) == prepared.test.labels).mean())


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("kind", ["tfidf", "bilstm", "pretrained"])
def test_a_cue_in_either_text_is_learned(kind: str, second: bool, toy: Path, tmp_path: Path) -> None:
    table = write_pairs(tmp_path / "pairs.csv", 260, second=second)
    more = [] if kind == "tfidf" else ["model.training.epochs=12", "model.training.batch_size=8", "model.training.learning_rate=2e-2"]
    run = bakery.compose(*overrides(kind, toy, table, "budget.labels=200", *more)).run
    assert score(run) > 0.9
