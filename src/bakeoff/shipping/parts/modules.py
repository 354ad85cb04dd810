"""Modules as they are served: `features` of each document or window, and `answer`, which makes logits of them."""

import math
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from bakeoff.models.bilstm import BothWays, Onward, last_states
from bakeoff.models.encoders import fresh, states
from bakeoff.models.pooling import AttentionPooling, mask_of, over_time
from bakeoff.models.transformer import TransformerEncoder


class Encoder(nn.Module):
    """A Hugging Face encoder of `config.json` with a linear head."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        from transformers import AutoConfig

        super().__init__()
        config = AutoConfig.from_pretrained(str(folder), trust_remote_code=False)
        if config.model_type == "big_bird":
            config.attention_type = "original_full"
        self.encoder = fresh(config)
        self.head = nn.Linear(config.hidden_size, len(settings["classes"]))
        self.pooling = settings["model"]["pooling"]

    def features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One state a document, (batch, width), of ids (batch, longest) with lengths (batch,)."""
        mask = mask_of(lengths.clamp(min=1), ids)
        return over_time(states(self.encoder, ids, mask), mask, how=self.pooling)

    def answer(self, features: torch.Tensor) -> torch.Tensor:
        """Logits (…, classes) of features (…, width)."""
        logits: torch.Tensor = self.head(features)
        return logits

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes)."""
        return self.answer(self.features(ids, lengths))


class FrozenEncoder(Encoder):
    """An encoder as it was published; its head was fitted on features in full precision."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        super().__init__(folder, settings)
        self.normalise = settings["model"]["normalise"]

    def answer(self, features: torch.Tensor) -> torch.Tensor:
        """Logits (…, classes) of features (…, width), which may be scaled to length 1 first."""
        with torch.autocast(features.device.type, enabled=False):
            whole = features.float()
            return super().answer(functional.normalize(whole, dim=-1) if self.normalise else whole)


class BiLstm(nn.Module):
    """Embeddings, an LSTM that reads both ways (or one), pooling over time, a linear head."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        model = settings["model"]
        both, hidden = model["directions"] == "both", model["hidden_dim"]
        width = 2 * hidden if both else hidden
        widths = [model["embedding_dim"], *[width] * (model["layers"] - 1)]
        self.embedding = nn.Embedding(settings["embedding_rows"], model["embedding_dim"])
        self.layers = nn.ModuleList((BothWays if both else Onward)(each, hidden) for each in widths)
        self.head = nn.Linear(width, len(settings["classes"]))
        self.pooling, self.both = model["pooling"], both
        self.attention = AttentionPooling(width) if self.pooling == "attention" else None

    def features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One state a document, (batch, width), of ids (batch, longest) with lengths (batch,)."""
        lengths = lengths.clamp(min=1)
        found = self.embedding(ids)
        for layer in self.layers:
            found = layer(found, lengths)
        if self.pooling == "last" and self.both:
            return last_states(found, lengths)
        mask = mask_of(lengths, found)
        if self.attention is not None:
            pooled: torch.Tensor = self.attention(found, mask)
            return pooled
        return over_time(found, mask, how=self.pooling)

    def answer(self, features: torch.Tensor) -> torch.Tensor:
        """Logits (…, classes) of features (…, width)."""
        logits: torch.Tensor = self.head(features)
        return logits

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes)."""
        return self.answer(self.features(ids, lengths))


class Scratch(nn.Module):
    """A transformer that started from nothing: embeddings, blocks, pooling, a linear head."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        model = settings["model"]
        names = ("width", "layers", "heads", "feed_forward", "positions", "max_positions", "norm", "causal")
        self.embedding = nn.Embedding(settings["embedding_rows"], model["width"])
        self.encoder = TransformerEncoder(**{name: model[name] for name in names})
        self.head = nn.Linear(model["width"], len(settings["classes"]))
        self.pooling = model["pooling"]

    def features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One state a document, (batch, width), of ids (batch, longest) with lengths (batch,)."""
        real = mask_of(lengths.clamp(min=1), ids)
        return over_time(self.encoder(self.embedding(ids) * math.sqrt(self.embedding.embedding_dim), ~real), real, how=self.pooling)

    def answer(self, features: torch.Tensor) -> torch.Tensor:
        """Logits (…, classes) of features (…, width)."""
        logits: torch.Tensor = self.head(features)
        return logits

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes)."""
        return self.answer(self.features(ids, lengths))
