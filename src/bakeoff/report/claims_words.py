"""Answers of claims as people read them."""

import math

from bakeoff.claims.claim import Answer, Cell, Interval
from bakeoff.claims.stored import Stored
from bakeoff.report import words
from bakeoff.report.blocks import ABSENT

EXACT = "exact"


def number(value: Cell) -> str:
    """A cell or figure in few digits: `0.401`, `0.0034`, `77.82`, `1,234`, `1.1e-7`; a dash for what is not there, ∞ without a bound."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}".replace("-", words.MINUS)
    if not math.isfinite(value):
        return ABSENT if math.isnan(value) else "∞" if value > 0 else f"{words.MINUS}∞"
    size = abs(value)
    if size != 0 and (size < 1e-3 or size >= 1e7):
        mantissa, _, exponent = f"{size:.2g}".partition("e")
        text = f"{mantissa}e{int(exponent)}" if exponent else mantissa
    elif size >= 1000:
        text = f"{size:,.0f}"
    else:
        place = math.floor(math.log10(size)) if size else 0
        text = f"{size:.{max(0, 3 - place) if place >= 0 else max(3, 1 - place)}f}" if size else "0"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return words.MINUS + text if value < 0 and float(text.replace(",", "")) != 0 else text


def with_unit(value: float, unit: str) -> str:
    """`3.2×`, `1.4 points`, `0.802`."""
    return f"{number(value)}{'' if not unit or unit.startswith(('×', '%')) else ' '}{unit}"


def figure(answer: Answer) -> str:
    """The figure of an answer; a dash where it was not measured."""
    return ABSENT if answer.figure is None else with_unit(answer.figure, answer.unit)


def interval(answer: Answer) -> str:
    """The 95% interval of an answer's figure, in its unit."""
    if answer.interval is not None:
        return span(answer.interval)
    return ABSENT if answer.figure is None else EXACT


def span(found: Interval) -> str:
    """`1.2 to 3.4`."""
    return f"{number(found.low)} to {number(found.high)}"


def detectable(answer: Answer) -> str | None:
    """The smallest difference that a design could have seen; None where it is not told."""
    return None if answer.detectable is None else with_unit(answer.detectable, answer.unit)


def said(answer: Answer) -> words.Answer:
    """The verdict and what was seen; for what is open or does not hold also the smallest difference that could have been seen."""
    lead = {
        "holds": "It holds.",
        "does not hold": "It does not hold.",
        "inconclusive": "Inconclusive: what was measured does not settle the rule.",
        "cannot be tested here": "It cannot be tested here.",
    }[answer.verdict]
    seen = f"Seen instead: {answer.seen}" if answer.verdict == "does not hold" else answer.seen
    rest = seen if seen.endswith((".", "!", "?")) else f"{seen}."
    smallest = detectable(answer)
    if smallest is not None and answer.verdict in ("does not hold", "inconclusive"):
        rest += f" The smallest difference that this design could have seen is {smallest}."
    return words.Answer(lead=lead, rest=rest)


def where(stored: Stored) -> str:
    """When, in which form and on which machine an answer was measured."""
    took = "under a second" if stored.seconds < 1 else f"{stored.seconds:,.0f} s"
    if stored.recorded:
        took += f" beside what {words.count(stored.recorded, 'Run')} took that had been baked before"
    return f"{stored.measured_at}, {stored.size} form, in {took}, on {stored.machine}"


def code(stored: Stored) -> str:
    """The code that judged."""
    commit = "no commit (an installed package)" if stored.commit is None else stored.commit[:12]
    return f"{commit}, with uncommitted changes" if stored.dirty else commit


def command(stored: Stored) -> str:
    """What measures it again."""
    return f"bakeoff claims {stored.name}" + (" --size full" if stored.size == "full" else "")
