"""Texts to token ids, without special tokens."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from bakeoff.data.tokens import EMPTY, UNKNOWN, Ids, split_words


class PieceTokens:
    """The tokeniser of `tokenizer.json`, which reads the characters of a special token as text."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (tokens,) a text."""
        encodings = self.backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.asarray(encoding.ids, dtype=np.int32) for encoding in encodings]


class WordTokens:
    """The words of `vocabulary.json`, lower-cased, and punctuation marks."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        words = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        self.ids = {word: i for i, word in enumerate(words, start=3)}

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (words,) a text; a text without words is the one token EMPTY."""
        ids = self.ids
        return [np.asarray([ids.get(word, UNKNOWN) for word in split_words(text)] or [EMPTY], dtype=np.int32) for text in texts]
