import dataclasses

import numpy as np

import contenders
from bakeoff.deciding.offers import Offer
from bakeoff.deciding.standing import Standing, standing
from bakeoff.report.choose import choose
from bakeoff.report.limits import Limits

OFFERS = {f"run of {name}": Offer(model=name) for name in ("best", "near", "far", "dear", "floor")}


def test_the_best_and_cheaper_ones_near_it_are_open_after_one_draw() -> None:
    field = contenders.field(
        contenders.contender("best", contenders.wrong_on(range(100), seeds=1), p50_ms=20.0),
        contenders.contender("near", contenders.wrong_on(range(105), seeds=1), p50_ms=5.0),
        contenders.contender("far", contenders.wrong_on(range(300), seeds=1), p50_ms=5.0),
        contenders.contender("dear", contenders.wrong_on(range(104), seeds=1), p50_ms=50.0),
    )
    found = standing(choose(field, Limits()), OFFERS)
    assert (found.open, found.leader, found.advised_seeds) == ((("best", None), ("near", None)), ("best", None), 5)


def test_nobody_is_open_once_there_are_as_many_draws_as_advised() -> None:
    field = contenders.field(contenders.contender("best", contenders.wrong_on(range(100), seeds=5), p50_ms=20.0))
    assert standing(choose(field, Limits()), OFFERS) == Standing(open=(), leader=("best", None), advised_seeds=5)


def test_what_reads_no_label_needs_no_draws() -> None:
    floor = contenders.contender("floor", contenders.wrong_on(range(101), seeds=1), p50_ms=1.0, reads_labels=False)
    best = contenders.contender("best", contenders.wrong_on(range(100), seeds=1), p50_ms=20.0)
    assert ("floor", None) not in standing(choose(contenders.field(best, floor), Limits()), OFFERS).open


def test_nobody_leads_where_none_meets_the_limits() -> None:
    slow = contenders.contender("best", contenders.wrong_on(range(100), seeds=1), p50_ms=200.0)
    assert standing(choose(contenders.field(slow), Limits(max_p95_ms=1.0)), OFFERS) == Standing()
    assert dataclasses.is_dataclass(slow)
    assert np.isfinite(slow.p50_ms or 0.0)
