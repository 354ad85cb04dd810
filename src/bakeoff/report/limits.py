"""What must hold of a model that is shipped. Shares (accuracy, recall) are from 0 to 1; only the margin is in points."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bakeoff.report.stats import Metric
from bakeoff.report.summary import Labels


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What must hold of a model that is shipped; null is no limit."""

    labels: Labels | None = None
    """The budget of labels; null is the largest that was recorded. Models that read no label compete at every budget."""
    max_p95_ms: float | None = None
    device: Literal["cpu", "cuda"] = "cpu"
    threads: int | None = None
    """Null where latencies of one thread count only are recorded, or 1."""
    engine: str | None = None
    """Null lets every engine compete that was timed."""
    machine: str | None = None
    """The machine whose latencies count, as pages name it; needed where several were timed."""
    min_accuracy: float | None = None
    max_size_mb: float | None = None
    """Of the files that are shipped."""
    tokens_p95: int | None = None
    """The 95th percentile of the lengths of the documents to come, in tokens; null takes the dataset's own documents."""
    price_per_label: float | None = None
    min_recall: Mapping[str, float] = field(default_factory=dict)
    """Class → least recall."""
    metric: Metric | None = None
    """Null is the dataset's own."""
    margin_points: float = 1.0
    """What may be lost to a cheaper model, in points of the metric."""

    def __post_init__(self) -> None:
        """Raises ValueError, a sentence that names the limit, for one that means nothing."""
        shares = {"min_accuracy": self.min_accuracy} | {f"min_recall {name}": value for name, value in self.min_recall.items()}
        for name, share in shares.items():
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"{name}={share:g} should be a share from 0 to 1, for example 0.8")
        for name in ("max_p95_ms", "max_size_mb", "tokens_p95", "threads"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name}={value:g} should be a number above 0")
        for name in ("price_per_label", "margin_points"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"{name}={value:g} should be a number of at least 0")

    @property
    def margin(self) -> float:
        """The margin as a share."""
        return self.margin_points / 100
