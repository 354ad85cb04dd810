"""What an engine needs, told without loading any: packages, a compiler, a model that it can take."""

import contextlib
import importlib.metadata
import importlib.util
import os
import shutil
import sys

from bakeoff import spec
from bakeoff.errors import NotApplicable

_PACKAGES = {
    "eager": ("torch",),
    "compile": ("torch",),
    "onnx": ("torch", "onnx", "onnxscript", "onnxruntime"),
    "onnx_int8": ("torch", "onnx", "onnxscript", "onnxruntime"),
}


def require(run: spec.Run) -> None:
    """Raise NotApplicable for what is known beforehand: no compiler, no package, no such combination."""
    probe = run.probe
    assert isinstance(probe, spec.Latency), "an engine is a setting of the latency probe"
    model, engine, device = run.model, probe.engine, probe.device
    assert not isinstance(model, spec.Predictions), "fits refuses to time a file"
    if isinstance(model, spec.BudgetZero):
        raise NotApplicable(f"probe=latency does not time {model.name} yet: an encoder of its size stands in (model=pretrained, untrained)")
    if isinstance(model, spec.Majority | spec.Tfidf):
        if engine != "eager" or device != "cpu":
            raise NotApplicable(f"{model.name} has no forward pass of PyTorch's: set probe.engine=eager and probe.device=cpu")
        return
    if run.longdoc.strategy == "extended" and engine != "eager":
        raise NotApplicable(f"probe.engine={engine} does not take the sliding attention of longdoc=extended: set probe.engine=eager")
    if engine.startswith("onnx"):
        _require_onnx(engine, device, model.precision)
    if engine == "compile":
        _require_compiler(device)


def _require_onnx(engine: str, device: str, precision: spec.Precision) -> None:
    missing = [name for name, version in versions(engine).items() if version == "not installed"]
    if missing:
        raise NotApplicable(f"probe.engine={engine} needs {', '.join(missing)}, which is not installed: pip install 'bakeoff[onnx]'")
    if precision != "float32":
        raise NotApplicable(f"probe.engine={engine} answers in its own number format: set model.precision=float32")
    if device == "cuda":
        if engine == "onnx_int8":
            raise NotApplicable("probe.engine=onnx_int8 quantises for a CPU: set probe.device=cpu")
        import onnxruntime

        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise NotApplicable(
                "probe.engine=onnx on a GPU needs the package onnxruntime-gpu, which is not installed: set probe.device=cpu"
            )


def _require_compiler(device: str) -> None:
    if device == "cuda":
        if importlib.util.find_spec("triton") is None:
            raise NotApplicable("probe.engine=compile on a GPU needs the package triton, which is not installed: set probe.engine=eager")
        return
    compiler = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    if shutil.which(compiler) is None:
        raise NotApplicable(f"probe.engine=compile needs a C++ compiler, and {compiler} is not installed: install it, or name yours in CXX")


def versions(engine: str) -> dict[str, str]:
    """Package → version of everything that an engine is made of; "not installed" where one is missing."""
    return {name: _version(name) for name in _PACKAGES[engine]}


def _version(package: str) -> str:
    for name in (package, "onnxruntime-gpu") if package == "onnxruntime" else (package,):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return "not installed"
