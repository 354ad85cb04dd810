"""A checkpoint that is none, or not the one that was meant: one sentence each, before anything is trained."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import factories
import served
from bakeoff import spec
from bakeoff.data import checkpoint_checks, checks
from bakeoff.errors import DataError, NotApplicable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of a checkpoint; what they hold is read later."""
    made = tmp_path / "toy"
    made.mkdir()
    (made / "config.json").write_text(json.dumps({"model_type": "bert", "num_hidden_layers": 6, "max_position_embeddings": 512}))
    (made / "tokenizer.json").touch()
    (made / "model.safetensors").touch()
    return made


def pretrained(**changes: Any) -> spec.Pretrained:
    model = factories.MODELS["pretrained"]
    assert isinstance(model, spec.Pretrained)
    return dataclasses.replace(model, **changes)


def refused(folder: Path, *, weights: bool = True) -> str:
    with pytest.raises(DataError) as raised:
        checkpoint_checks.check_files(folder, weights=weights)
    return str(raised.value)


def test_the_files_of_a_checkpoint(folder: Path) -> None:
    checkpoint_checks.check_files(folder, weights=True)
    (folder / "model.safetensors").rename(folder / "pytorch_model-00001-of-00002.bin")
    checkpoint_checks.check_files(folder, weights=True)
    for name in ("vocab.txt", "vocab.json", "spm.model"):
        (folder / "tokenizer.json").unlink(missing_ok=True)
        (folder / name).touch()
        checkpoint_checks.check_files(folder, weights=True)
        (folder / name).unlink()


def test_a_folder_that_is_no_model(folder: Path) -> None:
    (folder / "config.json").write_text('{"architectures": ["BertModel"]}')
    sentence = "model.checkpoint=toy has a config.json without model_type: name a folder that transformers saved"
    assert refused(folder) == sentence
    (folder / "config.json").unlink()
    assert refused(folder) == "model.checkpoint=toy has no readable config.json: name a folder that holds a saved checkpoint"


def test_a_checkpoint_without_a_tokeniser(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "tokenizer_config.json")
    sentence = "model.checkpoint=toy has no tokeniser: save the one that it was trained with into that folder"
    assert refused(folder) == refused(folder, weights=False) == sentence


def test_a_checkpoint_without_weights_can_be_timed_but_not_trained(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model.onnx")
    assert refused(folder) == "model.checkpoint=toy has no weights: name a folder that holds model.safetensors"
    checkpoint_checks.check_files(folder, weights=False)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"keep_layers": (0, 2, 6)}, "model.keep_layers=[0, 2, 6] names layer 6, but pretrained has layers 0 to 5"),
        ({"reinitialised_layers": 7}, "model.reinitialised_layers=7 is more than the 6 layers of pretrained"),
        ({"keep_layers": (0, 2), "reinitialised_layers": 3}, "model.reinitialised_layers=3 is more than the 2 layers of pretrained"),
    ],
)
@pytest.mark.parametrize("key", ["num_hidden_layers", "n_layers"])
def test_layers_that_a_checkpoint_has_not(folder: Path, key: str, changes: dict[str, Any], sentence: str) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "toy", key: 6}))
    with pytest.raises(NotApplicable) as raised:
        checkpoint_checks.check_layers(pretrained(**changes), folder)
    assert str(raised.value) == sentence
    sized = pretrained(**changes, size=served.size("bert", layers=6))
    with pytest.raises(NotApplicable, match=sentence.partition("=")[0]):
        checkpoint_checks.check_layers(sized, None)


def test_layers_that_it_has(folder: Path) -> None:
    checkpoint_checks.check_layers(pretrained(keep_layers=(0, 5), reinitialised_layers=2, layer_decay=0.9), folder)


def test_layers_that_are_all_one_have_no_place(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "albert", "num_hidden_layers": 12}')
    with pytest.raises(NotApplicable) as raised:
        checkpoint_checks.check_layers(pretrained(layer_decay=0.9), folder)
    assert str(raised.value) == "model.layer_decay=0.9 means nothing to pretrained, whose layers are all one: leave model.layer_decay out"
    checkpoint_checks.check_layers(pretrained(), folder)


@pytest.mark.parametrize("kind", ["pretrained", "frozen"])
def test_both_kinds_are_asked_before_a_run_starts(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_prepared", lambda dataset: served.prepared())
    checks._folders.clear()
    model = dataclasses.replace(factories.MODELS[kind], checkpoint=str(folder), checkpoint_fingerprint="0")
    run = factories.make_run(model=model, labels=40)
    checks.check(run)
    far = dataclasses.replace(run, longdoc=spec.LongDoc(strategy="head", max_tokens=513))
    with pytest.raises(NotApplicable, match=r"^longdoc.max_tokens=513 is above the 512 tokens"):
        checks.check(far)
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"^model.checkpoint=toy has no weights"):
        checks.check(run)
    checks.check(dataclasses.replace(run, probe=served.latency()))
    checks._folders.clear()


def test_an_encoder_without_a_padding_token_is_not_carried_further(folder: Path) -> None:
    extended = spec.LongDoc(strategy="extended", max_tokens=4096, attention_window=512)
    checkpoint_checks.check_extendable(folder, extended)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "pad_token_id": None}))
    with pytest.raises(NotApplicable, match=r"^longdoc=extended needs a padding token, and the config\.json of .+ has pad_token_id=null"):
        checkpoint_checks.check_extendable(folder, extended)
