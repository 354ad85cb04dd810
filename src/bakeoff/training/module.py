"""The LightningModule around any of our classifiers."""

from typing import Any

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional

from bakeoff.data.batches import Batch
from bakeoff.spec import Training
from bakeoff.training import optim


class ClassifierModule(pl.LightningModule):
    """Cross-entropy training of a module `(ids, lengths) → logits`; scores are computed elsewhere, once."""

    def __init__(self, classifier: nn.Module, training: Training, total_steps: int) -> None:
        super().__init__()
        self.classifier, self.recipe, self.total_steps = classifier, training, total_steps
        self.validation_loss = float("nan")
        self._loss_sum, self._loss_rows = 0.0, 0

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        """Move a batch; lengths stay on the CPU."""
        return batch.to(device)

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        """Mean cross-entropy of a batch."""
        return functional.cross_entropy(self.classifier(batch.ids, batch.lengths), batch.labels)

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Clip by the norm of all gradients; Lightning's own refuses a fused optimiser in bfloat16, which needs no unscaling."""
        if gradient_clip_val:
            torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], gradient_clip_val)

    def on_validation_epoch_start(self) -> None:
        """Start a new mean."""
        self._loss_sum, self._loss_rows = 0.0, 0

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add a batch to the mean over rows, whatever its size."""
        loss = functional.cross_entropy(self.classifier(batch.ids, batch.lengths), batch.labels, reduction="sum")
        self._loss_sum += float(loss)
        self._loss_rows += len(batch.labels)

    def on_validation_epoch_end(self) -> None:
        """The mean loss over all validation rows."""
        self.validation_loss = self._loss_sum / self._loss_rows

    def predict_step(self, batch: Batch, batch_idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Row indices (batch,) and probabilities (batch, classes) in float32."""
        return batch.rows, self.classifier(batch.ids, batch.lengths).float().softmax(dim=-1).cpu()

    def configure_optimizers(self) -> Any:
        """AdamW with the schedule stepped every optimiser step."""
        optimiser = optim.optimiser(self.classifier, self.recipe)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, optim.schedule(self.recipe, self.total_steps))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
