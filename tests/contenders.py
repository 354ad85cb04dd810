"""Contenders made in code, for tests of what is chosen among them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import factories
from bakeoff.report.candidates import Candidate
from bakeoff.report.choice import Contender, Counts, Field, Timed
from bakeoff.report.stats import Answers


def answers(correct: Any, *, labels: Any = None, first_seed: int = 0, first_row: int = 0, groups: Any = None) -> Answers:
    """Answers that are right where `correct` [S, n] is 1; of two classes, and all of class 1 unless `labels` says otherwise."""
    right = np.atleast_2d(np.asarray(correct)).astype(bool)
    truth = np.ones(right.shape[1], np.int64) if labels is None else np.asarray(labels, np.int64)
    return Answers(
        row_ids=np.array([f"{first_row + i:06d}" for i in range(right.shape[1])]),
        labels=truth,
        predicted=np.where(right, truth, 1 - truth),
        seeds=tuple((first_seed + s, first_seed + s) for s in range(len(right))),
        groups=None if groups is None else np.asarray(groups, np.int64),
    )


def wrong_on(rows: Iterable[int], *, seeds: int = 3, of: int = 1000) -> np.ndarray:
    """Right on `of` rows but these, alike for every seed; shape [seeds, of]."""
    return np.tile(~np.isin(np.arange(of), list(rows)), (seeds, 1))


def timed(p50_ms: float, **changes: Any) -> Timed:
    """One document at a time on one thread; its p95 is twice its median, give or take 5%."""
    values = {
        "run_id": "0" * 12,
        "session_id": "5e5510a0",
        "machine": factories.MACHINE,
        "device": "cpu",
        "threads": 1,
        "engine": "eager",
        "p50_ms": p50_ms,
        "p95_ms": 2 * p50_ms,
        "low_ms": 1.9 * p50_ms,
        "high_ms": 2.1 * p50_ms,
        "contended": False,
        "tokens": None,
    }
    return Timed(**(values | changes))


def contender(name: str, correct: Any, *, p50_ms: float | None = None, **changes: Any) -> Contender:
    """A contender that gives these answers (shape [seeds, rows], or Answers by fold); not timed without `p50_ms`."""
    folds = correct if isinstance(correct, tuple) else (answers(correct),)
    values = {
        "key": name,
        "label": name,
        "candidate": Candidate(key=name, name=name, label=name, run=factories.make_run()),
        "engine": None if p50_ms is None else "eager",
        "folds": folds,
        "reads_labels": True,
        "counts": Counts(scored=len(folds[0].seeds), collapsed=0, diverged=0, failed=0),
        "run_ids": (f"run of {name}",),
        "timed": None if p50_ms is None else timed(p50_ms),
        "bytes": None,
        "flops": None,
        "timing_command": f"bakeoff run model={name} probe=latency",
    }
    return Contender(**(values | changes))


def field(*contenders: Contender, classes: Sequence[str] = factories.CLASSES, **changes: Any) -> Field:
    """These and nobody else, by accuracy, at 1,000 labels."""
    values = {
        "dataset": factories.make_dataset(),
        "title": "reviews",
        "metric": "accuracy",
        "metric_reason": "as its configuration says",
        "labels": 1000,
        "n_labels": 1000,
        "classes": tuple(classes),
        "contenders": contenders,
        "machine": factories.MACHINE,
        "run_ids": (),
        "other_labels": (),
    }
    return Field(**(values | changes))
