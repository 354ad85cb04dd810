"""What word embeddings start from: a text file of word vectors, or the word-piece table of a checkpoint."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bakeoff import fingerprint
from bakeoff.cache import cache_root
from bakeoff.data.tokens import WordVocabulary
from bakeoff.errors import DataError
from bakeoff.spec import BiLstm

_TABLES = ("word_embeddings.weight", "tok_embeddings.weight", "embed_tokens.weight", "wte.weight")
"""How the names of word-piece tables end: BERT and its kin, ModernBERT, Llama and its kin, GPT-2."""


_HEADER = re.compile(r"\d+ \d+")


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Rows of an embedding table."""

    rows: npt.NDArray[np.float32]
    """Shape (vocabulary, width); NaN where the source has no vector."""
    share_found: float
    """Share of the words that have a vector, from 0 to 1."""


def of_words(file: Path, vocabulary: WordVocabulary, *, width: int) -> Vectors:
    """The vectors of a vocabulary's words in a text file of GloVe's format: a word and its numbers a line, between spaces.

    A first line of two whole numbers, as word2vec writes it, is skipped; of a word that stands twice, the first counts.
    Raises DataError for a file that is not UTF-8, holds no vectors or those of another width, or breaks off in a line.
    """
    refuse_other_width(file, width)
    n_special = len(vocabulary) - len(vocabulary.words)
    wanted = {word: row for row, word in enumerate(vocabulary.words, start=n_special)}
    rows = np.full((len(vocabulary), width), np.nan, dtype=np.float32)
    for number, line in _lines(file):
        word, _, rest = line.partition(" ")
        row = wanted.get(word)
        if row is None or not np.isnan(rows[row, 0]):
            continue
        fields = rest.split(" ")
        if len(fields) > width:  # a word with a space in it, which no vocabulary of ours has
            continue
        if _n_numbers(fields) != width:
            raise DataError(f"model.vectors={file.name}: line {number} is not a word and {width} numbers; get the file again")
        rows[row] = [float(field) for field in fields]
    found = int((~np.isnan(rows[n_special:, 0])).sum())
    return Vectors(rows=rows, share_found=found / max(1, len(vocabulary.words)))


def refuse_other_width(file: Path, width: int) -> None:
    """Raise DataError when the vectors of a file, by its first line, are not `width` numbers, or are none."""
    _, first = next(_lines(file), (0, ""))
    found = _n_numbers(first.split(" ")[1:])
    if not found:
        raise DataError(f"model.vectors={file.name} holds no vectors: each line should be a word and its numbers, between spaces")
    if found != width:
        raise DataError(f"model.embedding_dim={width} is not the width of model.vectors={file.name}: set model.embedding_dim={found}")


def verify_file(model: BiLstm) -> Path:
    """The file of `model.vectors`. Raises DataError when its bytes are not those that the Run was composed with."""
    assert model.vectors is not None, "the model starts from a file"
    file = Path(model.vectors)
    if not file.is_file():
        raise DataError(f"model.vectors={file.name} is no file: check the path")
    if fingerprint.of_bytes(file, cache_root()) != model.vectors_fingerprint:
        raise DataError(f"model.vectors={file.name} changed since this Run was composed: compose the Run again")
    return file


def of_word_pieces(folder: Path, *, width: int) -> npt.NDArray[np.float32]:
    """The word-piece table, shape (word-pieces, width), of the checkpoint in `folder`, without building its model.

    Raises DataError where no such table is found, or one of another width.
    """
    refuse_other_table(folder, width)
    return table_of(folder)


def table_of(folder: Path) -> npt.NDArray[np.float32]:
    """The word-piece table of the checkpoint in `folder` as it is, shape (word-pieces, width). Raises DataError where there is none."""
    from safetensors import safe_open

    file, name = _table(folder)
    with safe_open(file, framework="pt") as stored:
        rows: npt.NDArray[np.float32] = stored.get_tensor(name).float().numpy()
    return rows


def refuse_other_table(folder: Path, width: int) -> None:
    """Raise DataError when a checkpoint's word-piece table is not `width` numbers wide, or is not found."""
    from safetensors import safe_open

    file, name = _table(folder)
    with safe_open(file, framework="pt") as stored:
        found = stored.get_slice(name).get_shape()[1]
    if found != width:
        raise DataError(
            f"model.embedding_dim={width} is not the width of the word-pieces of model.checkpoint={folder.name}: "
            f"set model.embedding_dim={found}"
        )


def _table(folder: Path) -> tuple[Path, str]:
    """The file of a checkpoint that holds its word-piece table, and the table's name in it."""
    from safetensors import SafetensorError, safe_open

    whole, parts = folder / "model.safetensors", folder / "model.safetensors.index.json"
    try:
        if whole.exists():
            with safe_open(whole, framework="pt") as stored:
                places = dict.fromkeys(stored.keys(), whole.name)
        else:
            places = json.loads(parts.read_text(encoding="utf-8"))["weight_map"]
    except (OSError, ValueError, KeyError, SafetensorError):
        places = {}
    for end in _TABLES:
        for name in sorted(places, key=len):
            if name.endswith(end):
                return folder / places[name], name
    raise DataError(
        f"model.checkpoint={folder.name} has no word-piece table that can be read from its safetensors: set model.embeddings=random"
    )


def _n_numbers(fields: list[str]) -> int:
    """How many of the last fields are finite numbers, up to the first from the end that is none."""
    count = 0
    for field in reversed(fields):
        try:
            if not np.isfinite(float(field)):
                break
        except ValueError:
            break
        count += 1
    return count


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines with their number from 1, without the header of word2vec and blank ones.

    Only a line feed ends a line, since words may hold odd characters.
    """
    try:
        with open(file, encoding="utf-8-sig", newline="\n") as opened:
            for number, line in enumerate(opened, start=1):
                line = line.rstrip(" \r\n")
                if line and not (number == 1 and _HEADER.fullmatch(line)):
                    yield number, line
    except UnicodeDecodeError:
        raise DataError(f"model.vectors={file.name} is not UTF-8: save it as UTF-8 text (unpacked, if it is an archive)") from None
