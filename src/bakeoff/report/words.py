"""Numbers as people read them, and the sentences that answer first."""

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.report.blocks import ABSENT
from bakeoff.report.stats import Estimate, Metric
from bakeoff.report.summary import Section, Standing, Table
from bakeoff.spec import FLOORS

METRIC_NAMES: dict[Metric, str] = {"accuracy": "accuracy", "macro_f1": "macro-F1"}
FEW_LABELS = 300
MINUS = "−"
READING_GUIDE = (
    "A score is the mean over seeds on the held-out test rows. Seed i is draw i of the labels with initialisation i; "
    "a budget includes validation.",
    "The interval joins the spread between seeds and the sampling of test rows, or of whole groups where rows have them (t with "
    "Satterthwaite degrees of freedom; a bootstrap for macro-F1). It speaks of other draws and other test rows like these, not of data "
    "that drifts.",
    '"To the best" is paired: the same test rows and the seeds that both have. Where its interval holds 0.0, these rows and seeds do '
    "not tell the two apart. Intervals are not corrected for comparing several models, and the best of several looks a little better "
    "than it is.",
    "Collapsed Runs (one answer for every row) are counted and stay in the mean; failed and diverged Runs are counted and have no score.",
)
QUALITY_ALONE = "This page weighs how right the models are. What they cost to serve is not measured here."


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one table says: a bold lead and the sentences behind it."""

    lead: str
    rest: str


def reading_guide(*, timed: bool) -> tuple[str, ...]:
    """How to read the tables of scores, which say so where latency is not measured."""
    return READING_GUIDE if timed else (*READING_GUIDE, QUALITY_ALONE)


def percent(share: float) -> str:
    """A share as per cent with one decimal, without the sign: `77.2`."""
    return signless_zero(f"{100 * share:.1f}")


def points(share: float) -> str:
    """A difference in percentage points, with a true minus or a plus: `−9.1`."""
    text = signless_zero(f"{100 * share:.1f}")
    return MINUS + text[1:] if text.startswith("-") else (text if text == "0.0" else f"+{text}")


def signless_zero(text: str) -> str:
    """`-0.0` is nothing that a reader should wonder about."""
    return text[1:] if text.startswith("-") and float(text) == 0 else text


def three_digits(value: float | None) -> str:
    """A measured size to three digits: `0.412`, `1.23`, `12.3`, `1,234`; a dash for null."""
    if value is None:
        return ABSENT
    if value == 0:
        return "0"
    size = abs(value)
    for below, digits in ((0.01, 5), (0.0995, 4), (0.9995, 3), (9.995, 2), (99.95, 1)):
        if size < below:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def count(n: int, noun: str) -> str:
    """`1 seed`, `3 seeds`, `2,000 test rows`."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def test_rows(section: Section) -> str:
    """`2,000 test rows`, or `2,000 test rows in 150 groups`."""
    groups = "" if section.n_groups is None else f" in {count(section.n_groups, 'group')}"
    return count(section.n_test, "test row") + groups


def listing(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def budget(table: Table) -> str:
    """`1,000 labels`, or `all 8,568 labels`."""
    return ("all " if table.labels == "all" else "") + count(table.n_labels, "label")


def span(estimate: Estimate) -> str:
    """The interval of a score in per cent: `75.1 to 79.3`."""
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def span_points(low: float, high: float) -> str:
    """The interval of a difference in points: `−2.1 to +0.4`."""
    return f"{points(low)} to {points(high)}"


def seeds(standing: Standing) -> str:
    """How many seeds stand behind a score: `3`, or `2 of 3` when some have none."""
    done = len(standing.records)
    return str(done) if done == standing.planned else f"{done} of {standing.planned}"


def seeds_needed(n_labels: int) -> int:
    """From how many seeds a page may recommend."""
    return 10 if n_labels < FEW_LABELS else 5


def answer(section: Section, table: Table) -> Answer:
    """Which candidate scored best at one budget, how sure that is, and how far the floor is."""
    best, others = table.best, table.scored[1:]
    assert best.estimate is not None
    metric = METRIC_NAMES[section.metric]
    lead = f"{section.title}, {budget(table)}: {best.candidate.label} scored best, {percent(best.estimate.mean)}% {metric}"
    about = [f"95% interval {span(best.estimate)}", count(best.estimate.seeds, "seed"), test_rows(section)]
    sentences = [f"({', '.join(about)})."]
    close = [standing for standing in others if standing.to_best is not None and not standing.to_best.excludes_zero]
    if close:
        names = listing([f"{standing.candidate.label} ({_behind(standing)})" for standing in close])
        sentences.append(f"These rows and seeds do not tell it from {names}.")
    elif others:
        floor = "the floor " if others[0].candidate.kind in FLOORS else ""
        sentences.append(f"Next is {floor}{others[0].candidate.label}, {_behind(others[0])}.")
    sentences += _floor(table, said=[*close, *others[: 0 if close else 1]])
    if best.candidate.kind != "majority":
        sentences.append(f"Always answering the largest class scores {percent(table.baseline)}%.")
    return Answer(lead=lead, rest=" ".join(sentences))


def caution(sections: Sequence[Section]) -> Answer | None:
    """Where seeds are too few to recommend; None if they are enough everywhere. Without labels there is nothing to draw."""
    short: list[str] = []
    single = False
    for section in sections:
        for table in section.tables:
            fewest = min(len(standing.records) for standing in table.scored)
            if table.n_labels and fewest < seeds_needed(table.n_labels):
                where = f"for {section.title} " if len(sections) > 1 else ""
                short.append(f"{count(fewest, 'seed')} {where}at {budget(table)}")
                single = single or fewest == 1
    if not short:
        return None
    rest = f"The fewest behind a score: {'; '.join(short)}. It takes 5 seeds, and 10 below {FEW_LABELS} labels."
    if single:
        rest += " With one seed an interval covers the test rows only, not the luck of the draw or of the initialisation."
    return Answer(lead="These are too few seeds to recommend a model.", rest=rest)


def _behind(standing: Standing) -> str:
    gap = standing.to_best
    if gap is None:
        return "on other seeds, so without a paired difference"
    where = "behind" if gap.mean <= 0 else "ahead on the seeds that both have"
    low, high = (-gap.high, -gap.low) if gap.mean <= 0 else (gap.low, gap.high)
    spread = f"{percent(low)} to {percent(high)}".replace("-", MINUS)
    return f"{percent(abs(gap.mean))} points {where}, 95% interval {spread}"


def _floor(table: Table, said: Sequence[Standing]) -> list[str]:
    """The cheapest that learns, as far as it has not been named yet."""
    best = table.best
    if best.candidate.kind in FLOORS:
        costlier = [standing for standing in table.scored if standing.candidate.kind not in FLOORS]
        return [f"{best.candidate.label} is a floor: nothing costlier scored higher here."] if costlier else []
    floors = [standing for standing in table.scored if standing.candidate.kind in FLOORS and standing.candidate.kind != "majority"]
    if not floors or floors[0] in said:
        return []
    return [f"The floor {floors[0].candidate.label} is {_behind(floors[0])}."]
