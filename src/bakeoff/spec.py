"""The nouns of a question, frozen: Dataset, Budget, Model kinds, LongDoc, Probe, Run; and how it executes, Machine.

YAML carries every value, so fields have no defaults here, save `neutral` ones. What each field means to the
identity of a Run is said in `identity.py`.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bakeoff.identity import display, hashed
from bakeoff.identity import hash_identity as hash_identity
from bakeoff.identity import identity as identity
from bakeoff.identity import is_run_id as is_run_id
from bakeoff.identity import neutral as neutral
from bakeoff.identity import to_plain as to_plain

FOLDS = 5

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Texts with labels at a pinned revision, split into a train pool and a test set."""

    recipe: ClassVar[int] = 1
    name: str = display()
    description: str = display()
    family: str = display()
    """Datasets made of the same texts share a family; one is never independent evidence beside another."""
    redistributable: bool = display()
    """Whether texts may appear on pages and in Weights & Biases."""
    metric: Literal["auto", "accuracy", "macro_f1"] = display()
    """The primary metric; auto is accuracy up to a class ratio of 3:1, otherwise macro-F1."""
    asset: str | None = display()
    path: str | None = display()
    test_path: str | None = display()
    format: Literal["csv", "tsv", "jsonl", "folder", "orange", "movie"] = hashed()
    fingerprint: str = hashed()
    """SHA-256 of the bytes behind the texts; `config` fills it in."""
    text: str | None = hashed()
    label: str | None = hashed()
    group: str | None = hashed()
    encoding: str = hashed()
    label_map: dict[str, str] = hashed()
    split: Literal["official", "fold", "held_out_rows"] = hashed()
    fold: int | None = hashed()
    held_out_rows: int | None = hashed()

    def __post_init__(self) -> None:
        needs_columns = self.format in ("csv", "tsv", "jsonl")
        if needs_columns and not (self.text and self.label):
            missing = "text" if not self.text else "label"
            raise ValueError(f"dataset.{missing} is empty: name the column that holds the {missing}")
        if self.split == "fold" and (self.fold is None or not 0 <= self.fold < FOLDS):
            raise ValueError(f"dataset.fold={self.fold} should be a number from 0 to {FOLDS - 1} when dataset.split=fold")
        if self.split != "fold" and self.fold is not None:
            raise ValueError(f"dataset.fold={self.fold} needs dataset.split=fold, but dataset.split={self.split}")
        if self.split == "held_out_rows" and (self.held_out_rows is None or self.held_out_rows < 1):
            raise ValueError(f"dataset.held_out_rows={self.held_out_rows} should be at least 1 when dataset.split=held_out_rows")
        if self.split != "held_out_rows" and self.held_out_rows is not None:
            raise ValueError(
                f"dataset.held_out_rows={self.held_out_rows} needs dataset.split=held_out_rows, but dataset.split={self.split}"
            )
        if self.split == "official" and self.asset is None and self.test_path is None:
            raise ValueError("dataset.split=official needs dataset.test_path=FILE with the official test rows")
        if self.split != "official" and self.test_path is not None:
            raise ValueError(f"dataset.test_path needs dataset.split=official, but dataset.split={self.split}")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many labels may be spent, validation included, and which draw of them."""

    recipe: ClassVar[int] = 1
    labels: int | Literal["all"] = hashed()
    draw: int = hashed()
    order: Literal["stratified", "random"] = hashed()
    unlabelled: Literal["none", "pool"] = hashed()
    """What unlabelled text may feed vocabulary and IDF: nothing, or the unlabelled rest of the train pool."""

    def __post_init__(self) -> None:
        if isinstance(self.labels, int) and self.labels < 1:
            raise ValueError(f"budget.labels={self.labels} should be at least 1, or all")


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
    """Word embeddings, a bidirectional LSTM over packed sequences, pooling over time, a linear head."""

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
    """SHA-256 over weights, configuration and tokeniser (or the hub revision); `config` fills it in."""
    precision: Precision = hashed("architecture")
    pooling: Literal["cls", "mean", "max"] = hashed("architecture")
    training: Training = hashed("training")


Neural = BiLstm | Pretrained
"""Kinds that are trained by steps and keep validation rows; the others select in closed form over all their labels."""
Model = Majority | Tfidf | Neural
MODEL_KINDS: dict[str, type[Model]] = {cls.kind: cls for cls in (Majority, Tfidf, BiLstm, Pretrained)}


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The question "how right is it?"; CPU threads are hashed so that a Run answers alike alone and in a sweep."""

    kind: ClassVar[str] = "quality"
    recipe: ClassVar[int] = 1
    threads: int = hashed()

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"probe.threads={self.threads} should be at least 1")


Probe = Quality
PROBE_KINDS: dict[str, type[Probe]] = {cls.kind: cls for cls in (Quality,)}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One frozen combination of the five nouns and a seed."""

    recipe: ClassVar[int] = 1
    dataset: Dataset = hashed()
    budget: Budget = hashed()
    model: Model = hashed()
    longdoc: LongDoc = hashed()
    probe: Probe = hashed()
    seed: int = hashed()

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed={self.seed} should be from 0 to {2**32 - 1}")

    @property
    def run_id(self) -> str:
        """First 12 hex digits of the SHA-256 of this Run's identity."""
        return hash_identity(identity(self))

    @property
    def question_id(self) -> str:
        """`run_id` without the machine fingerprint; quality Runs carry none, so the two are equal."""
        return self.run_id

    @property
    def title(self) -> str:
        """What a person calls this Run on a progress line."""
        return f"{self.dataset.name} · {self.model.name} · {self.longdoc.label} · {self.budget.labels} labels · seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """How Runs execute; never part of the question."""

    device: Literal["auto", "cpu", "cuda"]
    slots: int | None
    """Runs at a time; null is one a GPU, or the CPU cores divided by the threads of a Run."""
    wandb: Literal["offline", "online", "disabled"]
    wandb_project: str
    keep_weights: Literal["needed", "best", "all", "none"]
    share_texts: bool
    """Lets texts of a dataset that is not redistributable reach Weights & Biases, pages and error messages."""

    def __post_init__(self) -> None:
        if self.slots is not None and self.slots < 1:
            raise ValueError(f"machine.slots={self.slots} should be at least 1")
