"""`bakeoff choose`: the recommended candidate under limits, from records alone."""

import json
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from bakeoff.errors import ConfigError, DataError
from bakeoff.record import Record
from bakeoff.report import costs, frame, guards, trust, words
from bakeoff.report.answer import Answered, Unanswered, answer_or_why, by_machine, questions
from bakeoff.report.answer_plain import Rerun, plain
from bakeoff.report.answer_table import answer_grid, as_text
from bakeoff.report.answer_words import say
from bakeoff.report.candidates import candidates
from bakeoff.report.choice import Field, Limits
from bakeoff.report.costs import Prices
from bakeoff.report.evidence import Outcome, is_evidence, outcomes, read_evidence, timing_commands
from bakeoff.report.field import field_of
from bakeoff.report.ledger import Seen, Selected, look, select
from bakeoff.report.plain import one_line
from bakeoff.report.selection import answers as records_of
from bakeoff.report.store_cache import ReadOnce
from bakeoff.store import Store, default_root
from bakeoff.sweep import Sweep

WIDTH = 110

Found = Sequence[Answered | Unanswered]


def choose(
    files: Sequence[Path],
    pairs: Sequence[str],
    *,
    limits: Limits,
    format: Literal["text", "json"],
    filters: Mapping[str, str],
    allow_dirty: bool = False,
) -> str:
    """What the command prints: an answer a dataset (and machine). Raises BakeoffError where there is nothing to choose from.

    With sweep files `pairs` are their overrides; without, `filters` are equality filters on the columns of `bakeoff records`.
    """
    store = ReadOnce(default_root())
    if files:
        (found, lines), left_out = _of_sweeps(files, list(pairs), store, limits), 0
    else:
        found, lines, left_out = _of_store(store, limits, filters)
    if not allow_dirty:
        found = [_of_clean_code(one, store) for one in found]
    if isinstance(found[0], Unanswered) and all(isinstance(one, Unanswered) for one in found):
        raise DataError(found[0].reason)
    if format == "json":
        answers = [plain(one, lines) | {"warnings": _warnings(one, store, left_out)} for one in found]
        return json.dumps(answers, indent=2, ensure_ascii=False, allow_nan=False)
    return "\n\n\n".join(_text(one, _warnings(one, store, left_out)) for one in found)


def parse_limits(*, labels: str | None, min_recall: Sequence[str], **given: Any) -> Limits:
    """Limits as typed. Raises ConfigError for one that means nothing."""
    if labels is not None and labels != "all" and not (labels.isascii() and labels.isdigit()):
        raise ConfigError(f"--labels {labels} should be a whole number or all")
    recalls: dict[str, float] = {}
    for text in min_recall:
        name, _, least = text.rpartition("=")
        if name in recalls:
            raise ConfigError(f"--min-recall names {name} twice: give one share for each class")
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
    guards.refuse_unreadable(runs, store)
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


def _of_store(store: Store, limits: Limits, filters: Mapping[str, str]) -> tuple[Found, Rerun, int]:
    """The answers, the lines that bake again, and how many records nobody can read here."""
    prices = _prices(limits)
    sweeps: Sequence[Sweep] = read_evidence(store).sweeps if is_evidence(store) else ()
    outcome = [one for sweep in sweeps for one in outcomes(sweep, store)]
    lines = timing_commands(outcome)
    frame.filter_rows([], filters)
    seen = look(store)
    found, left_out = list[Answered | Unanswered](), seen.of_other_versions
    for name in seen.datasets(filters):
        try:
            wanted = {**filters, "dataset": name}
            selected = select(store, limits, wanted=wanted, seen=seen)
            left_out += selected.left_out
            found += _of_dataset(store, limits, wanted, seen, selected=selected, lines=lines, prices=prices)
        except DataError as reason:
            found.append(Unanswered(title=name, reason=str(reason)))
    if not found:
        select(store, limits, wanted=filters, seen=seen)  # which says what is missing
    return found, _rerun(store, outcome), left_out


def _of_dataset(
    store: Store,
    limits: Limits,
    wanted: Mapping[str, str],
    seen: Seen,
    *,
    selected: Selected,
    lines: Mapping[str, str],
    prices: Prices | None,
) -> list[Answered | Unanswered]:
    """One answer a machine."""
    known = {limits.labels: selected}

    def fields(under: Limits) -> Field:
        if under.labels not in known:
            known[under.labels] = select(store, under, wanted=wanted, seen=seen)
        return field_of(known[under.labels], store, under, commands=lines)

    title = next(record.run.dataset.name for record in selected.records)
    return [answer_or_why(question, limits, prices=prices) for question in by_machine(title, selected, fields, limits)]


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


def _of_clean_code(one: Answered | Unanswered, store: Store) -> Answered | Unanswered:
    """The answer, unless code with uncommitted changes made a record behind it."""
    try:
        guards.refuse_dirty(_records(one, store))
    except DataError as reason:
        title = one.title if isinstance(one, Unanswered) else one.field.title
        return Unanswered(title=title, reason=str(reason))
    return one


def _warnings(one: Answered | Unanswered, store: Store, left_out: int) -> list[str]:
    """What makes the records behind an answer less than one clean experiment, and what is none of them for it cannot be read."""
    if isinstance(one, Unanswered):
        return []
    passed_over = f"{words.count(left_out, 'record')} of another version {'was' if left_out == 1 else 'were'} left out."
    return [*trust.warnings(_records(one, store), []), *([passed_over] if left_out else [])]


def _records(one: Answered | Unanswered, store: Store) -> list[Record]:
    ids = () if isinstance(one, Unanswered) else one.field.run_ids
    return [record for run_id in ids if (record := store.load(run_id)) is not None]


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
