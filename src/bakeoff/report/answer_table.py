"""Every contender of a choice in one table: score, latency, size, what the rule says of it, and why."""

from bakeoff.report import answer_limits, words
from bakeoff.report.answer import Answered
from bakeoff.report.answer_numbers import folds_decide_nothing, loss_points, megabytes, money, more_needed, open_because, times
from bakeoff.report.blocks import ABSENT, Grid, grid
from bakeoff.report.choice import Choice, Judged, Verdict
from bakeoff.report.plain import one_line

VERDICTS: dict[Verdict, str] = {"best": "best", "as_good": "as good", "worse": "worse", "undecided": "undecided"}
TEXTS = ("candidate", "verdict", "why")


def answer_grid(answered: Answered) -> Grid:
    """The recommended first, then by the rule's verdict and the score."""
    rows = in_order(answered)
    metric = words.METRIC_NAMES[answered.choice.metric]
    totals = [answered.totals.get(each.contender.key) for each in rows]
    spent = [] if answered.currency is None else [(f"labels, training and a million predictions, {answered.currency}", totals)]
    head = time_head(answered.choice)
    columns = [
        ("candidate", [each.contender.label for each in rows]),
        (f"{metric} %", [f"{words.percent(each.estimate.mean)} ({words.span(each.estimate)})" for each in rows]),
        (head, [_time(each, says_length=head == "ms") for each in rows]),
        ("MB", [megabytes(each.contender.bytes) for each in rows]),
        *((name, [ABSENT if one is None else money(one.total) for one in cells]) for name, cells in spent),
        ("verdict", [verdict(each, answered) + _without_a_score(each) for each in rows]),
        ("why", [why(each) for each in rows]),
    ]
    runs = [(*each.contender.run_ids, *([each.contender.timed.run_id] if each.contender.timed else [])) for each in rows]
    return grid(f"Who competes: {answered.field.title}", columns, texts=TEXTS, runs=runs)


def time_head(choice: Choice) -> str:
    """`p95 ms`, or of fixed lengths, whose medians stand in its place, `ms at 1,024 tokens`; each cell says which where they differ."""
    lengths = {each.contender.timed.tokens for each in choice.judged if each.contender.timed is not None}
    if lengths <= {None}:
        return "p95 ms"
    (first, *others) = lengths
    return f"ms at {first:,} tokens" if first is not None and not others else "ms"


def in_order(answered: Answered) -> list[Judged]:
    """Everyone: the recommended, the other feasible by score, then who does not meet the limits, then who was not measured."""
    choice = answered.choice
    place = {"feasible": 1, "infeasible": 2, "not_measured": 3}
    return sorted(choice.judged, key=lambda each: 0 if each is choice.recommended else place[each.feasibility.status])


def verdict(judged: Judged, answered: Answered) -> str:
    """What the rule says of one contender, in a word or two."""
    if judged.verdict is None:
        return "not measured" if judged.feasibility.status == "not_measured" else "misses a limit"
    if judged is answered.choice.recommended and answered.choice.has_enough_seeds:
        return "recommended"
    return VERDICTS[judged.verdict]


def why(judged: Judged) -> str:
    """The number behind the verdict."""
    if judged.verdict is None:
        missed = [answer_limits.missed(miss) for miss in judged.feasibility.misses]
        return "; ".join(([judged.feasibility.lacking] if judged.feasibility.lacking else []) + missed)
    if judged.verdict == "best":
        return "the highest mean"
    if judged.loss is None:
        return open_because(judged)
    cost = f", {said}" if (said := times(judged.saving)) is not None else ""
    low, high = loss_points(judged.loss.low), loss_points(judged.loss.high)
    if judged.verdict == "as_good":
        return f"at most {high} points behind{cost}"
    if judged.verdict == "worse":
        return f"at least {low} points behind{cost}"
    if (said := folds_decide_nothing(judged)) is not None:
        return f"{low} to {high} points behind{cost}; {said}"
    more = more_needed(judged.needed)
    return f"{low} to {high} points behind{cost}" + (f"; {more} would decide" if more else "")


def as_text(found: Grid) -> str:
    """The table for a terminal, in aligned columns."""
    heads, *rows = [[one_line(cell) for cell in line] for line in (found.heads, *found.rows)]
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    lines = []
    for line in (heads, *rows):
        cells = zip(line, widths, found.numeric, strict=True)
        lines.append("  ".join(text.rjust(width) if right else text.ljust(width) for text, width, right in cells).rstrip())
    return "\n".join(lines)


def _without_a_score(judged: Judged) -> str:
    """` (1 collapsed, 2 lost)`: Runs that no mean shows for what they are."""
    counts = judged.contender.counts
    parts = [f"{n} {what}" for n, what in ((counts.collapsed, "collapsed"), (counts.lost, "lost")) if n]
    return f" ({', '.join(parts)})" if parts else ""


def _time(judged: Judged, *, says_length: bool) -> str:
    timed = judged.contender.timed
    if timed is None or timed.p95_ms is None:
        return ABSENT
    spread = "" if timed.low_ms is None else f" ({words.three_digits(timed.low_ms)} to {words.three_digits(timed.high_ms)})"
    length = (" at p95" if timed.tokens is None else f" at {timed.tokens:,} tokens") if says_length else ""
    return f"{words.three_digits(timed.p95_ms)}{spread}{length}{', contended' if timed.contended else ''}"
