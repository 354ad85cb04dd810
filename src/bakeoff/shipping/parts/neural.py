"""Token ids to probabilities, in batches of like length."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bakeoff.data.tokens import Document, Ids
from bakeoff.shipping.parts.classifier import Probabilities

Numbers = npt.NDArray[np.int64]
Network = Callable[[Numbers, Numbers], npt.NDArray[np.float32]]
"""Ids (batch, longest) and lengths (batch,) to logits (batch, classes)."""

MOST_TOKENS = 131_072
"""Of a batch, padding included; a longer document is a batch of its own."""


class Reading(Protocol):
    """What turns documents into the ids that a network reads."""

    def ids(self, documents: Any) -> list[Ids]:
        """One array of shape (tokens read,) a document."""
        ...


class Neural:
    """A network, and what reads for it."""

    def __init__(self, settings: dict[str, Any], reading: Reading, network: Network) -> None:
        self.n_classes, self.pad_id = len(settings["classes"]), settings["frame"]["pad_id"]
        self.reading, self.network = reading, network

    def probabilities(self, documents: Sequence[Document], *, batch_size: int) -> Probabilities:
        """Shape (documents, classes)."""
        found, ids = np.zeros((len(documents), self.n_classes), dtype=np.float32), self.reading.ids(documents)
        for rows in longest_first(np.asarray([len(each) for each in ids], dtype=np.int64), batch_size):
            logits = self.network(*padded([ids[row] for row in rows], self.pad_id))
            exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
            found[rows] = exponents / exponents.sum(axis=1, keepdims=True)
        return found


def longest_first(lengths: Numbers, batch_size: int) -> Iterator[Numbers]:
    """Every document once, in batches that pad little."""
    order, start = np.argsort(-lengths, kind="stable"), 0
    while start < len(order):
        rows = max(1, min(batch_size, MOST_TOKENS // max(1, int(lengths[order[start]]))))
        yield order[start : start + rows]
        start += rows


def padded(documents: Sequence[Ids], pad_id: int) -> tuple[Numbers, Numbers]:
    """Ids (documents, longest), filled up with `pad_id`, and lengths (documents,)."""
    lengths = np.asarray([len(ids) for ids in documents], dtype=np.int64)
    ids = np.full((len(documents), max(1, int(lengths.max()))), pad_id, dtype=np.int64)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.concatenate(documents)
    return ids, lengths
