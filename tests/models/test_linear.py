"""The floors: shares, folds, weights against scikit-learn, and budgets so small that something is missing."""

import dataclasses

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import factories
from bakeoff.models.linear import MajorityClassifier, TfidfClassifier
from bakeoff.models.logistic import folds

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
