"""What both templates print alike: headings, paragraphs, figures and tables of texts."""

from collections.abc import Sequence
from dataclasses import dataclass

ABSENT = "–"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: its file name under `figures/`, what it shows in a sentence, and the SVG."""

    file: str
    caption: str
    svg: str
    runs: tuple[str, ...] = ()
    """The Runs that it was drawn from."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of texts; a cell of a numeric column may carry its interval in brackets behind it."""

    name: str
    """What it holds, for those who hear the page."""
    heads: tuple[str, ...]
    numeric: tuple[bool, ...]
    """Which columns stand to the right."""
    rows: tuple[tuple[str, ...], ...]
    runs: tuple[tuple[str, ...], ...] = ()
    """The Runs behind each row; empty where the page tells them elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A stretch of the page under one heading."""

    heading: str
    level: int
    paragraphs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    """Lines for a shell, printed together."""


def grid(name: str, columns: Sequence[tuple[str, Sequence[str]]], *, texts: Sequence[str], runs: Sequence[tuple[str, ...]] = ()) -> Grid:
    """A Grid from columns of equal length, each a head and its cells; the heads in `texts` hold words, the others numbers.

    `runs` are the ids behind each row.

    A column of numbers with nothing but dashes is left out: what was not measured for anybody needs no column.
    """
    kept = [(head, cells) for head, cells in columns if head in texts or any(cell not in (ABSENT, "") for cell in cells)]
    return Grid(
        name=name,
        heads=tuple(head for head, _ in kept),
        numeric=tuple(head not in texts for head, _ in kept),
        rows=tuple(zip(*(cells for _, cells in kept), strict=True)),
        runs=tuple(runs),
    )
