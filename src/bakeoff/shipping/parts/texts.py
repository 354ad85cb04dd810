"""How much of a document a model of words reads."""

from typing import Any

from bakeoff.data.cuts import shares, spans
from bakeoff.data.longdoc import share_out
from bakeoff.data.sentences import rank_sentences, split_sentences
from bakeoff.data.tokens import Document, cut_words, split_words
from bakeoff.spec import LongDoc


class WholeText:
    """All of it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        pass

    def text(self, document: Document) -> Document:
        """The document as it is."""
        return document


class CutText:
    """Some words and punctuation marks of a text that has too many."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.longdoc = LongDoc(**settings["longdoc"])

    def text(self, document: Document) -> Document:
        """The parts that are read, joined by spaces."""
        assert isinstance(document, str)
        most = self.longdoc.max_tokens
        if most is None or len(split_words(document)) <= most:
            return document
        return cut_words(document, lambda length: spans(length, most, self.longdoc))


class CutTexts:
    """Both texts of a pair, the longer of which loses words first."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.longdoc = LongDoc(**settings["longdoc"])

    def text(self, document: Document) -> Document:
        """The start of each text."""
        assert not isinstance(document, str)
        first, second = (len(split_words(text)) for text in document)
        most = self.longdoc.max_tokens
        if most is None or first + second <= most:
            return document
        kept = share_out(first, second, most)
        return first_words(document[0], kept[0]), first_words(document[1], kept[1])


class SelectedText:
    """The best sentences of a text that is too long."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.longdoc = LongDoc(**settings["longdoc"])

    def text(self, document: Document) -> Document:
        """The sentences that are read, in their order."""
        assert isinstance(document, str)
        most, rank = self.longdoc.max_tokens, self.longdoc.rank
        if most is None or rank is None or len(split_words(document)) <= most:
            return document
        sentences = split_sentences(document)
        read = shares([len(split_words(sentence)) for sentence in sentences], rank_sentences(sentences, rank), most)
        return " ".join(first_words(sentence, share) for sentence, share in zip(sentences, read.tolist(), strict=True) if share)


def first_words(text: str, most: int) -> str:
    """At most so many words and punctuation marks of a text."""
    return cut_words(text, lambda length: [slice(0, min(length, most))])
