"""What code answered, and on what machine."""

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from bakeoff.record import MachineFacts, Provenance

_PACKAGES = ("bakeoff", "torch", "transformers", "tokenizers", "pytorch-lightning", "scikit-learn", "numpy", "hydra-core")
_CODE = ("src", "conf", "sweeps", "pyproject.toml", "constraints.txt")
_GIBIBYTE = 1024**3


def provenance() -> Provenance:
    """Commit and dirty flag of the checkout that bakeoff runs from (null for an installed wheel), and versions."""
    root = Path(__file__).parents[2]
    commit = _git(root, "rev-parse", "HEAD") if (root / ".git").exists() else None
    changes = _git(root, "status", "--porcelain", "--", *_CODE) if commit else None
    return Provenance(commit=commit, dirty=None if changes is None else bool(changes), versions=versions())


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change an answer."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in _PACKAGES}


def machine_facts(*, device: str, gpu: str | None) -> MachineFacts:
    """This machine, and the device that a Run uses on it."""
    import psutil

    return MachineFacts(
        processor=processor(),
        usable_cpus=usable_cpus(),
        memory_gb=round(psutil.virtual_memory().total / _GIBIBYTE, 1),
        gpu=gpu,
        device=device,
    )


@functools.cache
def processor() -> str:
    """The processor's model name; with family and stepping where the name alone says little."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name") or platform.machine()
    return f"{name} ({facts['cpu family']}/{facts['model']}/{facts['stepping']})" if "stepping" in facts else name


def machine_line(engine: str) -> str:
    """All of this machine that a latency depends on, in one line: processor, cores, memory, GPU, torch and engine versions."""
    import psutil

    packages = ("torch", "onnxruntime") if engine.startswith("onnx") else ("torch",)
    parts = [
        processor(),
        f"{usable_cpus()} CPUs",
        f"{psutil.virtual_memory().total / _GIBIBYTE:.0f} GB",
        gpu_name() or "no GPU",
        *(f"{name} {_version(name) or 'not installed'}" for name in packages),
    ]
    return ", ".join(parts)


@functools.cache
def gpu_name() -> str | None:
    """Name of the first NVIDIA GPU that this process may use, asked without loading torch."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None and chosen.split(",")[0].strip() in ("", "-1"):
        return None
    index = [] if chosen is None else [f"--id={chosen.split(',')[0].strip()}"]
    try:
        command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", *index]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.splitlines()[0].strip() if done.stdout.strip() else None


def usable_cpus() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
