"""Distillation: a student learns from a teacher's probabilities, on labelled and unlabelled texts alike.

Hinton et al. (2015) for soft targets; Sanh et al. (2019) for a student that starts from layers of its teacher and stays near
their states.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from bakeoff.data import longdoc
from bakeoff.data.batches import Batch, Documents
from bakeoff.data.saved import read_tokeniser
from bakeoff.data.tokens import Document, Tokeniser
from bakeoff.errors import DataError
from bakeoff.models import encoders, loading, pooling
from bakeoff.models.files import VOCABULARY
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.spec import Distillation, Neural, Pretrained, Run, Training
from bakeoff.training import fit as fitting
from bakeoff.training.learned import Probabilities
from bakeoff.training.module import Loss

UNKNOWN = -1
"""The label of a text that has none."""
LEAST = 1e-8
"""Probabilities below are taken for it, since their logarithms would be no numbers."""


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What a student is trained on instead of its labels alone."""

    documents: Documents
    """The transfer set: labelled texts first, then unlabelled ones, whose label is UNKNOWN."""
    training: Training
    loss: Loss


def prepare(
    run: Run,
    student: nn.Module,
    tokeniser: Tokeniser,
    *,
    labelled: Sequence[Document],
    labels: np.ndarray,
    unlabelled: Sequence[Document],
    classes: tuple[str, ...],
    folder: Path,
    device: Literal["cpu", "cuda"],
) -> Lesson:
    """The lesson that the model saved in `folder`, of `run.teacher`, gives on these documents; `labels` has shape (labelled,).

    A student of the teacher's own checkpoint starts from the teacher's layers and head. Raises DataError where the teacher does
    not know one of the `classes`.
    """
    teacher, model = run.teacher, run.model
    assert isinstance(model, Neural), "spec refuses other students"
    assert teacher is not None, "a lesson needs a teacher"
    assert model.distillation is not None, "spec refuses a teacher without it"
    how, transfer = model.distillation, [*labelled, *unlabelled]
    columns = columns_of(loading.settings(folder).classes, classes, teacher=teacher)
    assert isinstance(teacher.model, Neural), "spec refuses other teachers"
    module = _Teacher.load(teacher, teacher.model, folder)
    answers = module.answers(transfer, device=device)
    near = None
    if (layers := common_layers(run)) is not None:
        assert isinstance(student, PretrainedClassifier)
        assert isinstance(module.classifier, PretrainedClassifier)
        if run.start is None:
            start_from(student, module.classifier, layers, columns)
            encoders.reinitialise_top(student.encoder, model.reinitialised_layers if isinstance(model, Pretrained) else 0)
        near = Nearness(module.classifier, layers) if how.hidden_weight else None
    known = np.concatenate([labels, np.full(len(unlabelled), UNKNOWN, dtype=np.int64)])
    return Lesson(
        documents=Documents(longdoc.read(transfer, tokeniser, run.longdoc).ids, known, tokeniser.pad_id),
        training=replace(model.training, epochs=how.transfer_epochs) if unlabelled else model.training,
        loss=loss_of(how, torch.from_numpy(np.log(np.maximum(answers[:, columns], LEAST))), near),
    )


def columns_of(known: Sequence[str], asked: Sequence[str], *, teacher: Run) -> list[int]:
    """Where the `asked` classes stand among those that a teacher knows. Raises DataError for one that it does not know."""
    if missing := [name for name in asked if name not in known]:
        raise DataError(
            f"model.teacher={teacher.model.name} knows no class {missing[0]}: its weights ({teacher.run_id}) are of other labels, "
            "so bake it again"
        )
    return [known.index(name) for name in asked]


def loss_of(how: Distillation, teacher_logits: torch.Tensor, near: "Nearness | None" = None) -> Loss:
    """The student's loss; `teacher_logits` (transfer texts, classes) are looked up by a batch's rows."""

    def loss(classifier: nn.Module, batch: Batch) -> torch.Tensor:
        with near.watching(classifier) if near is not None else contextlib.nullcontext():
            logits = classifier(batch.ids, batch.lengths)
        total = combined(how, logits, teacher_logits[batch.rows].to(logits.device), batch.labels)
        return total if near is None else total + how.hidden_weight * batch.token_weight * near.distance(batch)

    return loss


def combined(how: Distillation, student: torch.Tensor, teacher: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean over a batch of soft · T² · cross-entropy with the teacher at temperature T, plus hard · that with the label, if known.

    Logits `student` and `teacher` have shape (batch, classes), `labels` (batch,). A text without a label counts in the mean.
    """
    logits, temperature = student.float(), how.temperature
    soft = functional.cross_entropy(logits / temperature, (teacher / temperature).softmax(dim=1), reduction="none")
    hard = functional.cross_entropy(logits, labels, reduction="none", ignore_index=UNKNOWN)
    return (how.soft_weight * temperature**2 * soft + how.hard_weight * hard).mean()


def common_layers(run: Run) -> list[int] | None:
    """For a student of its teacher's checkpoint, where each of its layers stands among the teacher's; None for other students."""
    student, teacher = run.model, run.teacher and run.teacher.model
    if not isinstance(student, Pretrained) or not isinstance(teacher, Pretrained):
        return None
    if student.checkpoint_fingerprint != teacher.checkpoint_fingerprint:
        return None
    if student.keep_layers is None:
        return []
    return [layer if teacher.keep_layers is None else teacher.keep_layers.index(layer) for layer in student.keep_layers]


def start_from(student: PretrainedClassifier, teacher: PretrainedClassifier, layers: Sequence[int], columns: Sequence[int]) -> None:
    """Give a student the teacher's `layers` (none named: all of them) and its head, whose classes stand in `columns`.

    What pools windows is taken over too, where both pool them alike.
    """
    with torch.random.fork_rng(devices=[]):
        encoder = encoders.with_layers(teacher.encoder, layers) if layers else teacher.encoder
    student.encoder.load_state_dict(encoder.state_dict())
    with torch.no_grad():
        student.head.weight.copy_(teacher.head.weight[list(columns)])
        student.head.bias.copy_(teacher.head.bias[list(columns)])
    if student.windows is not None and teacher.windows is not None and student.windows.pool == teacher.windows.pool:
        student.windows.load_state_dict(teacher.windows.state_dict())


class Nearness:
    """How far a student's layers are from those of the teacher that they come from."""

    def __init__(self, teacher: PretrainedClassifier, layers: Sequence[int]) -> None:
        self.teacher = teacher
        self.layers = list(layers) or list(range(len(encoders.layers_of(teacher.encoder))))
        self._states: list[torch.Tensor] = []

    @contextlib.contextmanager
    def watching(self, student: nn.Module) -> Iterator[None]:
        """Note what each layer of the student gives while it reads a batch."""
        encoder = student.get_submodule("encoder")
        with _noting(encoders.layers_of(encoder)) as self._states:
            yield

    def distance(self, batch: Batch) -> torch.Tensor:
        """Mean squared distance over layers, real tokens and units, from the teacher's states for the batch just watched."""
        self.teacher.to(batch.ids.device)
        with torch.no_grad(), _noting(encoders.layers_of(self.teacher.encoder)) as states:
            self.teacher(batch.ids, batch.lengths)
        real, longest = pooling.mask_of(batch.lengths, batch.ids), batch.ids.shape[1]  # a Longformer pads on, to whole windows
        pairs = zip(self._states, (states[layer] for layer in self.layers), strict=True)
        distances = [(own[:, :longest][real].float() - theirs[:, :longest][real].float()).square().mean() for own, theirs in pairs]
        return torch.stack(distances).mean()


@contextlib.contextmanager
def _noting(layers: nn.ModuleList) -> Iterator[list[torch.Tensor]]:
    """The states (batch, longest or more, width) that each of the layers gives while this is entered, lowest first."""
    states: list[torch.Tensor] = []

    def note(_layer: nn.Module, _inputs: object, output: torch.Tensor | tuple[torch.Tensor, ...]) -> None:
        states.append(output if isinstance(output, torch.Tensor) else output[0])

    with contextlib.ExitStack() as hooks:
        for layer in layers:
            hooks.callback(layer.register_forward_hook(note).remove)
        yield states


@dataclass(frozen=True, kw_only=True)
class _Teacher:
    run: Run
    model: Neural
    classifier: nn.Module
    tokeniser: Tokeniser
    n_classes: int

    @classmethod
    def load(cls, run: Run, model: Neural, folder: Path) -> "_Teacher":
        tokeniser, n_classes = read_tokeniser(folder, words_in=VOCABULARY), len(loading.settings(folder).classes)
        classifier = loading.neural(model, folder, n_classes=n_classes, frame=tokeniser)
        return cls(run=run, model=model, classifier=classifier, tokeniser=tokeniser, n_classes=n_classes)

    def answers(self, documents: Sequence[Document], *, device: Literal["cpu", "cuda"]) -> Probabilities:
        """Probabilities (documents, classes), read as the teacher reads."""
        ids = longdoc.read(documents, self.tokeniser, self.run.longdoc).ids
        texts = Documents(ids, np.zeros(len(ids), dtype=np.int64), self.tokeniser.pad_id)
        return fitting.predict(self.classifier, texts, self.n_classes, precision=self.model.precision, device=device)
