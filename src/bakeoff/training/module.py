"""The LightningModule around any of our classifiers."""

from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional

from bakeoff.data.batches import Batch
from bakeoff.data.masking import NOT_HIDDEN
from bakeoff.spec import Training
from bakeoff.training import optim

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
    ) -> None:
        """Without a `loss`, cross-entropy; a `validation_loss` is summed over a batch's targets, and cross-entropy where none is given."""
        super().__init__()
        self.classifier, self.recipe, self.total_steps, self.pace = classifier, training, total_steps, pace
        self._loss, self._summed_loss = loss or cross_entropy, validation_loss or summed_cross_entropy
        self.validation_loss = float("nan")
        self._loss_sum, self._loss_targets = 0.0, 0

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        """Move a batch; lengths stay on the CPU."""
        return batch.to(device)

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        """The loss of a batch."""
        return self._loss(self.classifier, batch)

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
        """Add a batch to the mean over targets (rows, or hidden tokens), whatever its size."""
        self._loss_sum += float(self._summed_loss(self.classifier, batch))
        self._loss_targets += int((batch.labels != NOT_HIDDEN).sum())

    def on_validation_epoch_end(self) -> None:
        """The mean loss over all validation targets."""
        self.validation_loss = self._loss_sum / self._loss_targets

    def predict_step(self, batch: Batch, batch_idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Row indices (batch,) and probabilities (batch, classes) in float32."""
        return batch.rows, self.classifier(batch.ids, batch.lengths).float().softmax(dim=-1).cpu()

    def configure_optimizers(self) -> Any:
        """AdamW with the schedule stepped every optimiser step."""
        optimiser = optim.optimiser(self.classifier, self.recipe, layer_decay=self.pace.layer_decay)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, optim.schedule(self.recipe, self.total_steps))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
