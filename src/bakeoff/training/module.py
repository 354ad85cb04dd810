"""The LightningModule around any of our classifiers."""

from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional

from bakeoff.data.batches import Batch
from bakeoff.models import windows
from bakeoff.spec import Training
from bakeoff.training import memory, optim
from bakeoff.training.parallel import ALONE, Place, n_targets, share

Loss = Callable[[nn.Module, Batch], torch.Tensor]
"""A classifier and a batch to the loss that a training step minimises, a scalar."""


def cross_entropy(classifier: nn.Module, batch: Batch) -> torch.Tensor:
    """Mean cross-entropy of a batch."""
    return functional.cross_entropy(classifier(batch.ids, batch.lengths), batch.labels)


def summed_cross_entropy(classifier: nn.Module, batch: Batch) -> torch.Tensor:
    """Cross-entropy summed over a batch."""
    return functional.cross_entropy(classifier(batch.ids, batch.lengths), batch.labels, reduction="sum")


class ClassifierModule(pl.LightningModule):
    """Training of a module `(ids, lengths) → logits`; scores are computed elsewhere, once."""

    def __init__(
        self,
        classifier: nn.Module,
        training: Training,
        total_steps: int,
        *,
        loss: Loss | None = None,
        validation_loss: Loss | None = None,
        pace: optim.Pace = optim.EVEN,
        place: Place = ALONE,
        micro_batch_size: int | None = None,
    ) -> None:
        """Without a `loss`, cross-entropy; a `validation_loss` is summed over a batch's targets, and cross-entropy where none is given.

        With a `micro_batch_size`, so many rows of a batch are read at a time; the step is that of the whole batch. On one device so
        is a batch of more than `memory.TRAINING_TOKENS`, which is read in pieces of that size.
        """
        super().__init__()
        self.classifier, self.recipe, self.total_steps, self.pace, self.place = classifier, training, total_steps, pace, place
        self._loss, self._summed_loss = loss or cross_entropy, validation_loss or summed_cross_entropy
        self.micro_batch_size = micro_batch_size
        self.validation_loss = float("nan")
        self._in_pieces = False
        self._loss_sum, self._loss_targets = 0.0, 0

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        """Move a batch; lengths stay on the CPU."""
        return batch.to(device)

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        """The loss of a batch; of several devices, that of this one's share of it, so that their mean is the loss of the batch."""
        own = share(batch, self.place)
        rows = self.micro_batch_size
        if self.place == ALONE and memory.reads_whole(self.classifier):
            rows = memory.within_tokens(own.batch, rows)
        self._in_pieces = rows is not None
        if rows is None:
            return own.weight * self._loss_of(own.batch, batch)
        self.zero_grad(set_to_none=True)
        *first, last = memory.pieces(own.batch, rows)
        told = torch.zeros((), device=self.device)
        for piece in first:
            loss = own.weight * piece.weight * self._loss_of(piece.batch, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            told += loss.detach()
        return told + own.weight * last.weight * self._loss_of(last.batch, batch)

    def _loss_of(self, part: Batch, whole: Batch) -> torch.Tensor:
        with windows.part_of_step(self.classifier, rows=len(part.lengths), of=len(whole.lengths)):
            return self._loss(self.classifier, part)

    def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: Any) -> None:
        """Lightning calls this after `training_step`, which with a batch in pieces has put gradients there already."""
        if not self._in_pieces:
            optimizer.zero_grad()

    def on_train_epoch_start(self) -> None:
        """While the head learns alone, the encoder has no gradients, so that no optimiser touches it."""
        if self.pace.head_first_epochs:
            self.classifier.get_submodule("encoder").requires_grad_(self.current_epoch >= self.pace.head_first_epochs)

    def on_train_end(self) -> None:
        """Leave the encoder as it came, even where training ended while the head learned alone."""
        if self.pace.head_first_epochs:
            self.classifier.get_submodule("encoder").requires_grad_(True)

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Clip by the norm of all gradients; Lightning's own refuses a fused optimiser in bfloat16, which needs no unscaling."""
        if gradient_clip_val:
            torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], gradient_clip_val)

    def on_validation_epoch_start(self) -> None:
        """Start a new mean."""
        self._loss_sum, self._loss_targets = 0.0, 0

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add a batch, or this device's share of it, to the mean over targets (rows, or hidden tokens), whatever its size."""
        own = share(batch, self.place)
        if own.weight:
            self._loss_sum += sum(memory.answers_within(lambda part: float(self._summed_loss(self.classifier, part)), own.batch))
            self._loss_targets += n_targets(own.batch)

    def on_validation_epoch_end(self) -> None:
        """The mean loss over all validation targets, those of other devices too."""
        own = torch.tensor([self._loss_sum, self._loss_targets], dtype=torch.float64, device=self.device)
        loss_sum, targets = self.trainer.strategy.reduce(own, reduce_op="sum").tolist()
        self.validation_loss = loss_sum / targets

    def predict_step(self, batch: Batch, batch_idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Row indices (batch,) and probabilities (batch, classes) in float32."""

        def answer(part: Batch) -> tuple[torch.Tensor, torch.Tensor]:
            return part.rows, self.classifier(part.ids, part.lengths).float().softmax(dim=-1).cpu()

        rows, probabilities = zip(*memory.answers_within(answer, batch), strict=True)
        return torch.cat(rows), torch.cat(probabilities)

    def configure_optimizers(self) -> Any:
        """AdamW with the schedule stepped every optimiser step."""
        optimiser = optim.optimiser(self.classifier, self.recipe, layer_decay=self.pace.layer_decay)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, optim.schedule(self.recipe, self.total_steps))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
