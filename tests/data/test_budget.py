import hashlib
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from bakeoff import spec
from bakeoff.data.budget import draw_order, spend
from bakeoff.data.dataset import Rows
from bakeoff.errors import DataError, NotApplicable

MakeRows = Callable[..., Rows]


def budget(labels: int | str, *, draw: int = 0, order: str = "stratified") -> spec.Budget:
    return spec.Budget(labels=labels, draw=draw, order=order, unlabelled="none")  # type: ignore[arg-type]


def hash_of(draw: int, text: str) -> str:
    return hashlib.sha256(f"{draw}|{text}".encode()).hexdigest()


def test_worked_example(make_rows: MakeRows) -> None:
    """Four rows of class 0 get the keys 1/8, 3/8, 5/8, 7/8 and two of class 1 the keys 1/4, 3/4."""
    rows = make_rows([0, 1, 0, 0, 1, 0])
    order = draw_order(rows, draw=3, order="stratified").tolist()
    assert [int(rows.labels[i]) for i in order] == [0, 1, 0, 0, 1, 0]
    zeros = sorted([0, 2, 3, 5], key=lambda i: hash_of(3, rows.row_ids[i]))
    ones = sorted([1, 4], key=lambda i: hash_of(3, rows.row_ids[i]))
    assert order == [zeros[0], ones[0], zeros[1], zeros[2], ones[1], zeros[3]]
    assert order == [5, 4, 0, 2, 1, 3]  # golden: a change here is another draw for everybody


def test_ties_between_classes_are_broken_by_draw_and_class(make_rows: MakeRows) -> None:
    rows = make_rows([0, 1, 2] * 4)
    for draw in range(5):
        first = [int(rows.labels[i]) for i in draw_order(rows, draw=draw, order="stratified")[:3]]
        assert first == sorted(range(3), key=lambda c: hash_of(draw, f"class {c}"))


def test_random_order_ignores_classes(make_rows: MakeRows) -> None:
    rows = make_rows([0] * 9 + [1])
    expected = sorted(range(10), key=lambda i: hash_of(0, rows.row_ids[i]))
    assert draw_order(rows, draw=0, order="random").tolist() == expected


@given(st.lists(st.integers(0, 5), min_size=1, max_size=150), st.integers(0, 50))
def test_every_prefix_is_proportional(make_rows: MakeRows, labels: list[int], draw: int) -> None:
    rows = make_rows(labels)
    order = draw_order(rows, draw=draw, order="stratified")
    assert sorted(order.tolist()) == list(range(len(labels)))
    sizes, taken = Counter(labels), Counter[int]()
    for i in order.tolist():
        c = labels[i]
        key = (taken[c] + 0.5) / sizes[c]
        taken[c] += 1
        for other, size in sizes.items():
            assert abs(taken[other] - key * size) <= 0.5 + 1e-9


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 9))
def test_two_classes_are_within_one_row_of_their_share(make_rows: MakeRows, zeros: int, ones: int, draw: int) -> None:
    rows = make_rows([0] * zeros + [1] * ones)
    order = draw_order(rows, draw=draw, order="stratified")
    for n in range(1, zeros + ones + 1):
        found = np.bincount(rows.labels[order[:n]], minlength=2)
        assert np.all(np.abs(found - n * np.array([zeros, ones]) / (zeros + ones)) <= 1)


def test_budgets_are_nested_and_draws_differ(make_rows: MakeRows) -> None:
    rows = make_rows([i % 3 for i in range(900)])
    fits = [spend(rows, budget(n), validation=False).fit for n in (4, 100, 299, 300, 900)]
    for small, large in pairwise(fits):
        assert small.tolist() == large[: len(small)].tolist()
    other = spend(rows, budget(100, draw=1), validation=False).fit
    assert set(other.tolist()) != set(fits[1].tolist())


def test_below_300_labels_nothing_validates(make_rows: MakeRows) -> None:
    rows = make_rows([i % 2 for i in range(400)])
    spent = spend(rows, budget(299), validation=True)
    assert (len(spent.fit), len(spent.validation), len(spent.unlabelled)) == (299, 0, 101)
    spent = spend(rows, budget(300), validation=True)
    # ranks 0…149 a class: ordinal 0 validates at r = 4, 9, …; ordinal 1 at r = 3, 8, …
    assert (len(spent.fit), len(spent.validation), len(spent.unlabelled)) == (240, 60, 100)
    spent = spend(rows, budget(300), validation=False)
    assert (len(spent.fit), len(spent.validation), len(spent.unlabelled)) == (300, 0, 100)


def test_validation_rows_are_those_of_the_rule(make_rows: MakeRows) -> None:
    rows = make_rows([i % 3 for i in range(360)])
    order = draw_order(rows, draw=2, order="stratified").tolist()
    rank, expected = [0, 0, 0], []
    for i in order:
        c = i % 3
        if (rank[c] + c) % 5 == 4:
            expected.append(i)
        rank[c] += 1
    assert spend(rows, budget("all", draw=2), validation=True).validation.tolist() == expected


@pytest.mark.parametrize("labels", [301, 1000])
def test_a_budget_above_the_pool_is_refused(make_rows: MakeRows, labels: int) -> None:
    with pytest.raises(NotApplicable, match=rf"budget.labels={labels} is more than the 300 labelled rows .* use at most 300, or all"):
        spend(make_rows([0, 1] * 150), budget(labels), validation=False)


bundled = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 150), st.integers(0, 60)),
    min_size=400,
    max_size=500,
)


@settings(max_examples=25, deadline=None)
@given(bundled, st.integers(0, 5), st.booleans(), st.sampled_from(["stratified", "random"]))
def test_sides(make_rows: MakeRows, rows_: list[tuple[int, int, int]], draw: int, with_groups: bool, order: str) -> None:
    """Fit and validation sum to N, keep their sides from budget to budget, and neither cluster nor group straddles."""
    rows = make_rows(
        [label for label, _, _ in rows_],
        clusters=[cluster for _, cluster, _ in rows_],
        # every tenth row alone in its group: otherwise chains of groups and clusters tie nearly all rows together
        groups=[f"g{group // 20}" if i % 10 == 0 else f"row {i}" for i, (_, _, group) in enumerate(rows_)] if with_groups else None,
    )
    try:
        large = spend(rows, budget("all", draw=draw, order=order), validation=True)
        small = spend(rows, budget(310, draw=draw, order=order), validation=True)
    except DataError:  # all chained together; refused in a test of its own
        reject()
    for spent, n in ((large, len(rows)), (small, 310)):
        assert len(spent.fit) + len(spent.validation) == n
        sides = [set(part.tolist()) for part in (spent.fit, spent.validation, spent.unlabelled)]
        assert sum(map(len, sides)) == len(set.union(*sides)) == len(rows)
        fit, validation = (rows.take(part) for part in (spent.fit, spent.validation))
        assert not set(fit.clusters.tolist()) & set(validation.clusters.tolist())
        assert not set(fit.groups or ()) & set(validation.groups or ())
    assert set(small.fit.tolist()) <= set(large.fit.tolist())
    assert set(small.validation.tolist()) <= set(large.validation.tolist())


def test_an_earlier_row_of_the_cluster_chooses_the_side(make_rows: MakeRows) -> None:
    plain = make_rows([0] * 300)
    order = draw_order(plain, draw=0, order="stratified")
    clusters = list(range(300))
    clusters[order[9]] = clusters[order[0]]  # rank 9 would validate, but rank 0 of its cluster fits
    clusters[order[10]] = clusters[order[4]]  # rank 10 would fit, but rank 4 of its cluster validates
    spent = spend(make_rows([0] * 300, clusters=clusters), budget(300), validation=True)
    assert spent.validation.tolist() == [order[r] for r in range(300) if (r % 5 == 4 and r != 9) or r == 10]


def test_groups_chained_by_clusters_are_one_bundle(make_rows: MakeRows) -> None:
    rows = make_rows([0] * 300, groups=["one"] * 150 + ["two"] * 150, clusters=[*range(299), 0])
    with pytest.raises(DataError, match=r"budget.labels=300 cannot be divided .* use a finer dataset.group, or fewer than 300 labels"):
        spend(rows, budget(300), validation=True)


@given(st.permutations(range(40)))
def test_order_of_rows_does_not_matter(make_rows: MakeRows, permutation: list[int]) -> None:
    rows = make_rows([i % 3 for i in range(40)])
    shuffled = rows.take(permutation)
    here = [rows.row_ids[i] for i in draw_order(rows, draw=1, order="stratified")]
    there = [shuffled.row_ids[i] for i in draw_order(shuffled, draw=1, order="stratified")]
    assert here == there
