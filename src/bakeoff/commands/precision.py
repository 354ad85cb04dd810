"""Which models of a plan bfloat16 may make faster here, by what the machine says of itself; `bakeoff doctor` measures it."""

import re
from collections.abc import Sequence
from pathlib import Path

from bakeoff.commands.baking import visible_gpus
from bakeoff.spec import BudgetZero, Frozen, Pretrained, Run, Scratch

_INSTRUCTIONS = re.compile(r"\b(amx_bf16|avx512_bf16|bf16)\b")


def advice(runs: Sequence[Run]) -> str | None:
    """Which models of a plan bfloat16 may make faster on this machine; None where it makes none, or the machine cannot."""
    names = sorted(
        {
            run.model.name
            for run in runs
            if isinstance(run.model, Pretrained | Scratch | Frozen | BudgetZero) and run.model.precision == "float32"
        }
    )
    if not names:
        return None
    if visible_gpus():
        return (
            f"`bakeoff doctor` measures whether this machine's GPU is faster with model.precision=bfloat16, which {', '.join(names)} "
            "would take (another question, with records of its own)"
        )
    if not has_instructions(Path("/proc/cpuinfo")):
        return None
    return (
        f"this machine has instructions for bfloat16, so model.precision=bfloat16 may be faster for {', '.join(names)} "
        "(another question, with records of its own); `bakeoff doctor` measures it"
    )


def has_instructions(cpuinfo: Path) -> bool:
    """Whether the processor multiplies in bfloat16 by itself, as Linux lists it in `cpuinfo`."""
    return cpuinfo.exists() and _INSTRUCTIONS.search(cpuinfo.read_text(encoding="utf-8")) is not None
