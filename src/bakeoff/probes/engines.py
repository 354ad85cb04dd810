"""What executes the forward pass: PyTorch as it is, torch.compile, ONNX Runtime in float32 or int8."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bakeoff import record, spec
from bakeoff.data.dataset import Prepared
from bakeoff.data.tokens import Document
from bakeoff.errors import BakeoffError, NotApplicable
from bakeoff.models.loading import Linear
from bakeoff.probes import cost, weights
from bakeoff.probes.pipeline import Forward, Pipeline, Probabilities, Stages, linear_stages, neural_stages, stopwatch
from bakeoff.probes.requirements import require
from bakeoff.probes.weights import Neural

COMPARED_DOCUMENTS = 32
TOLERANCES: dict[spec.Precision, float] = {"float32": 1e-4, "bfloat16": 2e-2}
"""Difference in probability up to which an engine counts as the same model; int8 may differ by more, and then has its own quality."""


def build_pipeline(run: spec.Run, prepared: Prepared, *, classes: tuple[str, ...], weights_folder: Path | None) -> Pipeline:
    """The Run's model in the engine, on the device and with the threads of its latency probe, ready to answer.

    Weights come from a Run's `model/` folder, or are untrained where that is None. Raises NotApplicable, with the reason,
    when the engine is not installed or cannot take the model, and DataError as `weights.load` does.
    """
    probe = run.probe
    assert isinstance(probe, spec.Latency), "an engine is a setting of the latency probe"
    require(run)
    if probe.device == "cuda" and not torch.cuda.is_available():
        raise NotApplicable("probe.device=cuda, but torch sees no GPU here: set probe.device=cpu")
    use_threads(probe.threads)
    candidate = weights.load(run, prepared, classes=classes, folder=weights_folder)
    if isinstance(candidate, Neural):
        return _neural(run, probe, candidate, prepared.test.documents, n_classes=len(classes))
    return _pipeline(run, candidate, linear_stages(candidate, run.longdoc), prepared.test.documents, n_classes=len(classes))


def _neural(run: spec.Run, probe: spec.Latency, candidate: Neural, texts: Sequence[Document], *, n_classes: int) -> Pipeline:
    """An engine's pipeline, which has answered some of the test documents as the eager one does."""
    assert isinstance(run.model, spec.Neural | spec.Frozen)
    precision = run.model.precision
    began = time.perf_counter()
    plain = eager(candidate.classifier, precision=precision, device=probe.device)
    pipeline = _pipeline(run, candidate, neural_stages(candidate, run.longdoc, plain), texts, n_classes=n_classes)
    if probe.engine == "eager":
        return replace(pipeline, notes=candidate.notes, checking_seconds=time.perf_counter() - began)
    compared = _spread(texts, pipeline)
    expected = pipeline.probabilities(compared)
    with refused(probe.engine, run.model.name):  # what an engine cannot run may show at its first call only
        file = _exported(run.model, probe, candidate)
        loading = time.perf_counter()
        forward = _forward(run.model, probe, candidate, file)
        served = replace(pipeline, stages=neural_stages(candidate, run.longdoc, forward), notes=candidate.notes)
        served.label(compared[:1])
        ready = time.perf_counter()
        answers = served.probabilities(compared)
    # an exported graph holds the weights, in its own format
    size = served.size if file is None else replace(served.size, bytes=file.stat().st_size)
    agreed = agreement(answers, expected, engine=probe.engine, precision=precision)
    checking_seconds = time.perf_counter() - began - (ready - loading)
    return replace(served, agreement=agreed, size=size, disk_bytes=size.bytes, checking_seconds=checking_seconds)


def _pipeline(run: spec.Run, candidate: Neural | Linear, stages: Stages, texts: Sequence[Document], *, n_classes: int) -> Pipeline:
    size = cost.size_of(run, candidate, lengths_tokens=stages.lengths_tokens(texts), n_classes=n_classes)
    assert isinstance(run.probe, spec.Latency)
    return Pipeline(stages=stages, stopwatch=stopwatch(run.probe.device), n_classes=n_classes, size=size, disk_bytes=size.bytes)


def agreement(answers: Probabilities, expected: Probabilities, *, engine: str, precision: spec.Precision) -> record.Agreement:
    """How an engine's probabilities, shape (documents, classes), differ from eager ones.

    Raises BakeoffError where they differ by more than the tolerance, unless the engine is one that rounds on purpose.
    """
    tolerance = TOLERANCES[precision]
    difference = float(np.abs(answers - expected).max(initial=0.0))
    if not difference <= tolerance and engine != "onnx_int8":
        raise BakeoffError(
            f"probe.engine={engine} changes probabilities by up to {difference:.2g}, more than {tolerance:g}: set probe.engine=eager"
        )
    return record.Agreement(
        n=len(answers),
        max_probability_difference=difference,
        changed_labels=int((answers.argmax(axis=1) != expected.argmax(axis=1)).sum()),
        tolerance=tolerance,
    )


def _spread(texts: Sequence[Document], pipeline: Pipeline) -> list[Document]:
    """Some of the texts, from the shortest to the longest."""
    order = np.argsort(pipeline.lengths_tokens(texts), kind="stable")
    return [texts[i] for i in order[np.unique(np.linspace(0, len(order) - 1, COMPARED_DOCUMENTS).round().astype(int))]]


def use_threads(threads: int) -> None:
    """One thread count for every engine of this process: its matrix products, its tokeniser, scikit-learn's pools."""
    import threadpoolctl

    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # as in training: denormal numbers can be ten times slower
    threadpoolctl.threadpool_limits(threads)
    os.environ |= {"TOKENIZERS_PARALLELISM": str(threads > 1).lower(), "RAYON_NUM_THREADS": str(threads)}


def eager(module: nn.Module, *, precision: spec.Precision, device: str) -> Forward:
    """The module as PyTorch runs it, operation by operation; bfloat16 is autocast, as in training."""
    module.to(device)

    def forward(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode(), _autocast(precision, device):
            logits: torch.Tensor = module(ids.to(device), lengths)
        return logits

    return forward


def compiled(module: nn.Module, *, precision: spec.Precision, device: str) -> Forward:
    """The module after torch.compile, for batches of any size and length."""
    module.to(device)
    return eager(torch.compile(module, dynamic=True), precision=precision, device=device)  # type: ignore[arg-type]


def _exported(model: spec.Neural | spec.Frozen, probe: spec.Latency, candidate: Neural) -> Path | None:
    """The file that an engine serves; None for one that serves the module itself."""
    if probe.engine == "compile":
        return None
    from bakeoff.probes import onnx_engine

    return onnx_engine.exported(candidate.classifier, model, int8=probe.engine == "onnx_int8")


def _forward(model: spec.Neural | spec.Frozen, probe: spec.Latency, candidate: Neural, file: Path | None) -> Forward:
    """The forward pass of an engine that is not eager."""
    if file is None:
        return compiled(candidate.classifier, precision=model.precision, device=probe.device)
    from bakeoff.probes import onnx_engine

    return onnx_engine.forward(file, threads=probe.threads, device=probe.device)


@contextlib.contextmanager
def refused(engine: str, model: str) -> Iterator[None]:
    """An engine's own exceptions to one sentence."""
    try:
        yield
    except Exception as error:
        raise NotApplicable(f"probe.engine={engine} cannot take {model} here ({type(error).__name__}): set probe.engine=eager") from error


def _autocast(precision: spec.Precision, device: str) -> contextlib.AbstractContextManager[object]:
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False)
