"""The recurrent baseline: embeddings, a bidirectional LSTM over packed sequences, pooling over time."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bakeoff.models import pooling
from bakeoff.spec import BiLstm


EMBEDDING_STD = 0.1


class BiLstmClassifier(nn.Module):
    """Reads documents of any length; padding never reaches the LSTM, since sequences are packed."""

    def __init__(self, spec: BiLstm, *, vocabulary_size: int, n_classes: int, pad_id: int) -> None:
        super().__init__()
        self.pooling = spec.pooling
        self.embedding = nn.Embedding(vocabulary_size, spec.embedding_dim, padding_idx=pad_id)
        # PyTorch's unit-variance start would drown what a few hundred updates teach an embedding.
        nn.init.normal_(self.embedding.weight, std=EMBEDDING_STD)
        with torch.no_grad():
            self.embedding.weight[pad_id].zero_()
        self.lstm = nn.LSTM(
            spec.embedding_dim,
            spec.hidden_dim,
            num_layers=spec.layers,
            bidirectional=True,
            batch_first=True,
            dropout=spec.dropout if spec.layers > 1 else 0.0,
        )
        self.dropout = nn.Dropout(spec.dropout)
        self.head = nn.Linear(2 * spec.hidden_dim, n_classes)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of `ids` (batch, longest) with `lengths` (batch,) of at least 1, on the CPU."""
        embedded = self.dropout(self.embedding(ids))  # (batch, longest, embedding)
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        packed_states, (last, _) = self.lstm(packed)
        if self.pooling == "last":
            pooled = torch.cat([last[-2], last[-1]], dim=1)  # the end of each direction
        else:
            states, _ = pad_packed_sequence(packed_states, batch_first=True)  # (batch, longest, 2 · hidden)
            pooled = pooling.over_time(states, pooling.mask_of(lengths, states), how=self.pooling)
        logits: torch.Tensor = self.head(self.dropout(pooled))
        return logits
