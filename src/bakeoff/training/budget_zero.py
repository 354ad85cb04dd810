"""Models that read no label, and answers that were made elsewhere: nothing is fitted, the test rows are only answered."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bakeoff.data import checkpoint, heads, hypotheses, longdoc, predictions_file
from bakeoff.data.batches import Documents, pad
from bakeoff.data.dataset import Prepared
from bakeoff.data.longdoc import Reading
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.models import encoders
from bakeoff.models.build import count_parameters
from bakeoff.models.zero_shot import EntailmentClassifier, OffTheShelfClassifier, SimilarityClassifier, load_sequence_classifier
from bakeoff.spec import BudgetZero, LongDoc, OffTheShelf, Predictions, Run, ZeroShot
from bakeoff.training import fit as fitting
from bakeoff.training import saving
from bakeoff.training.learned import Learned


def learn_budget_zero(run: Run, model: BudgetZero, prepared: Prepared, *, device: Literal["cpu", "cuda"]) -> Learned:
    """Answer the test rows with a checkpoint as it is.

    Raises DataError for a checkpoint that cannot do what is asked of it, and for classes that it cannot be told.
    """
    folder = checkpoint.resolve(model.checkpoint, model.revision)
    checkpoint.verify(model)
    tokeniser = CheckpointTokeniser(folder)
    classifier = assemble_budget_zero(run, model, tokeniser, folder, classes=prepared.classes)
    reading = longdoc.read(prepared.test.documents, tokeniser, _beside_classes(run.longdoc, classifier))
    documents = Documents(reading.ids, prepared.test.labels, tokeniser.pad_id)
    started = time.perf_counter()
    test = fitting.predict(classifier, documents, len(prepared.classes), precision=model.precision, device=device)

    def save(folder: Path) -> None:
        saving.save_neural(folder, run, prepared.classes, classifier, tokeniser)
        next(classifier.children()).config.save_pretrained(folder)  # type: ignore[operator,union-attr]

    return Learned(
        test=test,
        validation=None,
        lengths_tokens=reading.lengths_tokens,
        truncated=_read_tokens(classifier, reading) < reading.lengths_tokens,
        read_tokens=_read_tokens(classifier, reading),
        processed_tokens=None if isinstance(classifier, EntailmentClassifier) else reading.read_tokens,
        seconds=0.0,
        predict_seconds=time.perf_counter() - started,
        stop_reason="not_trained",
        parameters_total=count_parameters(classifier),
        parameters_trainable=0,
        parameters_embedding=count_parameters(classifier, embedding=True),
        bytes=sum(tensor.numel() * tensor.element_size() for tensor in classifier.state_dict().values()),
        save=save,
    )


def assemble_budget_zero(
    run: Run, model: BudgetZero, tokeniser: CheckpointTokeniser, folder: Path, *, classes: tuple[str, ...]
) -> nn.Module:
    """The checkpoint in `folder` as a module `(ids, lengths) → logits` over the classes, in evaluation mode."""
    if isinstance(model, OffTheShelf):
        outputs = heads.outputs_of_classes(model, heads.label_names(model, folder), classes)
        classifier = load_sequence_classifier(folder, name=heads.named(model))
        _tell_segments(run, classifier, tokeniser)
        return OffTheShelfClassifier(classifier, outputs=outputs).eval()
    words = hypotheses.sentences(model, classes)
    if model.method == "similarity":
        return _similarity(run, model, tokeniser, folder, words)
    entailment = heads.entailment_output(model, heads.label_names(model, folder))
    tails = hypotheses.tails(folder, words, prefix=tokeniser.prefix, max_tokens=run.longdoc.max_tokens)
    return EntailmentClassifier(
        load_sequence_classifier(folder, name=heads.named(model)),
        entailment=entailment,
        tails=[tail.ids for tail in tails],
        types=[tail.types for tail in tails],
        suffix_tokens=len(tokeniser.suffix),
        max_tokens=run.longdoc.max_tokens,
        pad_id=tokeniser.pad_id,
    ).eval()


def learn_predictions(run: Run, model: Predictions, prepared: Prepared) -> Learned:
    """Take the answers to the test rows from the model's file. Raises DataError as `predictions_file.read` does."""
    answers = predictions_file.read(model, prepared.test.row_ids, prepared.classes)
    return Learned(
        test=answers.probabilities,
        validation=None,
        lengths_tokens=np.zeros(0, dtype=np.int64),
        truncated=np.zeros(0, dtype=bool),
        seconds=0.0,
        stop_reason="not_trained",
        parameters_total=0,
        parameters_trainable=0,
        bytes=0,
        save=lambda folder: None,
        from_file=answers,
    )


def _similarity(run: Run, model: ZeroShot, tokeniser: CheckpointTokeniser, folder: Path, words: tuple[str, ...]) -> SimilarityClassifier:
    heads.require_embedding(model, folder)
    classifier = SimilarityClassifier(encoders.load(folder), n_classes=len(words))
    _tell_segments(run, classifier.encoder, tokeniser)
    described = longdoc.frame(longdoc.content(words, tokeniser, run.longdoc, now=True), tokeniser, run.longdoc)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=model.precision == "bfloat16"):
        classifier.describe(*pad(described.ids, tokeniser.pad_id))
    return classifier


def _tell_segments(run: Run, encoder: nn.Module, tokeniser: CheckpointTokeniser) -> None:
    if run.dataset.text_pair is not None and tokeniser.pair is not None:
        encoders.tell_segments(encoder, tokeniser.pair.separator_id)


def _beside_classes(reading: LongDoc, classifier: nn.Module) -> LongDoc:
    """The reading that leaves room for a class in words: entailment cuts a text at its end for one, which only `head` reads."""
    if not isinstance(classifier, EntailmentClassifier) or reading.max_tokens is None or reading.strategy == "head":
        return reading
    return replace(reading, max_tokens=reading.max_tokens - max(classifier.tail_lengths) + classifier.suffix_tokens)


def _read_tokens(classifier: nn.Module, reading: Reading) -> npt.NDArray[np.int64]:
    """Shape (documents,): tokens that were read, without those that made room for a class in words."""
    if not isinstance(classifier, EntailmentClassifier):
        return reading.read_tokens
    kept: npt.NDArray[np.int64] = classifier.text_tokens(torch.from_numpy(reading.read_tokens)).numpy() + classifier.suffix_tokens
    return kept
