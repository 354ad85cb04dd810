"""What `run` and `sweep` share: Runs in, progress on standard error, an outcome out."""

import contextlib
import dataclasses
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from bakeoff import tracking
from bakeoff.commands import on_cluster
from bakeoff.data.checks import check
from bakeoff.errors import ConfigError, DataError, NotApplicable
from bakeoff.probes.grid import lengths_of
from bakeoff.probes.requirements import require
from bakeoff.probes.rules import Rules
from bakeoff.provenance import provenance, usable_cpus
from bakeoff.record import Provenance, Record
from bakeoff.runner import live, needs, weights
from bakeoff.runner.attempt import LOG
from bakeoff.runner.events import Event, Outcome, Started
from bakeoff.runner.inprocess import run_inprocess
from bakeoff.runner.local import run_local
from bakeoff.runner.on_ray import RayCluster
from bakeoff.runner.progress import printable, shorten
from bakeoff.runner.sessions import run_sessions
from bakeoff.runner.slots import Slot, gpus, refusal, slots_of
from bakeoff.spec import Latency, Machine, Run
from bakeoff.store import FAILURE, Locked, Store

Executor = Literal["local", "inprocess", "ray"]

PRELOAD = (
    *("typer", "bakeoff.bake", "bakeoff.commands.baking", "bakeoff.runner.child"),
    *("transformers.models.bert.modeling_bert", "sklearn.linear_model", *tracking.PRELOAD),
)
"""What the fork server imports once, so that a Run's process starts in tens of milliseconds."""


def bake_runs(
    runs: Sequence[Run],
    machine: Machine,
    store: Store,
    *,
    executor: Executor,
    slots: int | None = None,
    address: str | None = None,
    group: str | None = None,
    rebake_all: bool = False,
    seconds: Mapping[str, float] = MappingProxyType({}),
    rules: Rules | None = None,
) -> Outcome:
    """Bake `runs` in order, `slots` at a time, then the latency Runs alone, session by session; each told on standard error.

    What a Run is built from is baked before it, where it is not there yet. `seconds` is what each is expected to take, by id.
    `address` is that of a Ray cluster; without one it is started here, with executor ray. `rules` say how much a latency session
    times; null are those of published numbers.
    Raises StoreError or NoLocks, before anything starts, where the store cannot take a record.
    """
    if not runs:
        return Outcome(baked=(), present=(), failed={}, interrupted=False)
    if address is not None and executor != "ray":
        raise ConfigError(f"--address={address} goes with --executor ray")
    store.check_usable()
    # Children tokenise inside their one thread a Run, and a forked tokeniser would warn about it.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    told, plain = needs.with_needs(runs, store), executor == "inprocess"
    with contextlib.ExitStack() as stack:
        places: Sequence[Slot] | RayCluster
        if executor == "ray":
            print("connecting to Ray and asking its nodes, once …", file=sys.stderr)
            places = stack.enter_context(on_cluster.connected(address, runs, machine, store, slots=slots))
            n_slots = places.slots()
        else:
            print("loading torch and what the Runs need, once …", file=sys.stderr)
            others = [run for run in runs if not isinstance(run.probe, Latency)]
            places = slots_of(machine, others, cores=usable_cpus(), most=slots)
            n_slots = len(places)
        tell = stack.enter_context(live.telling(told, store=store, stream=sys.stderr, slots=n_slots, seconds=seconds, plain=plain))
        return _bake_told(
            runs, machine, store, executor=executor, places=places, group=group, rebake_all=rebake_all, progress=tell, rules=rules
        )


def _bake_told(
    runs: Sequence[Run],
    machine: Machine,
    store: Store,
    *,
    executor: Executor,
    places: Sequence[Slot] | RayCluster,
    group: str | None,
    rebake_all: bool,
    progress: Callable[[Event], None],
    rules: Rules | None,
) -> Outcome:
    limit_seconds = machine.time_limit_seconds
    timed = [run for run in runs if isinstance(run.probe, Latency)]
    others = [run for run in runs if not isinstance(run.probe, Latency)]
    needed, begun = needs.needed_by(others), set[str]()

    def tell(event: Event) -> None:
        if isinstance(event, Started):
            begun.add(event.run.run_id)
        progress(event)

    work = functools.partial(bake_one, machine=machine, code=provenance(), group=group, needed=needed)
    outcome = Outcome(baked=(), present=(), failed={}, interrupted=False)
    if isinstance(places, RayCluster):
        outcome = on_cluster.bake_on_cluster(others, places, store, bake=work, preload=PRELOAD, rebake_all=rebake_all, on_event=tell)
    elif others and executor == "inprocess":
        outcome = run_inprocess(
            others,
            store=store,
            bake=work,
            share_texts=machine.share_texts,
            rebake_all=rebake_all,
            limit_seconds=limit_seconds,
            on_event=tell,
        )
    elif others:
        outcome = run_local(
            others,
            store=store,
            bake=work,
            slots=places,
            preload=PRELOAD,
            share_texts=machine.share_texts,
            rebake_all=rebake_all,
            limit_seconds=limit_seconds,
            on_event=tell,
        )
    if machine.keep_weights == "none":
        for run_id in needed & begun:  # never weights that were there, or that another process baked meanwhile
            with contextlib.suppress(Locked), store.lock(run_id):
                weights.drop(store.folder(run_id) / needs.MODEL)
    if not timed or outcome.interrupted:
        return outcome
    return outcome.and_then(
        run_sessions(
            timed,
            store=store,
            bake=functools.partial(bake_together, machine=machine, group=group, rules=rules),
            preload=PRELOAD,
            share_texts=machine.share_texts,
            rebake_all=rebake_all,
            in_process=executor == "inprocess",
            limit_seconds=limit_seconds,
            on_event=progress,
        )
    )


def where_log(store: Store, run_id: str) -> str:
    """Where to read what a Run did before it failed."""
    there = (path for name in (LOG, FAILURE) if (path := store.folder(run_id) / name).exists())
    return next((f"log: {shorten(str(path))}" for path in there), "no log could be written")


def tell_end(outcome: Outcome, runs: Sequence[Run], store: Store) -> None:
    """One message on standard error that names every Run that failed and where its log is; and how to go on after an interrupt."""
    known = {each.run_id: each for run in runs for each in (*needs.needs_of(run).values(), run)}
    lines = []
    for run_id, message in outcome.failed.items():
        lines += [f"failed: {run_id} {message}", f"        {known[run_id].title}, {where_log(store, run_id)}"]
    if failed := len(outcome.failed):
        kept = len(outcome.baked) + len(outcome.present)
        lines.insert(0, f"{failed} Run{'' if failed == 1 else 's'} failed, {kept} {'is' if kept == 1 else 'are'} recorded:")
    if outcome.interrupted:
        lines.append("interrupted; the same command goes on where this one stopped")
    if lines:
        print("\n".join(printable(line, sys.stderr.encoding) for line in lines), file=sys.stderr)


def check_device(machine: Machine, runs: Sequence[Run], *, executor: Executor = "local") -> None:
    """Raise ConfigError when a GPU that is asked for is not there, or several devices are asked for what only one can do.

    What a cluster has is asked when it is connected to; latency Runs are refused there. `machine.gpus` chooses among slots, and is
    refused where there are none: in this process, and in sessions on a GPU.
    """
    timed_on_gpu = any(isinstance(run.probe, Latency) and run.probe.device == "cuda" for run in runs)
    if machine.gpus is not None and (executor == "inprocess" or timed_on_gpu):
        what = "--executor inprocess" if executor == "inprocess" else "a latency Run"
        raise ConfigError(f"machine.gpus={list(machine.gpus)} does not choose the GPU of {what}: set CUDA_VISIBLE_DEVICES instead")
    if executor == "ray":
        on_cluster.refuse_latency(runs)
    else:
        slots_of(machine, runs, cores=usable_cpus())
    for each in (*(needed for run in runs for needed in needs.needs_of(run).values()), *runs):
        if (reason := refusal(each, machine)) is not None:
            raise ConfigError(reason)
    if timed_on_gpu and not visible_gpus():
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
    rules: Rules | None = None,
) -> dict[str, Record | Exception]:
    """`bake_latency.bake_session`, imported where it runs."""
    from bakeoff.bake_latency import bake_session

    return bake_session(runs, folder_of, notify, write, machine=machine, group=group, rules=rules)


def check_run(run: Run, store: Store) -> None:
    """Raise NotApplicable or DataError for a Run that cannot start, or that needs one that cannot, told before anything starts."""
    if (unreadable := store.unreadable(run.run_id)) is not None and unreadable.newer:
        raise DataError(unreadable.why)
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

    if run.probe.lengths != "dataset":
        _check_grid(run, run.probe)
    require(run)
    weights_of(run, store.folder)


def _check_grid(run: Run, probe: Latency) -> None:
    """Raise NotApplicable for generated lengths that are not timed so, or of which the reading reads none."""
    if probe.scenario == "offline":
        raise NotApplicable(f"probe.lengths={probe.lengths} times one document a call: set probe.scenario=single")
    most, shortest = run.longdoc.max_tokens, lengths_of(probe.lengths)[0]
    if most is not None and most < shortest:
        raise NotApplicable(
            f"longdoc.max_tokens={most} is below the {shortest} tokens of the shortest document of probe.lengths={probe.lengths}: raise "
            "it, or choose a reading without a limit, such as longdoc=windows"
        )


def visible_gpus() -> int:
    """NVIDIA devices that this process may use, counted without loading torch."""
    return len(gpus())
