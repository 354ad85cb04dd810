"""How much is timed, and in what words the modules of a session speak of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bakeoff.data.tokens import Document

Clock = Callable[[], int]
"""Nanoseconds since any moment."""
Call = Callable[[Sequence[Document]], object]
"""Answers a batch of raw texts; the work is done when it returns, or when `synchronise` has returned."""
Batches = Sequence[Sequence[Document]]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How much is timed, and when it is enough. The defaults are those of published numbers."""

    untimed_calls: int = 3
    """Calls that open a turn; the first of them is kept apart as the one after a switch."""
    block_ms: float = 20.0
    """A turn's timed calls last at least this long together."""
    least_calls: int = 5
    """Timed calls a turn at least: a slow model would otherwise spend most of its time on untimed ones."""
    staged: bool = True
    """Whether a turn ends with one more call, timed stage by stage."""
    least_rounds: int = 50
    """Turns of a model at least: a fast one has its samples after three, which are too few to resample."""
    samples_p50: int = 20
    samples_p90: int = 500
    samples_p95: int = 1000
    samples_p99: int = 5000
    """Samples that a percentile needs: 50 beyond it, and 20 in all for the median."""
    seconds_per_model: float = 180.0
    """A model's turns may take this long together; what is not reached by then stays empty."""
    samples_anyhow: int = 0
    """Samples that are taken even where they need longer than that."""
    warm_up_calls: int = 20
    """Calls a warm-up block; blocks are of the same documents."""
    warm_up_tolerance: float = 0.05
    """Warm is a model whose block's median differs from the block's before by at most this share."""
    warm_up_seconds: float = 10.0
    resamples: int = 1000


def batches_of(documents: Sequence[Document], size: int) -> list[tuple[Document, ...]]:
    """All documents in order, `size` a batch; the last batch is filled up from the beginning."""
    n = len(documents)
    return [tuple(documents[(start + j) % n] for j in range(size)) for start in range(0, n, size)]
