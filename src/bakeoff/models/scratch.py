"""A transformer that starts from nothing: embeddings, our stack of blocks, pooling, a linear head."""

import math

import torch
from torch import nn

from bakeoff.models import pooling, windows
from bakeoff.models.transformer import Block, TransformerEncoder
from bakeoff.spec import LongDoc, Scratch

INITIAL_STD = 0.02


class ScratchClassifier(nn.Module):
    """An encoder, or a decoder where `spec.causal`; tokens at or past a document's length have no part in its answer."""

    def __init__(
        self,
        spec: Scratch,
        *,
        vocabulary_size: int,
        n_classes: int,
        pad_id: int,
        longdoc: LongDoc | None = None,
        frame: windows.Frame | None = None,
    ) -> None:
        """Where `longdoc` reads by windows, documents stand between the special tokens of `frame`."""
        super().__init__()
        self.pooling = spec.pooling
        self.embedding = nn.Embedding(vocabulary_size, spec.width, padding_idx=pad_id)
        self.encoder = TransformerEncoder(
            width=spec.width,
            layers=spec.layers,
            heads=spec.heads,
            feed_forward=spec.feed_forward,
            positions=spec.positions,
            max_positions=spec.max_positions,
            norm=spec.norm,
            causal=spec.causal,
            dropout=spec.dropout,
        )
        self.dropout = nn.Dropout(spec.dropout)
        self.head = nn.Linear(spec.width, n_classes)
        self._initialise()
        self.windows = windows.reader_of(longdoc, width=spec.width, frame=frame)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits. Shape: ids (batch, longest), lengths (batch,) → (batch, classes)."""
        if self.windows is not None:
            answered: torch.Tensor = self.windows(ids, lengths, features=self.features, head=self._answer)
            return answered
        return self._answer(self.features(ids, lengths))

    def features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One state a document, or a window of one. Shape: ids (batch, longest), lengths (batch,) → (batch, width)."""
        return pooling.over_time(self.encode(ids, lengths), _real(ids, lengths), how=self.pooling)

    def encode(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """What each token became; the states of padding mean nothing.

        Shape: ids (batch, longest), lengths (batch,) → (batch, longest, width).
        """
        # Vaswani et al. (2017, section 3.4) scale embeddings so that positions of size 1 do not drown them.
        embedded = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        states: torch.Tensor = self.encoder(embedded, ~_real(ids, lengths))
        return states

    def _answer(self, features: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.dropout(features))
        return logits

    def _initialise(self) -> None:
        """As GPT-2 (Radford et al., 2019): small normal weights, zero biases, and smaller weights still where a branch joins the
        sum that runs through all blocks, so that its size does not grow with their number."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=INITIAL_STD)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        joins = 2 * len(self.encoder.blocks)
        with torch.no_grad():
            for block in self.encoder.blocks:
                assert isinstance(block, Block)
                block.attention.outward.weight /= math.sqrt(joins)
                block.feed_forward.back.weight /= math.sqrt(joins)
            assert self.embedding.padding_idx is not None
            self.embedding.weight[self.embedding.padding_idx].zero_()


def _real(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """True at real tokens; a document of length 0 is read as one padding token, so that it has an answer too."""
    return pooling.mask_of(lengths.clamp(min=1), ids)
