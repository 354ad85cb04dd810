"""A checkpoint under another vocabulary's ids: the weights as they are, and a tokeniser that numbers its word-pieces otherwise."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.errors import DataError

_COPIED = ("config.json", "tokenizer_config.json", "special_tokens_map.json")
_WEIGHTS = "model.safetensors"
_TOKENISER = "tokenizer.json"


def make(source: Path, folder: Path, *, seed: int = 0) -> Path:
    """The checkpoint of `source` in `folder`, made where it is not there yet, with the ids of its word-pieces shuffled.

    Texts are broken into the same pieces, and special tokens keep their ids, so that the ids alone are another vocabulary's.
    The weights are linked, or copied where the file system cannot. Raises DataError for a tokeniser without a word-piece
    vocabulary in tokenizer.json.
    """
    if folder.is_dir():
        return folder
    tokeniser = json.loads((source / _TOKENISER).read_text(encoding="utf-8"))
    vocabulary = tokeniser["model"].get("vocab")
    if not isinstance(vocabulary, dict):
        raise DataError(f"the tokeniser of {source.name} has no vocabulary of word-pieces whose ids could be shuffled")
    tokeniser["model"]["vocab"] = shuffled(vocabulary, keep=_special(tokeniser, source), seed=seed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name in _COPIED:
            if (source / name).exists():
                shutil.copyfile(source / name, made / name)
        _link(source / _WEIGHTS, made / _WEIGHTS)
        (made / _TOKENISER).write_text(json.dumps(tokeniser, ensure_ascii=False), encoding="utf-8")
        os.replace(made, folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not folder.is_dir():  # else another process made it meanwhile
            raise
    return folder


def shuffled(vocabulary: dict[str, int], *, keep: set[str], seed: int) -> dict[str, int]:
    """The same pieces and ids in another pairing, in the order of the new ids; those in `keep` stay."""
    moved = sorted(piece for piece in vocabulary if piece not in keep)
    ids = np.array(sorted(vocabulary[piece] for piece in moved))
    found = vocabulary | dict(zip(moved, np.random.default_rng(seed).permutation(ids).tolist(), strict=True))
    return dict(sorted(found.items(), key=lambda each: each[1]))


def _special(tokeniser: dict[str, Any], source: Path) -> set[str]:
    """The special tokens, by what tokenizer.json adds and by what tokenizer_config.json calls `…_token`."""
    config = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    named = {value for key, value in config.items() if key.endswith("_token") and isinstance(value, str)}
    return named | {token["content"] for token in tokeniser["added_tokens"]}


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
