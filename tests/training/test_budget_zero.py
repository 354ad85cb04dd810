"""Models that read no label, and files of answers, from their configuration to their record, on tiny data."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import bakery
import zero
from bakeoff import record as records
from bakeoff import spec
from bakeoff.commands.data import data
from bakeoff.config import quoted
from bakeoff.data import checks, longdoc
from bakeoff.data.dataset import Prepared, prepare
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.errors import BakeoffError, DataError, NotApplicable
from bakeoff.store import RECORD
from bakeoff.training import budget_zero
from bakery import Baked, bake, compose, on_table, rows, write_csv

NLI = ("entailment", "neutral", "contradiction")
ODD = ["", "   ", "🙂🎉", "zzzz qqqq"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A toy checkpoint of each sort."""
    here = tmp_path_factory.mktemp("checkpoints")
    return {
        "nli": zero.classifier(here / "nli", NLI),
        "sentiment": zero.classifier(here / "sentiment", ["neutral", "POS", "NEG"]),
        "embedder": zero.embedder(here / "embedder"),
        "bare": bakery.checkpoint(here / "bare"),
    }


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    """40 rows to draw from, of which three quarters are "pos", and 30 to test on, of which a third is."""
    pool = rows(40, labels=("neg", "pos", "pos", "pos"))
    return on_table(
        write_csv(tmp_path / "pool.csv", pool), write_csv(tmp_path / "test.csv", rows(30, labels=("neg", "neg", "pos"), seed=1))
    )


@pytest.fixture
def asked(folders: dict[str, Path], table: list[str]) -> dict[str, list[str]]:
    """Overrides of each model that reads no label."""
    short = ["longdoc.max_tokens=32", "budget.labels=0", *table]
    entails = ["model.method=entailment", "model.template='a {}'"]
    return {
        "similarity": ["model=zero_shot", bakery.checkpoint_override(folders["embedder"]), *short],
        "entailment": ["model=zero_shot", bakery.checkpoint_override(folders["nli"]), *entails, *short],
        "off_the_shelf": [
            "model=off_the_shelf",
            bakery.checkpoint_override(folders["sentiment"]),
            "+model.labels={NEG: neg, POS: pos}",
            *short,
        ],
    }


def prepared(overrides: list[str]) -> Prepared:
    return prepare(compose(*overrides).run.dataset)


def answers_file(file: Path, table: list[str], **columns: Any) -> list[dict[str, Any]]:
    """A row for each test row with its true label, and columns that a number or a function of the row's place gives."""
    data = prepared(["model=majority", *table])
    told = [
        {"row_id": row_id, "label": data.classes[label], **{name: each(i) if callable(each) else each for name, each in columns.items()}}
        for i, (row_id, label) in enumerate(zip(data.test.row_ids, data.test.labels.tolist(), strict=True))
    ]
    write_answers(file, told)
    return told


def write_answers(file: Path, told: list[dict[str, Any]]) -> None:
    with open(file, "w", newline="") as handle:
        writer = csv.DictWriter(handle, list(told[0]))
        writer.writeheader()
        writer.writerows(told)


def from_file(file: Path, table: list[str]) -> list[str]:
    return ["model=predictions", "model.name=rules", f"model.path={quoted(str(file))}", "budget.labels=0", *table]


# Budget 0.


@pytest.mark.parametrize("kind", ["similarity", "entailment", "off_the_shelf"])
def test_no_label_is_spent_and_nothing_is_fitted(asked: dict[str, list[str]], kind: str) -> None:
    checks.check(compose(*asked[kind]).run)
    found = bake(compose(*asked[kind])).record
    assert (found.data.n_pool, found.data.n_fit, found.data.n_val, found.data.n_test) == (40, 0, 0, 30)
    assert (found.training.stop_reason, found.training.seconds, found.training.steps, found.training.epochs) == ("not_trained", 0.0, 0, 0.0)
    assert found.size is not None
    assert found.size.parameters_trainable == 0 < found.size.parameters_total
    assert found.quality["test"].majority_baseline == 1 / 3, "the class that is largest in the pool"
    assert set(found.quality) == {"test", "test_to_512"}
    assert not {finding.code for finding in found.data.audit} & {"unseen_class"}
    assert not any("learning rate" in sign.message for sign in found.training.diagnostics)
    assert found.data.length_tokens["max"] == 12.0
    assert found.stated is None


@pytest.mark.parametrize("kind", ["similarity", "entailment", "off_the_shelf"])
def test_seeds_change_no_answer_and_a_record_survives_its_json(asked: dict[str, list[str]], kind: str) -> None:
    baked = [bake(compose(*asked[kind], f"seed={seed}")) for seed in (0, 1)]
    assert baked[0].answers == baked[1].answers
    again = records.from_json((baked[0].folder / RECORD).read_text())
    assert (again.run_id, again.quality) == (baked[0].record.run_id, baked[0].record.quality)


@pytest.mark.parametrize("kind", ["similarity", "entailment", "off_the_shelf"])
def test_empty_and_unknown_texts_have_an_answer(asked: dict[str, list[str]], tmp_path: Path, kind: str) -> None:
    odd = write_csv(tmp_path / "odd.csv", [(text, "neg" if i % 2 else "pos") for i, text in enumerate(ODD)])
    baked = bake(compose(*asked[kind], f"dataset.test_path={quoted(str(odd))}"))
    assert baked.record.status == "ok"
    assert np.isfinite([probabilities for _, probabilities in baked.answers.values()]).all()


def test_descriptions_are_the_models_own_on_top_of_the_datasets(asked: dict[str, list[str]]) -> None:
    told = compose(*asked["similarity"], "+dataset.label_descriptions.neg=bad", "+model.descriptions.pos=good").run
    assert told.model.descriptions == {"neg": "bad", "pos": "good"}  # type: ignore[union-attr]
    other = compose(*asked["similarity"], "+dataset.label_descriptions.neg=bad", "+model.descriptions.neg=dull").run
    assert other.model.descriptions == {"neg": "dull"}  # type: ignore[union-attr]


def test_similarity_answers_the_nearest_description(asked: dict[str, list[str]]) -> None:
    """Each text is also the description of its class, so that each is nearest to its own, at a cosine of 1."""
    data = prepared(asked["similarity"])
    first = {name: data.test.texts[data.test.labels.tolist().index(i)] for i, name in enumerate(data.classes)}
    baked = bake(compose(*asked["similarity"], *(f"+model.descriptions.{name}='{text}'" for name, text in first.items())))
    for i, name in enumerate(data.classes):
        predicted, probabilities = baked.answers[data.test.row_ids[data.test.texts.index(first[name])]]
        assert predicted == i
        assert probabilities[i] > 0.5


def test_the_order_of_a_checkpoints_labels_changes_no_answer(asked: dict[str, list[str]], tmp_path: Path) -> None:
    shuffled = zero.classifier(tmp_path / "shuffled", ["NEG", "neutral", "POS"], order=[2, 0, 1])
    other = [*asked["off_the_shelf"], bakery.checkpoint_override(shuffled)]
    assert bake(compose(*other)).answers == bake(compose(*asked["off_the_shelf"])).answers


def test_room_for_a_sentence_is_taken_from_the_text_and_counted_as_cut(asked: dict[str, list[str]]) -> None:
    """12 tokens with the special ones; a pair adds "a neg" or "a pos", one unknown word each, and a separator."""
    fits = bake(compose(*asked["entailment"], "longdoc.max_tokens=15")).record
    cut = bake(compose(*asked["entailment"], "longdoc.max_tokens=14")).record
    assert (fits.data.truncated_fraction, cut.data.truncated_fraction) == (0.0, 1.0)


def test_a_tail_keeps_its_last_token_beside_a_class_in_words(folders: dict[str, Path], asked: dict[str, list[str]]) -> None:
    """A class in words takes two tokens with its separator, where a text that stands alone has one at its end."""
    run = compose(*asked["entailment"], "longdoc=tail", "longdoc.max_tokens=14").run
    assert isinstance(run.model, spec.ZeroShot)
    tokeniser = CheckpointTokeniser(folders["nli"])
    judge = budget_zero.assemble_budget_zero(run, run.model, tokeniser, folders["nli"], classes=("neg", "pos"))
    reading = budget_zero._beside_classes(run.longdoc, judge)
    (ids,) = longdoc.read(["zzz " * 30 + "good bad"], tokeniser, reading).ids
    room = 14 - max(judge.tail_lengths)
    assert judge.text_tokens(torch.tensor([len(ids)])).tolist() == [len(ids) - 1] == [room]
    assert tokeniser._tokeniser.decode(ids.tolist()).split()[-3:] == ["good", "bad", "[SEP]"]


@pytest.mark.parametrize("kind", ["similarity", "entailment", "off_the_shelf"])
def test_what_is_saved_holds_all_that_answers(asked: dict[str, list[str]], kind: str) -> None:
    folder = bake(compose(*asked[kind], "machine.keep_weights=all")).folder / "model"
    assert json.loads((folder / "bakeoff.json").read_text())["classes"] == ["neg", "pos"]
    assert (folder / "config.json").is_file()
    assert (folder / "tokenizer.json").is_file()
    weights = load_file(folder / "model.safetensors")
    if kind == "similarity":
        assert np.linalg.norm(weights["described"], axis=1) == pytest.approx(np.ones(2), abs=1e-6)


# What cannot be done is refused before anything starts, and again when it is baked.


def refused(overrides: list[str]) -> str:
    job = compose(*overrides)
    with pytest.raises(BakeoffError) as early:
        checks.check(job.run)
    if not isinstance(early.value, NotApplicable):
        with pytest.raises(BakeoffError) as late:
            bake(job)
        assert str(late.value) == str(early.value)
    return str(early.value)


def test_a_checkpoint_that_cannot_do_it_is_refused_not_run(asked: dict[str, list[str]], folders: dict[str, Path]) -> None:
    bare, sentiment = (bakery.checkpoint_override(folders[name]) for name in ("bare", "sentiment"))
    assert refused([*asked["similarity"], bare]).startswith("model.checkpoint=bare is no embedding checkpoint")
    assert refused([*asked["entailment"], bare]).startswith("model.checkpoint=bare is BertModel, which classifies nothing")
    assert refused([*asked["entailment"], sentiment]) == (
        "model.checkpoint=sentiment has no label of entailment (its labels are neutral, POS, NEG): name one that was trained for "
        "natural-language inference"
    )
    assert refused([*asked["off_the_shelf"], bare]).startswith("model.checkpoint=bare is BertModel, which classifies nothing")
    assert refused([*asked["off_the_shelf"], "++model.labels.POS=poss"]) == (
        "model.labels.POS=poss is no class of the data; did you mean pos? There are neg, pos"
    )
    assert refused([*asked["similarity"], "+model.descriptions.negg=bad"]) == (
        "model.descriptions.negg describes a class that the data does not have; did you mean neg? There are neg, pos"
    )
    assert refused([*asked["similarity"], "longdoc.max_tokens=65"]).startswith("longdoc.max_tokens=65 is above the 64 tokens")


def test_what_entailment_needs_of_a_tokeniser_and_of_a_reading_is_asked_before_anything_starts(asked: dict[str, list[str]]) -> None:
    """Behind a text stand a separator, three words and another separator."""
    assert refused([*asked["entailment"], "model.template='a good {}'", "longdoc.max_tokens=6"]) == (
        "longdoc.max_tokens=6 leaves no room for a text beside a class in words (5 tokens): shorten model.template and the descriptions"
    )


def test_a_tokeniser_that_writes_no_pairs_is_refused_before_anything_starts(asked: dict[str, list[str]], tmp_path: Path) -> None:
    folder = zero.without_pairs(zero.classifier(tmp_path / "lone", NLI))
    assert refused([*asked["entailment"], bakery.checkpoint_override(folder)]) == (
        "model.checkpoint=lone has a tokeniser that writes no pairs of texts, which entailment needs"
    )


def test_similarity_reads_pairs_of_texts(folders: dict[str, Path], tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    with open(table, "w", newline="") as handle:
        csv.writer(handle).writerows([("text", "other", "label"), *((text, f"hi {text[::-1]}", label) for text, label in rows(60))])
    columns = ["dataset.text=text", "dataset.text_pair=other", "dataset.label=label", "machine.wandb=disabled"]
    job = compose(
        "model=zero_shot", bakery.checkpoint_override(folders["embedder"]), "longdoc.max_tokens=64", "budget.labels=0",
        "dataset=csv", f"dataset.path={quoted(str(table))}", *columns,
    )  # fmt: skip
    checks.check(job.run)
    assert bake(job).record.status == "ok"


def test_labels_and_models_that_read_none_do_not_go_together(asked: dict[str, list[str]]) -> None:
    with pytest.raises(NotApplicable, match=r"^budget\.labels=10 means nothing to zero_shot, which reads no label: set budget\.labels=0$"):
        compose(*asked["similarity"], "budget.labels=10")


# Answers made elsewhere.


def test_a_file_is_scored_like_a_model(table: list[str], tmp_path: Path) -> None:
    told = answers_file(tmp_path / "answers.csv", table, probability=lambda i: 0.9 if i < 20 else 0.6)
    for i in (0, 1, 25):
        told[i]["label"] = "pos" if told[i]["label"] == "neg" else "neg"
    write_answers(tmp_path / "answers.csv", told)
    checks.check(compose(*from_file(tmp_path / "answers.csv", table)).run)
    baked = bake(compose(*from_file(tmp_path / "answers.csv", table)))
    quality, found = baked.record.quality["test"], baked.record
    assert (quality.n, quality.accuracy, quality.majority_baseline) == (30, 0.9, 1 / 3)
    right = [0.9] * 18 + [0.6] * 9
    wrong = [0.1, 0.1, 0.4]
    assert quality.log_loss == pytest.approx(-np.log([*right, *wrong]).mean(), abs=1e-6)
    assert quality.ece == pytest.approx((20 * abs(18 / 20 - 0.9) + 10 * abs(9 / 10 - 0.6)) / 30, abs=1e-6)
    assert (found.data.n_fit, found.data.truncated_fraction, found.data.length_tokens) == (0, None, {})
    assert (found.size, found.stated, found.training.stop_reason) == (None, None, "not_trained")
    assert records.from_json((baked.folder / RECORD).read_text()).quality == found.quality


def test_without_probabilities_nothing_is_said_of_them(table: list[str], tmp_path: Path) -> None:
    answers_file(tmp_path / "answers.csv", table)
    quality = bake(compose(*from_file(tmp_path / "answers.csv", table))).record.quality["test"]
    assert (quality.accuracy, quality.macro_f1) == (1.0, 1.0)
    assert (quality.log_loss, quality.brier, quality.ece) == (None, None, None)


def test_stated_times_and_prices_stand_in_the_record(table: list[str], tmp_path: Path) -> None:
    answers_file(tmp_path / "answers.csv", table, milliseconds=lambda i: i + 1, price=lambda i: 0.002 if i < 10 else "")
    baked = bake(compose(*from_file(tmp_path / "answers.csv", table)))
    expected = records.Stated(p50_ms=15.5, p95_ms=28.55, n_timed=30, price_per_document=0.002, n_priced=10)
    assert baked.record.stated is not None
    assert baked.record.stated.p95_ms == pytest.approx(28.55)
    assert records.from_json((baked.folder / RECORD).read_text()).stated == baked.record.stated
    assert (baked.record.stated.p50_ms, baked.record.stated.n_priced) == (expected.p50_ms, expected.n_priced)
    assert baked.record.stated.price_per_document == pytest.approx(0.002)


def test_a_file_with_a_row_too_few_is_refused(table: list[str], tmp_path: Path) -> None:
    told = answers_file(tmp_path / "answers.csv", table)
    write_answers(tmp_path / "answers.csv", told[1:])
    assert refused(from_file(tmp_path / "answers.csv", table)).startswith(
        f"model.path=answers.csv has no answer for 1 of 30 test rows, the first is {told[0]['row_id']}"
    )


def test_the_record_names_no_folder(table: list[str], tmp_path: Path) -> None:
    answers_file(tmp_path / "answers.csv", table)
    baked = bake(compose(*from_file(tmp_path / "answers.csv", table)))
    assert json.loads((baked.folder / RECORD).read_text())["run"]["model"]["path"] == "answers.csv"


# From `bakeoff data --test-rows` to a score.


def test_the_test_rows_go_out_and_their_answers_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ['=1+1, "quoted"', "two\nlines", "plain words here"]
    pool, test = (
        write_csv(tmp_path / "pool.csv", rows(20)),
        write_csv(tmp_path / "test.csv", [*zip(texts, ("neg", "pos", "neg"), strict=True)]),
    )
    options = {"text": "text", "label": "label", "test_path": str(test)}
    out = tmp_path / "ids.csv"
    data(str(pool), options, model="majority", format="json", test_rows=out)
    message = capsys.readouterr().err
    assert message.startswith(f"3 test rows are in {out}: add a column label, and score it with bakeoff run dataset=csv ")
    with open(out, newline="", encoding="utf-8") as handle:
        told = list(csv.DictReader(handle))
    assert [set(row) for row in told] == [{"row_id", "text"}] * 3
    assert {row["text"] for row in told} == set(texts)
    for row in told:
        row["label"] = "pos" if "lines" in row["text"] else "neg"
    write_answers(tmp_path / "answers.csv", told)
    baked: Baked = bake(compose(*from_file(tmp_path / "answers.csv", on_table(pool, test))))
    assert baked.record.quality["test"].accuracy == 1.0
    with pytest.raises(DataError, match=r"exists already and may hold answers: name a new file$"):
        data(str(pool), options, model="majority", format="json", test_rows=out)


@pytest.mark.parametrize(
    ("model", "most"), [("tfidf", 10), ("bilstm", 10), ("frozen", 12), ("bilstm_pieces", 12), ("zero_shot", 12), ("pieces", 12)]
)
def test_lengths_are_counted_in_what_a_model_reads(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, most: int
) -> None:
    """Word-pieces and two special tokens wherever a model has a checkpoint, whether or not it reads labels; otherwise words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf" / "model").mkdir(parents=True)
    toy = {"frozen": "frozen", "bilstm_pieces": "bilstm_pieces", "zero_shot": "zero_shot", "pieces": "scratch"}
    if base := toy.get(model):
        lines = [f"checkpoint: {json.dumps(str(folders['embedder']))}", "vocabulary: word_pieces" if base == "scratch" else "name: toy"]
        (tmp_path / "conf" / "model" / "own.yaml").write_text("\n".join([f"defaults: [{base}, _self_]", *lines]) + "\n")
    pool = write_csv(tmp_path / "pool.csv", rows(60))
    found = json.loads(data(str(pool), {"text": "text", "label": "label"}, model="own" if base else model, format="json"))
    assert found["length_tokens"]["max"] == most


# The starter checkpoint, on rows of the pool alone.


@pytest.mark.slow
def test_the_starter_checkpoint_tells_film_reviews_apart_without_a_label() -> None:
    """200 rows of the pool; chance is about a half. A test row is never answered."""
    import dataclasses

    from bakeoff.data.budget import spend
    from bakeoff.training.learn import learn

    run = compose("model=zero_shot", "budget.labels=0", "dataset=movie", "machine.wandb=disabled").run
    checks.check(run)
    whole = prepare(run.dataset)
    some = whole.pool.take(range(200))
    found = learn(
        run,
        dataclasses.replace(whole, test=some, contaminated=np.zeros(200, dtype=bool)),
        spend(whole.pool, run.budget, validation=False),
        device="cpu",
        log=lambda step, values: None,
    )
    assert found.test is not None
    assert found.test.sum(axis=1) == pytest.approx(np.ones(200), abs=1e-5)
    accuracy = (found.test.argmax(axis=1) == some.labels).mean()
    assert accuracy > 0.6
