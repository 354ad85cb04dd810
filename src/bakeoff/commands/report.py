"""`bakeoff report`: records to a page."""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from bakeoff import config
from bakeoff.commands.sweep import checked_against_data
from bakeoff.errors import ConfigError, DataError
from bakeoff.mirrored import Sheet
from bakeoff.report import costs, guards, pages
from bakeoff.report.evidence import hide_folders, is_evidence, read_evidence, write_evidence
from bakeoff.report.limits import Limits
from bakeoff.report.selection import answers
from bakeoff.report.store_cache import ReadOnce
from bakeoff.report.winner_view import Texts
from bakeoff.spec import Dataset, Quality, hash_identity, identity
from bakeoff.store import Store, default_root, write_atomically
from bakeoff.sweep import Sweep
from bakeoff.tracking import Mirror

CONTAINS_DATA = "-contains-data"
"""What the folder of a page with texts is called after its sweep's name."""


def report(
    files: Sequence[Path],
    overrides: list[str],
    *,
    out: Path,
    evidence: bool,
    allow_dirty: bool = False,
    show_texts: bool = False,
    wandb: bool = False,
    limits: Limits = pages.NO_LIMITS,
) -> Path:
    """Write the page of sweeps under `out`, named after the first, and return the path of its README.md.

    Where the store is the `records/` of a page, the sweeps are as that page had them, and no data is read unless
    `show_texts` asks for it. A page with texts has a folder of its own that git ignores.
    """
    if show_texts and (evidence or wandb):
        raise ConfigError("--show-texts builds a page that contains data and stays here: leave out --evidence and --wandb")
    store = ReadOnce(default_root())
    if is_evidence(store):
        sweeps = recorded_sweeps(files, overrides, store)
    else:
        sweeps = [checked_against_data(config.load_sweep(file, overrides), store) for file in files]
    runs = [run for sweep in sweeps for run in sweep.runs]
    found = list({record.run_id: record for given in answers(runs, store).values() for record in given}.values())
    guards.refuse(runs, found, store, allow_dirty=allow_dirty)
    folder = out / (sweeps[0].name + (CONTAINS_DATA if show_texts else ""))
    texts = None
    if show_texts:
        texts = texts_of([run.dataset for run in runs if isinstance(run.probe, Quality)])
        write_atomically(folder / ".gitignore", "*\n")
    prices = costs.read_prices(prices_file())
    page = pages.write_report(sweeps, store, folder, overrides=overrides, prices=prices, texts=texts, limits=limits)
    if evidence:
        write_evidence(sweeps, store, folder, overrides=overrides)
    if wandb:
        mirror(sweeps[0].name, folder, store, files[0], overrides)
    return page


def texts_of(datasets: Sequence[Dataset]) -> Texts:
    """The test texts of each different dataset, by fingerprint and row id. Raises DataError where the data is not there."""
    from bakeoff.data.dataset import prepare

    found: dict[str, dict[str, str]] = {}
    for one in {hash_identity(identity(dataset)): dataset for dataset in datasets}.values():
        rows = prepare(one).test
        found.setdefault(one.fingerprint, {}).update(zip(rows.row_ids, rows.whole_texts, strict=True))
    return found


def mirror(name: str, folder: Path, store: Store, file: Path, overrides: Sequence[str]) -> None:
    """Send a page's table of records, the page and its figures to a W&B run of its own, offline unless asked otherwise."""
    with open(folder / "records.csv", newline="", encoding="utf-8") as handle:
        columns, *rows = csv.reader(handle)
    machine = config.machine_of(file, overrides)
    started = Mirror.start_report(name, machine=machine, root=store.root, notify=lambda notice: print(notice, file=sys.stderr))
    figures = {f"figures/{path.stem}": path for path in sorted((folder / "figures").glob("*.svg"))}
    table = Sheet(name="records", columns=tuple(columns), rows=tuple(map(tuple, rows)))
    started.finish_report([table], {"page": folder / "index.html", **figures})


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
