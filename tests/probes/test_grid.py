"""Generated documents have exactly the length asked for, in each model's own tokens."""

from collections.abc import Sequence

import numpy as np
import pytest

from bakeoff.data.tokens import split_words
from bakeoff.errors import NotApplicable
from bakeoff.probes.grid import LENGTHS_TOKENS, documents_of

TEXTS = ["The film was good, unbelievably good.", "A dull one", "?!", ""]


def words(texts: Sequence[str]) -> np.ndarray:
    return np.array([len(split_words(text)) for text in texts])


def pieces(texts: Sequence[str]) -> np.ndarray:
    """Two special tokens, and a piece for every four letters."""
    return np.array([2 + sum(-(-len(word) // 4) for word in text.split()) for text in texts])


def test_lengths_double_from_8_to_4096() -> None:
    assert LENGTHS_TOKENS == (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


@pytest.mark.parametrize("tokens", LENGTHS_TOKENS)
@pytest.mark.parametrize("count_tokens", [words, pieces])
def test_documents_have_the_length(tokens: int, count_tokens: object) -> None:
    made = documents_of(tokens, 5, TEXTS, count_tokens)  # type: ignore[arg-type]
    assert count_tokens(made).tolist() == [tokens] * 5  # type: ignore[operator]
    assert len(set(made)) == 5
    assert {word for text in made for word in text.split()} <= {
        "The",
        "film",
        "was",
        "A",
        "dull",
        "one",
        *(["unbelievably"] if count_tokens is words else []),
    }
    assert made == documents_of(tokens, 5, TEXTS, count_tokens)  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", [[], ["", "  "], ["?!"], ["unbelievably"]])
def test_without_a_word_of_one_token_there_is_no_grid(texts: list[str]) -> None:
    with pytest.raises(NotApplicable, match="needs words that are one token each"):
        documents_of(8, 2, texts, pieces)


def test_special_tokens_leave_room() -> None:
    with pytest.raises(NotApplicable, match="2 tokens leave no room for a word beside 2 special tokens"):
        documents_of(2, 2, TEXTS, pieces)
