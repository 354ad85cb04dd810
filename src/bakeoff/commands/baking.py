"""What `run` and `sweep` share: Runs in, progress on standard error, an outcome out."""

import contextlib
import dataclasses
import functools
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from bakeoff import tracking
from bakeoff.data.checks import check
from bakeoff.errors import ConfigError, DataError, NotApplicable
from bakeoff.probes.requirements import require
from bakeoff.provenance import provenance, usable_cpus
from bakeoff.record import Provenance, Record
from bakeoff.runner import needs
from bakeoff.runner.events import Event, Outcome, Started
from bakeoff.runner.inprocess import run_inprocess
from bakeoff.runner.local import run_local
from bakeoff.runner.progress import Progress
from bakeoff.runner.sessions import run_sessions
from bakeoff.runner.slots import gpus, refusal, slots_of
from bakeoff.spec import Latency, Machine, Run
from bakeoff.store import Locked, Store

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
    """Bake `runs` in order, `slots` at a time, then the latency Runs alone, session by session; each told on standard error.

    What a Run is built from is baked before it, where it is not there yet.
    """
    if not runs:
        return Outcome(baked=(), present=(), failed={}, interrupted=False)
    print("loading torch and what the Runs need, once …", file=sys.stderr)
    # Children tokenise inside their one thread a Run, and a forked tokeniser would warn about it.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    progress = Progress(total=len(needs.with_needs(runs, store)), store=store, stream=sys.stderr)
    timed = [run for run in runs if isinstance(run.probe, Latency)]
    others = [run for run in runs if not isinstance(run.probe, Latency)]
    needed, begun = needs.needed_by(others), set[str]()

    def tell(event: Event) -> None:
        if isinstance(event, Started):
            begun.add(event.run.run_id)
        progress(event)

    work = functools.partial(bake_one, machine=machine, code=provenance(), group=group, needed=needed)
    outcome = Outcome(baked=(), present=(), failed={}, interrupted=False)
    if others and executor == "inprocess":
        outcome = run_inprocess(others, store=store, bake=work, share_texts=machine.share_texts, rebake_all=rebake_all, on_event=tell)
    elif others:
        outcome = run_local(
            others,
            store=store,
            bake=work,
            slots=slots_of(machine, others, cores=usable_cpus(), most=slots),
            preload=PRELOAD,
            share_texts=machine.share_texts,
            rebake_all=rebake_all,
            on_event=tell,
        )
    if machine.keep_weights == "none":
        for run_id in needed & begun:  # never weights that were there, or that another process baked meanwhile
            with contextlib.suppress(Locked), store.lock(run_id):
                shutil.rmtree(store.folder(run_id) / needs.MODEL, ignore_errors=True)
    if not timed or outcome.interrupted:
        return outcome
    return outcome.and_then(
        run_sessions(
            timed,
            store=store,
            bake=functools.partial(bake_together, machine=machine, group=group),
            preload=PRELOAD,
            share_texts=machine.share_texts,
            rebake_all=rebake_all,
            in_process=executor == "inprocess",
            on_event=progress,
        )
    )


def check_device(machine: Machine, runs: Sequence[Run]) -> None:
    """Raise ConfigError when a GPU that is asked for is not there, or several devices are asked for what only one can do."""
    slots_of(machine, runs, cores=usable_cpus())
    for run in (each for run in runs for each in (*needs.needs_of(run).values(), run)):
        if (reason := refusal(run, machine)) is not None:
            raise ConfigError(reason)
    if any(isinstance(run.probe, Latency) and run.probe.device == "cuda" for run in runs) and not visible_gpus():
        raise ConfigError("probe.device=cuda, but there is no GPU here: set probe.device=cpu")


def bake_one(
    run: Run,
    folder: Path,
    notify: Callable[[str], None],
    write: Callable[[Record], None],
    *,
    machine: Machine,
    code: Provenance,
    group: str | None,
    needed: frozenset[str],
) -> Record:
    """`bake.bake`, imported where it runs: the parent process never loads torch.

    A Run that is recorded is baked for its weights alone, of which Weights & Biases need not hear again.
    """
    from bakeoff.bake import bake

    if Store(folder.parent).load(run.run_id) is not None:
        machine = dataclasses.replace(machine, wandb="disabled", keep_weights="all")
    return bake(run, folder, notify, write, machine=machine, code=code, group=group, needed=needed)


def bake_together(
    runs: Sequence[Run],
    folder_of: Callable[[str], Path],
    notify: Callable[[str], None],
    write: Callable[[Record], None],
    *,
    machine: Machine,
    group: str | None,
) -> dict[str, Record | Exception]:
    """`bake_latency.bake_session`, imported where it runs."""
    from bakeoff.bake_latency import bake_session

    return bake_session(runs, folder_of, notify, write, machine=machine, group=group)


def check_run(run: Run, store: Store) -> None:
    """Raise NotApplicable or DataError for a Run that cannot start, or that needs one that cannot, told before anything starts."""
    check(run)
    for part, needed in needs.needs_of(run).items():
        if needs.is_settled(store, needed.run_id):
            continue  # nothing of it starts here, so neither its checkpoint nor its files need be there
        try:
            check(needed)
        except (NotApplicable, DataError) as reason:
            raise type(reason)(f"model.{part}={needed.model.name} cannot be made here: {reason}") from None
    check_latency(run, store)


def check_latency(run: Run, store: Store) -> None:
    """Raise NotApplicable for a latency Run that this machine or this store cannot answer, told before anything starts."""
    if not isinstance(run.probe, Latency):
        return
    from bakeoff.bake_latency import weights_of

    if run.probe.lengths == "grid" and run.probe.scenario == "offline":
        raise NotApplicable("probe.lengths=grid times one document a call: set probe.scenario=single")
    require(run)
    weights_of(run, store.folder)


def visible_gpus() -> int:
    """NVIDIA devices that this process may use, counted without loading torch."""
    return len(gpus())
