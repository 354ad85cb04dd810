"""One Run from its configuration to its record, on tiny data and tiny models, in this process."""

import csv
import dataclasses
import errno
import hashlib
import json
import math
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import bakery
from bakeoff import bake as baking
from bakeoff import record as records
from bakeoff.config import Job, quoted
from bakeoff.data import budget, checks, dataset
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.errors import DataError, NotApplicable
from bakeoff.spec import MODEL_KINDS, BudgetZero, Predictions
from bakeoff.store import RECORD, Store, default_root
from bakery import TINY, Baked, bake, compose, on_table, rows, write_csv

KINDS = tuple(kind for kind, cls in MODEL_KINDS.items() if not issubclass(cls, BudgetZero | Predictions))
"""Those that learn from labels; the others are in tests/training/test_budget_zero.py."""
NEURAL = ("bilstm", "pretrained")
ODD = {"empty": "", "spaces": "   ", "emoji": "🙂🎉", "unknown words": "zzzz qqqq"}


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy checkpoint."""
    return bakery.checkpoint(tmp_path_factory.mktemp("checkpoints") / "toy")


@pytest.fixture
def tiny(toy: Path) -> dict[str, list[str]]:
    """Model → overrides that make it tiny, the toy checkpoint included."""
    return {kind: [*TINY[kind], *([bakery.checkpoint_override(toy)] if kind in bakery.ON_A_CHECKPOINT else [])] for kind in KINDS}


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "pool.csv", rows(400))


@pytest.fixture
def test(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "test.csv", rows(60, seed=1))


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    """24 rows to draw labels from, 12 to test on."""
    return on_table(write_csv(tmp_path / "pool.csv", rows(24)), write_csv(tmp_path / "test.csv", rows(12, seed=1)))


def history(baked: Baked) -> list[dict[str, str]]:
    with open(baked.folder / "history.csv", newline="") as file:
        return list(csv.DictReader(file))


# What a record says.


def test_a_record_says_what_the_run_saw(pool: Path, test: Path, tiny: dict[str, list[str]]) -> None:
    job = compose(*on_table(pool, test), *tiny["bilstm"], "budget.labels=320", "longdoc.max_tokens=8")
    baked = bake(job)
    facts = baked.record.data
    assert (facts.n_pool, facts.n_fit, facts.n_val, facts.n_test) == (400, 256, 64, 60)
    assert facts.classes == ("neg", "pos")
    assert facts.revision == job.run.dataset.fingerprint

    prepared = dataset.prepare(job.run.dataset)
    spent = budget.spend(prepared.pool, job.run.budget, validation=True)
    for name, ids in {
        "fit": [prepared.pool.row_ids[i] for i in spent.fit],
        "validation": [prepared.pool.row_ids[i] for i in spent.validation],
        "test": prepared.test.row_ids,
    }.items():
        assert facts.subset_hashes[name] == hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()
    assert facts.length_tokens == {"p50": 10.0, "p90": 10.0, "p95": 10.0, "p99": 10.0, "max": 10.0}
    assert facts.truncated_fraction == 1.0
    assert (facts.read_fraction, facts.processed_tokens_mean, facts.visible_fraction) == (0.8, 8.0, None)
    quality = baked.record.quality
    assert {name: (each.n, each.read_fraction) for name, each in quality.items()} == {
        "test": (60, 0.8),
        "test_to_512": (60, 0.8),
        "validation": (64, None),
    }
    assert parquet.read_table(baked.folder / "predictions.parquet")["length_tokens"].to_pylist() == [10] * 60
    assert {finding.code: finding.count for finding in facts.audit} == {"truncated": 60, "stripped_punctuation": 460}

    training = baked.record.training
    assert (training.epochs, training.steps, training.stop_reason) == (2.0, 16, "schedule")
    assert [row["step"] for row in history(baked)] == [*map(str, range(1, 9)), "8", *map(str, range(9, 17)), "16"]
    assert baked.record.size is not None
    assert baked.record.size.bytes == 4 * baked.record.size.parameters_total
    assert baked.record.machine.device == "cpu"


def test_lengths_and_what_was_cut_follow_each_text(tmp_path: Path, pool: Path, tiny: dict[str, list[str]]) -> None:
    texts = [" ".join(bakery.FILLER[10 * i : 10 * i + n]) for i, n in enumerate((1, 2, 3, 4, 20))]
    test = write_csv(tmp_path / "test.csv", [(text, label) for text, label in zip(texts, ["neg", "pos"] * 3, strict=False)])
    words = bake(compose(*on_table(pool, test), *tiny["tfidf"], "budget.labels=20", "longdoc.max_tokens=3"))
    pieces = bake(compose(*on_table(pool, test), *tiny["pretrained"], "budget.labels=20", "longdoc.max_tokens=5"))
    assert words.record.data.length_tokens == {"p50": 3.0, "p90": 20.0, "p95": 20.0, "p99": 20.0, "max": 20.0}
    assert pieces.record.data.length_tokens == {"p50": 5.0, "p90": 22.0, "p95": 22.0, "p99": 22.0, "max": 22.0}
    assert words.record.data.truncated_fraction == pieces.record.data.truncated_fraction == 2 / 5


@pytest.mark.parametrize("kind", KINDS)
def test_saved_predictions_give_the_quality_of_the_record(pool: Path, test: Path, tiny: dict[str, list[str]], kind: str) -> None:
    longer = ["model.training.min_steps=80", f"model.pooling={'mean' if kind == 'pretrained' else 'max'}"] if kind in NEURAL else []
    baked = bake(compose(*on_table(pool, test), *tiny[kind], *longer, "budget.labels=40"))
    quality = baked.record.quality["test"]
    table = parquet.read_table(baked.folder / "predictions.parquet")
    labels, predicted = table["label"].to_numpy(), table["predicted"].to_numpy()
    probabilities = np.array(table["probabilities"].to_pylist())
    assert quality.n == len(table) == 60
    assert quality.accuracy == (labels == predicted).mean()
    if kind == "majority":
        assert quality.accuracy == 0.5
    elif kind != "scratch":  # a transformer from nothing learns little from 40 labels
        assert quality.accuracy > 0.6
    assert quality.log_loss == pytest.approx(-np.log(probabilities[np.arange(60), labels]).mean(), abs=1e-6)
    assert quality.brier == pytest.approx(((probabilities - np.eye(2)[labels]) ** 2).sum(axis=1).mean(), abs=1e-6)
    assert quality.majority_baseline == 0.5
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-5)
    assert (probabilities.argmax(axis=1) == predicted).all()
    for index, name in enumerate(("neg", "pos")):
        hits = ((labels == index) & (predicted == index)).sum()
        assert quality.classes[name].support == 30
        assert quality.classes[name].recall == hits / 30
        assert quality.classes[name].precision == (hits / (predicted == index).sum() if (predicted == index).any() else None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_survives_its_json_and_names_no_folder(small: list[str], tiny: dict[str, list[str]], kind: str) -> None:
    baked = bake(compose(*small, *tiny[kind]))
    text = (baked.folder / RECORD).read_text()
    assert "/" not in json.loads(text)["run"]["dataset"]["path"]
    assert "/" not in (json.loads(text)["run"]["model"].get("checkpoint") or "")
    again = records.from_json(text)
    assert (again.run_id, again.quality) == (baked.record.run_id, baked.record.quality)
    assert again.run.run_id == baked.record.run_id


def test_a_reading_that_is_chosen_is_read_by_every_model_but_the_majority(tmp_path: Path, pool: Path, tiny: dict[str, list[str]]) -> None:
    tails = [" ".join([*bakery.FILLER[i : i + 6], cue]) for i, cue in ((0, "good"), (0, "bad"), (40, "good"), (40, "bad"))]
    test = write_csv(tmp_path / "test.csv", [(text, label) for text, label in zip(tails, ["neg", "pos"] * 2, strict=True)])
    for kind in ("tfidf", "bilstm", "pretrained"):
        cut = bake(compose(*on_table(pool, test), *tiny[kind], "budget.labels=40", "longdoc.max_tokens=6")).answers
        whole = bake(compose(*on_table(pool, test), *tiny[kind], "budget.labels=40", "longdoc.max_tokens=32")).answers
        assert len({probabilities for _, probabilities in cut.values()}) == 2, "texts that differ only in the tail read alike"
        assert len({probabilities for _, probabilities in whole.values()}) == 4


# The same question has the same answer.


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_run_gives_the_same_bytes_whatever_was_baked_before(small: list[str], tiny: dict[str, list[str]], kind: str) -> None:
    job = compose(*small, *tiny[kind])
    first = bake(job).predictions
    shutil.rmtree(default_root())
    for other in ("bilstm", "tfidf"):
        bake(compose(*small, *tiny[other], "seed=7", "budget.labels=10"))
    assert bake(job).predictions == first


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes_in_another_process(small: list[str], tiny: dict[str, list[str]]) -> None:
    from bakeoff.commands.baking import bake_runs

    jobs = [compose(*small, *tiny[kind]) for kind in KINDS]
    first = [bake(job).predictions for job in jobs]
    store = Store(default_root())
    shutil.rmtree(store.root)
    outcome = bake_runs([job.run for job in jobs], jobs[0].machine, store, executor="local", slots=2)
    assert outcome.failed == {}
    assert [(store.folder(job.run.run_id) / "predictions.parquet").read_bytes() for job in jobs] == first


@pytest.mark.parametrize("kind", ["bilstm", "pretrained"])
def test_seeds_and_draws_are_different_questions(small: list[str], tiny: dict[str, list[str]], kind: str) -> None:
    settings = ([], ["seed=1"], ["seed=1", "budget.draw=0"])
    jobs = [compose(*small, *tiny[kind], "budget.labels=12", *extra) for extra in settings]
    assert len({job.run.run_id for job in jobs}) == 3
    baked = [bake(job) for job in jobs]
    assert len({each.predictions for each in baked}) == 3
    fit = [each.record.data.subset_hashes["fit"] for each in baked]
    assert fit[0] == fit[2] != fit[1]


LABELS: dict[str, Sequence[object]] = {
    "from 1": (1, 2, 3),
    "with a gap": (2, 4, 9),
    "texts of numbers": ("1", "2", "3"),
    "decimals": ("1.0", "2.0", "3.0"),
    "words": ("a", "b", "c"),
}


@pytest.mark.parametrize("kind", ["tfidf", "bilstm", "pretrained"])
def test_the_form_of_labels_and_the_order_of_rows_change_no_answer(tmp_path: Path, tiny: dict[str, list[str]], kind: str) -> None:
    found = []
    for number, labels in enumerate(LABELS.values()):
        for shuffled in (False, True):
            tables = [rows(30, labels=labels), rows(15, labels=labels, seed=1)]
            if shuffled:
                for table in tables:
                    random.Random(number).shuffle(table)
            pool, test = (write_csv(tmp_path / f"{name}{number}{shuffled}.csv", table) for name, table in zip("pt", tables, strict=True))
            shutil.rmtree(default_root())  # some of these files are the same bytes, and so the same Run
            baked = bake(compose(*on_table(pool, test), *tiny[kind]))
            found.append((baked.record.quality["test"].accuracy, baked.answers))
    assert len(found) == 10
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("labels", [(False, True), ("0", "1"), (0.0, 1.0), ("FALSE", "true"), (2, 4)])
def test_two_classes_in_json_lines(tmp_path: Path, tiny: dict[str, list[str]], labels: Sequence[object]) -> None:
    paths = []
    for name, count, seed in (("pool", 24, 0), ("test", 12, 1)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows(count, labels=labels, seed=seed)))
        paths.append(path)
    baked = bake(compose(*on_table(*paths), *tiny["tfidf"]))
    reference = bake(
        compose(
            *on_table(write_csv(tmp_path / "p.csv", rows(24)), write_csv(tmp_path / "t.csv", rows(12, seed=1))),
            *tiny["tfidf"],
        )
    )
    assert baked.answers == reference.answers
    assert baked.record.quality["test"].accuracy == reference.record.quality["test"].accuracy


# Data as people have it.


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_file_that_lacks_a_class(tmp_path: Path, tiny: dict[str, list[str]], kind: str) -> None:
    labels = ("a", "b", "c")
    pool = write_csv(tmp_path / "pool.csv", rows(90, labels=labels))
    without_b = [row for row in rows(60, labels=labels, seed=1) if row[1] != "b"]
    baked = bake(compose(*on_table(pool, write_csv(tmp_path / "test.csv", without_b)), *tiny[kind]))
    quality = baked.record.quality["test"]
    assert baked.record.data.classes == labels
    assert {name: each.support for name, each in quality.classes.items()} == {"a": 20, "b": 0, "c": 20}
    assert quality.classes["b"].recall is None
    assert {len(probabilities) for _, probabilities in baked.answers.values()} == {3}
    if kind == "tfidf":
        assert quality.accuracy == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_only_the_test_file_has(tmp_path: Path, tiny: dict[str, list[str]], kind: str) -> None:
    pool = write_csv(tmp_path / "pool.csv", rows(24))
    test = write_csv(tmp_path / "test.csv", [*rows(12, seed=1), ("lonely words here", "never taught")])
    baked = bake(compose(*on_table(pool, test), *tiny[kind]))
    quality = baked.record.quality["test"]
    assert baked.record.data.classes == ("neg", "never taught", "pos")
    assert (quality.n, quality.classes["never taught"].support, quality.classes["never taught"].recall) == (13, 1, 0.0)
    assert math.isfinite(quality.log_loss)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*ODD, "all of them"])
def test_texts_without_a_known_word(tmp_path: Path, tiny: dict[str, list[str]], kind: str, name: str) -> None:
    odd = list(ODD.values()) if name == "all of them" else [ODD[name]]
    pool = write_csv(tmp_path / "pool.csv", [*rows(16), *((text, "neg") for text in odd)])
    alone = write_csv(tmp_path / "alone.csv", [(text, "pos") for text in odd])
    beside = write_csv(tmp_path / "beside.csv", [*rows(8, seed=1), *((text, "pos") for text in odd)])
    answers = [bake(compose(*on_table(pool, test), *tiny[kind])).answers for test in (alone, beside)]
    assert len(answers[0]) == len(odd)
    assert len(answers[1]) == len(odd) + 8
    for row_id, (predicted, probabilities) in answers[0].items():
        assert predicted in (0, 1)
        assert sum(probabilities) == pytest.approx(1.0, abs=1e-5)
        assert probabilities == pytest.approx(answers[1][row_id][1], abs=1e-5), "the same answer alone and in a batch"


@pytest.mark.parametrize("kind", KINDS)
def test_a_pool_without_a_single_word(tmp_path: Path, tiny: dict[str, list[str]], kind: str) -> None:
    pool = write_csv(tmp_path / "pool.csv", [("", "neg"), (" ", "pos"), ("", "neg"), ("  ", "neg")])
    test = write_csv(tmp_path / "test.csv", rows(4, seed=1))
    assert bake(compose(*on_table(pool, test), *tiny[kind])).record.quality["test"].n == 4


def test_texts_that_look_like_missing_values_are_texts(tmp_path: Path, small: list[str], tiny: dict[str, list[str]]) -> None:
    texts = ["NA", "null", "None", "nan", "N/A"]
    test = write_csv(tmp_path / "missing.csv", [*rows(4, seed=1), *((text, "pos") for text in texts)])
    baked = bake(compose(*small, f"dataset.test_path={test}", *tiny["tfidf"]))
    assert baked.record.data.n_test == 9
    assert {f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-0" for text in texts} <= baked.answers.keys()
    assert "empty_texts" not in {finding.code for finding in baked.record.data.audit}


def test_one_label_changed_is_another_question_with_another_answer(tmp_path: Path, tiny: dict[str, list[str]]) -> None:
    table = rows(24)
    pool, test = write_csv(tmp_path / "pool.csv", table), write_csv(tmp_path / "test.csv", rows(12, seed=1))
    before = bake(compose(*on_table(pool, test), *tiny["tfidf"]))
    write_csv(pool, table)
    pool.touch()
    same = compose(*on_table(pool, test), *tiny["tfidf"])
    assert same.run.run_id == before.record.run_id
    assert Store(default_root()).load(same.run.run_id) is not None
    write_csv(pool, [(table[0][0], "pos"), *table[1:]])
    after = bake(compose(*on_table(pool, test), *tiny["tfidf"]))
    assert after.record.run_id != before.record.run_id
    assert after.answers != before.answers
    assert after.answers.keys() == before.answers.keys()


def test_data_that_changes_after_it_was_composed_fails_the_run(tmp_path: Path, tiny: dict[str, list[str]]) -> None:
    pool, test = write_csv(tmp_path / "pool.csv", rows(24)), write_csv(tmp_path / "test.csv", rows(12, seed=1))
    job = compose(*on_table(pool, test), *tiny["tfidf"])
    write_csv(pool, rows(24, seed=5))
    with pytest.raises(DataError, match=r"^pool\.csv changed since this Run was composed"):
        bake(job)
    assert not (default_root() / job.run.run_id / RECORD).exists()


def test_a_checkpoint_that_changes_after_it_was_composed_fails_the_run(tmp_path: Path, small: list[str], toy: Path) -> None:
    copy = shutil.copytree(toy, tmp_path / "copy")
    job = compose(*small, *TINY["pretrained"], bakery.checkpoint_override(copy))
    settings = json.loads((copy / "config.json").read_text()) | {"layer_norm_eps": 0.1}
    (copy / "config.json").write_text(json.dumps(settings))
    with pytest.raises(DataError, match=r"^model\.checkpoint changed since this Run was composed"):
        bake(job)


# Budgets.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", ["1", "2", "4", "all"])
def test_any_budget_bakes(small: list[str], tiny: dict[str, list[str]], kind: str, labels: str) -> None:
    record = bake(compose(*small, *tiny[kind], f"budget.labels={labels}")).record
    spent = 24 if labels == "all" else int(labels)
    assert (record.status, record.data.n_fit, record.data.n_val, record.data.n_test) == ("ok", spent, 0, 12)
    assert "no_steps" not in {diagnostic.code for diagnostic in record.training.diagnostics}


@pytest.mark.parametrize("kind", KINDS)
def test_more_classes_than_labels(tmp_path: Path, tiny: dict[str, list[str]], kind: str) -> None:
    labels = ("a", "b", "c", "d", "e")
    pool, test = (write_csv(tmp_path / f"{seed}.csv", rows(50, labels=labels, seed=seed)) for seed in (0, 1))
    record = bake(compose(*on_table(pool, test), *tiny[kind], "budget.labels=3")).record
    assert (record.data.n_fit, record.data.classes) == (3, labels)
    assert record.quality["test"].n == 50


@pytest.mark.parametrize("kind", NEURAL)
@pytest.mark.parametrize("batch_size", [8, 16])
def test_four_labels_in_batches_of_more_take_steps(small: list[str], tiny: dict[str, list[str]], kind: str, batch_size: int) -> None:
    settings = ["budget.labels=4", f"model.training.batch_size={batch_size}"]
    few = bake(compose(*small, *tiny[kind], *settings))
    more = bake(compose(*small, *tiny[kind], *settings, "model.training.min_steps=30"))
    assert (few.record.training.steps, more.record.training.steps) == (4, 30)
    assert few.answers != more.answers


def test_the_unlabelled_pool_widens_the_vocabulary(small: list[str], tiny: dict[str, list[str]]) -> None:
    none, whole = (bake(compose(*small, *tiny["bilstm"], "budget.labels=2", f"budget.unlabelled={each}")) for each in ("none", "pool"))
    assert none.record.size is not None
    assert whole.record.size is not None
    assert none.record.size.parameters_embedding == 8 * (2 * 10 + 3)
    words = {word for text, _ in rows(24) for word in text.split()}
    assert whole.record.size.parameters_embedding == 8 * (len(words) + 3)


# Training that goes wrong, or right.


def test_the_best_validations_weights_are_scored_not_the_last(tmp_path: Path, tiny: dict[str, list[str]]) -> None:
    table = rows(320)
    labels = random.Random(0).choices(["neg", "pos"], k=len(table))  # nothing to learn, so more training only overfits
    pool = write_csv(tmp_path / "pool.csv", [(text, label) for (text, _), label in zip(table, labels, strict=True)])
    test = write_csv(tmp_path / "test.csv", rows(20, seed=1))
    settings = ["model.training.epochs=12", "model.training.learning_rate=3e-2", "model.dropout=0"]
    baked = bake(compose(*on_table(pool, test), *tiny["bilstm"], *settings))
    training = baked.record.training
    losses = {int(row["step"]): float(row["validation_loss"]) for row in history(baked) if row["validation_loss"]}
    assert len(losses) == 12
    best = min(losses, key=losses.__getitem__)
    assert best < training.steps
    assert (training.best_step, training.best_validation_loss) == (best, losses[best])
    assert losses[training.steps] > losses[best] + 0.03
    assert baked.record.quality["validation"].log_loss == pytest.approx(losses[best], abs=1e-5)


def test_the_curve_has_the_learning_rate_of_each_step(small: list[str], tiny: dict[str, list[str]]) -> None:
    settings = [
        "model.training.batch_size=6",
        "model.training.epochs=1",
        "model.training.warmup_fraction=0.5",
        "model.training.learning_rate=1",
    ]
    curve = history(bake(compose(*small, *tiny["bilstm"], *settings)))
    assert [(row["step"], float(row["learning_rate"])) for row in curve] == [("1", 0.5), ("2", 1.0), ("3", 1.0), ("4", 0.5)]


def test_a_checkpoint_trains_with_its_dropout(tmp_path: Path, small: list[str], toy: Path) -> None:
    losses = []
    for share in (0.0, 0.5):
        folder = shutil.copytree(toy, tmp_path / str(share))
        settings = json.loads((folder / "config.json").read_text()) | {"attention_probs_dropout_prob": share}
        (folder / "config.json").write_text(json.dumps(settings))
        losses.append(history(bake(compose(*small, *TINY["pretrained"], bakery.checkpoint_override(folder))))[0]["train_loss"])
    assert losses[0] != losses[1]


@pytest.mark.parametrize("kind", NEURAL)
def test_a_run_that_diverges_is_a_record_without_a_score(small: list[str], tiny: dict[str, list[str]], kind: str) -> None:
    baked = bake(compose(*small, *tiny[kind], "model.training.learning_rate=1e38"))
    assert (baked.record.status, baked.record.quality) == ("diverged", {})
    assert not (baked.folder / "predictions.parquet").exists()
    (diagnostic,) = baked.record.training.diagnostics
    assert diagnostic.code == "not_finite"
    assert diagnostic.message.endswith("lower the learning rate (it is 1e+38)")
    assert baked.record.training.best_step is None
    assert records.from_json((baked.folder / RECORD).read_text()).status == "diverged"


def test_answers_that_are_no_numbers_of_a_model_without_steps_are_told(small: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    learn = baking.learn

    def lost(*given: object, **named: object) -> object:
        learned = learn(*given, **named)  # type: ignore[arg-type]
        return dataclasses.replace(learned, test=np.full_like(learned.test, np.nan))

    monkeypatch.setattr(baking, "learn", lost)
    record = bake(compose(*small, *TINY["tfidf"])).record
    assert record.status == "diverged"
    (diagnostic,) = record.training.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("not_finite", "the model answered with numbers that are not finite")


@pytest.mark.parametrize("kind", ["tfidf", "bilstm"])
def test_a_model_that_answers_one_class_is_flagged(tmp_path: Path, pool: Path, tiny: dict[str, list[str]], kind: str) -> None:
    test = write_csv(tmp_path / "many.csv", rows(2000, words=5, seed=1))  # chance explains 50% of them to two points
    settings = ["budget.labels=1"] if kind == "tfidf" else ["model.training.learning_rate=1e-9", "budget.labels=2"]
    record = bake(compose(*on_table(pool, test), *tiny[kind], *settings)).record
    assert record.quality["test"].collapsed
    assert record.quality["test"].accuracy == 0.5
    collapsed, near_chance = record.training.diagnostics
    assert (collapsed.code, near_chance.code) == ("collapsed", "near_chance")
    assert near_chance.message.endswith("; check the learning rate first (it is 1e-09)") == (kind == "bilstm")


def test_the_majority_model_collapses_by_design_and_is_not_accused(small: list[str], tiny: dict[str, list[str]]) -> None:
    record = bake(compose(*small, *tiny["majority"])).record
    assert record.quality["test"].collapsed
    assert record.training.diagnostics == ()


def test_weights_are_kept_where_they_are_asked_for(small: list[str], tiny: dict[str, list[str]]) -> None:
    for kind in KINDS:
        for keep in ("needed", "all"):
            shutil.rmtree(default_root(), ignore_errors=True)
            baked = bake(compose(*small, *tiny[kind], f"machine.keep_weights={keep}"))
            assert (baked.folder / "model" / "model.safetensors").exists() == (keep == "all")


# Checkpoints.


def test_a_bfloat16_checkpoint_trains_in_float32(tmp_path: Path, small: list[str], toy: Path) -> None:
    import torch
    from transformers import BertModel

    folders = []
    for name in ("narrow", "wide"):
        folders.append(shutil.copytree(toy, tmp_path / name))
        model = BertModel.from_pretrained(toy, add_pooling_layer=False, dtype=torch.float32).to(torch.bfloat16)
        (model if name == "narrow" else model.float()).save_pretrained(folders[-1])
    assert json.loads((folders[0] / "config.json").read_text())["dtype"] == "bfloat16"
    narrow, wide = (bake(compose(*small, *TINY["pretrained"], bakery.checkpoint_override(folder))) for folder in folders)
    assert narrow.record.run_id != wide.record.run_id
    assert narrow.predictions == wide.predictions
    assert narrow.record.size is not None
    assert narrow.record.size.bytes == 4 * narrow.record.size.parameters_total


def test_truncation_and_padding_that_a_tokeniser_stores_are_cleared(tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "stored", stored_limit=8)
    tokeniser = CheckpointTokeniser(folder)
    ids = tokeniser.encode(["hi " * 600, "hi"])
    assert [len(tokeniser.prefix) + len(each) + len(tokeniser.suffix) for each in ids] == [602, 3]
    assert (tokeniser.prefix, tokeniser.suffix) == ((2,), (3,))


def test_two_tokenisers_share_no_cached_tokens(tmp_path: Path) -> None:
    words = ["good", "bad"]
    one = CheckpointTokeniser(bakery.checkpoint(tmp_path / "one", words=words))
    other = CheckpointTokeniser(bakery.checkpoint(tmp_path / "other", words=words[::-1]))
    texts = ["good bad bad"]
    for _ in range(2):  # the second time from the cache
        assert one.encode(texts)[0].tolist() == [5, 6, 6]
        assert other.encode(texts)[0].tolist() == [6, 5, 5]


@pytest.mark.parametrize("damage", ["half", "flipped", "empty"])
def test_a_damaged_token_cache_is_made_again(tmp_path: Path, damage: str) -> None:
    from bakeoff.cache import cache_root

    texts = [text for text, _ in rows(50)]
    tokeniser = CheckpointTokeniser(bakery.checkpoint(tmp_path / "toy"))
    first = [ids.tolist() for ids in tokeniser.encode(texts)]
    (file,) = (cache_root() / "tokens").iterdir()
    raw = bytearray(file.read_bytes())
    raw[300] ^= 1
    file.write_bytes({"half": raw[: len(raw) // 2], "flipped": raw, "empty": b""}[damage])
    assert [ids.tolist() for ids in tokeniser.encode(texts)] == first
    assert [ids.tolist() for ids in tokeniser.encode(texts)] == first


def test_a_reading_above_the_checkpoints_limit_is_refused_before_anything_starts(small: list[str], tiny: dict[str, list[str]]) -> None:
    above = compose(*small, *tiny["pretrained"], "longdoc.max_tokens=65")
    with pytest.raises(NotApplicable) as refused:
        checks.check(above.run)
    assert str(refused.value) == (
        "longdoc.max_tokens=65 is above the 64 tokens that pretrained can read: use longdoc=head with longdoc.max_tokens=64 or less, "
        "or longdoc=windows for whole documents"
    )
    assert list(default_root().iterdir()) == []


def test_the_checkpoints_limit_itself_is_read(tmp_path: Path, small: list[str], tiny: dict[str, list[str]]) -> None:
    test = write_csv(tmp_path / "long.csv", [("good " * 500, "neg"), ("bad " * 500, "pos")])
    job = compose(*small, f"dataset.test_path={test}", *tiny["pretrained"], f"longdoc.max_tokens={bakery.POSITIONS}")
    checks.check(job.run)
    facts = bake(job).record.data
    assert (facts.truncated_fraction, facts.length_tokens["p50"]) == (1.0, 502.0)


# What cannot be saved.


def test_a_full_disk_fails_the_run_loudly_and_leaves_earlier_records(
    small: list[str], tiny: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bakeoff.commands.baking import bake_runs

    store = Store(default_root())
    done, job = compose(*small, *tiny["majority"]), compose(*small, *tiny["tfidf"])
    before = (bake(done).folder / RECORD).read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", full)
    outcome = bake_runs([done.run, job.run], job.machine, store, executor="inprocess")
    assert outcome.failed == {job.run.run_id: "OSError: No space left on device"}
    assert outcome.present == (done.run.run_id,)
    assert store.load(job.run.run_id) is None
    assert (store.folder(done.run.run_id) / RECORD).read_bytes() == before
    failure = store.failure(job.run.run_id)
    assert failure is not None
    assert failure["message"] == "No space left on device"


def test_predictions_hold_no_text(small: list[str], tiny: dict[str, list[str]]) -> None:
    schema = parquet.read_schema(bake(compose(*small, *tiny["tfidf"])).folder / "predictions.parquet")
    assert schema.names == ["row_id", "label", "predicted", "probabilities", "contaminated", "group", "length_tokens"]
    assert [schema.field(name).type for name in ("row_id", "label", "predicted")] == [pa.string(), pa.int32(), pa.int32()]


def test_the_written_configuration_bakes_the_same_run(tmp_path: Path, small: list[str], tiny: dict[str, list[str]]) -> None:
    from bakeoff.config import Composer

    for kind in KINDS:
        baked = bake(compose(*small, *tiny[kind], "seed=3", "budget.labels=10", "+dataset.label_map.neg=unhappy"))
        first, *_ = (baked.folder / "run.yaml").read_text().splitlines()
        assert first == f"# Bake this Run again: bakeoff run --config-dir {baked.folder} --config-name run"
        again: Job = Composer(baked.folder, "run").job([])
        assert again.run == baked.record.run
        assert again.run.run_id == baked.record.run_id


def test_the_written_configuration_refuses_other_bytes(tmp_path: Path, tiny: dict[str, list[str]]) -> None:
    from bakeoff.config import Composer

    pool, test = write_csv(tmp_path / "pool.csv", rows(24)), write_csv(tmp_path / "test.csv", rows(12, seed=1))
    baked = bake(compose(*on_table(pool, test), *tiny["tfidf"]))
    write_csv(pool, rows(24, seed=3))
    with pytest.raises(DataError) as refused:
        Composer(baked.folder, "run").job([])
    assert str(refused.value) == (
        "dataset.path holds other bytes than dataset.fingerprint says: pass ~dataset.fingerprint to ask about the bytes as they are now"
    )
    other = Composer(baked.folder, "run").job(["~dataset.fingerprint"]).run
    assert other.run_id == compose(*on_table(pool, test), *tiny["tfidf"]).run.run_id


def test_awkward_paths_reach_the_data(tmp_path: Path, tiny: dict[str, list[str]]) -> None:
    folder = tmp_path / "it's (1), [a=b] $x"
    folder.mkdir()
    pool, test = write_csv(folder / "a b.csv", rows(24)), write_csv(folder / "c,d.csv", rows(12, seed=1))
    baked = bake(compose(*on_table(pool, test), *tiny["tfidf"], f"dataset.name={quoted('a, b')}"))
    from bakeoff.config import Composer

    assert Composer(baked.folder, "run").job([]).run.run_id == baked.record.run_id
