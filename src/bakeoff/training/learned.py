"""What fitting gives back, whatever was fitted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from bakeoff.data.predictions_file import FileAnswers

Probabilities = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What a model answers, and what it took. `test` is (test rows, classes), `validation` likewise."""

    test: Probabilities | None
    """None for a pretraining Run, which answers nothing."""
    validation: Probabilities | None
    lengths_tokens: npt.NDArray[np.int64]
    """Shape (test rows,): whole lengths in the model's own tokens; empty where nothing is tokenised, as `truncated` then is."""
    truncated: npt.NDArray[np.bool_]
    read_tokens: npt.NDArray[np.int64] | None = None
    """Shape (test rows,): how many of `lengths_tokens` are read, special tokens included and each counted once."""
    processed_tokens: npt.NDArray[np.int64] | None = None
    """Shape (test rows,): tokens that pass through the model; windows read their overlaps and special tokens again."""
    n_special_tokens: int = 0
    """Special tokens around each document, and around each window of it."""
    n_transfer: int = 0
    """Texts on which a teacher taught, labelled or not."""
    epochs: float = 0.0
    steps: int = 0
    best_step: int | None = None
    best_validation_loss: float | None = None
    seconds: float
    predict_seconds: float | None = None
    tokens_per_second: float | None = None
    stop_reason: Literal["schedule", "closed_form", "not_finite", "not_trained"]
    selected: dict[str, float] = field(default_factory=dict)
    history: list[dict[str, float | int | None]] = field(default_factory=list)
    micro_batch_size: int | None = None
    """Rows of a batch that were read at a time, where memory did not suffice for all."""
    parameters_total: int
    parameters_trainable: int
    parameters_embedding: int = 0
    bytes: int
    save: Callable[[Path], None]
    """Writes what a served model needs into a folder."""
    from_file: FileAnswers | None = None
    """What the file said, for answers that were made elsewhere."""

    @property
    def finite(self) -> bool:
        """Whether training kept to numbers, and every answer is one."""
        return self.stop_reason != "not_finite" and (self.test is None or bool(np.isfinite(self.test).all()))
