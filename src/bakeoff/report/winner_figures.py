"""Figures of the best candidate: where it errs, how far its confidence can be trusted, and each class beside the runner-up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.report import figures
from bakeoff.report.figures import BAR, COLOURS, DASHES, DOT, FAINT, INK, Look
from bakeoff.report.plain import one_line
from bakeoff.report.winner_answers import ConfidenceBin, Curve

_LONGEST_NAME = 26
_CELL_INCHES = 0.42
_DARKEST = 0.6
"""Opacity of a full cell, under which its number can be read on light and on dark pages."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """One class: a difference of recall in points, with its interval."""

    label: str
    mean: float
    low: float
    high: float


def confusion(counts: NDArray[np.int64], names: Sequence[str], *, salt: str) -> str:
    """Shares of each class by what was answered, a row a class; `counts` has shape [classes, classes]."""
    from matplotlib.patches import Rectangle

    size = len(names)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    labels = [shortened(name) for name in names]
    upright = max(map(len, labels)) <= 9
    with figures.style(salt):
        side = _CELL_INCHES * size * (1.6 if size <= 4 else 1.0)
        above = 0.62 if upright else 0.5 + 0.062 * max(map(len, labels))
        height = side + above + 0.1
        left = 0.3
        right = min(0.98, left + side * (1.25 if size <= 4 else 1.12) / figures.WIDTH_INCHES)
        figure, axes = figures.canvas(height_inches=height, axis="", left=left, right=right)
        axes.set_position((left, 0.1 / height, right - left, side / height))
        for row in range(size):
            for column in range(size):
                share = float(shares[row, column])
                axes.add_patch(Rectangle((column, row), 1, 1, facecolor=COLOURS[0], alpha=_DARKEST * share, edgecolor="none", linewidth=0))
                if counts[row, column]:
                    said = f"{100 * share:.0f}" if share >= 0.005 else "<1"
                    weight = "bold" if row == column else "normal"
                    axes.text(column + 0.5, row + 0.5, said, ha="center", va="center", fontsize=8.5, color=INK, fontweight=weight)
        axes.set_xlim(0, size)
        axes.set_ylim(size, 0)
        axes.grid(visible=False)
        for line in range(size + 1):
            axes.axhline(line, color=figures.GRID, linewidth=0.6)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        turned = {} if upright else {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
        axes.set_xticks(np.arange(size) + 0.5, labels=labels, color=INK, **turned)
        axes.set_yticks(np.arange(size) + 0.5, labels=labels, color=INK)
        axes.set_xlabel("answered", labelpad=4)
        axes.set_ylabel("label", labelpad=6)
        axes.tick_params(length=0, pad=3)
        axes.spines[["bottom"]].set_visible(False)
        return figures.as_svg(figure)


def calibration(bins: Sequence[ConfidenceBin], look: Look, *, salt: str) -> str:
    """Accuracy against confidence, in per cent: a spot a bin, as large as its share of answers; the diagonal is perfect."""
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=3.6, axis="Accuracy of answers, %", left=0.065, right=0.6)
        axes.plot([0, 100], [0, 100], color=FAINT, linewidth=1.3, linestyle=DASHES)
        x, y = [100 * one.confidence for one in bins], [100 * one.accuracy for one in bins]
        axes.plot(x, y, color=look["color"], linewidth=1.4)
        for at, up, one in zip(x, y, bins, strict=True):
            axes.plot([at], [up], markersize=4 + 10 * one.share**0.5, linestyle="none", **DOT, **look)
        low = min(100.0 * min(min(one.confidence, one.accuracy) for one in bins), 50.0)
        axes.set_xlim(10 * (low // 10), 102)
        axes.set_ylim(10 * (low // 10), 102)
        axes.set_xlabel("confidence, % (size of a mark: its share of all answers)")
        axes.annotate("as sure as it is right", (100, 100), xytext=(8, -3), textcoords="offset points", color=FAINT, annotation_clip=False)
        return figures.as_svg(figure)


def coverage(curves: Sequence[Curve], look: Look, *, salt: str) -> str:
    """Accuracy on the surest answers against the share of rows answered, a line a seed; 100% to the right answers all."""
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=3.6, axis="Accuracy of the rows that are answered, %", left=0.065, right=0.74)
        for place, curve in enumerate(curves):
            shown = curve.covered >= min(0.05, float(curve.covered[-1]))
            axes.plot(
                100 * curve.covered[shown],
                100 * curve.accuracy[shown],
                color=look["color"],
                linewidth=1.3,
                alpha=0.75,
                linestyle=("-", "--", "-.", ":")[place % 4],
            )
        for curve in curves:
            axes.plot([100 * curve.covered[-1]], [100 * curve.accuracy[-1]], linestyle="none", markersize=6, **DOT, **look)
        axes.set_xlim(0, 103)
        axes.margins(y=0.08)
        axes.set_xlabel("rows answered, the surest first, % (a line a seed)")
        return figures.as_svg(figure)


def recall_gaps(gaps: Sequence[Gap], look: Look, *, axis: str, salt: str) -> str:
    """A dot with its 95% bar for each class, in the order given, about a line at zero."""
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=1.2 + 0.32 * len(gaps), axis=axis, left=0.3, right=0.97)
        axes.axvline(0, color=FAINT, linewidth=1.3, linestyle=DASHES)
        for row, gap in enumerate(gaps):
            axes.plot([gap.low, gap.high], [row, row], color=look["color"], **BAR)
            axes.plot([gap.mean], [row], markersize=7, linestyle="none", **DOT, **look)
        axes.set_ylim(len(gaps) - 0.4, -0.6)
        axes.set_yticks(range(len(gaps)), labels=[shortened(gap.label, longest=_LONGEST_NAME + 14) for gap in gaps], color=INK)
        axes.margins(x=0.06)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.set_xlabel("difference of recall, points (bars: 95% intervals)")
        return figures.as_svg(figure)


def shortened(name: str, *, longest: int = _LONGEST_NAME) -> str:
    """A name on one line, cut where it is too long for a figure."""
    line = one_line(name)
    return line if len(line) <= longest else line[: longest - 1] + "…"
