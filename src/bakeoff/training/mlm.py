"""Masked language modelling: an encoder learns from texts alone, for other Runs to start from."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.nn import functional

from bakeoff.data import longdoc
from bakeoff.data.batches import Batch, prediction_loader
from bakeoff.data.budget import Spent
from bakeoff.data.dataset import Prepared
from bakeoff.data.masking import NOT_HIDDEN, Hiding, MaskedDocuments, hiding_of
from bakeoff.data.tokens import Document, Ids
from bakeoff.errors import DataError
from bakeoff.models.build import count_parameters
from bakeoff.models.mlm_head import MaskedLanguageModel
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.models.scratch import ScratchClassifier
from bakeoff.spec import Pretrain, Pretrained, Run, Scratch
from bakeoff.training import fit as fitting
from bakeoff.training import memory, saving
from bakeoff.training.assemble import assemble
from bakeoff.training.callbacks import Log
from bakeoff.training.learned import Learned

HELD_OUT = 20
"""One text of so many is held out, to tell the best step by."""
LARGEST_EXPONENT = 700.0
"""Beyond it e to the power of a loss is no float."""


def learn_pretraining(
    run: Run,
    model: Scratch | Pretrained,
    prepared: Prepared,
    spent: Spent,
    unlabelled: Sequence[Document],
    *,
    device: Literal["cpu", "cuda"],
    devices: int = 1,
    log: Log,
) -> Learned:
    """Train the encoder on the budget's fit rows and on `unlabelled` documents, and answer nothing.

    Of these texts one in twenty, by hash, is held out with masks of its own; the step with their lowest loss is kept.
    Raises DataError where there is no text, and as `assemble` and `hiding_of` do.
    """
    probe = run.probe
    assert isinstance(probe, Pretrain), "only pretraining Runs guess tokens"
    labelled = prepared.pool.take(spent.fit)
    every = [*labelled.documents, *unlabelled]
    assembled = assemble(run, model, labelled.documents, unlabelled, n_classes=len(prepared.classes), needs={})
    classifier, tokeniser = assembled.classifier, assembled.tokeniser
    assert isinstance(classifier, ScratchClassifier | PretrainedClassifier), "only transformers guess tokens"
    module = MaskedLanguageModel(classifier)
    hiding = hiding_of(tokeniser, probe.mask_fraction)
    texts = _divide(every, longdoc.read(every, tokeniser, run.longdoc).ids, hiding)

    def documents(ids: Sequence[Ids], *, fixed: bool) -> MaskedDocuments:
        return MaskedDocuments(ids, tokeniser.pad_id, hiding, seed=run.seed, fixed=fixed)

    held_out = documents(texts.held_out, fixed=True) if texts.held_out else None
    fitted = fitting.fit(
        module,
        probe.training,
        documents(texts.learned, fixed=False),
        held_out,
        precision=model.precision,
        device=device,
        devices=devices,
        seed=run.seed,
        log=log,
        loss=mean_loss,
        validation_loss=summed_loss,
    )
    read = longdoc.read(prepared.test.documents, tokeniser, run.longdoc)
    selected = {"texts": float(len(texts.learned)), "held_out_texts": float(len(texts.held_out))}
    if held_out is not None and fitted.best_validation_loss is not None:
        perplexity = math.exp(min(fitted.best_validation_loss, LARGEST_EXPONENT))
        selected |= {"perplexity": perplexity, "masked_accuracy": accuracy(module, held_out, device=device)}
    return Learned(
        test=None,
        validation=None,
        lengths_tokens=read.lengths_tokens,
        truncated=read.truncated,
        epochs=fitted.epochs,
        steps=fitted.steps,
        best_step=fitted.best_step,
        best_validation_loss=fitted.best_validation_loss,
        seconds=fitted.seconds,
        tokens_per_second=fitted.tokens_per_second,
        stop_reason=fitted.stop_reason,
        selected=selected,
        history=fitted.history,
        micro_batch_size=fitted.micro_batch_size,
        parameters_total=count_parameters(module),
        parameters_trainable=count_parameters(module, trainable=True),
        parameters_embedding=count_parameters(module, embedding=True),
        bytes=sum(tensor.numel() * tensor.element_size() for tensor in classifier.state_dict().values()),
        save=lambda folder: saving.save_neural(folder, run, prepared.classes, classifier, tokeniser),
    )


def mean_loss(module: nn.Module, batch: Batch) -> torch.Tensor:
    """Mean cross-entropy of the hidden tokens of a batch; 0 where none is hidden."""
    return summed_loss(module, batch) / (batch.labels != NOT_HIDDEN).sum().clamp(min=1)


def summed_loss(module: nn.Module, batch: Batch) -> torch.Tensor:
    """Cross-entropy summed over the hidden tokens of a batch."""
    hidden = batch.labels != NOT_HIDDEN
    logits = module(batch.ids, batch.lengths, hidden)
    return functional.cross_entropy(logits.float(), batch.labels[hidden], reduction="sum")


def accuracy(module: nn.Module, documents: MaskedDocuments, *, device: Literal["cpu", "cuda"]) -> float:
    """Share of the hidden tokens that are guessed right."""
    guesses: list[torch.Tensor] = []
    module.eval().to(device)

    def right(batch: Batch) -> torch.Tensor:
        batch = batch.to(torch.device(device))
        hidden = batch.labels != NOT_HIDDEN
        guessed: torch.Tensor = module(batch.ids, batch.lengths, hidden).argmax(dim=1)
        return (guessed == batch.labels[hidden]).cpu()

    with torch.inference_mode():
        for batch in prediction_loader(documents, batch_size=fitting.PREDICTION_BATCH):
            guesses += memory.answers_within(right, batch)
    module.cpu()
    return sum(int(each.sum()) for each in guesses) / max(1, sum(map(len, guesses)))


@dataclass(frozen=True, kw_only=True)
class _Texts:
    learned: list[Ids]
    held_out: list[Ids]


def _divide(documents: Sequence[Document], read: Sequence[Ids], hiding: Hiding) -> _Texts:
    """Which texts are learned and which are held out, by their hash, so that equal ones stand on one side.

    Those without a token that could be hidden are neither.
    """
    sides: dict[bool, list[Ids]] = {False: [], True: []}
    for document, ids in zip(documents, read, strict=True):
        if not hiding.special[ids].all():
            digest = hashlib.sha256(f"held out|{document}".encode("utf-8", "surrogatepass")).hexdigest()
            sides[int(digest[:16], 16) % HELD_OUT == 0].append(ids)
    if not sides[False]:
        raise DataError("budget.labels and budget.unlabelled leave too little text to learn from: give labels, or more unlabelled text")
    return _Texts(learned=sides[False], held_out=sides[True])
