"""An encoder that guesses hidden tokens, with the head of Devlin et al. (2019)."""

from typing import Any

import torch
from torch import nn

from bakeoff.models import encoders, pooling
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.models.scratch import ScratchClassifier

INITIAL_STD = 0.02


class MaskedHead(nn.Module):
    """Dense, GELU, layer norm, then a decoder whose matrix is the embedding table itself and whose bias is its own."""

    def __init__(self, width: int, embedding: nn.Embedding) -> None:
        super().__init__()
        self.dense = nn.Linear(width, embedding.embedding_dim)
        nn.init.normal_(self.dense.weight, std=INITIAL_STD)
        nn.init.zeros_(self.dense.bias)
        self.norm = nn.LayerNorm(embedding.embedding_dim)
        self.decoder = nn.Linear(embedding.embedding_dim, embedding.num_embeddings)
        self.decoder.weight = embedding.weight
        nn.init.zeros_(self.decoder.bias)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Logits (tokens, vocabulary) of `states` (tokens, width)."""
        logits: torch.Tensor = self.decoder(self.norm(nn.functional.gelu(self.dense(states))))
        return logits


class MaskedLanguageModel(nn.Module):
    """A classifier's encoder under a fresh head that guesses tokens; the classifier's own head is taken off.

    Fresh for a checkpoint too, whether or not it was published with such a head: only its decoder, which is tied to the
    word embeddings, starts from what the checkpoint knows.
    """

    def __init__(self, classifier: ScratchClassifier | PretrainedClassifier) -> None:
        super().__init__()
        width = classifier.head.in_features
        classifier.head = nn.Identity()  # type: ignore[assignment]
        self.classifier = classifier
        self.guess = MaskedHead(int(width), _embedding(classifier))

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Logits (hidden tokens, vocabulary), in reading order, of `ids` (batch, longest) where `hidden` (batch, longest) is true.

        The states of other tokens never meet the decoder, which is the largest product by far.
        """
        logits: torch.Tensor = self.guess(_states(self.classifier, ids, lengths)[hidden])
        return logits


def _embedding(classifier: ScratchClassifier | PretrainedClassifier) -> nn.Embedding:
    if isinstance(classifier, ScratchClassifier):
        return classifier.embedding
    encoder: Any = classifier.encoder
    found: nn.Embedding = encoder.get_input_embeddings()
    return found


def _states(classifier: ScratchClassifier | PretrainedClassifier, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """States (batch, longest, width)."""
    if isinstance(classifier, ScratchClassifier):
        return classifier.encode(ids, lengths)
    return encoders.states(classifier.encoder, ids, pooling.mask_of(lengths, ids))
