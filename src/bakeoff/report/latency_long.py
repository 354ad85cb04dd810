"""The part of a page about long documents: seconds, tokens processed and memory by length, and how fast they grow."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.record import GridPoint
from bakeoff.report import latency_figures, latency_view, words
from bakeoff.report.blocks import ABSENT, Block, Figure, Grid, grid
from bakeoff.report.figures import look_of
from bakeoff.report.latency_figures import Scaling
from bakeoff.report.timing import Fit, Session, Timing, fit

LINEAR_UP_TO = 1.1
"""A cost whose exponent is at most this grows linearly with length, for what a page says."""
FROM_TOKENS = (512, 4096)
"""Where a fit begins: at the whole long grid, and at the lengths at which what a call costs whatever its length is small."""
HOW = (
    "Documents of fixed length, made of words of the dataset, one a call, from raw text to label. Each model is warmed up at its shortest "
    "length; then lengths take turns in random order, a turn being an untimed call and timed ones, at least {least} timed calls a length. "
    "Tokens processed are those that pass through the model, with what windows share counted each time. Memory is the largest resident "
    "size of a process with this model alone, its code and weights included, during one more call (on a GPU, what it holds there).",
)
EXPLAINED = (
    "The exponent is that of seconds = a · tokens^b, by least squares on logarithms, over the lengths from 512 tokens, and beside it from "
    "4,096, up to the longest. At 1 twice the length takes twice as long, at 2 four times; up to {most:g} is called linear here. Below 1 "
    "what a call costs whatever its length, such as padding to a whole window, still shows."
)


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How one candidate's time grows with length."""

    timing: Timing
    whole: Fit | None
    """Over the lengths from 512 tokens up; None with too few of them."""
    long: Fit | None
    """Over those from 4,096 tokens up."""

    @property
    def name(self) -> str:
        """The candidate and how it reads: `bilstm · windows-256-64 mean_logits`."""
        reading = self.timing.record.run.longdoc.label
        return self.timing.label if reading in self.timing.label else f"{self.timing.label} · {reading}"

    @property
    def tokens(self) -> int:
        """The longest document that was timed."""
        return _known(self.timing, _seconds)[-1][0]

    @property
    def seconds(self) -> float:
        """What that one takes."""
        return _known(self.timing, _seconds)[-1][1]

    @property
    def peak_memory_mb(self) -> float | None:
        """What that one takes; None where it is not known."""
        return dict(_known(self.timing, lambda point: point.peak_memory_mb)).get(self.tokens)

    @property
    def word(self) -> str:
        """`linear` or `faster than linear`, by the whole range; a dash without a fit."""
        if self.whole is None:
            return ABSENT
        return "linear" if self.whole.exponent <= LINEAR_UP_TO else "faster than linear"


def growths(session: Session) -> list[Growth]:
    """How each candidate timed on long generated documents grows, in seconds a document."""
    found = []
    for timing in session.long_grids:
        points = [(float(tokens), seconds) for tokens, seconds in _known(timing, _seconds)]
        if points:
            whole, long = (fit(points, from_tokens=first) for first in FROM_TOKENS)
            found.append(Growth(timing=timing, whole=whole, long=long))
    return found


def blocks(session: Session, places: Mapping[str, int]) -> list[Block]:
    """The block of a session that timed long generated documents; none for another. `places` fix colours by candidate key."""
    found = growths(session)
    if not found:
        return []
    least = min(point.n_samples for growth in found for point in growth.timing.facts.grid if point.p50_ms is not None)
    drawn = [_figure(session, found, places, cost) for cost in _COSTS]
    return [
        Block(
            heading=f"Cost against length: {session.title}{' (contended)' if session.contended else ''}",
            level=3,
            paragraphs=(f"Machine: {session.machine}.", *(text.format(least=least) for text in HOW)),
            warnings=() if session.timings or session.grids else tuple(latency_view.alarms(session)),
            figures=tuple(figure for figure in drawn if figure is not None),
            grids=(growth_grid(session, found), cost_grid(session, found)),
            notes=(EXPLAINED.format(most=LINEAR_UP_TO), *latency_view.untimed_lengths(session.long_grids)),
        )
    ]


def growth_grid(session: Session, found: Sequence[Growth]) -> Grid:
    """Exponents of growth by candidate, and whether that is linear."""
    timings = [growth.timing for growth in found]
    columns = [
        *latency_view.identity_columns(timings),
        ("weights", [timing.weights for timing in timings]),
        ("exponent from 512", [_exponent(growth.whole) for growth in found]),
        ("exponent from 4,096", [_exponent(growth.long) for growth in found]),
        ("up to tokens", [f"{_known(timing, _seconds)[-1][0]:,}" for timing in timings]),
        ("growth", [growth.word for growth in found]),
        ("MB more a 1,000 tokens", [_memory_slope(timing) for timing in timings]),
    ]
    texts = ("model", "reading", "precision", "engine", "weights", "growth")
    return grid(f"Growth with length, {session.title}", columns, texts=texts, runs=_runs(timings))


def cost_grid(session: Session, found: Sequence[Growth]) -> Grid:
    """Seconds, tokens processed and peak memory, a row a candidate and length."""
    cells = [(growth.timing, point) for growth in found for point in growth.timing.facts.grid if point.p50_ms is not None]
    timings = [timing for timing, _ in cells]
    points = [point for _, point in cells]
    columns = [
        *latency_view.identity_columns(timings),
        ("tokens", [f"{point.tokens:,}" for point in points]),
        ("seconds", [_seconds_cell(point) for point in points]),
        ("tokens processed", [ABSENT if point.tokens_processed is None else f"{point.tokens_processed:,}" for point in points]),
        ("peak memory MB", [ABSENT if point.peak_memory_mb is None else f"{point.peak_memory_mb:,.0f}" for point in points]),
        ("timed calls", [f"{point.n_samples:,}" for point in points]),
    ]
    texts = ("model", "reading", "precision", "engine")
    return grid(f"Cost by length, {session.title}", columns, texts=texts, runs=_runs(timings))


def _figure(session: Session, found: Sequence[Growth], places: Mapping[str, int], cost: "_Cost") -> Figure | None:
    lines = []
    for growth in found:
        points, law = _known(growth.timing, cost.value), growth.whole if cost.fitted else None
        if points:
            lines.append(
                Scaling(
                    label=growth.timing.label + ("" if law is None else f", exponent {law.exponent:.2f}"),
                    look=look_of(places[growth.timing.candidate.key]),
                    tokens=tuple(float(tokens) for tokens, _ in points),
                    values=tuple(value for _, value in points),
                    fit=() if law is None else tuple((tokens, law.ms(tokens)) for tokens in (law.first_tokens, law.last_tokens)),
                )
            )
    if not lines:
        return None
    name = f"{cost.file}-{session.slug}"
    svg = latency_figures.scaling(lines, axis=f"{cost.axis} (log scale)", salt=name)
    runs = tuple(growth.timing.record.run_id for growth in found)
    return Figure(file=f"{name}.svg", caption=f"{session.title}: {cost.caption}.", svg=svg, runs=runs)


def _known(timing: Timing, value: Callable[[GridPoint], float | None]) -> list[tuple[int, float]]:
    """(tokens, value) of the lengths that were timed and have one, shortest first."""
    timed = [(point.tokens, value(point)) for point in timing.facts.grid if point.p50_ms is not None]
    return sorted((tokens, found) for tokens, found in timed if found is not None)


def _seconds(point: GridPoint) -> float | None:
    return None if point.p50_ms is None else point.p50_ms / 1000


@dataclass(frozen=True, kw_only=True)
class _Cost:
    """What a figure shows by length."""

    file: str
    axis: str
    caption: str
    value: Callable[[GridPoint], float | None]
    fitted: bool


_COSTS = (
    _Cost(
        file="long-seconds",
        axis="Median seconds a document",
        caption="median time by length; dashed, the fitted power laws",
        value=_seconds,
        fitted=True,
    ),
    _Cost(
        file="long-memory",
        axis="Peak memory of the process, MB",
        caption="peak memory of a process with the model alone, by length",
        value=lambda point: point.peak_memory_mb,
        fitted=False,
    ),
)


def _seconds_cell(point: GridPoint) -> str:
    text = words.three_digits(_seconds(point))
    if point.interval is None:
        return text
    return f"{text} ({words.three_digits(point.interval.low / 1000)} to {words.three_digits(point.interval.high / 1000)})"


def _exponent(law: Fit | None) -> str:
    return ABSENT if law is None else f"{law.exponent:.2f}"


def _memory_slope(timing: Timing) -> str:
    """What a longer document adds, between the shortest and the longest."""
    points = _known(timing, lambda point: point.peak_memory_mb)
    if len(points) < 2:
        return ABSENT
    (short, low), (long, high) = points[0], points[-1]
    return words.three_digits(1000 * (high - low) / (long - short))


def _runs(timings: Sequence[Timing]) -> list[tuple[str, ...]]:
    return [(timing.record.run_id,) for timing in timings]
