"""Documents as a model reads them: the tokens that are kept, between special ones."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bakeoff.data.cuts import shares, spans
from bakeoff.data.longdoc import share_out
from bakeoff.data.sentences import rank_sentences, split_sentences
from bakeoff.data.tokens import Ids
from bakeoff.spec import LongDoc


class Tokens(Protocol):
    """What turns texts into ids."""

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (tokens,) a text."""
        ...


class CutReading:
    """A text, of which some tokens are left out where it is too long."""

    def __init__(self, settings: dict[str, Any], tokens: Tokens) -> None:
        self.tokens, self.longdoc = tokens, LongDoc(**settings["longdoc"])
        self.prefix, self.suffix = (np.asarray(settings["frame"][part], dtype=np.int32) for part in ("prefix", "suffix"))
        most = self.longdoc.max_tokens
        self.room = None if most is None else most - len(self.prefix) - len(self.suffix)

    def ids(self, documents: Sequence[str]) -> list[Ids]:
        """One array of shape (tokens read,) a document."""
        return [
            np.concatenate([self.prefix, *(each[span] for span in spans(len(each), self.room, self.longdoc)), self.suffix])
            for each in self.tokens.encode(documents)
        ]


class SelectReading:
    """A text, of which the best sentences are read where it is too long."""

    def __init__(self, settings: dict[str, Any], tokens: Tokens) -> None:
        self.tokens, self.longdoc = tokens, LongDoc(**settings["longdoc"])
        self.prefix, self.suffix = (np.asarray(settings["frame"][part], dtype=np.int32) for part in ("prefix", "suffix"))
        assert self.longdoc.max_tokens is not None
        self.room = self.longdoc.max_tokens - len(self.prefix) - len(self.suffix)

    def ids(self, documents: Sequence[str]) -> list[Ids]:
        """One array of shape (tokens read,) a document."""
        return [
            np.concatenate([self.prefix, *([each] if len(each) <= self.room else self._selected(document)), self.suffix])
            for document, each in zip(documents, self.tokens.encode(documents), strict=True)
        ]

    def _selected(self, document: str) -> list[Ids]:
        """The tokens of the sentences that are read, in document order."""
        assert self.longdoc.rank is not None
        sentences = split_sentences(document)
        tokens = self.tokens.encode(sentences)
        kept = shares([len(each) for each in tokens], rank_sentences(sentences, self.longdoc.rank), self.room)
        return [each[:most] for each, most in zip(tokens, kept.tolist(), strict=True)]


class PairReading:
    """Two texts between the special tokens of a pair; the longer one loses tokens first."""

    def __init__(self, settings: dict[str, Any], tokens: Tokens) -> None:
        self.tokens, pair = tokens, settings["frame"]["pair"]
        self.prefix, self.middle, self.suffix = (np.asarray(pair[part], dtype=np.int32) for part in ("prefix", "middle", "suffix"))
        most = settings["longdoc"]["max_tokens"]
        self.room = None if most is None else most - len(self.prefix) - len(self.middle) - len(self.suffix)

    def ids(self, documents: Sequence[tuple[str, str]]) -> list[Ids]:
        """One array of shape (tokens read,) a pair."""
        firsts, seconds = (self.tokens.encode([document[part] for document in documents]) for part in (0, 1))
        found = []
        for first, second in zip(firsts, seconds, strict=True):
            kept = (len(first), len(second)) if self.room is None else share_out(len(first), len(second), self.room)
            found.append(np.concatenate([self.prefix, first[: kept[0]], self.middle, second[: kept[1]], self.suffix]))
        return found
