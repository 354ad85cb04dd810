"""Architectures at true size from their numbers alone: published parameter counts, and the same model each time."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from transformers import AutoModel, BertConfig, BertModel

import factories
import served
from bakeoff import convert, spec
from bakeoff.config import Composer, packaged
from bakeoff.errors import ConfigError, DataError
from bakeoff.models import sizes, untrained
from bakeoff.models.build import count_parameters
from bakeoff.models.pretrained import PretrainedClassifier

PUBLISHED = {
    "bert_base": 109_482_240 - 590_592,  # the published encoder, less its pooler of 768·768 + 768
    "distilbert": 66_362_880,
    "roberta_base": 124_645_632 - 590_592,
    "longformer": 148_659_456 - 590_592,
    "modernbert": 149_014_272,
    "bigbird": 127_468_800 - 590_592,
}
"""Parameters of the encoder without head and pooler: 110, 66, 125, 149, 149 and 127 million in the papers."""


def size_in_yaml(name: str) -> spec.EncoderSize:
    plain = yaml.safe_load((packaged("conf") / "model" / f"{name}.yaml").read_text(encoding="utf-8"))
    return convert.build(spec.EncoderSize, plain["size"])


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_named_size_has_the_published_number_of_parameters(name: str) -> None:
    model = dataclasses.replace(factories.MODELS["pretrained"], size=size_in_yaml(name), checkpoint_fingerprint="architecture:")
    with torch.device("meta"):
        module = untrained.pretrained(model, n_classes=2, folder=None)
    assert count_parameters(module) == PUBLISHED[name] + 2 * 768 + 2


def test_every_model_of_a_named_size_is_checked() -> None:
    sized = {file.stem for file in (packaged("conf") / "model").glob("*.yaml") if "\nsize:" in file.read_text(encoding="utf-8")}
    assert sized == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_size_goes_to_a_configuration_and_back(name: str) -> None:
    size = size_in_yaml(name)
    assert sizes.size_of(sizes.config_of(size)) == size


def test_a_family_without_a_size_has_none() -> None:
    config = BertConfig()
    config.model_type = "electra"
    assert sizes.size_of(config) is None


@pytest.mark.parametrize("family", ["bert", "big_bird", "distilbert", "longformer", "modernbert", "roberta"])
def test_an_untrained_encoder_answers_up_to_its_last_position(family: str) -> None:
    size = served.size(family)
    model = dataclasses.replace(factories.MODELS["pretrained"], size=size)
    module = untrained.pretrained(model, n_classes=3, folder=None).eval()
    ids = torch.randint(5, 400, (2, size.positions))
    with torch.inference_mode():
        logits = module(ids, torch.tensor([size.positions, 3]))
    assert logits.shape == (2, 3)
    assert torch.isfinite(logits).all()


def test_the_architecture_of_a_checkpoint_is_built_without_its_weights(tmp_path: Path) -> None:
    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    BertModel(config, add_pooling_layer=False).save_pretrained(tmp_path)
    model = factories.MODELS["pretrained"]
    assert isinstance(model, spec.Pretrained)
    trained = PretrainedClassifier(model, folder=tmp_path, n_classes=2)
    (tmp_path / "model.safetensors").unlink()
    fresh = untrained.pretrained(model, n_classes=2, folder=tmp_path)
    shapes = {name: tensor.shape for name, tensor in trained.state_dict().items()}
    assert {name: tensor.shape for name, tensor in fresh.state_dict().items()} == shapes
    assert sizes.size_in(tmp_path) == spec.EncoderSize(
        family="bert", layers=2, width=16, heads=2, feed_forward=32, vocabulary=50, positions=512
    )


def test_untrained_weights_are_the_same_each_time_and_leave_random_numbers_alone() -> None:
    def build() -> torch.Tensor:
        model = factories.MODELS["bilstm"]
        assert isinstance(model, spec.BiLstm)
        return untrained.over_vocabulary(model, vocabulary_size=9, n_classes=2, pad_id=0).state_dict()["layers.0.forwards.weight_hh_l0"]

    torch.manual_seed(5)
    first, drawn = build(), torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(1))
    assert torch.equal(first, build())


def test_an_untrained_tfidf_has_the_vocabulary_of_its_texts() -> None:
    model = factories.MODELS["tfidf"]
    assert isinstance(model, spec.Tfidf)
    classifier = untrained.tfidf(model, n_classes=3, texts=["a good film", "a bad film"])
    assert sorted(classifier.vectoriser.vocabulary_) == ["a", "a bad", "a good", "bad", "bad film", "film", "good", "good film"]
    assert classifier.coefficients.shape == (3, 8)
    assert classifier.n_parameters == 3 * 8 + 3 + 8
    probabilities = classifier.predict(["a film", ""])
    assert probabilities.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert probabilities[1] == pytest.approx(np.full(3, 1 / 3))


def test_a_size_that_is_not_the_checkpoints_is_refused(tmp_path: Path) -> None:
    config = sizes.config_of(served.size("bert"))
    AutoModel.from_config(config).save_pretrained(tmp_path)
    right = dataclasses.replace(factories.MODELS["pretrained"], size=served.size("bert"))
    PretrainedClassifier(right, folder=tmp_path, n_classes=2)
    wrong = dataclasses.replace(right, size=served.size("bert", layers=3))
    with pytest.raises(ConfigError, match=r"^model\.size=.*layers=3.* is not that of model\.checkpoint"):
        PretrainedClassifier(wrong, folder=tmp_path, n_classes=2)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_named_size_is_a_question_of_untrained_latency_without_a_checkpoint(name: str) -> None:
    run = Composer().job([f"model={name}", "probe=latency"]).run
    assert isinstance(run.model, spec.Pretrained)
    assert run.model.without_checkpoint
    assert run.model.checkpoint_fingerprint.startswith("architecture:")
    smaller = Composer().job([f"model={name}", "probe=latency", "model.size.layers=1"]).run
    assert smaller.run_id != run.run_id
    again = convert.build_run(spec.to_plain(run))
    assert again.run_id == run.run_id


@pytest.mark.parametrize("asked", [["probe=quality"], ["probe=latency", "probe.weights=trained"]])
def test_a_named_size_cannot_be_trained_without_its_commit(asked: list[str]) -> None:
    with pytest.raises(DataError, match=r"is on the hub and needs its commit: set model\.revision="):
        Composer().job(["model=bert_base", *asked])


def test_a_pinned_commit_is_the_same_model_for_quality_and_latency() -> None:
    pinned = ["model=bert_base", f"model.revision={'0' * 40}"]
    quality, latency = Composer().job(pinned).run, Composer().job([*pinned, "probe=latency"]).run
    assert spec.identity(quality.model) == spec.identity(latency.model)
    assert isinstance(latency.model, spec.Pretrained)
    assert not latency.model.without_checkpoint


@pytest.mark.parametrize(
    ("changes", "sentence"), [({"layers": 0}, "layers=0 should be at least 1"), ({"heads": 3}, "a multiple of model.size.heads=3")]
)
def test_a_size_that_no_encoder_has_is_refused(changes: dict[str, int], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        served.size("bert", **changes)
