"""The numbers of an answer as people read them: scores, times, sizes, money, and what would decide."""

from bakeoff.report import words
from bakeoff.report.blocks import ABSENT
from bakeoff.report.choice import Contender, Judged, Needed, Saving, Scale
from bakeoff.report.words import percent, three_digits

SCALES: dict[Scale, str] = {"p50_ms": "median latency", "ratio": "median latency", "flops": "arithmetic", "bytes": "size"}


def score(judged: Judged) -> str:
    """`77.1%`."""
    return f"{percent(judged.estimate.mean)}%"


def seeds(contender: Contender) -> str:
    """`5 seeds`, or `5 seeds on 2 draws of labels`."""
    runs = words.count(min(len(answers.seeds) for answers in contender.folds), "seed")
    return runs if not contender.repeats_draws else f"{runs} on {words.count(contender.seeds, 'draw')} of labels"


def speed(judged: Judged) -> str | None:
    """`18.8 ms at the 95th percentile (18.2 to 19.4)`, and whether the session was disturbed; None where it was not timed."""
    timed = judged.contender.timed
    if timed is None:
        return None
    value, name = (timed.p50_ms, "at the median") if timed.p95_ms is None else (timed.p95_ms, "at the 95th percentile")
    if timed.tokens is not None:
        name = f"at the median with {timed.tokens:,} tokens"
    if value is None:
        return None
    spread = "" if timed.low_ms is None else f" ({three_digits(timed.low_ms)} to {three_digits(timed.high_ms)})"
    disturbed = ", in a session that other processes disturbed" if timed.contended else ""
    return f"{three_digits(value)} ms {name}{spread}{disturbed}"


def more_needed(needed: Needed | None) -> str | None:
    """`1,200 more test rows or 4 more draws`; None where neither alone would do."""
    if needed is None:
        return None
    units = needed.units.removesuffix("s")
    ways = [words.count(needed.more_units, f"more {units}")] if needed.more_units is not None else []
    ways += [words.count(needed.more_draws, "more draw")] if needed.more_draws is not None else []
    return " or ".join(ways) or None


def folds_decide_nothing(judged: Judged) -> str | None:
    """`with 5 folds only a larger pool decides`; None on one test set."""
    folds = judged.loss.estimate.folds if judged.loss is not None else None
    return None if folds is None else f"with {words.count(folds, 'fold')} only a larger pool decides"


def open_because(judged: Judged) -> str:
    """Why more rows would not decide: `one seed in common with the best`."""
    return f"{(judged.why_undecided or '').removesuffix(' in common')} in common with the best"


def times(saving: Saving | None) -> str | None:
    """`0.041 times the median latency`."""
    if saving is None or saving.share is None or saving.scale is None:
        return None
    share = "under 0.001" if saving.share < 0.001 else three_digits(saving.share)
    return f"{share} times the {SCALES[saving.scale]}"


def money(value: float | None) -> str:
    """An amount with two digits behind the point: `100.01`, `under 0.01`; a dash for null."""
    if value is None:
        return ABSENT
    return "under 0.01" if 0 < value < 0.01 else f"{value:,.2f}"


def megabytes(size: int | None) -> str:
    """The size of files in MB: `90.3`, `under 0.01`; a dash for null."""
    return "under 0.01" if size is not None and size < 10_000 else three_digits(None if size is None else size / 1e6)


def loss_points(share: float) -> str:
    """A loss in points, with a true minus where it is a gain: `9.5`."""
    return words.points(share).removeprefix("+")
