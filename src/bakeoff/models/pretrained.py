"""A pretrained encoder with a fresh linear head."""

from pathlib import Path

import torch
from torch import nn

from bakeoff.models import pooling
from bakeoff.spec import Pretrained


class PretrainedClassifier(nn.Module):
    """Any Hugging Face encoder; weights load in float32 whatever the checkpoint stores."""

    def __init__(self, spec: Pretrained, *, folder: Path, n_classes: int) -> None:
        super().__init__()
        from transformers import AutoConfig, AutoModel
        from transformers.utils import logging

        logging.disable_progress_bar()  # a log file has no use for one, and its lock would outlive the process
        config = AutoConfig.from_pretrained(str(folder))
        # A pooler that the head does not read would only be dead weight in every count of parameters.
        without_pooler = {"add_pooling_layer": False} if config.model_type in ("bert", "roberta", "xlm-roberta", "camembert") else {}
        self.encoder = AutoModel.from_pretrained(str(folder), dtype=torch.float32, **without_pooler)
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
