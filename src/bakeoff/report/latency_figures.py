"""Figures of latency in the look of `figures`: against length, against quality, and percentiles by model and engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.report import figures
from bakeoff.report.figures import BAR, DASHES, DOT, FAINT, INK, Look


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """What an answer of one candidate takes by document length; `fit` are the two ends of its fitted power law, if it has one."""

    label: str
    look: Look
    tokens: tuple[float, ...]
    values: tuple[float, ...]
    fit: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Spot:
    """One way to serve a candidate: latency in ms and score in per cent, each with its interval; open where the weights are untrained."""

    label: str
    look: Look
    ms: float
    ms_low: float
    ms_high: float
    score: float
    score_low: float
    score_high: float


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Percentiles of one candidate on one engine, in ms; those with too few samples are left out."""

    label: str
    look: Look
    percentiles: tuple[tuple[str, float], ...]


def scaling(lines: Sequence[Scaling], *, axis: str, salt: str) -> str:
    """What `axis` says against length, both on log scales, the fitted power laws dashed."""
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=4.3, axis=axis, left=0.065, right=0.7)
        ends = []
        for line in lines:
            axes.plot(line.tokens, line.values, linewidth=1.4, markersize=6.5, **DOT, **line.look)
            ends.append((line.values[-1], line.tokens[-1], line.label, line.look["color"]))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis, [value for line in lines for value in line.values])
        lengths = sorted({tokens for line in lines for tokens in line.tokens})
        axes.set_xlim(lengths[0] / 1.25, lengths[-1] * 1.25)
        shown = lengths[(len(lengths) - 1) % 2 :: 2] if len(lengths) > 8 else lengths
        axes.set_xticks(shown, labels=[f"{tokens:,.0f}" for tokens in shown])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("document length in the model's own tokens (log scale)")
        axes.set_ylim(*axes.get_ylim())
        for line in lines:
            if line.fit:
                axes.plot(*zip(*line.fit, strict=True), color=FAINT, linewidth=1.1, linestyle=DASHES, zorder=1)
        figures.end_labels(axes, ends)
        return figures.as_svg(figure)


def front(spots: Sequence[Spot], *, x_axis: str, axis: str, salt: str) -> str:
    """Score against latency (log scale) with both intervals; the dashed steps join what nothing beats on both."""
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=4.3, axis=axis, left=0.065, right=0.99)
        best = pareto(spots)
        axes.step([s.ms for s in best], [s.score for s in best], where="post", color=FAINT, linewidth=1.3, linestyle=DASHES)
        for spot in spots:
            axes.plot([spot.ms_low, spot.ms_high], [spot.score, spot.score], color=spot.look["color"], **BAR)
            axes.plot([spot.ms, spot.ms], [spot.score_low, spot.score_high], color=spot.look["color"], **BAR)
            axes.plot([spot.ms], [spot.score], markersize=7, linestyle="none", **DOT, **spot.look)
        axes.set_xscale("log")
        low, high = min(spot.ms_low for spot in spots), max(spot.ms_high for spot in spots)
        axes.set_xlim(low / (high / low) ** 0.08 / 1.05, high * (high / low) ** 0.4 * 1.3)
        axes.margins(y=0.12)
        _plain_ticks(axes.xaxis, axes.get_xlim())
        axes.set_xlabel(x_axis)
        _name_spots(axes, spots)
        return figures.as_svg(figure)


def percentiles(spreads: Sequence[Spread], *, x_axis: str, salt: str) -> str:
    """A line a candidate and engine from its lowest to its highest percentile (log scale), in the order given."""
    with figures.style(salt):
        figure, axes = figures.canvas(height_inches=1.2 + 0.36 * len(spreads), axis="", left=0.36, right=0.97)
        for row, spread in enumerate(spreads):
            values = [ms for _, ms in spread.percentiles]
            axes.plot([values[0], values[-1]], [row, row], color=spread.look["color"], **BAR)
            for place, (name, ms) in enumerate(spread.percentiles):
                look = spread.look if place == 0 else {"color": spread.look["color"], "marker": "|", "markeredgewidth": 2}
                axes.plot([ms], [row], markersize=7 if place == 0 else 9, linestyle="none", **({**DOT, **look} if place == 0 else look))
                if row == 0:  # above, below, and the last one beside its mark, since they may stand close
                    offset, side = [((0, 9), "center"), ((0, -16), "center"), ((0, 9), "center"), ((8, -3), "left")][place]
                    axes.annotate(name, (ms, row), xytext=offset, textcoords="offset points", ha=side, fontsize=8.5, color=FAINT)
        axes.set_xscale("log")
        axes.set_ylim(len(spreads) - 0.4, -0.9)
        axes.set_yticks(range(len(spreads)), labels=[spread.label for spread in spreads], color=INK)
        axes.margins(x=0.06)
        _plain_ticks(axes.xaxis, axes.get_xlim())
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.set_xlabel(x_axis)
        return figures.as_svg(figure)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a label may stand: which end of it is how far from its spot, in points."""

    side: str
    right: float
    up: float


CLOSE_POINTS = 20
"""A label further from its spot than this is tied to it by a line."""
_BESIDE = ((9, 7, "left"), (-9, 7, "right"), (9, -8, "left"), (-9, -8, "right"), (0, 14, "center"), (0, -15, "center"))
_BELOW = tuple((right, -8 - 13 * step, side) for step in range(1, 12) for right, side in ((16, "left"), (-16, "right")))
_PLACES = tuple(_Place(side=side, right=right, up=up) for right, up, side in (*_BESIDE, *_BELOW))


def pareto(spots: Sequence[Spot]) -> list[Spot]:
    """The spots that no other beats on both latency and score, fastest first."""
    kept: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.ms, -spot.score)):
        if not kept or spot.score > kept[-1].score:
            kept.append(spot)
    return kept


def _plain_ticks(axis: Any, values: Sequence[float]) -> None:
    """1, 2 and 5 of each decade as plain numbers; 1 alone where the values span more than three decades."""
    low, high = min(values), max(values)
    steps = (1,) if high / low > 1000 else (1, 2, 5)
    ticks = [step * 10.0**power for power in range(-4, 7) for step in steps if low / 1.05 <= step * 10.0**power <= high * 1.05]
    axis.set_ticks(ticks, labels=[f"{tick:,.10g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def _name_spots(axes: Any, spots: Sequence[Spot]) -> None:
    """Write each label beside its spot, where it first covers nothing: close by, or else below it at the end of a thin line."""
    points_per_pixel = 72 / axes.figure.dpi
    at = [axes.transData.transform((spot.ms, spot.score)) * points_per_pixel for spot in spots]
    frame = [corner * points_per_pixel for corner in axes.transAxes.transform([(0, 0), (1, 1)])]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in at]
    for spot in spots:
        ends = ((spot.ms, spot.score_low), (spot.ms, spot.score_high), (spot.ms_low, spot.score), (spot.ms_high, spot.score))
        (x, bottom), (_, top), (left, y), (right, _) = (axes.transData.transform(end) * points_per_pixel for end in ends)
        taken += [(x - 2, bottom, x + 2, top), (left, y - 2, right, y + 2)]
    named: set[str] = set()
    for (x, y), spot in zip(at, spots, strict=True):
        if spot.label in named:  # timed in another session too: it lies beside the first
            continue
        named.add(spot.label)
        width, height = 5.4 * len(spot.label), 11.0
        boxes = {}
        for place in _PLACES:
            start = x + place.right - {"left": 0, "right": width, "center": width / 2}[place.side]
            boxes[place] = (start, y + place.up - height / 2, start + width, y + place.up + height / 2)
        (left, bottom), (right, top) = frame
        inside = [at for at, box in boxes.items() if box[0] >= left and box[2] <= right and box[1] >= bottom and box[3] <= top]
        free = [at for at in inside if not any(_overlap(boxes[at], other) for other in taken)]
        place = (free or inside or list(boxes))[0]
        taken.append(boxes[place])
        axes.annotate(
            spot.label,
            (spot.ms, spot.score),
            xytext=(place.right, place.up),
            textcoords="offset points",
            ha=place.side,
            va="center",
            fontsize=9,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.8} if abs(place.up) > CLOSE_POINTS else None,
        )


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
