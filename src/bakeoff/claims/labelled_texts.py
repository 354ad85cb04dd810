"""The texts that a Run spent its labels on, for claims about what a model has seen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.data import budget
from bakeoff.data.dataset import prepare
from bakeoff.data.tokens import split_words
from bakeoff.spec import Run


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Texts with their labels as class indices, shape (texts,)."""

    texts: tuple[str, ...]
    labels: NDArray[np.int64]


def fit_texts(run: Run) -> tuple[str, ...]:
    """The texts that the model was fitted on, in the draw's order. Raises DataError where the data is not there."""
    pool = prepare(run.dataset).pool
    return pool.take(budget.spend(pool, run.budget, validation=run.keeps_validation).fit).whole_texts


def validation_rows(run: Run) -> Labelled:
    """The rows that validated. Raises DataError where the data is not there."""
    pool = prepare(run.dataset).pool
    rows = pool.take(budget.spend(pool, run.budget, validation=run.keeps_validation).validation)
    return Labelled(texts=rows.whole_texts, labels=rows.labels)


def unseen_share(text: str, seen: frozenset[str]) -> float:
    """How many of a text's words (lower-cased; marks and digits aside) are not among `seen`, as a share; 0 without words."""
    words = [word for word in split_words(text) if word.isalpha()]
    return sum(word not in seen for word in words) / max(1, len(words))


def words_of(texts: tuple[str, ...]) -> frozenset[str]:
    """All words of some texts, lower-cased."""
    return frozenset(word for text in texts for word in split_words(text))
