"""The most memory that this process held: of a GPU its own share, otherwise its resident size."""

import resource
import sys
from pathlib import Path
from typing import Literal

Device = Literal["cpu", "cuda"]


def forget(device: Device) -> bool:
    """Count the most memory held from now on; False where the system does not do that."""
    if device == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats()
        return True
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # proc(5): the peak becomes what is held now
    except OSError:
        return False
    return True


def memory_mb(device: Device) -> float:
    """The most held since `forget`, or since the process began where that was not told."""
    if device == "cuda":
        import torch

        return round(torch.cuda.max_memory_allocated() / 1024**2, 1)
    # Not getrusage, whose peak a process inherits from the one that started it.
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024, 1)
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)
