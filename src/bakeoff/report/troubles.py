"""What has no score or a doubtful one: signs of trouble, and cells without an answer, folds and seeds together."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bakeoff.record import Record
from bakeoff.report import words
from bakeoff.report.candidates import candidates, model_name
from bakeoff.report.evidence import Outcome, hide_folders
from bakeoff.report.summary import on_test
from bakeoff.spec import Latency, Quality, Run
from bakeoff.sweep import Sweep

STATUS_NAMES = {"failed": "failed", "diverged": "diverged", "missing": "not run", "not_applicable": "not applicable"}
MOST_LISTED = 50
"""Above so many cells that are not run, a page has a line a model that bakes them instead of one a cell."""
_FOLD = "dataset.fold="


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Cells that share a status and a reason, folds and seeds named together."""

    what: str
    status: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class _Alike:
    """What cells of one line share; `dataset` is empty where the configuration made no Run of them."""

    dataset: str
    what: str
    status: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where one of them stands; null where it has none."""

    fold: int | str | None
    seed: int | None
    reading: str | None = None


def diagnostics(runs: Sequence[Run], records: Iterable[Record]) -> list[Trouble]:
    """Signs of trouble in quality Runs that have a score; the majority model shows them by definition."""
    known = candidates(runs)
    grouped: dict[tuple[str, str], dict[int, str]] = {}
    for record in records:
        if not isinstance(record.run.probe, Quality) or record.run.model.kind == "majority" or record.status != "ok":
            continue
        signs: dict[str, str] = {diagnostic.code: diagnostic.message for diagnostic in record.training.diagnostics}
        if "test" in record.quality and on_test(record).collapsed:
            signs.setdefault("collapsed", "one class was predicted for every test row")
        for code, message in signs.items():
            fold = _folds([str(record.run.dataset.fold)] if record.run.dataset.fold is not None else [])
            key = (f"{record.run.dataset.name}{fold} · {_what(record.run, known[record.run_id].label)}", code.replace("_", " "))
            grouped.setdefault(key, {})[record.run.seed] = message
    rows = []
    for (what, code), messages in grouped.items():
        alike = len(set(messages.values())) == 1
        reason = next(iter(messages.values())) if alike else "; ".join(f"seed {seed}: {text}" for seed, text in sorted(messages.items()))
        rows.append(Trouble(what=_with_seeds(what, list(messages)), status=code, reason=reason))
    return rows


def troubles(runs: Sequence[Run], found: Iterable[Outcome]) -> list[Trouble]:
    """Cells without an answer, with the reason, folds and seeds together; readings too, of those not run where these are many."""
    known, outcomes = candidates(runs), list(found)
    grouped: dict[_Alike, list[_Place]] = {}
    many = _are_many(outcomes)
    for outcome in outcomes:
        if outcome.status == "ok":
            continue
        run, status, reason = outcome.cell.run, STATUS_NAMES[outcome.status], outcome.reason or ""
        if run is not None:
            # A cell that its data refused is no Run of the page, and so has no name that tells candidates apart.
            candidate, brief = known.get(run.run_id), many and outcome.status == "missing"
            what = _what(run, model_name(run) if candidate is None else candidate.name if brief else candidate.label)
            alike = _Alike(dataset=run.dataset.name, what=what, status=status, reason=reason)
            place = _Place(fold=run.dataset.fold, seed=None if _untrained(run) else run.seed, reading=run.longdoc.label if brief else None)
        else:
            overrides = [hide_folders(override) for override in outcome.cell.overrides if not override.startswith("seed=")]
            fold = next((override.partition("=")[2] for override in overrides if override.startswith(_FOLD)), None)
            what, place = " ".join(each for each in overrides if not each.startswith(_FOLD)), _Place(fold=fold, seed=None)
            alike = _Alike(dataset="", what=what, status=status, reason=reason)
        grouped.setdefault(alike, []).append(place)
    order = list(STATUS_NAMES.values())
    rows = [Trouble(what=_named(alike, places), status=alike.status, reason=alike.reason) for alike, places in grouped.items()]
    return sorted(rows, key=lambda row: order.index(row.status))


def listed(found: Sequence[Outcome]) -> list[Outcome]:
    """The cells that have a line each: all, but for those not run where these are many."""
    return [outcome for outcome in found if outcome.status != "missing"] if _are_many(found) else list(found)


def lines_to_bake(sweeps: Sequence[Sweep], found: Sequence[Outcome], *, overrides: Sequence[str]) -> list[str]:
    """Where many cells are not run, a command for each sweep and model that bakes those; none where `listed` has them all.

    `found` are the outcomes of the sweeps' cells, in order, and `overrides` what the sweeps were composed with.
    """
    if not _are_many(found):
        return []
    rest, lines = iter(found), []
    for sweep in sweeps:
        missing: dict[str, int] = {}
        for _, outcome in zip(sweep.cells, rest, strict=False):
            if outcome.status == "missing":
                model = next((override for override in outcome.cell.overrides if override.startswith("model=")), "")
                missing[model] = missing.get(model, 0) + 1
        for model, n in missing.items():
            more = [model] if model and not any(override.startswith("model=") for override in overrides) else []
            line = shlex.join(["bakeoff", "sweep", *map(hide_folders, (sweep.path, *overrides, *more))])
            lines.append(f"{line}  # {words.count(n, 'Run')}")
    return lines


def _are_many(found: Sequence[Outcome]) -> bool:
    return sum(outcome.status == "missing" for outcome in found) > MOST_LISTED


def _what(run: Run, label: str) -> str:
    labels = "all" if run.budget.labels == "all" else f"{run.budget.labels:,}"
    what = [label]
    if isinstance(run.probe, Latency):
        what.append(f"latency on {run.probe.device}, {words.count(run.probe.threads, 'thread')}, {run.probe.engine.replace('_', ' ')}")
        by_length = {"grid": ", by length", "long_grid": ", by length up to 32,768 tokens"}.get(run.probe.lengths, "")
        what.append(f"{run.probe.scenario}{by_length}")
    return " · ".join(what if _untrained(run) else [*what, f"{labels} labels"])


def _untrained(run: Run) -> bool:
    """Whether labels and seed are no part of the question."""
    return isinstance(run.probe, Latency) and run.probe.weights == "untrained"


def _named(alike: _Alike, places: Sequence[_Place]) -> str:
    """The cells by what they share, with their folds and seeds, and their number where folds are several."""
    folds = sorted({str(place.fold) for place in places if place.fold is not None})
    if not alike.dataset:
        return alike.what + (f" {_FOLD}{','.join(folds)}" if folds else "")
    seeds = sorted({place.seed for place in places if place.seed is not None})
    readings = list(dict.fromkeys(place.reading for place in places if place.reading is not None))
    read = f" · {'reading' if len(readings) == 1 else 'readings'} {', '.join(readings)}" if readings else ""
    named = _with_seeds(f"{alike.dataset}{_folds(folds)} · {alike.what}{read}", seeds)
    return f"{named} · {words.count(len(set(places)), 'Run')}" if readings or len(folds) > 1 else named


def _folds(folds: Sequence[str]) -> str:
    return f", {'fold' if len(folds) == 1 else 'folds'} {', '.join(folds)}" if folds else ""


def _with_seeds(what: str, seeds: Sequence[int]) -> str:
    if not seeds:
        return what
    return f"{what} · {'seed' if len(seeds) == 1 else 'seeds'} {', '.join(str(seed) for seed in sorted(seeds))}"
