"""What fitting gives back, whatever was fitted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

Probabilities = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What a model answers, and what it took. `test` is (test rows, classes), `validation` likewise."""

    test: Probabilities
    validation: Probabilities | None
    lengths_tokens: npt.NDArray[np.int64]
    """Shape (test rows,): whole lengths in the model's own tokens."""
    truncated: npt.NDArray[np.bool_]
    epochs: float = 0.0
    steps: int = 0
    best_step: int | None = None
    best_validation_loss: float | None = None
    seconds: float
    predict_seconds: float | None = None
    tokens_per_second: float | None = None
    stop_reason: Literal["schedule", "closed_form", "not_finite"]
    selected: dict[str, float] = field(default_factory=dict)
    history: list[dict[str, float | int | None]] = field(default_factory=list)
    parameters_total: int
    parameters_trainable: int
    parameters_embedding: int = 0
    bytes: int
    save: Callable[[Path], None]
    """Writes what a served model needs into a folder."""
