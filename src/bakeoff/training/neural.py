"""Models that are trained by steps: tokenise, build, fit, predict."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from bakeoff.data import longdoc
from bakeoff.data.batches import Documents
from bakeoff.data.budget import Spent
from bakeoff.data.dataset import Prepared, Rows
from bakeoff.data.longdoc import Reading
from bakeoff.data.tokens import Document
from bakeoff.models import encoders
from bakeoff.models.build import count_parameters
from bakeoff.models.windows import processed_tokens
from bakeoff.spec import Neural, Run
from bakeoff.training import distil, optim, saving
from bakeoff.training import fit as fitting
from bakeoff.training.assemble import assemble
from bakeoff.training.callbacks import Log
from bakeoff.training.learned import Learned, Probabilities


def learn_neural(
    run: Run,
    model: Neural,
    prepared: Prepared,
    spent: Spent,
    unlabelled: Sequence[Document],
    *,
    device: Literal["cpu", "cuda"],
    devices: int = 1,
    log: Log,
    needs: Mapping[str, Path],
) -> Learned:
    """Train on the budget's fit rows, or with a teacher on `unlabelled` documents too.

    `needs` holds the folders of the saved models that `run.needs` names.
    """
    fit_rows, validation_rows = prepared.pool.take(spent.fit), prepared.pool.take(spent.validation)
    n_classes = len(prepared.classes)
    assembled = assemble(run, model, fit_rows.documents, unlabelled, n_classes=n_classes, needs=needs)
    classifier, tokeniser = assembled.classifier, assembled.tokeniser

    def documents(rows: Rows, reading: Reading) -> Documents:
        return Documents(reading.ids, rows.labels, tokeniser.pad_id)

    fit_documents, validation_documents, test_documents = (
        (rows, longdoc.read(rows.documents, tokeniser, run.longdoc)) for rows in (fit_rows, validation_rows, prepared.test)
    )
    lesson = None
    if run.teacher is not None:
        lesson = distil.prepare(
            run,
            classifier,
            tokeniser,
            labelled=fit_rows.documents,
            labels=fit_rows.labels,
            unlabelled=unlabelled,
            classes=prepared.classes,
            folder=needs["teacher"],
            device=device,
        )
    fitted = fitting.fit(
        classifier,
        model.training if lesson is None else lesson.training,
        documents(*fit_documents) if lesson is None else lesson.documents,
        documents(*validation_documents) if len(validation_rows) else None,
        precision=model.precision,
        device=device,
        devices=devices,
        seed=run.seed,
        log=log,
        loss=None if lesson is None else lesson.loss,
        pace=optim.Pace.of(model),
    )
    finite = fitted.stop_reason == "schedule"

    def predict(rows: Rows, reading: Reading) -> Probabilities:
        return fitting.predict(fitted.classifier, documents(rows, reading), n_classes, precision=model.precision, device=device)

    started = time.perf_counter()
    test = predict(*test_documents) if finite else np.full((len(prepared.test), n_classes), np.nan, dtype=np.float32)
    predict_seconds = time.perf_counter() - started + longdoc.selecting_seconds(prepared.test.documents, tokeniser, run.longdoc)
    reading = test_documents[1]
    return Learned(
        test=test,
        validation=predict(*validation_documents) if finite and len(validation_rows) else None,
        lengths_tokens=reading.lengths_tokens,
        truncated=reading.truncated,
        read_tokens=reading.read_tokens,
        processed_tokens=processed_tokens(reading.read_tokens, run.longdoc, tokeniser, padded_to=encoders.padded_to(classifier)),
        n_special_tokens=len(tokeniser.prefix) + len(tokeniser.suffix),
        n_transfer=0 if lesson is None else len(lesson.documents),
        epochs=fitted.epochs,
        steps=fitted.steps,
        best_step=fitted.best_step,
        best_validation_loss=fitted.best_validation_loss,
        seconds=fitted.seconds,
        predict_seconds=predict_seconds if finite else None,
        tokens_per_second=fitted.tokens_per_second,
        stop_reason=fitted.stop_reason,
        history=fitted.history,
        micro_batch_size=fitted.micro_batch_size,
        parameters_total=count_parameters(classifier),
        parameters_trainable=count_parameters(classifier, trainable=True),
        parameters_embedding=count_parameters(classifier, embedding=True),
        bytes=sum(tensor.numel() * tensor.element_size() for tensor in classifier.state_dict().values()),
        save=lambda folder: saving.save_neural(folder, run, prepared.classes, classifier, tokeniser),
    )
