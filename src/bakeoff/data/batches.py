"""Documents to padded batches: bucketed by length to train, sorted by length to predict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from bakeoff.data.tokens import Ids

BUCKET_BATCHES = 50
PREDICTION_TOKENS = 131_072
"""Most tokens of a batch that is only read, padding included: 64 documents of 2,048. A longer document is a batch of its own."""

PREDICTION_PAIRS = 64 * 512 * 512
"""Most pairs of tokens of such a batch where attention holds a weight for each: 64 documents of 512, or one of 4,096."""


@dataclass(frozen=True)
class Batch:
    """Padded documents. `ids` (batch, longest), `lengths` (batch,), `labels` (batch,), `rows` (batch,) indices."""

    ids: torch.Tensor
    lengths: torch.Tensor
    labels: torch.Tensor
    rows: torch.Tensor
    token_weight: float = 1.0
    """Of a piece of a batch: what a mean over its tokens counts for, beside one over its rows."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device; lengths stay on the CPU, where nothing waits for them."""
        return Batch(self.ids.to(device), self.lengths, self.labels.to(device), self.rows, self.token_weight)


def pad(documents: Sequence[Ids], pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids (documents, longest), filled up with `pad_id`, and lengths (documents,), both int64 on the CPU."""
    lengths = [len(ids) for ids in documents]
    padded = np.full((len(documents), max(lengths)), pad_id, dtype=np.int64)
    for line, ids in zip(padded, documents, strict=True):
        line[: len(ids)] = ids
    return torch.from_numpy(padded), torch.tensor(lengths)


class Documents(Dataset[int]):
    """Row indices; collating looks the ids and labels up."""

    def __init__(self, ids: Sequence[Ids], labels: npt.NDArray[np.int64], pad_id: int) -> None:
        self.ids, self.labels, self.pad_id = ids, labels, pad_id

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> int:
        return row

    def afresh(self) -> "Documents":
        """The same documents as before any of them was read."""
        return self

    def collate(self, rows: Sequence[int]) -> Batch:
        """Pad the documents of `rows` to the longest of them."""
        ids, lengths = pad([self.ids[row] for row in rows], self.pad_id)
        return Batch(
            ids=ids,
            lengths=lengths,
            labels=torch.from_numpy(self.labels[np.asarray(rows)]),
            rows=torch.tensor(rows),
        )


class Bucketed(Sampler[list[int]]):
    """Every row once an epoch, no batch dropped, in batches of like length: shuffle, sort within buckets, shuffle batches."""

    def __init__(self, lengths: npt.NDArray[np.int64], batch_size: int, seed: int) -> None:
        self.lengths, self.batch_size = lengths, batch_size
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = self._random.permutation(len(self.lengths))
        bucket = self.batch_size * BUCKET_BATCHES
        batches: list[list[int]] = []
        for start in range(0, len(order), bucket):
            rows = order[start : start + bucket]
            rows = rows[np.argsort(self.lengths[rows], kind="stable")]
            batches += [rows[i : i + self.batch_size].tolist() for i in range(0, len(rows), self.batch_size)]
        for i in self._random.permutation(len(batches)):
            yield batches[i]


class LongestFirst(Sampler[list[int]]):
    """Every row once, longest first, so that a batch pads little and memory peaks at once; no row goes missing.

    A batch has at most `batch_size` rows, and fewer where they would be more than `most_tokens` with their padding, or than
    `most_pairs` of tokens.
    """

    def __init__(
        self, lengths: npt.NDArray[np.int64], batch_size: int, *, most_tokens: int = PREDICTION_TOKENS, most_pairs: int | None = None
    ) -> None:
        order = np.argsort(-lengths, kind="stable")
        self.batches: list[list[int]] = []
        start = 0
        while start < len(order):
            longest = max(1, int(lengths[order[start]]))
            rows = max(1, min(batch_size, most_tokens // longest, batch_size if most_pairs is None else most_pairs // longest**2))
            self.batches.append(order[start : start + rows].tolist())
            start += rows

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches)


def training_loader(documents: Documents, *, batch_size: int, seed: int) -> "DataLoader[int]":
    """Batches of like length in an order that `seed` fixes and each epoch changes."""
    return _loader(documents, Bucketed(_lengths(documents), batch_size, seed))


def prediction_loader(documents: Documents, *, batch_size: int, holds_all_pairs: bool = False) -> "DataLoader[int]":
    """Every document once, longest first; `holds_all_pairs` where attention holds a weight for every two tokens of one."""
    most_pairs = PREDICTION_PAIRS if holds_all_pairs else None
    return _loader(documents, LongestFirst(_lengths(documents), batch_size, most_pairs=most_pairs))


def _lengths(documents: Documents) -> npt.NDArray[np.int64]:
    return np.asarray([len(ids) for ids in documents.ids], dtype=np.int64)


def _loader(documents: Documents, sampler: Sampler[list[int]]) -> "DataLoader[int]":
    return DataLoader(documents, batch_sampler=sampler, collate_fn=documents.collate)
