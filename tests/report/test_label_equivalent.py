"""The label equivalent, on examples that can be worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import factories
from bakeoff.report.equivalents import cell, equivalences, equivalent_blocks, shown_in_figure
from bakeoff.report.label_equivalent import Labels, label_equivalent, labels_for
from bakeoff.report.summary import Section, sections
from bakeoff.store import Store

RISING = {100: 0.6, 1000: 0.7, 10_000: 0.75}


def test_half_way_up_is_half_way_along_on_the_log_scale() -> None:
    assert labels_for(RISING, 0.65).n == pytest.approx(100 * 10**0.5)
    assert labels_for(RISING, 0.725).n == pytest.approx(1000 * 10**0.5)
    assert labels_for(RISING, 0.7) == Labels(n=pytest.approx(1000.0))


def test_beyond_what_was_measured_there_is_only_a_bound() -> None:
    assert labels_for(RISING, 0.6) == Labels(n=100.0, side="at_most")
    assert labels_for(RISING, 0.1) == Labels(n=100.0, side="at_most")
    assert labels_for(RISING, 0.75) == Labels(n=pytest.approx(10_000.0))
    assert labels_for(RISING, 0.7500001) == Labels(n=10_000.0, side="more_than")


def test_a_curve_that_falls_is_levelled_first() -> None:
    # 0.65 at 10 and 0.6 at 100 become 0.625 at both, so 0.65 is a third of the way from 100 to 1,000.
    assert labels_for({10: 0.65, 100: 0.6, 1000: 0.7}, 0.65).n == pytest.approx(100 * 10 ** (1 / 3))
    # A level stretch is answered by its first budget.
    assert labels_for({10: 0.5, 100: 0.6, 1000: 0.6, 10_000: 0.7}, 0.6).n == pytest.approx(100.0)


def test_budgets_without_labels_have_no_place_on_the_log_scale() -> None:
    assert labels_for({0: 0.9, **RISING}, 0.65).n == pytest.approx(100 * 10**0.5)
    with pytest.raises(ValueError, match="two budgets with labels"):
        labels_for({0: 0.5, 100: 0.6}, 0.55)


def test_three_draws_give_the_middle_one_from_the_lowest_to_the_highest() -> None:
    found = label_equivalent([RISING] * 3, [0.7, 0.65, 0.8])
    assert found.middle.n == pytest.approx(1000.0)
    assert found.low.n == pytest.approx(100 * 10**0.5)
    assert found.high == Labels(n=10_000.0, side="more_than")
    assert found.coverage == 0.75
    assert [one.side for one in found.by_draw] == ["exactly", "exactly", "more_than"]


def test_ten_draws_leave_out_the_lowest_and_the_highest() -> None:
    found = label_equivalent([RISING] * 10, [0.6 + 0.01 * draw for draw in range(10)])
    # 1 − 2 · (1 + 10) / 2^10, by the binomial distribution
    assert found.coverage == pytest.approx(1 - 22 / 1024)
    assert found.low.n == pytest.approx(100 * 10**0.1)
    assert found.high.n == pytest.approx(100 * 10**0.8)
    assert found.middle.n == pytest.approx(100 * 10**0.45)  # half way between the fifth and the sixth, 0.64 and 0.65


def test_two_draws_of_which_one_is_only_bounded_take_the_lower() -> None:
    assert label_equivalent([RISING] * 2, [0.65, 0.9]).middle.n == pytest.approx(100 * 10**0.5)


def test_one_draw_has_no_interval() -> None:
    found = label_equivalent([RISING], [0.65])
    assert (found.coverage, found.low, found.high) == (0.0, found.middle, found.middle)


def test_draws_without_a_target_are_refused() -> None:
    for curves, targets in (([], []), ([RISING], [])):
        with pytest.raises(ValueError, match="a curve and a target of each"):
            label_equivalent(curves, targets)


@given(
    st.dictionaries(st.integers(1, 100_000), st.floats(0, 1), min_size=2, max_size=6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_higher_score_never_takes_fewer_labels_and_none_lie_outside(curve: dict[int, float], a: float, b: float) -> None:
    low, high = (labels_for(curve, target) for target in sorted((a, b)))
    assert not high < low or high.n == pytest.approx(low.n)
    assert all(min(curve) <= one.n <= max(curve) * (1 + 1e-9) for one in (low, high))


def baked(store: Store, accuracies: dict[str, dict[int, float]], seeds: int = 3) -> Section:
    runs = []
    for model, by_labels in accuracies.items():
        for labels, accuracy in by_labels.items():
            for seed in range(seeds):
                runs.append(factories.make_run(model=model, labels=labels, seed=seed))
                factories.bake(store, runs[-1], accuracy=accuracy)
    return sections(runs, store)[0]


def test_a_page_tells_what_the_others_need(store: Store) -> None:
    section = baked(store, {"pretrained": {100: 0.65, 1000: 0.8}, "tfidf": {100: 0.6, 1000: 0.7}, "majority": {100: 0.5, 1000: 0.5}})
    found = {(one.candidate.kind, one.table.n_labels): one for one in equivalences(section)}
    assert sorted(found) == [("tfidf", 100), ("tfidf", 1000)]
    assert cell(found["tfidf", 100]) == "316"
    assert cell(found["tfidf", 1000]) == "> 1,000"
    assert len(found["tfidf", 100].runs) == 6 + 3
    assert shown_in_figure(section) == found["tfidf", 100]
    (block,) = equivalent_blocks([section])
    assert block.grids[0].rows == (("tfidf", "316", "> 1,000"),)
    assert "would hold the median of all draws 75.0% of the time" in block.notes[1]


def test_a_draw_that_is_not_at_every_budget_is_left_out(store: Store) -> None:
    runs = [
        factories.make_run(model=model, labels=labels, seed=seed)
        for model in ("pretrained", "tfidf")
        for labels in (100, 1000)
        for seed in (0, 1)
    ]
    for run in runs[:-1]:  # the last, tfidf with 1,000 labels and seed 1, is not baked
        factories.bake(
            store,
            run,
            accuracy={("pretrained", 100): 0.65, ("pretrained", 1000): 0.8, ("tfidf", 100): 0.6}.get(
                (run.model.kind, run.budget.labels), 0.7
            ),
        )
    found = equivalences(sections(runs, store)[0])
    assert [len(one.needed.by_draw) for one in found] == [1, 1]
    (block,) = equivalent_blocks(sections(runs, store))
    assert block.notes[1] == "With one draw in common there is no interval."


def test_without_two_budgets_there_is_nothing_to_tell(store: Store) -> None:
    section = baked(store, {"pretrained": {100: 0.65}, "tfidf": {100: 0.6}})
    assert equivalences(section) == []
    assert shown_in_figure(section) is None
    assert equivalent_blocks([section]) == []
