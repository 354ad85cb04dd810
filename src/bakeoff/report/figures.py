"""Figures as SVG text: one look for all, safe for the colour-blind and for print, the same bytes each time.

Text stays text, colours come with a marker each, and lines are labelled where they end.
"""

import html
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.report.plain import visible

INK, FAINT, GRID, PAPER = "#1f2328", "#656d76", "#d8dee4", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#b58900", "#3fa7d6", "#8c564b")
"""After Okabe and Ito (2008), without yellow and black, which vanish on light or dark pages."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "path.simplify": False,
    "text.parse_math": False,
}
DASHES = (0, (4, 3))
BAR: dict[str, Any] = {"linewidth": 2.4, "alpha": 0.45, "solid_capstyle": "butt"}
DOT: dict[str, Any] = {"markeredgecolor": PAPER, "markeredgewidth": 0.8}
WIDTH_INCHES = 7.4
_LABEL_GAP = 0.058
"""Least distance of two labels, as a share of the plot's height."""


Look = dict[str, str]
"""Colour and marker, as Matplotlib takes them."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A score with its interval, in per cent, at a number of labels."""

    labels: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Line:
    """One candidate: its label and its points by number of labels; `order` fixes colour and marker on a page."""

    label: str
    order: int
    points: tuple[Point, ...]

    @property
    def look(self) -> Look:
        """Colour and marker of its place."""
        return look_of(self.order)


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What always answering the largest class scores, in per cent, by number of labels."""

    labels: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Span:
    """How far along a score, in per cent, it is from one number of labels to another; open where that is only a bound."""

    score: float
    first: float
    last: float
    is_open: bool
    said: str


def look_of(place: int) -> Look:
    """Colour and marker of the candidate at a place; a colour that comes round again has another marker."""
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[(place + place // len(MARKERS)) % len(MARKERS)]}


def curves(lines: Sequence[Line], baseline: Baseline, *, ticks: dict[int, str], axis: str, salt: str, span: Span | None = None) -> str:
    """The metric against the number of labels (log scale), a line a candidate with 95% bars; `ticks` names the budgets."""
    with style(salt):
        figure, axes = canvas(height_inches=4.3, axis=axis, left=0.065, right=0.74)
        places = label_places(ticks)
        low, high = min(places.values()), max(places.values())
        dodge = (high / low) ** 0.012
        at_labels = [places[labels] for labels in baseline.labels]
        axes.plot(at_labels, baseline.scores, color=FAINT, linewidth=1.3, linestyle=DASHES)
        ends = [(baseline.scores[-1], float(at_labels[-1]), "largest class", FAINT)]
        for place, line in enumerate(lines):
            shift = dodge ** (place - (len(lines) - 1) / 2)
            x = [places[point.labels] * shift for point in line.points]
            for at, point in zip(x, line.points, strict=True):
                axes.plot([at, at], [point.low, point.high], color=line.look["color"], **BAR)
            axes.plot(x, [point.mean for point in line.points], linewidth=1.8, markersize=6.5, **DOT, **line.look)
            ends.append((line.points[-1].mean, x[-1], line.label, line.look["color"]))
        if span is not None:
            ends_at = high * dodge**2 if span.is_open else span.last
            axes.plot([span.first, ends_at], [span.score, span.score], color=INK, linewidth=1.1, linestyle=(0, (1, 2)))
            axes.plot([ends_at], [span.score], color=INK, marker=">" if span.is_open else "|", markersize=7 if span.is_open else 10)
            middle = (span.first * ends_at) ** 0.5
            axes.annotate(span.said, (middle, span.score), xytext=(0, 4), textcoords="offset points", ha="center", fontsize=8.5, color=INK)
        axes.set_xscale("log")
        axes.set_xlim(low / (high / low) ** 0.06, high * (high / low) ** 0.05)
        axes.set_xticks([places[labels] for labels in ticks], labels=list(ticks.values()))
        axes.set_xticks([], minor=True)
        apart = "; 0 stands apart" if 0 in ticks else ""
        axes.set_xlabel(f"labels spent, validation included (log scale{apart})")
        axes.margins(y=0.08)
        end_labels(axes, ends)
        return as_svg(figure)


def label_places(budgets: Collection[int]) -> dict[int, float]:
    """Where each number of labels stands on the log scale: 0, which has no logarithm, a usual step before the smallest."""
    some = sorted(n for n in budgets if n > 0)
    step = (some[-1] / some[0]) ** (1 / (len(some) - 1)) if len(some) > 1 else 10.0
    places: dict[int, float] = {n: n for n in some}
    return places | ({0: some[0] / step} if 0 in budgets and some else {})


def dots(lines: Sequence[Line], baseline: Baseline, *, axis: str, salt: str) -> str:
    """One budget: a dot with a 95% bar for each candidate, in the order given, and the baseline as a vertical line."""
    with style(salt):
        figure, axes = canvas(height_inches=1.15 + 0.36 * len(lines), axis=axis, left=0.3, right=0.97)
        axes.axvline(baseline.scores[0], color=FAINT, linewidth=1.3, linestyle=DASHES)
        for row, line in enumerate(lines):
            (point,) = line.points
            axes.plot([point.low, point.high], [row, row], color=line.look["color"], **BAR)
            axes.plot([point.mean], [row], markersize=7, linestyle="none", **DOT, **line.look)
            axes.annotate(f"{point.mean:.1f}", (point.mean, row), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8.5)
        axes.set_ylim(len(lines) - 0.4, -0.75)
        axes.set_yticks(range(len(lines)), labels=[line.label for line in lines], color=INK)
        axes.margins(x=0.08)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        foot = (baseline.scores[0], 0)
        axes.annotate("largest class", foot, xycoords=("data", "axes fraction"), xytext=(4, 4), textcoords="offset points", color=FAINT)
        return as_svg(figure)


def inline(svg: str, *, name: str) -> str:
    """An SVG for the inside of a page: no prologue, no fixed size or ids of its own, colours that follow the page's theme."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="(?:figure|axes|patch|line2d|text|matplotlib\.axis|xtick|ytick|LineCollection|PathCollection)_\d+"', "", svg)
    width = float(re.search(r'viewBox="0 0 ([0-9.]+)', svg)[1])  # type: ignore[index]
    svg = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", svg)
    svg = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", svg)
    said = f'<svg role="img" aria-label="{html.escape(visible(name))}" style="max-width: {width / 12:.1f}rem"'
    svg = said + svg.removeprefix("<svg")
    for colour, variable in ((INK, "ink"), (FAINT, "faint"), (GRID, "line"), (PAPER, "paper")):
        svg = svg.replace(colour, f"var(--{variable})")
    for place, colour in enumerate(COLOURS):
        svg = svg.replace(colour, f"var(--series-{place})")
    return svg.strip()


def style(salt: str) -> Any:
    """Matplotlib's defaults under this module's look, whatever the user's own settings; `salt` makes ids in the SVG repeat."""
    import matplotlib.style

    return matplotlib.style.context(["default", _STYLE | {"svg.hashsalt": salt}])


def canvas(*, height_inches: float, axis: str, left: float, right: float) -> tuple[Any, Any]:
    """A figure and its axes, `left` and `right` as shares of the width, with the y axis named above them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height_inches))
    top, bottom = 1 - 0.32 / height_inches, 0.55 / height_inches
    axes = figure.add_axes((left, bottom, right - left, top - bottom))
    axes.set_title(axis, loc="left", color=FAINT, fontsize=9.5, pad=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0, pad=6)
    axes.grid(visible=True, axis="y")
    axes.set_axisbelow(True)
    return figure, axes


def end_labels(axes: Any, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write each line's label to the right of the plot, moved apart where they would overlap; an end is (y, x, label, colour)."""
    low, high = (axes.transData.transform((1, y))[1] for y in axes.get_ylim())
    ends = sorted(ends)
    places = [(axes.transData.transform((1, end[0]))[1] - low) / (high - low) for end in ends]
    for _ in range(200):
        for i in range(1, len(places)):
            overlap = places[i - 1] + _LABEL_GAP - places[i]
            if overlap > 1e-9:
                places[i - 1] -= overlap / 2
                places[i] += overlap / 2
    for (score, x, label, colour), place in zip(ends, places, strict=True):
        axes.annotate(
            label,
            xy=(x, score),
            xytext=(1.035, place),
            textcoords="axes fraction",
            va="center",
            color=FAINT if colour == FAINT else INK,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.9, "shrinkA": 2, "shrinkB": 4, "alpha": 0.8},
        )


def as_svg(figure: Any) -> str:
    """The figure as SVG text without a date or a maker."""
    out = io.StringIO()
    unsaid = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(out, format="svg", bbox_inches="tight", pad_inches=0.08, metadata=unsaid)
    # str.splitlines would also split at characters that names may hold.
    return "\n".join(visible(line.rstrip()) for line in out.getvalue().split("\n")).rstrip("\n") + "\n"


def with_runs(svg: str, runs: Sequence[str]) -> str:
    """The SVG with the ids of the Runs that it was drawn from as its description."""
    if not runs:
        return svg
    said = html.escape(f"Drawn from the Runs {' '.join(runs)}")
    return re.sub(r"(<svg\b[^>]*>)", lambda start: f"{start[1]}\n <desc>{said}</desc>", svg, count=1)
