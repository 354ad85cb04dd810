"""bfloat16 is autocast: products in bfloat16, weights and probabilities in float32, whatever the model."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

import bakery
import served
from bakeoff import fingerprint, spec
from bakeoff.data import budget
from bakeoff.spec import Run
from bakeoff.training import fit as fitting
from bakeoff.training.learn import learn
from bakeoff.training.learned import Learned

QUICK = dataclasses.replace(served.make_run("bilstm").model.training, epochs=6, min_steps=20, learning_rate=1e-2)  # type: ignore[union-attr]
BILSTM = ({}, {"pooling": "mean", "layers": 2}, {"pooling": "last", "directions": "forward"}, {"pooling": "attention"})
SCRATCH = ({}, {"causal": True, "pooling": "last", "positions": "rotary"}, {"norm": "after", "positions": "learned", "max_positions": 128})


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bakery.checkpoint(tmp_path_factory.mktemp("toy") / "toy")


def scratch(**changes: object) -> spec.Scratch:
    plain: dict[str, object] = {
        "name": "scratch", "default_longdoc": spec.LongDoc(strategy="head", max_tokens=64), "precision": "float32", "width": 16,
        "layers": 1, "heads": 2, "feed_forward": 32, "positions": "sinusoidal", "max_positions": None, "norm": "before",
        "causal": False, "pooling": "mean", "dropout": 0.1, "vocabulary": "words", "checkpoint": None, "revision": None,
        "checkpoint_fingerprint": None, "min_count": 1, "max_vocabulary": 1000, "training": QUICK, "teacher": None,
        "distillation": None, "start": None,
    }  # fmt: skip
    return spec.Scratch(**plain | changes)  # type: ignore[arg-type]


def frozen(toy: Path) -> spec.Frozen:
    return spec.Frozen(
        name="frozen",
        default_longdoc=spec.LongDoc(strategy="head", max_tokens=32),
        checkpoint=str(toy),
        revision=None,
        checkpoint_fingerprint=fingerprint.of_checkpoint(str(toy), None),
        precision="float32",
        pooling="mean",
        normalise=True,
        c_grid=(1.0, 10.0),
        cv_folds=2,
    )


def answer(model: spec.Model, precision: str) -> Learned:
    asked = dataclasses.replace(model, precision=precision)  # type: ignore[type-var]
    base = served.make_run("tfidf", probe=spec.Quality(threads=1))
    run: Run = dataclasses.replace(base, model=asked, longdoc=asked.default_longdoc)
    prepared = served.prepared()
    spent = budget.spend(prepared.pool, run.budget, validation=isinstance(asked, spec.Neural))
    return learn(run, prepared, spent, device="cpu", log=lambda step, metrics: None)


def models(toy: Path) -> list[spec.Model]:
    bilstm, pretrained = (served.make_run(kind, toy, training=QUICK).model for kind in ("bilstm", "pretrained"))
    return [
        *(dataclasses.replace(bilstm, **changes) for changes in BILSTM),  # type: ignore[type-var]
        *(scratch(**changes) for changes in SCRATCH),
        pretrained,
        frozen(toy),
    ]


@pytest.mark.parametrize("number", range(len(BILSTM) + len(SCRATCH) + 2))
def test_every_model_answers_in_float32_and_near_what_it_answers_in_float32(number: int, toy: Path) -> None:
    model = models(toy)[number]
    rough, exact = answer(model, "bfloat16"), answer(model, "float32")
    assert rough.test is not None
    assert exact.test is not None
    assert rough.test.dtype == np.float32
    assert np.isfinite(rough.test).all()
    assert np.abs(rough.test.sum(axis=1) - 1).max() < 1e-5
    assert 0 < np.abs(rough.test - exact.test).max() < 0.25
    assert (rough.test.argmax(axis=1) == exact.test.argmax(axis=1)).mean() > 0.85
    assert rough.steps == exact.steps
    assert rough.bytes == exact.bytes  # the weights themselves stay in float32


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_products_are_of_the_configured_precision_and_weights_of_float32(precision: spec.Precision, toy: Path) -> None:
    from bakeoff.data import longdoc
    from bakeoff.data.batches import Documents
    from bakeoff.data.tokens import CheckpointTokeniser
    from bakeoff.models.pretrained import PretrainedClassifier

    run, rows = served.make_run("pretrained", toy, training=QUICK), served.rows(16, 1)
    model, tokeniser = PretrainedClassifier(run.model, folder=toy, n_classes=2), CheckpointTokeniser(toy)  # type: ignore[arg-type]
    seen: set[torch.dtype] = set()
    model.head.register_forward_hook(lambda module, inputs, output: seen.add(output.dtype))
    documents = Documents(longdoc.read(rows.documents, tokeniser, run.longdoc).ids, rows.labels, tokeniser.pad_id)
    fitting.fit(model, QUICK, documents, None, precision=precision, device="cpu", seed=0, log=lambda step, metrics: None)
    assert seen == {getattr(torch, precision)}
    assert {p.dtype for p in model.parameters()} == {torch.float32}
