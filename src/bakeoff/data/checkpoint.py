"""Where a pretrained checkpoint's files are, and how many positions it can read."""

import json
from pathlib import Path
from typing import Any

from bakeoff import fingerprint
from bakeoff.cache import cache_root
from bakeoff.data import assets
from bakeoff.errors import DataError
from bakeoff.spec import Frozen, Neural, OffTheShelf, ZeroShot

_FILES = [
    "*.safetensors",
    "*.safetensors.index.json",
    "config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "vocab.*",
    "merges.txt",
    "*.model",
    "modules.json",
    "config_sentence_transformers.json",
    "*_Pooling/config.json",
]
_PICKLED = ["pytorch_model*.bin", "pytorch_model.bin.index.json"]
"""Weights of checkpoints that were never saved as safetensors; they are read as tensors alone, never as code."""
# Their positions start after the padding token's number, so the table has that many rows more than it can read.
_PADDED_POSITIONS = {"camembert", "data2vec-text", "ibert", "longformer", "luke", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta"}
_RELATIVE_POSITIONS = {"funnel", "longt5", "mt5", "t5", "xlnet"}


def resolve(checkpoint: str, revision: str | None) -> Path:
    """The folder of a starter asset (fetched when missing), of a local path, or of a hub name at `revision`.

    Raises DataError when it is none of the three, or when the hub cannot be reached and holds no copy here.
    """
    if checkpoint in fingerprint.CHECKPOINTS:
        return assets.fetch_checkpoint(checkpoint)
    folder = Path(checkpoint).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or checkpoint.startswith((".", "~")):
        raise DataError(f"model.checkpoint={folder.name} is no folder: check the path")
    if revision is None:
        raise DataError(f"model.checkpoint={checkpoint} is on the hub and needs its commit: set model.revision=<40 hex digits>")
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(checkpoint, revision=revision, allow_patterns=_FILES))
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(checkpoint, revision=revision, allow_patterns=_FILES + _PICKLED))
        return folder
    except Exception as error:  # its HTTP client changes between versions, so the kind of failure is only named
        raise DataError(
            f"model.checkpoint={checkpoint} could not be had from the Hugging Face hub ({type(error).__name__}): check the name and the "
            f"network, or use a folder or a starter checkpoint ({', '.join(sorted(fingerprint.CHECKPOINTS))})"
        ) from None


def verify(model: Neural | Frozen | ZeroShot | OffTheShelf) -> None:
    """Raise DataError when a checkpoint's bytes differ from its fingerprint; starter assets are verified when fetched."""
    assert model.checkpoint is not None, "only a model with a checkpoint has one to verify"
    if fingerprint.of_checkpoint(model.checkpoint, model.revision, cache_root()) != model.checkpoint_fingerprint:
        raise DataError("model.checkpoint changed since this Run was composed (its fingerprint differs): compose the Run again")


def read_config(folder: Path) -> dict[str, Any]:
    """What the config.json of a checkpoint says. Raises DataError when there is none that can be read."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        config = None
    if not isinstance(config, dict):
        raise DataError(f"model.checkpoint={folder.name} has no readable config.json: name a folder that holds a saved checkpoint")
    return config


def position_limit(folder: Path) -> int | None:
    """The most tokens, special ones included, that the checkpoint in `folder` can read; None where positions are relative.

    Raises DataError when the folder has no readable config.json.
    """
    config = read_config(folder)
    model_type = config.get("model_type")
    if model_type in _RELATIVE_POSITIONS or config.get("position_biased_input") is False:
        return None
    limit = config.get("max_position_embeddings", config.get("n_positions"))
    if not isinstance(limit, int) or limit < 1:
        return None
    # 1 is the padding token of every model of this family whose config leaves it out
    pad = config.get("pad_token_id")
    return limit - (1 if pad is None else pad) - 1 if model_type in _PADDED_POSITIONS else limit
