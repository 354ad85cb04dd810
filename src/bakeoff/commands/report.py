"""`bakeoff report`: records to a page."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from bakeoff import config
from bakeoff.commands.sweep import checked_against_data
from bakeoff.report import costs, pages
from bakeoff.store import Store, default_root


def report(files: Sequence[Path], overrides: list[str], *, out: Path, evidence: bool) -> Path:
    """Write the page of sweeps under `out`, named after the first, and return the path of its README.md."""
    store = Store(default_root())
    sweeps = [checked_against_data(config.load_sweep(file, overrides), store) for file in files]
    folder = out / sweeps[0].name
    command = shlex.join(["bakeoff", "report", *map(str, files), *overrides])
    page = pages.write_report(sweeps, store, folder, command=command, prices=costs.read_prices(prices_file()))
    if evidence:
        pages.write_evidence(sweeps, store, folder)
    return page


def prices_file() -> Path:
    """`conf/prices.yaml` of the working directory, else the packaged one."""
    own = Path("conf") / "prices.yaml"
    return own if own.is_file() else config.packaged("conf") / "prices.yaml"
