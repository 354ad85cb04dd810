"""What the Runs behind an answer were given, in a line."""

import dataclasses

import numpy as np

import factories
from bakeoff.claims.settings import settings
from bakeoff.record import Record


def record(labels: int, draw: int, **changes: object) -> Record:
    answers = np.arange(2000) % 2
    return factories.make_record(factories.make_run(labels=labels, seed=draw), answers, answers, **changes)


def test_rows_labels_and_draws_are_counted() -> None:
    assert settings([record(labels, draw) for labels in (300, 1000) for draw in range(5)]) == (
        "reviews: 300 and 1,000 labels, 5 draws, 2,000 test rows",
    )
    assert settings([record(300, 0)]) == ("reviews: 300 labels, 1 draw, 2,000 test rows",)
    assert settings([]) == ()


def test_runs_that_diverged_are_told() -> None:
    (line,) = settings([record(300, 0), record(300, 1, status="diverged")])
    assert line.endswith("2,000 test rows; 1 Run diverged, which counts as always answering the most frequent class")


def test_how_latency_was_timed_is_told_once_with_the_fewest_samples() -> None:
    def timed(model: str, samples: int) -> Record:
        facts = dataclasses.replace(factories.make_latency_facts(p50_ms=1.0), n_samples=samples)
        answers = np.arange(10) % 2
        return factories.make_record(factories.make_latency_run(model=model), answers, answers, latency=facts)

    assert settings([timed("bilstm", 5000), timed("tfidf", 1000)]) == (
        "one document at a time on one CPU thread, untrained weights, engine eager, 1,000 samples or more a model",
    )
