"""The pictures of claims as SVG, in the look of every figure: lines over an axis, and matrices."""

import math
from collections.abc import Sequence
from typing import Any

from bakeoff.claims.pictures import Heatmap, Lines, Picture, Series
from bakeoff.report import figures
from bakeoff.report.figures import BAR, COLOURS, DOT, FAINT, INK
from bakeoff.report.plain import one_line

MOST_TICKS = 10
MOST_MARKERS = 30
"""A line of more points has none of them marked."""
MOST_NAMES = 32
"""A matrix with more rows names some of them only."""
DARKEST = 0.8
"""How much of its colour the largest number of a matrix gets, so that ink on it can be read."""


def picture(shown: Picture, *, salt: str) -> str:
    """The SVG of a picture; the same numbers and `salt` give the same bytes."""
    return lines(shown, salt=salt) if isinstance(shown, Lines) else heatmap(shown, salt=salt)


def lines(shown: Lines, *, salt: str) -> str:
    """Lines, each labelled where it ends, with bars for intervals; what is not finite, or has no logarithm, is left out."""
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=4.3, axis=one_line(shown.y_label), left=0.09, right=0.74)
        axes.set_xscale("log" if shown.log_x else "linear")
        axes.set_yscale("log" if shown.log_y else "linear")
        ends = []
        for place, series in enumerate(shown.series):
            points = _points(shown, series)
            look = figures.look_of(place)
            for x, low, high in _bars(shown, series):
                axes.plot([x, x], [low, high], color=look["color"], **BAR)
            marked = {"marker": look["marker"], "markersize": 6} if len(points) <= MOST_MARKERS else {}
            if points:
                xs, ys = zip(*points, strict=True)
                axes.plot(xs, ys, color=look["color"], linewidth=1.8, **DOT, **marked)
                ends.append((ys[-1], xs[-1], one_line(series.label), look["color"]))
        axes.margins(x=0.03, y=0.08)
        drawn = [point for series in shown.series for point in _points(shown, series)]
        _ticks(axes.xaxis, log=shown.log_x, values=[x for x, _ in drawn], named=True)
        _ticks(axes.yaxis, log=shown.log_y, values=[y for _, y in drawn], named=False)
        axes.set_xlabel(one_line(shown.x_label) + (" (log scale)" if shown.log_x else ""))
        figures.end_labels(axes, ends)
        return figures.as_svg(figure)


def heatmap(shown: Heatmap, *, salt: str) -> str:
    """A matrix whose cells are the darker the larger their number; small ones have the numbers written in them."""
    from matplotlib.patches import Rectangle

    n_rows, n_columns = len(shown.rows), len(shown.columns)
    written = n_rows <= 16 and n_columns <= 16
    most = max((value for row in shown.values for value in row if math.isfinite(value)), default=0.0)
    with figures.style(salt):
        side = min(0.42, 5.2 / max(n_columns, 1))
        height = max(1.6, n_rows * min(side, 5.2 / max(n_rows, 1))) + 1.3
        figure, axes = figures.canvas(
            height_inches=height, axis="", left=0.2, right=0.2 + min(0.78, n_columns * side / figures.WIDTH_INCHES)
        )
        axes.grid(visible=False)
        for y, row in enumerate(shown.values):
            for x, value in enumerate(row):
                share = value / most if most > 0 and math.isfinite(value) else 0.0
                if share > 0.004:  # lighter cannot be told from the paper
                    cell = Rectangle((x, y), 1, 1, facecolor=COLOURS[0], alpha=round(DARKEST * min(share, 1.0), 3), linewidth=0)
                    axes.add_patch(cell)
                if written:
                    axes.text(x + 0.5, y + 0.5, _short(value), ha="center", va="center", fontsize=6.5, color=INK)
        axes.set_xlim(0, max(n_columns, 1))
        axes.set_ylim(max(n_rows, 1), 0)
        for axis, names in ((axes.xaxis, shown.columns), (axes.yaxis, shown.rows)):
            step = math.ceil(len(names) / MOST_NAMES) or 1
            chosen = range(0, len(names), step)
            axis.set_ticks([i + 0.5 for i in chosen], labels=[one_line(names[i]) for i in chosen])
        axes.tick_params(axis="x", rotation=90, labeltop=True, labelbottom=False)
        axes.tick_params(labelsize=8, labelcolor=FAINT)
        axes.spines["bottom"].set_visible(False)
        return figures.as_svg(figure)


def _points(shown: Lines, series: Series) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(series.x, series.y, strict=True) if _drawn(x, log=shown.log_x) and _drawn(y, log=shown.log_y)]


def _bars(shown: Lines, series: Series) -> list[tuple[float, float, float]]:
    if not series.low:
        return []
    found = zip(series.x, series.low, series.high, strict=True)
    return [bar for bar in found if _drawn(bar[0], log=shown.log_x) and all(_drawn(end, log=shown.log_y) for end in bar[1:])]


def _drawn(value: float, *, log: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not log)


def _ticks(axis: Any, *, log: bool, values: Sequence[float], named: bool) -> None:
    """Numbers as people write them, no small ticks between; `named`: on a log axis of few values at these."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    different = sorted(set(values))
    if log:
        axis.set_minor_locator(NullLocator())
        if named and 0 < len(different) <= MOST_TICKS:
            axis.set_ticks(different)
        elif different and different[-1] < 100 * different[0]:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    elif different and all(value == round(value) for value in different):
        axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _tick(value: float) -> str:
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−", 1 if value < 0 else 0)
    return f"{value:,.10g}".replace("-", "−")


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if math.isfinite(value) and value < 9.995 else f"{value:.0f}"
