"""Who competes: the kinds of Model and how each is trained.

`spec` passes every name on, so the rest of the code says `spec.Pretrained`.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bakeoff.identity import display, hashed, neutral
from bakeoff.readings import LongDoc
from bakeoff.recipes import Distillation, EncoderSize, Precision, Training


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
    pooling: Literal["max", "mean", "last", "attention"] = hashed("architecture")
    dropout: float = hashed("training")
    min_count: int = hashed("architecture")
    max_vocabulary: int = hashed("architecture")
    training: Training = hashed("training")
    directions: Literal["both", "forward"] = neutral("both", "architecture")
    vocabulary: Literal["words", "word_pieces"] = neutral("words", "architecture")
    """Words of the budget's texts, or the word-pieces of `checkpoint`."""
    embeddings: Literal["random", "checkpoint", "vectors"] = neutral("random", "training")
    """Where they start: at random, at the word-piece table of `checkpoint`, or at a text file in GloVe's format."""
    checkpoint: str | None = display(None)
    revision: str | None = display(None)
    checkpoint_fingerprint: str | None = neutral(None, "architecture")
    vectors: str | None = display(None)
    """Path of a text file in GloVe's format: a word and its numbers a line."""
    vectors_fingerprint: str | None = neutral(None, "training")
    teacher: str | None = display(None)
    distillation: Distillation | None = neutral(None, "training")

    def __post_init__(self) -> None:
        for name in ("embedding_dim", "hidden_dim", "layers", "min_count", "max_vocabulary"):
            if getattr(self, name) < 1:
                raise ValueError(f"model.{name}={getattr(self, name)} should be at least 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"model.dropout={self.dropout} should be from 0 to below 1")
        needs = self.vocabulary == "word_pieces" or self.embeddings == "checkpoint"
        if needs != (self.checkpoint is not None):
            raise ValueError(
                f"model.checkpoint={self.checkpoint} goes with model.vocabulary=word_pieces, which reads its tokeniser: set both or neither"
            )
        if self.embeddings == "checkpoint" and self.vocabulary == "words":
            raise ValueError("model.embeddings=checkpoint needs model.vocabulary=word_pieces: its table has a row for each word-piece")
        if (self.embeddings == "vectors") != (self.vectors is not None):
            raise ValueError(f"model.vectors={self.vectors} goes with model.embeddings=vectors: set both or neither")
        if self.embeddings == "vectors" and self.vocabulary == "word_pieces":
            raise ValueError("model.embeddings=vectors needs model.vocabulary=words: the file has vectors of words")


@dataclass(frozen=True, kw_only=True)
class Scratch:
    """A transformer encoder of our own bricks, from random weights (or from `model.start`); causal, it is a decoder."""

    kind: ClassVar[str] = "scratch"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()
    precision: Precision = hashed("architecture")
    width: int = hashed("architecture")
    layers: int = hashed("architecture")
    heads: int = hashed("architecture")
    feed_forward: int = hashed("architecture")
    positions: Literal["none", "sinusoidal", "learned", "rotary"] = hashed("architecture")
    max_positions: int | None = hashed("architecture")
    """Rows of the table of learned positions, special tokens included; null for positions that need no table."""
    norm: Literal["before", "after"] = hashed("architecture")
    causal: bool = hashed("architecture")
    pooling: Literal["cls", "mean", "max", "last"] = hashed("architecture")
    """cls reads the first token, last the last real one."""
    dropout: float = hashed("training")
    vocabulary: Literal["words", "word_pieces"] = hashed("architecture")
    """Words of the budget's texts, or the word-pieces of `checkpoint` (its tokeniser alone; no weights)."""
    checkpoint: str | None = display()
    revision: str | None = display()
    checkpoint_fingerprint: str | None = neutral(None, "architecture")
    min_count: int = hashed("architecture")
    max_vocabulary: int = hashed("architecture")
    training: Training = hashed("training")
    teacher: str | None = display()
    distillation: Distillation | None = hashed("training")
    start: str | None = display()

    def __post_init__(self) -> None:
        for name in ("width", "layers", "heads", "feed_forward", "min_count", "max_vocabulary"):
            if getattr(self, name) < 1:
                raise ValueError(f"model.{name}={getattr(self, name)} should be at least 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"model.dropout={self.dropout} should be from 0 to below 1")
        if self.width % self.heads:
            raise ValueError(f"model.width={self.width} should be a multiple of model.heads={self.heads}")
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise ValueError(
                f"model.positions=rotary turns pairs of numbers: model.width / model.heads={self.width // self.heads} should be even"
            )
        if (self.positions == "learned") != (self.max_positions is not None):
            raise ValueError(f"model.max_positions={self.max_positions} goes with model.positions=learned: set both or neither")
        if (self.vocabulary == "word_pieces") != (self.checkpoint is not None):
            raise ValueError(f"model.checkpoint={self.checkpoint} goes with model.vocabulary=word_pieces: set both or neither")
        if self.causal and self.pooling == "cls":
            raise ValueError(
                "model.pooling=cls reads the first token, which in a causal model has seen nothing else: use last, mean or max"
            )


@dataclass(frozen=True, kw_only=True)
class Frozen:
    """Features of a pretrained encoder that is left as it is, then logistic regression: the cheapest strong answer."""

    kind: ClassVar[str] = "frozen"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()
    checkpoint: str = display()
    revision: str | None = display()
    checkpoint_fingerprint: str = hashed("architecture")
    precision: Precision = hashed("architecture")
    pooling: Literal["cls", "mean", "max"] = hashed("architecture")
    normalise: bool = hashed("architecture")
    """Scale each document's features to length 1."""
    c_grid: tuple[float, ...] = hashed("training")
    cv_folds: int = hashed("training")

    def __post_init__(self) -> None:
        if not self.c_grid or min(self.c_grid) <= 0:
            raise ValueError("model.c_grid should list at least one number above 0")
        if self.cv_folds < 2:
            raise ValueError("model.cv_folds should be at least 2")


@dataclass(frozen=True, kw_only=True)
class ZeroShot:
    """No labels: which class description lies nearest to a text, or which one does a text entail."""

    kind: ClassVar[str] = "zero_shot"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()
    method: Literal["similarity", "entailment"] = hashed("architecture")
    """similarity needs an embedding checkpoint, entailment one that was trained for natural-language inference."""
    checkpoint: str = display()
    revision: str | None = display()
    checkpoint_fingerprint: str = hashed("architecture")
    precision: Precision = hashed("architecture")
    template: str = hashed("training")
    """How a class is put into words: `{}` stands for its description."""
    descriptions: dict[str, str] = hashed("training")
    """Class → description; `config` takes them from the dataset, and a class without one is described by its name."""

    def __post_init__(self) -> None:
        if self.template.count("{}") != 1:
            raise ValueError(f"model.template={self.template} should hold {{}} once, where the description of a class goes")


@dataclass(frozen=True, kw_only=True)
class OffTheShelf:
    """A published sequence classifier as it is, its labels mapped to the dataset's."""

    kind: ClassVar[str] = "off_the_shelf"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()
    checkpoint: str = display()
    revision: str | None = display()
    checkpoint_fingerprint: str = hashed("architecture")
    precision: Precision = hashed("architecture")
    labels: dict[str, str] = hashed("training")
    """The checkpoint's label → the dataset's class; several may mean one class, and one left out is never answered."""


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Answers made elsewhere (rules, an API, a language model, people), read from a file and scored like the rest."""

    kind: ClassVar[str] = "predictions"
    recipe: ClassVar[int] = 1
    name: str = display()
    default_longdoc: LongDoc = display()
    path: str = display()
    """CSV, JSON lines or Parquet with row_id and label, and where known probability, milliseconds and price."""
    fingerprint: str = hashed("architecture")


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
    keep_layers: tuple[int, ...] | None = neutral(None, "architecture")
    """The checkpoint's layers that are kept, counted from 0, such as every second one for a student; null is all of them."""
    head_first_epochs: int = neutral(0, "training")
    """Epochs at the start in which only the fresh head learns."""
    layer_decay: float = neutral(1.0, "training")
    """Learning rate of each layer over that of the layer above it (Howard & Ruder, 2018); 1 is one rate for all."""
    reinitialised_layers: int = neutral(0, "training")
    """Top layers that start afresh (Zhang et al., 2021)."""
    teacher: str | None = display(None)
    distillation: Distillation | None = neutral(None, "training")
    start: str | None = display(None)

    def __post_init__(self) -> None:
        if self.keep_layers is not None and (
            not self.keep_layers or sorted(set(self.keep_layers)) != list(self.keep_layers) or self.keep_layers[0] < 0
        ):
            raise ValueError(f"model.keep_layers={list(self.keep_layers)} should list layers in rising order, from 0")
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"model.layer_decay={self.layer_decay} should be above 0 and at most 1")
        if self.head_first_epochs < 0 or self.reinitialised_layers < 0:
            raise ValueError("model.head_first_epochs and model.reinitialised_layers should not be negative")
        if self.head_first_epochs and self.head_first_epochs >= self.training.epochs:
            raise ValueError(
                f"model.head_first_epochs={self.head_first_epochs} should be below model.training.epochs={self.training.epochs}"
            )

    @property
    def without_checkpoint(self) -> bool:
        """Whether this is an architecture alone, which can be timed and never trained."""
        return self.checkpoint_fingerprint.startswith("architecture:")


Neural = BiLstm | Scratch | Pretrained
"""Kinds that are trained by steps and keep validation rows; the others select in closed form over all their labels."""
BudgetZero = ZeroShot | OffTheShelf
"""Kinds that read no label."""
Model = Majority | Tfidf | Frozen | Neural | BudgetZero | Predictions
FLOORS = (Majority.kind, Tfidf.kind)
"""The kinds that are the cheap floors beneath the others: in seconds they show that the data is read right."""
MODEL_KINDS: dict[str, type[Model]] = {
    cls.kind: cls for cls in (Majority, Tfidf, Frozen, BiLstm, Scratch, Pretrained, ZeroShot, OffTheShelf, Predictions)
}
