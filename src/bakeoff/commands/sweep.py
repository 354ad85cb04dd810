"""`bakeoff sweep`: every Run of a grid that is not yet recorded."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Literal

from bakeoff import config
from bakeoff.commands import precision
from bakeoff.commands.baking import Executor, bake_runs, check_device, check_run, tell_end
from bakeoff.errors import ConfigError, DataError, NotApplicable
from bakeoff.report.store_cache import ReadOnce
from bakeoff.runner import needs
from bakeoff.runner import plan as planning
from bakeoff.runner.plan import Rebake
from bakeoff.store import Store, default_root
from bakeoff.sweep import Cell, Sweep


def sweep(
    file: Path,
    overrides: list[str],
    *,
    executor: Executor,
    slots: int | None,
    address: str | None,
    rebake: Rebake,
    dry_run: bool,
    format: Literal["table", "json"],
) -> int:
    """Exit code of `bakeoff sweep`; raises BakeoffError for a mistake before anything starts."""
    store = Store(default_root())
    read = ReadOnce(store.root)
    checked = checked_against_data(config.load_sweep(file, overrides), read)
    planned = planning.plan(checked, read, rebake=rebake)
    if dry_run:
        print(planning.as_json(planned) if format == "json" else planning.as_text(planned), end="")
        if (faster := precision.advice(planning.to_bake(planned))) is not None:
            print(faster, file=sys.stderr)
        return 0
    for each in planned:
        if each.state == "not_applicable":
            print(f"not applicable: {each.cell.title}: {each.reason}", file=sys.stderr)
    machine, runs = config.machine_of(file, overrides), planning.to_bake(planned)
    check_device(machine, runs, executor=executor)
    done = sum(each.state == "done" for each in planned)
    print(f"{len(needs.with_needs(runs, store))} Runs to bake, {done} already recorded", file=sys.stderr)
    outcome = bake_runs(
        runs,
        machine,
        store,
        executor=executor,
        slots=slots,
        address=address,
        group=checked.name,
        rebake_all=rebake == "all",
        seconds=planning.expected_seconds(planned),
    )
    tell_end(outcome, runs, store)
    if outcome.interrupted:
        return 130
    print(shlex.join(["bakeoff", "report", str(file), *overrides]))
    return 1 if outcome.failed else 0


def checked_against_data(sweep: Sweep, store: Store) -> Sweep:
    """The sweep with every cell that its data or checkpoint refuses marked not applicable; recorded Runs are not asked.

    Raises ConfigError when no cell is left.
    """
    cells = [cell if cell.run is None or store.load(cell.run.run_id) is not None else _checked(cell, store) for cell in sweep.cells]
    if all(cell.reason is not None for cell in cells):
        raise ConfigError(f"{sweep.path} has no cell that applies: {cells[0].reason}")
    return dataclasses.replace(sweep, cells=tuple(cells))


def _checked(cell: Cell, store: Store) -> Cell:
    assert cell.run is not None
    try:
        check_run(cell.run, store)
    except (NotApplicable, DataError) as reason:
        return dataclasses.replace(cell, reason=str(reason))
    return cell
