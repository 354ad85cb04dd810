"""The cheap floors: the largest class, and TF-IDF with logistic regression."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from bakeoff.models.logistic import Labels, Regression, softmax
from bakeoff.spec import Tfidf

Probabilities = npt.NDArray[np.float32]
Document = str | tuple[str, str]
"""A text, or a pair of texts."""
SECOND = "2|"
"""What marks an n-gram of the second text; no n-gram starts so, since its words stand apart."""


class MajorityClassifier:
    """Class shares of the labelled rows for every text; ties go to the first class."""

    def __init__(self, n_classes: int) -> None:
        self.shares = np.full(n_classes, 1 / n_classes)

    def fit(self, labels: Labels) -> None:
        """Count `labels`, shape (rows,)."""
        self.shares = np.bincount(labels, minlength=len(self.shares)) / len(labels)

    def predict(self, texts: Sequence[Document]) -> Probabilities:
        """Shape (texts, classes)."""
        return np.tile(self.shares.astype(np.float32), (len(texts), 1))

    @property
    def n_parameters(self) -> int:
        """Numbers that a served model holds."""
        return len(self.shares)


class TfidfClassifier:
    """Word n-grams, TF-IDF, multinomial logistic regression; C by cross-validated log loss over all labels."""

    def __init__(self, spec: Tfidf, n_classes: int, seed: int) -> None:
        self.spec, self.n_classes = spec, n_classes
        self.regression = Regression(c_grid=spec.c_grid, cv_folds=spec.cv_folds, n_classes=n_classes, seed=seed)
        self.vectoriser = TfidfVectorizer(
            analyzer=_analyser(spec.ngram_max), min_df=spec.min_count, sublinear_tf=spec.sublinear_tf, dtype=np.float64
        )
        self.c = self.regression.default_c
        self.n_features = 0
        self.coefficients = np.zeros((n_classes, 0))
        self.intercepts = np.zeros(n_classes)

    def fit(self, texts: Sequence[Document], labels: Labels, bundles: Labels, unlabelled: Sequence[Document] = ()) -> None:
        """Learn vocabulary and IDF from `texts` and `unlabelled`, C and weights from `labels`, shape (rows,).

        Rows of one bundle (near-duplicates, a group) share a cross-validation fold.
        """
        self.fit_vocabulary([*texts, *unlabelled])
        if not self.n_features:  # nothing to learn but the class shares
            self.intercepts = np.log(np.maximum(np.bincount(labels, minlength=self.n_classes), 1e-6))
            return
        features = self.vectoriser.transform(texts)
        self.c = self.regression.choose_c(features, labels, bundles)
        weights = self.regression.fit(features, labels, self.c)
        self.intercepts = weights.intercepts
        self.coefficients = np.asfortranarray(weights.coefficients)  # its transpose is what a text's sparse row multiplies, uncopied

    def fit_vocabulary(self, texts: Sequence[Document]) -> None:
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

    def predict(self, texts: Sequence[Document]) -> Probabilities:
        """Shape (texts, classes); a class without a label has probability 0."""
        return self.probabilities(self.scores(self.features(texts)))

    def features(self, texts: Sequence[Document]) -> csr_matrix:
        """Weighted n-grams, shape (texts, features)."""
        return self.vectoriser.transform(texts) if self.n_features else csr_matrix((len(texts), 0))

    def scores(self, features: csr_matrix) -> npt.NDArray[np.float64]:
        """Log odds up to a constant, shape (texts, classes)."""
        return np.asarray(features @ self.coefficients.T + self.intercepts)

    def probabilities(self, scores: npt.NDArray[np.float64]) -> Probabilities:
        """Softmax of scores, shape (texts, classes)."""
        return softmax(scores).astype(np.float32)

    @property
    def n_parameters(self) -> int:
        """Numbers that a served model holds: weights, intercepts, IDF."""
        return self.coefficients.size + self.intercepts.size + self.coefficients.shape[1]


def _analyser(ngram_max: int) -> Callable[[Document], list[str]]:
    """Word n-grams of a document. Those of the second text of a pair are features of their own, and none spans both texts."""
    of_text = TfidfVectorizer(ngram_range=(1, ngram_max), token_pattern=r"(?u)\b\w+\b|[^\w\s]").build_analyzer()

    def analyse(document: Document) -> list[str]:
        if isinstance(document, str):
            return of_text(document)  # type: ignore[no-any-return]
        first, second = document
        return [*of_text(first), *(SECOND + gram for gram in of_text(second))]

    return analyse
