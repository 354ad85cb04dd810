"""Batches that do not fit into memory: read in pieces that add up to the same step, and to the same answers."""

import gc
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from bakeoff.data.batches import Batch
from bakeoff.errors import BakeoffError
from bakeoff.training.parallel import ALONE, Place, Share, share

T = TypeVar("T")

TRAINING_TOKENS = 524_288
"""Most tokens of a batch that a model learns from at once, padding included: 32 documents of 16,384."""


class OutOfMemory(BakeoffError):
    """Not even one document at a time fits; or, on several devices, where no batch is read in pieces, the share of one of them."""

    def __init__(self, *, devices: int = 1) -> None:
        super().__init__(
            "out of GPU memory even with one document at a time: lower longdoc.max_tokens, or choose a smaller model"
            if devices == 1
            else f"out of GPU memory with machine.devices={devices}: set machine.devices=1, where batches are halved until they fit"
        )


@dataclass(frozen=True, kw_only=True)
class Start:
    """A model and all random numbers as they were before training, to train it again from there."""

    weights: dict[str, torch.Tensor]
    learns: dict[str, bool]
    """Whether each parameter has a gradient: the encoder has none while the head learns alone."""
    of_python: Any
    of_numpy: Any
    of_torch: torch.Tensor
    of_gpus: list[torch.Tensor]

    @classmethod
    def of(cls, model: nn.Module) -> "Start":
        """Remember how things stand; the copy of the weights is on the CPU."""
        return cls(
            weights={name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()},
            learns={name: parameter.requires_grad for name, parameter in model.named_parameters()},
            of_python=random.getstate(),
            of_numpy=np.random.get_state(),
            of_torch=torch.get_rng_state(),
            of_gpus=torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        )

    def restore(self, model: nn.Module) -> None:
        """Let everything stand so again, the model on the CPU and without gradients."""
        model.cpu()
        model.zero_grad(set_to_none=True)
        model.load_state_dict(self.weights)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(self.learns[name])
        random.setstate(self.of_python)
        np.random.set_state(self.of_numpy)
        torch.set_rng_state(self.of_torch)
        if self.of_gpus:
            torch.cuda.set_rng_state_all(self.of_gpus)
        release()


def train_within(training: Callable[[int | None], T], model: nn.Module, *, batch_size: int) -> T:
    """What `training` of the model gives, given None to take batches whole, else how many rows of one may be read at a time.

    Where memory does not suffice, everything begins again with half as many rows. Raises OutOfMemory where one is too much.
    """
    start, rows = Start.of(model), batch_size
    while True:
        try:
            return training(None if rows == batch_size else rows)
        except torch.OutOfMemoryError:
            if rows == 1:
                raise OutOfMemory from None
            rows = -(-rows // 2)
        start.restore(model)  # only here has the error, and with it every tensor of the step, gone


def pieces(batch: Batch, most_rows: int | None) -> list[Share]:
    """A batch in parts of at most `most_rows`; their losses times their weights add up to the mean loss of the batch."""
    n = 1 if most_rows is None else -(-len(batch.lengths) // most_rows)
    if n == 1:
        return [share(batch, ALONE)]
    parts, mean_tokens = (share(batch, Place(number, n)) for number in range(n)), float(batch.lengths.float().mean())

    def piece(part: Batch) -> Batch:
        return replace(part, token_weight=float(part.lengths.float().mean()) / mean_tokens if mean_tokens else 1.0)

    return [Share(batch=piece(part.batch), weight=part.weight / n) for part in parts]


def reads_whole(classifier: nn.Module) -> bool:
    """Whether memory grows with the documents of a batch: not where they are read by windows, of which only some are trained."""
    return getattr(classifier, "windows", None) is None


def within_tokens(batch: Batch, most_rows: int | None) -> int | None:
    """How many rows to read at a time so that no piece has more than TRAINING_TOKENS; `most_rows` where the batch has not either."""
    if batch.ids.numel() <= TRAINING_TOKENS:
        return most_rows
    rows = max(1, TRAINING_TOKENS // batch.ids.shape[1])
    return rows if most_rows is None else min(rows, most_rows)


def answers_within(answer: Callable[[Batch], T], batch: Batch) -> list[T]:
    """The answer to a batch; where memory does not suffice those to its halves, or to theirs. Raises OutOfMemory at one row."""
    try:
        return [answer(batch)]
    except torch.OutOfMemoryError:
        if len(batch.lengths) == 1:
            raise OutOfMemory from None
    release()
    return [each for half in (0, 1) for each in answers_within(answer, share(batch, Place(half, 2)).batch)]


def release() -> None:
    """Give back what nothing refers to any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
