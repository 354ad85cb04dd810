"""Logistic regression on features of any kind, with C chosen by cross-validated log loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, issparse
from sklearn.linear_model import LogisticRegression

Labels = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]

SHORTEST_FOLDED_CLASS = 2
"""Labels the second-largest class needs before C can be chosen by cross-validation."""

_PROJECTIONS = 3


@dataclass(frozen=True, kw_only=True)
class Weights:
    """What was fitted: `coefficients` (classes, features) and `intercepts` (classes,), -inf for classes without a label."""

    coefficients: Scores
    intercepts: Scores

    def scores(self, features: Any) -> Scores:
        """Log odds up to a constant, shape (rows, classes), of `features` (rows, features), dense or sparse."""
        return np.asarray(features @ self.coefficients.T + self.intercepts)


@dataclass(frozen=True, kw_only=True)
class Regression:
    """Multinomial logistic regression; the middle of `c_grid` is C where labels are too few to choose."""

    c_grid: Sequence[float]
    cv_folds: int
    n_classes: int
    seed: int

    @property
    def default_c(self) -> float:
        """What C is before it was chosen."""
        return self.c_grid[len(self.c_grid) // 2]

    def choose_c(self, features: Any, labels: Labels, bundles: Labels) -> float:
        """The C of the grid with the lowest log loss over folds; rows of one bundle share a fold.

        `features` have shape (rows, features), dense or sparse, `labels` and `bundles` (rows,).
        """
        fold_of = folds(labels, bundles, self.cv_folds)
        second_largest = np.sort(np.bincount(labels, minlength=2))[-2]
        if len(self.c_grid) == 1 or second_largest < SHORTEST_FOLDED_CLASS or len(np.unique(fold_of)) < 2:
            return self.default_c
        losses = np.zeros(len(self.c_grid))
        for fold in np.unique(fold_of):
            train, held = fold_of != fold, fold_of == fold
            known, spread = condensed(features[train])
            asked = features[held] if spread is None else features[held] @ spread
            for i, c in enumerate(self.c_grid):
                probabilities = softmax(self._fit(known, labels[train], c).scores(asked))
                chosen = probabilities[np.arange(held.sum()), labels[held]]
                losses[i] -= np.log(np.maximum(chosen, 1e-6)).sum()
        return float(self.c_grid[int(np.argmin(losses))])

    def fit(self, features: Any, labels: Labels, c: float) -> Weights:
        """Weights at one C."""
        known, spread = condensed(features)
        weights = self._fit(known, labels, c)
        if spread is None:
            return weights
        return Weights(coefficients=np.asarray(weights.coefficients @ spread.T), intercepts=weights.intercepts)

    def _fit(self, features: Any, labels: Labels, c: float) -> Weights:
        present = np.unique(labels)
        coefficients = np.zeros((self.n_classes, features.shape[1]))
        intercepts = np.full(self.n_classes, -np.inf)
        if len(present) == 1:
            intercepts[present] = 0.0
            return Weights(coefficients=coefficients, intercepts=intercepts)
        regression = LogisticRegression(C=c, max_iter=1000, tol=1e-4, random_state=self.seed).fit(features, labels)
        if len(present) == 2:  # scikit-learn keeps one row of weights for two classes
            coefficients[present[1]], intercepts[present] = regression.coef_[0], [0.0, regression.intercept_[0]]
        else:
            coefficients[present], intercepts[present] = regression.coef_, regression.intercept_
        return Weights(coefficients=coefficients, intercepts=intercepts)


def condensed(features: Any) -> tuple[Any, csr_matrix | None]:
    """Fewer features that fit to the same answer, and the matrix (features, fewer) that makes them; dense ones stay as they are.

    Features that are multiples of each other, as the n-grams of one row alone are, get weights in the same proportion from any
    fit with a squared penalty. So one stands for them all, as long as they are together: rotated onto it, no row and no penalty
    changes. On bags of words most features are such.
    """
    if not issparse(features):
        return features, None
    norms = np.sqrt(np.asarray(features.multiply(features).sum(axis=0)).ravel())
    found = np.flatnonzero(norms)
    if not len(found):
        return features, None
    # Multiples of each other project onto the same random numbers, once each has length 1; unequal ones never do, in practice
    random = np.random.default_rng(0)
    onto, mixed = random.standard_normal((features.shape[0], _PROJECTIONS)), random.integers(2**63, size=_PROJECTIONS)
    marks = np.rint(np.asarray(features.T @ onto)[found] / norms[found, None] * 1e9).astype(np.int64)
    of_feature = np.unique((marks * mixed).sum(axis=1), return_inverse=True)[1]
    lengths = np.sqrt(np.bincount(of_feature, norms[found] ** 2))
    spread = csr_matrix((norms[found] / lengths[of_feature], (found, of_feature)), shape=(features.shape[1], len(lengths)))
    return features @ spread, spread


def softmax(scores: Scores) -> Scores:
    """Probabilities (rows, classes) of `scores` (rows, classes)."""
    exponents = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponents / exponents.sum(axis=1, keepdims=True))


def folds(labels: Labels, bundles: Labels, n_folds: int) -> Labels:
    """Fold of each row, shape (rows,): class-interleaved, and a bundle follows its first row."""
    rank: dict[int, int] = {}
    chosen: dict[int, int] = {}
    fold_of = np.empty(len(labels), dtype=np.int64)
    for row, (label, bundle) in enumerate(zip(labels.tolist(), bundles.tolist(), strict=True)):
        own = (rank.get(label, 0) + label) % n_folds
        rank[label] = rank.get(label, 0) + 1
        fold_of[row] = chosen.setdefault(bundle, own)
    return fold_of
