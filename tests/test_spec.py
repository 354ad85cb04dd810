"""Identity: what is hashed, what is not, and ids that must never move."""

import dataclasses
import json

import pytest

import factories
from bakeoff import convert, spec
from bakeoff import identity as identities
from bakeoff.errors import ConfigError, NotApplicable, UnknownSetting

GOLDEN = {"majority": "4ef1816ee960", "tfidf": "350367a4d897", "bilstm": "62f21cde4f73", "pretrained": "23d23a0dc34f"}
GOLDEN |= {"zero_shot": "6d78e3d99f24", "off_the_shelf": "0ba587caa744", "predictions": "f82ac1e3a14c"}
GOLDEN |= {"frozen": "b425545d2ef3", "scratch": "188e40e31b2e"}
"""Published ids. One that changes needs a raised `recipe`, or a new field that is `neutral`, not a new golden id."""

KINDS = "bilstm, frozen, majority, off_the_shelf, predictions, pretrained, scratch, tfidf, zero_shot"
NO_LABELS = "budget.labels=0 leaves tfidf nothing to learn from: give it labels, or choose model=zero_shot"


@pytest.mark.parametrize("kind", spec.MODEL_KINDS)
def test_published_ids_stay(kind: str) -> None:
    run = factories.make_run(model=kind, labels=1000, seed=3)
    assert run.run_id == GOLDEN[kind]
    assert run.question_id == GOLDEN[kind]


def nouns() -> list[type]:
    return [spec.Dataset, spec.Budget, spec.LongDoc, spec.Training, spec.Run, *spec.MODEL_KINDS.values(), *spec.PROBE_KINDS.values()]


@pytest.mark.parametrize("noun", nouns())
def test_every_field_is_classified_and_model_fields_say_their_part(noun: type) -> None:
    for field in dataclasses.fields(noun):
        assert field.metadata.get("identity") in ("hashed", "neutral", "none"), f"{noun.__name__}.{field.name}"
        if noun in spec.MODEL_KINDS.values() and field.metadata["identity"] == "hashed":
            assert field.metadata["part"] in ("architecture", "training"), f"{noun.__name__}.{field.name}"


def test_an_unclassified_field_has_no_identity() -> None:
    @dataclasses.dataclass(frozen=True)
    class Careless:
        forgotten: int = 1

    with pytest.raises(TypeError, match=r"Careless\.forgotten is not classified"):
        spec.identity(Careless())


def test_a_neutral_field_leaves_old_ids_alone_until_it_has_an_effect() -> None:
    @dataclasses.dataclass(frozen=True)
    class Old:
        a: int = identities.hashed()

    @dataclasses.dataclass(frozen=True)
    class New:
        a: int = identities.hashed()
        b: float = identities.neutral(0.0)

    assert spec.identity(New(a=1)) == spec.identity(Old(a=1)) == {"a": 1}
    assert spec.identity(New(a=1, b=0.5)) == {"a": 1, "b": 0.5}


def test_the_hash_is_of_sorted_compact_json() -> None:
    import hashlib

    text = '{"id_version":1,"run":{"a":[1,2.5],"b":null}}'
    assert spec.hash_identity({"b": None, "a": [1, 2.5]}) == hashlib.sha256(text.encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"description": "x"},
        {"family": "x"},
        {"redistributable": True},
        {"metric": "macro_f1"},
        {"path": "/elsewhere/x.csv"},
    ],
)
def test_names_and_paths_are_not_part_of_the_question(change: dict[str, object]) -> None:
    run = factories.make_run(dataset=factories.make_dataset(**change))
    assert run.run_id == factories.make_run().run_id


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": "b" * 64},
        {"text": "body"},
        {"encoding": "cp1252"},
        {"label_map": {"a": "b"}},
        {"held_out_rows": 100},
        {"group": "g"},
    ],
)
def test_bytes_columns_encoding_split_and_label_map_are(change: dict[str, object]) -> None:
    run = factories.make_run(dataset=factories.make_dataset(**change))
    assert run.run_id != factories.make_run().run_id


def test_seed_draw_and_threads_are_part_of_the_question() -> None:
    run = factories.make_run()
    others = [
        dataclasses.replace(run, seed=1),
        dataclasses.replace(run, budget=dataclasses.replace(run.budget, draw=1)),
        dataclasses.replace(run, probe=spec.Quality(threads=2)),
    ]
    assert len({run.run_id, *(other.run_id for other in others)}) == 4


@pytest.mark.parametrize("kind", spec.MODEL_KINDS)
def test_identity_is_the_same_from_a_plan_and_from_its_json(kind: str) -> None:
    run = factories.make_run(model=kind)
    read = convert.build_run(json.loads(json.dumps(spec.to_plain(run))))
    assert read == run
    assert read.run_id == run.run_id


@pytest.mark.parametrize("written", [2e-5, "2e-5", "2.0e-5", "0.00002"])
def test_a_learning_rate_is_one_number_however_it_is_written(written: object) -> None:
    plain = spec.to_plain(factories.make_run(model="pretrained"))
    plain["model"]["training"]["learning_rate"] = written
    run = convert.build_run(plain)
    assert run.model.training.learning_rate == 2e-5
    assert run.run_id == factories.make_run(model="pretrained").run_id


def test_a_whole_number_where_a_float_belongs_is_the_same_question() -> None:
    plain = spec.to_plain(factories.make_run(model="pretrained"))
    plain["model"]["training"]["clip_norm"] = 1
    assert convert.build_run(plain).run_id == factories.make_run(model="pretrained").run_id


@pytest.mark.parametrize(
    ("section", "key", "value", "kind", "sentence"),
    [
        ("budget", "label", 3, UnknownSetting, "budget.label is not a setting; did you mean budget.labels?"),
        ("budget", "labels", "many", ConfigError, "budget.labels=many should be a whole number or all"),
        ("budget", "labels", True, ConfigError, "budget.labels=True should be a whole number or all"),
        ("budget", "labels", 2.5, ConfigError, "budget.labels=2.5 should be a whole number or all"),
        (
            "budget",
            "labels",
            0,
            NotApplicable,
            NO_LABELS,
        ),
        ("budget", "order", "sorted", ConfigError, "budget.order=sorted should be one of stratified, random"),
        ("longdoc", "max_tokens", 10, NotApplicable, "longdoc.max_tokens=10 needs longdoc=head: full reads the whole document"),
        (
            "model",
            "kind",
            "bert",
            ConfigError,
            f"model.kind=bert should be one of {KINDS}",
        ),
        ("model", "c_grid", [0.0], NotApplicable, "model.c_grid should list at least one number above 0"),
        ("model", "sublinear_tf", "yes", ConfigError, "model.sublinear_tf=yes should be true or false"),
        ("dataset", "text", None, NotApplicable, "dataset.text is empty: name the column that holds the text"),
        ("dataset", "fold", 1, NotApplicable, "dataset.fold=1 needs dataset.split=fold, but dataset.split=held_out_rows"),
        ("probe", "threads", 0, NotApplicable, "probe.threads=0 should be at least 1"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_key_value_and_remedy(
    section: str, key: str, value: object, kind: type[Exception], sentence: str
) -> None:
    plain = spec.to_plain(factories.make_run())
    plain[section][key] = value
    with pytest.raises(ConfigError) as caught:
        convert.build_run(plain)
    assert str(caught.value) == sentence
    assert type(caught.value) is kind


def test_a_missing_key_is_named() -> None:
    plain = spec.to_plain(factories.make_run())
    del plain["budget"]["draw"]
    with pytest.raises(ConfigError, match=r"^budget\.draw is missing"):
        convert.build_run(plain)


@pytest.mark.parametrize("value", [float("nan"), "inf", "fast", True])
def test_no_number_is_no_learning_rate(value: object) -> None:
    plain = spec.to_plain(factories.make_run(model="pretrained"))
    plain["model"]["training"]["learning_rate"] = value
    with pytest.raises(ConfigError, match=r"learning_rate=.* should be a number"):
        convert.build_run(plain)


@pytest.mark.parametrize("model", [kind for kind in spec.MODEL_KINDS if kind != "predictions"])
def test_an_untrained_latency_run_asks_about_the_architecture_alone(model: str) -> None:
    run = factories.make_latency_run(model=model)
    same = [
        dataclasses.replace(run, seed=7),
        dataclasses.replace(run, budget=dataclasses.replace(run.budget, labels=10, draw=3, order="random")),
        dataclasses.replace(run, model=dataclasses.replace(run.model, name="another name")),
    ]
    if isinstance(run.model, spec.Neural):
        training = dataclasses.replace(run.model.training, learning_rate=1e-3, epochs=9)
        same.append(dataclasses.replace(run, model=dataclasses.replace(run.model, training=training)))
    if isinstance(run.model, spec.BiLstm | spec.Scratch):
        same.append(dataclasses.replace(run, model=dataclasses.replace(run.model, dropout=0.0)))
    if isinstance(run.model, spec.Tfidf):
        same.append(dataclasses.replace(run, model=dataclasses.replace(run.model, c_grid=(3.0,), cv_folds=9)))
    assert {each.run_id for each in same} == {run.run_id}
    assert {each.question_id for each in same} == {run.question_id}


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("tfidf", {"ngram_max": 1}),
        ("bilstm", {"hidden_dim": 32}),
        ("bilstm", {"embedding_dim": 32}),
        ("bilstm", {"layers": 2}),
        ("bilstm", {"pooling": "mean"}),
        ("bilstm", {"precision": "bfloat16"}),
        ("bilstm", {"max_vocabulary": 10}),
        ("bilstm", {"directions": "forward"}),
        ("scratch", {"width": 32}),
        ("scratch", {"positions": "none"}),
        ("scratch", {"norm": "after"}),
        ("scratch", {"causal": True}),
        ("scratch", {"vocabulary": "word_pieces", "checkpoint": "minilm-l6", "checkpoint_fingerprint": "d" * 64}),
        ("pretrained", {"checkpoint_fingerprint": "d" * 64}),
        ("pretrained", {"precision": "bfloat16"}),
        ("pretrained", {"pooling": "max"}),
    ],
)
def test_the_architecture_is_part_of_it(model: str, change: dict[str, object]) -> None:
    run = factories.make_latency_run(model=model)
    assert dataclasses.replace(run, model=dataclasses.replace(run.model, **change)).run_id != run.run_id


@pytest.mark.parametrize(
    "change",
    [
        {"threads": 2},
        {"device": "cuda"},
        {"engine": "onnx"},
        {"scenario": "offline", "batch_size": None},
        {"lengths": "grid"},
        {"weights": "trained"},
    ],
)
def test_every_setting_of_the_probe_is_part_of_it(change: dict[str, object]) -> None:
    run = factories.make_latency_run()
    other = dataclasses.replace(run, probe=dataclasses.replace(run.probe, **change))
    assert other.run_id != run.run_id
    assert other.question_id != run.question_id


def test_trained_weights_are_of_a_budget_a_seed_and_a_recipe() -> None:
    run = factories.make_latency_run(weights="trained")
    training = dataclasses.replace(run.model.training, epochs=9)
    others = [
        dataclasses.replace(run, seed=7),
        dataclasses.replace(run, budget=dataclasses.replace(run.budget, labels=10)),
        dataclasses.replace(run, model=dataclasses.replace(run.model, training=training)),
    ]
    assert len({run.run_id, *(other.run_id for other in others)}) == 4


def test_answers_from_a_file_cannot_be_timed() -> None:
    with pytest.raises(ValueError, match=r"^probe=latency means nothing to rules, whose answers stand in a file"):
        factories.make_latency_run(model="predictions")


def test_what_a_model_is_told_of_the_classes_is_its_own_and_the_datasets_copy_is_not() -> None:
    run = factories.make_run(model="zero_shot")
    assert isinstance(run.model, spec.ZeroShot)
    told = factories.make_dataset(label_descriptions={"negative": "a bad film"})
    assert dataclasses.replace(run, dataset=told).run_id == run.run_id
    assert dataclasses.replace(run, model=dataclasses.replace(run.model, descriptions={})).run_id != run.run_id


def test_a_pretraining_run_is_named_by_its_own_training_and_a_student_by_its_start() -> None:
    quality = factories.make_run(model="scratch", labels=1000, seed=3)
    probe = spec.Pretrain(threads=1, mask_fraction=0.15, training=factories.TRAINING)
    start = dataclasses.replace(quality, probe=probe)
    assert start.run_id == "b7e45bdb777c"
    slower = dataclasses.replace(factories.TRAINING, learning_rate=1e-5)
    unread = dataclasses.replace(quality.model, training=slower)  # type: ignore[arg-type]
    assert dataclasses.replace(start, model=unread).run_id == start.run_id
    other = dataclasses.replace(start, probe=dataclasses.replace(probe, training=slower))
    assert other.run_id != start.run_id
    pooled = dataclasses.replace(start, model=dataclasses.replace(start.model, pooling="max"))  # type: ignore[arg-type]
    assert pooled.run_id == start.run_id
    student = dataclasses.replace(quality, start=start)
    assert student.run_id == "d3e150618dc4"
    assert len({quality.run_id, student.run_id, dataclasses.replace(quality, start=other).run_id}) == 3


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        ({"layer_decay": 0.9}, False),
        ({"head_first_epochs": 1}, False),
        ({"pooling": "max"}, False),
        ({"reinitialised_layers": 1}, True),
        ({"keep_layers": (0, 2)}, True),
        ({"precision": "bfloat16"}, True),
        ({"checkpoint_fingerprint": "d" * 64}, True),
    ],
)
def test_what_pretraining_does_not_read_is_no_part_of_it(change: dict[str, object], matters: bool) -> None:
    probe = spec.Pretrain(threads=1, mask_fraction=0.15, training=factories.TRAINING)
    start = dataclasses.replace(factories.make_run(model="pretrained"), probe=probe)
    other = dataclasses.replace(start, model=dataclasses.replace(start.model, **change))  # type: ignore[arg-type]
    assert (other.run_id != start.run_id) is matters


def test_two_machines_have_two_answers_to_one_question() -> None:
    here, there = (factories.make_latency_run(machine=name) for name in ("abacus", "slide rule"))
    assert here.run_id != there.run_id
    assert here.question_id == there.question_id == factories.make_latency_run(machine="").run_id
    assert here.question_id != here.run_id
