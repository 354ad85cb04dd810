"""`bakeoff report`: records to a page."""

from collections.abc import Sequence
from pathlib import Path

from bakeoff import config
from bakeoff.commands.sweep import checked_against_data
from bakeoff.errors import DataError
from bakeoff.report import costs, pages
from bakeoff.report.evidence import hide_folders, is_evidence, read_evidence, write_evidence
from bakeoff.store import Store, default_root
from bakeoff.sweep import Sweep


def report(files: Sequence[Path], overrides: list[str], *, out: Path, evidence: bool) -> Path:
    """Write the page of sweeps under `out`, named after the first, and return the path of its README.md.

    Where the store is the `records/` of a page, the sweeps are as that page had them, and no data is read.
    """
    store = Store(default_root())
    if is_evidence(store):
        sweeps = recorded_sweeps(files, overrides, store)
    else:
        sweeps = [checked_against_data(config.load_sweep(file, overrides), store) for file in files]
    folder = out / sweeps[0].name
    page = pages.write_report(sweeps, store, folder, overrides=overrides, prices=costs.read_prices(prices_file()))
    if evidence:
        write_evidence(sweeps, store, folder, overrides=overrides)
    return page


def recorded_sweeps(files: Sequence[Path], overrides: Sequence[str], store: Store) -> list[Sweep]:
    """The sweeps of these names in a page's evidence. Raises DataError for one it lacks and for other overrides."""
    found = read_evidence(store)
    by_name = {sweep.name: sweep for sweep in found.sweeps}
    for file in files:
        if file.stem not in by_name:
            own = ", ".join(by_name)
            raise DataError(f"{store.root} holds the evidence of {own} and not of {file.stem}: name its own sweep, or unset BAKEOFF_RUNS")
    if [hide_folders(override) for override in overrides] != list(found.overrides):
        given = f"with {' '.join(found.overrides)}" if found.overrides else "without overrides"
        raise DataError(f"{store.root} holds the evidence of a page made {given}: give the same, or unset BAKEOFF_RUNS")
    return [by_name[file.stem] for file in files]


def prices_file() -> Path:
    """`conf/prices.yaml` of the working directory, else the packaged one."""
    own = Path("conf") / "prices.yaml"
    return own if own.is_file() else config.packaged("conf") / "prices.yaml"
