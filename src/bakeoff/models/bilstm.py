"""The recurrent baseline: embeddings, a bidirectional LSTM over sequences of any length, pooling over time."""

import torch
from torch import nn

from bakeoff.models import pooling
from bakeoff.spec import BiLstm

EMBEDDING_STD = 0.3


class BiLstmClassifier(nn.Module):
    """Answers a document as packed sequences would, whatever stands beside it in the batch."""

    def __init__(self, spec: BiLstm, *, vocabulary_size: int, n_classes: int, pad_id: int) -> None:
        super().__init__()
        self.pooling = spec.pooling
        self.embedding = nn.Embedding(vocabulary_size, spec.embedding_dim, padding_idx=pad_id)
        # At PyTorch's unit variance a few hundred updates hardly move an embedding (58% right on 1,000 labels of the movie
        # pool); at 0.1 some draws stay at chance until they overfit; at 0.3 none of four did (62%).
        nn.init.normal_(self.embedding.weight, std=EMBEDDING_STD)
        with torch.no_grad():
            self.embedding.weight[pad_id].zero_()
        widths = [spec.embedding_dim, *[2 * spec.hidden_dim] * (spec.layers - 1)]
        self.layers = nn.ModuleList(BothWays(width, spec.hidden_dim) for width in widths)
        self.dropout = nn.Dropout(spec.dropout)
        self.head = nn.Linear(2 * spec.hidden_dim, n_classes)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of `ids` (batch, longest) with `lengths` (batch,) of at least 1."""
        states = self.embedding(ids)  # (batch, longest, embedding)
        for layer in self.layers:
            states = layer(self.dropout(states), lengths)  # (batch, longest, 2 · hidden)
        if self.pooling == "last":
            pooled = last_states(states, lengths)
        else:
            pooled = pooling.over_time(states, pooling.mask_of(lengths, states), how=self.pooling)
        logits: torch.Tensor = self.head(self.dropout(pooled))
        return logits


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
