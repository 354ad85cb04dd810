"""Limits and budgets as people say them."""

import math
from dataclasses import fields

from bakeoff.report import words
from bakeoff.report.choice import Field, Limits, Miss
from bakeoff.report.words import METRIC_NAMES


def budget(field: Field) -> str:
    """`1,000 labels`, `all 8,568 labels`, or `no labels`."""
    if field.labels == 0:
        return "no labels"
    return ("all " if field.labels == "all" else "") + words.count(field.n_labels, "label")


def stated(limits: Limits, field: Field) -> list[str]:
    """Every limit but the budget, in the order of the command's options."""
    found = []
    if limits.max_p95_ms is not None:
        found.append(f"p95 at most {limits.max_p95_ms:g} ms on {_device(limits, field)}")
    if limits.engine is not None:
        found.append(f"engine {limits.engine.replace('_', ' ')}")
    if limits.min_accuracy is not None:
        found.append(f"accuracy at least {share(limits.min_accuracy)}")
    if limits.max_size_mb is not None:
        found.append(f"at most {limits.max_size_mb:g} MB")
    if limits.tokens_p95 is not None:
        found.append(f"documents of {limits.tokens_p95:,} tokens at the 95th percentile")
    found += [f"recall of {name} at least {share(least)}" for name, least in limits.min_recall.items()]
    if limits.metric is not None:
        found.append(f"by {METRIC_NAMES[limits.metric]}")
    if limits.margin_points != 1.0:
        found.append(f"margin {limits.margin_points:g} points")
    return found


def options(limits: Limits) -> list[str]:
    """The words of a command that state these limits, none for what is as it is without being stated."""
    unset = Limits()
    found = []
    for field in fields(limits):
        value = getattr(limits, field.name)
        option = "--" + {"margin_points": "margin"}.get(field.name, field.name).replace("_", "-")
        if field.name == "min_recall":
            found += [word for name, least in limits.min_recall.items() for word in (option, f"{name}={least:g}")]
        elif value != getattr(unset, field.name):
            found += [option, f"{value:g}" if isinstance(value, float) else str(value)]
    return found


def missed(miss: Miss) -> str:
    """Which limit was missed, by the bound that was held against it: `p95 may be 18.9 ms, above 10`."""
    if miss.limit == "max_p95_ms":
        return f"p95 may be {words.three_digits(miss.bound)} ms, above {miss.wanted:g}"
    if miss.limit == "max_size_mb":
        return f"{words.three_digits(miss.bound)} MB, above {miss.wanted:g}"
    return f"{_noun(miss.limit)} may be {words.percent(miss.bound)}%, below {share(miss.wanted)}"


def would_do(limit: str, bound: float) -> float:
    """The limit that a bound meets as it is printed: latency and size rounded up, floors down."""
    if limit in ("max_p95_ms", "max_size_mb"):
        return float(rounded_up(bound).replace(",", ""))
    return math.floor(1000 * bound + 1e-9) / 1000


def loosened(limit: str, value: float, limits: Limits) -> str:
    """A limit that would do, beside what it is: `a latency limit of 18.9 ms instead of 10 ms`; rounded to the safe side."""
    if limit == "max_p95_ms":
        return f"a latency limit of {rounded_up(value)} ms instead of {limits.max_p95_ms:g} ms"
    if limit == "max_size_mb":
        return f"a size limit of {rounded_up(value)} MB instead of {limits.max_size_mb:g} MB"
    now = limits.min_recall[limit.removeprefix("min_recall ")] if limit.startswith("min_recall ") else limits.min_accuracy
    assert now is not None
    return f"a floor of {100 * would_do(limit, value):.1f}% under {_noun(limit)} instead of {share(now)}"


def share(value: float) -> str:
    """`80%`, `92.5%`."""
    return f"{100 * value:g}%"


def rounded_up(value: float) -> str:
    """Three digits, never below the value: `18.9`."""
    unit = 10 ** (math.floor(math.log10(value)) - 2)
    return words.three_digits(math.ceil(value / unit - 1e-9) * unit)


def _noun(limit: str) -> str:
    return f"the recall of {limit.removeprefix('min_recall ')}" if limit.startswith("min_recall ") else "the accuracy"


def _device(limits: Limits, field: Field) -> str:
    threads = limits.threads or next((each.timed.threads for each in field.contenders if each.timed is not None), None)
    name = "a GPU" if limits.device == "cuda" else "the CPU"
    return name if threads is None else f"{name} with {words.count(threads, 'thread')}"
