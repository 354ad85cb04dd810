"""The figure of total cost: a line a candidate from budget to budget, money on a log scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.report import figures
from bakeoff.report.figures import BAR, DOT, Look


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Money spent in all, and the score that it bought, in per cent with its interval."""

    money: float
    score: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Trail:
    """One candidate, budget after budget."""

    label: str
    look: Look
    spent: tuple[Spent, ...]


def trails(lines: Sequence[Trail], *, axis: str, x_axis: str, salt: str) -> str:
    """Score against money, each line labelled where it ends."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=4.0, axis=axis, left=0.065, right=0.74)
        ends = []
        for line in lines:
            for one in line.spent:
                axes.plot([one.money, one.money], [one.low, one.high], color=line.look["color"], **BAR)
            axes.plot(
                [one.money for one in line.spent], [one.score for one in line.spent], linewidth=1.6, markersize=6.5, **DOT, **line.look
            )
            ends.append((line.spent[-1].score, line.spent[-1].money, line.label, line.look["color"]))
        axes.set_xscale("log")
        axes.margins(x=0.06, y=0.08)
        low, high = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 1000 else (1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.set_xticks([], minor=True)
        axes.set_xlabel(x_axis)
        figures.end_labels(axes, ends)
        return figures.as_svg(figure)
