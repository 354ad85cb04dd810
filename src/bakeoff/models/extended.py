"""A pretrained encoder carried past its table of positions, as Longformer was made of RoBERTa (Beltagy et al., 2020, section 5).

Each token attends to `longdoc.attention_window` others, half of them on either side, and the first token to all, which
`encoders.inputs_of` asks for; weights are the checkpoint's, and its positions repeat until the new length is covered. A
document of at most half a window and two tokens is therefore read exactly as the checkpoint reads it. Longformer pads each
batch to whole windows, so that a short document costs as much as one of a window.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch

from bakeoff.errors import ConfigError
from bakeoff.spec import LongDoc

_FIRST_POSITION = {"bert": "0", "roberta": "behind padding"}
FAMILIES = tuple(_FIRST_POSITION)
"""Families whose layers are those of Longformer but for who attends to whom."""
_POSITIONS = "embeddings.position_embeddings.weight"
_ATTENTION = re.compile(r"(?P<layer>.+\.attention\.self\.(?:query|key|value))\.(?P<kind>weight|bias)")
_SAME = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "type_vocab_size",
    "initializer_range",
    "layer_norm_eps",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
)


def config_of(config: Any, longdoc: LongDoc) -> Any:
    """The `transformers` configuration of an encoder that reads `longdoc.max_tokens`; that of a Longformer stays as it is.

    Raises ConfigError for a family that cannot be extended.
    """
    if config.model_type == "longformer":  # saved, so carried past its positions already
        return config
    if config.model_type not in FAMILIES or config.pad_token_id is None:
        raise ConfigError(
            f"longdoc=extended cannot carry this {config.model_type} encoder past its positions: use a BERT or RoBERTa checkpoint "
            "or longdoc=windows"
        )
    from transformers import LongformerConfig

    assert longdoc.max_tokens is not None, "LongDoc refuses extended without a limit"
    extended = LongformerConfig(
        **{name: getattr(config, name) for name in _SAME},
        attention_window=[longdoc.attention_window] * config.num_hidden_layers,
        max_position_embeddings=config.pad_token_id + 1 + longdoc.max_tokens,
    )
    extended.classifier_dropout = config.classifier_dropout
    return extended


def weights_of(weights: Mapping[str, torch.Tensor], config: Any, extended: Any) -> dict[str, torch.Tensor]:
    """The weights of an encoder of `config` as one of `extended`, which `config_of` made of it.

    Tokens that attend to all have projections of their own, which start as those of the others. Positions are counted from
    behind the padding token's number, as in RoBERTa; the rows before are those of padding, which no token attends to.
    """
    carried = {}
    for name, tensor in weights.items():
        carried[name] = tensor
        if (found := _ATTENTION.fullmatch(name)) is not None:
            carried[f"{found['layer']}_global.{found['kind']}"] = tensor
    table, padding = weights[_POSITIONS], extended.pad_token_id + 1
    before, own = (table[:padding], table[padding:])
    if _FIRST_POSITION[config.model_type] == "0":
        before, own = table.new_zeros(padding, table.shape[1]), table
    tokens = extended.max_position_embeddings - padding
    carried[_POSITIONS] = torch.cat([before, own.repeat(-(-tokens // len(own)), 1)[:tokens]])
    return carried
