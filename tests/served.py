"""Tiny Runs that ask for latency, and the data and weights that they serve."""

import dataclasses
from pathlib import Path

import numpy as np

import bakery
import factories
from bakeoff import fingerprint, spec
from bakeoff.data import budget
from bakeoff.data.dataset import Prepared, Rows
from bakeoff.training.learn import learn
from bakeoff.training.learned import Learned

CLASSES = ("neg", "pos")
KINDS = ("majority", "tfidf", "bilstm", "scratch", "pretrained")
AWKWARD = ("", "   ", "🙂🙃", "zzzqx", "good", "bad " * 300)
"""Empty, blank, without words, unknown words, one word, far too long."""
TINY_SIZE = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "vocabulary": 400, "positions": 64}


def rows(count: int, seed: int) -> Rows:
    """Texts of 2 to 40 words."""
    texts = [text * (1 + 3 * (i % 2)) for i, (text, _) in enumerate(bakery.rows(count, seed=seed))]
    return Rows(
        row_ids=tuple(f"{seed:08x}{i:08x}-0" for i in range(count)),
        texts=tuple(texts),
        labels=np.arange(count) % 2,
        groups=None,
        clusters=np.arange(count) + 1000 * seed,
    )


def prepared() -> Prepared:
    """60 rows of train pool and 21 test rows in two classes."""
    return Prepared(
        classes=CLASSES,
        pool=rows(60, 1),
        test=rows(21, 2),
        contaminated=np.zeros(21, dtype=bool),
        dropped=rows(0, 3),
        primary_metric="accuracy",
    )


def latency(**changes: object) -> spec.Latency:
    """One document a call on one CPU thread, eager, untrained."""
    plain: dict[str, object] = {
        "device": "cpu",
        "threads": 1,
        "engine": "eager",
        "scenario": "single",
        "batch_size": 1,
        "lengths": "dataset",
        "weights": "untrained",
        "reference": "bilstm",
        "machine": "",
    }
    return spec.Latency(**plain | changes)  # type: ignore[arg-type]


def make_run(kind: str, checkpoint: Path | None = None, *, probe: spec.Probe | None = None, **changes: object) -> spec.Run:
    """A Run of a tiny model; `changes` are of its model, and one over word-pieces needs the folder of its checkpoint."""
    training = dataclasses.replace(factories.TRAINING, epochs=1, min_steps=2, learning_rate=1e-2)
    if kind in ("bilstm", "scratch", "pretrained"):
        changes = {"training": training} | changes
    if kind == "pretrained" or changes.get("vocabulary") == "word_pieces":
        assert checkpoint is not None
        changes = {"checkpoint": str(checkpoint), "checkpoint_fingerprint": fingerprint.of_checkpoint(str(checkpoint), None)} | changes
    if kind in ("scratch", "pretrained"):
        changes = {"default_longdoc": spec.LongDoc(strategy="head", max_tokens=32)} | changes
    model = dataclasses.replace(factories.MODELS[kind], **changes)  # type: ignore[arg-type]
    return dataclasses.replace(factories.make_run(model=model, labels=40), probe=probe or latency())


def size(family: str, **changes: object) -> spec.EncoderSize:
    """A tiny encoder of a family."""
    return spec.EncoderSize(family=family, **TINY_SIZE | changes)  # type: ignore[arg-type]


def trained(run: spec.Run, folder: Path) -> Learned:
    """Train a Run's model on the toy rows and keep its weights in `folder`."""
    asked, data = dataclasses.replace(run, probe=spec.Quality(threads=1)), prepared()
    spent = budget.spend(data.pool, asked.budget, validation=isinstance(asked.model, spec.Neural))
    learned = learn(asked, data, spent, device="cpu", log=lambda step, metrics: None)
    learned.save(folder)
    return learned
