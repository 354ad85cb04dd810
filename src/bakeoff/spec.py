"""The nouns of a question, frozen: Dataset, Budget, Model kinds, LongDoc, Probe, Run; and how it executes, Machine.

YAML carries every value, so fields have no defaults here, save `neutral` ones. What each field means to the
identity of a Run is said in `identity.py`.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from bakeoff import fits
from bakeoff.identity import display, hashed, neutral
from bakeoff.identity import hash_identity as hash_identity
from bakeoff.identity import identity as identity
from bakeoff.identity import is_run_id as is_run_id
from bakeoff.identity import to_plain as to_plain
from bakeoff.kinds import FLOORS as FLOORS
from bakeoff.kinds import MODEL_KINDS as MODEL_KINDS
from bakeoff.kinds import BiLstm as BiLstm
from bakeoff.kinds import BudgetZero as BudgetZero
from bakeoff.kinds import Frozen as Frozen
from bakeoff.kinds import Majority as Majority
from bakeoff.kinds import Model as Model
from bakeoff.kinds import Neural as Neural
from bakeoff.kinds import OffTheShelf as OffTheShelf
from bakeoff.kinds import Predictions as Predictions
from bakeoff.kinds import Pretrained as Pretrained
from bakeoff.kinds import Scratch as Scratch
from bakeoff.kinds import Tfidf as Tfidf
from bakeoff.kinds import ZeroShot as ZeroShot
from bakeoff.recipes import Distillation as Distillation
from bakeoff.recipes import EncoderSize as EncoderSize
from bakeoff.recipes import LongDoc as LongDoc
from bakeoff.recipes import Precision as Precision
from bakeoff.recipes import Training as Training

FOLDS = 5


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
    format: Literal["csv", "tsv", "jsonl", "folder", "orange", "movie", "hub"] = hashed()
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
    text_pair: str | None = neutral(None)
    """Column of the second text of a pair; null where a row is one text."""
    label_descriptions: dict[str, str] = display({})
    """Class → what it means in words, for models that read no label; they carry it in their own identity."""
    hub: str | None = display(None)
    """Name on the data hub; its revision and the rest below are in `fingerprint`."""
    hub_config: str | None = display(None)
    hub_pool: str | None = display(None)
    """Name of the split that is the train pool."""
    hub_test: str | None = display(None)
    revision: str | None = display(None)
    """Commit on the hub, 40 hex digits."""

    def __post_init__(self) -> None:
        if self.asset is not None:
            for name in ("path", "test_path", "text", "label", "group"):
                if getattr(self, name) is not None:
                    raise ValueError(f"dataset.{name} means nothing to the starter dataset {self.asset}: use dataset=csv or dataset=folder")
        if self.format == "folder" and (self.text or self.label):
            raise ValueError("dataset.text and dataset.label mean nothing to dataset=folder, whose labels are the names of its folders")
        if self.text_pair is not None and (self.format not in ("csv", "tsv", "jsonl", "hub") or self.text_pair == self.text):
            raise ValueError(
                f"dataset.text_pair={self.text_pair} should name a second column of a table, but dataset.text={self.text} "
                f"and dataset.format={self.format}"
            )
        if (self.format == "hub") != (self.hub is not None) or (self.hub is not None and (self.path or self.asset or not self.hub_pool)):
            raise ValueError(
                f"dataset.hub={self.hub} goes with dataset.format=hub and dataset.hub_pool, the split to train on, and without dataset.path"
            )
        needs_columns = self.format in ("csv", "tsv", "jsonl", "hub")
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
        given, key = (self.test_path, "test_path=FILE") if self.hub is None else (self.hub_test, "hub_test=SPLIT")
        if self.split == "official" and self.asset is None and given is None:
            raise ValueError(f"dataset.split=official needs dataset.{key} with the official test rows")
        if self.split != "official" and given is not None:
            raise ValueError(f"dataset.{key.partition('=')[0]} needs dataset.split=official, but dataset.split={self.split}")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many labels may be spent, validation included, and which draw of them."""

    recipe: ClassVar[int] = 1
    labels: int | Literal["all"] = hashed()
    draw: int = hashed()
    order: Literal["stratified", "random"] = hashed()
    unlabelled: Literal["none", "pool", "file"] = hashed()
    """What unlabelled text may feed vocabulary, IDF, masked-LM and distillation: nothing, the unlabelled rest of the train
    pool, or the lines of `unlabelled_path`."""
    unlabelled_path: str | None = display(None)
    unlabelled_fingerprint: str | None = neutral(None)

    def __post_init__(self) -> None:
        if isinstance(self.labels, int) and self.labels < 0:
            raise ValueError(f"budget.labels={self.labels} should be 0 or more, or all")
        if (self.unlabelled == "file") != (self.unlabelled_path is not None):
            raise ValueError(f"budget.unlabelled_path={self.unlabelled_path} goes with budget.unlabelled=file: set both or neither")


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The question "how right is it?"; CPU threads are hashed so that a Run answers alike alone and in a sweep."""

    kind: ClassVar[str] = "quality"
    recipe: ClassVar[int] = 1
    threads: int = hashed()
    scores: Literal["test", "validation"] = neutral("test")
    """validation: a trial of `bakeoff tune`, which fits and is scored within the budget and answers no test row."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"probe.threads={self.threads} should be at least 1")


@dataclass(frozen=True, kw_only=True)
class Latency:
    """The question "how fast does it answer?"; the machine is part of it, and left blank in `question_id`."""

    kind: ClassVar[str] = "latency"
    recipe: ClassVar[int] = 1
    device: Literal["cpu", "cuda"] = hashed()
    threads: int = hashed()
    engine: Literal["eager", "compile", "onnx", "onnx_int8"] = hashed()
    scenario: Literal["single", "offline"] = hashed()
    """single: one document a call; offline: the throughput of the best batch."""
    batch_size: int | None = hashed()
    """Documents a call; null in the offline scenario searches for the best."""
    lengths: Literal["dataset", "grid"] = hashed()
    """The test documents at their own lengths, or generated ones at 8 to 4,096 tokens."""
    weights: Literal["untrained", "trained"] = hashed()
    """untrained: only the architecture is timed, so training fields, budget, draw and seed are no part of the question."""
    reference: Literal["bilstm"] = hashed()
    """What every session times besides, so that sessions compare: our BiLSTM at its default size."""
    machine: str = hashed()
    """Processor model, usable CPUs, memory, GPU, torch and engine versions in one line; `cli` fills it in."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"probe.threads={self.threads} should be at least 1")
        if self.scenario == "single" and self.batch_size != 1:
            raise ValueError(f"probe.batch_size={self.batch_size} should be 1 when probe.scenario=single")
        if self.batch_size is not None and self.batch_size < 1:
            raise ValueError(f"probe.batch_size={self.batch_size} should be at least 1, or null to search for the best")


@dataclass(frozen=True, kw_only=True)
class Pretrain:
    """No question but a start for others: learn the language of the unlabelled texts by guessing hidden tokens.

    Masked language modelling as in Devlin et al. (2019): of the hidden tokens 80% become the mask, 10% another token and
    10% stay as they are.
    """

    kind: ClassVar[str] = "pretrain"
    recipe: ClassVar[int] = 1
    threads: int = hashed()
    mask_fraction: float = hashed()
    """Share of the tokens that are hidden and guessed."""
    training: Training = hashed()

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"probe.threads={self.threads} should be at least 1")
        if not 0 < self.mask_fraction < 1:
            raise ValueError(f"probe.mask_fraction={self.mask_fraction} should be between 0 and 1")


Probe = Quality | Latency | Pretrain
PROBE_KINDS: dict[str, type[Probe]] = {cls.kind: cls for cls in (Quality, Latency, Pretrain)}


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

    teacher: "Run | None" = neutral(None)
    """The Run whose weights teach this one (`model.teacher` names its model); hashed by its id."""
    start: "Run | None" = neutral(None)
    """The pretraining Run whose weights this one starts from (`model.start` names its model); hashed by its id."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed={self.seed} should be from 0 to {2**32 - 1}")
        refusal = fits.refusal(self)
        if refusal is not None:
            raise ValueError(refusal)

    @property
    def run_id(self) -> str:
        """First 12 hex digits of the SHA-256 of this Run's identity."""
        return hash_identity(self._identity(self.probe))

    @property
    def question_id(self) -> str:
        """`run_id` without the machine fingerprint; quality Runs carry none, so the two are equal."""
        blank = dataclasses.replace(self.probe, machine="") if isinstance(self.probe, Latency) else self.probe
        return hash_identity(self._identity(blank))

    def _identity(self, probe: Probe) -> dict[str, Any]:
        """Identity with `probe`: an untrained latency Run asks about the architecture alone."""
        plain: dict[str, Any] = identity(self) | {"probe": identity(probe)} | {name: run.run_id for name, run in self.needs.items()}
        if isinstance(probe, Latency) and probe.weights == "untrained":
            plain["model"] = identity(self.model, part="architecture")
            for name in ("budget", "seed", *self.needs):
                del plain[name]
        if isinstance(probe, Pretrain):
            for name in ("training", "pooling", "layer_decay", "head_first_epochs"):  # those of a classification head, and of its Runs
                plain["model"].pop(name, None)
        return plain

    @property
    def is_trial(self) -> bool:
        """Whether this Run is scored on the validation rows of its own budget, and on no test row."""
        return isinstance(self.probe, Quality) and self.probe.scores == "validation"

    @property
    def keeps_validation(self) -> bool:
        """Whether labels are kept back to validate (from 300 labels up); closed-form models fit on all they get."""
        return isinstance(self.model, Neural) or self.is_trial

    @property
    def needs(self) -> "dict[str, Run]":
        """The Runs whose weights this one is built from, by their part in it: `teacher`, `start`."""
        return {name: run for name, run in (("teacher", self.teacher), ("start", self.start)) if run is not None}

    @property
    def title(self) -> str:
        """What a person calls this Run on a progress line."""
        if isinstance(probe := self.probe, Latency):
            read = f"{self.dataset.name} · {self.model.name} · {self.longdoc.label} · {probe.engine}, {probe.weights}"
            return f"{read} · {probe.scenario} on {probe.device}, {probe.threads} thread{'s' if probe.threads > 1 else ''}"
        model = " ".join(
            [self.model.name, *(f"{word} {needed.model.name}" for word, needed in (("from", self.teacher), ("on", self.start)) if needed)]
        )
        asked = " · masked LM" if isinstance(probe, Pretrain) else " · on validation rows" if self.is_trial else ""
        return f"{self.dataset.name} · {model} · {self.longdoc.label}{asked} · {self.budget.labels} labels · seed {self.seed}"


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
