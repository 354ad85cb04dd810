"""From labels to predictions: one function for every kind of Model."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import threadpoolctl

from bakeoff.data import checkpoint, longdoc
from bakeoff.data.batches import Documents
from bakeoff.data.budget import Spent, bundles
from bakeoff.data.dataset import Prepared, Rows
from bakeoff.data.longdoc import Reading
from bakeoff.data.tokens import CheckpointTokeniser, WordVocabulary, first_words, split_words
from bakeoff.models.build import build, count_parameters
from bakeoff.models.linear import MajorityClassifier, TfidfClassifier
from bakeoff.spec import Majority, Neural, Pretrained, Run, Tfidf
from bakeoff.training import fit as fitting
from bakeoff.training import saving
from bakeoff.training.callbacks import Log

Probabilities = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What a model answers, and what it took. `test` is (test rows, classes), `validation` likewise."""

    test: Probabilities
    validation: Probabilities | None
    lengths_tokens: npt.NDArray[np.int64]
    """Shape (test rows,): whole lengths in the model's own tokens."""
    truncated: npt.NDArray[np.bool_]
    epochs: float = 0.0
    steps: int = 0
    best_step: int | None = None
    best_validation_loss: float | None = None
    seconds: float
    predict_seconds: float | None = None
    tokens_per_second: float | None = None
    stop_reason: Literal["schedule", "closed_form", "not_finite"]
    selected: dict[str, float] = field(default_factory=dict)
    history: list[dict[str, float | int | None]] = field(default_factory=list)
    parameters_total: int
    parameters_trainable: int
    parameters_embedding: int = 0
    bytes: int
    save: Callable[[Path], None]
    """Writes what a served model needs into a folder."""


def learn(run: Run, prepared: Prepared, spent: Spent, *, device: Literal["cpu", "cuda"], log: Log) -> Learned:
    """Fit the Run's model on the budget's rows and predict test and validation rows."""
    fitting.seed_everything(run.seed, run.probe.threads)
    unlabelled = prepared.pool.take(spent.unlabelled).texts if run.budget.unlabelled == "pool" else ()
    with threadpoolctl.threadpool_limits(run.probe.threads):
        if isinstance(run.model, Majority | Tfidf):
            return _learn_closed_form(run, run.model, prepared, spent, unlabelled)
        return _learn_neural(run, run.model, prepared, spent, unlabelled, device=device, log=log)


def _learn_closed_form(run: Run, model: Majority | Tfidf, prepared: Prepared, spent: Spent, unlabelled: tuple[str, ...]) -> Learned:
    rows, n_classes, most = prepared.pool.take(spent.fit), len(prepared.classes), run.longdoc.max_tokens
    lengths = np.asarray([len(split_words(text)) for text in prepared.test.texts], dtype=np.int64)

    def read(texts: tuple[str, ...]) -> tuple[str, ...]:
        return texts if most is None else tuple(first_words(text, most) for text in texts)

    started = time.perf_counter()
    classifier: MajorityClassifier | TfidfClassifier
    if isinstance(model, Majority):
        classifier = MajorityClassifier(n_classes)
        classifier.fit(rows.labels)
    else:
        classifier = TfidfClassifier(model, n_classes, run.seed)
        classifier.fit(read(rows.texts), rows.labels, bundles(prepared.pool)[spent.fit], read(unlabelled))
    fitted = time.perf_counter()
    test = classifier.predict(read(prepared.test.texts))
    return Learned(
        test=test,
        validation=None,
        lengths_tokens=lengths,
        truncated=np.zeros(len(lengths), dtype=bool) if most is None else lengths > most,
        seconds=fitted - started,
        predict_seconds=time.perf_counter() - fitted,
        stop_reason="closed_form",
        selected={"c": classifier.c} if isinstance(classifier, TfidfClassifier) else {},
        parameters_total=classifier.n_parameters,
        parameters_trainable=classifier.n_parameters,
        bytes=8 * classifier.n_parameters,
        save=lambda folder: saving.save_linear(folder, run, prepared.classes, classifier),
    )


def _learn_neural(
    run: Run,
    model: Neural,
    prepared: Prepared,
    spent: Spent,
    unlabelled: tuple[str, ...],
    *,
    device: Literal["cpu", "cuda"],
    log: Log,
) -> Learned:
    fit_rows, validation_rows = prepared.pool.take(spent.fit), prepared.pool.take(spent.validation)
    tokeniser: CheckpointTokeniser | WordVocabulary
    folder, vocabulary_size = None, 0
    if isinstance(model, Pretrained):
        folder = checkpoint.resolve(model.checkpoint, model.revision)
        checkpoint.verify(model)
        tokeniser = CheckpointTokeniser(folder)
    else:
        tokeniser = WordVocabulary.learn([*fit_rows.texts, *unlabelled], min_count=model.min_count, max_size=model.max_vocabulary)
        vocabulary_size = len(tokeniser)
    n_classes = len(prepared.classes)
    classifier = build(model, n_classes=n_classes, vocabulary_size=vocabulary_size, pad_id=tokeniser.pad_id, folder=folder)

    def documents(rows: Rows, reading: Reading) -> Documents:
        return Documents(reading.ids, rows.labels, tokeniser.pad_id)

    fit_documents, validation_documents, test_documents = (
        (rows, longdoc.read(rows.texts, tokeniser, run.longdoc)) for rows in (fit_rows, validation_rows, prepared.test)
    )
    fitted = fitting.fit(
        classifier,
        model.training,
        documents(*fit_documents),
        documents(*validation_documents) if len(validation_rows) else None,
        precision=model.precision,
        device=device,
        seed=run.seed,
        log=log,
    )
    finite = fitted.stop_reason == "schedule"

    def predict(rows: Rows, reading: Reading) -> Probabilities:
        return fitting.predict(fitted.classifier, documents(rows, reading), n_classes, precision=model.precision, device=device)

    started = time.perf_counter()
    test = predict(*test_documents) if finite else np.full((len(prepared.test), n_classes), np.nan, dtype=np.float32)
    predict_seconds = time.perf_counter() - started
    reading = test_documents[1]
    return Learned(
        test=test,
        validation=predict(*validation_documents) if finite and len(validation_rows) else None,
        lengths_tokens=reading.lengths_tokens,
        truncated=reading.truncated,
        epochs=fitted.epochs,
        steps=fitted.steps,
        best_step=fitted.best_step,
        best_validation_loss=fitted.best_validation_loss,
        seconds=fitted.seconds,
        predict_seconds=predict_seconds if finite else None,
        tokens_per_second=fitted.tokens_per_second,
        stop_reason=fitted.stop_reason,
        history=fitted.history,
        parameters_total=count_parameters(classifier),
        parameters_trainable=count_parameters(classifier, trainable=True),
        parameters_embedding=count_parameters(classifier, embedding=True),
        bytes=sum(tensor.numel() * tensor.element_size() for tensor in classifier.state_dict().values()),
        save=lambda folder: saving.save_neural(folder, run, prepared.classes, classifier, tokeniser),
    )
