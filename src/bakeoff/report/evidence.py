"""What became of each cell of a sweep, and the evidence that a committed page carries so that it can be rebuilt.

`records/` beside a page is itself a store: a folder a Run with `record.json` and `predictions.parquet` (or
`failure.json`), and `plan.json`, which lists the overrides and every cell with its status and reason.
"""

import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bakeoff import convert
from bakeoff.errors import DataError
from bakeoff.record import Record, without_folders
from bakeoff.report.candidates import can_be_timed, candidates
from bakeoff.report.frame import failure_text
from bakeoff.report.selection import answers
from bakeoff.report.summary import PREDICTIONS
from bakeoff.report.trials import efforts
from bakeoff.spec import is_run_id, to_plain
from bakeoff.store import FAILURE, RECORD, Store, write_atomically
from bakeoff.sweep import Cell, Sweep

PLAN = "plan.json"
PLAN_VERSION = 2
MOST_BYTES = 20_000_000
"""The largest evidence of one sweep that belongs in a repository."""

CellStatus = Literal["ok", "diverged", "failed", "missing", "not_applicable"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one cell; `reason` says why it has no score."""

    cell: Cell
    status: CellStatus
    reason: str | None

    @property
    def command(self) -> str:
        """The line that bakes this cell again."""
        words = [hide_folders(override) for override in self.cell.overrides]
        if self.cell.run is not None and not any(word.lstrip("+").startswith("seed=") for word in words):
            words.append(f"seed={self.cell.run.seed}")
        return shlex.join(["bakeoff", "run", *words])

    @property
    def timing_command(self) -> str:
        """The line that times this cell's model on its dataset, instead of scoring it."""
        words = [hide_folders(word) for word in self.cell.overrides if not re.match(r"\+*(seed|budget|probe)\b", word)]
        return shlex.join(["bakeoff", "run", *words, "probe=latency"])


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a page was made of, besides the records."""

    sweeps: tuple[Sweep, ...]
    overrides: tuple[str, ...]
    """What the sweeps were composed with; absolute paths keep their last part."""


def outcomes(sweep: Sweep, store: Store) -> list[Outcome]:
    """What became of each cell, in grid order."""
    known = answers((cell.run for cell in sweep.cells if cell.run is not None), store)
    return [_outcome(cell, store, known) for cell in sweep.cells]


def timing_commands(found: Sequence[Outcome]) -> dict[str, str]:
    """Key of a quality candidate that can be timed → the line that does it, from the first of its cells."""
    lines: dict[str, str] = {}
    known = candidates(outcome.cell.run for outcome in found if outcome.cell.run is not None)
    for outcome in found:
        run = outcome.cell.run
        if run is not None and run.run_id in known and can_be_timed(run):
            lines.setdefault(known[run.run_id].key, outcome.timing_command)
    return lines


def write_evidence(sweeps: Sequence[Sweep], store: Store, folder: Path, *, overrides: Sequence[str] = ()) -> None:
    """Copy each Run's record and predictions to `folder/records/` and write the plan; raw latency samples stay behind.

    Does nothing where the store is that evidence already. Raises DataError for a sweep above MOST_BYTES, before anything is written.
    """
    target = folder / "records"
    if target.absolute() == store.root.absolute():
        return
    kept = [_kept(sweep, store) for sweep in sweeps]
    for sweep, run_ids in zip(sweeps, kept, strict=True):
        size = sum(path.stat().st_size for run_id in run_ids for path in _files(store, run_id))
        if size > MOST_BYTES:
            raise DataError(
                f"the records of {sweep.name} take {size / 1e6:.1f} MB, above the {MOST_BYTES / 1e6:.0f} MB that a repository should carry:"
                " write the page without records, or split the sweep"
            )
    plan = {
        "plan_version": PLAN_VERSION,
        "overrides": [hide_folders(override) for override in overrides],
        "sweeps": [_sweep_to_plain(sweep, outcomes(sweep, store)) for sweep in sweeps],
    }
    keep = set[str]().union(*kept)
    for run_id in sorted(keep):
        _copy(store, run_id, target / run_id)
    for path in target.glob("*"):
        if is_run_id(path.name) and path.name not in keep:
            shutil.rmtree(path)
    write_atomically(target / PLAN, json.dumps(plan, indent=1, ensure_ascii=False) + "\n")


def is_evidence(store: Store) -> bool:
    """Whether a store is the evidence of a page, which tells its own sweeps."""
    return (store.root / PLAN).is_file()


def read_evidence(store: Store) -> Evidence:
    """The sweeps of the page whose evidence `store` is. Raises DataError if its plan is unreadable or of another version."""
    path = store.root / PLAN
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        plan = None
    if not isinstance(plan, dict):
        raise DataError(f"{path} is no readable plan: name the records of a page that was written with --evidence")
    if plan.get("plan_version") != PLAN_VERSION:
        raise DataError(f"{path} has plan_version {plan.get('plan_version')} where this bakeoff reads {PLAN_VERSION}")
    sweeps = tuple(
        Sweep(
            name=sweep["name"],
            description=sweep["description"],
            path=sweep["path"],
            cells=tuple(_cell_from_plain(cell) for cell in sweep["cells"]),
        )
        for sweep in plan["sweeps"]
    )
    return Evidence(sweeps=sweeps, overrides=tuple(plan["overrides"]))


def hide_folders(word: str) -> str:
    """A word of a command whose absolute paths keep their last part only, since folders name people and customers."""
    return re.sub(r"""(^|[='"\[,])[/~][^'",\]]*/""", r"\1", word)


def _kept(sweep: Sweep, store: Store) -> set[str]:
    """The Runs of a sweep, those that answered one of its questions on another machine, and the trials that tuned its models."""
    answered = {run_id for planned, records in answers(sweep.runs, store).items() for run_id in (planned, *(r.run_id for r in records))}
    return answered | {trial.run_id for effort in efforts(sweep.runs, store) for trial in effort.trials}


def _outcome(cell: Cell, store: Store, known: Mapping[str, tuple[Record, ...]]) -> Outcome:
    if cell.run is None or cell.reason is not None:
        return Outcome(cell=cell, status="not_applicable", reason=cell.reason or "the configuration refuses this combination")
    record = next(iter(known[cell.run.run_id]), None)
    if record is not None and record.status == "ok":
        return Outcome(cell=cell, status="ok", reason=None)
    if record is not None:
        messages = [diagnostic.message for diagnostic in record.training.diagnostics]
        return Outcome(cell=cell, status="diverged", reason=" ".join(messages) or "the loss was not finite")
    failure = store.failure(cell.run.run_id)
    if failure is not None:
        return Outcome(cell=cell, status="failed", reason=failure_text(failure))
    return Outcome(cell=cell, status="missing", reason="not baked yet")


def _files(store: Store, run_id: str) -> list[Path]:
    return [path for name in (RECORD, PREDICTIONS, FAILURE) if (path := store.folder(run_id) / name).exists()]


def _copy(store: Store, run_id: str, target: Path) -> None:
    source = store.folder(run_id)
    if target.exists():
        shutil.rmtree(target)
    names = (RECORD, PREDICTIONS) if store.load(run_id) is not None else (FAILURE,)
    for name in names:
        if (source / name).exists():
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)


def _sweep_to_plain(sweep: Sweep, found: Sequence[Outcome]) -> dict[str, Any]:
    cells = [
        {
            "overrides": [hide_folders(override) for override in outcome.cell.overrides],
            "question_id": outcome.cell.run.question_id if outcome.cell.run else None,
            "run_id": outcome.cell.run.run_id if outcome.cell.run else None,
            "status": outcome.status,
            "reason": outcome.reason,
            "run": without_folders(to_plain(outcome.cell.run)) if outcome.cell.run else None,
        }
        for outcome in found
    ]
    return {"name": sweep.name, "description": sweep.description, "path": hide_folders(sweep.path), "cells": cells}


def _cell_from_plain(plain: dict[str, Any]) -> Cell:
    run = convert.build_run(plain["run"]) if plain["run"] else None
    if run is not None and run.run_id != plain["run_id"]:
        raise DataError(
            f"{plain['run_id']} was baked with a recipe that has changed since (it would be {run.run_id} now): "
            "bake its sweep again, or rebuild the page with the bakeoff that wrote it"
        )
    return Cell(
        overrides=tuple(plain["overrides"]),
        run=run,
        reason=plain["reason"] if plain["status"] == "not_applicable" else None,
    )
