"""The cheapest strong answer: features of an encoder that is left as it is, then logistic regression."""

import time
from typing import Literal

import numpy as np
import torch

from bakeoff.data import checkpoint, longdoc
from bakeoff.data.batches import Documents
from bakeoff.data.budget import Spent, bundles
from bakeoff.data.dataset import Prepared, Rows
from bakeoff.data.longdoc import Reading
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.models import encoders
from bakeoff.models.build import count_parameters
from bakeoff.models.logistic import Regression
from bakeoff.models.pretrained import FrozenClassifier
from bakeoff.models.windows import processed_tokens
from bakeoff.spec import Frozen, Run
from bakeoff.training import saving
from bakeoff.training.features import Computed, Features, features_of
from bakeoff.training.learned import Learned, Probabilities


def learn_frozen(run: Run, model: Frozen, prepared: Prepared, spent: Spent, *, device: Literal["cpu", "cuda"]) -> Learned:
    """Fit the head on all labels of the budget; C is chosen by cross-validation. Raises DataError as `checkpoint.resolve`."""
    folder = checkpoint.resolve(model.checkpoint, model.revision)
    checkpoint.verify(model)
    tokeniser, n_classes = CheckpointTokeniser(folder), len(prepared.classes)
    classifier = FrozenClassifier(model, n_classes=n_classes, folder=folder, longdoc=run.longdoc, frame=tokeniser)
    if prepared.pool.pairs is not None and tokeniser.pair is not None:
        encoders.tell_segments(classifier.encoder, tokeniser.pair.separator_id)

    def features(rows: Rows, reading: Reading) -> Computed:
        documents = Documents(reading.ids, rows.labels, tokeniser.pad_id)
        return features_of(classifier, documents, model, longdoc=run.longdoc, device=device)

    rows = prepared.pool.take(spent.fit)
    read, test_read = (longdoc.read(each.documents, tokeniser, run.longdoc) for each in (rows, prepared.test))
    regression = Regression(c_grid=model.c_grid, cv_folds=model.cv_folds, n_classes=n_classes, seed=run.seed)
    learned_from = features(rows, read)
    started = time.perf_counter()
    known = learned_from.features.astype(np.float64)
    c = regression.choose_c(known, rows.labels, bundles(prepared.pool)[spent.fit])
    fitted = regression.fit(known, rows.labels, c)
    classifier.set_head(fitted.coefficients, fitted.intercepts)
    seconds = learned_from.seconds + time.perf_counter() - started
    asked = features(prepared.test, test_read)
    started = time.perf_counter()
    test = answers(classifier, asked.features)
    predict_seconds = asked.seconds + time.perf_counter() - started
    predict_seconds += longdoc.selecting_seconds(prepared.test.documents, tokeniser, run.longdoc)
    return Learned(
        test=test,
        validation=None,
        lengths_tokens=test_read.lengths_tokens,
        truncated=test_read.truncated,
        read_tokens=test_read.read_tokens,
        processed_tokens=processed_tokens(test_read.read_tokens, run.longdoc, tokeniser, padded_to=encoders.padded_to(classifier)),
        n_special_tokens=len(tokeniser.prefix) + len(tokeniser.suffix),
        seconds=seconds,
        predict_seconds=predict_seconds,
        stop_reason="closed_form",
        selected={"c": c},
        parameters_total=count_parameters(classifier),
        parameters_trainable=count_parameters(classifier.head),
        parameters_embedding=count_parameters(classifier, embedding=True),
        bytes=sum(tensor.numel() * tensor.element_size() for tensor in classifier.state_dict().values()),
        save=lambda to: saving.save_neural(to, run, prepared.classes, classifier, tokeniser),
    )


def answers(classifier: FrozenClassifier, features: Features) -> Probabilities:
    """Probabilities (documents, classes) of features (documents, width), as the served model computes them."""
    head = classifier.head.cpu()
    with torch.inference_mode():
        probabilities: Probabilities = head(torch.from_numpy(features)).softmax(dim=-1).numpy()
    return probabilities
