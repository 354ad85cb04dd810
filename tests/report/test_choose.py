"""The rule: who is feasible, who replaces the best, and what is said of those that are not decided."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import contenders
from bakeoff.errors import DataError
from bakeoff.report.answer_table import why
from bakeoff.report.choice import Contender, Field
from bakeoff.report.choose import Choice, Limits, choose, saving
from contenders import contender, timed, wrong_on


def field_of_two(lost_rows: int, *, first_ms: float = 1.0, **changes: object) -> Field:
    """A dear model right on 820 of 1,000 rows, and one right on `lost_rows` fewer, none of them its own; 3 seeds, all alike."""
    dear = contender("dear", wrong_on(range(820, 1000)), p50_ms=10.0)
    cheap = contender("cheap", wrong_on(range(820 - lost_rows, 1000)), p50_ms=first_ms)
    return contenders.field(dear, replace(cheap, **changes))


def verdicts(choice: Choice) -> dict[str, str | None]:
    return {each.contender.key: each.verdict for each in choice.judged}


def test_five_rows_of_a_thousand_lost_are_as_good_within_a_point() -> None:
    choice = choose(field_of_two(5), Limits())
    # Rows are lost with variance .005 · .995 · 1000/999, so SE is .2231 points, and .5 + 1.6464 · .2231 < 1.
    error = math.sqrt(0.005 * 0.995 / 999)
    assert verdicts(choice) == {"dear": "best", "cheap": "as_good"}
    assert choice.recommended is not None
    assert choice.reference is not None
    assert (choice.recommended.contender.key, choice.reference.contender.key) == ("cheap", "dear")
    found = choice.recommended.loss
    assert found is not None
    assert found.estimate.mean == pytest.approx(0.005)
    assert found.high == pytest.approx(0.005 + scipy_stats.t.ppf(0.95, 999) * error) == pytest.approx(0.008674, abs=1e-6)
    assert found.low == pytest.approx(0.005 - scipy_stats.t.ppf(0.95, 999) * error)
    assert found.as_good_p == pytest.approx(scipy_stats.t.sf(0.005 / error, 999))
    assert choice.recommended.saving is not None
    assert (choice.recommended.saving.ms, choice.recommended.saving.share, choice.recommended.saving.scale) == (9.0, 0.1, "p50_ms")
    assert choice.runner_up is choice.reference


def test_eight_rows_lost_are_undecided_and_it_is_said_what_would_decide() -> None:
    choice = choose(field_of_two(8), Limits())
    assert verdicts(choice) == {"dear": "best", "cheap": "undecided"}
    assert choice.recommended is choice.reference
    assert choice.recommended is not None
    assert choice.recommended.contender.key == "dear"
    assert choice.runner_up is not None
    undecided = choice.runner_up
    assert undecided.needed is not None
    # 1.645 · sqrt(.008 · .992 / n) < .2 points from n = 5,370 up: t at so many degrees is 1.6452.
    assert 1000 + (undecided.needed.more_units or 0) == pytest.approx(5370, rel=0.01)
    assert undecided.needed.more_draws is None
    assert undecided.saving is not None
    assert undecided.saving.ms == 9.0


def test_thirty_rows_lost_are_worse() -> None:
    choice = choose(field_of_two(30), Limits())
    assert verdicts(choice) == {"dear": "best", "cheap": "worse"}
    assert choice.with_verdict("worse")[0].loss is not None
    assert choice.with_verdict("worse")[0].loss.low == pytest.approx(0.03 - scipy_stats.t.ppf(0.95, 999) * math.sqrt(0.03 * 0.97 / 999))  # type: ignore[union-attr]
    assert verdicts(choose(field_of_two(30), Limits(margin_points=5)))["cheap"] == "as_good"


def test_a_dearer_one_as_good_does_not_replace_the_best() -> None:
    choice = choose(field_of_two(2, first_ms=20.0), Limits())
    assert verdicts(choice) == {"dear": "best", "cheap": "as_good"}
    assert choice.recommended is choice.reference


def test_the_cheapest_of_several_as_good_is_recommended_and_holm_counts_the_cheaper_only() -> None:
    dear = contender("dear", wrong_on(range(820, 1000)), p50_ms=10.0)
    # Alone, 5 rows lost are as good at p = .0127; beside four cheaper ones that are not, it would take p < .01.
    five = contender("five", wrong_on(range(815, 1000)), p50_ms=2.0)
    p = scipy_stats.t.sf(0.005 / math.sqrt(0.005 * 0.995 / 999), 999)
    assert p == pytest.approx(0.0127, abs=1e-4)
    worse = [contender(f"worse {i}", wrong_on(range(700, 1000)), p50_ms=1.0 + i) for i in range(4)]
    three, four = (choose(contenders.field(dear, five, *worse[:n]), Limits()) for n in (2, 4))
    assert three.recommended is not None
    assert three.recommended.contender.key == "five"
    assert three.recommended.loss is not None
    assert three.recommended.loss.as_good_p == pytest.approx(3 * p)
    assert verdicts(four)["five"] == "undecided"
    assert four.recommended is four.reference
    dearer = [replace(each, timed=timed(11.0 + i)) for i, each in enumerate(worse)]
    assert verdicts(choose(contenders.field(dear, five, *dearer), Limits()))["five"] == "as_good"
    zero = contender("none lost", wrong_on(range(820, 1000)), p50_ms=4.0)
    cheapest = choose(contenders.field(dear, five, zero), Limits()).recommended
    assert cheapest is not None
    assert cheapest.contender.key == "five"


def test_latency_is_held_by_its_upper_bound_and_accuracy_by_its_lower() -> None:
    field = field_of_two(5, timed=timed(4.9))  # p95 9.8 ms, at most 10.29
    choice = choose(field, Limits(max_p95_ms=10, min_accuracy=0.8))
    dear, cheap = (next(each for each in choice.judged if each.contender.key == name) for name in ("dear", "cheap"))
    (late,) = cheap.feasibility.misses[:1]
    assert (late.limit, late.wanted, late.value, late.bound) == ("max_p95_ms", 10, pytest.approx(9.8), pytest.approx(10.29))
    low = 0.815 - scipy_stats.t.ppf(0.975, 999) * math.sqrt(0.815 * 0.185 / 999)
    assert cheap.feasibility.misses[1].bound == pytest.approx(low)
    assert cheap.feasibility.misses[1].limit == "min_accuracy"
    assert choice.recommended is None
    assert choice.reason == "no candidate is known to meet the limits"
    assert dear.feasibility.shortfall == pytest.approx(1.1)
    assert choice.nearest_misses == (cheap, dear)
    assert choice.sureness is None
    assert choose(field, Limits(max_p95_ms=10.3, min_accuracy=0.8)).recommended is None
    assert choose(field, Limits(max_p95_ms=10.3, min_accuracy=0.79)).recommended.contender.key == "cheap"  # type: ignore[union-attr]


def test_what_was_not_timed_is_not_measured_whatever_else_it_misses() -> None:
    field = field_of_two(5, timed=None, engine=None)
    choice = choose(field, Limits(max_p95_ms=100, min_accuracy=0.99))
    cheap = choice.with_status("not_measured")[0].feasibility
    assert (cheap.lacking, cheap.command) == ("no latency record", "bakeoff run model=cheap probe=latency")
    assert [miss.limit for miss in cheap.misses] == ["min_accuracy"]
    assert choose(field, Limits()).with_status("not_measured") == ()
    disturbed = choose(field_of_two(5, timed=timed(1.0, contended=True)), Limits(max_p95_ms=100)).with_status("not_measured")
    assert disturbed[0].feasibility.lacking == "other processes disturbed its latency session"
    few = choose(field_of_two(5, timed=timed(1.0, p95_ms=None, low_ms=None, high_ms=None)), Limits(max_p95_ms=100))
    assert few.with_status("not_measured")[0].feasibility.lacking == "too few samples for a p95"


def test_size_is_a_limit_and_an_unknown_size_is_not_measured() -> None:
    field = field_of_two(5, bytes=100_000_001)
    choice = choose(field, Limits(max_size_mb=100))
    assert choice.with_status("infeasible")[0].feasibility.misses[0].bound == pytest.approx(100.000001)
    assert choice.with_status("not_measured")[0].feasibility.lacking == "its size is not known"
    assert choice.with_status("not_measured")[0].feasibility.command is None


def test_recall_of_a_class_is_held_by_its_lower_bound() -> None:
    labels = np.arange(1000) % 4 == 0  # 250 rows of class 1
    right = np.ones((3, 1000), bool)
    right[:, np.flatnonzero(labels)[:25]] = False
    field = contenders.field(contender("one", (contenders.answers(right, labels=labels),), p50_ms=1.0))
    low = 0.9 - scipy_stats.t.ppf(0.975, 249) * math.sqrt(0.9 * 0.1 / 249)
    (miss,) = choose(field, Limits(min_recall={"positive": 0.9})).judged[0].feasibility.misses
    assert (miss.limit, miss.value, miss.bound) == ("min_recall positive", pytest.approx(0.9), pytest.approx(low))
    assert choose(field, Limits(min_recall={"positive": 0.86, "negative": 0.98})).recommended is not None
    with pytest.raises(DataError, match="min_recall names class neutral, but the classes are negative, positive"):
        choose(field, Limits(min_recall={"neutral": 0.5}))


def test_one_seed_gives_no_recommendation() -> None:
    one_seed = [contender(name, wrong_on(range(n, 1000), seeds=1), p50_ms=ms) for name, n, ms in (("dear", 820, 10.0), ("cheap", 815, 1.0))]
    choice = choose(contenders.field(*one_seed), Limits())
    assert choice.recommended is None
    assert choice.reason is not None
    assert choice.reason.startswith("dear, the best by its mean, has one seed")
    assert verdicts(choice) == {"dear": "best", "cheap": "undecided"}
    assert choice.with_verdict("undecided")[0].why_undecided == "one seed"
    assert choice.sureness is not None
    assert (choice.sureness.seeds, choice.sureness.advised_seeds) == (1, 5)


def test_a_model_that_reads_no_label_pairs_with_every_seed() -> None:
    field = field_of_two(5)
    zero_shot = contender("zero", wrong_on(range(816, 1000), seeds=1), p50_ms=0.5, reads_labels=False)
    choice = choose(contenders.field(*field.contenders, zero_shot), Limits())
    assert choice.recommended is not None
    assert choice.recommended.contender.key == "zero"
    assert choice.recommended.loss is not None
    assert choice.recommended.loss.estimate.seeds == 3
    alone = choose(contenders.field(zero_shot), Limits())
    assert alone.recommended is not None
    assert alone.runner_up is None


def test_seeds_that_nobody_shares_are_undecided() -> None:
    field = field_of_two(5, folds=(contenders.answers(wrong_on(range(815, 1000)), first_seed=7),))
    assert choose(field, Limits()).with_verdict("undecided")[0].why_undecided == "no seed and test set in common"


def test_the_line_for_an_engine_that_was_not_timed() -> None:
    """Who was timed with the engine competes, everyone else has the line that measures it, with or without a latency limit."""
    exported = contender("exported", wrong_on(range(815, 1000)), p50_ms=2.0, engine="onnx")
    field = contenders.field(exported, contender("eager", wrong_on([])), contender("timed", wrong_on([]), p50_ms=1.0))
    choice = choose(field, Limits(engine="onnx"))
    assert choice.recommended is not None
    assert choice.recommended.contender.key == "exported"
    assert [(each.contender.key, each.feasibility.lacking, each.feasibility.command) for each in choice.with_status("not_measured")] == [
        ("timed", "not timed with engine onnx", "bakeoff run model=timed probe=latency"),
        ("eager", "not timed with engine onnx", "bakeoff run model=eager probe=latency"),
    ]
    assert {each.contender.key for each in choose(field, Limits(engine="eager")).with_status("feasible")} == {"eager", "timed"}
    unscored = replace(field.contenders[1], unscored_engines=("onnx_int8",))
    (only,) = choose(contenders.field(unscored), Limits(engine="onnx_int8")).judged
    assert only.feasibility.lacking == "its answers with engine onnx int8 were not scored at this budget"
    asked = Limits(device="cuda", max_p95_ms=5, tokens_p95=500)
    assert choose(contenders.field(unscored), asked).judged[0].feasibility.lacking == "not timed on a GPU at 500 tokens or more"


def test_times_of_two_sessions_or_lengths_do_not_compare() -> None:
    one = contender("one", wrong_on([]), timed=timed(10.0, ratio_to_reference=5.0), flops=4e6)
    alike = contender("alike", wrong_on([]), timed=timed(1.0, ratio_to_reference=0.5), flops=8e6)
    other = replace(alike, timed=timed(1.0, session_id="07e5", ratio_to_reference=10.0))
    long = replace(alike, timed=timed(1.0, tokens=2048))
    found = {name: saving(one, each) for name, each in (("alike", alike), ("other", other), ("long", long))}
    assert {name: (each.scale, each.share, each.ms) for name, each in found.items()} == {
        "alike": ("p50_ms", 0.1, 9.0),
        "other": ("ratio", 2.0, None),
        "long": ("flops", 2.0, None),
    }
    disturbed = replace(other, timed=timed(1.0, session_id="07e5", ratio_to_reference=10.0, contended=True))
    assert saving(one, disturbed).scale == "flops"


def test_a_recommendation_rests_on_the_seeds_that_both_have() -> None:
    """Five seeds each, two of them shared."""
    dear = contender("dear", wrong_on(range(820, 1000), seeds=5), p50_ms=10.0)
    cheap = contender("cheap", (contenders.answers(wrong_on(range(820, 1000), seeds=5), first_seed=3),), p50_ms=1.0)
    choice = choose(contenders.field(dear, cheap), Limits())
    # The tie falls to the faster, which nothing replaces.
    assert (choice.seeds, choice.has_enough_seeds) == (5, True)
    worse = replace(cheap, folds=(contenders.answers(wrong_on(range(819, 1000), seeds=5), first_seed=3),))
    choice = choose(contenders.field(dear, worse), Limits())
    assert choice.recommended is not None
    assert choice.recommended.contender.key == "cheap"
    assert (choice.seeds, choice.has_enough_seeds) == (2, False)
    zero_shot = replace(worse, reads_labels=False)
    assert choose(contenders.field(zero_shot, replace(dear, reads_labels=False)), Limits()).seeds is None


def test_one_seed_of_the_best_of_the_rest_waits_for_more() -> None:
    dear = contender("dear", wrong_on(range(820, 1000)), p50_ms=10.0)
    lone = contender("lone", wrong_on(range(810, 1000), seeds=1), p50_ms=5.0)
    worse = contender("worse", wrong_on(range(700, 1000)), p50_ms=1.0)
    choice = choose(contenders.field(dear, lone, worse), Limits())
    assert choice.runner_up is None
    assert choice.waiting is not None
    assert choice.waiting.contender.key == "lone"
    assert choice.waiting.gap is not None
    assert (choice.waiting.loss, choice.waiting.gap.mean, choice.waiting.gap.seeds) == (None, pytest.approx(0.01), 1)
    assert choose(contenders.field(dear, worse), Limits()).waiting is None


def test_over_folds_no_number_of_rows_or_draws_decides() -> None:
    def in_folds(name: str, wrong: list[int], p50_ms: float) -> Contender:
        folds = (contenders.answers(wrong_on(range(200 - n, 200), of=200), first_row=200 * i) for i, n in enumerate(wrong))
        return contender(name, tuple(folds), p50_ms=p50_ms, pool_share=0.2)

    choice = choose(contenders.field(in_folds("a", [20, 20, 20, 20, 20], 9.0), in_folds("b", [20, 24, 20, 22, 23], 1.0)), Limits())
    (open_one,) = choice.with_verdict("undecided")
    assert open_one.loss is not None
    assert (open_one.needed, open_one.loss.estimate.folds) == (None, 5)
    assert why(open_one).endswith("; with 5 folds only a larger pool decides")


def test_cheaper_is_by_time_then_operations_then_size() -> None:
    timed_one, heavy = contender("a", wrong_on([]), p50_ms=4.0, flops=1e6, bytes=8_000_000), contender("b", wrong_on([]), flops=4e6)
    assert saving(timed_one, heavy).scale == "flops"
    assert saving(timed_one, heavy).share == 4.0
    assert not saving(timed_one, heavy).is_cheaper
    small = contender("c", wrong_on([]), bytes=2_000_000)
    assert (saving(timed_one, small).scale, saving(timed_one, small).megabytes) == ("bytes", 6.0)
    assert saving(heavy, small).scale is None
    assert not saving(heavy, small).is_cheaper


def test_how_sure_the_choice_is() -> None:
    choice = choose(field_of_two(30), Limits())
    assert choice.sureness is not None
    assert choice.sureness.wins == {"dear": 1.0, "cheap": 0.0}
    assert choice.sureness.corrected == pytest.approx(0.82, abs=0.003)
    error = math.sqrt(0.03 * 0.97 / 999)
    assert choice.sureness.detectable == pytest.approx((scipy_stats.t.ppf(0.975, 999) + scipy_stats.t.ppf(0.8, 999)) * error)
    few = choose(replace(field_of_two(30), n_labels=100), Limits()).sureness
    assert few is not None
    assert few.advised_seeds == 10


def test_limits_that_mean_nothing_are_refused() -> None:
    for changes, words in (
        ({"min_accuracy": 80}, "min_accuracy=80 should be a share"),
        ({"min_recall": {"spam": 90}}, "min_recall spam=90 should be a share"),
        ({"max_p95_ms": 0}, "max_p95_ms=0 should be a number above 0"),
        ({"max_p95_ms": math.inf}, "max_p95_ms=inf should be a number above 0"),
        ({"max_size_mb": math.nan}, "max_size_mb=nan should be a number above 0"),
        ({"margin_points": -1}, "margin_points=-1 should be a number of at least 0"),
        ({"margin_points": math.inf}, "margin_points=inf should be a number of at least 0"),
    ):
        with pytest.raises(ValueError, match=words):
            Limits(**changes)  # type: ignore[arg-type]


@st.composite
def fields(draw: st.DrawFn) -> Field:
    """Two to five contenders with their own skill and cost, on 200 rows."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shared = generator.random(200)
    found: list[Contender] = []
    for i in range(draw(st.integers(2, 5))):
        skill = generator.uniform(0.6, 0.9)
        noise = generator.normal(0, draw(st.sampled_from([0.0, 0.02, 0.2])), (3, 200))
        found.append(contender(f"c{i}", shared + noise < skill, p50_ms=float(generator.integers(1, 20))))
    return contenders.field(*found)


@settings(max_examples=60, deadline=None)
@given(fields(), st.lists(st.floats(0, 30), min_size=2, max_size=4))
def test_a_wider_margin_never_makes_the_choice_dearer_and_undecided_is_never_chosen(field: Field, margins: list[float]) -> None:
    choices = [choose(field, Limits(margin_points=margin)) for margin in sorted(margins)]
    for choice in choices:
        assert choice.recommended is not None
        assert choice.recommended.verdict in ("best", "as_good")
        assert all(each.verdict is not None for each in choice.judged)
        assert all((each.needed is not None) == (each.verdict == "undecided") for each in choice.judged)
    costs = [choice.recommended.contender.p50_ms for choice in choices if choice.recommended is not None]
    assert costs == sorted(costs, reverse=True)  # type: ignore[type-var]
    good = [{each.contender.key for each in choice.with_verdict("as_good")} for choice in choices]
    assert all(before <= after for before, after in itertools.pairwise(good))
