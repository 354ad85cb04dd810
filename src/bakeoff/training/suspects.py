"""Labels that are likely wrong: pool rows whose label models that never saw it would not have given.

Confident learning: Northcutt, Jiang, Chuang, "Confident Learning: Estimating Uncertainty in Dataset Labels" (JAIR 70, 2021).
Each row is answered by models that were fitted on the other folds. The threshold of a class is the mean probability that its
own rows get for it; a row is suspect where another class, likelier for it than its label, reaches that class's threshold.
Suspects are ranked by the margin between label and other class, the widest against the label first.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import threadpoolctl

from bakeoff.data import checkpoint, longdoc
from bakeoff.data.batches import Documents
from bakeoff.data.budget import bundles
from bakeoff.data.dataset import Prepared
from bakeoff.data.longdoc import read_words
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.models import encoders
from bakeoff.models.linear import TfidfClassifier
from bakeoff.models.logistic import Regression, folds, softmax
from bakeoff.models.pretrained import FrozenClassifier
from bakeoff.spec import Frozen, Run, Tfidf
from bakeoff.training.features import features_of

FOLDS = 5

Probabilities = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """One row of the pool whose label is likely wrong."""

    row: int
    """Index into the pool."""
    label: int
    predicted: int
    """The class that it likely is."""
    label_probability: float
    predicted_probability: float

    @property
    def margin(self) -> float:
        """How much likelier its label is than the other class; below 0."""
        return self.label_probability - self.predicted_probability


def find(prepared: Prepared, runs: Sequence[Run]) -> tuple[Suspect, ...]:
    """Every suspect, the likeliest first; `runs` are of tfidf and frozen models, whose probabilities are averaged.

    Near-duplicates and rows of a group share a fold, so that no row is answered by a model that saw its copy.
    """
    labels = prepared.pool.labels
    fold_of = folds(labels, bundles(prepared.pool), FOLDS)
    with threadpoolctl.threadpool_limits(1, user_api="blas"):  # more threads than idle cores make small fits many times slower
        answers = [_out_of_fold(run, prepared, fold_of) for run in runs]
    return rank(labels, np.mean(answers, axis=0))


def rank(labels: npt.NDArray[np.int64], probabilities: Probabilities) -> tuple[Suspect, ...]:
    """The suspects among rows with these labels, shape (rows,), and out-of-fold probabilities, shape (rows, classes)."""
    rows = np.arange(len(labels))
    own = probabilities[rows, labels]
    classes = probabilities.shape[1]
    thresholds = np.array([own[labels == k].mean() if (labels == k).any() else np.inf for k in range(classes)])
    reached = np.where(probabilities >= thresholds, probabilities, -1.0)
    reached[rows, labels] = -1.0
    other = reached.argmax(axis=1)
    suspect = reached[rows, other] > own
    found = [
        Suspect(
            row=int(row),
            label=int(labels[row]),
            predicted=int(other[row]),
            label_probability=float(own[row]),
            predicted_probability=float(probabilities[row, other[row]]),
        )
        for row in np.flatnonzero(suspect)
    ]
    return tuple(sorted(found, key=lambda each: (each.margin, each.row)))


def _out_of_fold(run: Run, prepared: Prepared, fold_of: npt.NDArray[np.int64]) -> Probabilities:
    """Probabilities, shape (rows, classes), each row by the model of the other folds; C is the middle of the grid, which is soon done."""
    if isinstance(run.model, Tfidf):
        return _of_words(run, run.model, prepared, fold_of)
    assert isinstance(run.model, Frozen), "suspects are found by tfidf and frozen models"
    return _of_features(run, run.model, prepared, fold_of)


def _of_words(run: Run, model: Tfidf, prepared: Prepared, fold_of: npt.NDArray[np.int64]) -> Probabilities:
    pool, n_classes = prepared.pool, len(prepared.classes)
    middle = dataclasses.replace(model, c_grid=(model.c_grid[len(model.c_grid) // 2],))
    documents = [read_words(document, run.longdoc) for document in pool.documents]
    found = np.zeros((len(pool), n_classes))
    for held in (fold_of == fold for fold in np.unique(fold_of)):
        classifier = TfidfClassifier(middle, n_classes, run.seed)
        classifier.fit([documents[i] for i in np.flatnonzero(~held)], pool.labels[~held], fold_of[~held])
        found[held] = classifier.predict([documents[i] for i in np.flatnonzero(held)])
    return found


def _of_features(run: Run, model: Frozen, prepared: Prepared, fold_of: npt.NDArray[np.int64]) -> Probabilities:
    pool, n_classes = prepared.pool, len(prepared.classes)
    folder = checkpoint.resolve(model.checkpoint, model.revision)
    tokeniser = CheckpointTokeniser(folder)
    classifier = FrozenClassifier(model, n_classes=n_classes, folder=folder, longdoc=run.longdoc, frame=tokeniser)
    if pool.pairs is not None and tokeniser.pair is not None:
        encoders.tell_segments(classifier.encoder, tokeniser.pair.separator_id)
    documents = Documents(longdoc.read(pool.documents, tokeniser, run.longdoc).ids, pool.labels, tokeniser.pad_id)
    features = features_of(classifier, documents, model, longdoc=run.longdoc, device="cpu").features.astype(np.float64)
    regression = Regression(c_grid=model.c_grid, cv_folds=model.cv_folds, n_classes=n_classes, seed=run.seed)
    found = np.zeros((len(pool), n_classes))
    for held in (fold_of == fold for fold in np.unique(fold_of)):
        found[held] = softmax(regression.fit(features[~held], pool.labels[~held], regression.default_c).scores(features[held]))
    return found
