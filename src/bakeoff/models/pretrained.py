"""A pretrained encoder with a fresh linear head."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from bakeoff.errors import ConfigError
from bakeoff.models import pooling, sizes
from bakeoff.spec import Pretrained

_POOLED = ("bert", "camembert", "longformer", "roberta", "xlm-roberta")


class PretrainedClassifier(nn.Module):
    """Any Hugging Face encoder; weights load in float32 whatever the checkpoint stores."""

    def __init__(self, spec: Pretrained, *, n_classes: int, folder: Path | None = None, config: Any = None) -> None:
        """The checkpoint in `folder`, or random weights for a `transformers` configuration.

        Raises ConfigError when `model.size` is not the checkpoint's.
        """
        super().__init__()
        from transformers import AutoConfig, AutoModel
        from transformers.utils import logging

        logging.disable_progress_bar()  # a log file has no use for one, and its lock would outlive the process
        if folder is not None:
            config = AutoConfig.from_pretrained(str(folder))
            _check_size(spec, config)
        # A pooler that the head does not read would only be dead weight in every count of parameters.
        options: dict[str, Any] = {"dtype": torch.float32}
        if config.model_type in _POOLED:
            options["add_pooling_layer"] = False
        self.encoder = AutoModel.from_config(config, **options) if folder is None else AutoModel.from_pretrained(str(folder), **options)
        self.pooling = spec.pooling
        dropout = getattr(config, "classifier_dropout", None)
        self.dropout = nn.Dropout(getattr(config, "hidden_dropout_prob", 0.1) if dropout is None else dropout)
        self.head = nn.Linear(config.hidden_size, n_classes)
        nn.init.normal_(self.head.weight, std=getattr(config, "initializer_range", 0.02))
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of `ids` (batch, longest); tokens at or past `lengths` (batch,) are masked."""
        mask = pooling.mask_of(lengths, ids)
        states = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state  # (batch, longest, width)
        logits: torch.Tensor = self.head(self.dropout(pooling.over_time(states, mask, how=self.pooling)))
        return logits


def _check_size(spec: Pretrained, config: Any) -> None:
    """A size that is not the checkpoint's would be another model in every table of latencies."""
    found = sizes.size_of(config)
    if spec.size is not None and found != spec.size:
        raise ConfigError(f"model.size={spec.size} is not that of model.checkpoint={spec.checkpoint}: set it to {found or 'null'}")
