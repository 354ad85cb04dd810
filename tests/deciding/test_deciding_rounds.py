import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.deciding.offers import Offer, floors, grids, parameters, readings, timings, trained, universe
from bakeoff.deciding.rounds import Known, dropped_by_latency, everybody_open, next_round, rounds, wave
from bakeoff.deciding.standing import Standing


def known(*done: Offer, **changes: object) -> Known:
    settled = set(done)
    return dataclasses.replace(Known(pool_rows=4000, truncated_share=0.0, is_settled=settled.__contains__), **changes)  # type: ignore[arg-type]


def names(offers: tuple[Offer, ...]) -> list[str]:
    return [offer.title for offer in offers]


def test_rounds_come_cheapest_first() -> None:
    first = next_round(known())
    assert first is not None
    assert first.name == "floors"
    assert names(first.offers) == [
        "majority, all labels, seed 0",
        "tfidf, all labels, seed 0",
        "zero_shot, no label",
        "frozen, all labels, seed 0",
    ]
    second = next_round(known(*floors()))
    assert second is not None
    assert [offer.model for offer in second.offers] == ["bilstm", "pretrained", "distilled_bilstm"]


def test_other_readings_are_asked_only_where_more_than_a_twentieth_is_cut() -> None:
    done = (*floors(), *trained())
    assert next_round(known(*done, truncated_share=0.05)) is None
    third = next_round(known(*done, truncated_share=0.051))
    assert third is not None
    assert (third.name, third.offers) == ("readings", readings())


def test_more_draws_are_of_the_open_seed_by_seed_and_then_fewer_labels_of_the_leader() -> None:
    standing = Standing(open=(("pretrained", None), ("tfidf", None)), leader=("pretrained", None), advised_seeds=3)
    found = list(rounds(known(*floors(), *trained(), standing=standing)))
    assert [(each.name, names(each.offers)) for each in found] == [
        ("draws", ["pretrained, all labels, seed 1", "tfidf, all labels, seed 1"]),
        ("draws", ["pretrained, all labels, seed 2", "tfidf, all labels, seed 2"]),
        (
            "budgets",
            [
                "pretrained, 2,000 labels, seed 0",
                "pretrained, 2,000 labels, seed 1",
                "pretrained, 1,000 labels, seed 0",
                "pretrained, 1,000 labels, seed 1",
            ],
        ),
    ]


def test_one_who_is_open_alone_gets_several_draws_at_a_time_where_slots_would_stay_empty() -> None:
    standing = Standing(open=(("tfidf", None),), advised_seeds=5)
    found = [each.offers for each in rounds(known(*floors(), *trained(), standing=standing, slots=3))]
    assert [[offer.seed for offer in offers] for offers in found] == [[1, 2, 3], [4]]


def test_what_is_recorded_is_not_asked_again() -> None:
    asked = next_round(known(*floors()[:2], *trained()))
    assert asked is not None
    assert names(asked.offers) == ["zero_shot, no label", "frozen, all labels, seed 0"]


def test_what_is_too_slow_is_not_trained_and_what_serves_alike_goes_with_it() -> None:
    slow = {("bilstm", None): "p95 of 30 ms is above 20 ms", ("pretrained", None): "its median alone, 50 ms, is above 20 ms"}
    dropped = dropped_by_latency(slow, (*floors(), *trained(), *readings()), measured=set(slow))
    assert dropped[("distilled_bilstm", None)] == "p95 of 30 ms is above 20 ms"
    assert dropped[("pretrained", "windows")] == "as in its own reading, its median alone, 50 ms, is above 20 ms"
    assert set(dropped) == {
        *((model, None) for model in ("bilstm", "distilled_bilstm", "pretrained")),
        *(("pretrained", reading) for reading in ("head_tail", "head_512", "windows")),
    }
    assert next_round(known(*floors(), dropped=dropped)) is None


def test_a_reading_that_was_measured_and_is_fast_enough_is_trained_though_its_models_own_is_too_slow() -> None:
    slow = {("pretrained", None): "p95 of 20.1 ms is above 20 ms"}
    dropped = dropped_by_latency(slow, (*trained(), *readings()), measured={("pretrained", None), ("pretrained", "head_tail")})
    assert dropped == {
        ("pretrained", None): "p95 of 20.1 ms is above 20 ms",
        ("pretrained", "head_512"): "as in its own reading, p95 of 20.1 ms is above 20 ms",
        ("pretrained", "windows"): "as in its own reading, p95 of 20.1 ms is above 20 ms",
    }


def test_a_leader_that_reads_no_label_is_asked_for_no_smaller_budget() -> None:
    standing = Standing(leader=("zero_shot", None))
    assert next_round(known(*floors(), *trained(), standing=standing)) is None


def test_a_plan_before_anything_is_scored_counts_more_draws_of_everybody() -> None:
    found = list(rounds(known(standing=everybody_open())))
    assert [each.name for each in found] == ["floors", "models", "draws", "draws", "draws", "draws", "budgets"]
    assert found[-1].offers[0].model == "pretrained"


A, B, C, D = (Offer(model=name) for name in ("a", "b", "c", "d"))
TAKES = {A: 10.0, B: 100.0, C: 90.0, D: 12.0}


@pytest.mark.parametrize(
    ("offers", "left", "slots", "together", "too_long"),
    [
        ((A, B, C, D), 1000.0, 2, (A, D), ()),
        ((B, C), 1000.0, 2, (C, B), ()),
        ((B, A), 1000.0, 2, (A, B), ()),  # the last one would otherwise wait for its turn
        ((A, B, C, D), 95.0, 4, (A, D), (B,)),
        ((A, B, C, D), 1000.0, 1, (A,), ()),
        ((B, C), 50.0, 2, (), (B, C)),
    ],
)
def test_a_wave_holds_what_takes_alike(
    offers: tuple[Offer, ...], left: float, slots: int, together: tuple[Offer, ...], too_long: tuple[Offer, ...]
) -> None:
    found = wave(offers, seconds=TAKES.__getitem__, fits=lambda seconds: seconds <= left, slots=slots)
    assert (found.together, found.too_long) == (together, too_long)


@given(
    st.lists(st.floats(1, 500), min_size=1, max_size=12),
    st.floats(10, 2000),
    st.integers(1, 4),
    st.lists(st.floats(0.3, 3.0), min_size=12, max_size=12),
)
def test_waves_never_take_more_than_the_time_whatever_the_estimates_are_worth(
    estimates: list[float], budget: float, slots: int, wrong: list[float]
) -> None:
    """Each Run is stopped at what was left when its wave began, so no error of an estimate overruns."""
    left, waiting = budget, {Offer(model=str(i)): seconds for i, seconds in enumerate(estimates)}
    error = dict(zip(waiting, wrong, strict=False))
    while waiting:
        found = wave(tuple(waiting), seconds=waiting.__getitem__, fits=left.__ge__, slots=slots)
        assert len(found.together) <= slots
        for offer in found.too_long:
            del waiting[offer]
        left -= max((min(left, waiting.pop(offer) * error[offer]) for offer in found.together), default=0.0)
        assert left >= 0
        assert found.together or found.too_long


def test_grids_are_rectangles_and_hold_every_offer_once() -> None:
    offers = [*floors(), *trained(), Offer(model="tfidf", seed=1), Offer(model="pretrained", seed=1), Offer(model="frozen", labels=500)]
    offers += timings(threads=2, device="cpu", long=False)
    found = grids(offers)
    assert sorted(offer.title for grid in found for offer in grid) == sorted(offer.title for offer in offers)
    for grid in found:
        values = parameters(grid, {"dataset": "csv"})
        product = 1
        for listed in values.values():
            product *= len(listed)
        assert product == len(grid)
    assert parameters(found[-1], {"dataset": "csv"}) == {
        "dataset": ["csv"],
        "model": ["tfidf", "bilstm", "frozen", "pretrained"],
        "probe": ["latency"],
        "probe.threads": ["2"],
    }


def test_the_universe_holds_all_that_rounds_may_ask() -> None:
    every = set(universe(("all", 2000, 1000), long=True))
    standing = Standing(open=tuple(offer.candidate for offer in readings()), leader=("frozen", "head_512"), advised_seeds=10)
    for each in rounds(known(standing=standing, truncated_share=1.0)):
        assert every >= set(each.offers)
