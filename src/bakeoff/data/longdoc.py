"""How a document longer than the model's window is read."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bakeoff.data.cuts import Numbers, shares, spans
from bakeoff.data.sentences import rank_sentences, split_sentences
from bakeoff.data.tokens import Document, Ids, Tokeniser, cut_words, split_words
from bakeoff.errors import NotApplicable
from bakeoff.spec import LongDoc


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """A document that is too long, and its sentences, of which some are read."""

    whole: Ids
    sentences: list[Ids]
    """In document order, the tokens of each."""
    order: Numbers
    """Shape (sentences,): their numbers, best first."""


Content = Ids | tuple[Ids, Ids] | Sentences
"""A document's tokens without special ones: those of its text, of the two texts of a pair, or of its text and its sentences."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Documents as a model reads them: ids with special tokens, and what was there to read."""

    ids: list[Ids]
    """One array of shape (tokens read,) a document. Windows are sliced out of it by the model."""
    lengths_tokens: npt.NDArray[np.int64]
    """Shape (documents,): whole lengths, special tokens included."""

    @property
    def read_tokens(self) -> npt.NDArray[np.int64]:
        """Shape (documents,): tokens that were read, special ones included, each once however many windows hold it."""
        return np.asarray([len(ids) for ids in self.ids], dtype=np.int64)

    @property
    def truncated(self) -> npt.NDArray[np.bool_]:
        """Shape (documents,): whether tokens were left out."""
        return self.read_tokens < self.lengths_tokens


def read(documents: Sequence[Document], tokeniser: Tokeniser, longdoc: LongDoc) -> Reading:
    """Tokenise raw texts, or pairs of them, and keep what the strategy reads; `longdoc.max_tokens` counts special tokens.

    Raises NotApplicable as `frame` does.
    """
    return frame(content(documents, tokeniser, longdoc), tokeniser, longdoc)


def content(documents: Sequence[Document], tokeniser: Tokeniser, longdoc: LongDoc, *, now: bool = False) -> list[Content]:
    """The tokens of each document, and of the sentences of one that `select` has to choose from; `now` leaves out the cache.

    The tokeniser is given texts alone, those of pairs one column after the other. Sentences carry the white space before them,
    so that their tokens are those of the whole document, in parts.
    """
    encode = tokeniser.encode_now if now else tokeniser.encode
    found: list[Content] = list(encode([document if isinstance(document, str) else document[0] for document in documents]))
    paired = [row for row, document in enumerate(documents) if not isinstance(document, str)]
    for row, second in zip(paired, encode([documents[row][1] for row in paired]) if paired else [], strict=True):
        found[row] = (found[row], second)  # type: ignore[assignment]
    if longdoc.strategy == "select":
        _add_sentences(found, documents, encode, longdoc=longdoc, room=_room(longdoc, tokeniser))
    return found


def selecting_seconds(documents: Sequence[Document], tokeniser: Tokeniser, longdoc: LongDoc) -> float:
    """What it takes to tokenise `documents` and to rank their sentences, without the cache; 0 where no sentence is chosen.

    Only ranking is slow enough to count beside a model that reads tokens: milliseconds a document, as a small encoder.
    """
    if longdoc.strategy != "select":
        return 0.0
    started = time.perf_counter()
    content(documents, tokeniser, longdoc, now=True)
    return time.perf_counter() - started


def _add_sentences(
    found: list[Content],
    documents: Sequence[Document],
    encode: Callable[[Sequence[str]], list[Ids]],
    *,
    longdoc: LongDoc,
    room: int | None,
) -> None:
    """Put `Sentences` in the place of every text of more than `room` tokens."""
    assert longdoc.rank is not None, "readings refuses select without its rank"
    split = {
        row: split_sentences(text)
        for row, (text, each) in enumerate(zip(documents, found, strict=True))
        if isinstance(text, str) and isinstance(each, np.ndarray) and room is not None and len(each) > room
    }
    encoded = iter(encode([sentence for sentences in split.values() for sentence in sentences]) if split else [])
    for row, sentences in split.items():
        tokens = [next(encoded) for _ in sentences]
        found[row] = Sentences(whole=found[row], sentences=tokens, order=rank_sentences(sentences, longdoc.rank))  # type: ignore[arg-type]


def frame(content: Sequence[Content], tokeniser: Tokeniser, longdoc: LongDoc) -> Reading:
    """What the strategy reads of tokenised documents, between the special tokens that their tokeniser sets around them.

    Of a pair that is too long, the longer text loses tokens first, as in transformers. Raises NotApplicable for pairs that
    the tokeniser has no special tokens to tell apart, or where `longdoc.max_tokens` leaves no room for both texts.
    """
    prefix = np.asarray(tokeniser.prefix, dtype=np.int32)
    suffix = np.asarray(tokeniser.suffix, dtype=np.int32)
    room, n_special = _room(longdoc, tokeniser), len(prefix) + len(suffix)
    pair = _PairFraming(tokeniser, longdoc) if any(isinstance(each, tuple) for each in content) else None
    ids, lengths = [], []
    for each in content:
        if isinstance(each, tuple):
            assert pair is not None
            ids.append(pair.of(*each))
            lengths.append(len(each[0]) + len(each[1]) + pair.n_special)
        elif isinstance(each, Sentences):
            kept = shares([len(sentence) for sentence in each.sentences], each.order, room)
            parts = [sentence[:most] for sentence, most in zip(each.sentences, kept.tolist(), strict=True)]
            ids.append(np.concatenate([prefix, *parts, suffix]))
            lengths.append(len(each.whole) + n_special)
        else:
            ids.append(np.concatenate([prefix, *(each[span] for span in spans(len(each), room, longdoc)), suffix]))
            lengths.append(len(each) + n_special)
    return Reading(ids=ids, lengths_tokens=np.asarray(lengths, dtype=np.int64))


def _room(longdoc: LongDoc, tokeniser: Tokeniser) -> int | None:
    """How many of a text's own tokens are read beside the special ones."""
    return None if longdoc.max_tokens is None else longdoc.max_tokens - len(tokeniser.prefix) - len(tokeniser.suffix)


class _PairFraming:
    """Two texts between a tokeniser's special tokens for pairs."""

    def __init__(self, tokeniser: Tokeniser, longdoc: LongDoc) -> None:
        frame, most = tokeniser.pair, longdoc.max_tokens
        if frame is None:
            raise NotApplicable(
                "dataset.text_pair needs a tokeniser that sets a special token between two texts, which this checkpoint's does not: "
                "choose another checkpoint, or join the two columns in the file"
            )
        self.prefix, self.middle, self.suffix = (np.asarray(part, dtype=np.int32) for part in (frame.prefix, frame.middle, frame.suffix))
        self.n_special = len(self.prefix) + len(self.middle) + len(self.suffix)
        if most is not None and most < self.n_special + 2:
            raise NotApplicable(
                f"longdoc.max_tokens={most} should be at least {self.n_special + 2} for a pair of texts: "
                f"{self.n_special} special tokens and one of each text"
            )
        self.room = None if most is None else most - self.n_special

    def of(self, first: Ids, second: Ids) -> Ids:
        """As much of both as there is room for."""
        if self.room is not None:
            kept = share_out(len(first), len(second), self.room)
            first, second = first[: kept[0]], second[: kept[1]]
        return np.concatenate([self.prefix, first, self.middle, second, self.suffix])


def share_out(first: int, second: int, room: int) -> tuple[int, int]:
    """How many of `first` and `second` tokens are read where `room` of them fit: the longer text loses tokens first.

    From equal lengths on both lose alike, and an odd token stays with the text that was longer (the second of equals), as
    the truncation strategy longest_first of Hugging Face's tokenizers does.
    """
    if first + second <= room:
        return first, second
    short = min(first, second)
    if 2 * short <= room:
        return (short, room - short) if first <= second else (room - short, short)
    low, high = room // 2, room - room // 2
    return (low, high) if first <= second else (high, low)


def read_words(document: Document, longdoc: LongDoc) -> Document:
    """What a model over words reads of a document, by the same rules: words and punctuation marks are its tokens.

    The words of a pair are shared out between its texts. Parts that stood apart are joined by a space.
    """
    most = longdoc.max_tokens
    if most is None or count_words([document])[0] <= most:
        return document
    if not isinstance(document, str):
        first, second = document
        kept = share_out(len(split_words(first)), len(split_words(second)), most)
        return _first_words(first, kept[0]), _first_words(second, kept[1])
    if longdoc.strategy != "select":
        return cut_words(document, lambda length: spans(length, most, longdoc))
    assert longdoc.rank is not None, "readings refuses select without its rank"
    sentences = split_sentences(document)
    read = shares([len(split_words(sentence)) for sentence in sentences], rank_sentences(sentences, longdoc.rank), most)
    return " ".join(_first_words(sentence, share) for sentence, share in zip(sentences, read.tolist(), strict=True) if share)


def _first_words(text: str, most: int) -> str:
    return cut_words(text, lambda length: [slice(0, min(length, most))])


def count_words(documents: Sequence[Document]) -> npt.NDArray[np.int64]:
    """Words and punctuation marks of each document, of both texts of a pair; shape (documents,)."""
    texts = [(document,) if isinstance(document, str) else document for document in documents]
    return np.asarray([sum(len(split_words(text)) for text in each) for each in texts], dtype=np.int64)
