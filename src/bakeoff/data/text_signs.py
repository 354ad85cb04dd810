"""Signs that texts are not what a tokeniser expects, which costs points in silence. They count rows and quote none."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bakeoff import spec
from bakeoff.data import checkpoint, vocabulary_fit
from bakeoff.data.dataset import Rows
from bakeoff.data.tokens import CheckpointTokeniser

MIN_WORDS = 5
"""A text of fewer words may well lack a punctuation mark."""
MIN_TEXTS = 20
"""Fewer texts say nothing of how all of them were prepared."""
MIN_SHARE = 0.5
"""Of texts that show the sign. Raw English lacks a mark, or a capital, in up to one text of ten; prepared text in all."""
MAX_PIECES = 2.5
"""Word-pieces a word or punctuation mark. English has about 1.1, and 1.8 in the most broken text of a hundred."""

OF_PREPARING = frozenset({"stripped_punctuation", "split_characters", "lower_cased"})
"""The signs of what somebody did to raw texts, of which texts that are generated say nothing."""

_MARK = re.compile(r"[^\w\s]")
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Each may be a word, and is a word-piece of its own to BERT's kin, with spaces around it or without."""
_WORD = re.compile(f"[{_IDEOGRAPHS}]|[^\\W{_IDEOGRAPHS}]+|[^\\w\\s]")
_LONE = re.compile(f"[^{_IDEOGRAPHS}]")
_TAIL = "\u0080-\u00bf€‚ƒ„†‡ˆ‰Š‹ŒŽ‘“•–—˜™š›œžŸ"
"""What the second and later bytes of a letter of UTF-8 become; … ’ ” may well follow a word, and count behind â€ alone."""
_MOJIBAKE = re.compile(f"[ÃÂ][{_TAIL}]|(?:[ÎÏÐÑ×ØÙ][{_TAIL}]){{2}}|â[{_TAIL}][{_TAIL}…’”]|ð[\u009fŸ]|ï»¿|\ufffd")
"""UTF-8 that was read as Latin-1 or Windows-1252: é as two characters, a curly quote as three, an emoji as four, two letters of
Greek, Cyrillic, Hebrew or Arabic as two each; and characters already lost."""
_HTML = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>|&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


@dataclass(frozen=True, kw_only=True)
class Tokenised:
    """How a checkpoint's tokeniser reads some of a dataset's rows."""

    words: npt.NDArray[np.int64]
    """Shape (rows,): words and punctuation marks; every ideograph is a word."""
    pieces: npt.NDArray[np.int64]
    """Shape (rows,): word-pieces, without special tokens."""
    unknown: npt.NDArray[np.int64]
    """Shape (rows,): those of them that stand for whatever the vocabulary does not hold."""
    keeps_case: bool
    fits_weights: bool | None
    """Whether its ids are those that the checkpoint's weights know; None where no weights are used, or none can tell."""


def tokenised(model: spec.Model, rows: Rows) -> Tokenised | None:
    """How the checkpoint of `model` reads `rows`; None for a model without a tokeniser that was made for weights.

    Raises DataError as `checkpoint.resolve`.
    """
    if not isinstance(model, spec.Neural | spec.Frozen | spec.BudgetZero) or model.checkpoint is None:
        return None
    folder = checkpoint.resolve(model.checkpoint, model.revision)
    return reading(folder, CheckpointTokeniser(folder), rows.texts, rows.pairs, uses_weights=_uses_table(model))


def reading(
    folder: Path, tokeniser: CheckpointTokeniser, texts: Sequence[str], pairs: Sequence[str] | None = None, *, uses_weights: bool
) -> Tokenised:
    """How the tokeniser of the checkpoint in `folder` reads texts, or pairs of them.

    With `uses_weights` the model starts from the checkpoint's word-piece table, so that its ids have to fit that.
    """
    columns = [texts] if pairs is None else [texts, pairs]
    encoded = [tokeniser.encode(column) for column in columns]
    unknown = -1 if tokeniser.unknown_id is None else tokeniser.unknown_id
    return Tokenised(
        words=np.sum([[_count_words(text) for text in column] for column in columns], axis=0, dtype=np.int64),
        pieces=np.sum([[len(ids) for ids in column] for column in encoded], axis=0, dtype=np.int64),
        unknown=np.sum([[np.count_nonzero(ids == unknown) for ids in column] for column in encoded], axis=0, dtype=np.int64),
        keeps_case=tokeniser.keeps_case,
        fits_weights=vocabulary_fit.fits(folder, tokeniser.pieces) if uses_weights else None,
    )


def signs(texts: Sequence[str], read: Tokenised | None) -> Iterator[tuple[str, int, str]]:
    """Code, number of rows and message of every sign, counts of 0 included; `read` is how a checkpoint reads some of the rows."""
    long = [text for text in texts if len(text.split()) >= MIN_WORDS]
    unmarked = _most([_MARK.search(text) is None for text in long])
    yield (
        "stripped_punctuation",
        unmarked,
        f"{unmarked:,} of {len(long):,} texts of {MIN_WORDS} words or more hold no punctuation mark: give a checkpoint raw text",
    )

    apart = _most([2 * sum(_LONE.fullmatch(word) is not None for word in text.split()) > len(text.split()) for text in long])
    yield (
        "split_characters",
        apart,
        f"{apart:,} of {len(long):,} texts of {MIN_WORDS} words or more are mostly single characters: join them into words again",
    )

    mojibake = sum(_MOJIBAKE.search(text) is not None for text in texts)
    yield "mojibake", mojibake, f"{_rows(mojibake)} with letters that were decoded wrongly: decode the file anew, with dataset.encoding"

    html = sum(_HTML.search(text) is not None for text in texts)
    yield "html", html, f"{_rows(html)} with tags or entities of HTML: extract the text first"

    if read is None:
        return
    cased = [text for text in texts if text.lower() != text.upper()]
    lower = _most([text == text.lower() for text in cased]) if read.keeps_case else 0
    yield "lower_cased", lower, f"{lower:,} of {len(cased):,} texts hold no capital, and the checkpoint tells case apart: give it raw text"

    broken = int(((read.pieces > MAX_PIECES * read.words) | (2 * read.unknown > read.pieces)).sum())
    yield (
        "broken_words",
        broken,
        f"{broken:,} of {len(read.pieces):,} texts are broken into more than {MAX_PIECES} pieces a word, or are mostly unknown to the "
        "tokeniser, as another language or codes are",
    )

    foreign = len(read.pieces) if read.fits_weights is False else 0
    yield (
        "foreign_vocabulary",
        foreign,
        f"{_rows(foreign)} read with ids that the checkpoint's weights do not know: use the tokeniser that they were trained with",
    )


def _count_words(text: str) -> int:
    """Words and punctuation marks. Accents and vowel signs that are characters of their own part no word."""
    return len(_WORD.findall(_MARK.sub(lambda mark: "" if unicodedata.category(mark[0]).startswith("M") else mark[0], text)))


def _most(shown: Sequence[bool]) -> int:
    """How many texts show a sign, where so many do that all must have been prepared alike; otherwise 0."""
    count = sum(shown)
    return count if len(shown) >= MIN_TEXTS and count >= MIN_SHARE * len(shown) else 0


def _uses_table(model: spec.Neural | spec.Frozen | spec.BudgetZero) -> bool:
    """Whether a model starts from the checkpoint's word-piece table, and does not only borrow its tokeniser."""
    if isinstance(model, spec.BiLstm):
        return model.embeddings == "checkpoint"
    return not isinstance(model, spec.Scratch)


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"
