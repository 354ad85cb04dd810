"""Latency Runs as they are configured and checked: the machine, the engine, the weights, the reference."""

import dataclasses
import os
from pathlib import Path

import pytest

import bakery
import factories
from bakeoff import bake_latency, provenance, resolve
from bakeoff.commands import baking
from bakeoff.commands.baking import check_device, check_latency
from bakeoff.config import Composer
from bakeoff.errors import ConfigError, NotApplicable
from bakeoff.probes import requirements
from bakeoff.provenance import machine_line
from bakeoff.record import from_json
from bakeoff.spec import Latency, Machine, Run
from bakeoff.store import Store

NO_MACHINE = Machine(device="auto", slots=None, wandb="disabled", wandb_project="p", keep_weights="none", share_texts=False)


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    return bakery.on_table(
        bakery.write_csv(tmp_path / "pool.csv", bakery.rows(24)), bakery.write_csv(tmp_path / "test.csv", bakery.rows(12))
    )


def compose(table: list[str], *overrides: str) -> Run:
    return bakery.compose(*table, "probe=latency", "model=bilstm", *overrides).run


def probe(run: Run) -> Latency:
    assert isinstance(run.probe, Latency)
    return run.probe


def test_the_machine_is_filled_in(table: list[str]) -> None:
    run = compose(table)
    assert probe(run).machine == machine_line("eager")
    assert probe(compose(table, "probe.engine=onnx")).machine == machine_line("onnx")
    assert run.question_id == dataclasses.replace(run, probe=dataclasses.replace(probe(run), machine="")).run_id


def test_the_machine_names_processor_cores_memory_gpu_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"torch": "2.13.0"}
    monkeypatch.setattr(provenance, "processor", lambda: "Abacus 3000")
    monkeypatch.setattr(provenance, "usable_cpus", lambda: 2)
    monkeypatch.setattr(provenance, "gpu_name", lambda: None)
    monkeypatch.setattr(provenance, "_version", versions.get)
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"total": 7.8 * 1024**3}))
    assert machine_line("compile") == "Abacus 3000, 2 CPUs, 8 GB, no GPU, torch 2.13.0"
    assert machine_line("onnx_int8") == "Abacus 3000, 2 CPUs, 8 GB, no GPU, torch 2.13.0, onnxruntime not installed"
    monkeypatch.setattr(provenance, "gpu_name", lambda: "NVIDIA Example")
    assert machine_line("eager") == "Abacus 3000, 2 CPUs, 8 GB, NVIDIA Example, torch 2.13.0"


@pytest.mark.parametrize(("visible", "name"), [(None, "GPU all"), ("1,0", "GPU --id=1"), ("", None), ("-1", None)])
def test_the_gpu_is_the_first_that_this_process_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str | None, name: str | None
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text('#!/bin/sh\necho "GPU ${3:-all}"\necho "another"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    provenance.gpu_name.cache_clear()
    try:
        assert provenance.gpu_name() == name
    finally:
        provenance.gpu_name.cache_clear()


def test_a_configuration_of_another_machine_is_refused_with_its_remedy(table: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        compose(table, "probe.machine=abacus")
    assert str(refused.value) == (
        f"probe.machine=abacus is another machine than this one, {machine_line('eager')}: pass probe.machine=null to time it here"
    )


def test_one_document_a_call_unless_the_scenario_is_offline(table: list[str]) -> None:
    assert probe(compose(table)).batch_size == 1
    assert probe(compose(table, "probe.scenario=offline")).batch_size is None
    assert probe(compose(table, "probe.scenario=offline", "probe.batch_size=16")).batch_size == 16
    with pytest.raises(NotApplicable, match=r"probe\.batch_size=4 should be 1 when probe\.scenario=single"):
        compose(table, "probe.batch_size=4")


def test_a_record_of_latency_survives_its_json() -> None:
    run = factories.make_latency_run()
    facts = factories.make_latency_facts(p50_ms=1.25, ratio=2.0)
    labels, predicted = factories.make_predictions(accuracy=0.75)
    record = factories.make_record(run, labels, predicted, latency=facts)
    assert from_json(record.to_json()).latency == facts


# Before anything starts.


def test_a_gpu_that_is_not_there_is_one_sentence(table: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = compose(table, "probe.device=cuda")
    monkeypatch.setattr(baking, "visible_gpus", lambda: 0)
    with pytest.raises(ConfigError) as refused:
        check_device(NO_MACHINE, [run])
    assert str(refused.value) == "probe.device=cuda, but there is no GPU here: set probe.device=cpu"
    assert not isinstance(refused.value, NotApplicable), "in a sweep too it ends with exit code 2"
    check_device(NO_MACHINE, [compose(table)])
    monkeypatch.setattr(baking, "visible_gpus", lambda: 1)
    check_device(NO_MACHINE, [run])


def test_an_engine_that_is_not_installed_or_makes_no_sense_is_not_applicable(
    table: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    check_latency(compose(table), store)
    check_latency(factories.make_run(), store)  # a quality Run is none of its business
    with pytest.raises(NotApplicable, match="tfidf has no forward pass of PyTorch's"):
        check_latency(bakery.compose(*table, "probe=latency", "model=tfidf", "probe.engine=onnx").run, store)
    with pytest.raises(NotApplicable, match=r"probe\.lengths=grid times one document a call: set probe\.scenario=single"):
        check_latency(compose(table, "probe.lengths=grid", "probe.scenario=offline"), store)
    with pytest.raises(NotApplicable, match=r"probe\.lengths=long_grid times one document a call: set probe\.scenario=single"):
        check_latency(compose(table, "probe.lengths=long_grid", "probe.scenario=offline"), store)
    for lengths, most, shortest in (("long_grid", 511, 512), ("grid", 7, 8)):
        cut = (f"probe.lengths={lengths}", "longdoc=head", f"longdoc.max_tokens={most}")
        sentence = (
            rf"longdoc\.max_tokens={most} is below the {shortest} tokens of the shortest document of probe\.lengths={lengths}: raise it"
        )
        with pytest.raises(NotApplicable, match=sentence):
            check_latency(compose(table, *cut), store)
        check_latency(compose(table, *cut[:2], f"longdoc.max_tokens={shortest}"), store)
    monkeypatch.setattr(requirements, "versions", lambda engine: {"onnxruntime": "not installed"})
    with pytest.raises(NotApplicable, match=r"probe\.engine=onnx needs onnxruntime, which is not installed: pip install"):
        check_latency(compose(table, "probe.engine=onnx"), store)


def test_trained_weights_need_a_quality_run_that_kept_them(table: list[str], tmp_path: Path) -> None:
    store, run = Store(tmp_path / "runs"), compose(table, "probe.weights=trained", "budget.labels=12", "seed=3")
    quality = bakery.compose(*table, "model=bilstm", "budget.labels=12", "seed=3").run
    with pytest.raises(NotApplicable) as refused:
        check_latency(run, store)
    assert str(refused.value) == (
        f"probe.weights=trained needs the weights of quality Run {quality.run_id}: bake it with probe=quality "
        "machine.keep_weights=all and the same settings"
    )
    folder = store.folder(quality.run_id)
    folder.mkdir(parents=True)
    (folder / "record.json").write_text("{}")
    with pytest.raises(NotApplicable, match=r"after moving its folder away, since it is recorded without them$"):
        check_latency(run, store)
    (folder / "model").mkdir()
    check_latency(run, store)
    assert bake_latency.weights_of(run, store.folder) == folder / "model"
    assert bake_latency.weights_of(compose(table), store.folder) is None


def test_the_reference_is_the_packaged_bilstm_whatever_is_timed(table: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = compose(table)
    timed = [
        plain,
        compose(table, "probe.engine=onnx"),
        compose(table, "probe.lengths=grid"),
        compose(table, "probe.weights=trained"),
        compose(table, "model.hidden_dim=8", "longdoc.max_tokens=9"),
        bakery.compose(*table, "probe=latency", "model=tfidf").run,
    ]
    (tmp_path / "conf" / "model").mkdir(parents=True)
    (tmp_path / "conf" / "model" / "bilstm.yaml").write_text("kind: nonsense")
    monkeypatch.chdir(tmp_path)  # a configuration of one's own must not change what sessions are compared through
    for run in timed[1:]:
        reference = bake_latency.reference_of(run)
        assert dataclasses.replace(reference, probe=dataclasses.replace(probe(reference), machine=probe(plain).machine)) == plain
    offline = dataclasses.replace(plain, probe=dataclasses.replace(probe(plain), scenario="offline", batch_size=8))
    assert probe(bake_latency.reference_of(offline)).batch_size is None


def test_resolve_leaves_a_quality_probe_alone() -> None:
    assert resolve._probe({"kind": "quality", "threads": 2}, {}) == {"kind": "quality", "threads": 2}


def test_the_packaged_probe_is_complete() -> None:
    run = Composer().job(["probe=latency", "model=majority"]).run
    assert (probe(run).threads, probe(run).weights, probe(run).reference) == (1, "untrained", "bilstm")
