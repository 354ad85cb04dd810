"""`bakeoff choose`: the recommended candidate under limits, from records alone."""

import json
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from bakeoff.errors import ConfigError, DataError
from bakeoff.report import costs, trust
from bakeoff.report.answer import Answered, Unanswered, answer, answer_or_why, by_machine, questions
from bakeoff.report.answer_plain import Rerun, plain
from bakeoff.report.answer_table import answer_grid, as_text
from bakeoff.report.answer_words import say
from bakeoff.report.candidates import candidates
from bakeoff.report.choice import Field, Limits
from bakeoff.report.costs import Prices
from bakeoff.report.evidence import Outcome, is_evidence, outcomes, read_evidence, timing_commands
from bakeoff.report.field import field_of
from bakeoff.report.ledger import select
from bakeoff.report.plain import one_line
from bakeoff.report.selection import answers as records_of
from bakeoff.report.store_cache import ReadOnce
from bakeoff.store import Store, default_root
from bakeoff.sweep import Sweep

WIDTH = 110

Found = Sequence[Answered | Unanswered]


def choose(
    files: Sequence[Path], pairs: Sequence[str], *, limits: Limits, format: Literal["text", "json"], filters: Mapping[str, str]
) -> str:
    """What the command prints: an answer a dataset (and machine). Raises BakeoffError where there is nothing to choose from.

    With sweep files `pairs` are their overrides; without, `filters` are equality filters on the columns of `bakeoff records`.
    """
    store = ReadOnce(default_root())
    if files:
        found, lines = _of_sweeps(files, list(pairs), store, limits)
    else:
        found, lines = _of_store(store, limits, filters)
    if len(found) == 1 and isinstance(found[0], Unanswered):
        raise DataError(found[0].reason)
    if format == "json":
        answers = [plain(one, lines) | {"warnings": _warnings(one, store)} for one in found]
        return json.dumps(answers, indent=2, ensure_ascii=False, allow_nan=False)
    return "\n\n\n".join(_text(one, _warnings(one, store)) for one in found)


def parse_limits(*, labels: str | None, min_recall: Sequence[str], **given: Any) -> Limits:
    """Limits as typed. Raises ConfigError for one that means nothing."""
    if labels is not None and labels != "all" and not (labels.isascii() and labels.isdigit()):
        raise ConfigError(f"--labels {labels} should be a whole number or all")
    recalls: dict[str, float] = {}
    for text in min_recall:
        name, _, least = text.rpartition("=")
        try:
            recalls[name] = float(least)
        except ValueError:
            name = ""
        if not name:
            raise ConfigError(f"--min-recall {text} should be CLASS=SHARE, for example spam=0.9")
    try:
        return Limits(labels=int(labels) if labels not in (None, "all") else labels, min_recall=recalls, **given)
    except ValueError as wrong:
        raise ConfigError(str(wrong)) from None


def _of_sweeps(files: Sequence[Path], overrides: list[str], store: Store, limits: Limits) -> tuple[Found, Rerun]:
    from bakeoff import config
    from bakeoff.commands.report import recorded_sweeps

    sweeps = recorded_sweeps(files, overrides, store) if is_evidence(store) else [config.load_sweep(file, overrides) for file in files]
    runs = list({run.run_id: run for sweep in sweeps for run in sweep.runs}.values())
    records = list({record.run_id: record for given in records_of(runs, store).values() for record in given}.values())
    outcome = [one for sweep in sweeps for one in outcomes(sweep, store)]
    asked = questions(
        records,
        store,
        limits,
        failures=[failure for run in runs if (failure := store.failure(run.run_id)) is not None],
        planned=runs,
        commands=timing_commands(outcome),
        known=candidates([*runs, *(record.run for record in records)]),
    )
    if not asked:
        lines = " and ".join(shlex.join(["bakeoff", "sweep", sweep.path, *overrides]) for sweep in sweeps)
        raise DataError(f"no record of {', '.join(sweep.name for sweep in sweeps)} has a score to choose by: bake some with {lines}")
    prices = _prices(limits)
    return [answer_or_why(question, limits, prices=prices) for question in asked], _rerun(store, outcome)


def _of_store(store: Store, limits: Limits, filters: Mapping[str, str]) -> tuple[Found, Rerun]:
    prices = _prices(limits)
    sweeps: Sequence[Sweep] = read_evidence(store).sweeps if is_evidence(store) else ()
    outcome = [one for sweep in sweeps for one in outcomes(sweep, store)]
    lines = timing_commands(outcome)
    try:
        found = _of_dataset(store, limits, filters, lines, prices)
    except DataError:
        names = _datasets(store, filters)
        if len(names) < 2:
            raise
        found = [one for name in names for one in _or_why(store, limits, {**filters, "dataset": name}, lines, prices)]
    return found, _rerun(store, outcome)


def _or_why(
    store: Store, limits: Limits, filters: Mapping[str, str], lines: Mapping[str, str], prices: Prices | None
) -> list[Answered | Unanswered]:
    try:
        return _of_dataset(store, limits, filters, lines, prices)
    except DataError as reason:
        return [Unanswered(title=filters["dataset"], reason=str(reason))]


def _of_dataset(
    store: Store, limits: Limits, filters: Mapping[str, str], lines: Mapping[str, str], prices: Prices | None
) -> list[Answered | Unanswered]:
    """One answer a machine. Raises DataError where nothing, or more than one dataset, is left."""
    known = {limits.labels: select(store, limits, wanted=filters)}

    def fields(under: Limits) -> Field:
        if under.labels not in known:
            known[under.labels] = select(store, under, wanted=filters)
        return field_of(known[under.labels], store, under, commands=lines)

    selected = known[limits.labels]
    title = next(record.run.dataset.name for record in selected.records)
    return [answer(question, limits, prices=prices) for question in by_machine(title, selected, fields, limits)]


def _datasets(store: Store, filters: Mapping[str, str]) -> list[str]:
    """Names of the datasets of every record, or the one that the filters name."""
    if "dataset" in filters or "dataset_fingerprint" in filters:
        return []
    return sorted({record.run.dataset.name for record in store.load_all()})


def _prices(limits: Limits) -> Prices | None:
    if limits.price_per_label is None:
        return None
    from bakeoff.commands.report import prices_file

    return costs.read_prices(prices_file())


def _rerun(store: Store, found: Sequence[Outcome]) -> Rerun:
    """The line of a Run's cell, else of the `run.yaml` in its folder, else none."""
    lines = {one.cell.run.run_id: one.command for one in reversed(found) if one.cell.run is not None}

    def line(run_id: str) -> str | None:
        if run_id in lines or not (store.folder(run_id) / "run.yaml").is_file():
            return lines.get(run_id)
        here, folder = Path.cwd(), store.folder(run_id)
        place = folder.relative_to(here) if folder.is_relative_to(here) else folder
        return shlex.join(["bakeoff", "run", "--config-dir", str(place), "--config-name", "run"])

    return line


def _warnings(one: Answered | Unanswered, store: Store) -> list[str]:
    """What makes the records behind an answer less than one clean experiment."""
    if isinstance(one, Unanswered):
        return []
    records = [record for run_id in one.field.run_ids if (record := store.load(run_id)) is not None]
    return trust.warnings(records, [])


def _text(one: Answered | Unanswered, warnings: Sequence[str]) -> str:
    said = say(one)
    parts = [_wrapped(f"{said.lead} {said.rest}"), *(_wrapped(f"{point.lead} {point.rest}") for point in said.points)]
    parts += [_wrapped(f"Warning: {warning}") for warning in warnings]
    if isinstance(one, Answered):
        parts.append(as_text(answer_grid(one)))
    if said.commands:
        parts.append("\n".join(["To measure what is not measured:", *(f"  {one_line(command)}" for command in said.commands)]))
    return "\n\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(one_line(text), WIDTH, break_long_words=False, break_on_hyphens=False)
