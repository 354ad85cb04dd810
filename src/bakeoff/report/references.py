"""Which Runs stand behind a number: footnotes of the Markdown, and the lines of cells that HTML links to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bakeoff.report.blocks import Grid
from bakeoff.report.evidence import Outcome
from bakeoff.report.summary import Table


@dataclass(frozen=True, kw_only=True)
class RowRuns:
    """A row's name and the ids of its Runs."""

    name: str
    runs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CellLine:
    """A cell of a sweep as a line of the page; `anchor` is empty where an earlier line has the same Run."""

    outcome: Outcome
    anchor: str


class Footnotes:
    """Collects a document's footnotes in the order in which they are called for."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, rows: Sequence[RowRuns]) -> str:
        """The mark of a new footnote that tells the Runs of these rows; empty without any."""
        said = "; ".join(f"{row.name}: {', '.join(row.runs)}" if row.name else ", ".join(row.runs) for row in rows if row.runs)
        if not said:
            return ""
        self.texts.append(f"Runs: {said}")
        return f"[^{len(self.texts)}]"


def of_table(table: Table) -> list[RowRuns]:
    """The Runs behind each score of a budget's table."""
    return [RowRuns(name=s.candidate.label, runs=tuple(record.run_id for record in s.records)) for s in table.scored]


def of_grid(grid: Grid) -> list[RowRuns]:
    """The Runs behind each row of a block's table, called by their first cell."""
    if len(set(grid.runs)) == 1:
        return [RowRuns(name="", runs=grid.runs[0])]
    return [RowRuns(name=row[0], runs=runs) for row, runs in zip(grid.rows, grid.runs, strict=True)] if grid.runs else []


def of_runs(runs: Sequence[str]) -> list[RowRuns]:
    """The Runs behind a figure."""
    return [RowRuns(name="", runs=tuple(runs))] if runs else []


def cell_lines(outcomes: Iterable[Outcome]) -> list[CellLine]:
    """The cells, each Run with one anchor."""
    seen: set[str] = set()
    lines = []
    for outcome in outcomes:
        run_id = outcome.cell.run.run_id if outcome.cell.run else ""
        lines.append(CellLine(outcome=outcome, anchor="" if run_id in seen else run_id))
        seen.add(run_id)
    return lines
