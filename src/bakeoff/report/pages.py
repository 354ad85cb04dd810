"""From sweeps and their records to a folder with the page: README.md, index.html, figures and records.csv."""

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.record import Record
from bakeoff.report import elsewhere, figures, frame, guards, latency_words, references, troubles, trust, view, words
from bakeoff.report.answer_limits import options
from bakeoff.report.candidates import candidates
from bakeoff.report.charts import section_figure
from bakeoff.report.costs import Prices
from bakeoff.report.equivalents import equivalent_blocks
from bakeoff.report.evidence import Outcome, hide_folders, outcomes, timing_commands
from bakeoff.report.first_section import first_section
from bakeoff.report.latency_blocks import latency_blocks
from bakeoff.report.limits import Limits
from bakeoff.report.longdoc_blocks import longdoc_blocks
from bakeoff.report.references import Footnotes
from bakeoff.report.selection import answers
from bakeoff.report.store_cache import ReadOnce
from bakeoff.report.summary import Section, sections
from bakeoff.report.templating import templates
from bakeoff.report.timing import Session, sessions
from bakeoff.report.total_cost import total_cost_blocks
from bakeoff.report.tuning_blocks import tuning_blocks
from bakeoff.report.winner_view import Texts, winner_blocks
from bakeoff.spec import Run
from bakeoff.store import Store, write_atomically
from bakeoff.sweep import Sweep

NO_LIMITS = Limits()


def write_report(
    sweeps: Sequence[Sweep],
    store: Store,
    folder: Path,
    *,
    overrides: Sequence[str] = (),
    prices: Prices | None = None,
    limits: Limits = NO_LIMITS,
    texts: Texts | None = None,
) -> Path:
    """Write the page of these sweeps, under the first one's name, and return the path of its README.md.

    `overrides` are what the sweeps were composed with, for the commands that the page prints; without `prices` no money is
    told. The answer is that under `limits`. With `texts`, test texts by dataset fingerprint and row id, the page shows
    mistakes and says that it contains data. The same records give the same bytes. Raises DataError where saved predictions
    are missing or contradict their record.
    """
    store = store if isinstance(store, ReadOnce) else ReadOnce(store.root)
    runs = list({run.run_id: run for sweep in sweeps for run in sweep.runs}.values())
    found = [outcome for sweep in sweeps for outcome in outcomes(sweep, store)]
    answered = answers(runs, store)
    records = list({record.run_id: record for given in answered.values() for record in given}.values())
    parts = sections(runs, store)
    timed = sessions(records, candidates([*runs, *(record.run for record in records)]))
    drawn = {part.title: figure for part in parts if (figure := section_figure(part)) is not None}
    measured = latency_blocks(parts, timed, store, commands=timing_commands(found), prices=prices)
    judged = [*equivalent_blocks(parts), *winner_blocks(parts, store, texts=texts)]
    spent = total_cost_blocks(parts, timed, prices)
    blocks = [*judged, *longdoc_blocks(parts, store), *tuning_blocks(parts, runs, store), *measured, *spent]
    context = _context(sweeps, runs, found, answered, parts, timed, overrides=overrides, prices=prices, limits=limits)
    known, lines = candidates([*runs, *(record.run for record in records)]), timing_commands(found)
    context["first"] = first_section(parts, runs, records, store, known=known, commands=lines, limits=limits, prices=prices)
    if parts:
        context["provenance"] |= {"Tuning": guards.tuning(runs, store)}
    context |= {"figures": drawn, "blocks": blocks, "contains_data": texts is not None}
    write_atomically(folder / "README.md", templates().get_template("README.md.j2").render(context | {"footnote": Footnotes()}))
    write_atomically(folder / "index.html", templates().get_template("index.html.j2").render(context))
    rows = _rows(runs, store, records)
    write_atomically(folder / "records.csv", frame.render(rows, "csv") + "\n")
    frame.write_parquet(rows, folder / "records.parquet")
    every = [*drawn.values(), *(figure for block in blocks for figure in block.figures)]
    for figure in every:
        write_atomically(folder / "figures" / figure.file, figures.with_runs(figure.svg, figure.runs))
    for old in (folder / "figures").glob("*.svg"):
        if old.name not in {figure.file for figure in every}:
            old.unlink()
    return folder / "README.md"


def _context(
    sweeps: Sequence[Sweep],
    runs: Sequence[Run],
    found: Sequence[Outcome],
    answered: Mapping[str, Sequence[Record]],
    parts: Sequence[Section],
    timed: Sequence[Session],
    *,
    overrides: Sequence[str],
    prices: Prices | None,
    limits: Limits,
) -> dict[str, Any]:
    records = [record for given in answered.values() for record in given]
    paths = [sweep.path for sweep in sweeps]
    return {
        "sweeps": sweeps,
        "bake_commands": [_command("sweep", path, *overrides) for path in paths],
        "command": _command("report", *paths, *overrides, *options(limits)),
        "answers": [words.answer(part, table) for part in parts for table in part.tables] + latency_words.answers(timed),
        "caution": words.caution(parts),
        "notes": trust.notes(records),
        "warnings": trust.warnings(records, parts),
        "sections": parts,
        "diagnostics": troubles.diagnostics(runs, records),
        "troubles": troubles.troubles(runs, found),
        "lines_to_bake": troubles.lines_to_bake(sweeps, found, overrides=overrides),
        "cells": references.cell_lines(troubles.listed(found)),
        "counts": f"{sum(map(bool, answered.values()))} of {words.count(len(runs), 'Run')}",
        "provenance": trust.provenance(records),
        "scores": {
            run_id: words.percent(given[0].quality["test"].accuracy)
            for run_id, given in answered.items()
            if given and "test" in given[0].quality
        },
        "medians": {
            run_id: words.three_digits(given[0].latency.p50_ms) for run_id, given in answered.items() if given and given[0].latency
        },
        "reading_guide": words.reading_guide(timed=bool(timed)),
        "notes_of": partial(elsewhere.table_notes, currency=None if prices is None else prices.currency),
        "view": view,
        "references": references,
        "words": words,
    }


def _command(*words: str) -> str:
    return shlex.join(["bakeoff", *map(hide_folders, words)])


def _rows(runs: Sequence[Run], store: Store, records: Sequence[Record]) -> list[frame.Row]:
    failures = [failure for run in runs if (failure := store.failure(run.run_id)) is not None]
    return frame.sort_rows([frame.record_row(record) for record in records] + [frame.failure_row(failure) for failure in failures])
