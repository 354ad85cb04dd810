"""Fit a neural classifier on documents, keep its best step, and predict with it."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytorch_lightning as pl
import torch
from torch import nn

from bakeoff.data.batches import Documents, prediction_loader, training_loader
from bakeoff.models import encoders
from bakeoff.spec import Precision, Training
from bakeoff.training import memory, optim, parallel
from bakeoff.training.callbacks import Curve, KeepBest, Log
from bakeoff.training.module import ClassifierModule, Loss
from bakeoff.training.parallel import ALONE, Place

PREDICTION_BATCH = 64
_LIGHTNING_PRECISION: dict[Precision, Any] = {"float32": "32-true", "bfloat16": "bf16-mixed"}


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A trained classifier and how its training went."""

    classifier: nn.Module
    epochs: float
    steps: int
    best_step: int | None
    best_validation_loss: float | None
    seconds: float
    tokens_per_second: float | None
    stop_reason: Literal["schedule", "not_finite"]
    history: list[dict[str, float | int | None]]
    micro_batch_size: int | None = None
    """Rows of a batch that were read at a time, where memory did not suffice for all."""


def fit(
    classifier: nn.Module,
    training: Training,
    fit_documents: Documents,
    validation_documents: Documents | None,
    *,
    precision: Precision,
    device: Literal["cpu", "cuda"],
    devices: int = 1,
    seed: int,
    log: Log,
    loss: Loss | None = None,
    validation_loss: Loss | None = None,
    pace: optim.Pace = optim.EVEN,
) -> Fitted:
    """Train in place. With validation documents the step with their lowest loss is kept, else the last one.

    A training step minimises `loss`, which is cross-entropy where none is given; validation is by `validation_loss`, which is summed over
    a batch's targets, or else by cross-entropy.
    Never takes fewer than `training.min_steps` steps; a loss that is not finite ends training with that reason.
    Where a batch does not fit into memory, training begins again with fewer of its rows read at a time, and the same steps.
    With `devices`, as many of them share the rows of each batch, or raise OutOfMemory where these do not fit; `loss` and
    `validation_loss` must then be picklable.
    """
    steps = functools.partial(
        _fit,
        classifier,
        training,
        fit_documents,
        validation_documents,
        precision=precision,
        device=device,
        seed=seed,
        loss=loss,
        validation_loss=validation_loss,
        pace=pace,
    )
    if devices == 1:
        alone = functools.partial(steps, log=log, place=ALONE)
        return memory.train_within(lambda rows: alone(micro_batch_size=rows), classifier, batch_size=training.batch_size)
    with parallel.together(functools.partial(_help, steps, seed, torch.get_num_threads()), devices=devices, device=device) as place:
        try:
            return steps(log=log, place=place)
        except torch.OutOfMemoryError:
            raise memory.OutOfMemory(devices=devices) from None


def _help(steps: Callable[..., Fitted], seed: int, threads: int, place: Place) -> None:
    """Take the same steps in another process, with random numbers of its own, and say nothing."""
    seed_everything((seed + place.rank) % 2**32, threads)
    steps(log=_silent, place=place)


def _silent(step: int, metrics: Mapping[str, float]) -> None:
    pass


def _fit(
    classifier: nn.Module,
    training: Training,
    fit_documents: Documents,
    validation_documents: Documents | None,
    *,
    precision: Precision,
    device: Literal["cpu", "cuda"],
    seed: int,
    log: Log,
    loss: Loss | None,
    validation_loss: Loss | None,
    pace: optim.Pace,
    place: Place,
    micro_batch_size: int | None = None,
) -> Fitted:
    loader = training_loader(fit_documents.afresh(), batch_size=training.batch_size, seed=seed)
    epochs = optim.epochs_for(training, len(loader))
    total_steps = epochs * len(loader)
    module = ClassifierModule(
        classifier,
        training,
        total_steps=total_steps,
        loss=loss,
        validation_loss=validation_loss,
        pace=pace,
        place=place,
        micro_batch_size=micro_batch_size,
    )
    module.train()  # a checkpoint loads in evaluation mode, in which Lightning would train it without its dropout
    curve, best = Curve(log), KeepBest()
    trainer = _trainer(device, precision, place, max_epochs=epochs, gradient_clip_val=training.clip_norm, callbacks=[curve, best])
    validation = None if validation_documents is None else _to_read(classifier, validation_documents)
    started = time.perf_counter()
    trainer.fit(module, loader, validation)
    seconds = time.perf_counter() - started
    if curve.finite:
        best.restore(module)
    return Fitted(
        classifier=module.classifier,
        epochs=trainer.global_step / len(loader),
        steps=trainer.global_step,
        best_step=best.step,
        best_validation_loss=best.loss if best.step is not None else None,
        seconds=seconds,
        tokens_per_second=curve.tokens / seconds if seconds > 0 else None,
        stop_reason="schedule" if curve.finite else "not_finite",
        history=curve.history,
        micro_batch_size=micro_batch_size,
    )


def predict(
    classifier: nn.Module, documents: Documents, n_classes: int, *, precision: Precision, device: Literal["cpu", "cuda"]
) -> npt.NDArray[np.float32]:
    """Probabilities (documents, classes), in the order of the documents."""
    module = ClassifierModule(classifier, training=None, total_steps=0)  # type: ignore[arg-type]
    outputs: Sequence[Any] = _trainer(device, precision).predict(module, _to_read(classifier, documents)) or []
    probabilities = np.full((len(documents), n_classes), np.nan, dtype=np.float32)
    for rows, values in outputs:
        probabilities[rows.numpy()] = values.numpy()
    return probabilities


def _to_read(classifier: nn.Module, documents: Documents) -> Any:
    return prediction_loader(documents, batch_size=PREDICTION_BATCH, holds_all_pairs=encoders.holds_all_pairs(classifier))


def _trainer(device: Literal["cpu", "cuda"], precision: Precision, place: Place = ALONE, **options: Any) -> pl.Trainer:
    return pl.Trainer(
        accelerator="gpu" if device == "cuda" else "cpu",
        precision=_LIGHTNING_PRECISION[precision],
        # On a CPU with a fixed number of threads our operations repeat exactly as they are.
        deterministic="warn" if device == "cuda" else None,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        **parallel.trainer_options(place),
        **options,
    )


def seed_everything(seed: int, threads: int) -> None:
    """Make a process answer alike whenever it answers: seeds, thread count, denormal numbers as zero."""
    pl.seed_everything(seed, workers=True, verbose=False)
    torch.set_num_threads(threads)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    # Diverging weights produce denormal numbers, on which a CPU can be ten times slower.
    torch.set_flush_denormal(True)
