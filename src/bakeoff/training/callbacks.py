"""What is watched while a model learns: the curve, the best step, and a loss that is no number."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytorch_lightning as pl
import torch

from bakeoff.data.batches import Batch
from bakeoff.training.module import ClassifierModule

Log = Callable[[int, Mapping[str, float]], None]


class Curve(pl.Callback):
    """Loss and learning rate of every step, validation loss of every epoch; stops when the loss is not finite."""

    def __init__(self, log: Log) -> None:
        self._tell = log
        self.history: list[dict[str, float | int | None]] = []
        self.finite = True
        self.tokens = 0
        self._learning_rate = math.nan

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Batch, batch_idx: int) -> None:
        """Note the learning rate of the step to come: when the step has ended, the schedule is already one further."""
        self._learning_rate = trainer.optimizers[0].param_groups[0]["lr"]

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Write down the step that just ended."""
        loss = float(trainer.strategy.reduce(outputs["loss"].clone(), reduce_op="mean"))  # over devices
        self.tokens += int(batch.lengths.sum())
        self._write(trainer.global_step, train_loss=loss, learning_rate=self._learning_rate)
        if not math.isfinite(loss):
            self.finite = False
            trainer.should_stop = True

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Write down the validation loss."""
        assert isinstance(module, ClassifierModule)
        self._write(trainer.global_step, validation_loss=module.validation_loss)

    def _write(self, step: int, **values: float) -> None:
        self.history.append({"step": step, "train_loss": None, "learning_rate": None, "validation_loss": None} | values)
        self._tell(step, values)


class KeepBest(pl.Callback):
    """The weights of the validation with the lowest loss (the first of equals), kept in memory."""

    def __init__(self) -> None:
        self.loss = math.inf
        self.step: int | None = None
        self._weights: dict[str, torch.Tensor] = {}

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Copy the weights if they are the best so far."""
        assert isinstance(module, ClassifierModule)
        if module.validation_loss < self.loss:
            self.loss, self.step = module.validation_loss, trainer.global_step
            self._weights = {name: tensor.detach().clone() for name, tensor in module.classifier.state_dict().items()}

    def restore(self, module: ClassifierModule) -> None:
        """Put the best weights back; without a validation the last ones stay."""
        if self._weights:
            module.classifier.load_state_dict(self._weights)
