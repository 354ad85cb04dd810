"""The floors: shares, folds, weights against scikit-learn, and budgets so small that something is missing."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import factories
from bakeoff.models.linear import MajorityClassifier, TfidfClassifier
from bakeoff.models.logistic import Regression, condensed, folds

SPEC = factories.MODELS["tfidf"]


def alone(labels: np.ndarray) -> np.ndarray:
    return np.arange(len(labels))


def test_majority_answers_the_class_shares() -> None:
    classifier = MajorityClassifier(3)
    classifier.fit(np.array([1, 1, 0, 1]))
    assert classifier.predict(["x", "y"]).tolist() == [[0.25, 0.75, 0.0]] * 2


def test_tfidf_is_scikit_learns_logistic_regression_at_the_chosen_c() -> None:
    texts = [f"{'good fine' if i % 2 else 'bad poor'} film number {i % 7} indeed" for i in range(60)]
    labels = np.array([i % 2 for i in range(60)])
    classifier = TfidfClassifier(dataclasses.replace(SPEC, c_grid=(10.0,)), 2, seed=0)
    classifier.fit(texts, labels, alone(labels))
    vectoriser = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|[^\w\s]")
    reference = LogisticRegression(C=10.0, max_iter=1000).fit(vectoriser.fit_transform(texts), labels)
    new = ["a good film", "poor indeed", "nothing known here"]
    assert classifier.predict(new) == pytest.approx(reference.predict_proba(vectoriser.transform(new)), abs=1e-6)


def test_three_classes_match_scikit_learn_too() -> None:
    words = ["red ball", "blue sky", "green leaf"]
    texts = [f"{words[i % 3]} {i % 5}" for i in range(45)]
    labels = np.array([i % 3 for i in range(45)])
    classifier = TfidfClassifier(dataclasses.replace(SPEC, c_grid=(3.0,)), 3, seed=0)
    classifier.fit(texts, labels, alone(labels))
    vectoriser = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|[^\w\s]")
    reference = LogisticRegression(C=3.0, max_iter=1000).fit(vectoriser.fit_transform(texts), labels)
    assert classifier.predict(texts[:6]) == pytest.approx(reference.predict_proba(vectoriser.transform(texts[:6])), abs=1e-6)


def test_a_class_without_a_label_has_probability_zero_and_the_others_still_sum_to_one() -> None:
    classifier = TfidfClassifier(SPEC, 4, seed=0)
    labels = np.array([0, 2, 0, 2, 0, 2])
    classifier.fit(["a b", "c d", "a b x", "c d y", "a", "c"], labels, alone(labels))
    probabilities = classifier.predict(["a b", "c d"])
    assert probabilities[:, [1, 3]].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert probabilities.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert probabilities.argmax(axis=1).tolist() == [0, 2]


def test_one_label_answers_its_class() -> None:
    classifier = TfidfClassifier(SPEC, 3, seed=0)
    classifier.fit(["only"], np.array([1]), np.array([0]))
    assert classifier.predict(["whatever", ""]).tolist() == [[0.0, 1.0, 0.0]] * 2


def test_texts_without_a_word_give_the_class_shares() -> None:
    classifier = TfidfClassifier(SPEC, 2, seed=0)
    labels = np.array([0, 0, 0, 1])
    classifier.fit(["", " ", "\t", ""], labels, alone(labels))
    assert classifier.predict([""])[0] == pytest.approx([0.75, 0.25])


def test_unlabelled_texts_widen_the_vocabulary_only() -> None:
    labels = np.array([0, 1, 0, 1])
    texts = ["good", "bad", "good day", "bad day"]
    narrow, wide = TfidfClassifier(SPEC, 2, seed=0), TfidfClassifier(SPEC, 2, seed=0)
    narrow.fit(texts, labels, alone(labels))
    wide.fit(texts, labels, alone(labels), ["unseen words"])
    assert "unseen" in wide.vectoriser.vocabulary_
    assert "unseen" not in narrow.vectoriser.vocabulary_


def test_folds_interleave_classes_and_keep_clusters_together() -> None:
    labels = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    clusters = np.arange(10)
    assert folds(labels, clusters, 5).tolist() == [0, 1, 2, 3, 4, 1, 2, 3, 4, 0]
    clusters[9] = 0  # the last row nearly repeats the first
    assert folds(labels, clusters, 5).tolist() == [0, 1, 2, 3, 4, 1, 2, 3, 4, 0]
    clusters[9] = 3  # … or the fourth, whose fold it then shares
    assert folds(labels, clusters, 5)[9] == 3


@given(st.data())
def test_condensed_features_keep_every_product_of_two_rows(data: st.DataObject) -> None:
    """Which is all that a fit with a squared penalty sees of them."""
    rows, features = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 12))
    values = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0])
    dense = np.array(data.draw(st.lists(st.lists(values, min_size=features, max_size=features), min_size=rows, max_size=rows)))
    fewer, spread = condensed(csr_matrix(dense))
    kept = fewer.toarray()
    np.testing.assert_allclose(kept @ kept.T, dense @ dense.T, atol=1e-12)
    found = dense[:, dense.any(axis=0)]
    directions = {tuple(np.round(column / np.linalg.norm(column), 9)) for column in found.T}
    assert kept.shape[1] == (len(directions) or features)
    if spread is not None:
        np.testing.assert_allclose(dense @ spread.toarray(), kept, atol=1e-12)


def test_features_that_are_multiples_of_each_other_share_a_weight_as_scikit_learn_shares_it() -> None:
    generator = np.random.default_rng(0)
    base = generator.random((40, 5)) * (generator.random((40, 5)) < 0.3)
    features = csr_matrix(np.hstack([base, 2 * base[:, :3], np.eye(40), 0.5 * np.eye(40), np.zeros((40, 1))]))
    labels = np.arange(40) % 3
    assert condensed(features)[0].shape == (40, 5 + 40)
    found = Regression(c_grid=(10.0,), cv_folds=5, n_classes=3, seed=0).fit(features, labels, 10.0)
    reference = LogisticRegression(C=10.0, max_iter=1000).fit(features, labels)
    np.testing.assert_allclose(found.coefficients, reference.coef_, atol=1e-6)
    assert found.coefficients[:, -1].tolist() == [0.0, 0.0, 0.0]


def test_dense_features_are_fitted_as_they_are() -> None:
    features = np.ones((4, 3))
    assert condensed(features) == (features, None)
