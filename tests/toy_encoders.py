"""Encoders of every family that bakeoff names, at toy size, saved as checkpoints with a tokeniser."""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModel,
    BertConfig,
    BigBirdConfig,
    DebertaV2Config,
    DistilBertConfig,
    LongformerConfig,
    ModernBertConfig,
    RobertaConfig,
)

import bakery

FAMILIES = ("bert", "distilbert", "roberta", "deberta-v2", "modernbert", "longformer", "big_bird")
WIDTH, LAYERS, VOCABULARY, POSITIONS = 16, 4, 400, 600


def config(family: str, *, initializer_range: float = 0.3, **changes: Any) -> Any:
    """Four layers of width 16, with weights large enough that what reaches a state shows."""
    numbers: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": POSITIONS,
        "pad_token_id": 0,
        "initializer_range": initializer_range,
    }
    if family == "bert":
        return BertConfig(**numbers | changes)
    if family == "roberta":
        return RobertaConfig(**numbers | changes)
    if family == "longformer":
        return LongformerConfig(**numbers | {"attention_window": 16} | changes)
    if family == "big_bird":  # left alone, its attention would be sparse from 45 tokens on
        return BigBirdConfig(**numbers | {"block_size": 4} | changes)
    if family == "deberta-v2":  # the settings of version 3
        own = {"relative_attention": True, "position_buckets": 16, "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm"}
        return DebertaV2Config(**numbers | own | {"share_att_key": True, "position_biased_input": False, "type_vocab_size": 0} | changes)
    if family == "modernbert":
        special = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2)
        return ModernBertConfig(**numbers | special | {"local_attention": 16} | changes)
    assert family == "distilbert"
    return DistilBertConfig(
        vocab_size=VOCABULARY, dim=WIDTH, n_layers=LAYERS, n_heads=2, hidden_dim=32, max_position_embeddings=POSITIONS,
        pad_token_id=0, initializer_range=initializer_range, **changes,
    )  # fmt: skip


def checkpoint(folder: Path, family: str, *, dtype: torch.dtype = torch.float32, **changes: Any) -> Path:
    """A checkpoint of a family with the tokeniser of `bakery.checkpoint`, which has fewer than 400 word-pieces."""
    bakery.checkpoint(folder)
    (folder / "model.safetensors").unlink()
    (folder / "config.json").unlink()
    torch.manual_seed(0)
    AutoModel.from_config(config(family, **changes)).to(dtype).save_pretrained(folder)
    return folder


def rewrite_config(folder: Path, **changes: Any) -> None:
    """Change what config.json says; None takes a key out."""
    plain = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in plain.items() if value is not None}))
