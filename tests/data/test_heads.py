"""What a checkpoint can do as it is, told from its files, and the sentence for what it cannot."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import bakery
import zero
from bakeoff.data import heads, hypotheses
from bakeoff.errors import DataError
from bakeoff.spec import OffTheShelf, ZeroShot

CLASSES = ("negative", "neutral", "positive")


def off_the_shelf(labels: Mapping[str, str] | None = None) -> OffTheShelf:
    return OffTheShelf(
        name="shelf",
        default_longdoc=None,  # type: ignore[arg-type]
        checkpoint="/models/toy",
        revision=None,
        checkpoint_fingerprint="c" * 64,
        precision="float32",
        labels=dict(labels or {}),
    )


def zero_shot(*, checkpoint: str = "/models/toy", template: str = "{}", descriptions: Mapping[str, str] | None = None) -> ZeroShot:
    return ZeroShot(
        name="zero",
        default_longdoc=None,  # type: ignore[arg-type]
        method="similarity",
        checkpoint=checkpoint,
        revision=None,
        checkpoint_fingerprint="c" * 64,
        precision="float32",
        template=template,
        descriptions=dict(descriptions or {}),
    )


def sentence(call: Any, *arguments: Any) -> str:
    with pytest.raises(DataError) as raised:
        call(*arguments)
    return str(raised.value)


# Labels of a classifier.


@pytest.mark.parametrize(
    ("labels", "mapped", "outputs"),
    [
        (("Positive", "NEGATIVE", "neutral"), {}, ((1,), (2,), (0,))),
        (("1", "2", "3", "4"), {"1": "negative", "2": "negative", "3": "neutral", "4": "positive"}, ((0, 1), (2,), (3,))),
        (("pos", "other", "neg", "neu"), {"neg": "negative", "pos": "positive", "neu": "neutral"}, ((2,), (3,), (0,))),
    ],
)
def test_outputs_are_mapped_by_name_and_never_by_position(
    labels: tuple[str, ...], mapped: dict[str, str], outputs: tuple[tuple[int, ...], ...]
) -> None:
    assert heads.outputs_of_classes(off_the_shelf(mapped), labels, CLASSES) == outputs


@pytest.mark.parametrize(
    ("labels", "mapped", "expected"),
    [
        (
            ("LABEL_0", "LABEL_1", "LABEL_2"),
            {},
            "model.checkpoint=toy answers LABEL_0, LABEL_1, LABEL_2, but the classes are negative, neutral, positive: say what its labels "
            "mean with '+model.labels={LABEL_0: negative, …}'",
        ),
        (
            ("negative", "positive"),
            {},
            "model.checkpoint=toy answers negative, positive, but the classes are negative, neutral, positive: say what its labels mean "
            "with '+model.labels={negative: negative, …}'",
        ),
        (
            ("neg", "pos"),
            {"neg": "negativ", "pos": "positive"},
            "model.labels.neg=negativ is no class of the data; did you mean negative? There are negative, neutral, positive",
        ),
        (
            ("neg", "pos"),
            {"net": "negative", "pos": "positive"},
            "model.labels.net is no label of model.checkpoint=toy; did you mean neg? There are neg, pos",
        ),
        (
            ("neg", "pos"),
            {"neg": "negative", "pos": "positive"},
            "model.labels lets model.checkpoint=toy never answer neutral: map a label to each class (its labels are neg, pos)",
        ),
    ],
)
def test_a_map_that_cannot_answer_every_class_is_refused(labels: tuple[str, ...], mapped: dict[str, str], expected: str) -> None:
    assert sentence(heads.outputs_of_classes, off_the_shelf(mapped), labels, CLASSES) == expected


def test_the_names_of_outputs_stand_in_their_order_whatever_that_of_the_file(tmp_path: Path) -> None:
    toy = zero.classifier(tmp_path / "toy", ["a", "b", "c"])
    shuffled = zero.rewritten(toy, tmp_path / "shuffled", id2label={"2": "c", "0": "a", "1": "b"})
    unnamed = zero.rewritten(toy, tmp_path / "unnamed", id2label=None, num_labels=3)
    assert heads.label_names(off_the_shelf(), toy) == heads.label_names(off_the_shelf(), shuffled) == ("a", "b", "c")
    assert heads.label_names(off_the_shelf(), unnamed) == ("LABEL_0", "LABEL_1", "LABEL_2")


def test_the_output_layer_of_attention_is_no_head(tmp_path: Path) -> None:
    """A BART has `self_attn.out_proj.weight` of 16 rows in its body, and `classification_head.out_proj.weight` of 3."""
    assert heads.label_names(off_the_shelf(), zero.bart(tmp_path / "toy", ["a", "b", "c"])) == ("a", "b", "c")
    rewritten = zero.rewritten(tmp_path / "toy", tmp_path / "two", id2label={"0": "a", "1": "b"})
    assert sentence(heads.label_names, off_the_shelf(), rewritten) == (
        "model.checkpoint=toy has 3 outputs but names 2 labels: its config.json is not its own"
    )


def test_a_checkpoint_that_classifies_nothing_is_refused(tmp_path: Path) -> None:
    toy = zero.classifier(tmp_path / "toy", ["a", "b", "c"])
    expected = {
        "bare": "is BertModel, which classifies nothing: name one that was fine-tuned as a …ForSequenceClassification",
        "unsaid": "is of no stated architecture, which classifies nothing: name one that was fine-tuned as a …ForSequenceClassification",
        "headless": "has no classification head among its weights, so a random one would answer: name a fine-tuned checkpoint",
        "two": "has 3 outputs but names 2 labels: its config.json is not its own",
        "alike": "calls several of its outputs alike, so that they cannot be told apart by name",
        "several": "gives a text several labels at once (multi-label), which bakeoff does not do",
        "empty": "has no readable config.json: name a folder with a saved checkpoint",
    }
    bare = bakery.checkpoint(tmp_path / "bare")
    zero.rewritten(toy, tmp_path / "unsaid", architectures=None)
    zero.rewritten(bare, tmp_path / "headless", architectures=["BertForSequenceClassification"], id2label={"0": "a", "1": "b"})
    zero.rewritten(toy, tmp_path / "two", id2label={"0": "a", "1": "b"})
    zero.rewritten(toy, tmp_path / "alike", id2label={"0": "a", "1": "b", "2": "b"})
    zero.rewritten(toy, tmp_path / "several", problem_type="multi_label_classification")
    (tmp_path / "empty").mkdir()
    for name, rest in expected.items():
        assert sentence(heads.label_names, off_the_shelf(), tmp_path / name) == f"model.checkpoint=toy {rest}"


@pytest.mark.parametrize(
    ("names", "index"), [(("ENTAILMENT", "neutral"), 0), (("contradiction", "neutral", "entailment"), 2), (("not_entailment", "entail"), 1)]
)
def test_entailment_is_found_by_name(names: tuple[str, ...], index: int) -> None:
    assert heads.entailment_output(zero_shot(), names) == index


def test_a_classifier_without_entailment_is_refused() -> None:
    assert sentence(heads.entailment_output, zero_shot(), ("negative", "not_entailment")) == (
        "model.checkpoint=toy has no label of entailment (its labels are negative, not_entailment): name one that was trained for "
        "natural-language inference"
    )


# Embedding checkpoints.


def test_embedding_checkpoints_are_told_by_their_files(tmp_path: Path) -> None:
    mean, newer, old = (
        zero.embedder(tmp_path / "mean"),
        zero.embedder(tmp_path / "newer", pooling={"pooling_mode": "mean"}),
        tmp_path / "old",
    )
    old.mkdir()
    told_by = {mean: mean / "modules.json", newer: newer / "modules.json", old: old / "config_sentence_transformers.json"}
    told_by[old].write_text("{}")
    heads.require_embedding(zero_shot(checkpoint="minilm-l6"), tmp_path / "never looked at")
    for folder, file in told_by.items():
        heads.require_embedding(zero_shot(), folder)
        file.unlink()
        assert "is no embedding checkpoint" in sentence(heads.require_embedding, zero_shot(), folder)


def test_a_checkpoint_that_embeds_otherwise_or_not_at_all_is_refused(tmp_path: Path) -> None:
    bare = bakery.checkpoint(tmp_path / "bare")
    assert sentence(heads.require_embedding, zero_shot(), bare) == (
        "model.checkpoint=toy is no embedding checkpoint (it has no modules.json of sentence-transformers), so distances between its "
        "states mean little: use minilm-l6, or model.method=entailment with an NLI checkpoint"
    )
    cls = zero.embedder(tmp_path / "cls", pooling={"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    assert sentence(heads.require_embedding, zero_shot(), cls) == (
        "model.checkpoint=toy does not embed by the mean of its tokens, as bakeoff does: use another"
    )
    dense = zero.embedder(tmp_path / "dense")
    (dense / "modules.json").write_text((dense / "modules.json").read_text().replace("Normalize", "Dense"))
    assert sentence(heads.require_embedding, zero_shot(), dense) == (
        "model.checkpoint=toy embeds through a layer of its own (Dense), which bakeoff does not have"
    )


# Classes in words.


def test_a_class_without_a_description_is_described_by_its_name() -> None:
    model = zero_shot(template="This is {}.", descriptions={"money-fx": "foreign exchange"})
    assert hypotheses.sentences(model, ("money-fx", "rec.sport_hockey", "grain")) == (
        "This is foreign exchange.",
        "This is rec sport hockey.",
        "This is grain.",
    )


def test_the_description_of_no_class_is_refused() -> None:
    assert sentence(hypotheses.sentences, zero_shot(descriptions={"nutral": "so so"}), CLASSES) == (
        "model.descriptions.nutral describes a class that the data does not have; did you mean neutral? "
        "There are negative, neutral, positive"
    )
