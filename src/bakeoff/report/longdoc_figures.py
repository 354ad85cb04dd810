"""Figures of ways to read: scores by length of the document, and scores against the time a document takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.report import figures
from bakeoff.report.figures import BAR, DASHES, DOT, FAINT, INK, Look, look_of

NARROW_INCHES = 5.4
"""Narrower than other figures, so that words stay readable on a phone."""
_ROW_INCHES = 0.52


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A score in per cent with its interval, on the documents of one slice."""

    part: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way to read: its name, and its scores by slice, in the order of lengths."""

    label: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, kw_only=True)
class Spot:
    """One way to read: seconds a document and the score in per cent with its interval; only some are named in the figure."""

    model: str
    label: str
    seconds: float
    score: float
    low: float
    high: float


def by_slice(rows: Sequence[Row], *, axis: str, salt: str) -> str:
    """A line a reading, with a mark for each slice of documents, one below the other; shorter documents above."""
    parts = list(dict.fromkeys(mark.part for row in rows for mark in row.marks))
    looks = {part: look_of(place) for place, part in enumerate(parts)}
    height = 1.25 + _ROW_INCHES * len(rows)
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=height, axis=axis, left=0.42, right=0.98)
        figure.set_size_inches(NARROW_INCHES, height)
        step = 0.66 / max(len(parts) - 1, 1)
        for place, row in enumerate(rows):
            if place % 2:
                axes.axhspan(place - 0.5, place + 0.5, color=figures.GRID, alpha=0.3, linewidth=0)
            for mark in row.marks:
                at = place + step * (parts.index(mark.part) - (len(parts) - 1) / 2)
                axes.plot([mark.low, mark.high], [at, at], color=looks[mark.part]["color"], **BAR)
                axes.plot([mark.mean], [at], markersize=6, linestyle="none", **DOT, **looks[mark.part])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), labels=[row.label for row in rows], color=INK)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.set_title(axis, loc="right", color=FAINT, fontsize=9.5, pad=8)
        axes.set_title("", loc="left")
        _legend(axes, looks, below_inches=0.3, height=height)
        return figures.as_svg(figure)


def against_seconds(spots: Sequence[Spot], *, named: Sequence[Spot], axis: str, salt: str) -> str:
    """Score against seconds a document (log scale), a colour and marker a model; bars on those named.

    The dashed steps join what nothing beats on both.
    """
    models = list(dict.fromkeys(spot.model for spot in spots))
    looks = {model: look_of(place) for place, model in enumerate(models)}
    height = 4.4
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=height, axis=axis, left=0.08, right=0.62)
        figure.set_size_inches(NARROW_INCHES, height)
        best = unbeaten(spots)
        axes.step([s.seconds for s in best], [s.score for s in best], where="post", color=FAINT, linewidth=1.3, linestyle=DASHES)
        for spot in named:
            axes.plot([spot.seconds, spot.seconds], [spot.low, spot.high], color=looks[spot.model]["color"], **BAR)
        for spot in spots:
            axes.plot([spot.seconds], [spot.score], markersize=7, linestyle="none", **DOT, **looks[spot.model])
        axes.set_xscale("log")
        low, high = min(spot.seconds for spot in spots), max(spot.seconds for spot in spots)
        room = (high / low) ** 0.06 * 1.1
        axes.set_xlim(low / room, high * room)
        ticks = [10.0**power for power in range(-7, 4) if low / room <= 10.0**power <= high * room]
        axes.set_xticks(ticks, labels=[f"{tick:,.10g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("seconds a document (log scale)")
        axes.margins(y=0.1)
        figures.end_labels(axes, [(spot.score, spot.seconds, spot.label, looks[spot.model]["color"]) for spot in named])
        _legend(axes, looks, below_inches=0.48, height=height)
        return figures.as_svg(figure)


def unbeaten(spots: Sequence[Spot]) -> list[Spot]:
    """The spots that no other beats on both seconds and score, fastest first."""
    kept: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.seconds, -spot.score)):
        if not kept or spot.score > kept[-1].score:
            kept.append(spot)
    return kept


def _legend(axes: Any, looks: dict[str, Look], *, below_inches: float, height: float) -> None:
    """What colours and markers mean, under the axes."""
    from matplotlib.lines import Line2D

    known: list[dict[str, Any]] = [{**DOT, **look} for look in looks.values()]
    marks = [Line2D([], [], linestyle="none", markersize=7, **look) for look in known]
    plot = height - 0.87
    axes.legend(
        marks,
        list(looks),
        loc="upper left",
        bbox_to_anchor=(0, -below_inches / plot),
        ncols=2,
        frameon=False,
        handletextpad=0.3,
        columnspacing=1.2,
        borderaxespad=0,
    )
