"""Runs that are recorded, with the paths of their data, and their weights."""

import dataclasses
import functools
import sys
from dataclasses import dataclass
from typing import Any

import yaml

from bakeoff import convert
from bakeoff.commands.baking import bake_one, bake_runs
from bakeoff.errors import BakeoffError, DataError
from bakeoff.provenance import provenance
from bakeoff.record import Record
from bakeoff.runner import needs, weights
from bakeoff.spec import Machine, Run, is_run_id
from bakeoff.store import Store

_LISTED = "`bakeoff records` lists what there is"


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A recorded Run as it was composed."""

    run: Run
    """Paths included, which records leave out."""
    record: Record
    machine: Machine


def saved_run(store: Store, start: str) -> Saved:
    """The one recorded Run whose id begins so. Raises DataError where there is none, or several."""
    found = sorted(path.name for path in store.root.glob(f"{start}*") if is_run_id(path.name)) if start.isalnum() else []
    if not found:
        raise DataError(f"there is no Run {start} in {store.root.name}/: {_LISTED}, and BAKEOFF_RUNS names another store")
    if len(found) > 1:
        raise DataError(f"{len(found)} Runs begin with {start} ({', '.join(found[:5])}): give more digits")
    record = store.load(found[0])
    if record is None:
        unreadable = store.unreadable(found[0])
        raise DataError(unreadable.why if unreadable else f"Run {found[0]} is not finished: {_LISTED}, with its error if it failed")
    try:
        plain: dict[str, Any] = yaml.safe_load((store.folder(record.run_id) / "run.yaml").read_text(encoding="utf-8"))
        machine = convert.build(Machine, plain.pop("machine"), "machine")
        run = convert.build_again(plain)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError, BakeoffError):
        raise DataError(f"the run.yaml of {record.run_id}, which says where its data is, cannot be read: bake the Run again") from None
    if run.run_id != record.run_id:
        raise DataError(f"the run.yaml of {record.run_id} is that of another Run: bake the Run again")
    return Saved(run=run, record=record, machine=machine)


def restore_weights(run: Run, machine: Machine, store: Store) -> None:
    """Have a recorded Run's weights in the store: where they are gone they are baked again, and first what it is built from.

    Raises BakeoffError where what is baked again answers otherwise than the record.
    """
    if needs.has_weights(store, run.run_id):
        return
    kept = dataclasses.replace(machine, keep_weights="all", wandb="disabled")
    restore_needs(run, kept, store)
    print(f"the weights of {run.run_id} {run.title} are gone and are baked again; its record stays", file=sys.stderr)
    bake = functools.partial(bake_one, machine=kept, code=provenance(), group=None, needed=frozenset({run.run_id}))
    with store.lock(run.run_id, title=run.title):
        weights.restore(run, store, bake, lambda notice: print(notice, file=sys.stderr))


def restore_needs(run: Run, machine: Machine, store: Store) -> None:
    """Have the weights of what a Run is built from."""
    for needed in needs.needs_of(run).values():
        if store.load(needed.run_id) is not None:
            restore_weights(needed, machine, store)
        elif bake_runs([needed], dataclasses.replace(machine, keep_weights="all"), store, executor="inprocess").failed:
            raise BakeoffError(f"{needed.run_id}, from which {run.run_id} is built, could not be baked")
