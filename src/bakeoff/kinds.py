"""Who competes: the kinds of Model, how each is trained, and how each reads a long document.

`spec` passes every name on, so the rest of the code says `spec.Pretrained`.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bakeoff.identity import display, hashed, neutral

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class LongDoc:
    """How a document longer than the model's window is read, and how many tokens of it at most."""

    recipe: ClassVar[int] = 1
    strategy: Literal["full", "head"] = hashed()
    max_tokens: int | None = hashed()
    """Tokens read a document, the model's special tokens included; null is no limit."""

    def __post_init__(self) -> None:
        if self.strategy == "full" and self.max_tokens is not None:
            raise ValueError(f"longdoc.max_tokens={self.max_tokens} needs longdoc=head: full reads the whole document")
        if self.strategy == "head" and (self.max_tokens is None or self.max_tokens < 3):
            raise ValueError(f"longdoc.max_tokens={self.max_tokens} should be at least 3 (one token between two special ones)")

    @property
    def label(self) -> str:
        """Short name for tables: `full`, `head-256`."""
        return self.strategy if self.max_tokens is None else f"{self.strategy}-{self.max_tokens}"


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a neural model is fitted: AdamW, warm-up, decay, clipping, and how long."""

    learning_rate: float = hashed("training")
    weight_decay: float = hashed("training")
    batch_size: int = hashed("training")
    epochs: int = hashed("training")
    min_steps: int = hashed("training")
    """On small budgets steps are counted, not epochs: never fewer optimiser steps than this."""
    warmup_fraction: float = hashed("training")
    schedule: Literal["linear", "constant"] = hashed("training")
    clip_norm: float = hashed("training")

    def __post_init__(self) -> None:
        for name in ("learning_rate", "batch_size", "epochs", "clip_norm"):
            if not getattr(self, name) > 0:
                raise ValueError(f"model.training.{name}={getattr(self, name)} should be above 0")
        if self.weight_decay < 0 or self.min_steps < 0:
            raise ValueError("model.training.weight_decay and model.training.min_steps should not be negative")
        if not 0 <= self.warmup_fraction < 1:
            raise ValueError(f"model.training.warmup_fraction={self.warmup_fraction} should be from 0 to below 1")


@dataclass(frozen=True, kw_only=True)
class Majority:
    """Always the largest class of the budget, with its class shares as probabilities: the floor of floors."""

    kind: ClassVar[str] = "majority"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()


@dataclass(frozen=True, kw_only=True)
class Tfidf:
    """Word n-grams weighted by TF-IDF, then logistic regression with C chosen by cross-validation."""

    kind: ClassVar[str] = "tfidf"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()
    ngram_max: int = hashed("architecture")
    min_count: int = hashed("architecture")
    sublinear_tf: bool = hashed("training")
    c_grid: tuple[float, ...] = hashed("training")
    cv_folds: int = hashed("training")

    def __post_init__(self) -> None:
        if not self.c_grid or min(self.c_grid) <= 0:
            raise ValueError("model.c_grid should list at least one number above 0")
        if self.cv_folds < 2 or self.ngram_max < 1 or self.min_count < 1:
            raise ValueError("model.cv_folds should be at least 2, model.ngram_max and model.min_count at least 1")


@dataclass(frozen=True, kw_only=True)
class BiLstm:
    """Word embeddings, a bidirectional LSTM over documents of any length, pooling over time, a linear head."""

    kind: ClassVar[str] = "bilstm"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()
    precision: Precision = hashed("architecture")
    embedding_dim: int = hashed("architecture")
    hidden_dim: int = hashed("architecture")
    layers: int = hashed("architecture")
    pooling: Literal["max", "mean", "last"] = hashed("architecture")
    dropout: float = hashed("training")
    min_count: int = hashed("architecture")
    max_vocabulary: int = hashed("architecture")
    training: Training = hashed("training")

    def __post_init__(self) -> None:
        for name in ("embedding_dim", "hidden_dim", "layers", "min_count", "max_vocabulary"):
            if getattr(self, name) < 1:
                raise ValueError(f"model.{name}={getattr(self, name)} should be at least 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"model.dropout={self.dropout} should be from 0 to below 1")


@dataclass(frozen=True, kw_only=True)
class EncoderSize:
    """The numbers of an encoder, from which it is timed at its true size without any checkpoint."""

    family: Literal["bert", "distilbert", "longformer", "modernbert", "roberta"] = hashed()
    layers: int = hashed()
    width: int = hashed()
    heads: int = hashed()
    feed_forward: int = hashed()
    """Inner width of the feed-forward layers."""
    vocabulary: int = hashed()
    positions: int = hashed()
    """The most tokens it reads, special ones included."""

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "feed_forward", "vocabulary", "positions"):
            if getattr(self, name) < 1:
                raise ValueError(f"model.size.{name}={getattr(self, name)} should be at least 1")
        if self.width % self.heads:
            raise ValueError(f"model.size.width={self.width} should be a multiple of model.size.heads={self.heads}")


@dataclass(frozen=True, kw_only=True)
class Pretrained:
    """A pretrained encoder with a fresh linear head, fine-tuned in full."""

    kind: ClassVar[str] = "pretrained"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()
    checkpoint: str = display()
    """A starter asset, a folder, or a name on the hub together with `revision`."""
    revision: str | None = display()
    checkpoint_fingerprint: str = hashed("architecture")
    """SHA-256 over weights, configuration and tokeniser (or the hub revision, or `architecture:` and that of `size`);
    `config` fills it in."""
    precision: Precision = hashed("architecture")
    pooling: Literal["cls", "mean", "max"] = hashed("architecture")
    training: Training = hashed("training")
    size: EncoderSize | None = neutral(None, "architecture")
    """The encoder's numbers, so that a checkpoint on the hub can be timed untrained while it has no `revision`."""

    @property
    def without_checkpoint(self) -> bool:
        """Whether this is an architecture alone, which can be timed and never trained."""
        return self.checkpoint_fingerprint.startswith("architecture:")


Neural = BiLstm | Pretrained
"""Kinds that are trained by steps and keep validation rows; the others select in closed form over all their labels."""
Model = Majority | Tfidf | Neural
FLOORS = (Majority.kind, Tfidf.kind)
"""The kinds that are the cheap floors beneath the others: in seconds they show that the data is read right."""
MODEL_KINDS: dict[str, type[Model]] = {cls.kind: cls for cls in (Majority, Tfidf, BiLstm, Pretrained)}
