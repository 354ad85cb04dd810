"""A session from its Runs to their records: files, facts and failures."""

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
import yaml

import bakery
from bakeoff import bake_latency
from bakeoff import record as records
from bakeoff.bake_latency import bake_session
from bakeoff.commands.baking import bake_runs
from bakeoff.config import Composer
from bakeoff.data import dataset
from bakeoff.errors import NotApplicable
from bakeoff.probes import quality as scoring
from bakeoff.probes.rules import Rules
from bakeoff.record import Record
from bakeoff.spec import Latency, Machine, Run
from bakeoff.store import Store, default_root
from bakeoff.tracking import Mirror

sys.path.insert(0, str(Path(__file__).parent / "probes"))
import toy_served

RULES = Rules(
    block_ms=1.0,
    least_calls=2,
    least_rounds=4,
    samples_p50=2,
    samples_p90=4,
    samples_p95=8,
    samples_p99=10**6,
    warm_up_calls=3,
    warm_up_seconds=0.05,
    seconds_per_model=2.0,
)
MACHINE = Machine(device="auto", slots=None, wandb="disabled", wandb_project="p", keep_weights="none", share_texts=False)


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    pool, test = bakery.rows(24), bakery.rows(12, seed=1)
    return bakery.on_table(bakery.write_csv(tmp_path / "pool.csv", pool), bakery.write_csv(tmp_path / "test.csv", test))


@pytest.fixture
def timed(table: list[str]) -> Callable[..., Run]:
    """A latency Run of a toy, whose name says what it does."""

    def make(name: str, *overrides: str) -> Run:
        width = sum(map(ord, name))
        return bakery.compose(*table, "probe=latency", "model=bilstm", f"model.name='{name}'", f"model.hidden_dim={width}", *overrides).run

    return make


def bake(*runs: Run) -> dict[str, Record | Exception]:
    store = Store(default_root())
    return bake_session(runs, store.folder, lambda _: None, lambda _: None, machine=MACHINE, kit=toy_served.KIT, rules=RULES)


def recorded(answer: Record | Exception) -> Record:
    assert isinstance(answer, Record), answer
    return answer


def test_a_session_records_each_run_and_not_the_reference(timed: Callable[..., Run]) -> None:
    runs = [timed("fast one"), timed("plain")]
    answers = bake(*runs)
    assert list(answers) == [run.run_id for run in runs]
    fast, plain = (recorded(answer) for answer in answers.values())
    for run, record in zip(runs, (fast, plain), strict=True):
        assert (record.run_id, record.question_id, record.status, record.run) == (run.run_id, run.question_id, "ok", run)
        assert (record.quality, record.training.stop_reason, record.training.seconds) == ({}, "not_trained", 0.0)
        assert (record.data.n_fit, record.data.n_val, record.data.n_test, record.data.n_pool) == (0, 0, 12, 24)
        assert record.data.length_tokens == {"p50": 12.0, "p90": 12.0, "p95": 12.0, "p99": 12.0, "max": 12.0}
        assert record.machine.device == "cpu"
        assert record.size == toy_served.describe(run, None).size  # type: ignore[arg-type]
        assert records.from_json(record.to_json()).latency == record.latency
    assert fast.latency is not None
    assert plain.latency is not None
    assert fast.latency.session_id == plain.latency.session_id
    assert fast.started_at == plain.started_at
    assert (fast.latency.n_documents, fast.latency.unit) == (8, "ms per document")  # of 12, since 8 samples are enough for p95
    assert fast.latency.p95_ms is not None
    assert fast.latency.missing["p99_ms"].startswith("p99 needs 1,000,000 samples")
    assert plain.latency.ratio_to_reference is not None, "the reference was timed, though nobody asked for it"
    assert plain.latency.p50_ms is not None
    assert plain.latency.p50_ms >= 1.0
    assert set(plain.latency.engine_versions) == {"torch"}


def test_its_files_are_the_configuration_and_the_raw_samples(timed: Callable[..., Run]) -> None:
    run = timed("fast one")
    record = recorded(bake(run)[run.run_id])
    folder = Store(default_root()).folder(run.run_id)
    assert sorted(path.name for path in folder.iterdir()) == ["latency.parquet", "run.yaml"]
    assert yaml.safe_load((folder / "run.yaml").read_text())["probe"]["kind"] == "latency"
    assert Composer(folder, "run").job([]).run == run
    samples = parquet.read_table(folder / "latency.parquet").to_pandas()
    own = samples[samples.kind == "sample"]
    assert record.latency is not None
    assert len(own) == record.latency.n_samples
    assert np.quantile(own.total_ns, 0.5, method="inverted_cdf") / 1e6 == record.latency.p50_ms
    reference = samples[samples.kind == "reference"]
    shared = own[own.turn.isin(reference.turn)]
    medians = [np.quantile(each.total_ns, 0.5, method="inverted_cdf") for each in (shared, reference)]
    assert medians[0] / medians[1] == pytest.approx(record.latency.ratio_to_reference)
    prepared = dataset.prepare(run.dataset)
    assert set(own.document) < set(prepared.test.row_ids)
    assert len(set(own.document)) == 8
    assert not any(word in (folder / "latency.parquet").read_bytes() for word in (b"good", b"bad"))


def test_every_model_of_every_session_has_the_same_documents(timed: Callable[..., Run]) -> None:
    runs = [timed("fast one"), timed("fast two"), timed("fast three")]
    bake(*runs[:2])
    bake(runs[2])
    store = Store(default_root())
    seen = [set(parquet.read_table(store.folder(run.run_id) / "latency.parquet")["document"].to_pylist()) for run in runs]
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 8


def test_what_fails_fails_alone(timed: Callable[..., Run]) -> None:
    runs = [timed("fast one"), timed("refused"), timed("trained", "probe.weights=trained")]
    answers = bake(*runs)
    recorded(answers[runs[0].run_id])
    assert isinstance(answers[runs[1].run_id], NotApplicable)
    assert str(answers[runs[2].run_id]).startswith("probe.weights=trained needs the weights of quality Run")


def test_w_and_b_has_a_run_of_each_kind(timed: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []

    class Mirror:
        def __init__(self, run: Run) -> None:
            self.name = run.model.name

        @classmethod
        def start(cls, run: Run, **_: object) -> "Mirror":
            return cls(run)

        def finish(self, record: Record) -> None:
            told.append((self.name, record.run.probe.kind))

        def fail(self, message: str) -> None:
            told.append((self.name, message))

    monkeypatch.setattr("bakeoff.bake_latency.Mirror", Mirror)
    bake(timed("fast one"), timed("refused"))
    assert told == [("fast one", "latency"), ("refused", "NotApplicable")]


def test_an_engine_that_changes_trained_predictions_has_its_own_quality(table: list[str]) -> None:
    tiny = bakery.TINY["tfidf"]
    quality = bakery.bake(bakery.compose(*table, *tiny, "machine.keep_weights=all"))
    run = bakery.compose(*table, *tiny, "probe=latency", "probe.weights=trained", "probe.engine=onnx").run
    eager = dataclasses.replace(run, probe=dataclasses.replace(_probe(run), engine="eager"))
    answers = bake(run, eager)
    record = recorded(answers[run.run_id])
    assert record.latency is not None
    assert record.latency.agreement is not None
    changed = sum(predicted != 0 for predicted, _ in quality.answers.values())  # the toy answers the first class under onnx
    assert (record.latency.agreement.n, record.latency.agreement.changed_labels) == (12, changed)
    assert changed > 0
    assert record.quality["test"].accuracy == 0.5
    assert record.quality["test"].collapsed
    assert any(note.startswith("answers differ from eager ones by up to 0.") for note in record.latency.notes)
    assert recorded(answers[eager.run_id]).quality == {}
    store = Store(default_root())
    table_of_answers = parquet.read_table(store.folder(run.run_id) / "predictions.parquet")
    assert table_of_answers["predicted"].to_pylist() == [0] * 12
    assert table_of_answers["row_id"].to_pylist() == list(quality.answers)
    assert not (store.folder(eager.run_id) / "predictions.parquet").exists()


def test_the_quality_of_an_engine_knows_the_labels_that_its_model_was_fitted_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, test = (
        bakery.write_csv(tmp_path / "pool.csv", bakery.rows(300)),
        bakery.write_csv(tmp_path / "test.csv", bakery.rows(12, seed=1)),
    )
    fitted: list[int] = []
    score = scoring.score

    def watched(*given: Any, fit_labels: Any, **named: Any) -> Any:
        fitted.append(len(fit_labels))
        return score(*given, fit_labels=fit_labels, **named)

    monkeypatch.setattr(scoring, "score", watched)
    for model in ("tfidf", "bilstm"):
        run = bakery.compose(*bakery.on_table(table, test), *bakery.TINY[model], "probe=latency", "probe.weights=trained").run
        bake_latency._score(run, dataset.prepare(run.dataset), np.full((12, 2), 0.5, dtype=np.float32))
    assert fitted == [300, 240]


def test_a_record_stands_before_its_w_and_b_run_ends(timed: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(Mirror, "finish", lambda self, record: told.append(f"end {record.run_id}"))
    run = timed("plain")
    bake_session(
        [run],
        Store(default_root()).folder,
        lambda _: None,
        lambda record: told.append(f"write {record.run_id}"),
        machine=MACHINE,
        kit=toy_served.KIT,
        rules=RULES,
    )
    assert told == [f"write {run.run_id}", f"end {run.run_id}"]


def _probe(run: Run) -> Latency:
    assert isinstance(run.probe, Latency)
    return run.probe


@pytest.mark.slow
def test_quality_is_baked_first_and_then_real_models_are_timed(table: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    checkpoint = bakery.checkpoint_override(bakery.checkpoint(tmp_path / "toy"))
    quality = bakery.compose(*table, *bakery.TINY["tfidf"]).run
    timed = [
        bakery.compose(*table, *bakery.TINY[kind], *([checkpoint] if kind == "pretrained" else []), "probe=latency").run
        for kind in ("majority", "tfidf", "bilstm", "pretrained")
    ]
    store = Store(default_root())
    outcome = bake_runs([timed[0], quality, *timed[1:]], MACHINE, store, executor="local")
    assert outcome.failed == {}
    assert outcome.baked == (quality.run_id, *(run.run_id for run in timed))
    sessions = set()
    for run in timed:
        facts = json.loads((store.folder(run.run_id) / "record.json").read_text())["latency"]
        sessions.add(facts["session_id"])
        assert facts["n_samples"] >= 1000
        assert facts["p50_ms"] > 0
        assert facts["ratio_interval"]["low"] <= facts["ratio_to_reference"] <= facts["ratio_interval"]["high"]
    assert len(sessions) == 1
    assert "5 models take turns" in capfd.readouterr().err  # the reference is one of them
