"""Whether a checkpoint is what a model needs, told from its files before anything starts."""

from pathlib import Path
from typing import Any

from bakeoff.data import checkpoint
from bakeoff.errors import DataError, NotApplicable
from bakeoff.spec import LongDoc, Pretrained

_TOKENISERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")
"""What families call the number of their layers in config.json."""
EXTENDABLE = ("bert", "roberta")
"""Families that longdoc=extended carries past their positions, as `models.extended` does."""
_SHARED_LAYERS = {"albert"}
"""Families whose layers are one and the same, so that none has a place of its own."""


def check_files(folder: Path, *, weights: bool) -> None:
    """Raise DataError for a folder without model type or tokeniser, or without weights where they are needed."""
    config = checkpoint.read_config(folder)
    if not isinstance(config.get("model_type"), str):
        raise DataError(f"model.checkpoint={folder.name} has a config.json without model_type: name a folder that transformers saved")
    if not any(any(folder.glob(pattern)) for pattern in _TOKENISERS):
        raise DataError(f"model.checkpoint={folder.name} has no tokeniser: save the one that it was trained with into that folder")
    if weights and not any(any(folder.glob(pattern)) for pattern in _WEIGHTS):
        raise DataError(f"model.checkpoint={folder.name} has no weights: name a folder that holds model.safetensors")


def check_layers(model: Pretrained, folder: Path | None) -> None:
    """Raise NotApplicable for settings about layers that the checkpoint in `folder`, or `model.size` without one, has not."""
    asked = _asked(model)
    if not asked:
        return
    config: dict[str, Any] = {}
    if folder is not None:
        config = checkpoint.read_config(folder)
    elif model.size is not None:
        config = {"model_type": model.size.family, "num_hidden_layers": model.size.layers}
    if config.get("model_type") in _SHARED_LAYERS:
        key, value = next(iter(asked.items()))
        raise NotApplicable(f"model.{key}={value} means nothing to {model.name}, whose layers are all one: leave model.{key} out")
    count = next((config[key] for key in _LAYERS if isinstance(config.get(key), int)), None)
    if count is None:
        return  # it is built all the same, and refused where its layers cannot be found
    if model.keep_layers is not None and model.keep_layers[-1] >= count:
        raise NotApplicable(
            f"model.keep_layers={list(model.keep_layers)} names layer {model.keep_layers[-1]}, but {model.name} has layers 0 to {count - 1}"
        )
    kept = count if model.keep_layers is None else len(model.keep_layers)
    if model.reinitialised_layers > kept:
        raise NotApplicable(f"model.reinitialised_layers={model.reinitialised_layers} is more than the {kept} layers of {model.name}")


def check_extendable(folder: Path, longdoc: LongDoc) -> None:
    """Raise NotApplicable for longdoc=extended with the checkpoint in `folder` where it cannot be carried further.

    Positions are counted from behind the padding token's number, so a checkpoint that says it has none is refused too.
    """
    config = checkpoint.read_config(folder)
    if longdoc.strategy != "extended":
        return
    refuse_family(str(config.get("model_type")), folder.name)
    if config.get("pad_token_id", 0) is None:
        raise NotApplicable(
            f"longdoc=extended needs a padding token, and the config.json of {folder.name} has pad_token_id=null: use longdoc=windows"
        )


def refuse_family(family: str, name: str) -> None:
    """Raise NotApplicable unless longdoc=extended can carry an encoder of this family, of this name, past its positions."""
    if family not in EXTENDABLE:
        raise NotApplicable(
            f"longdoc=extended carries {' and '.join(EXTENDABLE)} encoders past their positions, and {name} is a {family} one: "
            "use longdoc=windows, or longdoc=head with as many tokens as it reads"
        )


def _asked(model: Pretrained) -> dict[str, Any]:
    """The settings about layers that have an effect."""
    settings = {
        "layer_decay": None if model.layer_decay == 1 else model.layer_decay,
        "keep_layers": None if model.keep_layers is None else list(model.keep_layers),
        "reinitialised_layers": model.reinitialised_layers or None,
    }
    return {key: value for key, value in settings.items() if value is not None}
