"""A document's sentences, and which of them say most. Both depend on nothing but its text: fixed once, never redrawn."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]

LONGEST_WORDS = 50
"""More words without an end are no sentence: they are divided into even runs."""
RUN_WORDS = 25
"""The most words of such a run."""
SHORTEST_WORDS = 5
"""Fewer are read together with what follows, since a mean over a word or two ranks at random."""
MOST_SENTENCES = 1000
"""In longer documents sentences grow instead of their number, which bounds the memory of a graph of them (8 MB a matrix)."""
DAMPING = 0.85
_ROUNDS, _STILL, _DECIMALS = 200, 1e-9, 6

_WORD = re.compile(r"\w+")
_MARKED_WORD = re.compile(r"\w+(?:['’-]\w+)*[^\w\s]*")
"""A word with what is written against it, so that no run of words ends inside."""
_END = re.compile(
    r"""(?x) (?<!\b\w) (?<!\b(?i:mr|ms|dr|st|vs|jr|sr)) (?<!\b(?i:mrs))  # initials, "e.g." and a few titles end none
    (?<![.!?…]) [.!?…]++ ["'”’)\]]*+ (?=\s) | (?=\n) | (?<=[。！？])"""
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space before it: joined, they are the text.

    One ends at a line's end, and at `.`, `!` or `?` before white space. Over LONGEST_WORDS words without an end, as where
    punctuation was removed, are divided into even runs of RUN_WORDS at most; under SHORTEST_WORDS, or under one in
    MOST_SENTENCES of the document's words, are read together with the next (the last ones with those before).
    """
    words = [match.span() for match in _MARKED_WORD.finditer(text)]
    if not words:
        return [text]
    least = max(SHORTEST_WORDS, -(-len(words) // MOST_SENTENCES))
    cuts, read = [0], 0
    for n_words, end in _ends(text, np.asarray(words, dtype=np.int64)):
        if n_words - read >= least:
            cuts.append(end)
            read = n_words
    if read < len(words) and len(cuts) > 1:
        cuts.pop()
    cuts = [*cuts, len(text)] if cuts[-1] < len(text) else cuts
    return [text[start:end] for start, end in itertools.pairwise(cuts)]


def _ends(text: str, words: Numbers) -> Iterator[tuple[int, int]]:
    """Words until the end of each sentence or run, and the place where it ends; `words` are their places, shape (words, 2)."""
    places = np.unique([match.end() for match in _END.finditer(text)] + [len(text)])
    last_of = dict(zip(np.searchsorted(words[:, 0], places).tolist(), places.tolist(), strict=True))
    before = 0
    for n_words, place in last_of.items():
        length = n_words - before
        runs = -(-length // RUN_WORDS) if length > LONGEST_WORDS else 1
        for run in range(1, runs):
            until = before + run * length // runs
            yield until, int(words[until - 1, 1])
        if length:
            yield n_words, place
        before = n_words


def rank_sentences(sentences: Sequence[str], by: Literal["tfidf", "textrank"]) -> Numbers:
    """The sentences of one document, numbers of shape (sentences,), best first; of equals the earlier one is better.

    Words are lower-cased. `tfidf`: the mean over a sentence's words of (1 + ln tf) · ln(S / sf), where tf is how often the
    document has the word, S its number of sentences, and sf how many of them hold the word; no other document has a say.
    `textrank`: the graph of Mihalcea & Tarau (2004), as `textrank` says.
    """
    found = [_WORD.findall(sentence.lower()) for sentence in sentences]
    numbers: dict[str, int] = {}
    columns = np.asarray([numbers.setdefault(word, len(numbers)) for words in found for word in words], dtype=np.int64)
    lengths = np.asarray([len(words) for words in found], dtype=np.int64)
    rows = np.repeat(np.arange(len(found)), lengths)
    counts = csr_matrix((np.ones(len(columns)), (rows, columns)), shape=(len(found), len(numbers)))  # repeated words add up
    scores = tfidf(counts, lengths) if by == "tfidf" else textrank(counts, lengths)
    return np.argsort(-scores.round(_DECIMALS), kind="stable")


def tfidf(counts: csr_matrix, lengths: Numbers) -> Scores:
    """Scores (sentences,) from how often each holds each word, (sentences, words), and their `lengths` in words."""
    held = np.bincount(counts.indices, minlength=counts.shape[1])
    weights = (1 + np.log(np.asarray(counts.sum(axis=0)).ravel())) * np.log(counts.shape[0] / held)
    return np.asarray(counts @ weights) / np.maximum(lengths, 1)


def textrank(counts: csr_matrix, lengths: Numbers) -> Scores:
    """Scores (sentences,) of Mihalcea & Tarau (2004, TextRank): PageRank over the graph of sentences that share words.

    The similarity of two is the number of words that both hold over ln |a| + ln |b|, their lengths in words (0 where both have
    one word), and WS(i) = (1 - d) + d · Σ_j w_ji / Σ_k w_jk · WS(j) is iterated from 1 until no score moves by 1e-9.
    """
    holds = counts.sign()
    shared = (holds @ holds.T).toarray()
    np.fill_diagonal(shared, 0.0)
    logs = np.log(np.maximum(lengths, 1))
    scale = logs[:, None] + logs[None, :]
    similarity = np.divide(shared, scale, out=np.zeros_like(shared), where=scale > 0)
    strength = similarity.sum(axis=0)
    votes = np.divide(similarity, strength, out=np.zeros_like(similarity), where=strength > 0)
    scores = np.ones(len(lengths))
    for _ in range(_ROUNDS):
        before, scores = scores, (1 - DAMPING) + DAMPING * (votes @ scores)
        if np.abs(scores - before).max(initial=0.0) < _STILL:
            break
    return scores
