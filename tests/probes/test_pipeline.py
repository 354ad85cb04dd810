"""A served model answers as the trained one did, whatever the batch and the text, and is timed stage by stage."""

import dataclasses
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bakery
import served
from bakeoff import spec
from bakeoff.data import longdoc
from bakeoff.data.batches import Documents
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.errors import DataError
from bakeoff.probes import weights
from bakeoff.probes.engines import build_pipeline
from bakeoff.probes.pipeline import Pipeline, Stopwatch, stopwatch
from bakeoff.training import fit as fitting


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bakery.checkpoint(tmp_path_factory.mktemp("toy") / "bert")


def serve(kind: str, checkpoint: Path, **changes: object) -> Pipeline:
    run = served.make_run(kind, checkpoint, **changes)
    return build_pipeline(run, served.prepared(), classes=served.CLASSES, weights_folder=None)


@pytest.mark.parametrize("kind", served.KINDS)
def test_trained_weights_answer_as_training_predicted(kind: str, checkpoint: Path, tmp_path: Path) -> None:
    run = served.make_run(kind, checkpoint)
    learned = served.trained(run, tmp_path / "model")
    pipeline = build_pipeline(run, served.prepared(), classes=served.CLASSES, weights_folder=tmp_path / "model")
    texts = served.prepared().test.texts
    assert np.abs(pipeline.probabilities(texts) - learned.test).max() < 1e-6
    assert pipeline.label(texts).tolist() == learned.test.argmax(axis=1).tolist()
    assert pipeline.lengths_tokens(texts).tolist() == learned.lengths_tokens.tolist()
    assert pipeline.size == dataclasses.replace(pipeline.size, bytes=learned.bytes, parameters_total=learned.parameters_total)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_bfloat16_is_autocast_as_in_training(precision: spec.Precision, checkpoint: Path) -> None:
    run, rows = served.make_run("pretrained", checkpoint, precision=precision), served.prepared().test
    candidate = weights.load(run, served.prepared(), classes=served.CLASSES, folder=None)
    assert isinstance(candidate, weights.Neural)
    documents = Documents(longdoc.read(rows.texts, candidate.tokeniser, run.longdoc).ids, rows.labels, candidate.tokeniser.pad_id)
    expected = fitting.predict(candidate.classifier, documents, 2, precision=precision, device="cpu")
    found = serve("pretrained", checkpoint, precision=precision).probabilities(rows.texts)
    assert np.abs(found - expected).max() < 1e-6
    exact = serve("pretrained", checkpoint).probabilities(rows.texts)
    assert bool(np.abs(found - exact).max() > 1e-6) is (precision == "bfloat16")


@pytest.mark.parametrize("kind", served.KINDS)
def test_an_answer_does_not_depend_on_the_batch(kind: str, checkpoint: Path) -> None:
    pipeline = serve(kind, checkpoint)
    texts = [*served.prepared().test.texts[:5], *served.AWKWARD]
    together = pipeline.probabilities(texts)
    assert together.shape == (11, 2)
    assert np.isfinite(together).all()
    assert together.sum(axis=1) == pytest.approx(np.ones(11), abs=1e-6)
    for row, text in enumerate(texts):
        assert pipeline.probabilities([text])[0] == pytest.approx(together[row], abs=1e-6)
        assert pipeline.label([text])[0] == together[row].argmax()


@pytest.mark.parametrize("kind", served.KINDS)
def test_no_text_has_no_label(kind: str, checkpoint: Path) -> None:
    pipeline = serve(kind, checkpoint)
    assert pipeline.label([]).shape == (0,)
    assert pipeline.probabilities([]).shape == (0, 2)


@pytest.mark.parametrize("kind", served.KINDS)
def test_a_text_of_50_000_tokens_is_read_as_its_strategy_says(kind: str, checkpoint: Path) -> None:
    pipeline, text = serve(kind, checkpoint), "good bad " * 25_000
    assert pipeline.label([text]).shape == (1,)
    assert pipeline.lengths_tokens([text])[0] == 50_000 + (2 if kind == "pretrained" else 0)


def test_the_strategy_bounds_what_is_read(checkpoint: Path) -> None:
    pipeline = serve("pretrained", checkpoint)
    ids, lengths = pipeline.stages.window(pipeline.stages.tokenise(["good " * 100, "bad"]))
    assert ids.shape == (2, 32)
    assert lengths.tolist() == [32, 3]


def test_serving_reads_and_writes_no_cache_of_tokens(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = serve("pretrained", checkpoint)

    touched: list[str] = []
    monkeypatch.setattr("bakeoff.data.tokens._load", lambda *arguments: touched.append("read"))
    monkeypatch.setattr("bakeoff.data.tokens._save", lambda *arguments: touched.append("written"))
    pipeline.label(["good bad"])
    pipeline.timed(["good bad"])
    assert touched == []
    CheckpointTokeniser(checkpoint).encode(["good bad"])  # the cache that training uses is the one watched here
    assert touched == ["read", "written"]


@pytest.mark.parametrize("kind", served.KINDS)
def test_stages_add_up_to_less_than_the_call_around_them(kind: str, checkpoint: Path) -> None:
    import time

    pipeline = serve(kind, checkpoint)
    started = time.perf_counter_ns()
    times = pipeline.timed(["good bad odd"])
    around = time.perf_counter_ns() - started
    stages = dataclasses.astuple(times)
    assert min(stages) >= 0
    assert 0 < sum(stages) <= around


class AsynchronousDevice:
    """A device that takes work into a queue and does it when it is waited for; its clock counts milliseconds."""

    def __init__(self) -> None:
        self.now, self.queue = 0.0, deque[Any]()

    def launch(self, milliseconds: float) -> None:
        self.queue.append(milliseconds)

    def mark(self) -> dict[str, float]:
        event: dict[str, float] = {}
        self.queue.append(event)
        return event

    def synchronise(self) -> None:
        while self.queue:
            work = self.queue.popleft()
            if isinstance(work, dict):
                work["at"] = self.now
            else:
                self.now += work


def test_work_that_a_device_has_only_queued_counts_for_the_stage_that_launched_it(checkpoint: Path) -> None:
    device, pipeline = AsynchronousDevice(), serve("bilstm", checkpoint)
    forward = pipeline.stages.forward

    def launching(batch: Any) -> Any:
        device.launch(5.0)  # returns at once, as a kernel launch does
        return forward(batch)

    watch = Stopwatch(mark=device.mark, elapsed_ns=lambda a, b: round(1e6 * (b["at"] - a["at"])), synchronise=device.synchronise)
    device.launch(100.0)  # what was queued before the call is none of its time
    slow = dataclasses.replace(pipeline, stages=dataclasses.replace(pipeline.stages, forward=launching), stopwatch=watch)
    assert dataclasses.astuple(slow.timed(["good"])) == (0, 0, 5_000_000, 0)
    assert not device.queue


@pytest.mark.gpu
def test_events_time_the_kernels_of_a_gpu() -> None:
    watch, a = stopwatch("cuda"), torch.randn(4096, 4096, device="cuda")
    watch.synchronise()
    start = watch.mark()
    for _ in range(20):
        a @ a
    end = watch.mark()
    watch.synchronise()
    assert watch.elapsed_ns(start, end) > 20 * 2 * 4096**3 / 2e15 * 1e9  # no GPU does 2,000 TFLOP/s in float32


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["bilstm", "pretrained"])
def test_a_gpu_answers_as_a_cpu_does(kind: str, checkpoint: Path) -> None:
    texts = served.prepared().test.texts
    on_gpu = serve(kind, checkpoint, probe=served.latency(device="cuda"))
    assert np.abs(on_gpu.probabilities(texts) - serve(kind, checkpoint).probabilities(texts)).max() < 1e-3
    assert on_gpu.timed(texts[:1]).forward_ns > 0


def test_weights_of_other_classes_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    run = served.make_run("bilstm", checkpoint)
    served.trained(run, tmp_path / "model")
    with pytest.raises(DataError, match="of another model or of other classes"):
        build_pipeline(run, served.prepared(), classes=("pos", "neg"), weights_folder=tmp_path / "model")
    with pytest.raises(DataError, match="keeps no weights that can be read"):
        build_pipeline(run, served.prepared(), classes=served.CLASSES, weights_folder=tmp_path / "elsewhere")


def test_many_long_texts_are_answered_a_few_at_a_time(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = serve("bilstm", checkpoint)
    texts = ["good " * 60_000, "bad", *["good bad " * 20_000] * 4, "good"]
    seen: list[list[int]] = []
    monkeypatch.setattr(
        Pipeline, "_answer", lambda self, batch: (seen.append([len(text.split()) for text in batch]), np.ones((len(batch), 2)))[1]
    )
    assert pipeline.probabilities(texts).shape == (7, 2)
    assert seen == [[60_000, 40_000], [40_000, 40_000, 40_000], [1, 1]]  # 131,072 tokens at most, padding included
