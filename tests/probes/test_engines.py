"""Every engine gives the eager answers, with the same threads, or says in one sentence why it cannot."""

import dataclasses
import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl
import torch
from transformers import AutoModel

import bakery
import served
from bakeoff import spec
from bakeoff.cache import cache_root
from bakeoff.errors import BakeoffError, NotApplicable
from bakeoff.models import sizes
from bakeoff.probes import requirements, weights
from bakeoff.probes.engines import TOLERANCES, agreement, build_pipeline
from bakeoff.probes.pipeline import Pipeline

ONNX = all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime"))
needs_onnx = pytest.mark.skipif(not ONNX, reason="the extra `onnx` is not installed")
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bakery.checkpoint(tmp_path_factory.mktemp("toy") / "bert")


def serve(kind: str, checkpoint: Path, engine: str, *, threads: int = 1, **changes: object) -> Pipeline:
    run = served.make_run(kind, checkpoint, probe=served.latency(engine=engine, threads=threads), **changes)
    return build_pipeline(run, served.prepared(), classes=served.CLASSES, weights_folder=None)


def difference(one: Pipeline, other: Pipeline) -> float:
    """Over test documents in batches, and awkward ones alone."""
    texts = served.prepared().test.texts
    alone = [float(np.abs(one.probabilities([text]) - other.probabilities([text])).max()) for text in served.AWKWARD]
    return max(float(np.abs(one.probabilities(texts) - other.probabilities(texts)).max()), *alone)


@needs_onnx
@pytest.mark.parametrize("pooling", ["max", "mean", "last", "attention"])
@pytest.mark.parametrize("directions", ["both", "forward"])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_bilstm_answers_in_onnx_runtime_as_in_pytorch(pooling: str, directions: str, layers: int, checkpoint: Path) -> None:
    changes = {"pooling": pooling, "directions": directions, "layers": layers}
    onnx = serve("bilstm", checkpoint, "onnx", **changes)
    assert difference(onnx, serve("bilstm", checkpoint, "eager", **changes)) < 1e-6
    assert onnx.agreement is not None
    assert (onnx.agreement.n, onnx.agreement.changed_labels, onnx.agreement.tolerance) == (21, 0, 1e-4)
    assert onnx.agreement.max_probability_difference < 1e-6


@needs_onnx
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_an_encoder_answers_in_onnx_runtime_as_in_pytorch(pooling: str, checkpoint: Path) -> None:
    onnx = serve("pretrained", checkpoint, "onnx", pooling=pooling)
    assert difference(onnx, serve("pretrained", checkpoint, "eager", pooling=pooling)) < 1e-6


@needs_onnx
@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "rotary"},
        {"positions": "sinusoidal", "norm": "after", "pooling": "max"},
        {"positions": "learned", "max_positions": 1200, "pooling": "cls"},
        {"positions": "none", "causal": True, "pooling": "last"},
    ],
    ids=lambda changes: changes["positions"],
)
def test_a_scratch_transformer_answers_in_onnx_runtime_as_in_pytorch(changes: dict[str, object], checkpoint: Path) -> None:
    onnx = serve("scratch", checkpoint, "onnx", **changes)
    assert difference(onnx, serve("scratch", checkpoint, "eager", **changes)) < 1e-6


@needs_onnx
@pytest.mark.parametrize("kind", ["bilstm", "scratch"])
def test_word_pieces_are_served_too(kind: str, checkpoint: Path) -> None:
    changes = {"vocabulary": "word_pieces"}
    onnx = serve(kind, checkpoint, "onnx", **changes)
    assert difference(onnx, serve(kind, checkpoint, "eager", **changes)) < 1e-6
    assert onnx.lengths_tokens(["good bad", ""]).tolist() == [4, 2]


@needs_onnx
@pytest.mark.parametrize("kind", ["bilstm", "scratch", "pretrained"])
def test_int8_is_smaller_and_its_answers_are_compared(kind: str, checkpoint: Path) -> None:
    int8, onnx = serve(kind, checkpoint, "onnx_int8"), serve(kind, checkpoint, "onnx")
    assert int8.size.bytes == int8.disk_bytes < onnx.disk_bytes
    assert int8.agreement is not None
    assert 0 < int8.agreement.max_probability_difference < 0.1
    assert difference(int8, onnx) < 0.1


@pytest.mark.slow
@needs_onnx
@pytest.mark.parametrize("family", ["distilbert", "roberta", "modernbert"])
def test_encoders_of_other_families_export(family: str, tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / family)
    AutoModel.from_config(sizes.config_of(served.size(family))).save_pretrained(folder)
    assert difference(serve("pretrained", folder, "onnx"), serve("pretrained", folder, "eager")) < 1e-5


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("kind", ["bilstm", "scratch", "pretrained"])
def test_a_compiled_model_answers_as_the_eager_one(kind: str, checkpoint: Path) -> None:
    compiled = serve(kind, checkpoint, "compile")
    assert difference(compiled, serve(kind, checkpoint, "eager")) < 1e-5
    assert compiled.agreement is not None


def test_eager_is_what_others_are_compared_with(checkpoint: Path) -> None:
    assert serve("bilstm", checkpoint, "eager").agreement is None


@needs_onnx
def test_an_exported_model_is_kept_by_the_content_of_its_weights(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bakeoff.probes import onnx_engine

    serve("bilstm", checkpoint, "onnx")
    serve("bilstm", checkpoint, "onnx_int8")
    files = sorted((cache_root() / "onnx").iterdir())
    key = files[0].name.partition(".")[0]
    assert [file.name for file in files] == [f"{key}.int8.onnx", f"{key}.onnx"]
    monkeypatch.setattr(onnx_engine, "_export", lambda module, file: pytest.fail("exported again"))
    serve("bilstm", checkpoint, "onnx")
    run = served.make_run("bilstm", checkpoint)
    candidate = weights.load(run, served.prepared(), classes=served.CLASSES, folder=None)
    assert isinstance(candidate, weights.Neural)
    with torch.no_grad():
        candidate.classifier.get_parameter("head.bias")[0] += 1e-6
    assert isinstance(run.model, spec.BiLstm)
    assert onnx_engine._content_hash(candidate.classifier, run.model) != key


@pytest.mark.parametrize("engine", ["eager", pytest.param("onnx", marks=needs_onnx)])
def test_every_engine_gets_the_threads_that_were_asked_for(engine: str, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    given = []
    if engine == "onnx":
        from bakeoff.probes import onnx_engine

        made = onnx_engine.session_of

        def session_of(*arguments: object, **options: object) -> object:
            session = made(*arguments, **options)  # type: ignore[arg-type]
            given.append(session.get_session_options())
            return session

        monkeypatch.setattr(onnx_engine, "session_of", session_of)
    monkeypatch.setenv("RAYON_NUM_THREADS", "7")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    before = torch.get_num_threads()
    try:
        for threads in (2, 1):
            serve("bilstm", checkpoint, engine, threads=threads)
            assert torch.get_num_threads() == threads
            assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info()} == {threads}
            assert os.environ["RAYON_NUM_THREADS"] == str(threads)
            assert os.environ["TOKENIZERS_PARALLELISM"] == ("true" if threads > 1 else "false")
            for options in given[-1:]:
                assert (options.intra_op_num_threads, options.inter_op_num_threads) == (threads, 1)
                assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    finally:
        torch.set_num_threads(before)


def test_agreement_by_hand() -> None:
    expected = np.array([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], dtype=np.float32)
    shifted = np.array([[0.6, 0.4], [0.4, 0.6], [0.25, 0.75]], dtype=np.float32)
    found = agreement(shifted, expected, engine="onnx_int8", precision="float32")
    assert found.max_probability_difference == pytest.approx(0.1, abs=1e-6)
    assert (found.n, found.changed_labels, found.tolerance) == (3, 1, 1e-4)


@pytest.mark.parametrize(
    ("engine", "precision", "by"), [("onnx", "float32", 2e-4), ("compile", "bfloat16", 3e-2), ("onnx", "float32", np.nan)]
)
def test_an_engine_that_answers_otherwise_is_an_error(engine: str, precision: spec.Precision, by: float) -> None:
    expected = np.full((4, 2), 0.5, dtype=np.float32)
    sentence = rf"^probe\.engine={engine} changes probabilities by up to .* more than {TOLERANCES[precision]:g}"
    with pytest.raises(BakeoffError, match=sentence):
        agreement(expected + np.float32(by), expected, engine=engine, precision=precision)


@pytest.mark.parametrize(
    ("kind", "changes", "sentence"),
    [
        ("tfidf", {"engine": "onnx"}, r"^tfidf has no forward pass of PyTorch's: set probe\.engine=eager"),
        ("majority", {"engine": "compile"}, r"^majority has no forward pass"),
        pytest.param(
            "bilstm",
            {"device": "cuda"},
            r"^probe\.device=cuda, but torch sees no GPU here: set probe\.device=cpu$",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(kind: str, changes: dict[str, object], sentence: str, checkpoint: Path) -> None:
    run = served.make_run(kind, checkpoint, probe=served.latency(**changes))
    with pytest.raises(NotApplicable, match=sentence):
        build_pipeline(run, served.prepared(), classes=served.CLASSES, weights_folder=None)


def test_an_engine_that_is_not_installed_is_named_with_its_remedy(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"torch": "2", "onnx": "not installed", "onnxscript": "1", "onnxruntime": "not installed"}
    monkeypatch.setattr(requirements, "versions", lambda engine: versions)
    with pytest.raises(NotApplicable) as caught:
        serve("bilstm", checkpoint, "onnx")
    assert str(caught.value) == "probe.engine=onnx needs onnx, onnxruntime, which is not installed: pip install 'bakeoff[onnx]'"


def test_a_compiler_that_is_not_installed_is_named(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(NotApplicable, match="needs a C\\+\\+ compiler, and no-such-compiler is not installed"):
        serve("bilstm", checkpoint, "compile")


@needs_onnx
def test_bfloat16_has_no_onnx(checkpoint: Path) -> None:
    with pytest.raises(NotApplicable, match=r"set model\.precision=float32"):
        serve("bilstm", checkpoint, "onnx", precision="bfloat16")


@needs_onnx
def test_an_engine_that_cannot_take_a_model_is_a_reason_and_no_fault(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bakeoff.probes import onnx_engine

    def fail(module: object, file: Path) -> None:
        raise ValueError("a long message of the exporter")

    monkeypatch.setattr(onnx_engine, "_export", fail)
    with pytest.raises(NotApplicable, match=r"^probe\.engine=onnx cannot take bilstm here \(ValueError\): set probe\.engine=eager$"):
        serve("bilstm", checkpoint, "onnx")
    assert not list((cache_root() / "onnx").glob("*"))


def test_versions_name_what_an_engine_is_made_of() -> None:
    assert requirements.versions("eager") == {"torch": torch.__version__}
    assert set(requirements.versions("onnx_int8")) == {"torch", "onnx", "onnxscript", "onnxruntime"}
    assert requirements._version("surely-no-such-package") == "not installed"


def test_two_builds_of_an_untrained_model_are_one_model(checkpoint: Path) -> None:
    for kind in served.KINDS:
        torch.manual_seed(torch.seed())
        one, other = serve(kind, checkpoint, "eager"), serve(kind, checkpoint, "eager")
        assert np.array_equal(one.probabilities(served.AWKWARD), other.probabilities(served.AWKWARD))


def test_precision_changes_the_answers_of_eager_alone_by_little(checkpoint: Path) -> None:
    exact, rounded = serve("pretrained", checkpoint, "eager"), serve("pretrained", checkpoint, "eager", precision="bfloat16")
    assert 0 < difference(exact, rounded) < TOLERANCES["bfloat16"]
    assert dataclasses.replace(rounded.size) == exact.size
