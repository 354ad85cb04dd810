"""What a record says of serving: how fast a model answered in a session, what that takes, and what a file states of it."""

from dataclasses import dataclass
from typing import Literal


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
    peak_memory_mb: float | None = None
    """Largest resident size of a process with this model alone while it answers one such document (of a GPU: of its memory)."""
    tokens_processed: int | None = None
    """Tokens that pass through the model for one such document: with windows, what overlaps counts each time."""


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
    """From the start of a fresh process to its first answer, without what serving does not do: reading the dataset,
    exporting the model, comparing an engine with the eager one."""
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
    """One point a length for lengths=grid or long_grid, shortest first; empty for the dataset's own lengths."""


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What a file of answers says of time and money, row by row: stated there, not measured here; null where it says nothing."""

    p50_ms: float | None
    p95_ms: float | None
    n_timed: int
    """Rows that state a time."""
    price_per_document: float | None
    """Mean, in the currency of the prices file."""
    n_priced: int
    """Rows that state a price."""
