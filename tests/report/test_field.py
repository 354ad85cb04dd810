"""Records to contenders: what counts, what is missing, and what is refused."""

import dataclasses
import json
import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import factories
from bakeoff import record as records
from bakeoff import spec
from bakeoff.config import Composer
from bakeoff.errors import ConfigError, DataError
from bakeoff.report import ledger, timed
from bakeoff.report.choice import Field
from bakeoff.report.choose import Limits, choose
from bakeoff.report.field import field_of
from bakeoff.report.ledger import Selected
from bakeoff.store import Store

ACCURACY = {"tfidf": 0.7, "bilstm": 0.75, "pretrained": 0.8}
MS = {"tfidf": 0.5, "bilstm": 2.0, "pretrained": 20.0}


@pytest.fixture
def timed_store(store: Store) -> Store:
    """Three models at 100 and 1,000 labels with three seeds, all but tfidf timed."""
    for model, accuracy in ACCURACY.items():
        for labels in (100, 1000):
            for seed in range(3):
                factories.bake(store, factories.make_run(model=model, labels=labels, seed=seed), accuracy=accuracy + labels / 20000)
        if model != "tfidf":
            factories.bake_latency(store, factories.make_latency_run(model=model), factories.make_latency_facts(p50_ms=MS[model]))
    return store


def the_field(store: Store, limits: Limits | None = None, **wanted: str) -> Field:
    limits = limits or Limits()
    return field_of(ledger.select(store, limits, wanted=wanted), store, limits)


def by_label(field: Field) -> dict[str, Any]:
    return {each.label: each for each in field.contenders}


def test_quality_and_latency_make_contenders_at_the_largest_budget(timed_store: Store) -> None:
    field = the_field(timed_store)
    found = by_label(field)
    assert (field.labels, field.n_labels, field.other_labels, field.metric) == (1000, 1000, (100,), "accuracy")
    assert set(found) == {"bilstm", "pretrained (minilm-l6)", "tfidf"}
    encoder = found["pretrained (minilm-l6)"]
    assert (encoder.engine, encoder.p50_ms, encoder.timed.high_ms, encoder.seeds) == ("eager", 20.0, pytest.approx(42.0), 3)
    assert (encoder.bytes, encoder.flops, encoder.pool_share) == (4000, 2e6 * 20.0, 200 / 8000)
    assert found["tfidf"].timed is None
    assert field.machine == factories.MACHINE
    assert {answers.predicted.shape for each in field.contenders for answers in each.folds} == {(3, 200)}
    assert len(field.run_ids) == 9 + 2


def test_only_what_the_choice_needs_is_built(timed_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    load = Store.load
    monkeypatch.setattr(Store, "load", lambda self, run_id: built.append(run_id) or load(self, run_id))
    selected = ledger.select(timed_store, Limits(labels=100), wanted={"model": "bilstm"})
    assert len(built) == len(selected.records) == 3 + 1
    assert {record.run.model.name for record in selected.records} == {"bilstm"}


def test_the_line_that_times_a_model_follows_the_limits(timed_store: Store) -> None:
    limits = Limits(max_p95_ms=10, threads=1)
    choice = choose(the_field(timed_store, limits), limits)
    (untimed,) = choice.with_status("not_measured")
    data = "dataset=csv dataset.path=reviews.csv dataset.text=text dataset.label=label dataset.held_out_rows=200"
    words = f"{data} dataset.split=held_out_rows model=tfidf probe=latency"
    assert untimed.feasibility.command == f"bakeoff run {words}"
    asked = Limits(device="cuda", threads=4, engine="onnx_int8", tokens_p95=8000)
    line = timed.timing_line(factories.make_run(model="pretrained", seed=3), asked, known="bakeoff run model=x probe=latency")
    assert line == (
        "bakeoff run model=x probe=latency probe.device=cuda probe.threads=4 probe.engine=onnx_int8 probe.weights=trained "
        "budget.labels=100 seed=3 probe.lengths=long_grid"
    )
    assert timed.timing_line(factories.make_run(model="predictions"), Limits()) is None
    other = dataclasses.replace(factories.make_run(model="pretrained"), longdoc=spec.LongDoc(strategy="tail", max_tokens=128))
    assert "model=pretrained longdoc=tail longdoc.max_tokens=128 probe=latency" in (timed.timing_line(other, Limits()) or "")


def test_the_line_says_what_makes_the_data() -> None:
    own = {"split": "fold", "fold": 2, "held_out_rows": None}
    table = factories.make_dataset(text_pair="reply", group="author", fold_column="part", **own)
    line = timed.timing_line(factories.make_run(dataset=table), Limits()) or ""
    assert line.split(" model=")[0] == (
        "bakeoff run dataset=csv dataset.path=reviews.csv dataset.text=text dataset.text_pair=reply dataset.label=label "
        "dataset.group=author dataset.fold_column=part dataset.fold=2"
    )
    official = factories.make_dataset(split="official", test_path="/data/test.csv", held_out_rows=None)
    assert " dataset.test_path=test.csv " in (timed.timing_line(factories.make_run(dataset=official), Limits()) or "")
    folder = factories.make_dataset(
        format="folder", path="films", text=None, label=None, fold_pattern=r"^cv(\d)", group_pattern=r"_(\d+)", **own
    )
    asked = shlex.split(timed.timing_line(factories.make_run(dataset=folder), Limits()) or "")
    assert asked[2:7] == [
        "dataset=folder", "dataset.path=films", 'dataset.fold_pattern="^cv(\\d)"', 'dataset.group_pattern="_(\\d+)"', "dataset.fold=2"
    ]  # fmt: skip
    made = Composer().job(["dataset=needle", "dataset.needle.length_tokens=512", "dataset.needle.seed=3", "model=tfidf"]).run
    again = Composer().job(shlex.split(timed.timing_line(made, Limits()) or "")[2:]).run
    assert again.dataset == made.dataset
    assert made.dataset.needle is not None
    assert made.dataset.needle.length_tokens == 512


def test_filters_are_equalities_on_columns(timed_store: Store) -> None:
    assert set(by_label(the_field(timed_store, model="tfidf"))) == {"tfidf"}
    some = by_label(the_field(timed_store, seed="1", engine="eager", threads="1"))
    assert {each.seeds for each in some.values()} == {1}
    assert some["bilstm"].timed is not None
    with pytest.raises(ConfigError, match="modle is not a column; did you mean model"):
        the_field(timed_store, modle="tfidf")
    with pytest.raises(DataError, match="labels=300 is not recorded here; recorded are 100, 1000"):
        the_field(timed_store, Limits(labels=300))


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no record has a score to choose by: bake some Runs first"):
        the_field(Store(tmp_path / "none"))


def test_datasets_are_never_mixed(timed_store: Store) -> None:
    other = factories.make_dataset(name="films", fingerprint="b" * 64)
    factories.bake(timed_store, factories.make_run(labels=1000, dataset=other), accuracy=0.9)
    with pytest.raises(DataError, match=r"the records are of 2 datasets \(films, reviews\): choose one, for example dataset=films"):
        the_field(timed_store)
    assert len(the_field(timed_store, dataset="reviews").contenders) == 3
    changed = factories.make_dataset(fingerprint="c" * 64)
    factories.bake(timed_store, factories.make_run(labels=1000, dataset=changed), accuracy=0.9)
    with pytest.raises(DataError, match="2 versions of reviews: choose one, for example dataset_fingerprint=aaa"):
        the_field(timed_store, dataset="reviews")
    resplit = factories.make_dataset(held_out_rows=100)
    factories.bake(timed_store, factories.make_run(labels=1000, dataset=resplit), accuracy=0.9, rows=100)
    with pytest.raises(DataError, match="the records ask 2 different questions of reviews"):
        the_field(timed_store, dataset_fingerprint="a" * 64)


def test_machines_are_never_mixed(timed_store: Store) -> None:
    elsewhere = records.MachineFacts(processor="Other CPU", usable_cpus=4, memory_gb=16.0, gpu=None, device="cpu")
    run = factories.make_latency_run(model="tfidf", machine="Other CPU, 4 CPUs, 16 GB, torch 2.13.0")
    factories.bake_latency(timed_store, run, factories.make_latency_facts(p50_ms=0.1), machine=elsewhere)
    with pytest.raises(DataError, match="latencies come from 2 machines, which do not compare"):
        the_field(timed_store)
    here = by_label(the_field(timed_store, Limits(machine=factories.MACHINE)))
    assert here["tfidf"].timed is None
    assert here["bilstm"].p50_ms == 2.0
    there = by_label(the_field(timed_store, Limits(machine="Other CPU, 4 CPUs, 16 GB")))
    assert there["tfidf"].p50_ms == 0.1
    assert there["bilstm"].timed is None
    with pytest.raises(DataError, match="machine=Third timed nothing here"):
        the_field(timed_store, Limits(machine="Third"))


def test_threads_are_never_mixed(timed_store: Store) -> None:
    factories.bake_latency(timed_store, factories.make_latency_run(model="bilstm", threads=2), factories.make_latency_facts(p50_ms=1.2))
    assert by_label(the_field(timed_store))["bilstm"].p50_ms == 2.0
    two = by_label(the_field(timed_store, Limits(threads=2)))
    assert two["bilstm"].p50_ms == 1.2
    assert two["pretrained (minilm-l6)"].timed is None


def test_what_failed_and_diverged_and_collapsed_is_counted(timed_store: Store) -> None:
    failing = factories.make_run(model="bilstm", labels=1000, seed=3)
    timed_store.write_failure(failing, type_="RuntimeError", message="out of memory", trace=[])
    diverging = factories.make_run(model="bilstm", labels=1000, seed=4)
    factories.bake(timed_store, diverging, accuracy=0.5, status="diverged", quality={})
    one_class = factories.make_run(model="bilstm", labels=1000, seed=5)
    labels, _ = factories.make_predictions(accuracy=0.5)
    factories.save(timed_store, one_class, labels, np.zeros_like(labels))
    limits = Limits()
    planned = [factories.make_run(model="bilstm", labels=1000, seed=seed) for seed in range(8)]
    counts = by_label(field_of(ledger.select(timed_store, limits, wanted={}), timed_store, limits, planned=planned))["bilstm"].counts
    assert (counts.scored, counts.collapsed, counts.diverged, counts.failed, counts.planned, counts.lost) == (4, 1, 1, 1, 8, 2)


def test_models_that_read_no_label_compete_at_every_budget(timed_store: Store) -> None:
    factories.bake(timed_store, factories.make_run(model="zero_shot"), accuracy=0.7)
    factories.bake(timed_store, factories.make_run(model="predictions", labels="all"), accuracy=0.72, size=None)
    found = by_label(the_field(timed_store, Limits(labels=1000)))
    assert not found["zero_shot (minilm-l6)"].reads_labels
    assert not found["rules"].reads_labels
    assert (found["rules"].bytes, found["rules"].timing_command) == (None, None)
    assert the_field(timed_store).labels == 1000


def test_an_engine_that_changes_answers_is_judged_on_its_own(timed_store: Store) -> None:
    labels, predicted = factories.make_predictions(accuracy=0.6)
    agreement = records.Agreement(n=200, max_probability_difference=0.4, changed_labels=9, tolerance=1e-3)
    facts = factories.make_latency_facts(p50_ms=5.0, agreement=agreement)
    base = factories.make_latency_run(model="pretrained", labels=1000, engine="onnx_int8", weights="trained")
    factories.bake_latency(timed_store, base, facts)
    assert the_field(timed_store).unscored == ("pretrained (minilm-l6) · onnx int8",)
    for seed in (1, 2):
        run = dataclasses.replace(base, seed=seed, budget=dataclasses.replace(base.budget, draw=seed))
        factories.bake_latency(timed_store, run, facts, quality={"test": factories.split_quality(labels, predicted)})
        factories.write_predictions(timed_store.folder(run.run_id), labels, predicted)
    field = the_field(timed_store)
    own = by_label(field)["pretrained (minilm-l6) · onnx int8"]
    assert field.unscored == ()
    assert (own.seeds, own.p50_ms, own.counts.scored, own.folds[0].scores("accuracy").tolist()) == (2, 5.0, 2, [0.6, 0.6])
    assert by_label(field)["pretrained (minilm-l6)"].seeds == 3
    only = by_label(the_field(timed_store, Limits(engine="onnx_int8")))
    assert only["bilstm"].timed is None


def test_a_seed_whose_labels_an_engine_leaves_alone_keeps_its_answers(timed_store: Store) -> None:
    """Seed 1 changes labels and was scored, seeds 0 and 2 change none and so were not: three seeds, not one."""
    labels, predicted = factories.make_predictions(accuracy=0.6)
    base = factories.make_latency_run(model="pretrained", labels=1000, engine="onnx", weights="trained")
    for seed, changed in enumerate((0, 9, 0)):
        run = dataclasses.replace(base, seed=seed, budget=dataclasses.replace(base.budget, draw=seed))
        agreement = records.Agreement(n=200, max_probability_difference=0.0, changed_labels=changed, tolerance=1e-3)
        quality = {"test": factories.split_quality(labels, predicted)} if changed else {}
        factories.bake_latency(timed_store, run, factories.make_latency_facts(p50_ms=5.0, agreement=agreement), quality=quality)
        if changed:
            factories.write_predictions(timed_store.folder(run.run_id), labels, predicted)
    own = by_label(the_field(timed_store))["pretrained (minilm-l6) · onnx"]
    assert own.seeds == own.counts.scored == 3
    assert own.folds[0].scores("accuracy").tolist() == [0.85, 0.6, 0.85]
    assert set(own.fitted_by) == {factories.make_run(model="pretrained", labels=1000, seed=seed).run_id for seed in range(3)}


def test_an_engine_scored_at_another_budget_alone_is_not_scored_here(timed_store: Store) -> None:
    agreement = records.Agreement(n=200, max_probability_difference=0.4, changed_labels=9, tolerance=1e-3)
    facts = factories.make_latency_facts(p50_ms=5.0, agreement=agreement)
    for engine in ("onnx", "onnx_int8"):
        run = factories.make_latency_run(model="pretrained", labels=100, engine=engine, weights="trained")
        factories.bake_latency(timed_store, run, facts)
    as_eager = dataclasses.replace(agreement, max_probability_difference=0.0, changed_labels=0)
    untrained = factories.make_latency_run(model="pretrained", labels=1000, engine="onnx")
    factories.bake_latency(timed_store, untrained, factories.make_latency_facts(p50_ms=6.0, agreement=as_eager))
    field = the_field(timed_store)
    # What onnx did to weights of 100 labels says nothing of those of 1,000.
    assert by_label(field)["pretrained (minilm-l6) · onnx"].seeds == 3
    assert field.unscored == ("pretrained (minilm-l6) · onnx int8",)
    assert "pretrained (minilm-l6) · onnx int8" not in by_label(field)
    assert by_label(field)["pretrained (minilm-l6)"].unscored_engines == ("onnx_int8",)


def test_the_size_is_that_of_what_is_shipped(timed_store: Store) -> None:
    """TF-IDF at 1,000 labels weighs 0.49 MB, and 2.63 MB at all labels, on which it was timed; an exported file has a size of its own."""
    small, large, exported = (
        records.Size(parameters_total=1, parameters_trainable=1, parameters_embedding=0, bytes=n, flops_per_document=None)
        for n in (490_000, 2_630_000, 90_000_000)
    )
    model = dataclasses.replace(factories.MODELS["tfidf"], name="small", ngram_max=1)
    for seed in range(3):
        factories.bake(timed_store, factories.make_run(model=model, labels=1000, seed=seed), accuracy=0.7, size=small)
    facts = factories.make_latency_facts(p50_ms=0.5)
    factories.bake_latency(timed_store, factories.make_latency_run(model=model, labels="all"), facts, size=large)
    limits = Limits(max_size_mb=2)
    found = by_label(the_field(timed_store, limits))
    assert (found["small"].bytes, found["small"].timed.p50_ms) == (490_000, 0.5)
    assert choose(the_field(timed_store, limits), limits).with_status("infeasible") == ()
    untrained = factories.make_latency_run(model="pretrained", engine="onnx")
    factories.bake_latency(timed_store, untrained, facts, size=large)
    assert by_label(the_field(timed_store))["pretrained (minilm-l6) · onnx"].bytes is None
    trained = factories.make_latency_run(model="pretrained", labels=1000, engine="onnx", weights="trained")
    factories.bake_latency(timed_store, trained, facts, size=exported)
    assert by_label(the_field(timed_store))["pretrained (minilm-l6) · onnx"].bytes == 90_000_000


def test_an_engine_that_nobody_timed_recommends_nobody(timed_store: Store) -> None:
    limits = Limits(engine="onnx_int8")
    choice = choose(the_field(timed_store, limits), limits)
    assert choice.recommended is None
    assert {each.feasibility.lacking for each in choice.with_status("not_measured")} == {"not timed with engine onnx int8"}
    lines = {each.contender.label: each.feasibility.command for each in choice.judged}
    assert lines["tfidf"] is None
    assert "model=bilstm probe=latency probe.engine=onnx_int8 probe.weights=trained budget.labels=1000" in (lines["bilstm"] or "")


def test_a_diverged_run_at_a_larger_budget_is_no_budget_to_choose_at(timed_store: Store) -> None:
    diverging = factories.make_run(model="bilstm", labels=3000)
    factories.bake(timed_store, diverging, accuracy=0.5, status="diverged", quality={})
    field = the_field(timed_store)
    assert (field.labels, field.other_labels) == (1000, (100,))


def test_long_documents_are_timed_by_fixed_lengths(timed_store: Store) -> None:
    for model, most, each in (("bilstm", 1024, 0.1), ("pretrained", 256, 0.2)):
        grid = factories.make_grid(fixed_ms=1.0, ms_a_token=each, most=most)
        facts = factories.make_latency_facts(p50_ms=1.0, grid=grid, p95_ms=None)
        factories.bake_latency(timed_store, factories.make_latency_run(model=model, lengths="grid"), facts)
    found = by_label(the_field(timed_store, Limits(tokens_p95=700)))
    # The shortest length that is at least 700, and, for a reading that cuts at 256, the cut.
    assert (found["bilstm"].timed.tokens, found["bilstm"].p50_ms) == (1024, pytest.approx(102.4))
    assert found["bilstm"].timed.high_ms == pytest.approx(102.4 * 1.05)
    assert (found["pretrained (minilm-l6)"].timed.tokens, found["pretrained (minilm-l6)"].p50_ms) == (256, pytest.approx(51.2))
    assert by_label(the_field(timed_store, Limits(tokens_p95=2000)))["bilstm"].timed is None
    # The dataset's own documents have a p95 of 48 tokens.
    assert by_label(the_field(timed_store, Limits(tokens_p95=40)))["bilstm"].timed.tokens is None
    assert by_label(the_field(timed_store))["bilstm"].p50_ms == 2.0


def test_contended_sessions_stand_back(timed_store: Store) -> None:
    facts = factories.make_latency_facts(p50_ms=0.7, contended=True, session_id="c0ffee00")
    factories.bake_latency(timed_store, factories.make_latency_run(model="tfidf"), facts)
    found = by_label(the_field(timed_store))["tfidf"]
    assert found.timed.contended
    assert found.p50_ms is None


def test_folds_are_pooled(store: Store) -> None:
    for fold in range(5):
        dataset = factories.make_dataset(split="fold", fold=fold, held_out_rows=None)
        for seed in range(2):
            labels, predicted = factories.make_predictions(accuracy=0.7 + fold / 50, seed=seed)
            run = factories.make_run(labels=100, seed=seed, dataset=dataset)
            factories.save(store, run, labels, predicted)
    (one,) = the_field(store).contenders
    assert (len(one.folds), one.seeds, one.counts.scored) == (5, 2, 10)
    choice = choose(the_field(store), Limits())
    assert choice.judged[0].estimate.mean == pytest.approx(0.74)
    assert choice.judged[0].estimate.degrees == 4


def test_the_metric_can_be_asked_for(timed_store: Store) -> None:
    field = the_field(timed_store, Limits(metric="macro_f1"))
    assert (field.metric, field.metric_reason) == ("macro_f1", "as asked")
    assert choose(field, Limits(metric="macro_f1")).metric == "macro_f1"


def test_records_of_a_sweep_need_no_selecting(timed_store: Store) -> None:
    every = Selected(records=tuple(timed_store.load_all()), failures=(), other_labels=())
    commands = {each.candidate.key: "bakeoff run x=1 probe=latency" for each in the_field(timed_store).contenders}
    field = field_of(every, timed_store, Limits(labels=100), commands=commands)
    assert (field.labels, len(field.contenders)) == (100, 3)
    assert field.contenders[0].timing_command == "bakeoff run x=1 probe=latency"


@pytest.mark.slow
def test_ten_thousand_records_take_seconds(timed_store: Store) -> None:
    """9,988 records of other budgets beside those that count: under 2 s on a free core."""
    plain = json.loads((timed_store.folder(factories.make_run(labels=100).run_id) / "record.json").read_text())
    plain["run"]["budget"]["labels"] = 30
    for number in range(9_980):
        plain["run_id"] = f"{number:012x}"
        folder = timed_store.folder(plain["run_id"])
        folder.mkdir()
        (folder / "record.json").write_text(json.dumps(plain, indent=2))
    started = time.process_time()
    choice = choose(the_field(timed_store), Limits())
    assert choice.recommended is not None
    assert time.process_time() - started < 2.0
