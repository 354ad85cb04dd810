"""Runs that read by windows: they fit, save, load and answer alike, teach and are taught, and start from other Runs."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import bakery
import factories
import served
import toy_encoders
from bakeoff import fingerprint, spec
from bakeoff.data import longdoc
from bakeoff.data.batches import Documents
from bakeoff.data.saved import read_tokeniser
from bakeoff.models import loading, windows
from bakeoff.models.files import VOCABULARY, WEIGHTS
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier
from bakeoff.models.windows import WindowReader
from bakeoff.probes import weights
from bakeoff.training import distil, features, fit, optim, starting
from bakeoff.training.learned import Learned

TRAINED = ("attention", "lstm", "transformer")
CASES = [
    ("bilstm", "mean_logits"),
    ("bilstm", "attention"),
    ("scratch", "max_logits"),
    ("scratch", "transformer"),
    ("pretrained", "lstm"),
    ("pretrained", "max_embeddings"),
    ("frozen", "mean_embeddings"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_encoders.checkpoint(tmp_path_factory.mktemp("toy") / "bert", "bert", num_hidden_layers=1, initializer_range=0.1)


def reading(pool: str, *, window: int = 16, overlap: int = 4) -> spec.LongDoc:
    return spec.LongDoc(
        strategy="windows",
        max_tokens=None,
        window_tokens=window,
        overlap_tokens=overlap,
        pool=pool,  # type: ignore[arg-type]
        trained_windows=8,
    )


def run_of(kind: str, pool: str, folder: Path, **changes: Any) -> spec.Run:
    if kind == "frozen":
        named = {"checkpoint": str(folder), "checkpoint_fingerprint": fingerprint.of_checkpoint(str(folder), None)}
        model = dataclasses.replace(factories.MODELS["frozen"], **named, cv_folds=2)
        return dataclasses.replace(factories.make_run(model=model, labels=40), longdoc=reading(pool))
    run = served.make_run(kind, folder if kind == "pretrained" else None, probe=spec.Quality(threads=1), **changes)
    return dataclasses.replace(run, longdoc=reading(pool))


def answered_again(run: spec.Run, saved: Path) -> np.ndarray:
    """Test probabilities of the model that was saved."""
    tokeniser, test = read_tokeniser(saved, words_in=VOCABULARY), served.prepared().test
    classifier = loading.neural(run.model, saved, n_classes=2, frame=tokeniser)  # type: ignore[arg-type]
    documents = Documents(longdoc.read(test.documents, tokeniser, run.longdoc).ids, test.labels, tokeniser.pad_id)
    return fit.predict(classifier, documents, 2, precision="float32", device="cpu")


@pytest.mark.parametrize(("kind", "pool"), CASES)
def test_a_run_fits_saves_loads_and_answers_alike(kind: str, pool: str, folder: Path, tmp_path: Path) -> None:
    run = run_of(kind, pool, folder)
    done = served.trained(run, tmp_path)
    assert done.test is not None
    assert done.finite
    assert answered_again(run, tmp_path) == pytest.approx(done.test, abs=1e-6)
    own = {name.split(".")[1] for name in load_file(tmp_path / WEIGHTS) if name.startswith("windows.")}
    assert own == ({pool} if pool in TRAINED else set())


def test_what_is_processed_counts_overlaps_and_special_tokens_again(folder: Path, tmp_path: Path) -> None:
    done = served.trained(run_of("pretrained", "mean_logits", folder), tmp_path)
    assert done.read_tokens is not None
    assert done.processed_tokens is not None
    assert done.read_tokens.tolist() == done.lengths_tokens.tolist()
    assert not done.truncated.any()
    for read, processed in zip(done.read_tokens.tolist(), done.processed_tokens.tolist(), strict=True):
        further = -(-max(0, read - 16) // 10)  # of 14 tokens of content a window, 10 are new
        assert processed == read + further * (4 + 2)
    assert (done.processed_tokens > done.read_tokens).any()


def test_a_run_that_reads_the_head_processes_what_it_reads(folder: Path, tmp_path: Path) -> None:
    run = run_of("pretrained", "mean_logits", folder)
    done = served.trained(dataclasses.replace(run, longdoc=spec.LongDoc(strategy="head", max_tokens=8)), tmp_path)
    assert done.read_tokens is not None
    assert done.processed_tokens is not None
    assert done.processed_tokens.tolist() == done.read_tokens.tolist() == np.minimum(done.lengths_tokens, 8).tolist()


def test_a_run_answers_the_same_twice(folder: Path, tmp_path: Path) -> None:
    run = run_of("pretrained", "attention", folder)
    run = dataclasses.replace(run, longdoc=dataclasses.replace(run.longdoc, trained_windows=2))
    first, second = (served.trained(run, tmp_path / str(number)) for number in (0, 1))
    assert first.test is not None
    assert second.test is not None
    assert first.test.tobytes() == second.test.tobytes()


def test_what_pools_windows_is_trained(tmp_path: Path) -> None:
    run = run_of("bilstm", "lstm", tmp_path)
    served.trained(run, tmp_path / "one")
    longer = dataclasses.replace(run.model, training=dataclasses.replace(run.model.training, min_steps=6))  # type: ignore[union-attr]
    served.trained(dataclasses.replace(run, model=longer), tmp_path / "two")
    one, two = (load_file(tmp_path / name / WEIGHTS) for name in ("one", "two"))
    assert all(not torch.equal(one[name], two[name]) for name in one if name.startswith("windows."))


def test_frozen_features_of_another_reading_are_others(folder: Path, tmp_path: Path) -> None:
    runs = [run_of("frozen", pool, folder) for pool in ("mean_embeddings", "max_embeddings")]
    answers = [served.trained(run, tmp_path / run.run_id).test for run in runs]
    again = served.trained(runs[0], tmp_path / "again").test  # from the cache
    assert answers[0] is not None
    assert again is not None
    assert answers[0].tobytes() == again.tobytes()
    assert not np.array_equal(answers[0], answers[1])
    assert isinstance(runs[0].model, spec.Frozen)
    tokeniser = read_tokeniser(folder, words_in=VOCABULARY)
    classifier = FrozenClassifier(runs[0].model, n_classes=2, folder=folder, longdoc=runs[0].longdoc, frame=tokeniser)
    test = served.prepared().test
    documents = Documents(longdoc.read(test.documents, tokeniser, runs[0].longdoc).ids, test.labels, tokeniser.pad_id)
    found = features.compute(classifier, documents, precision="float32", device="cpu")
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("kind", "pool"), CASES)
def test_untrained_weights_read_by_windows_too(kind: str, pool: str, folder: Path) -> None:
    run = run_of(kind, pool, folder)
    found = weights.load(run, served.prepared(), classes=served.CLASSES, folder=None)
    assert isinstance(found, weights.Neural)
    reader = found.classifier.get_submodule("windows")
    assert isinstance(reader, WindowReader)
    assert (reader.prefix, reader.suffix) == (found.tokeniser.prefix, found.tokeniser.suffix)


def teaches(teacher: spec.Run, student: spec.Run, tmp_path: Path, folder: Path) -> tuple[Learned, distil.Lesson]:
    saved = tmp_path / "teacher"
    taught = served.trained(teacher, saved)
    how = spec.Distillation(temperature=2.0, soft_weight=0.5, hard_weight=0.5, hidden_weight=0.0, transfer_epochs=1)
    assert isinstance(student.model, spec.Pretrained)
    model = dataclasses.replace(student.model, teacher=teacher.model.name, distillation=how)
    run, tokeniser = dataclasses.replace(student, model=model, teacher=teacher), read_tokeniser(saved, words_in=VOCABULARY)
    module = PretrainedClassifier(model, n_classes=2, folder=folder, longdoc=run.longdoc, frame=tokeniser)
    test = served.prepared().test
    lesson = distil.prepare(
        run,
        module,
        tokeniser,
        labelled=test.documents,
        labels=test.labels,
        unlabelled=(),
        classes=served.CLASSES,
        folder=saved,
        device="cpu",
    )
    assert torch.equal(module.head.weight, load_file(saved / WEIGHTS)["head.weight"])
    if module.windows is not None:
        given = {name: tensor for name, tensor in load_file(saved / WEIGHTS).items() if name.startswith("windows.")}
        own = {f"windows.{name}": tensor for name, tensor in module.windows.state_dict().items()}
        assert all(torch.equal(own[name], tensor) for name, tensor in given.items())
        assert given.keys() == own.keys()
    return taught, lesson


@pytest.mark.parametrize("student_reads", ["windows", "head"])
def test_a_teacher_answers_as_it_reads(student_reads: str, folder: Path, tmp_path: Path) -> None:
    teacher = run_of("pretrained", "attention", folder)
    head = spec.LongDoc(strategy="head", max_tokens=16)
    student = dataclasses.replace(teacher, longdoc=teacher.longdoc if student_reads == "windows" else head)
    taught, lesson = teaches(teacher, student, tmp_path, folder)
    assert taught.test is not None
    said = torch.from_numpy(np.log(taught.test))
    batch = lesson.documents.collate(range(len(said)))
    found = lesson.loss(lambda ids, lengths: said, batch)  # type: ignore[arg-type]
    tempered = (said / 2).softmax(dim=1)
    soft = -(tempered * tempered.log()).sum(dim=1)  # a student that says what its teacher says loses the entropy alone
    hard = -said[torch.arange(len(said)), batch.labels]
    assert float(found) == pytest.approx(float((0.5 * 4 * soft + 0.5 * hard).mean()), abs=1e-5)
    longest = int(batch.lengths.max())
    assert longest > 16 if student_reads == "windows" else longest == 16


def test_a_start_gives_all_but_the_head_and_what_pools_windows(folder: Path, tmp_path: Path) -> None:
    run = run_of("pretrained", "lstm", folder)
    served.trained(run, tmp_path / "start")
    weights_of = load_file(tmp_path / "start" / WEIGHTS)
    save_file({name: tensor for name, tensor in weights_of.items() if name.startswith("encoder.")}, tmp_path / "start" / WEIGHTS)
    assert isinstance(run.model, spec.Pretrained)
    tokeniser = read_tokeniser(folder, words_in=VOCABULARY)
    module = PretrainedClassifier(run.model, n_classes=2, folder=folder, longdoc=run.longdoc, frame=tokeniser)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    starting.start_from(module, tmp_path / "start", run.model)
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, weights_of[name] if name.startswith("encoder.") else before[name])


def test_a_head_that_learns_first_leaves_the_encoder_to_windows_alone(folder: Path, tmp_path: Path) -> None:
    """Without gradients in the encoder, what pools windows and the head still learn."""
    run = run_of("pretrained", "lstm", folder)
    assert isinstance(run.model, spec.Pretrained)
    tokeniser = read_tokeniser(folder, words_in=VOCABULARY)
    module = PretrainedClassifier(run.model, n_classes=2, folder=folder, longdoc=run.longdoc, frame=tokeniser)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    rows = served.prepared().pool
    documents = Documents(longdoc.read(rows.documents, tokeniser, run.longdoc).ids, rows.labels, tokeniser.pad_id)
    training = dataclasses.replace(run.model.training, epochs=2, min_steps=1, batch_size=30)
    pace = optim.Pace(head_first_epochs=2)
    fit.fit(module, training, documents, None, precision="float32", device="cpu", seed=0, log=lambda *_: None, pace=pace)
    changed = {name.split(".")[0] for name, tensor in module.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed == {"head", "windows"}


def test_chunks_change_no_answer(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of("scratch", "mean_embeddings", folder)
    done = served.trained(run, tmp_path)
    monkeypatch.setattr(windows, "CHUNK_WINDOWS", 3)
    assert answered_again(run, tmp_path) == pytest.approx(done.test, abs=1e-5)


def test_words_have_no_special_tokens_around_a_window(tmp_path: Path) -> None:
    run = run_of("bilstm", "mean_logits", tmp_path)
    done = served.trained(run, tmp_path)
    assert done.read_tokens is not None
    assert done.processed_tokens is not None
    assert done.n_special_tokens == 0
    further = -(-np.maximum(done.read_tokens - 16, 0) // 12)
    assert done.processed_tokens.tolist() == (done.read_tokens + 4 * further).tolist()


@pytest.mark.parametrize("kind", ["bilstm", "pretrained"])
def test_a_run_is_composed_and_baked(kind: str, tmp_path: Path) -> None:
    pool = bakery.write_csv(tmp_path / "pool.csv", bakery.rows(60, words=30, seed=0))
    test = bakery.write_csv(tmp_path / "test.csv", bakery.rows(20, words=30, seed=1))
    own = [bakery.checkpoint_override(bakery.checkpoint(tmp_path / "toy"))] if kind == "pretrained" else []
    tiny = [each for each in bakery.TINY[kind] if not each.startswith("longdoc.")]
    reads = ["longdoc=windows", "longdoc.window_tokens=16", "longdoc.overlap_tokens=4", "longdoc.pool=lstm"]
    job = bakery.compose(*bakery.on_table(pool, test), "budget.labels=40", *tiny, *own, *reads)
    record = bakery.bake(job).record
    assert record.status == "ok"
    assert record.quality["test"].n == 20
