"""The cheap floors: the largest class, and TF-IDF with logistic regression."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from bakeoff.spec import Tfidf

Labels = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float32]

SHORTEST_FOLDED_CLASS = 2
"""Labels the second-largest class needs before C can be chosen by cross-validation."""


class MajorityClassifier:
    """Class shares of the labelled rows for every text; ties go to the first class."""

    def __init__(self, n_classes: int) -> None:
        self.shares = np.full(n_classes, 1 / n_classes)

    def fit(self, labels: Labels) -> None:
        """Count `labels`, shape (rows,)."""
        self.shares = np.bincount(labels, minlength=len(self.shares)) / len(labels)

    def predict(self, texts: Sequence[str]) -> Probabilities:
        """Shape (texts, classes)."""
        return np.tile(self.shares.astype(np.float32), (len(texts), 1))

    @property
    def n_parameters(self) -> int:
        """Numbers that a served model holds."""
        return len(self.shares)


class TfidfClassifier:
    """Word n-grams, TF-IDF, multinomial logistic regression; C by cross-validated log loss over all labels."""

    def __init__(self, spec: Tfidf, n_classes: int, seed: int) -> None:
        self.spec, self.n_classes, self.seed = spec, n_classes, seed
        self.vectoriser = TfidfVectorizer(
            ngram_range=(1, spec.ngram_max),
            min_df=spec.min_count,
            sublinear_tf=spec.sublinear_tf,
            token_pattern=r"(?u)\b\w+\b|[^\w\s]",
            dtype=np.float64,
        )
        self.c = spec.c_grid[len(spec.c_grid) // 2]
        self.n_features = 0
        self.coefficients = np.zeros((n_classes, 0))
        self.intercepts = np.zeros(n_classes)

    def fit(self, texts: Sequence[str], labels: Labels, bundles: Labels, unlabelled: Sequence[str] = ()) -> None:
        """Learn vocabulary and IDF from `texts` and `unlabelled`, C and weights from `labels`, shape (rows,).

        Rows of one bundle (near-duplicates, a group) share a cross-validation fold.
        """
        self.fit_vocabulary([*texts, *unlabelled])
        if not self.n_features:  # nothing to learn but the class shares
            self.intercepts = np.log(np.maximum(np.bincount(labels, minlength=self.n_classes), 1e-6))
            return
        features = self.vectoriser.transform(texts)
        self.c = self._choose_c(features, labels, bundles)
        coefficients, self.intercepts = self._weights(features, labels, self.c)
        self.coefficients = np.asfortranarray(coefficients)  # its transpose is what a text's sparse row multiplies, uncopied

    def fit_vocabulary(self, texts: Sequence[str]) -> None:
        """Learn the n-grams and their IDF alone."""
        try:
            self.vectoriser.fit(texts)
        except ValueError:  # no text holds a word
            self.n_features = 0
        else:
            self.n_features = len(self.vectoriser.vocabulary_)

    def restore(
        self, *, coefficients: npt.NDArray[np.float64], intercepts: npt.NDArray[np.float64], vocabulary: dict[str, int], idf: Any
    ) -> None:
        """Take over what another classifier learned: `idf` has shape (features,), or is None where there are none."""
        self.coefficients, self.intercepts, self.n_features = np.asfortranarray(coefficients), intercepts, len(vocabulary)
        if vocabulary:
            self.vectoriser.vocabulary_ = vocabulary
            self.vectoriser.idf_ = idf

    def predict(self, texts: Sequence[str]) -> Probabilities:
        """Shape (texts, classes); a class without a label has probability 0."""
        return self.probabilities(self.scores(self.features(texts)))

    def features(self, texts: Sequence[str]) -> csr_matrix:
        """Weighted n-grams, shape (texts, features)."""
        return self.vectoriser.transform(texts) if self.n_features else csr_matrix((len(texts), 0))

    def scores(self, features: csr_matrix) -> npt.NDArray[np.float64]:
        """Log odds up to a constant, shape (texts, classes)."""
        return np.asarray(features @ self.coefficients.T + self.intercepts)

    def probabilities(self, scores: npt.NDArray[np.float64]) -> Probabilities:
        """Softmax of scores, shape (texts, classes)."""
        return _softmax(scores).astype(np.float32)

    @property
    def n_parameters(self) -> int:
        """Numbers that a served model holds: weights, intercepts, IDF."""
        return self.coefficients.size + self.intercepts.size + self.coefficients.shape[1]

    def _choose_c(self, features: csr_matrix, labels: Labels, bundles: Labels) -> float:
        folds = _folds(labels, bundles, self.spec.cv_folds)
        second_largest = np.sort(np.bincount(labels, minlength=2))[-2]
        if len(self.spec.c_grid) == 1 or second_largest < SHORTEST_FOLDED_CLASS or len(np.unique(folds)) < 2:
            return self.c
        losses = np.zeros(len(self.spec.c_grid))
        for fold in np.unique(folds):
            train, held = folds != fold, folds == fold
            for i, c in enumerate(self.spec.c_grid):
                probabilities = self._probabilities(features[held], *self._weights(features[train], labels[train], c))
                chosen = probabilities[np.arange(held.sum()), labels[held]]
                losses[i] -= np.log(np.maximum(chosen, 1e-6)).sum()
        return float(self.spec.c_grid[int(np.argmin(losses))])

    def _weights(self, features: csr_matrix, labels: Labels, c: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Coefficients (classes, features) and intercepts (classes,), -inf for classes without a label."""
        present = np.unique(labels)
        coefficients = np.zeros((self.n_classes, features.shape[1]))
        intercepts = np.full(self.n_classes, -np.inf)
        if len(present) == 1:
            intercepts[present] = 0.0
            return coefficients, intercepts
        regression = LogisticRegression(C=c, max_iter=1000, tol=1e-4, random_state=self.seed).fit(features, labels)
        if len(present) == 2:  # scikit-learn keeps one row of weights for two classes
            coefficients[present[1]], intercepts[present] = regression.coef_[0], [0.0, regression.intercept_[0]]
        else:
            coefficients[present], intercepts[present] = regression.coef_, regression.intercept_
        return coefficients, intercepts

    def _probabilities(
        self, features: csr_matrix, coefficients: npt.NDArray[np.float64], intercepts: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        return _softmax(features @ coefficients.T + intercepts)


def _softmax(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    exponents = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponents / exponents.sum(axis=1, keepdims=True))


def _folds(labels: Labels, bundles: Labels, n_folds: int) -> Labels:
    """Fold of each row, shape (rows,): class-interleaved, and a bundle follows its first row."""
    rank: dict[int, int] = {}
    chosen: dict[int, int] = {}
    folds = np.empty(len(labels), dtype=np.int64)
    for row, (label, bundle) in enumerate(zip(labels.tolist(), bundles.tolist(), strict=True)):
        own = (rank.get(label, 0) + label) % n_folds
        rank[label] = rank.get(label, 0) + 1
        folds[row] = chosen.setdefault(bundle, own)
    return folds
