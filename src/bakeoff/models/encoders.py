"""Hugging Face encoders: load one, find its layers, keep some of them, start some afresh."""

import copy
import inspect
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from torch import nn

from bakeoff.errors import ConfigError
from bakeoff.models import extended, pooling
from bakeoff.models.banded import by_blocks
from bakeoff.spec import LongDoc

_SEPARATOR = "segment_separator_id"
"""Where an encoder's configuration, which is saved with its weights, keeps what `tell_segments` was told."""
_FIRST_LAYER_DIFFERS = ("modernbert",)
"""Families whose first layer has other weights than the rest, so that none can take its place."""


def load(folder: Path, extend: LongDoc | None = None) -> nn.Module:
    """The encoder of a checkpoint, in float32 whatever is stored, without a pooler and without any head.

    With `extend` it is carried past its table of positions, as `extended` says. Raises ConfigError when the folder holds no
    encoder that transformers knows, lacks some of its weights, or cannot be extended.
    """
    from transformers import AutoModel

    config = read_config(folder)
    carried = None if extend is None else extended.config_of(config, extend)
    try:
        encoder, report = AutoModel.from_pretrained(
            str(folder), config=config, **_options(config), trust_remote_code=False, weights_only=True, output_loading_info=True
        )
    except (
        OSError,
        RuntimeError,
        ValueError,
        SafetensorError,
        pickle.UnpicklingError,
    ) as error:  # a damaged file, or weights of other shapes than the configuration says
        raise ConfigError(
            f"model.checkpoint={folder.name} cannot be loaded ({type(error).__name__}): name another or save it anew"
        ) from None
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name)
    if missing:
        raise ConfigError(
            f"model.checkpoint={folder.name} lacks {len(missing)} of its encoder's weights, such as {missing[0]}: "
            "name a folder that transformers' save_pretrained wrote"
        )
    if carried is None or carried is config:
        return by_blocks(encoder)
    longer = fresh(carried)
    longer.load_state_dict(extended.weights_of(encoder.state_dict(), config, carried))
    return longer.train(encoder.training)


def read_config(folder: Path) -> Any:
    """The `transformers` configuration in a folder. Raises ConfigError for an architecture that this version does not know.

    BigBird attends in full. Its sparse attention, in transformers, takes the last block of the padded batch for one that all
    attend to, so that a text's answer would change with its neighbours, and is given up for good at the first short batch.
    """
    from transformers import AutoConfig, __version__
    from transformers.utils import logging

    logging.disable_progress_bar()  # a log file has no use for one, and its lock would outlive the process
    try:
        config = AutoConfig.from_pretrained(str(folder), trust_remote_code=False)
    except (KeyError, ValueError):
        raise ConfigError(
            f"model.checkpoint={folder.name} is of no architecture that transformers {__version__} knows: name another checkpoint"
        ) from None
    if config.model_type == "big_bird":
        config.attention_type = "original_full"
    return config


def fresh(config: Any) -> nn.Module:
    """An encoder with random weights for a `transformers` configuration."""
    from transformers import AutoModel

    return by_blocks(AutoModel.from_config(config, **_options(config)))


def _options(config: Any) -> dict[str, Any]:
    """A pooler that no head reads would only be dead weight in every count of parameters."""
    from transformers import MODEL_MAPPING

    options: dict[str, Any] = {"dtype": torch.float32}
    found = MODEL_MAPPING.get(type(config), None)
    if isinstance(found, type) and "add_pooling_layer" in inspect.signature(found).parameters:
        options["add_pooling_layer"] = False
    return options


def padded_to(classifier: nn.Module) -> int | None:
    """To whole multiples of how many tokens the encoder of `classifier` pads what it reads, as Longformer does; None for others."""
    config = getattr(getattr(classifier, "encoder", None), "config", None)
    if config is None or config.model_type != "longformer":
        return None
    return config.attention_window if isinstance(config.attention_window, int) else max(config.attention_window)


def holds_all_pairs(classifier: nn.Module) -> bool:
    """Whether the encoder of `classifier` holds a weight for every two tokens of what it reads, since it has no fused attention.

    One that reads documents by windows does so for these alone.
    """
    config = getattr(getattr(classifier, "encoder", None), "config", None)
    if config is None or config.model_type == "longformer" or getattr(classifier, "windows", None) is not None:
        return False
    return bool(config._attn_implementation == "eager")


def states(encoder: nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Last hidden states (batch, longest, width) of `ids` (batch, longest), where `mask` is True at real tokens."""
    found: torch.Tensor = encoder(**inputs_of(encoder, ids, mask)).last_hidden_state
    return found


def inputs_of(encoder: nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> dict[str, torch.Tensor]:
    """What an encoder, or a classifier around one, is called with, by name, for `ids` (batch, longest) and their `mask`.

    A Longformer's first token attends to all and is attended by all, as its authors classify (Beltagy et al., 2020). The
    second text of a pair is another segment, once `tell_segments` was told how pairs are written.
    """
    inputs = {"input_ids": ids, "attention_mask": mask.long()}
    if (separator_id := getattr(encoder.config, _SEPARATOR, None)) is not None:
        inputs["token_type_ids"] = segments(ids, mask, separator_id)
    if encoder.config.model_type == "longformer":  # type: ignore[union-attr]
        inputs["global_attention_mask"] = torch.zeros_like(ids).index_fill_(1, torch.zeros(1, dtype=torch.long, device=ids.device), 1)
    return inputs


def tell_segments(encoder: nn.Module, separator_id: int | None) -> None:
    """Have the encoder, and every one that is built from its configuration, tell the texts of a pair apart by their segments.

    The second one begins behind the first `separator_id`; None, and an encoder that knows one segment only, change nothing.
    """
    config: Any = encoder.config
    takes_types = "token_type_ids" in inspect.signature(encoder.forward).parameters
    if separator_id is not None and takes_types and getattr(config, "type_vocab_size", 0) > 1:
        setattr(config, _SEPARATOR, separator_id)


def segments(ids: torch.Tensor, mask: torch.Tensor, separator_id: int) -> torch.Tensor:
    """1 at real tokens behind the first `separator_id`, else 0: (batch, longest), for `ids` and `mask` of that shape.

    A text that stands alone has its separator last, so that all of it is of the first segment.
    """
    separators = (ids == separator_id).long()
    return ((separators.cumsum(dim=1) - separators > 0) & mask).long()


def pooled(encoder: nn.Module, ids: torch.Tensor, lengths: torch.Tensor, *, how: Literal["cls", "mean", "max"]) -> torch.Tensor:
    """One state a document, (batch, width); a document of length 0 is read as one padding token, so that it has one too."""
    mask = pooling.mask_of(lengths.clamp(min=1), ids)
    return pooling.over_time(states(encoder, ids, mask), mask, how=how)


def layers_of(encoder: nn.Module) -> nn.ModuleList:
    """The transformer layers, lowest first. Raises ConfigError for an encoder that has no list of them."""
    return encoder.get_submodule(_layers_name(encoder))  # type: ignore[return-value]


def _layers_name(encoder: nn.Module) -> str:
    config: Any = encoder.config
    count = getattr(config, "num_hidden_layers", None)
    for name, part in encoder.named_modules():  # the outermost list of that many
        if isinstance(part, nn.ModuleList) and len(part) == count:
            return str(name)
    raise ConfigError(
        f"the layers of this {config.model_type} encoder could not be found: leave model.layer_decay, model.keep_layers and "
        "model.reinitialised_layers as they are, or use another checkpoint"
    )


def with_layers(encoder: nn.Module, keep: Sequence[int]) -> nn.Module:
    """An encoder of the layers `keep`, counted from 0, and all else; its configuration builds it again.

    Raises ConfigError for a layer that there is none of, and for one that cannot come first.
    """
    config: Any = encoder.config
    _check_layers(config, keep)
    student = fresh(config_with_layers(config, keep))
    prefix = re.escape(_layers_name(encoder)) + r"\.(\d+)\."
    weights = {}
    for name, tensor in encoder.state_dict().items():
        if (found := re.match(prefix, name)) is None:
            weights[name] = tensor
        elif int(found[1]) in keep:
            weights[f"{name[: found.start(1)]}{keep.index(int(found[1]))}{name[found.end(1) :]}"] = tensor
    student.load_state_dict(weights)
    return student.train(encoder.training)


def config_with_layers(config: Any, keep: Sequence[int]) -> Any:
    """A configuration of so many layers. One that has as many already is that of a student, or keeps all: it stays."""
    count = config.num_hidden_layers
    if count == len(keep):
        return config
    student = copy.deepcopy(config)
    for name, value in vars(config).items():  # what is said layer by layer, such as attention windows
        if isinstance(value, list | tuple) and len(value) == count:
            setattr(student, name, [value[layer] for layer in keep])
    student.num_hidden_layers = len(keep)
    return student


def _check_layers(config: Any, keep: Sequence[int]) -> None:
    if keep[-1] >= config.num_hidden_layers:
        raise ConfigError(
            f"model.keep_layers={list(keep)} names layer {keep[-1]}, but the encoder has layers 0 to {config.num_hidden_layers - 1}"
        )
    if keep[0] != 0 and config.model_type in _FIRST_LAYER_DIFFERS:
        raise ConfigError(f"model.keep_layers={list(keep)} should hold layer 0: no other can come first in a {config.model_type} encoder")


def reinitialise_top(encoder: nn.Module, count: int) -> None:
    """Start the top `count` layers afresh, as the encoder's own family initialises them. Raises ConfigError as `layers_of`."""
    if count == 0:
        return
    layers, name = layers_of(encoder), _layers_name(encoder)
    if count > len(layers):
        raise ConfigError(f"model.reinitialised_layers={count} is more than the encoder's {len(layers)} layers")
    drawn = fresh(encoder.config)
    for number in range(len(layers) - count, len(layers)):
        layers[number].load_state_dict(drawn.get_submodule(f"{name}.{number}").state_dict())


def depth_of(encoder: nn.Module) -> Mapping[str, int]:
    """Parameter name → how many steps it lies below the head: the top layer 1, …, embeddings last.

    What stands outside the layers and is no embedding, such as a norm behind the top layer, goes with the top layer.
    """
    name, count = _layers_name(encoder), len(layers_of(encoder))
    inside = re.compile(re.escape(name) + r"\.(\d+)\.")
    depths = {}
    for parameter, _ in encoder.named_parameters():
        found = inside.match(parameter)
        if found is not None:
            depths[parameter] = count - int(found[1])
        else:
            depths[parameter] = count + 1 if "embed" in parameter else 1
    return depths
