"""The recurrent baseline: embeddings, an LSTM that reads both ways (or one) over any length, pooling over time."""

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bakeoff.models import pooling, windows
from bakeoff.spec import BiLstm, LongDoc

EMBEDDING_STD = 0.3


class BiLstmClassifier(nn.Module):
    """Answers a document as packed sequences would, whatever stands beside it in the batch."""

    def __init__(
        self,
        spec: BiLstm,
        *,
        vocabulary_size: int,
        n_classes: int,
        pad_id: int,
        embeddings: npt.NDArray[np.float32] | None = None,
        longdoc: LongDoc | None = None,
        frame: windows.Frame | None = None,
    ) -> None:
        """`embeddings`, shape (vocabulary, embedding), are what they start from, all scaled alike to the size of random ones.

        A row of NaN starts at random. Where `longdoc` reads by windows, documents stand between the special tokens of `frame`.
        """
        super().__init__()
        self.pooling = spec.pooling
        self.embedding = nn.Embedding(vocabulary_size, spec.embedding_dim, padding_idx=pad_id)
        # At PyTorch's unit variance a few hundred updates hardly move an embedding (58% right on 1,000 labels of the movie
        # pool); at 0.1 some draws stay at chance until they overfit; at 0.3 none of four did (62%).
        nn.init.normal_(self.embedding.weight, std=EMBEDDING_STD)
        with torch.no_grad():
            if embeddings is not None:
                # As they are, those of the starter checkpoint (0.06) learn slowly or not at all: 63% against 67% right on
                # validation rows of the movie pool, mean of two draws.
                given = torch.from_numpy(embeddings) * (EMBEDDING_STD / root_mean_square(embeddings))
                self.embedding.weight.copy_(torch.where(given.isnan(), self.embedding.weight, given))
            self.embedding.weight[pad_id].zero_()
        both = spec.directions == "both"
        width = 2 * spec.hidden_dim if both else spec.hidden_dim
        widths = [spec.embedding_dim, *[width] * (spec.layers - 1)]
        self.layers = nn.ModuleList((BothWays if both else Onward)(each, spec.hidden_dim) for each in widths)
        self.dropout = nn.Dropout(spec.dropout)
        self.head = nn.Linear(width, n_classes)
        self.attention = pooling.AttentionPooling(width) if spec.pooling == "attention" else None
        self.windows = windows.reader_of(longdoc, width=width, frame=frame)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of `ids` (batch, longest) with `lengths` (batch,); length 0 is read as one padding token."""
        if self.windows is not None:
            answered: torch.Tensor = self.windows(ids, lengths, features=self.features, head=self._answer)
            return answered
        return self._answer(self.features(ids, lengths))

    def features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One state a document, or a window of one: (batch, width) of `ids` (batch, longest) with `lengths` (batch,)."""
        lengths = lengths.clamp(min=1)
        states = self.embedding(ids)  # (batch, longest, embedding)
        for layer in self.layers:
            states = layer(self.dropout(states), lengths)  # (batch, longest, hidden, twice where it reads both ways)
        return self._pooled(states, lengths)

    def _answer(self, features: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.dropout(features))
        return logits

    def _pooled(self, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        if self.pooling == "last" and isinstance(self.layers[0], BothWays):
            return last_states(states, lengths)
        mask = pooling.mask_of(lengths, states)
        if self.pooling == "attention":
            assert self.attention is not None
            pooled: torch.Tensor = self.attention(states, mask)
            return pooled
        return pooling.over_time(states, mask, how=self.pooling)


class Onward(nn.Module):
    """One layer that reads forwards only; padding stands at the end, so it cannot reach the states of real tokens."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(width, hidden, batch_first=True)

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """States (batch, longest, hidden) of `inputs` (batch, longest, width); those of padding mean nothing."""
        states: torch.Tensor = self.forwards(inputs)[0]
        return states


class BothWays(nn.Module):
    """One bidirectional layer, equal to `nn.LSTM(bidirectional=True)` over packed sequences.

    Padding stands at the end, so it cannot reach the forward states of real tokens; the backward direction reads each
    document turned round within its own length. Packing would do the same, but on a CPU its backward pass fills a
    gradient of the whole batch at every step, which is quadratic in length (`benchmarks/packed_lstm.py`).
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(width, hidden, batch_first=True)
        self.backwards = nn.LSTM(width, hidden, batch_first=True)

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """States (batch, longest, 2 · hidden) of `inputs` (batch, longest, width); those of padding mean nothing."""
        turned = turned_round(lengths, inputs)
        onward, _ = self.forwards(inputs)
        back, _ = self.backwards(inputs.gather(1, turned.expand_as(inputs)))
        return torch.cat([onward, back.gather(1, turned.expand_as(back))], dim=2)


def root_mean_square(embeddings: npt.NDArray[np.float32]) -> float:
    """The size of what is there among `embeddings`, NaN left out; 1 where nothing is."""
    there = embeddings[~np.isnan(embeddings)]
    return float(np.sqrt(np.square(there, dtype=np.float64).mean())) if there.any() else 1.0


def turned_round(lengths: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Positions (batch, longest, 1) that read each document backwards within its length and leave padding in place."""
    steps = torch.arange(inputs.shape[1], device=inputs.device)[None, :]
    ends = lengths.to(inputs.device)[:, None]
    return torch.where(steps < ends, ends - 1 - steps, steps).unsqueeze(-1)


def last_states(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Where each direction ends: the forward half at the last token, the backward half at the first; (batch, width)."""
    half = states.shape[2] // 2
    ends = (lengths.to(states.device) - 1)[:, None, None].expand(-1, 1, half)
    return torch.cat([states[:, :, :half].gather(1, ends)[:, 0], states[:, 0, half:]], dim=1)
