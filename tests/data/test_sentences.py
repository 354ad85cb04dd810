"""Sentences and what ranks them, by hand and against the formulas written out."""

import math
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from bakeoff.data.sentences import DAMPING, MOST_SENTENCES, rank_sentences, split_sentences, textrank, tfidf
from bakeoff.data.tokens import split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("  \n ", ["  \n "]),
        ("...", ["..."]),
        ("one two three four five", ["one two three four five"]),
        ("one two three four five. six", ["one two three four five. six"]),
        ("a b c d ee. f g h i jj! k l m n oo?", ["a b c d ee.", " f g h i jj!", " k l m n oo?"]),
        ("a b c d e\nf g h i j\n\n", ["a b c d e", "\nf g h i j\n\n"]),
        ("ok. a b c d ee. f g h i jj.", ["ok. a b c d ee.", " f g h i jj."]),  # a word alone waits for more
        ("it was very , very bad . then it was over now .", ["it was very , very bad .", " then it was over now ."]),
        ('He said "I was there today." And so were all of us.', ['He said "I was there today."', " And so were all of us."]),
        ("We met Mr. Smith and Mrs. Jones of St. Ives, e.g. on 3.5 days.", None),
        ("We went to the U.S. in the days of J. F. Kennedy", None),
        ("a b c d ee... f g h i j", ["a b c d ee...", " f g h i j"]),
        ("一 二 三 四 五。六 七 八 九 十", ["一 二 三 四 五。", "六 七 八 九 十"]),
    ],
)
def test_where_sentences_end(text: str, expected: list[str] | None) -> None:
    assert split_sentences(text) == (expected or [text])


def test_words_without_an_end_are_divided_into_even_runs() -> None:
    words = [f"w{i}" for i in range(60)]
    assert split_sentences(" ".join(words[:50])) == [" ".join(words[:50])]
    found = split_sentences(" ".join(words))
    assert [len(run.split()) for run in found] == [20, 20, 20]
    assert found[1] == " " + " ".join(words[20:40])


def test_a_run_ends_behind_what_is_written_against_its_last_word() -> None:
    found = split_sentences(" ".join(["it's, good-ish; (yes)"] * 17))
    assert [run.strip()[-1] for run in found] == [";", ",", ")"]


def test_a_short_end_is_read_with_what_stands_before_it() -> None:
    assert split_sentences("a b c d ee. f g h i jj. k ll.") == ["a b c d ee.", " f g h i jj. k ll."]


@given(st.text(alphabet="ab1.!?\"')\n \t,-’é。", max_size=300))
def test_sentences_joined_are_the_text_and_so_are_their_words(text: str) -> None:
    found = split_sentences(text)
    assert "".join(found) == text
    assert [word for sentence in found for word in split_words(sentence)] == split_words(text)


@pytest.mark.parametrize("line", ["word word.\n", "a " * 7, "one line of the eight words it holds\n", "." * 7, ". ", "\n", "x"])
def test_a_document_of_50_000_tokens_stays_bounded(line: str) -> None:
    text = line * (50_000 * max(1, len(line) // 7) // max(1, len(line.split())))
    started = time.perf_counter()
    found = split_sentences(text)
    assert 1 <= len(found) <= MOST_SENTENCES
    assert "".join(found) == text
    order = rank_sentences(found, "textrank")
    assert sorted(order.tolist()) == list(range(len(found)))
    assert time.perf_counter() - started < 20


# Ranking.


def counted(sentences: list[str]) -> tuple[csr_matrix, np.ndarray]:
    words = sorted({word for sentence in sentences for word in sentence.split()})
    rows = [[sentence.split().count(word) for word in words] for sentence in sentences]
    return csr_matrix(np.asarray(rows, dtype=float)), np.asarray([len(sentence.split()) for sentence in sentences])


def test_tfidf_by_hand() -> None:
    """x stands twice in one of three sentences, z once, and y in all of them, so that it tells nothing."""
    sentences = ["x x y", "y z", "y"]
    expected = [2 * (1 + math.log(2)) * math.log(3) / 3, math.log(3) / 2, 0.0]
    assert tfidf(*counted(sentences)) == pytest.approx(expected)
    assert rank_sentences(["y", "y z", "X x, y"], "tfidf").tolist() == [2, 1, 0]


def test_textrank_by_hand() -> None:
    """Two sentences that share words vote for each other alone: 1 each; one that shares none has what is left."""
    assert textrank(*counted(["a b c", "b c d", "e f"])) == pytest.approx([1, 1, 1 - DAMPING])
    assert rank_sentences(["e f", "a b c", "b c d"], "textrank").tolist() == [1, 2, 0]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8).map(" ".join), min_size=1, max_size=9))
def test_textrank_is_the_solution_of_its_equation(sentences: list[str]) -> None:
    n = len(sentences)
    bags = [Counter(sentence.split()) for sentence in sentences]
    weight = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            scale = math.log(max(bags[i].total(), 1)) + math.log(max(bags[j].total(), 1))
            if i != j and scale > 0:
                weight[i, j] = len(bags[i].keys() & bags[j].keys()) / scale
    out = weight.sum(axis=1)
    votes = np.asarray([[weight[j, i] / out[j] if out[j] else 0.0 for j in range(n)] for i in range(n)])
    expected = np.linalg.solve(np.eye(n) - DAMPING * votes, np.full(n, 1 - DAMPING))
    matrix, lengths = counted(sentences)
    assert textrank(matrix, lengths) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("by", ["tfidf", "textrank"])
def test_equals_stand_in_document_order_and_nothing_is_drawn(by: str) -> None:
    same = ["a b c", "a b c", "d e", "a b c"]
    assert rank_sentences(same, by).tolist()[:1] == [2 if by == "tfidf" else 0]  # type: ignore[arg-type]
    assert [i for i in rank_sentences(same, by).tolist() if i != 2] == [0, 1, 3]  # type: ignore[arg-type]
    assert rank_sentences(["", "...", "one"], by).tolist() == ([2, 0, 1] if by == "tfidf" else [0, 1, 2])  # type: ignore[arg-type]
