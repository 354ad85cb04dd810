"""How a document longer than the model's window is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bakeoff.data.tokens import Document, Ids, Tokeniser, first_words, split_words
from bakeoff.errors import NotApplicable
from bakeoff.spec import LongDoc

Content = Ids | tuple[Ids, Ids]
"""A document's tokens without special ones: those of its text, or of the two texts of a pair."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Documents as a model reads them: ids with special tokens, and what was there to read."""

    ids: list[Ids]
    """One array of shape (tokens read,) a document."""
    lengths_tokens: npt.NDArray[np.int64]
    """Shape (documents,): whole lengths, special tokens included."""

    @property
    def truncated(self) -> npt.NDArray[np.bool_]:
        """Shape (documents,): whether tokens were left out."""
        return np.asarray([len(ids) for ids in self.ids]) < self.lengths_tokens


def read(documents: Sequence[Document], tokeniser: Tokeniser, longdoc: LongDoc) -> Reading:
    """Tokenise raw texts, or pairs of them, and keep what the strategy reads; `longdoc.max_tokens` counts special tokens.

    Raises NotApplicable as `frame` does.
    """
    return frame(content(documents, tokeniser.encode), tokeniser, longdoc)


def content(documents: Sequence[Document], encode: Callable[[Sequence[str]], list[Ids]]) -> list[Content]:
    """The tokens of each document by `encode`, which is given the texts alone, those of pairs one column after the other."""
    found: list[Content] = list(encode([document if isinstance(document, str) else document[0] for document in documents]))
    paired = [row for row, document in enumerate(documents) if not isinstance(document, str)]
    for row, second in zip(paired, encode([documents[row][1] for row in paired]) if paired else [], strict=True):
        found[row] = (found[row], second)  # type: ignore[assignment]
    return found


def frame(content: Sequence[Content], tokeniser: Tokeniser, longdoc: LongDoc) -> Reading:
    """What the strategy reads of tokenised documents, between the special tokens that their tokeniser sets around them.

    Of a pair that is too long, the longer text loses tokens first, as in transformers. Raises NotApplicable for pairs that
    the tokeniser has no special tokens to tell apart, or where `longdoc.max_tokens` leaves no room for both texts.
    """
    prefix = np.asarray(tokeniser.prefix, dtype=np.int32)
    suffix = np.asarray(tokeniser.suffix, dtype=np.int32)
    n_special = len(prefix) + len(suffix)
    room = None if longdoc.max_tokens is None else longdoc.max_tokens - n_special
    pair = _PairFraming(tokeniser, longdoc) if any(isinstance(each, tuple) for each in content) else None
    ids, lengths = [], []
    for each in content:
        if isinstance(each, tuple):
            assert pair is not None
            ids.append(pair.of(*each))
            lengths.append(len(each[0]) + len(each[1]) + pair.n_special)
        else:
            ids.append(np.concatenate([prefix, each[:room], suffix]))
            lengths.append(len(each) + n_special)
    return Reading(ids=ids, lengths_tokens=np.asarray(lengths, dtype=np.int64))


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


def read_words(document: Document, most: int | None) -> Document:
    """What a model over words reads of a document: its first `most` words and punctuation marks, shared out between a pair."""
    if most is None:
        return document
    if isinstance(document, str):
        return first_words(document, most)
    first, second = document
    kept = share_out(len(split_words(first)), len(split_words(second)), most)
    return first_words(first, kept[0]), first_words(second, kept[1])


def count_words(documents: Sequence[Document]) -> npt.NDArray[np.int64]:
    """Words and punctuation marks of each document, of both texts of a pair; shape (documents,)."""
    texts = [(document,) if isinstance(document, str) else document for document in documents]
    return np.asarray([sum(len(split_words(text)) for text in each) for each in texts], dtype=np.int64)
