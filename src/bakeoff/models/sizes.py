"""An encoder's numbers to Hugging Face's configuration, and back."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

from bakeoff.spec import EncoderSize

# Their tables have two rows that no token stands at: positions are counted from behind the padding token, number 1.
_PADDED_POSITIONS = {"longformer": 2, "roberta": 2}
LONGFORMER_WINDOW = 512


def config_of(size: EncoderSize) -> Any:
    """The `transformers` configuration of an encoder of this size, all else as its family was published."""
    from transformers import AutoConfig

    common = {"vocab_size": size.vocabulary, "max_position_embeddings": size.positions + _PADDED_POSITIONS.get(size.family, 0)}
    if size.family == "distilbert":
        numbers = {"dim": size.width, "n_layers": size.layers, "n_heads": size.heads, "hidden_dim": size.feed_forward}
        return AutoConfig.for_model(size.family, **common, **numbers)
    special: dict[str, Any] = {}
    if size.family in ("longformer", "roberta"):
        special["type_vocab_size"] = 1
    if size.family == "longformer":
        special["attention_window"] = LONGFORMER_WINDOW
    if size.family == "big_bird":
        special["attention_type"] = "original_full"  # as `encoders.read_config` says
    if size.family == "modernbert":  # its special tokens are the last of its vocabulary
        special |= dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 0)
    return AutoConfig.for_model(
        size.family,
        **common,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.feed_forward,
        **special,
    )


def size_of(config: Any) -> EncoderSize | None:
    """The numbers in a `transformers` configuration; None for a family that EncoderSize does not know."""
    family = config.model_type
    if family not in get_args(get_type_hints(EncoderSize)["family"]):
        return None
    return EncoderSize(
        family=family,
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        heads=config.num_attention_heads,
        feed_forward=config.hidden_dim if family == "distilbert" else config.intermediate_size,
        vocabulary=config.vocab_size,
        positions=config.max_position_embeddings - _PADDED_POSITIONS.get(family, 0),
    )


def size_in(folder: Path) -> EncoderSize | None:
    """The numbers of the checkpoint in `folder`; None for a family that EncoderSize does not know."""
    from transformers import AutoConfig

    return size_of(AutoConfig.from_pretrained(str(folder)))
