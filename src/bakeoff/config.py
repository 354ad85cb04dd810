"""Sweep files to Runs; together with `composer` the one door from configuration to frozen nouns.

Every mistake in a configuration becomes one sentence (ConfigError) before anything starts.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

from bakeoff import sweep_file
from bakeoff.composer import Composer as Composer
from bakeoff.composer import Job as Job
from bakeoff.composer import expand as expand
from bakeoff.composer import packaged as packaged
from bakeoff.composer import parse as parse
from bakeoff.composer import prefer_working_directory as prefer_working_directory
from bakeoff.composer import quoted as quoted
from bakeoff.errors import ConfigError, DataError, NotApplicable
from bakeoff.spec import Machine
from bakeoff.sweep import Cell, Sweep

CLAIMS = Path("sweeps") / "claims"
"""The sweeps behind claims."""


def load_sweep(path: Path, overrides: Sequence[str] = ()) -> Sweep:
    """Every cell of a sweep file, with overrides that replace a parameter of the grid or are added to each cell.

    A combination that the configuration refuses, or whose data is not there, is a cell with a reason. Raises ConfigError
    for a file that is no sweep, for a value that no cell could take, and when every cell is refused.
    """
    file = find_sweep(path)
    plain = sweep_file.read(file)
    grid = {str(key): [f"{key}={value}" for value in sweep_file.grid_values(str(key), spec)] for key, spec in plain["parameters"].items()}
    for text, override in zip(overrides, parse(overrides), strict=True):
        key = text.partition("=")[0]
        values = [f"{key}={value}" for value in override.sweep_string_iterator()] if override.is_sweep_override() else [text]
        grid[override.key_or_group] = values
    composer, cells = Composer(), []
    for arguments in itertools.product(*grid.values()):
        try:
            cells.append(Cell(overrides=arguments, run=composer.cell(arguments).run))
        except (NotApplicable, DataError) as reason:
            cells.append(Cell(overrides=arguments, run=None, reason=str(reason)))
    if all(cell.run is None for cell in cells):
        raise ConfigError(f"{file.name} has no cell that applies: {cells[0].reason}")
    return Sweep(name=file.stem, description=str(plain.get("description") or ""), path=str(path), cells=tuple(cells))


def machine_of(path: Path, overrides: Sequence[str] = ()) -> Machine:
    """How a sweep executes: `machine.…` overrides, else the sweep file's own values."""
    plain = sweep_file.read(find_sweep(path))
    own = [
        f"{key}={sweep_file.grid_values(str(key), spec)[0]}" for key, spec in plain["parameters"].items() if str(key).startswith("machine")
    ]
    return Composer().machine([*own, *(text for text in overrides if text.startswith("machine"))])


def find_sweep(path: Path) -> Path:
    """The sweep file at `path`, or the packaged one for a bare name or one under `sweeps/`."""
    candidates = [path]
    if path.parent in (Path(), Path("sweeps")):
        candidates += [packaged("sweeps") / path.name, packaged("sweeps") / f"{path.name}.yaml"]
    elif path.parent == CLAIMS:
        candidates += [packaged("sweeps") / CLAIMS.name / path.name]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    names = ", ".join(sorted(file.name for file in packaged("sweeps").glob("*.yaml")))
    raise ConfigError(f"{path} is no sweep file; those that come with bakeoff are {names}")
