"""Masked language modelling from texts to saved weights, and models that start from them."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import bakery
from bakeoff import spec
from bakeoff.bake import bake
from bakeoff.data import budget, dataset, longdoc, unlabelled
from bakeoff.data.tokens import WordVocabulary
from bakeoff.errors import ConfigError
from bakeoff.models.build import build
from bakeoff.provenance import provenance
from bakeoff.report.frame import record_row
from bakeoff.store import Store, default_root
from bakeoff.training import starting
from bakeoff.training.learn import learn
from bakeoff.training.learned import Learned

TINY = ("model.width=16", "model.heads=2", "model.layers=1", "model.feed_forward=32", "model.min_count=1", "model.dropout=0")
QUICK = ("probe.training.epochs=2", "probe.training.min_steps=60", "probe.training.learning_rate=1e-2")
SENTENCES = ("one two three four five six", "red green blue red green blue", "up down up down up down")


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    """Overrides that ask about a table whose words follow one another in three ways."""
    random = np.random.default_rng(0)
    rows = [(f"{SENTENCES[i % 3]} {random.choice(bakery.FILLER)}", "ab"[i % 2]) for i in range(480)]
    return bakery.on_table(bakery.write_csv(tmp_path / "table.csv", rows))


def pretraining(table: list[str], *overrides: str, model: str = "scratch") -> spec.Run:
    tiny = TINY if model == "scratch" else ()
    return bakery.compose(
        *table, "probe=pretrain", f"model={model}", "budget.labels=30", "budget.unlabelled=pool", *tiny, *QUICK, *overrides
    ).run


def student_of(run: spec.Run) -> spec.Run:
    """A quality Run of the same model that starts from `run`."""
    model = dataclasses.replace(run.model, name="student", start=run.model.name)  # type: ignore[type-var]
    quality = spec.Quality(threads=1)
    return dataclasses.replace(run, budget=dataclasses.replace(run.budget, unlabelled="none"), model=model, probe=quality, start=run)


def learned(run: spec.Run, **needs: Path) -> Learned:
    prepared = dataset.prepare(run.dataset)
    spent = budget.spend(prepared.pool, run.budget, validation=run.keeps_validation)
    texts = unlabelled.read(run.budget, run.dataset, prepared, spent)
    return learn(run, prepared, spent, device="cpu", log=lambda step, metrics: None, unlabelled=texts.documents, needs=needs)


def test_the_loss_falls_and_is_the_same_every_time(table: list[str]) -> None:
    found = learned(pretraining(table, "probe.training.min_steps=200"))
    losses = [line["validation_loss"] for line in found.history if line["validation_loss"] is not None]
    assert found.test is None
    assert found.finite
    assert losses[0] == pytest.approx(4.7138771, rel=1e-5)
    assert found.best_validation_loss == min(losses) == pytest.approx(1.507811, rel=1e-3)
    assert found.selected["perplexity"] == math.exp(found.best_validation_loss or 0)
    assert found.selected["masked_accuracy"] > 0.5


def test_texts_are_the_budgets_and_the_unlabelled_ones_never_those_that_judge(table: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = pretraining(table, "budget.labels=300")
    prepared = dataset.prepare(run.dataset)
    spent = budget.spend(prepared.pool, run.budget, validation=True)
    assert len(spent.validation)
    read: list[str] = []
    original = longdoc.read
    monkeypatch.setattr(longdoc, "read", lambda texts, *rest: read.extend(texts) or original(texts, *rest))  # type: ignore[func-returns-value]
    found = learned(run)
    pool = prepared.pool
    rest = unlabelled.read(run.budget, run.dataset, prepared, spent)
    assert (len(rest.documents), rest.left_out) == (len(spent.unlabelled) - 2, 2)
    expected = [*pool.take(spent.fit).texts, *rest.documents]
    # What is read after training is the test texts' length.
    assert read == [*expected, *prepared.test.texts]
    assert found.selected["texts"] + found.selected["held_out_texts"] == len(expected)
    assert 0 < found.selected["held_out_texts"] < 0.12 * len(expected)


def test_a_pretraining_run_is_baked_without_an_answer_and_always_leaves_its_weights(table: list[str]) -> None:
    run = pretraining(table)
    baked = bakery.bake(
        bakery.compose(*table, "probe=pretrain", "model=scratch", "budget.labels=30", "budget.unlabelled=pool", *TINY, *QUICK)
    )
    record = baked.record
    assert (record.run_id, record.status, record.quality) == (run.run_id, "ok", {})
    assert (record.data.n_fit, record.data.n_val, record.data.n_test) == (0, 0, 0)
    assert record.training.diagnostics == ()
    assert sorted(file.name for file in (baked.folder / "model").iterdir()) == ["bakeoff.json", "model.safetensors", "vocabulary.json"]
    assert not (baked.folder / "predictions.parquet").exists()
    assert record_row(record)["accuracy"] is None
    loaded = Store(default_root()).load(run.run_id)
    assert loaded is not None
    assert loaded.training == record.training


def test_a_loss_that_is_no_number_diverges_and_leaves_no_weights(table: list[str]) -> None:
    too_fast = ("probe.training.learning_rate=1e30", "probe.training.clip_norm=1e30")
    baked = bakery.bake(bakery.compose(*table, "probe=pretrain", "model=scratch", *TINY, *QUICK, *too_fast))
    assert (baked.record.status, [found.code for found in baked.record.training.diagnostics]) == ("diverged", ["not_finite"])
    assert "it is 1e+30" in baked.record.training.diagnostics[0].message
    assert not (baked.folder / "model").exists()


def test_a_start_gives_its_encoder_and_words_and_leaves_the_head_fresh(table: list[str], tmp_path: Path) -> None:
    run = pretraining(table)
    learned(run).save(tmp_path / "model")
    model = student_of(run).model
    assert isinstance(model, spec.Scratch)
    words = starting.vocabulary_of(tmp_path / "model")
    assert words.words == tuple(json.loads((tmp_path / "model" / "vocabulary.json").read_text()))
    torch.manual_seed(0)
    classifier = build(model, n_classes=2, vocabulary_size=len(words), pad_id=words.pad_id, folder=None)
    before = {name: tensor.clone() for name, tensor in classifier.state_dict().items()}
    starting.start_from(classifier, tmp_path / "model", model)
    saved = load_file(tmp_path / "model" / "model.safetensors")
    after = classifier.state_dict()
    assert set(after) - set(saved) == {"head.weight", "head.bias"}
    for name, tensor in after.items():
        assert tensor.equal(saved[name] if name in saved else before[name]), name
    assert not before["embedding.weight"].equal(after["embedding.weight"])


def test_a_start_of_another_shape_is_refused(table: list[str], tmp_path: Path) -> None:
    run = pretraining(table)
    learned(run).save(tmp_path / "model")
    wide = dataclasses.replace(run.model, width=32, start="scratch")  # type: ignore[type-var]
    assert isinstance(wide, spec.Scratch)
    classifier = build(wide, n_classes=2, vocabulary_size=len(WordVocabulary(words=())), pad_id=0, folder=None)
    with pytest.raises(ConfigError, match=r"^model.start=scratch cannot be the start of scratch: embedding.weight is \[\d+, 16\] there"):
        starting.start_from(classifier, tmp_path / "model", wide)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 32}, "model.start=scratch has model.width=16, but student has 32: give both the same"),
        ({"causal": True, "pooling": "last"}, "model.start=scratch has model.causal=False, but student has True: give both the same"),
        ({"pooling": "max"}, None),
    ],
)
def test_student_and_start_are_of_one_architecture_but_for_what_has_no_weights(
    table: list[str], changes: dict[str, object], message: str | None
) -> None:
    student = student_of(pretraining(table))
    model = dataclasses.replace(student.model, **changes)  # type: ignore[arg-type]
    if message is None:
        assert dataclasses.replace(student, model=model).run_id != student.run_id
    else:
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(student, model=model)


def test_pretraining_that_reads_nothing_and_words_that_come_from_the_start_are_refused(table: list[str]) -> None:
    run = pretraining(table)
    nothing = dataclasses.replace(run.budget, labels=0, unlabelled="none")
    with pytest.raises(ValueError, match=r"budget.labels=0 leaves scratch no text to read with probe=pretrain: set budget.unlabelled=pool"):
        dataclasses.replace(run, budget=nothing)
    student = student_of(run)
    with pytest.raises(ValueError, match=r"budget.unlabelled=pool means nothing to student, which has its words from model.start=scratch"):
        dataclasses.replace(student, budget=run.budget)


@pytest.mark.parametrize("model", ["scratch", "pretrained"])
def test_a_student_is_baked_from_its_start(table: list[str], tmp_path: Path, model: str) -> None:
    toy = bakery.checkpoint(tmp_path / "toy", words=[*dict.fromkeys(" ".join(SENTENCES).split()), *bakery.FILLER])
    own = [] if model == "scratch" else [bakery.checkpoint_override(toy), "longdoc.max_tokens=32"]
    run = pretraining(table, "probe.training.min_steps=4", *own, model=model)
    store, machine = Store(default_root()), bakery.compose(*table).machine
    student = student_of(run)
    trained = dataclasses.replace(student.model.training, epochs=1, min_steps=1, learning_rate=1e-9)  # type: ignore[union-attr]
    student = dataclasses.replace(student, model=dataclasses.replace(student.model, training=trained))  # type: ignore[arg-type]
    for each in (run, student):
        kept = dataclasses.replace(machine, keep_weights="all")
        bake(each, store.folder(each.run_id), lambda notice: None, store.write_record, machine=kept, code=provenance())
    start, own_weights = (load_file(store.folder(each.run_id) / "model" / "model.safetensors") for each in (run, student))
    assert set(own_weights) - set(start) == {"head.weight", "head.bias"}
    assert all(torch.allclose(own_weights[name], start[name], atol=1e-6) for name in start)
    record = store.load(student.run_id)
    assert record is not None
    assert record.quality["test"].n > 0
    assert record.run.start == dataclasses.replace(run, dataset=record.run.start.dataset, model=record.run.start.model)  # type: ignore[union-attr]
