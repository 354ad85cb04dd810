"""Typing errors are keyboard edits, and the same ones whenever the seed is the same."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.claims.keyboard import NEIGHBOURS, edit, mistype

SENTENCE = "The film was not good at all, and nobody in the whole Theatre laughed once."


def test_neighbours_are_the_keys_that_touch() -> None:
    assert {letter: "".join(sorted(NEIGHBOURS[letter])) for letter in "qgpam"} == {
        "q": "aw", "g": "bfhtvy", "p": "lo", "a": "qswz", "m": "jkn",
    }  # fmt: skip
    assert all(letter in NEIGHBOURS[other] for letter, others in NEIGHBOURS.items() for other in others)


def test_edits_are_exact_with_a_seed() -> None:
    assert mistype(SENTENCE, share=0.2, seed=0) == mistype(SENTENCE, share=0.2, seed=0)
    assert mistype(SENTENCE, share=0.2, seed=0) != mistype(SENTENCE, share=0.2, seed=1)
    assert [edit("good", random.Random(seed)) for seed in range(6)] == ["goodd", "ood", "tood", "god", "god", "ogod"]
    assert mistype(SENTENCE, share=0.2, seed=0) == "The film was not good ta al, and nogody in the wholr Theatre laughed once."


@given(st.from_regex(r"[A-Za-z]{2,12}", fullmatch=True), st.integers(0, 10_000))
def test_an_edit_changes_a_word_by_one_slip(word: str, seed: int) -> None:
    typed = edit(word, random.Random(seed))
    assert typed != word
    assert abs(len(typed) - len(word)) <= 1
    if len(typed) == len(word) and sorted(typed) != sorted(word):
        ((before, after),) = ((a, b) for a, b in zip(word, typed, strict=True) if a != b)
        assert after.lower() in NEIGHBOURS[before.lower()]
        assert before.isupper() == after.isupper()


@pytest.mark.parametrize("text", ["", "a 1 2 3 !", "42"])
def test_what_holds_no_word_of_letters_stays(text: str) -> None:
    assert mistype(text, share=1.0, seed=0) == text


def test_shares_nest_and_count() -> None:
    text = " ".join(f"w{chr(97 + i % 26)}rd{chr(97 + i // 26 % 26)}" for i in range(2000))
    words = text.split()
    changed = {
        share: [a != b for a, b in zip(words, mistype(text, share=share, seed=0).split(), strict=True)] for share in (0.0, 0.1, 0.2, 1.0)
    }
    assert (sum(changed[0.0]), sum(changed[1.0])) == (0, 2000)
    assert abs(sum(changed[0.1]) - 200) < 50
    assert all(more or not less for less, more in zip(changed[0.1], changed[0.2], strict=True))
    at_tenth, at_fifth = (mistype(text, share=share, seed=0).split() for share in (0.1, 0.2))
    assert all(a == b for a, b, edited in zip(at_tenth, at_fifth, changed[0.1], strict=True) if edited)


def test_what_is_no_letter_stays_where_it_is() -> None:
    assert re.sub(r"[A-Za-z]+", "", mistype(SENTENCE, share=1.0, seed=3)) == re.sub(r"[A-Za-z]+", "", SENTENCE)
