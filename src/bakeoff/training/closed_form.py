"""Models that choose their one setting by cross-validation over all labels of the budget, or have none to choose."""

import time

import numpy as np

from bakeoff.data.budget import Spent, bundles
from bakeoff.data.dataset import Prepared
from bakeoff.data.tokens import first_words, split_words
from bakeoff.models.linear import MajorityClassifier, TfidfClassifier
from bakeoff.spec import Majority, Run, Tfidf
from bakeoff.training import saving
from bakeoff.training.learned import Learned


def learn_closed_form(run: Run, model: Majority | Tfidf, prepared: Prepared, spent: Spent, unlabelled: tuple[str, ...]) -> Learned:
    rows, n_classes, most = prepared.pool.take(spent.fit), len(prepared.classes), run.longdoc.max_tokens
    lengths = np.asarray([len(split_words(text)) for text in prepared.test.texts], dtype=np.int64)

    def read(texts: tuple[str, ...]) -> tuple[str, ...]:
        return texts if most is None else tuple(first_words(text, most) for text in texts)

    started = time.perf_counter()
    classifier: MajorityClassifier | TfidfClassifier
    if isinstance(model, Majority):
        classifier = MajorityClassifier(n_classes)
        classifier.fit(rows.labels)
    else:
        classifier = TfidfClassifier(model, n_classes, run.seed)
        classifier.fit(read(rows.texts), rows.labels, bundles(prepared.pool)[spent.fit], read(unlabelled))
    fitted = time.perf_counter()
    test = classifier.predict(read(prepared.test.texts))
    return Learned(
        test=test,
        validation=None,
        lengths_tokens=lengths,
        truncated=np.zeros(len(lengths), dtype=bool) if most is None else lengths > most,
        seconds=fitted - started,
        predict_seconds=time.perf_counter() - fitted,
        stop_reason="closed_form",
        selected={"c": classifier.c} if isinstance(classifier, TfidfClassifier) else {},
        parameters_total=classifier.n_parameters,
        parameters_trainable=classifier.n_parameters,
        bytes=8 * classifier.n_parameters,
        save=lambda folder: saving.save_linear(folder, run, prepared.classes, classifier),
    )
