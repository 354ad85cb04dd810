"""What each cut keeps of a document: by hand, against numpy, and for any length and room."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bakery
from bakeoff.data import longdoc
from bakeoff.data.cuts import shares, spans
from bakeoff.data.longdoc import read_words
from bakeoff.data.sentences import rank_sentences, split_sentences
from bakeoff.data.tokens import CheckpointTokeniser, Ids, PairFrame, WordVocabulary, split_words
from bakeoff.spec import LongDoc

OWN = {"head_tail": {"head_share": 0.5}, "select": {"rank": "tfidf"}}
CUTS = ("head", "tail", "head_tail", "middle", "select")
WINDOWS = {"window_tokens": 8, "overlap_tokens": 2, "pool": "mean_logits", "trained_windows": 4}
TEXT = "aa bb cc dd ee ff gg. hh ii jj kk ll mm? aa bb nn oo pp.\nqq aa rr ss tt uu"
"""Of 27 words and marks, in four sentences of 8, 7, 6 and 6."""


def cut(strategy: str, most: int | None, **own: object) -> LongDoc:
    return LongDoc(strategy=strategy, max_tokens=most, **(OWN.get(strategy, {}) | own))  # type: ignore[arg-type]


@dataclass
class Words:
    """A tokeniser that numbers words as they come, between tokens 1 and 2."""

    pad_id: int = 0
    prefix: tuple[int, ...] = (1,)
    suffix: tuple[int, ...] = (2,)
    pair: PairFrame | None = None

    def encode_now(self, texts: Sequence[str]) -> list[Ids]:
        return [np.asarray([3 + int.from_bytes(word.encode()[:3]) for word in split_words(text)], dtype=np.int32) for text in texts]

    encode = encode_now


def kept(letters: str, room: int, strategy: str, **own: object) -> str:
    return "|".join(letters[span] for span in spans(len(letters), room, cut(strategy, 256, **own)))


@pytest.mark.parametrize(
    ("strategy", "own", "expected"),
    [
        ("head", {}, "abcd"),
        ("tail", {}, "ghij"),
        ("middle", {}, "defg"),
        ("head_tail", {}, "ab|ij"),
        ("head_tail", {"head_share": 0.25}, "a|hij"),
        ("head_tail", {"head_share": 0.6}, "ab|ij"),
        ("head_tail", {"head_share": 0.625}, "abc|j"),
        ("head_tail", {"head_share": 0.01}, "a|hij"),
        ("head_tail", {"head_share": 0.99}, "abc|j"),
        ("extended", {"attention_window": 2}, "abcd"),
        ("windows", WINDOWS, "abcd"),
    ],
)
def test_four_of_ten_letters(strategy: str, own: dict[str, object], expected: str) -> None:
    assert kept("abcdefghij", 4, strategy, **own) == expected


def test_odd_numbers() -> None:
    assert kept("abcdefghi", 4, "middle") == "cdef"  # two before, three behind
    assert kept("abcdefghi", 5, "head_tail") == "abc|hi"  # a half goes up
    assert kept("abc", 1, "head_tail") == "a"  # no room for two ends
    assert kept("abc", 0, "tail") == ""
    assert kept("", 3, "tail") == ""


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from(CUTS), st.floats(0.01, 0.99))
def test_any_length_and_room(length: int, room: int, strategy: str, share: float) -> None:
    own = {"head_share": share} if strategy == "head_tail" else {}
    tokens = np.arange(length)
    found = np.concatenate([tokens[span] for span in spans(length, room, cut(strategy, 256, **own))])
    assert len(found) == min(length, room)
    assert (np.diff(found) > 0).all()
    if length <= room:
        assert found.tolist() == tokens.tolist()
    elif strategy == "tail":
        assert found.tolist() == tokens[::-1][:room][::-1].tolist()
    elif strategy == "middle":
        before, behind = (found[0], length - 1 - found[-1]) if room else (0, 0)
        assert 0 <= behind - before <= 1
    elif strategy == "head_tail" and room >= 2:
        head = int(np.sum(found < room))  # all that a head of this room could hold
        head = head if length >= 2 * room else next(i for i in range(room + 1) if i == room or found[i] != i)
        assert 1 <= head <= room - 1
        assert abs(head - share * room) <= 0.5 or head in (1, room - 1)
        assert found[head:].tolist() == tokens[length - (room - head) :].tolist()
    else:
        assert found.tolist() == tokens[:room].tolist()


@given(st.data())
def test_the_best_sentences_fill_the_room_and_the_last_of_them_is_cut(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=20))
    order = np.asarray(data.draw(st.permutations(range(len(lengths)))))
    room = data.draw(st.integers(0, 200))
    left, expected = room, [0] * len(lengths)
    for number in order:
        expected[number] = min(lengths[number], left)
        left -= expected[number]
    read = shares(lengths, order, room)
    assert read.tolist() == expected
    assert read.sum() == min(sum(lengths), room)


def test_shares_by_hand() -> None:
    assert shares([5, 5, 5], np.array([2, 0, 1]), 8).tolist() == [3, 0, 5]
    assert shares([5, 5, 5], np.array([2, 0, 1]), None).tolist() == [5, 5, 5]
    assert shares([5, 5, 5], np.array([2, 0, 1]), -1).tolist() == [0, 0, 0]


# Readings.


def tokens(text: str) -> list[int]:
    return [1, *Words().encode([text])[0].tolist(), 2]


def test_a_cut_stands_between_special_tokens_and_says_what_it_left_out() -> None:
    read = longdoc.read(["aa bb cc dd ee ff", "aa bb", ""], Words(), cut("tail", 6))
    assert [ids.tolist() for ids in read.ids] == [tokens("cc dd ee ff"), tokens("aa bb"), [1, 2]]
    assert read.lengths_tokens.tolist() == [8, 4, 2]
    assert read.read_tokens.tolist() == [6, 4, 2]
    assert read.truncated.tolist() == [True, False, False]
    assert longdoc.read(["aa bb cc dd ee ff"], Words(), cut("head_tail", 6)).ids[0].tolist() == tokens("aa bb ee ff")
    assert longdoc.read(["aa bb cc dd ee ff"], Words(), cut("middle", 6)).ids[0].tolist() == tokens("bb cc dd ee")


def test_special_tokens_that_fill_the_limit_leave_no_text() -> None:
    many = Words(prefix=(1, 1), suffix=(2, 2))
    for strategy in CUTS:
        assert longdoc.read([TEXT], many, cut(strategy, 3)).ids[0].tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("strategy", ["windows", "extended", "full"])
def test_what_reads_on_is_one_sequence_that_a_limit_cuts_like_head(strategy: str) -> None:
    own = {"windows": WINDOWS, "extended": {"attention_window": 4}}.get(strategy, {})
    whole = longdoc.read([TEXT], Words(), cut(strategy, None if strategy != "extended" else 4096, **own))
    assert whole.ids[0].tolist() == tokens(TEXT)
    assert not whole.truncated.any()
    if strategy != "full":
        (ids,) = longdoc.read([TEXT], Words(), cut(strategy, 12, **own)).ids
        assert ids.tolist() == longdoc.read([TEXT], Words(), cut("head", 12)).ids[0].tolist()


def test_select_keeps_document_order_and_cuts_the_last_sentence_that_fits() -> None:
    sentences = split_sentences(TEXT)
    assert [len(split_words(sentence)) for sentence in sentences] == [8, 7, 6, 6]
    assert rank_sentences(sentences, "tfidf").tolist() == [1, 3, 0, 2]
    (ids,) = longdoc.read([TEXT], Words(), cut("select", 18)).ids
    assert ids.tolist() == tokens("aa bb cc hh ii jj kk ll mm? qq aa rr ss tt uu")
    assert longdoc.read([TEXT], Words(), cut("select", 5)).ids[0].tolist() == tokens("hh ii jj")


TEXTS = st.lists(st.sampled_from(["aa", "bb", "cc.", "dd", "ee!", "ff\n", "gg", "(", "hh's"]), max_size=150).map(" ".join)


@given(TEXTS, st.integers(3, 60), st.sampled_from(CUTS), st.sampled_from(["tfidf", "textrank"]))
def test_any_text_is_cut_to_its_room_in_order(text: str, most: int, strategy: str, rank: str) -> None:
    own = {"rank": rank} if strategy == "select" else {}
    whole = longdoc.read([text], Words(), cut("head", 1000)).ids[0]
    read = longdoc.read(["aa bb", text], Words(), cut(strategy, most, **own))
    ids = read.ids[1]
    assert len(ids) == read.read_tokens[1] == min(most, len(whole))
    assert read.lengths_tokens[1] == len(whole)
    rest = iter(whole.tolist())
    assert all(token in rest for token in ids.tolist())  # a subsequence
    if len(whole) <= most:
        assert ids.tolist() == whole.tolist()
    assert ids.tolist() == longdoc.read([text], Words(), cut(strategy, most, **own)).ids[0].tolist()  # whatever stands beside it


@given(TEXTS, st.integers(3, 60), st.sampled_from(CUTS))
def test_models_over_words_are_given_the_words_that_others_read(text: str, most: int, strategy: str) -> None:
    bare = Words(prefix=(), suffix=())
    found = read_words(text, cut(strategy, most))
    assert isinstance(found, str)
    assert bare.encode([found])[0].tolist() == longdoc.read([text], bare, cut(strategy, most)).ids[0].tolist()
    if len(split_words(text)) <= most:
        assert found == text


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("head", "A b, "), ("tail", "e. F"), ("middle", ", c d "), ("head_tail", "A b F"), ("full", "A b, c d e. F")],
)
def test_words_by_hand(strategy: str, expected: str) -> None:
    assert read_words("A b, c d e. F", cut(strategy, None if strategy == "full" else 3)) == expected


def test_a_word_that_grows_in_lower_case_is_still_one() -> None:
    """The small letter of İ is two characters, of which one is no part of a word."""
    assert read_words("İ İ İ İ", cut("tail", 3)) == "İ İ İ"
    assert read_words("İ İ İ İ", cut("head", 3)) == "İ İ İ "


def test_sentences_of_a_checkpoints_tokeniser_are_its_whole_text_in_parts(tmp_path: Path) -> None:
    """Pitfall 31: what the file stores about truncation and padding counts for none of them."""
    folder = bakery.checkpoint(tmp_path / "toy", stored_limit=8)
    tokeniser = CheckpointTokeniser(folder)
    text = " ".join(text + "." for text, _ in bakery.rows(60))
    whole = longdoc.read([text, "hi"], tokeniser, cut("head", 5000))
    assert whole.lengths_tokens.tolist() == [662, 3]  # ten words and a full stop each, and two special tokens
    parts = longdoc.content([text], tokeniser, cut("select", 20))[0]
    assert isinstance(parts, longdoc.Sentences)
    assert len(parts.sentences) == 60
    assert np.concatenate(parts.sentences).tolist() == whole.ids[0][1:-1].tolist()
    windows = longdoc.read([text, "hi"], tokeniser, cut("windows", None, **WINDOWS))
    assert [len(ids) for ids in windows.ids] == [662, 3]


def test_a_selection_is_the_same_from_the_cache_and_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokeniser = CheckpointTokeniser(bakery.checkpoint(tmp_path / "toy"))
    texts = [". ".join(text for text, _ in bakery.rows(30, seed=seed)) for seed in (1, 2)]
    reading = cut("select", 32)
    first = longdoc.read(texts, tokeniser, reading)
    monkeypatch.setattr(tokeniser, "encode_now", forbidden)
    again = longdoc.read(texts, tokeniser, reading)
    monkeypatch.undo()
    now = longdoc.frame(longdoc.content(texts, tokeniser, reading, now=True), tokeniser, reading)
    assert [ids.tolist() for ids in first.ids] == [ids.tolist() for ids in again.ids] == [ids.tolist() for ids in now.ids]
    assert first.read_tokens.tolist() == [32, 32]


forbidden: Callable[[Sequence[str]], list[Ids]] = lambda texts: pytest.fail("the cache has these tokens")  # noqa: E731


def test_a_vocabulary_of_words_reads_cuts_too() -> None:
    words = WordVocabulary.learn([TEXT], min_count=1, max_size=100)
    (ids,) = longdoc.read([TEXT], words, cut("select", 7)).ids
    assert [words.words[i - 3] for i in ids] == split_words("hh ii jj kk ll mm?")


def test_a_capital_with_a_dot_is_one_word_to_cuts_and_counts() -> None:
    """Its lower case is two characters, i and a dot of its own."""
    text = "İstanbul " * 20
    assert longdoc.count_words([text]).tolist() == [20]
    cut = longdoc.read_words(text, LongDoc(strategy="tail", max_tokens=5))
    assert split_words(cut) == ["istanbul"] * 5


def test_no_other_letter_s_lower_case_is_of_another_length_or_kind() -> None:
    """So words stand in a text where they stand in its lower case."""
    letters = [chr(code) for code in range(sys.maxunicode + 1)]
    moved = [each for each in letters if len(each.lower()) != 1 or bool(re.match(r"\w", each)) != bool(re.match(r"\w", each.lower()))]
    assert moved == ["İ"]


def test_only_select_takes_time_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([10.0, 12.5])
    monkeypatch.setattr(longdoc.time, "perf_counter", lambda: next(now))
    words = WordVocabulary(words=("one", "two"))
    assert longdoc.selecting_seconds(["one two"] * 3, words, LongDoc(strategy="head", max_tokens=3)) == 0.0
    assert longdoc.selecting_seconds(["one two"] * 3, words, LongDoc(strategy="select", max_tokens=3, rank="tfidf")) == 2.5
