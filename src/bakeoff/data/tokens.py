"""Raw text to token ids: a checkpoint's own tokeniser, or words learned from the texts that the budget pays for."""

import functools
import hashlib
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bakeoff.cache import cache_root

Ids = npt.NDArray[np.int32]
Document = str | tuple[str, str]
"""What is read as one: a text, or a pair of texts."""

PAD, UNKNOWN, EMPTY = 0, 1, 2
SEPARATOR = "[SEP]"
"""The word between two texts of a pair; no text holds it, since words are lower-cased and brackets are words of their own."""
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

    @property
    def pair(self) -> "PairFrame | None":
        """The special tokens of a pair of texts; None where nothing would tell the two apart."""
        ...

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (tokens,) a text, uncut and without special tokens; may come from a cache on disk."""
        ...

    def encode_now(self, texts: Sequence[str]) -> list[Ids]:
        """What `encode` gives, from the texts themselves, as a served model would."""
        ...


@dataclass(frozen=True, kw_only=True)
class PairFrame:
    """Special tokens before, between and after two texts that are read as one document."""

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    """At least one."""
    suffix: tuple[int, ...]
    segments: bool = False
    """Whether the second text, and what stands after it, is of another segment than what stands before it."""

    @property
    def separator_id(self) -> int | None:
        """The token after whose first appearance the second segment begins; None where segments are not told apart."""
        return self.middle[-1] if self.segments else None


class CheckpointTokeniser:
    """The tokeniser that shipped with a checkpoint, given raw text, with any stored truncation and padding cleared."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoTokenizer

        tokeniser = self._tokeniser = AutoTokenizer.from_pretrained(str(folder))
        self.pad_id = int(tokeniser.pad_token_id or 0)
        self.mask_id: int | None = tokeniser.mask_token_id
        self.unknown_id: int | None = tokeniser.unk_token_id
        self.special_ids = tuple(tokeniser.all_special_ids)
        self._backend = tokeniser.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        # A text that holds the characters of a special token, such as [SEP], is text all the same. (No recipe was raised for
        # it: no text of a starter dataset holds one, so that no published answer moved.)
        self._backend.encode_special_tokens = True
        framed = self._backend.encode("a")
        content = [i for i, special in enumerate(framed.special_tokens_mask) if not special]
        self.prefix = tuple(framed.ids[: content[0]])
        self.suffix = tuple(framed.ids[content[-1] + 1 :])
        self.pair = _pair_frame(self._backend.encode("a", "b"))
        self.fingerprint = hashlib.sha256(f"{self._backend.to_str()}|special tokens as text".encode()).hexdigest()

    def __len__(self) -> int:
        """How many rows a table needs to have one for every id."""
        return int(max(self._tokeniser.get_vocab().values())) + 1

    @property
    def pieces(self) -> dict[str, int]:
        """Word-piece → its id."""
        return dict(self._tokeniser.get_vocab())

    @property
    def keeps_case(self) -> bool:
        """Whether capitals reach the vocabulary, as those of a *cased* checkpoint do: its normaliser leaves them alone."""
        normaliser = self._backend.normalizer
        return normaliser is None or normaliser.normalize_str("A") != "a"

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
    """Lower-cased words and punctuation marks, most frequent first; ids 0, 1, 2 are padding, unknown, empty text.

    One for pairs of texts has SEPARATOR before all of its words.
    """

    words: tuple[str, ...]
    pad_id: int = PAD
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()

    @classmethod
    def learn(cls, documents: Sequence[Document], *, min_count: int, max_size: int, pairs: bool = False) -> "WordVocabulary":
        """The words that stand at least `min_count` times in all texts, at most `max_size` of them; and SEPARATOR, for `pairs`."""
        texts = (text for document in documents for text in ((document,) if isinstance(document, str) else document))
        counts = Counter(word for text in texts for word in split_words(text))
        kept = sorted((word for word, count in counts.items() if count >= min_count), key=lambda word: (-counts[word], word))
        return cls(words=(*([SEPARATOR] if pairs else []), *kept[:max_size]))

    def __len__(self) -> int:
        return len(self.words) + 3

    @property
    def pair(self) -> PairFrame | None:
        """SEPARATOR between two texts; None for a vocabulary without it."""
        return PairFrame(prefix=(), middle=(self._ids[SEPARATOR],), suffix=()) if SEPARATOR in self._ids else None

    @functools.cached_property
    def _ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words, start=3)}

    def encode_now(self, texts: Sequence[str]) -> list[Ids]:
        """One array of shape (words,) a text, never empty: a text without words is the one token EMPTY."""
        ids = self._ids
        return [np.asarray([ids.get(word, UNKNOWN) for word in split_words(text)] or [EMPTY], dtype=np.int32) for text in texts]

    encode = encode_now


def split_words(text: str) -> list[str]:
    """Lower-cased words and single punctuation marks, which stand where `cut_words` finds them in the text as it is.

    The one letter whose lower case is two characters, İ, is read as i: its dot would be a mark of its own.
    """
    return _WORD.findall(text.replace("İ", "i").lower())


def cut_words(text: str, parts: Callable[[int], Sequence[slice]]) -> str:
    """What `parts` keeps of a text of so many words and punctuation marks, from the start of one to that of the next it leaves
    out; joined by spaces."""
    starts = [match.start() for match in _WORD.finditer(text)]
    edges = [0, *starts[1:], len(text)]
    return " ".join(text[edges[part.start] : edges[min(part.stop, len(starts))]] for part in parts(len(starts)))


def _pair_frame(framed: Any) -> PairFrame | None:
    """The special tokens around the tokens of "a" and "b" in their encoding as a pair."""
    first, second = ([i for i, sequence in enumerate(framed.sequence_ids) if sequence == part] for part in (0, 1))
    if not first or not second or second[0] == first[-1] + 1:
        return None
    return PairFrame(
        prefix=tuple(framed.ids[: first[0]]),
        middle=tuple(framed.ids[first[-1] + 1 : second[0]]),
        suffix=tuple(framed.ids[second[-1] + 1 :]),
        segments=framed.type_ids[second[0]] != framed.type_ids[first[0]],
    )


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
