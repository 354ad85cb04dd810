"""What it would take to change an answer, as far as the records show: more labels, a GPU, longer documents, another limit.

Every change is an answer of the same rule under one other condition; conditions that leave the answer as it is are
told apart from those that nobody measured.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bakeoff.errors import DataError
from bakeoff.report import answer_limits
from bakeoff.report.choice import Choice, Field, Judged, Limits
from bakeoff.report.choose import choose
from bakeoff.report.ledger import Selected

Fields = Callable[[Limits], Field]
"""Who competes under other limits. Raises DataError where nothing is recorded for them."""

Condition = Literal["labels", "gpu", "tokens", "looser", "tighter", "more_seeds"]


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """The answer under one other condition."""

    condition: Condition
    limits: Limits
    """The condition among the other limits."""
    limit: str | None
    """The field of Limits that was loosened or tightened; `min_recall CLASS` for a class."""
    value: float | None
    """Of that limit, where the answer changes; the number of labels or tokens of those conditions."""
    chosen: Judged | None
    """Null where nothing is recommended then."""
    reason: str | None
    """Why nothing is."""
    changes: bool
    """Whether another contender is chosen than without the condition."""
    too_few_seeds: int | None = None
    """What the answer then rests on where that is fewer draws than the house asks for; null where it is enough."""


def what_ifs(field: Field, choice: Choice, fields: Fields, *, lengths: Sequence[int] = (), gpu: bool = False) -> list[WhatIf]:
    """Every other condition that the records speak of.

    `lengths` are the fixed document lengths that were timed, in tokens, and `gpu` says whether any latency is of one.
    """
    found = [
        *_more_seeds(field, choice),
        *_labels(field, choice, fields),
        *_tokens(choice, fields, lengths),
        *_looser(field, choice),
        *_tighter(field, choice),
    ]
    if gpu and choice.limits.device == "cpu":
        asked = replace(choice.limits, device="cuda", threads=None, machine=None)
        found += _asked("gpu", choice, _choose(fields, asked), value=None)
    return found


def timed_lengths(selected: Selected) -> tuple[int, ...]:
    """The fixed document lengths at which anything was timed, in tokens, shortest first."""
    facts = [record.latency for record in selected.records if record.latency is not None]
    return tuple(sorted({point.tokens for one in facts for point in one.grid if point.p50_ms is not None}))


def _more_seeds(field: Field, choice: Choice) -> list[WhatIf]:
    """Without those that one seed stands behind, where such a one has the best mean and so nothing is recommended."""
    if choice.reference is None or choice.recommended is not None:
        return []
    kept = tuple(each for each in field.contenders if each.seeds > 1 or not each.reads_labels)
    other = replace(field, contenders=kept)
    found = _asked("more_seeds", choice, (other, choose(other, choice.limits)), value=None) if kept else []
    return [one for one in found if one.chosen is not None]


def _labels(field: Field, choice: Choice, fields: Fields) -> list[WhatIf]:
    """The next larger budget that was recorded, and the largest."""
    larger = [labels for labels in field.other_labels if _size(labels) > _size(field.labels)]
    found = []
    for labels in dict.fromkeys([*larger[:1], *larger[-1:]]):
        other = _choose(fields, replace(choice.limits, labels=labels))
        found += _asked("labels", choice, other, value=None if other is None else other[0].n_labels)
    return found


def _tokens(choice: Choice, fields: Fields, lengths: Sequence[int]) -> list[WhatIf]:
    """The shortest timed length at which the answer changes, else the longest; only a latency limit makes length matter."""
    if choice.limits.max_p95_ms is None or choice.recommended is None:
        return []
    longer = [tokens for tokens in lengths if tokens > (choice.limits.tokens_p95 or 0)]
    if not longer:
        return []
    longest = _at_length(choice, fields, longer[-1])
    if not longest or not longest[0].changes:  # as a rule nothing changes in between then
        return longest
    return next((found for tokens in longer[:-1] if (found := _at_length(choice, fields, tokens)) and found[0].changes), longest)


def _at_length(choice: Choice, fields: Fields, tokens: int) -> list[WhatIf]:
    return _asked("tokens", choice, _choose(fields, replace(choice.limits, tokens_p95=tokens)), value=tokens)


def _looser(field: Field, choice: Choice) -> list[WhatIf]:
    """Each limit that, alone, stands between the field and another answer; with a value that was seen to give that answer."""
    found = []
    for limit, limits in _without_each(choice.limits):
        other = choose(field, limits)
        for one in _asked("looser", choice, (field, other), value=None):
            bound = None if one.chosen is None else _bound(choice, one.chosen, limit)
            if one.chosen is None or bound is None or not one.changes:
                continue
            needed = answer_limits.would_do(limit, bound)
            loosened = _with_limit(choice.limits, limit, needed)
            again = choose(field, loosened).recommended
            if again is not None and is_same(again, one.chosen):
                found.append(replace(one, limits=loosened, limit=limit, value=needed))
    return found


def _tighter(field: Field, choice: Choice) -> list[WhatIf]:
    """A latency limit just too tight for the recommended one."""
    best = choice.recommended
    timed = best.contender.timed if best is not None else None
    if timed is None or timed.high_ms is None or timed.contended:
        return []
    other = choose(field, replace(choice.limits, max_p95_ms=math.nextafter(timed.high_ms, 0)))
    return [
        replace(one, limit="max_p95_ms", value=timed.high_ms)
        for one in _asked("tighter", choice, (field, other), value=None)
        if one.changes and one.chosen is not None
    ]


def _without_each(limits: Limits) -> list[tuple[str, Limits]]:
    bare: dict[str, Limits] = {
        "max_p95_ms": replace(limits, max_p95_ms=None),
        "min_accuracy": replace(limits, min_accuracy=None),
        "max_size_mb": replace(limits, max_size_mb=None),
    }
    single = [(name, without) for name, without in bare.items() if getattr(limits, name) is not None]
    recalls = [
        (f"min_recall {name}", replace(limits, min_recall={other: least for other, least in limits.min_recall.items() if other != name}))
        for name in limits.min_recall
    ]
    return [*single, *recalls]


def _with_limit(limits: Limits, limit: str, value: float) -> Limits:
    if limit.startswith("min_recall "):
        return replace(limits, min_recall={**limits.min_recall, limit.removeprefix("min_recall "): value})
    if limit == "min_accuracy":
        return replace(limits, min_accuracy=value)
    return replace(limits, max_p95_ms=value) if limit == "max_p95_ms" else replace(limits, max_size_mb=value)


def _bound(choice: Choice, chosen: Judged, limit: str) -> float | None:
    """What the limit would have to be for `chosen` to meet it; None where it met it, or was not measured."""
    before = next((each for each in choice.judged if each.contender.key == chosen.contender.key), None)
    misses = before.feasibility.misses if before is not None and before.feasibility.status == "infeasible" else ()
    return next((miss.bound for miss in misses if miss.limit == limit), None)


def _choose(fields: Fields, limits: Limits) -> tuple[Field, Choice] | None:
    try:
        field = fields(limits)
    except DataError:  # nothing is recorded under that condition
        return None
    return field, choose(field, limits)


def _asked(condition: Condition, before: Choice, other: tuple[Field, Choice] | None, *, value: float | None) -> list[WhatIf]:
    if other is None:
        return []
    now, chosen = before.recommended, other[1].recommended
    if now is not None and chosen is None and any(is_same(now, each) for each in other[1].with_status("not_measured")):
        return []
    changes = now is not chosen if now is None or chosen is None else not is_same(now, chosen)
    then = other[1]
    few = None if then.has_enough_seeds else then.seeds
    found = WhatIf(
        condition=condition,
        limits=then.limits,
        limit=None,
        value=value,
        chosen=chosen,
        reason=then.reason,
        changes=changes,
        too_few_seeds=few,
    )
    return [found]


def is_same(one: Judged, other: Judged) -> bool:
    """Whether two answers name the same candidate on the same engine; one that was not timed counts as eager."""
    return _served(one) == _served(other)


def _served(judged: Judged) -> tuple[str, str]:
    return (judged.contender.candidate.key, judged.contender.engine or "eager")


def _size(labels: int | str) -> float:
    return math.inf if labels == "all" else float(labels)
