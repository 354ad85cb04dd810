"""What would change an answer: a looser limit is one that was seen to do it, and too few seeds are told."""

from dataclasses import replace

import pytest

import contenders
from bakeoff.report.answer_limits import loosened, would_do
from bakeoff.report.choice import Field, Limits
from bakeoff.report.choose import choose
from bakeoff.report.what_if import WhatIf, what_ifs
from contenders import contender, wrong_on


def looser(field: Field, limits: Limits) -> list[WhatIf]:
    return [one for one in what_ifs(field, choose(field, limits), lambda _: field) if one.condition == "looser"]


def test_a_looser_limit_is_checked_at_the_value_that_is_printed() -> None:
    field = contenders.field(
        contender("slow", wrong_on(range(100, 1000)), p50_ms=7.77),
        contender("slower", wrong_on(range(900, 1000)), p50_ms=12.3456),
        contender("fast", wrong_on(range(200, 1000)), p50_ms=2.0),
    )
    (found,) = looser(field, Limits(max_p95_ms=10))
    # 2.1 × 12.3456 = 25.926 ms, printed as 26.0.
    assert (found.limit, found.value, found.limits.max_p95_ms) == ("max_p95_ms", 26.0, 26.0)
    assert found.chosen is not None
    assert found.chosen.contender.key == "slower"
    assert "26.0 ms instead of 10 ms" in loosened("max_p95_ms", found.value, Limits(max_p95_ms=10))


def test_a_looser_limit_under_which_the_rule_picks_another_is_not_told() -> None:
    """Without a limit the middle one replaces the best; at the limit that it needs it is the best, and the fast one replaces it."""
    rows = 2000
    best = contender("best", wrong_on(range(200), of=rows), p50_ms=20.0)
    middle = contender("middle", wrong_on(range(206), of=rows), p50_ms=8.0)
    fast = contender("fast", wrong_on(range(216), of=rows), p50_ms=2.0)
    field, limits = contenders.field(best, middle, fast), Limits(max_p95_ms=10)
    free = choose(field, Limits()).recommended
    assert free is not None
    assert free.contender.key == "middle"
    at = choose(field, replace(limits, max_p95_ms=would_do("max_p95_ms", 2.1 * 8.0))).recommended
    assert at is not None
    assert at.contender.key == "fast"
    assert looser(field, limits) == []


@pytest.mark.parametrize(
    ("limit", "bound", "value"), [("max_p95_ms", 1234.2, 1240.0), ("max_size_mb", 90.31, 90.4), ("min_accuracy", 0.571, 0.571)]
)
def test_what_would_do_is_what_is_printed(limit: str, bound: float, value: float) -> None:
    assert would_do(limit, bound) == pytest.approx(value)
    assert would_do(limit, would_do(limit, bound)) == would_do(limit, bound)


def test_more_labels_on_too_few_seeds_say_so() -> None:
    here = contenders.field(contender("a", wrong_on(range(100), seeds=5), p50_ms=1.0), other_labels=(3000,))
    there = contenders.field(contender("b", wrong_on(range(50), seeds=3), p50_ms=1.0), labels=3000, n_labels=3000)
    found = what_ifs(here, choose(here, Limits()), lambda limits: there if limits.labels == 3000 else here)
    assert [(one.condition, one.too_few_seeds) for one in found] == [("labels", 3)]
