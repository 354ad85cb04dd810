"""Raw text to token ids: a checkpoint's own tokeniser, or words learned from the texts that the budget pays for."""

import functools
import hashlib
import itertools
import os
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bakeoff.cache import cache_root

Ids = npt.NDArray[np.int32]

PAD, UNKNOWN, EMPTY = 0, 1, 2
_WORD = re.compile(r"\w+|[^\w\s]")


class Tokeniser(Protocol):
    """What turns texts into ids, without special tokens; `prefix` and `suffix` frame what a model reads."""

    @property
    def pad_id(self) -> int:
        """What fills a short document's row up."""
        ...

    @property
    def prefix(self) -> tuple[int, ...]:
        """Special tokens before a document."""
        ...

    @property
    def suffix(self) -> tuple[int, ...]:
        """Special tokens after a document."""
        ...

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (tokens,) a text, uncut and without special tokens; may come from a cache on disk."""
        ...

    def encode_now(self, texts: Sequence[str]) -> list[Ids]:
        """What `encode` gives, from the texts themselves, as a served model would."""
        ...


class CheckpointTokeniser:
    """The tokeniser that shipped with a checkpoint, given raw text, with any stored truncation and padding cleared."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoTokenizer

        tokeniser = self._tokeniser = AutoTokenizer.from_pretrained(str(folder))
        self.pad_id = int(tokeniser.pad_token_id or 0)
        self._backend = tokeniser.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        framed = self._backend.encode("a")
        content = [i for i, special in enumerate(framed.special_tokens_mask) if not special]
        self.prefix = tuple(framed.ids[: content[0]])
        self.suffix = tuple(framed.ids[content[-1] + 1 :])
        self.fingerprint = hashlib.sha256(self._backend.to_str().encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """Write the tokeniser's files, truncation and padding cleared."""
        self._tokeniser.save_pretrained(str(folder))

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (tokens,) a text; cached on disk by the texts' bytes and the tokeniser's."""
        file = cache_root() / "tokens" / f"{_texts_hash(texts, self.fingerprint)}.npz"
        if (cached := _load(file, len(texts))) is not None:
            return cached
        arrays = self.encode_now(texts)
        _save(file, arrays)
        return arrays

    def encode_now(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (tokens,) a text."""
        encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.asarray(encoding.ids, dtype=np.int32) for encoding in encodings]


@dataclass(frozen=True)
class WordVocabulary:
    """Lower-cased words and punctuation marks, most frequent first; ids 0, 1, 2 are padding, unknown, empty text."""

    words: tuple[str, ...]
    pad_id: int = PAD
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()

    @classmethod
    def learn(cls, texts: Sequence[str], *, min_count: int, max_size: int) -> "WordVocabulary":
        """The words that stand at least `min_count` times in `texts`, at most `max_size` of them."""
        counts = Counter(word for text in texts for word in split_words(text))
        kept = sorted((word for word, count in counts.items() if count >= min_count), key=lambda word: (-counts[word], word))
        return cls(words=tuple(kept[:max_size]))

    def __len__(self) -> int:
        return len(self.words) + 3

    @functools.cached_property
    def _ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words, start=3)}

    def encode_now(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (words,) a text, never empty: a text without words is the one token EMPTY."""
        ids = self._ids
        return [np.asarray([ids.get(word, UNKNOWN) for word in split_words(text)] or [EMPTY], dtype=np.int32) for text in texts]

    encode = encode_now


def split_words(text: str) -> list[str]:
    """Lower-cased words and single punctuation marks."""
    return _WORD.findall(text.lower())


def first_words(text: str, most: int) -> str:
    """The text up to the end of its first `most` words and punctuation marks."""
    found = next(itertools.islice(_WORD.finditer(text), most, None), None)
    return text if found is None else text[: found.start()]


def _texts_hash(texts: Sequence[str], fingerprint: str) -> str:
    digest = hashlib.sha256(fingerprint.encode())
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def _load(file: Path, n_texts: int) -> list[Ids] | None:
    try:
        with np.load(file, allow_pickle=False) as stored:
            flat, ends = stored["flat"], stored["ends"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return list(np.split(flat, ends[:-1])) if len(ends) == n_texts and n_texts else None


def _save(file: Path, arrays: list[Ids]) -> None:
    if not arrays:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.stem}.{os.getpid()}.npz")
    stored: dict[str, Any] = {"flat": np.concatenate(arrays), "ends": np.cumsum([len(array) for array in arrays])}
    np.savez(temporary, **stored)
    os.replace(temporary, file)
