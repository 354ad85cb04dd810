"""Logistic regression on word n-grams: all features, and one for those that are multiples of each other, in turns.

`python benchmarks/tfidf_fit.py` prints both times of one fit, and how far the probabilities of held-out rows lie apart.
"""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from bakeoff.composer import Composer
from bakeoff.data import dataset
from bakeoff.models.linear import TfidfClassifier
from bakeoff.models.logistic import Regression, softmax
from bakeoff.spec import Tfidf

C = 10.0
CASES = (("movie", 1000), ("movie", 8000), ("newsgroups", 11293))


def main() -> None:
    """One line a dataset and number of rows."""
    for name, rows in CASES:
        run = Composer().job([f"dataset={name}", "model=tfidf", "budget.labels=all"]).run
        assert isinstance(run.model, Tfidf)
        prepared = dataset.prepare(run.dataset)
        taken = prepared.pool.take(np.random.default_rng(0).permutation(len(prepared.pool))[:rows])
        classifier = TfidfClassifier(run.model, len(prepared.classes), seed=0)
        classifier.fit_vocabulary(taken.documents)
        features, asked = classifier.features(taken.documents), classifier.features(prepared.test.documents[:1000])
        regression = Regression(c_grid=(C,), cv_folds=5, n_classes=len(prepared.classes), seed=0)
        begun = time.perf_counter()
        fewer = softmax(regression.fit(features, taken.labels, C).scores(asked))
        middle = time.perf_counter()
        reference = LogisticRegression(C=C, max_iter=1000, tol=1e-4).fit(features, taken.labels)
        ended = time.perf_counter()
        apart = np.abs(fewer - reference.predict_proba(asked)).max()
        print(
            f"{name}, {len(taken)} rows, {features.shape[1]:,} features: {ended - middle:.2f} s with all, {middle - begun:.2f} s "
            f"with fewer, ratio {(middle - begun) / (ended - middle):.2f}; probabilities differ by at most {apart:.0e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
