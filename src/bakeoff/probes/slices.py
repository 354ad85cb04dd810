"""Quality of the test rows and of parts of them: without contaminated rows, and by the length of documents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bakeoff.probes import quality
from bakeoff.record import LENGTH_SLICES, SplitQuality

Mask = npt.NDArray[np.bool_]
Tokens = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Answered:
    """Test rows and what was answered."""

    labels: quality.Labels
    """Class indices, shape (rows,)."""
    probabilities: npt.NDArray[np.float32]
    """Shape (rows, classes)."""
    contaminated: Mask
    """Shape (rows,)."""
    lengths_tokens: Tokens
    """Shape (rows,): whole lengths in the model's own tokens, special tokens included; empty where nothing was tokenised."""
    read_tokens: Tokens | None
    """Shape (rows,): how many of them were read; None where it is not known."""


def read_fraction(lengths_tokens: Tokens, read_tokens: Tokens | None, rows: Mask | slice = slice(None)) -> float | None:
    """Tokens read ÷ tokens there, over the documents at `rows`; None where either is not known."""
    if read_tokens is None or len(lengths_tokens) == 0:
        return None
    there = int(lengths_tokens[rows].sum())
    return float(read_tokens[rows].sum() / there) if there else None


def mean_tokens(tokens: Tokens | None) -> float | None:
    """The mean of tokens a document, shape (documents,); None where they are not known."""
    return None if tokens is None or len(tokens) == 0 else float(tokens.mean())


def by_length(lengths_tokens: Tokens) -> dict[str, Mask]:
    """The rows of each of LENGTH_SLICES that has some, by name; `lengths_tokens` has shape (rows,), and so has each mask."""
    within = {
        name: (lengths_tokens >= least) & (lengths_tokens <= (np.inf if most is None else most))
        for name, (least, most) in LENGTH_SLICES.items()
    }
    return {name: rows for name, rows in within.items() if rows.any()}


def score(
    answered: Answered, classes: Sequence[str], *, fit_labels: quality.Labels, with_probabilities: bool = True
) -> dict[str, SplitQuality]:
    """Quality of `test`, of `test_uncontaminated` where some rows are contaminated and some not, and of each slice with rows.

    Raises ValueError as `quality.score` does.
    """
    parts: dict[str, Mask] = {"test": np.ones(len(answered.labels), dtype=bool)}
    if answered.contaminated.any() and not answered.contaminated.all():
        parts["test_uncontaminated"] = ~answered.contaminated
    parts |= by_length(answered.lengths_tokens)
    return {
        name: replace(
            quality.score(
                answered.labels[rows],
                answered.probabilities[rows],
                classes,
                fit_labels=fit_labels,
                with_probabilities=with_probabilities,
            ),
            read_fraction=read_fraction(answered.lengths_tokens, answered.read_tokens, rows),
        )
        for name, rows in parts.items()
    }
