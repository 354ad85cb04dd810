"""Checkpoints that answer as they are: by nearness of meaning, by entailment, or with a head of their own.

Each is a module `(ids, lengths) → logits`, so it is predicted with and served like a trained one.
"""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from bakeoff.errors import DataError
from bakeoff.models import encoders, pooling

SCALE = 20.0
"""Cosine similarity to logit: the default of sentence-transformers' ranking loss, with which the starter checkpoint was tuned
(Reimers & Gurevych, 2019; `MultipleNegativesRankingLoss(scale=20)`). It orders nothing anew, and calibrates nothing."""


class SimilarityClassifier(nn.Module):
    """Which class description lies nearest: cosine similarity of mean-pooled states, times SCALE."""

    described: torch.Tensor

    def __init__(self, encoder: nn.Module, *, n_classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.register_buffer("described", torch.zeros(n_classes, encoder.config.hidden_size))  # type: ignore[union-attr,arg-type]

    def describe(self, ids: torch.Tensor, lengths: torch.Tensor) -> None:
        """Keep the embeddings of the class descriptions, `ids` (classes, longest)."""
        self.eval()
        with torch.inference_mode():
            self.described.copy_(self.embed(ids, lengths))

    def embed(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Embeddings of length 1, (batch, width)."""
        return functional.normalize(encoders.pooled(self.encoder, ids, lengths, how="mean"), dim=-1)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of `ids` (batch, longest); tokens at or past `lengths` (batch,) are masked."""
        return SCALE * self.embed(ids, lengths) @ self.described.T


class EntailmentClassifier(nn.Module):
    """Which class does a text entail: the entailment logit of the pair (text, sentence of the class), class by class.

    A softmax over them is the probability of entailment, normalised over classes (Yin, Hay & Roth, 2019).
    """

    tail_ids: torch.Tensor
    tail_types: torch.Tensor

    def __init__(
        self,
        judge: nn.Module,
        *,
        entailment: int,
        tails: Sequence[Sequence[int]],
        types: Sequence[Sequence[int]],
        suffix_tokens: int,
        max_tokens: int | None,
        pad_id: int,
    ) -> None:
        """`tails` are the tokens behind a text, one row a class, and `types` their segments.

        `suffix_tokens` close a text that stands alone; a pair has `max_tokens` at most, for which the text is cut and
        never the sentence. `pad_id` stands behind a pair, since some heads look for the last token by its id.
        """
        super().__init__()
        self.judge, self.entailment = judge, entailment
        self.suffix_tokens, self.max_tokens, self.pad_id = suffix_tokens, max_tokens, pad_id
        self.tail_lengths = tuple(len(tail) for tail in tails)
        longest = max(self.tail_lengths)
        rows = {"tail_ids": tails, "tail_types": types}
        for name, values in rows.items():
            self.register_buffer(name, torch.tensor([[*row, *[0] * (longest - len(row))] for row in values]))
        config: Any = judge.config
        takes_types = "token_type_ids" in inspect.signature(judge.forward).parameters
        self.has_types = takes_types and getattr(config, "type_vocab_size", 0) > 1

    def text_tokens(self, lengths: torch.Tensor) -> torch.Tensor:
        """How many tokens of each document stand in its pairs, opening ones included, at the longest class: (batch,)."""
        return self._kept(lengths, max(self.tail_lengths))

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of documents that stand alone in `ids` (batch, longest), `lengths` (batch,) tokens each."""
        return torch.stack([self._entailment(ids, lengths, row) for row in range(len(self.tail_lengths))], dim=1)

    def _entailment(self, ids: torch.Tensor, lengths: torch.Tensor, row: int) -> torch.Tensor:
        tail_length = self.tail_lengths[row]
        kept = self._kept(lengths, tail_length).to(ids.device)
        width = int(kept.max()) + tail_length
        at = torch.arange(width, device=ids.device)[None, :]  # (1, width)
        in_tail = (at - kept[:, None]).clamp(0, tail_length - 1)  # (batch, width)
        is_text = at < kept[:, None]
        text = functional.pad(ids, (0, max(0, width - ids.shape[1])))[:, :width]
        is_pair = at < kept[:, None] + tail_length
        pair = torch.where(is_text, text, self.tail_ids[row][in_tail])
        inputs = {"input_ids": torch.where(is_pair, pair, self.pad_id), "attention_mask": is_pair.long()}
        if self.has_types:
            inputs["token_type_ids"] = torch.where(is_text, 0, self.tail_types[row][in_tail])
        logits: torch.Tensor = self.judge(**inputs).logits[:, self.entailment]
        return logits

    def _kept(self, lengths: torch.Tensor, tail_length: int) -> torch.Tensor:
        kept = lengths - self.suffix_tokens
        return kept if self.max_tokens is None else kept.clamp(max=self.max_tokens - tail_length)


class OffTheShelfClassifier(nn.Module):
    """A sequence classifier whose outputs are gathered into our classes.

    The logit of a class is the log of the sum of its outputs' exponentials, so a softmax gives the sum of their
    probabilities, normalised over the outputs that mean a class.
    """

    def __init__(self, checkpoint: nn.Module, *, outputs: Sequence[Sequence[int]]) -> None:
        """`outputs` are, for each class, the outputs that mean it."""
        super().__init__()
        self.checkpoint, self.outputs = checkpoint, tuple(tuple(each) for each in outputs)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of `ids` (batch, longest); tokens at or past `lengths` (batch,) are masked."""
        mask = pooling.mask_of(lengths, ids)
        logits = self.checkpoint(**encoders.inputs_of(self.checkpoint, ids, mask)).logits
        return torch.stack([logits[:, list(each)].logsumexp(dim=1) for each in self.outputs], dim=1)


def load_sequence_classifier(folder: Path, *, name: str) -> nn.Module:
    """A checkpoint with its own head, in float32 whatever is stored.

    Raises DataError where weights are missing, since random ones would answer instead.
    """
    from transformers import AutoModelForSequenceClassification

    config = encoders.read_config(folder)
    try:
        found, report = AutoModelForSequenceClassification.from_pretrained(
            str(folder), config=config, dtype=torch.float32, trust_remote_code=False, weights_only=True, output_loading_info=True
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(f"model.checkpoint={name} cannot be loaded ({type(error).__name__}): name another or save it anew") from None
    if missing := sorted(report["missing_keys"]):
        raise DataError(
            f"model.checkpoint={name} lacks {len(missing)} of its weights, such as {missing[0]}, so random ones would answer: "
            "name a fine-tuned checkpoint"
        )
    return found  # type: ignore[no-any-return]
