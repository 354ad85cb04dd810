"""Fair tuning: the recipes of a model that are tried, the same number for each model, and the one that validation rows choose.

A space is a grid of settings that a model's YAML fixed before any test score: dotted setting → values, the default first.
A trial is an ordinary Run with `probe.scores=validation`, which answers no test row.
"""

import dataclasses
import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bakeoff.convert import unknown_key
from bakeoff.errors import ConfigError, UnknownSetting
from bakeoff.record import Record
from bakeoff.spec import Quality, Run
from bakeoff.sweep import Cell, Sweep

Recipe = dict[str, Any]
Space = Mapping[str, tuple[Any, ...]]
Metric = Literal["accuracy", "macro_f1"]

SEEDS = ("seed", "budget.draw")
"""Settings in which the cells of one entry differ."""


def take_space(model: Any) -> dict[str, tuple[Any, ...]]:
    """Take `tune` out of a model's plain settings, so that it is no part of the question, and return it as a space.

    A YAML that builds on another takes a setting out of its space with null. Raises UnknownSetting for a key that the
    model does not have, and ConfigError where no list of values stands.
    """
    listed = model.pop("tune", None) if isinstance(model, dict) else None
    if listed is None:
        return {}
    if not isinstance(listed, Mapping):
        raise ConfigError(f"model.tune={listed} should map a setting to a list of values, such as dropout: [0.1, 0.3]")
    settings = dict(_settings(model, "model"))
    space: dict[str, tuple[Any, ...]] = {}
    for name, values in listed.items():
        key = f"model.{name}"
        if key not in settings:
            raise UnknownSetting(unknown_key(f"model.tune.{name}", [known.removeprefix("model.") for known in settings]))
        if values is None:
            continue
        if not isinstance(values, list) or not values:
            raise ConfigError(f"model.tune.{name}={values} should be a list of values")
        space[key] = (settings[key], *(value for value in values if value != settings[key]))
    return space


def size(space: Space) -> int:
    """How many recipes a space holds, the default included."""
    return math.prod(len(values) for values in space.values())


def recipes(space: Space, *, seed: int) -> Iterator[Recipe]:
    """The default, then every other recipe once, in an order that `seed` draws: each prefix is a draw without replacement.

    The order is by SHA-256 of seed and recipe, so more trials add to fewer, and every budget tries the same ones.
    """
    default, *others = (dict(zip(space, values, strict=True)) for values in itertools.product(*space.values()))
    yield default
    yield from sorted(others, key=lambda recipe: hashlib.sha256(f"{seed}|{json.dumps(recipe, sort_keys=True)}".encode()).hexdigest())


def as_trial(run: Run) -> Run:
    """The Run with the same recipe that is scored on its validation rows alone. Raises ValueError for one that learns nothing."""
    assert isinstance(run.probe, Quality)
    return dataclasses.replace(run, probe=dataclasses.replace(run.probe, scores="validation"))


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One recipe and what it scored; null where training diverged or nothing is recorded."""

    recipe: Recipe
    run: Run
    score: float | None
    """The dataset's metric on validation rows."""
    log_loss: float | None


def tried(recipe: Recipe, run: Run, record: Record | None) -> Trial:
    """A trial from its record."""
    found = None if record is None else record.quality.get("validation")
    if record is None or found is None:
        return Trial(recipe=recipe, run=run, score=None, log_loss=None)
    return Trial(recipe=recipe, run=run, score=getattr(found, metric_of(record)), log_loss=found.log_loss)


def metric_of(record: Record) -> Metric:
    """What trials of this dataset are judged by: the metric that its configuration names, else the one its classes call for."""
    named = record.run.dataset.metric
    return record.data.primary_metric if named == "auto" else named


def choose(trials: Sequence[Trial]) -> Trial | None:
    """The highest score; of equals the lower log loss, then the earlier trial. Null where none has a score."""
    scored = [(trial.score, -trial.log_loss, trial) for trial in trials if trial.score is not None and trial.log_loss is not None]
    return max(scored, key=lambda each: each[:2])[2] if scored else None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is tuned as one: a model on a dataset at one reading and budget, with its cells of all seeds."""

    name: str
    """Unique in its sweep and fit for a file name: `labels-movie-bilstm-1000`."""
    cells: tuple[Cell, ...]

    @property
    def first(self) -> Cell:
        """The cell of the lowest seed and draw, whose validation rows judge; one that is not applicable where none is."""
        runs = [cell for cell in self.cells if cell.run is not None and cell.reason is None]
        return min(runs, key=lambda cell: (cell.run.seed, cell.run.budget.draw) if cell.run else (0, 0), default=self.cells[0])


@dataclass(frozen=True, kw_only=True)
class Contest:
    """One entry with the recipes to try and their Runs, the default first; or the reason why it keeps its default."""

    entry: Entry
    space: Space
    tried: tuple[tuple[Recipe, Run], ...]
    reason: str | None

    @property
    def title(self) -> str:
        """What a person calls it."""
        run = self.entry.first.run
        if run is None:
            return " ".join(text for text in self.entry.first.overrides if not text.startswith("seed="))
        return f"{run.dataset.name} · {run.model.name} · {run.longdoc.label} · {run.budget.labels} labels"


def entries(sweep: Sweep) -> list[Entry]:
    """The entries of a sweep in grid order: cells that differ in nothing but seed and draw."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in sweep.cells:
        groups.setdefault(tuple(text for text in cell.overrides if setting_of(text) not in SEEDS), []).append(cell)
    values: dict[str, set[str]] = {}
    for text in itertools.chain(*groups):
        values.setdefault(setting_of(text), set()).add(text)
    varied = {key for key, found in values.items() if len(found) > 1}
    return [Entry(name=_name(sweep, fixed, cells, varied), cells=tuple(cells)) for fixed, cells in groups.items()]


def setting_of(override: str) -> str:
    """The dotted key of a Hydra override, without the sign that adds or takes away."""
    return override.partition("=")[0].lstrip("+~")


def _name(sweep: Sweep, fixed: Sequence[str], cells: Sequence[Cell], varied: set[str]) -> str:
    """Sweep, dataset, model and labels, whether or not they vary, so that a part of a sweep tuned later replaces no other part."""
    values = {setting_of(text): text.partition("=")[2] for text in fixed}
    run, said = next((cell.run for cell in cells if cell.run is not None), None), [sweep.name]
    if run is not None:
        fold = [] if run.dataset.fold is None else [f"fold{run.dataset.fold}"]
        said += [run.dataset.name, *fold, values.get("model", run.model.name), str(run.budget.labels)]
    told = ("dataset", "dataset.name", "dataset.fold", "model", "budget.labels")
    said += [value for key, value in values.items() if key in varied and key not in told]
    return "-".join(re.sub(r"[^\w.]+", "_", part).strip("_") for part in said)


def _settings(plain: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    for key, value in plain.items():
        yield f"{where}.{key}", value
        if isinstance(value, Mapping):
            yield from _settings(value, f"{where}.{key}")
