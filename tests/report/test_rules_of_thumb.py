"""What is often advised beside what records say of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import factories
from bakeoff.report import rules_of_thumb
from bakeoff.report.answer import questions
from bakeoff.report.choice import Limits
from bakeoff.report.rules_of_thumb import Thumb, thumbs
from bakeoff.report.summary import sections
from bakeoff.spec import Distillation, Pretrained, Run
from bakeoff.store import Store

TEACHING = Distillation(temperature=1.0, soft_weight=1.0, hard_weight=0.0, hidden_weight=0.0, transfer_epochs=1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def scored(store: Store, model: Any, accuracy: float, *, seeds: int = 5, teachers: list[Run] | None = None) -> list[Run]:
    runs = [factories.make_run(model=model, labels=1000, seed=seed) for seed in range(seeds)]
    if teachers is not None:
        student = replace(model, teacher="pretrained", distillation=TEACHING)
        runs = [replace(run, teacher=teacher, model=student) for run, teacher in zip(runs, teachers, strict=True)]
    for run in runs:
        factories.bake(store, run, accuracy=accuracy)
    return runs


def timed(store: Store, model: Any, p50_ms: float) -> Run:
    run = factories.make_latency_run(model=model)
    factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=p50_ms, ratio=p50_ms))
    return run


def said(store: Store, *runs: Run) -> dict[str, Thumb]:
    """By rule; these records are of one dataset."""
    records = [record for run in runs if (record := store.load(run.run_id)) is not None]
    found = thumbs(sections(runs, store), questions(records, store, Limits()), store)
    assert len(found) == len({one.rule for one in found}) == 8
    return {one.rule: one for one in found}


def test_pretrained_under_50_000_labels(store: Store) -> None:
    runs = [*scored(store, "tfidf", 0.7), *scored(store, "pretrained", 0.8)]
    found = said(store, *runs)["Pretrained with under about 50,000 labels"]
    assert (found.dataset, found.here) == ("reviews", "agrees")
    assert found.says.startswith("1,000 labels: +10.0 points (+7.")
    assert found.says.endswith(") against tfidf")


def test_pretrained_that_is_shown_worse_disagrees(store: Store) -> None:
    runs = [*scored(store, "tfidf", 0.8), *scored(store, "pretrained", 0.7)]
    found = said(store, *runs)["Pretrained with under about 50,000 labels"]
    assert found.here == "disagrees"
    assert found.says.startswith("1,000 labels: −10.0 points (−1")


def test_a_third_kind_that_leads_keeps_the_two_comparable(store: Store) -> None:
    """A student is best; the gap is that of the teacher to tfidf, 20 points."""
    teachers = scored(store, "pretrained", 0.8)
    student = replace(factories.MODELS["pretrained"], name="distilled", pooling="cls")
    runs = [*teachers, *scored(store, "tfidf", 0.6), *scored(store, student, 0.83, teachers=teachers)]
    found = said(store, *runs)["Pretrained with under about 50,000 labels"]
    assert found.here == "agrees"
    assert found.says.startswith("1,000 labels: +20.0 points (+")
    assert found.says.endswith(") against tfidf")


def test_one_seed_shows_nothing(store: Store) -> None:
    runs = [*scored(store, "tfidf", 0.7, seeds=1), *scored(store, "pretrained", 0.8, seeds=1)]
    assert said(store, *runs)["Pretrained with under about 50,000 labels"].here == "undecided"


def test_recurrent_for_single_digit_milliseconds(store: Store) -> None:
    runs = [*scored(store, "tfidf", 0.7), *scored(store, "bilstm", 0.75), *scored(store, "pretrained", 0.8)]
    runs += [timed(store, "tfidf", 0.3), timed(store, "bilstm", 1.0), timed(store, "pretrained", 12.0)]
    found = said(store, *runs)
    fast, any_time = found["Recurrent for single-digit milliseconds"], found["Recurrent without a GPU"]
    assert (fast.here, fast.says) == ("agrees", "the rule picks bilstm (75.0%)")
    assert any_time.here == "disagrees"
    assert any_time.says.startswith("the rule picks pretrained (minilm-l6) (80.0%); bilstm (75.0%): at least ")


def test_a_floor_that_is_better_within_the_limit_disagrees(store: Store) -> None:
    runs = [*scored(store, "tfidf", 0.8), *scored(store, "bilstm", 0.7), timed(store, "tfidf", 0.3), timed(store, "bilstm", 1.0)]
    found = said(store, *runs)["Recurrent for single-digit milliseconds"]
    assert found.here == "disagrees"
    assert found.says.startswith("the rule picks tfidf (80.0%); bilstm (70.0%): at least ")


@pytest.mark.parametrize(("accuracy", "here"), [(0.83, "agrees"), (0.7, "disagrees")])
def test_a_distilled_student_beside_its_teacher(store: Store, accuracy: float, here: str) -> None:
    teachers = scored(store, "pretrained", 0.805)
    base = factories.MODELS["pretrained"]
    assert isinstance(base, Pretrained)
    student = replace(base, name="distilled", pooling="cls")
    found = said(store, *teachers, *scored(store, student, accuracy, teachers=teachers))["Distilled before full size"]
    assert found.here == here
    assert found.says.startswith("distilled (minilm-l6) against pretrained (minilm-l6): ")


@pytest.mark.parametrize(("accuracy", "here"), [(0.9, "agrees"), (0.7, "disagrees")])
def test_zero_shot_beside_the_best_at_1_000_labels(store: Store, accuracy: float, here: str) -> None:
    free = factories.make_run(model="zero_shot")
    factories.bake(store, free, accuracy=accuracy)
    found = said(store, free, *scored(store, "tfidf", 0.805))["Zero-shot first"]
    assert found.here == here
    assert found.says.startswith("zero_shot (minilm-l6) against tfidf with 1,000 labels: ")


def test_what_nobody_measured_says_what_is_missing(store: Store) -> None:
    found = said(store, *scored(store, "tfidf", 0.7))
    assert {one.here for one in found.values()} == {"not measured here"}
    assert found["Pretrained where nuance decides"].says == "these records do not score texts with negation or contrast apart"
    assert found["Recurrent for very long documents"].says == "no documents here reach 1,000 tokens at the 95th percentile"


def test_long_documents_that_no_recurrent_model_read_are_not_called_short(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_of_thumb, "LONG_TOKENS", 48)
    found = said(store, *scored(store, "pretrained", 0.7))["Recurrent for very long documents"]
    assert (found.here, found.says) == ("not measured here", "no recurrent model competes")
