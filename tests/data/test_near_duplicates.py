import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.data import near_duplicates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Call 0845-2810075  NOW\n", "call 0-0 now"),
        ("See https://example.org/a?b=1 or www.Example.org.", "see url or url"),
        ("Write to Jane.Doe+x@mail.example.org today", "write to email today"),
        ("STRASSE straße", "strasse strasse"),
        (" \t\n", ""),
        ("٣ apples", "0 apples"),
    ],
)
def test_mask(text: str, expected: str) -> None:
    assert near_duplicates.mask(text) == expected


def test_mask_takes_linear_time_on_a_long_run_of_letters() -> None:
    assert near_duplicates.mask("a" * 300_000 + "@") == "a" * 300_000 + "@"


def test_worked_example() -> None:
    texts = [
        "one two three four",  # 0 and 1 share 4 of 5 words: exactly 0.8
        "one two three four five",
        "one two three six",  # 3 of 5 with text 0
        "four three two one",  # the words of text 0
        "!!!",
        "!!!",
        "???",
        "",
        "",
    ]
    found = near_duplicates.find(texts)
    assert found.bags.tolist() == [0, 1, 2, 0, 3, 3, 4, 5, 5]
    assert sorted(map(sorted, found.pairs.tolist())) == [[0, 1]]
    assert found.clusters().tolist() == [0, 0, 1, 0, 2, 2, 3, 4, 4]
    assert near_duplicates.clusters(texts).tolist() == found.clusters().tolist()


def test_touches_is_direct_and_clusters_are_chained() -> None:
    texts = ["a b c d", "a b c d e", "a b c d e f", "x y"]  # 4/5, then 5/6, but 4/6 between the ends
    found = near_duplicates.find(texts)
    assert found.clusters().tolist() == [0, 0, 0, 1]
    assert found.touches(np.array([True, False, False, False])).tolist() == [True, True, False, False]
    assert found.touches(np.array([False, True, False, False])).tolist() == [True, True, True, False]
    assert found.touches(np.zeros(4, dtype=bool)).tolist() == [False] * 4


def test_no_texts() -> None:
    assert near_duplicates.clusters([]).tolist() == []
    assert near_duplicates.clusters(["", "!"]).tolist() == [0, 1]


words = st.sampled_from(list("abcdefghijkl"))
bags_of_words = st.lists(st.lists(words, max_size=12).map(" ".join), max_size=25)


@given(bags_of_words)
def test_pairs_equal_brute_force(texts: list[str]) -> None:
    found = near_duplicates.find(texts)
    sets = [set(text.split()) for text in texts]
    near = np.zeros((len(texts), len(texts)), dtype=bool)
    for a, b in found.pairs.tolist():
        for i in np.flatnonzero(found.bags == a):
            for j in np.flatnonzero(found.bags == b):
                near[i, j] = near[j, i] = True
    for i in range(len(texts)):
        for j in range(len(texts)):
            union = sets[i] | sets[j]
            expected = len(sets[i] & sets[j]) * 5 >= 4 * len(union) if union else texts[i] == texts[j]
            assert (near[i, j] or found.bags[i] == found.bags[j]) == expected


@given(bags_of_words, st.randoms())
def test_clusters_do_not_depend_on_order(texts: list[str], random: object) -> None:
    order = list(range(len(texts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    there = near_duplicates.clusters(texts)
    here = near_duplicates.clusters([texts[i] for i in order])
    for a in range(len(texts)):
        for b in range(len(texts)):
            assert (here[a] == here[b]) == (there[order[a]] == there[order[b]])


@given(st.integers(1, 40), st.data())
def test_components_equal_a_plain_search(count: int, data: st.DataObject) -> None:
    node = st.integers(0, count - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=60))
    expected = list(range(count))
    for _ in range(count):
        for a, b in pairs:
            expected[a] = expected[b] = min(expected[a], expected[b])
    found = near_duplicates.components(count, np.array(pairs, dtype=np.int64).reshape(-1, 2))
    assert found.tolist() == expected


def test_a_long_chain_is_one_component() -> None:
    chain = np.stack([np.arange(9_999), np.arange(1, 10_000)], axis=1)
    assert near_duplicates.components(10_000, chain[::-1]).tolist() == [0] * 10_000
