"""Offers to ordinary Runs of the user's file, and to sweep files that anybody can bake and report again."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff import sweep_file
from bakeoff.commands.baking import check_run
from bakeoff.commands.data import in_options
from bakeoff.config import Composer, quoted
from bakeoff.deciding.offers import Offer, grids, parameters, sweep_of
from bakeoff.errors import BakeoffError
from bakeoff.spec import Machine, Run
from bakeoff.store import Store, write_atomically
from bakeoff.sweep import Cell, Sweep

PLAN = "plan"
"""The folder of the sweep files, beside the page."""


@dataclass(kw_only=True)
class Field:
    """What of this file can be asked: composes each offer once, and says why one cannot be asked."""

    name: str
    folder: Path
    """Of the page."""
    base: Mapping[str, str]
    """Settings of the dataset, without paths, which no sweep file names."""
    paths: tuple[str, ...]
    """Overrides that say where the data lies."""
    composer: Composer = field(default_factory=Composer)
    refused: dict[str, str] = field(default_factory=dict)
    """Candidate, or one that cannot be timed → why it cannot be asked here."""
    _runs: dict[Offer, Run | None] = field(default_factory=dict)

    def overrides(self, offer: Offer) -> tuple[str, ...]:
        """All of an offer's Run."""
        return (*(f"{key}={value}" for key, value in self.base.items()), *self.paths, *offer.overrides)

    def run(self, offer: Offer) -> Run | None:
        """The Run of an offer; None for one that the configuration, the data or a missing checkpoint refuses, which `refused` tells."""
        if offer not in self._runs:
            try:
                self._runs[offer] = self.composer.cell(self.overrides(offer)).run
            except BakeoffError as reason:
                self._runs[offer] = None
                self.refused[_refused(offer)] = str(reason)
        return self._runs[offer]

    def first_run(self, offer: Offer) -> Run:
        """The Run of an offer whose refusal is one of the data: raised in the options of the command."""
        try:
            found = self.composer.cell(self.overrides(offer)).run
        except BakeoffError as reason:
            raise type(reason)(in_options(str(reason)).replace("dataset.path=", "")) from None
        self._runs[offer] = found
        return found

    def use(self, settings: Mapping[str, str]) -> None:
        """Ask with these settings of the dataset from now on."""
        if settings:
            self.base = {**self.base, **settings}
            self._runs.clear()

    def check(self, offers: Iterable[Offer], store: Store) -> None:
        """Look once whether the data, the checkpoint and this machine can answer these; what they refuse is refused here."""
        for offer in offers:
            run = self.run(offer)
            if run is None or store.load(run.run_id) is not None:
                continue
            try:
                check_run(run, store)
            except BakeoffError as reason:
                self._runs[offer] = None
                self.refused[_refused(offer)] = str(reason)

    def machine(self) -> Machine:
        """How Runs execute."""
        return self.composer.machine([])

    def sweeps(self, offers: Sequence[Offer]) -> list[Sweep]:
        """Write the sweep files of these offers, the first under the page's name, and give the sweeps that they are."""
        plan, found = self.folder / PLAN, list[Sweep]()
        for number, grid in enumerate(grids(offers), start=1):
            name = self.name if number == 1 else f"{self.name}-{number}"
            file = plan / f"{name}.yaml"
            comments = [f"Written by `bakeoff decide`. Say where the data lies: bakeoff sweep {file} dataset.path=…"]
            write_atomically(file, sweep_file.render(name, parameters(grid, self.base), comments=comments))
            cells = [Cell(overrides=self.overrides(offer), run=self.run(offer)) for offer in grid]
            found.append(sweep_of(name, str(file), cells))
        written = {Path(sweep.path) for sweep in found}
        for old in plan.glob(f"{self.name}*.yaml"):
            if old not in written:
                old.unlink()
        return found


def field_of(
    target: str, options: Mapping[str, str], *, test: Path | None, time: str | None, name: str | None, out: Path = Path("reports")
) -> Field:
    """The field of a file, a folder, or a dataset that bakeoff names; `options` are settings of the dataset such as text and label."""
    path = Path(target).expanduser()
    base, paths = {"dataset": target}, list[str]()
    if path.exists() or path.suffix:
        base = {"dataset": "folder" if path.is_dir() else "csv"}
        paths.append(f"dataset.path={_path(path)}")
    if test is not None:
        paths.append(f"dataset.test_path={_path(test)}")
    base |= {f"dataset.{key}": _plain(value) for key, value in options.items()}
    if time is not None:
        base |= {"dataset.time": _plain(time), "dataset.split": "newest"}
    chosen = name or re.sub(r"[^\w.-]+", "_", path.stem)
    return Field(name=chosen, folder=out / chosen, base=base, paths=tuple(paths))


def _refused(offer: Offer) -> str:
    return offer.title if offer.asks == "latency" else offer.label


def _path(path: Path) -> str:
    """A path as an override, in quotes only where Hydra needs them."""
    return str(path) if re.fullmatch(r"[\w./-]*[A-Za-z/][\w./-]*", str(path)) else quoted(str(path))


def _plain(value: str) -> str:
    """A value as an override, in quotes only where Hydra needs them."""
    return value if re.fullmatch(r"[A-Za-z_][\w.-]*", value) and value not in ("null", "true", "false") else quoted(value)
