"""The nouns of a question, frozen: Dataset, Budget, Model kinds, LongDoc, Probe, Run; and how it executes, Machine.

YAML carries every value, so fields have no defaults here, save `neutral` ones. What each field means to the
identity of a Run is said in `identity.py`.
"""

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from bakeoff import fits
from bakeoff.identity import hash_identity as hash_identity
from bakeoff.identity import hashed, neutral
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
from bakeoff.labelled import FOLDS as FOLDS
from bakeoff.labelled import Budget as Budget
from bakeoff.labelled import Dataset as Dataset
from bakeoff.labelled import Needle as Needle
from bakeoff.readings import CUTS as CUTS
from bakeoff.readings import LongDoc as LongDoc
from bakeoff.recipes import Distillation as Distillation
from bakeoff.recipes import EncoderSize as EncoderSize
from bakeoff.recipes import Precision as Precision
from bakeoff.recipes import Training as Training


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
    lengths: Literal["dataset", "grid", "long_grid"] = hashed()
    """The test documents at their own lengths, or generated ones: 8 to 4,096 tokens, or 512 to 32,768 for readings without a limit."""
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

    @cached_property
    def run_id(self) -> str:
        """First 12 hex digits of the SHA-256 of this Run's identity."""
        return hash_identity(self._identity(self.probe))

    @cached_property
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
            plain["longdoc"] = {name: value for name, value in plain["longdoc"].items() if name != "trained_windows"}
        if isinstance(probe, Pretrain):
            heads = ("training", "pooling", "layer_decay", "head_first_epochs")  # of a classification head, and of its Runs
            plain["model"] = {name: value for name, value in plain["model"].items() if name not in heads}
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
    gpus: tuple[int, ...] | None = None
    """Which of the visible GPUs may be used, counted from 0; null is all of them."""
    devices: int = 1
    """GPUs (or processes of CPU threads) that train one Run together."""
    gpu_share: float = 1.0
    """Share of a GPU that a Run takes on a Ray cluster; at 0.5 two share one."""
    time_limit_minutes: float | None = None
    """How long one Run may take before it is stopped and has failed; null is no limit."""

    def __post_init__(self) -> None:
        if self.slots is not None and self.slots < 1:
            raise ValueError(f"machine.slots={self.slots} should be at least 1")
        if self.gpus is not None and (not self.gpus or min(self.gpus) < 0 or len(set(self.gpus)) < len(self.gpus)):
            raise ValueError(f"machine.gpus={list(self.gpus)} should name GPUs from 0 up, each once; null is all of them")
        if self.devices < 1:
            raise ValueError(f"machine.devices={self.devices} should be at least 1")
        if not 0 < self.gpu_share <= 1 or (self.gpu_share < 1 and self.devices > 1):
            raise ValueError(f"machine.gpu_share={self.gpu_share:g} should be above 0 and at most 1, and 1 with machine.devices above 1")
        if self.time_limit_minutes is not None and self.time_limit_minutes <= 0:
            raise ValueError(f"machine.time_limit_minutes={self.time_limit_minutes:g} should be above 0; null is no limit")

    @property
    def time_limit_seconds(self) -> float | None:
        """How many seconds one Run may take; null is no limit."""
        return None if self.time_limit_minutes is None else 60 * self.time_limit_minutes
