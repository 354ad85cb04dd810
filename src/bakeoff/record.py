"""The immutable answer to one Run, its JSON, and the version of that JSON."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from bakeoff import convert
from bakeoff.errors import BakeoffError
from bakeoff.spec import Run, to_plain

SCHEMA_VERSION = 1
MACRO_MIN_ROWS = 10
"""Macro-F1 averages over classes with at least this many rows."""

Status = Literal["ok", "diverged"]


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """Where a Run was baked; recorded, not hashed, for quality."""

    processor: str
    usable_cpus: int
    memory_gb: float
    gpu: str | None
    device: str
    """The device this Run used: cpu or cuda."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One sign of trouble in the data; `message` quotes no document."""

    code: str
    """For example near_duplicates, conflicting_labels, empty_texts, small_class, truncated."""
    count: int
    message: str


@dataclass(frozen=True, kw_only=True)
class DataFacts:
    """What the Run saw: sizes, the exact rows by hash, how much was read, and the audit."""

    revision: str
    classes: tuple[str, ...]
    primary_metric: Literal["accuracy", "macro_f1"]
    n_pool: int
    n_fit: int
    n_val: int
    n_test: int
    subset_hashes: dict[str, str]
    """SHA-256 of the sorted row ids of `fit`, `validation` and `test`."""
    truncated_fraction: float | None
    """Share of test documents of which the reading strategy left tokens out; null where nothing is tokenised."""
    length_tokens: dict[str, float]
    """Percentiles p50, p90, p95, p99 and max of test document lengths, in the model's own tokens."""
    audit: tuple[Finding, ...]


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One sign of trouble in training, and the first thing to check."""

    code: Literal["near_chance", "collapsed", "not_finite", "no_steps"]
    message: str


@dataclass(frozen=True, kw_only=True)
class TrainingFacts:
    """How fitting went. Closed-form models have seconds and no steps."""

    epochs: float
    steps: int
    best_step: int | None
    best_validation_loss: float | None
    seconds: float
    predict_seconds: float | None
    tokens_per_second: float | None
    peak_memory_mb: float
    stop_reason: Literal["schedule", "closed_form", "not_finite", "not_trained"]
    """not_trained: a latency Run, which times what is there."""
    selected: dict[str, float]
    """What the model chose on its own labels, for example C by cross-validation."""
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, kw_only=True)
class ClassQuality:
    """One class on one split; precision and recall are null where nothing was predicted or nothing stands."""

    support: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True, kw_only=True)
class SplitQuality:
    """How right the saved predictions are on one split or slice of it."""

    n: int
    accuracy: float
    macro_f1: float
    """Mean F1 over classes with at least MACRO_MIN_ROWS rows here (over all present classes where none has as many)."""
    macro_f1_all: float
    """Mean F1 over every class that stands here."""
    log_loss: float
    brier: float
    ece: float
    majority_baseline: float
    """Accuracy of always answering the class that is largest in the rows the model was fitted on."""
    collapsed: bool
    """One class was predicted for every row."""
    classes: dict[str, ClassQuality]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A 95% interval."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class GridPoint:
    """Latency at one fixed length; null with its reason where the model does not read that far or too little was timed."""

    tokens: int
    n_samples: int
    p50_ms: float | None
    interval: Interval | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How an engine's probabilities differ from eager ones with the same weights on `n` test documents."""

    n: int
    max_probability_difference: float
    changed_labels: int
    tolerance: float
    """The difference up to which this engine counts as the same model."""


@dataclass(frozen=True, kw_only=True)
class ServingCost:
    """What serving takes besides time; a document is one of median length, null is not known."""

    flops: float | None
    """Floating-point operations a document, from closed formulas."""
    bytes_in_memory: int | None
    peak_memory_mb: float | None
    """Largest resident size of a fresh process that loads the model and answers the longest document."""
    start_up_seconds: float | None
    """From the start of a fresh process to its first answer, the time to read the dataset left out."""
    peak_gflops: float | None
    """The device's matrix-product peak, measured at the Run's precision and threads."""
    share_of_peak: float | None
    """flops / p50, as a share of that peak."""


@dataclass(frozen=True, kw_only=True)
class LatencyFacts:
    """How fast one model answered in one session, from raw text to label. Times are ms per document.

    A percentile without enough samples is null, and `missing` says why under its name. Intervals are 95%, from
    resampling turns; those of the ratio resample rounds, in which model and reference took turns.
    """

    session_id: str
    unit: Literal["ms per document"]
    n_samples: int
    n_turns: int
    n_documents: int
    """Different documents; every model of the session saw the same ones."""
    batch_size: int
    warm_up_calls: int
    warm_up_stable: bool
    """Whether calls had stopped becoming faster before the first turn."""
    tokens: dict[str, float]
    """Percentiles p50, p90, p95, p99 and max of the timed documents' lengths, in the model's own tokens."""
    p50_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    intervals: dict[str, Interval]
    """By the name of the percentile: p50_ms, p90_ms, p95_ms, p99_ms."""
    missing: dict[str, str]
    """Name of an empty field → why."""
    throughput_per_second: float | None
    """Documents a second while this model answers, at `batch_size`."""
    stages_ms: dict[str, float]
    """Medians of tokenise, window, forward and pool, timed one by one in calls of their own."""
    after_switch_ms: float | None
    """Median of the first call after another model's turn; no sample."""
    reference_p50_ms: float | None
    """The reference's median in the rounds that both took part in."""
    ratio_to_reference: float | None
    """p50 over `reference_p50_ms`, both from the same rounds."""
    ratio_interval: Interval | None
    contended: bool
    """Other processes used more of the CPU than the stated share: compare with nothing outside this session."""
    foreign_cpu_share: float
    """CPU time of other processes over the session's wall time, in cores."""
    clock_resolution_ns: int
    engine_versions: dict[str, str]
    agreement: Agreement | None
    """Null for eager, with which the others are compared."""
    notes: tuple[str, ...]
    """What was done otherwise than asked, or looks wrong, a sentence each."""
    cost: ServingCost
    grid: tuple[GridPoint, ...]
    """One point a length for lengths=grid, shortest first; empty for the dataset's own lengths."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large the model is; flops are per test document of median length, null where no formula applies."""

    parameters_total: int
    parameters_trainable: int
    parameters_embedding: int
    bytes: int
    flops_per_document: float | None


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What code gave the answer."""

    commit: str | None
    dirty: bool | None
    versions: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Record:
    """The answer to one Run. `quality` is keyed by split or slice (`test`, `test_uncontaminated`, `validation`).

    A latency Run has quality only where its engine changes the predictions of trained weights.
    """

    schema_version: int
    run_id: str
    question_id: str
    status: Status
    started_at: str
    finished_at: str
    run: Run
    machine: MachineFacts
    data: DataFacts
    training: TrainingFacts
    quality: dict[str, SplitQuality]
    latency: LatencyFacts | None = None
    size: Size | None
    provenance: Provenance

    def to_json(self) -> str:
        """Indented JSON; paths inside the Run keep their last part only."""
        plain = {f.name: to_plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        plain["run"] = without_folders(plain["run"])
        return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def from_json(text: str) -> Record:
    """Read a record; raises BakeoffError when it is no record of this schema or its id does not match its Run."""
    plain = json.loads(text)
    if not isinstance(plain, dict) or plain.get("schema_version") != SCHEMA_VERSION:
        raise BakeoffError(f"not a record of schema version {SCHEMA_VERSION}")
    record = convert.build(Record, plain)
    if record.run.run_id != record.run_id:
        raise BakeoffError(f"record {record.run_id} holds a Run whose id is {record.run.run_id}; bake it again")
    return record


def without_folders(run: dict[str, Any]) -> dict[str, Any]:
    """A plain Run whose paths keep their last part, since folders name people and customers; so do the Runs it needs."""
    plain = dict(run)
    for noun in ("dataset", "budget", "model"):
        plain[noun] = {key: _last_part(value) for key, value in run[noun].items()}
    for needed in ("teacher", "start"):
        if plain.get(needed) is not None:
            plain[needed] = without_folders(plain[needed])
    return plain


def _last_part(value: Any) -> Any:
    return PurePath(value).name if isinstance(value, str) and PurePath(value).is_absolute() else value
