"""From sweeps and their records to a folder with the page: README.md, index.html, figures and records.csv."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bakeoff.record import Record
from bakeoff.report import figures, frame, trust, view, words
from bakeoff.report.evidence import Outcome, hide_folders, outcomes, read_evidence, write_evidence
from bakeoff.report.summary import Section, Standing, Table, sections
from bakeoff.spec import Run
from bakeoff.store import Store, write_atomically
from bakeoff.sweep import Sweep

__all__ = ["read_evidence", "write_evidence", "write_report"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of one section: its file name under `figures/`, what it shows in a sentence, and the SVG."""

    file: str
    caption: str
    svg: str


def write_report(sweeps: Sequence[Sweep], store: Store, folder: Path, *, command: str) -> Path:
    """Write the page of these sweeps, under the first one's name, and return the path of its README.md.

    `command` is the line that makes this page again. The same records give the same bytes.
    Raises DataError where saved predictions are missing or contradict their record.
    """
    runs = list({run.run_id: run for sweep in sweeps for run in sweep.runs}.values())
    found = [outcome for sweep in sweeps for outcome in outcomes(sweep, store)]
    records = [record for run in runs if (record := store.load(run.run_id)) is not None]
    parts = sections(runs, store)
    drawn = {part.title: figure for part in parts if (figure := _figure(part)) is not None}
    context = _context(sweeps, runs, found, records, parts, command=command) | {"figures": drawn}
    write_atomically(folder / "README.md", _templates().get_template("README.md.j2").render(context))
    write_atomically(folder / "index.html", _templates().get_template("index.html.j2").render(context))
    write_atomically(folder / "records.csv", frame.render(_rows(runs, store, records), "csv") + "\n")
    for figure in drawn.values():
        write_atomically(folder / "figures" / figure.file, figure.svg)
    for old in (folder / "figures").glob("*.svg"):
        if old.name not in {figure.file for figure in drawn.values()}:
            old.unlink()
    return folder / "README.md"


def _context(
    sweeps: Sequence[Sweep],
    runs: Sequence[Run],
    found: Sequence[Outcome],
    records: Sequence[Record],
    parts: Sequence[Section],
    *,
    command: str,
) -> dict[str, Any]:
    return {
        "sweeps": sweeps,
        "paths": [hide_folders(sweep.path) for sweep in sweeps],
        "command": shlex.join(hide_folders(word) for word in shlex.split(command)),
        "answers": [words.answer(part, table) for part in parts for table in part.tables],
        "caution": words.caution(parts),
        "notes": trust.notes(records),
        "warnings": trust.warnings(records, parts),
        "sections": parts,
        "diagnostics": view.diagnostics(runs, records),
        "troubles": view.troubles(runs, found),
        "outcomes": found,
        "counts": f"{len(records)} of {words.count(len(runs), 'Run')}",
        "provenance": trust.provenance(records),
        "scores": {record.run_id: words.percent(record.quality["test"].accuracy) for record in records if "test" in record.quality},
        "reading_guide": words.READING_GUIDE,
        "view": view,
        "words": words,
    }


def _rows(runs: Sequence[Run], store: Store, records: Sequence[Record]) -> list[frame.Row]:
    failures = [failure for run in runs if (failure := store.failure(run.run_id)) is not None]
    return frame.sort_rows([frame.record_row(record) for record in records] + [frame.failure_row(failure) for failure in failures])


def _figure(section: Section) -> Figure | None:
    """Curves where there are several budgets, dots for one; None where only the largest class was scored."""
    order = _order(section)
    lines = [line for key, place in order.items() if (line := _line(section, key, place)) is not None]
    if not lines:
        return None
    metric = words.METRIC_NAMES[section.metric]
    axis = f"{metric[0].upper()}{metric[1:]} on {words.count(section.n_test, 'test row')}, % (bars: 95% intervals)"
    baseline = figures.Baseline(
        labels=tuple(table.n_labels for table in section.tables), scores=tuple(100 * table.baseline for table in section.tables)
    )
    if len(section.tables) > 1:
        ticks = {table.n_labels: f"all {table.n_labels:,}" if table.labels == "all" else f"{table.n_labels:,}" for table in section.tables}
        svg = figures.curves(lines, baseline, ticks=ticks, axis=axis, salt=section.slug)
        caption = f"{section.title}: {metric} against the number of labels."
    else:
        lines.sort(key=lambda line: -line.points[0].mean)
        svg = figures.dots(lines, baseline, axis=axis, salt=section.slug)
        caption = f"{section.title}: {metric} at {words.budget(section.tables[0])}."
    return Figure(file=f"{section.slug}-{section.metric.replace('_', '-')}.svg", caption=caption, svg=svg)


def _order(section: Section) -> dict[str, int]:
    """Candidates by key, in the order of the page's Runs, which fixes colours; without the majority model."""
    keys = dict.fromkeys(candidate.key for candidate in section.candidates.values() if candidate.kind != "majority")
    return {key: place for place, key in enumerate(keys)}


def _line(section: Section, key: str, place: int) -> figures.Line | None:
    standings = [(table, standing) for table in section.tables for standing in table.scored if standing.candidate.key == key]
    if not standings:
        return None
    points = tuple(_point(table, standing) for table, standing in standings)
    return figures.Line(label=standings[0][1].candidate.label, order=place, points=points)


def _point(table: Table, standing: Standing) -> figures.Point:
    estimate = standing.estimate
    assert estimate is not None
    return figures.Point(labels=table.n_labels, mean=100 * estimate.mean, low=100 * estimate.low, high=100 * estimate.high)


def markdown(text: object) -> str:
    """Text that Markdown shows as it is, on one line: names and messages may come from strangers."""
    line = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([\\`*\[\]|~])", r"\\\1", line)
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", line)


def markdown_code(text: object) -> str:
    """Text as a Markdown code span on one line, fit for a table cell."""
    return "`" + " ".join(str(text).split()).replace("`", "'").replace("|", "\\|") + "`"


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"md": markdown, "code": markdown_code, "inline_svg": figures.inline}
    return environment
