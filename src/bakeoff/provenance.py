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


def usable_cpus() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
