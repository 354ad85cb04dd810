"""Features of an encoder that is left as it is: computed once, kept by their content, and a head fitted on them."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import factories
import served
import toy_encoders
from bakeoff import fingerprint, spec
from bakeoff.cache import cache_root
from bakeoff.data import budget, longdoc
from bakeoff.data.batches import Documents
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.models.build import count_parameters
from bakeoff.models.logistic import Regression, folds, softmax
from bakeoff.models.pretrained import FrozenClassifier
from bakeoff.probes import cost, engines, flops
from bakeoff.training import features, frozen
from bakeoff.training.learn import learn
from bakeoff.training.learned import Learned


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_encoders.checkpoint(tmp_path_factory.mktemp("toy") / "bert", "bert", initializer_range=0.1)


def model_of(folder: Path, **changes: Any) -> spec.Frozen:
    found = dataclasses.replace(
        factories.MODELS["frozen"], checkpoint=str(folder), checkpoint_fingerprint=fingerprint.of_checkpoint(str(folder), None)
    )
    assert isinstance(found, spec.Frozen)
    return dataclasses.replace(found, **changes)


def run_of(folder: Path, *, labels: int = 40, probe: spec.Probe | None = None, **changes: Any) -> spec.Run:
    made = factories.make_run(model=model_of(folder, **changes), labels=labels)
    return dataclasses.replace(made, longdoc=spec.LongDoc(strategy="head", max_tokens=32), probe=probe or made.probe)


def learned(run: spec.Run) -> Learned:
    data = served.prepared()
    spent = budget.spend(data.pool, run.budget, validation=run.keeps_validation)
    return learn(run, data, spent, device="cpu", log=lambda step, metrics: None)


def read(folder: Path, texts: tuple[str, ...]) -> Documents:
    tokeniser = CheckpointTokeniser(folder)
    reading = longdoc.read(texts, tokeniser, spec.LongDoc(strategy="head", max_tokens=32))
    return Documents(reading.ids, np.zeros(len(texts), dtype=np.int64), tokeniser.pad_id)


def test_the_answers_are_those_of_logistic_regression_on_the_pooled_states(folder: Path) -> None:
    run, data = run_of(folder), served.prepared()
    done = learned(run)
    spent = budget.spend(data.pool, run.budget, validation=False)
    rows = data.pool.take(spent.fit)
    classifier = FrozenClassifier(model_of(folder), n_classes=2, folder=folder).eval()

    def plainly(texts: tuple[str, ...]) -> np.ndarray:
        """One document at a time, so that nothing is padded."""
        found = []
        for ids in read(folder, texts).ids:
            states = classifier.encoder(input_ids=torch.tensor(ids[None].astype(np.int64))).last_hidden_state[0]
            found.append((states.mean(dim=0) / states.mean(dim=0).norm()).tolist())
        return np.asarray(found)

    with torch.inference_mode():
        known, asked = plainly(rows.texts), plainly(data.test.texts)
    regression = Regression(c_grid=(1.0, 10.0, 100.0), cv_folds=3, n_classes=2, seed=0)
    c = regression.choose_c(known, rows.labels, budget.bundles(data.pool)[spent.fit])
    expected = softmax(regression.fit(known, rows.labels, c).scores(asked))
    assert done.selected == {"c": c}
    assert done.test == pytest.approx(expected, abs=1e-4)
    assert done.validation is None
    assert done.stop_reason == "closed_form"
    assert done.steps == 0


def test_c_is_the_one_with_the_lowest_held_out_loss() -> None:
    """Two features, one of them noise as large as the other: with 30 rows a small C holds out better than a large one."""
    random = np.random.default_rng(0)
    labels = np.arange(30) % 2
    known = np.column_stack([labels + random.normal(size=30), random.normal(size=(30, 8))])
    regression = Regression(c_grid=(0.1, 1.0, 1000.0), cv_folds=5, n_classes=2, seed=0)
    fold_of, losses = folds(labels, np.arange(30), 5), []
    for c in regression.c_grid:
        loss = 0.0
        for fold in range(5):
            scores = regression.fit(known[fold_of != fold], labels[fold_of != fold], c).scores(known[fold_of == fold])
            loss -= np.log(softmax(scores)[np.arange(6), labels[fold_of == fold]]).sum()
        losses.append(loss)
    assert regression.choose_c(known, labels, np.arange(30)) == regression.c_grid[int(np.argmin(losses))] == 0.1
    assert regression.choose_c(known[:1], labels[:1], np.arange(1)) == regression.default_c == 1.0


def test_features_are_computed_once_and_come_back_as_they_were(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = learned(run_of(folder))
    files = sorted((cache_root() / "features").iterdir())
    assert len(files) == 2  # the labelled rows, and the test rows
    stored = [file.read_bytes() for file in files]
    monkeypatch.setattr(FrozenClassifier, "features", lambda *_: pytest.fail("the encoder ran again"))
    again = learned(run_of(folder))
    assert np.array_equal(first.test, again.test)
    assert [file.read_bytes() for file in sorted((cache_root() / "features").iterdir())] == stored


def test_test_features_serve_every_budget(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned(run_of(folder))
    seen: list[int] = []
    compute = features.compute
    monkeypatch.setattr(
        features, "compute", lambda classifier, documents, **o: (seen.append(len(documents)), compute(classifier, documents, **o))[1]
    )
    learned(run_of(folder, labels=20))
    assert seen == [20]


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut short"])
def test_a_damaged_file_is_computed_anew(folder: Path, damage: bytes) -> None:
    first = learned(run_of(folder))
    whole = {file: np.load(file)["features"] for file in (cache_root() / "features").iterdir()}
    for file in whole:
        file.write_bytes(damage)
    assert np.array_equal(learned(run_of(folder)).test, first.test)
    assert all(np.array_equal(np.load(file)["features"], values) for file, values in whole.items())


def test_features_from_the_cache_took_what_they_took_when_they_were_computed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, now = run_of(folder), [0.0]
    compute = features.compute

    def slow(classifier: FrozenClassifier, documents: Documents, **options: Any) -> features.Features:
        now[0] += 8.0 if len(documents) == 40 else 3.0
        return compute(classifier, documents, **options)

    monkeypatch.setattr(features, "compute", slow)
    for module in (features, frozen):
        monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    first, again = learned(run), learned(run)
    assert now == [11.0]  # the second time it was there
    assert (first.seconds, first.predict_seconds) == (again.seconds, again.predict_seconds) == (8.0, 3.0)


@pytest.mark.parametrize(
    "changes", [{"pooling": "max"}, {"normalise": False}, {"precision": "bfloat16"}, {"checkpoint_fingerprint": "0"}, {"c_grid": (2.0,)}]
)
def test_what_features_depend_on_is_in_their_name(folder: Path, changes: dict[str, Any]) -> None:
    documents, model, head = read(folder, ("good day", "bad day")), model_of(folder), spec.LongDoc(strategy="head", max_tokens=32)
    key = features._key(documents, model, head, "cpu")
    other = features._key(documents, dataclasses.replace(model, **changes), head, "cpu")
    assert (key == other) is ("c_grid" in changes)
    assert key != features._key(read(folder, ("good day", "bad grand")), model, head, "cpu")
    assert key != features._key(documents, model, spec.LongDoc(strategy="head", max_tokens=16), "cpu")


def test_another_transformers_computes_features_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents, model, head = read(folder, ("good day",)), model_of(folder), spec.LongDoc(strategy="head", max_tokens=32)
    key = features._key(documents, model, head, "cpu")
    assert key == features._key(documents, model, head, "cpu")
    monkeypatch.setattr(features.metadata, "version", lambda package: f"another {package}")
    assert key != features._key(documents, model, head, "cpu")


def test_batches_are_of_like_length_and_features_in_the_order_of_the_documents(folder: Path) -> None:
    texts = tuple(["good " * (1 + i % 9) for i in range(150)])
    classifier = FrozenClassifier(model_of(folder), n_classes=2, folder=folder)
    widths: list[tuple[int, int]] = []
    original = classifier.features

    def spy(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        widths.append((len(ids), ids.shape[1]))
        return original(ids, lengths)

    classifier.features = spy  # type: ignore[method-assign]
    found = features.compute(classifier, read(folder, texts), precision="float32", device="cpu")
    assert [count for count, _ in widths] == [64, 64, 22]
    assert [width for _, width in widths] == sorted((width for _, width in widths), reverse=True)
    assert found.dtype == np.float32
    assert not classifier.training
    for row in range(9):
        same = np.abs(found[row::9] - found[row]).max()
        assert same < 1e-5
        assert np.abs(found[row] - found[(row + 1) % 9]).max() > 1e-4


def test_a_class_without_a_label_is_never_answered(folder: Path) -> None:
    data = served.prepared()
    three = dataclasses.replace(data, classes=("neg", "other", "pos"))
    run = run_of(folder)
    done = frozen.learn_frozen(run, model_of(folder), three, budget.spend(three.pool, run.budget, validation=False), device="cpu")
    assert done.test[:, 2].max() == 0.0
    assert np.isfinite(done.test).all()


def test_a_pair_of_texts_is_read_as_one_document_with_its_segments(folder: Path) -> None:
    data = served.prepared()

    def second(rows: Any, words: str) -> Any:
        return dataclasses.replace(rows, pairs=(words,) * len(rows))

    def answers(words: str) -> np.ndarray:
        paired = dataclasses.replace(data, pool=second(data.pool, words), test=second(data.test, words))
        run = run_of(folder)
        return frozen.learn_frozen(
            run, model_of(folder), paired, budget.spend(paired.pool, run.budget, validation=False), device="cpu"
        ).test

    assert np.abs(answers("good grand") - answers("bad dull")).max() > 1e-6
    assert np.abs(answers("good grand") - learned(run_of(folder)).test).max() > 1e-6


def test_sizes_are_counted(folder: Path) -> None:
    run = run_of(folder)
    done = learned(run)
    classifier = FrozenClassifier(model_of(folder), n_classes=2, folder=folder)
    assert done.parameters_total == count_parameters(classifier)
    assert done.parameters_trainable == 2 * toy_encoders.WIDTH + 2
    assert done.parameters_embedding == (toy_encoders.VOCABULARY + toy_encoders.POSITIONS + 2) * toy_encoders.WIDTH
    assert done.bytes == 4 * done.parameters_total
    assert done.n_special_tokens == 2
    size = cost.encoder_size(model_of(folder))
    assert size is not None
    tokens = int(np.median(np.minimum(done.lengths_tokens, 32)))
    expected = flops.of_encoder(size, tokens=tokens, n_classes=2)
    assert cost.flops_per_document(run, lengths_tokens=done.lengths_tokens, n_classes=2, n_special_tokens=2) == expected


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_was_saved_serves_what_was_scored(folder: Path, tmp_path: Path, precision: spec.Precision) -> None:
    run, data = run_of(folder, precision=precision), served.prepared()
    done = learned(run)
    done.save(tmp_path / "model")
    names = load_file(tmp_path / "model" / "model.safetensors").keys()
    assert {"head.weight", "head.bias"} < names
    asked = dataclasses.replace(run, probe=served.latency(weights="trained"))
    pipeline = engines.build_pipeline(asked, data, classes=served.CLASSES, weights_folder=tmp_path / "model")
    tolerance = 1e-5 if precision == "float32" else 2e-2
    assert pipeline.probabilities(data.test.texts) == pytest.approx(done.test, abs=tolerance)
    assert pipeline.size.parameters_trainable == 2 * toy_encoders.WIDTH + 2


@pytest.mark.slow
def test_an_untrained_one_is_served_and_exported(folder: Path) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    data = served.prepared()
    pipelines = [
        engines.build_pipeline(run_of(folder, probe=served.latency(engine=engine)), data, classes=served.CLASSES, weights_folder=None)
        for engine in ("eager", "onnx")
    ]
    texts = [*data.test.texts, *served.AWKWARD]
    eager, onnx = (pipeline.probabilities(texts) for pipeline in pipelines)
    assert np.abs(eager - onnx).max() < 1e-5
    assert pipelines[1].agreement is not None


def test_every_draw_of_a_whole_pool_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(folder)
    whole = [dataclasses.replace(run, budget=dataclasses.replace(run.budget, labels="all", draw=draw)) for draw in range(3)]
    learned(whole[0])
    monkeypatch.setattr(FrozenClassifier, "features", lambda *_: pytest.fail("the encoder ran again"))
    for other in whole[1:]:
        learned(other)


def test_features_come_back_in_the_order_of_their_documents(folder: Path) -> None:
    texts = ("good day", "bad day", "grand", "bad bad day", "good day")
    model, head = model_of(folder), spec.LongDoc(strategy="head", max_tokens=32)
    classifier = FrozenClassifier(model, n_classes=2, folder=folder)
    for order in itertools.permutations(range(5), 5):
        documents = read(folder, tuple(texts[i] for i in order))
        found = features.features_of(classifier, documents, model, longdoc=head, device="cpu").features
        expected = features.compute(classifier, documents, precision="float32", device="cpu")
        np.testing.assert_allclose(found, expected, atol=1e-6)
