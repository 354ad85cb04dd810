"""Encoders of every family: answers that do not depend on neighbours, layers kept and started afresh, checkpoints that are none."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

import factories
import toy_encoders
from bakeoff import spec
from bakeoff.errors import ConfigError
from bakeoff.models import encoders
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier

FROZEN = dataclasses.replace(factories.MODELS["frozen"], c_grid=(1.0, 10.0))
SHORT, LONG = [2, 7, 9, 3], [2, *range(10, 40), 3] * 16
UNKNOWN = [2, 1, 1, 1, 3]


@pytest.fixture(scope="module", params=toy_encoders.FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_encoders.checkpoint(tmp_path_factory.mktemp("toy") / request.param, request.param)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_encoders.checkpoint(tmp_path_factory.mktemp("toy") / "bert", "bert")


def pretrained(**changes: Any) -> spec.Pretrained:
    model = factories.MODELS["pretrained"]
    assert isinstance(model, spec.Pretrained)
    return dataclasses.replace(model, **changes)


def pad(*documents: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.tensor([len(document) for document in documents])
    ids = torch.zeros(len(documents), int(lengths.max()), dtype=torch.long)
    for row, document in enumerate(documents):
        ids[row, : len(document)] = torch.tensor(document)
    return ids, lengths


@pytest.mark.parametrize("how", ["cls", "mean", "max"])
@torch.inference_mode()
def test_a_texts_answer_does_not_change_with_its_neighbours(folder: Path, how: str) -> None:
    torch.manual_seed(0)
    fine_tuned = PretrainedClassifier(pretrained(pooling=how), folder=folder, n_classes=3).eval()
    torch.nn.init.normal_(fine_tuned.head.weight)
    for model in (fine_tuned, FrozenClassifier(dataclasses.replace(FROZEN, pooling=how), folder=folder, n_classes=3).eval()):
        alone, beside = model(*pad(SHORT))[0], model(*pad(SHORT, LONG))[0]
        assert (alone - beside).abs().max() < 1e-5
        assert (alone - model(*pad(LONG))[0]).abs().max() > 1e-3


@pytest.mark.parametrize("how", ["cls", "mean", "max"])
@torch.inference_mode()
def test_rows_without_a_token_and_of_unknown_words_have_finite_logits(folder: Path, how: str) -> None:
    model = PretrainedClassifier(pretrained(pooling=how), folder=folder, n_classes=3).eval()
    ids, lengths = pad(LONG, UNKNOWN, SHORT)
    lengths[2], ids[2] = 0, 0
    logits = model(ids, lengths)
    assert torch.isfinite(logits).all()
    assert (logits[2] - model(ids[2:, :7], lengths[2:])[0]).abs().max() < 1e-5


@torch.inference_mode()
def test_bfloat16_is_a_setting_of_the_run_and_never_of_the_checkpoint(folder: Path, tmp_path: Path) -> None:
    half = toy_encoders.checkpoint(tmp_path / "half", AutoConfig.from_pretrained(folder).model_type, dtype=torch.bfloat16)
    model = PretrainedClassifier(pretrained(), folder=half, n_classes=2).eval()
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert {p.dtype for p in FrozenClassifier(FROZEN, folder=half, n_classes=2).parameters()} == {torch.float32}
    exact = model(*pad(SHORT, LONG))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = model(*pad(SHORT, LONG))
    assert exact.dtype == torch.float32
    assert rounded.dtype == torch.bfloat16
    assert torch.isfinite(rounded).all()


@torch.inference_mode()
def test_layers_that_are_kept_are_the_checkpoints_and_its_configuration_builds_them_again(folder: Path, tmp_path: Path) -> None:
    whole = PretrainedClassifier(pretrained(), folder=folder, n_classes=3)
    model = pretrained(keep_layers=(0, 1, 3))
    student = PretrainedClassifier(model, folder=folder, n_classes=3).eval()
    for mine, theirs in enumerate((0, 1, 3)):
        ours = encoders.layers_of(student.encoder)[mine].state_dict()
        expected = encoders.layers_of(whole.encoder)[theirs].state_dict()
        assert all(torch.equal(ours[name], expected[name]) for name in expected)
    names = [name for name in student.state_dict() if "embed" in name]
    assert names
    assert all(torch.equal(student.state_dict()[name], whole.state_dict()[name]) for name in names)
    student.encoder.config.save_pretrained(tmp_path)
    again = PretrainedClassifier(model, config=AutoConfig.from_pretrained(tmp_path), n_classes=3).eval()
    again.load_state_dict(student.state_dict())
    assert torch.equal(again(*pad(SHORT, LONG)), student(*pad(SHORT, LONG)))
    assert len(encoders.layers_of(again.encoder)) == again.encoder.config.num_hidden_layers == 3
    untrained = PretrainedClassifier(model, config=AutoConfig.from_pretrained(folder), n_classes=3)
    assert {k: v.shape for k, v in untrained.state_dict().items()} == {k: v.shape for k, v in student.state_dict().items()}


def test_keeping_every_layer_keeps_the_checkpoint(bert: Path) -> None:
    kept = PretrainedClassifier(pretrained(keep_layers=(0, 1, 2, 3)), folder=bert, n_classes=2).encoder.state_dict()
    whole = AutoModel.from_pretrained(bert, add_pooling_layer=False).state_dict()
    assert kept.keys() == whole.keys()
    assert all(torch.equal(kept[name], whole[name]) for name in whole)


def test_what_is_said_layer_by_layer_follows_the_layers_that_are_kept() -> None:
    config = toy_encoders.config("modernbert")
    assert config.layer_types == ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    assert encoders.config_with_layers(config, (0, 1, 3)).layer_types == ["full_attention", "sliding_attention", "full_attention"]
    assert config.num_hidden_layers == 4


@pytest.mark.parametrize("count", [0, 1, 3])
def test_only_the_top_layers_start_afresh(folder: Path, count: int) -> None:
    whole = encoders.load(folder)
    changed = encoders.load(folder)
    torch.manual_seed(5)
    encoders.reinitialise_top(changed, count)
    for number, (one, other) in enumerate(zip(encoders.layers_of(whole), encoders.layers_of(changed), strict=True)):
        matrices = [torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True) if a.ndim > 1]
        afresh = number >= toy_encoders.LAYERS - count
        assert not any(matrices) if afresh else all(matrices)
    outside = [name for name in whole.state_dict() if not re.search(r"layers?\.\d", name)]
    assert outside
    assert all(torch.equal(whole.state_dict()[name], changed.state_dict()[name]) for name in outside)


def test_fresh_layers_have_the_familys_own_scale(bert: Path) -> None:
    encoder = encoders.load(bert)
    encoders.reinitialise_top(encoder, 4)
    weight = encoders.layers_of(encoder)[3].intermediate.dense.weight
    assert weight.std().item() == pytest.approx(0.3, rel=0.15)
    assert encoders.layers_of(encoder)[3].intermediate.dense.bias.abs().max() == 0


def test_depths_of_a_worked_example(bert: Path) -> None:
    depths = encoders.depth_of(encoders.load(bert))
    assert depths["embeddings.word_embeddings.weight"] == depths["embeddings.LayerNorm.bias"] == 5
    assert [depths[f"encoder.layer.{number}.output.dense.weight"] for number in range(4)] == [4, 3, 2, 1]


def test_what_stands_outside_the_layers_has_a_depth_too(tmp_path: Path) -> None:
    modern = encoders.depth_of(encoders.fresh(toy_encoders.config("modernbert")))
    assert (modern["final_norm.weight"], modern["embeddings.tok_embeddings.weight"]) == (1, 5)
    deberta = encoders.depth_of(encoders.fresh(toy_encoders.config("deberta-v2")))
    assert deberta["encoder.rel_embeddings.weight"] == 5


def test_every_family_has_its_layers_found_and_no_pooler(folder: Path) -> None:
    encoder = encoders.load(folder)
    assert len(encoders.layers_of(encoder)) == toy_encoders.LAYERS
    assert not [name for name in encoder.state_dict() if "pooler" in name]


@torch.inference_mode()
def test_the_first_token_of_a_longformer_reads_the_whole_document() -> None:
    """Four layers of eight tokens each way reach 32 tokens far; what stands at 300 is seen by global attention alone."""
    model = PretrainedClassifier(pretrained(pooling="cls"), config=toy_encoders.config("longformer"), n_classes=3).eval()
    ids, lengths = pad([2, *[50] * 398, 3])
    before = model(ids, lengths)
    ids[0, 300] = 60
    assert (model(ids, lengths) - before).abs().max() > 1e-5


def test_a_classification_head_is_left_behind_and_a_fresh_one_has_the_right_size(tmp_path: Path, bert: Path) -> None:
    config = AutoConfig.from_pretrained(bert, num_labels=5, id2label={i: f"other {i}" for i in range(5)})
    published = AutoModelForSequenceClassification.from_config(config)
    published.save_pretrained(tmp_path)
    torch.manual_seed(1)
    model = PretrainedClassifier(pretrained(), folder=tmp_path, n_classes=3)
    assert model.head.weight.shape == (3, toy_encoders.WIDTH)
    assert torch.equal(model.encoder.embeddings.word_embeddings.weight, published.bert.embeddings.word_embeddings.weight)
    torch.manual_seed(1)
    again = PretrainedClassifier(pretrained(), folder=tmp_path, n_classes=3)
    assert torch.equal(again.head.weight, model.head.weight)
    assert model.head.bias.abs().max() == 0


def test_a_frozen_model_answers_with_the_head_that_was_fitted(bert: Path) -> None:
    model = FrozenClassifier(FROZEN, folder=bert, n_classes=3).eval()
    assert [name for name, p in model.named_parameters() if p.requires_grad] == ["head.weight", "head.bias"]
    coefficients = torch.arange(48, dtype=torch.float64).reshape(3, 16).numpy()
    model.set_head(coefficients, torch.tensor([0.5, -torch.inf, 0.25], dtype=torch.float64).numpy())
    with torch.inference_mode():
        features, logits = model.features(*pad(SHORT, LONG)), model(*pad(SHORT, LONG))
    assert features.norm(dim=1).tolist() == pytest.approx([1.0, 1.0], abs=1e-6)
    expected = features.double() @ torch.from_numpy(coefficients).T + torch.tensor([0.5, -1e4, 0.25])
    assert (logits.double() - expected).abs().max() < 1e-3
    assert torch.isfinite(logits).all()
    assert logits.softmax(dim=1)[:, 1].tolist() == [0.0, 0.0]


@torch.inference_mode()
def test_the_fitted_head_answers_in_float32_under_bfloat16(bert: Path) -> None:
    model = FrozenClassifier(FROZEN, folder=bert, n_classes=3).eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        features, logits = model.features(*pad(SHORT)), model(*pad(SHORT))
    assert features.dtype == logits.dtype == torch.float32
    assert torch.equal(logits, model.head(features))


@pytest.mark.parametrize(
    ("keep", "family", "sentence"),
    [
        ((0, 4), "bert", "model.keep_layers=[0, 4] names layer 4, but the encoder has layers 0 to 3"),
        ((1, 3), "modernbert", "model.keep_layers=[1, 3] should hold layer 0: no other can come first in a modernbert encoder"),
    ],
)
def test_layers_that_cannot_be_kept(keep: tuple[int, ...], family: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        encoders.with_layers(encoders.fresh(toy_encoders.config(family)), keep)
    assert str(raised.value) == sentence


def test_more_fresh_layers_than_there_are() -> None:
    with pytest.raises(ConfigError, match=r"^model.reinitialised_layers=5 is more than the encoder's 4 layers$"):
        encoders.reinitialise_top(encoders.fresh(toy_encoders.config("bert")), 5)


def test_an_encoder_whose_layers_are_all_one_has_no_list_of_them() -> None:
    config = AutoConfig.for_model(
        "albert", hidden_size=16, embedding_size=8, num_attention_heads=2, intermediate_size=32, vocab_size=50, num_hidden_layers=4
    )
    with pytest.raises(ConfigError, match=r"^the layers of this albert encoder could not be found: leave model.layer_decay"):
        encoders.layers_of(encoders.fresh(config))


def test_a_folder_of_other_weights_is_refused_and_not_trained_from_noise(bert: Path, tmp_path: Path) -> None:
    """What bakeoff saves has names of its own, which transformers would pass over in silence."""
    from safetensors.torch import save_file

    own = toy_encoders.checkpoint(tmp_path / "model", "bert")
    save_file(PretrainedClassifier(pretrained(), folder=bert, n_classes=2).state_dict(), own / "model.safetensors", {"format": "pt"})
    with pytest.raises(ConfigError, match=r"^model.checkpoint=model lacks \d+ of its encoder's weights, such as embeddings.LayerNorm.bias"):
        encoders.load(own)


def test_a_damaged_file_of_weights(tmp_path: Path) -> None:
    folder = toy_encoders.checkpoint(tmp_path / "damaged", "bert")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ConfigError, match=r"^model.checkpoint=damaged cannot be loaded \(\w+\): name another or save it anew$"):
        encoders.load(folder)


def test_pickled_weights_are_read_as_tensors_alone(tmp_path: Path) -> None:
    folder = toy_encoders.checkpoint(tmp_path / "pickled", "bert")
    encoder = encoders.load(folder)
    (folder / "model.safetensors").unlink()
    torch.save(encoder.state_dict(), folder / "pytorch_model.bin")
    again = encoders.load(folder)
    assert all(torch.equal(a, b) for a, b in zip(encoder.state_dict().values(), again.state_dict().values(), strict=True))

    class Attack:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"embeddings.word_embeddings.weight": Attack()}, folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match=r"^model.checkpoint=pickled cannot be loaded"):
        encoders.load(folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("changes", [{"model_type": "surely-new"}, {"model_type": "own", "auto_map": {"AutoConfig": "code.Config"}}])
def test_an_architecture_that_transformers_does_not_know_and_no_code_of_a_checkpoint(tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = toy_encoders.checkpoint(tmp_path / "new", "bert")
    toy_encoders.rewrite_config(folder, **changes)
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(ConfigError, match=r"^model.checkpoint=new is of no architecture that transformers \d+\.\d+\.\d+ knows"):
        encoders.load(folder)
    assert not (tmp_path / "ran").exists()


def test_an_encoder_that_pads_or_holds_all_pairs_says_so(tmp_path: Path) -> None:
    told = {}
    for family in ("bert", "longformer", "big_bird"):
        module = PretrainedClassifier(factories.MODELS["pretrained"], n_classes=2, config=toy_encoders.config(family))  # type: ignore[arg-type]
        told[family] = (encoders.padded_to(module), encoders.holds_all_pairs(module))
    assert told["bert"] == (None, False)
    window = toy_encoders.config("longformer").attention_window
    assert told["longformer"] == (window if isinstance(window, int) else window[0], False)
    assert told["big_bird"] == (None, True)
