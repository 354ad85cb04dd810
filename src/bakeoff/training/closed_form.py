"""Models that choose their one setting by cross-validation over all labels of the budget, or have none to choose."""

import time
from collections.abc import Sequence

import numpy as np

from bakeoff.data.budget import Spent, bundles
from bakeoff.data.dataset import Prepared
from bakeoff.data.longdoc import count_words, read_words
from bakeoff.data.tokens import Document
from bakeoff.models.linear import MajorityClassifier, TfidfClassifier
from bakeoff.spec import Majority, Run, Tfidf
from bakeoff.training import saving
from bakeoff.training.learned import Learned


def learn_closed_form(run: Run, model: Majority | Tfidf, prepared: Prepared, spent: Spent, unlabelled: Sequence[Document]) -> Learned:
    """Fit on the budget's rows and answer the test rows. The n-grams of a pair's two texts are features apart."""
    rows, n_classes, most = prepared.pool.take(spent.fit), len(prepared.classes), run.longdoc.max_tokens
    lengths = count_words(prepared.test.documents)

    def read(documents: Sequence[Document]) -> list[Document]:
        return [read_words(document, run.longdoc) for document in documents]

    started = time.perf_counter()
    classifier: MajorityClassifier | TfidfClassifier
    if isinstance(model, Majority):
        classifier = MajorityClassifier(n_classes)
        classifier.fit(rows.labels)
    else:
        classifier = TfidfClassifier(model, n_classes, run.seed)
        classifier.fit(read(rows.documents), rows.labels, bundles(prepared.pool)[spent.fit], read(unlabelled))
    fitted = time.perf_counter()
    test = classifier.predict(read(prepared.test.documents))
    read_tokens = None if isinstance(model, Majority) else lengths if most is None else np.minimum(lengths, most)
    return Learned(
        test=test,
        validation=None,
        lengths_tokens=lengths,
        truncated=np.zeros(len(lengths), dtype=bool) if most is None else lengths > most,
        read_tokens=read_tokens,
        processed_tokens=read_tokens,
        seconds=fitted - started,
        predict_seconds=time.perf_counter() - fitted,
        stop_reason="closed_form",
        selected={"c": classifier.c} if isinstance(classifier, TfidfClassifier) else {},
        parameters_total=classifier.n_parameters,
        parameters_trainable=classifier.n_parameters,
        bytes=8 * classifier.n_parameters,
        save=lambda folder: saving.save_linear(folder, run, prepared.classes, classifier),
    )
