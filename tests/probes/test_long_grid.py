"""Long generated documents: lengths, how much is timed, memory by length, tokens processed, and what each reading computes."""

import dataclasses
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import test_session
import torch
import toy_served
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cost import counted

import bakery
import factories
import served
from bakeoff import convert, spec
from bakeoff.errors import NotApplicable
from bakeoff.models import extended, sizes, windows
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.probes import cost, flops
from bakeoff.probes.engines import build_pipeline
from bakeoff.probes.facts import Setting, facts_of
from bakeoff.probes.grid import LONG_LENGTHS_TOKENS, documents_of, grid_rules
from bakeoff.probes.kit import Served
from bakeoff.probes.latency import is_enough
from bakeoff.probes.requirements import require
from bakeoff.probes.rules import Rules
from bakeoff.probes.serving import Bench
from bakeoff.probes.session import Measured, Outcome
from bakeoff.record import GridPoint

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the peak of memory on Linux only")
WINDOWS = spec.LongDoc(strategy="windows", max_tokens=None, window_tokens=32, overlap_tokens=8, pool="mean_logits", trained_windows=4)
EXTENDED = spec.LongDoc(strategy="extended", max_tokens=4096, attention_window=16)


def test_lengths_double_from_512_to_32768() -> None:
    assert LONG_LENGTHS_TOKENS == (512, 1024, 2048, 4096, 8192, 16384, 32768)


def test_a_long_document_is_timed_five_times_however_long_it_takes() -> None:
    rules = grid_rules(Rules(), "long_grid")
    assert (rules.untimed_calls, rules.least_calls, rules.staged, rules.samples_p50) == (1, 1, False, 5)
    assert rules.seconds_per_model == pytest.approx(180 / 7)
    assert not is_enough(4, rounds=4, seconds=4000.0, rules=rules)
    assert is_enough(5, rounds=5, seconds=4000.0, rules=rules)
    assert not is_enough(19, rounds=19, seconds=1.0, rules=rules)
    assert is_enough(20, rounds=5, seconds=1.0, rules=rules)
    assert is_enough(1, rounds=1, seconds=180.0, rules=Rules()), "elsewhere time ends it"
    assert grid_rules(Rules(), "grid") == grid_rules(Rules())


def test_a_session_times_each_length_that_is_read() -> None:
    run = test_session.run
    whole = run("fast whole", lengths="long_grid")
    cut = dataclasses.replace(run("fast cut", lengths="long_grid"), longdoc=spec.LongDoc(strategy="head", max_tokens=1024))
    rules = dataclasses.replace(test_session.RULES, seconds_per_model=0.5)
    outcome = test_session.hold([run("fast one"), whole, cut], rules=rules)
    assert outcome.failed == {}
    found = outcome.measured[whole.run_id]
    assert tuple(found.grid) == LONG_LENGTHS_TOKENS
    for turns in found.grid.values():
        assert sum(len(turn.total_ns) for turn in turns.values()) >= 5
        assert all(turn.stages is None for turn in turns.values())
        assert all(turn.opening == turn.first - 1 for turn in turns.values())
    assert found.turns == found.grid_reasons == {}
    assert found.grid_processed == {tokens: 2 * tokens for tokens in LONG_LENGTHS_TOKENS}
    assert found.grid_memory_mb.keys() == found.grid.keys()
    assert found.warm_up is not None
    measured = outcome.measured[cut.run_id]
    assert tuple(measured.grid) == (512, 1024)
    assert measured.grid_reasons == dict.fromkeys((2048, 4096, 8192, 16384, 32768), "longdoc=head-1024 reads 1024 tokens of a document")


@LINUX
def test_memory_is_that_of_one_length_and_not_of_what_came_before() -> None:
    bench = Bench(toy_served.KIT, threads=1, device="cpu")
    bench.load("it", test_session.run("hungry"), None, test_session.DOCUMENTS)
    found = {tokens: bench.answer_length("it", tokens) for tokens in (512, 32768, 1024)}
    short, long, again = found[512], found[32768], found[1024]
    assert short is not None
    assert long is not None
    assert again is not None
    assert 240 < long - short < 340  # 8 bytes for each of a thousand numbers a token: 252 MB more
    assert abs(again - short) < 60


def facts(measured: Measured) -> tuple[GridPoint, ...]:
    outcome = Outcome(session_id="00c0ffee-20260101T000000Z", measured={}, failed={}, foreign_cpu_share=0.0)
    setting = Setting(outcome=outcome, n_documents=3, reference=None, reference_reason="", rules=Rules(resamples=20), resolution_ns=40)
    return facts_of(measured, setting, versions={}, tokens={}, agreement=None).grid


def test_a_point_has_its_memory_and_the_tokens_processed() -> None:
    from test_facts import turn

    size = toy_served.Size(parameters_total=3, parameters_trainable=2, parameters_embedding=1, bytes=12, flops_per_document=None)
    measured = Measured(
        lengths="long_grid",
        grid={512: {number: turn(2 * number, 7.0, staged=False) for number in range(5)}, 1024: {0: turn(0, 9.0, staged=False)}},
        grid_reasons={2048: "too long"},
        grid_memory_mb={512: 300.5, 1024: None},
        grid_processed={512: 680, 1024: 1400},
        served=Served(size=size, flops=None, peak_gflops=None, agreement=None, notes=()),
    )
    first, second, third = facts(measured)
    assert (first.tokens, first.n_samples, first.p50_ms, first.peak_memory_mb, first.tokens_processed) == (512, 5, 7.0, 300.5, 680)
    assert (second.p50_ms, second.reason) == (None, "p50 needs 5 samples; 1 were taken in the 25.7143 s of a model")
    assert (third.tokens, third.p50_ms, third.reason, third.peak_memory_mb, third.tokens_processed) == (2048, None, "too long", None, None)


def test_a_point_recorded_before_has_neither() -> None:
    old = {"tokens": 8, "n_samples": 0, "p50_ms": None, "interval": None, "reason": "why"}
    found = convert.build(GridPoint, old)
    assert (found.peak_memory_mb, found.tokens_processed) == (None, None)


@dataclasses.dataclass(frozen=True)
class Frame:
    prefix: tuple[int, ...] = (1,)
    suffix: tuple[int, ...] = (2,)
    pad_id: int = 0


@settings(deadline=None, max_examples=40)
@given(tokens=st.integers(2, 3000), window=st.integers(3, 40), overlap=st.integers(0, 36))
def test_passes_are_those_of_the_windows_that_are_cut(tokens: int, window: int, overlap: int) -> None:
    overlap = min(overlap, window - 3)
    reading = dataclasses.replace(WINDOWS, window_tokens=window, overlap_tokens=overlap)
    cut = windows.cut(
        torch.ones(1, tokens, dtype=torch.long), torch.tensor([tokens]), prefix=(1,), suffix=(2,), window_tokens=window,
        overlap_tokens=overlap, pad_id=0,
    )  # fmt: skip
    expected = [int(part.max()) for part in cut.lengths.sort(descending=True).values.split(windows.CHUNK_WINDOWS) for _ in part]
    assert flops.passes_tokens(tokens, reading, n_special_tokens=2) == expected
    assert int(windows.processed_tokens(np.array([tokens]), reading, Frame())[0]) == int(cut.lengths.sum())


@pytest.mark.parametrize("tokens", [20, 32, 33, 200, windows.CHUNK_WINDOWS * 22 + 25])
def test_windows_as_pytorch_counts_them(tokens: int) -> None:
    size = served.size("bert")
    config = sizes.config_of(size)
    config._attn_implementation = "eager"  # the counter knows no fused attention of a CPU
    module = PretrainedClassifier(factories.MODELS["pretrained"], config=config, n_classes=3, longdoc=WINDOWS, frame=Frame()).eval()  # type: ignore[arg-type]
    model = dataclasses.replace(factories.MODELS["pretrained"], size=size)
    run = dataclasses.replace(factories.make_run(model=model), longdoc=WINDOWS)
    assert cost.flops_per_document(run, lengths_tokens=np.array([tokens]), n_classes=3, n_special_tokens=2) == counted(module, tokens)


@pytest.mark.parametrize("tokens", [9, 16, 100])
def test_an_extended_encoder_as_pytorch_counts_it(tokens: int) -> None:
    size = served.size("bert")
    config = extended.config_of(sizes.config_of(size), EXTENDED)
    module = PretrainedClassifier(factories.MODELS["pretrained"], config=config, n_classes=3).eval()  # type: ignore[arg-type]
    model = dataclasses.replace(factories.MODELS["pretrained"], size=size)
    run = dataclasses.replace(factories.make_run(model=model), longdoc=EXTENDED)
    assert cost.flops_per_document(run, lengths_tokens=np.array([tokens]), n_classes=3, n_special_tokens=2) == counted(module, tokens)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bakery.checkpoint(tmp_path_factory.mktemp("toy") / "bert")


@pytest.mark.parametrize(
    ("kind", "longdoc", "processed"),
    [
        ("bilstm", factories.FULL, 2000),
        ("bilstm", dataclasses.replace(WINDOWS, overlap_tokens=0), 2000),
        ("scratch", factories.FULL, 2000),
        ("pretrained", WINDOWS, 1998 + 90 * 8 + 91 * 2),  # 91 windows of 30 tokens of the document, 22 of them new
        ("pretrained", EXTENDED, 2000),
        ("frozen", dataclasses.replace(WINDOWS, pool="max_embeddings", trained_windows=1), 1998 + 90 * 8 + 91 * 2),
    ],
)
def test_every_reading_of_a_whole_document_is_served_untrained(kind: str, longdoc: spec.LongDoc, processed: int, checkpoint: Path) -> None:
    made = served.make_run("pretrained", checkpoint)
    if kind == "frozen":
        assert isinstance(made.model, spec.Pretrained)
        own = {"checkpoint": made.model.checkpoint, "checkpoint_fingerprint": made.model.checkpoint_fingerprint}
        made = dataclasses.replace(made, model=dataclasses.replace(factories.MODELS["frozen"], **own))
    elif kind != "pretrained":
        made = served.make_run(kind)
    run = dataclasses.replace(made, longdoc=longdoc)
    pipeline = build_pipeline(run, served.prepared(), classes=served.CLASSES, weights_folder=None)
    (text,) = documents_of(2000, 1, served.prepared().test.texts, pipeline.lengths_tokens)
    assert pipeline.lengths_tokens([text]).tolist() == [2000]
    assert pipeline.tokens_processed(2000) == processed
    answers = pipeline.probabilities([text, "bad"])
    assert np.isfinite(answers).all()
    assert np.abs(answers[1] - pipeline.probabilities(["bad"])[0]).max() < 1e-5


@LINUX
@pytest.mark.slow
def test_fifty_thousand_tokens_by_windows_need_little_more_memory_than_four_thousand() -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "long_documents.py"
    specification = importlib.util.spec_from_file_location("long_documents", script)
    assert specification is not None
    assert specification.loader is not None
    benchmark = importlib.util.module_from_spec(specification)
    sys.modules["long_documents"] = benchmark  # where dataclasses look for their module
    specification.loader.exec_module(benchmark)
    few, many = benchmark.in_fresh_process("windows", [4096, 50_000])
    assert (few.tokens, many.tokens) == (4096, 50_000)
    assert many.peak_mb - few.peak_mb < 300


@pytest.mark.parametrize("engine", ["compile", "onnx", "onnx_int8"])
def test_other_engines_refuse_an_extended_encoder(engine: str) -> None:
    run = dataclasses.replace(factories.make_latency_run(model="pretrained", engine=engine), longdoc=EXTENDED)
    with pytest.raises(NotApplicable) as refused:
        require(run)
    assert str(refused.value) == f"probe.engine={engine} does not take the sliding attention of longdoc=extended: set probe.engine=eager"
