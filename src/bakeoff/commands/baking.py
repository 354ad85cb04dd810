"""What `run` and `sweep` share: Runs in, progress on standard error, an outcome out."""

import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from bakeoff import tracking
from bakeoff.provenance import usable_cpus
from bakeoff.record import Record
from bakeoff.runner.events import Outcome
from bakeoff.runner.inprocess import run_inprocess
from bakeoff.runner.local import run_local
from bakeoff.runner.progress import Progress
from bakeoff.spec import Machine, Run
from bakeoff.store import Store

Executor = Literal["local", "inprocess"]

PRELOAD = ("bakeoff.bake", "transformers.models.bert.modeling_bert", "sklearn.linear_model", *tracking.PRELOAD)
"""What the fork server imports once, so that a Run's process starts in tens of milliseconds."""


def bake_runs(
    runs: Sequence[Run],
    machine: Machine,
    store: Store,
    *,
    executor: Executor,
    slots: int | None = None,
    group: str | None = None,
    rebake_all: bool = False,
) -> Outcome:
    """Bake `runs` in order, `slots` at a time, each told on standard error."""
    if not runs:
        return Outcome(baked=(), present=(), failed={}, interrupted=False)
    print("loading torch and what the Runs need, once …", file=sys.stderr)
    # Children tokenise inside their one thread a Run, and a forked tokeniser would warn about it.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    work = functools.partial(bake_one, machine=machine, group=group)
    progress = Progress(total=len(runs), store=store, stream=sys.stderr)
    if executor == "inprocess":
        return run_inprocess(runs, store=store, bake=work, share_texts=machine.share_texts, rebake_all=rebake_all, on_event=progress)
    return run_local(
        runs,
        store=store,
        bake=work,
        slots=slots or machine.slots or default_slots(runs, machine),
        preload=PRELOAD,
        share_texts=machine.share_texts,
        rebake_all=rebake_all,
        on_event=progress,
    )


def check_device(machine: Machine) -> None:
    """Raise ConfigError when a GPU is asked for by name and there is none; asking costs loading torch."""
    if machine.device == "cuda":
        from bakeoff.bake import choose_device

        choose_device(machine)


def bake_one(run: Run, folder: Path, notify: Callable[[str], None], *, machine: Machine, group: str | None) -> Record:
    """`bake.bake`, imported where it runs: the parent process never loads torch."""
    from bakeoff.bake import bake

    return bake(run, folder, notify, machine=machine, group=group)


def default_slots(runs: Sequence[Run], machine: Machine) -> int:
    """One Run a GPU; on CPU as many as there are cores for their threads."""
    if machine.device != "cpu" and (gpus := visible_gpus()):
        return gpus
    threads = max((run.probe.threads for run in runs), default=1)
    return max(1, usable_cpus() // threads)


def visible_gpus() -> int:
    """NVIDIA devices that this process may use, counted without loading torch."""
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return len([device for device in chosen.split(",") if device.strip() not in ("", "-1")])
    return len(list(Path("/dev").glob("nvidia[0-9]*")))
