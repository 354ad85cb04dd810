import json
import sys
import types
from pathlib import Path

import pytest

from bakeoff.data import assets, checkpoint
from bakeoff.errors import DataError


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({"model_type": "distilbert", "max_position_embeddings": 512}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514}, 512),
        ({"model_type": "camembert", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "longformer", "max_position_embeddings": 4098, "pad_token_id": 1}, 4096),
        ({"model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "gpt2", "n_positions": 1024}, 1024),
        ({"model_type": "t5", "n_positions": 512}, None),
        ({"model_type": "xlnet", "max_position_embeddings": None}, None),
        ({"model_type": "deberta-v2", "max_position_embeddings": 512, "position_biased_input": False}, None),
        ({"model_type": "unknown"}, None),
    ],
)
def test_position_limit(tmp_path: Path, config: dict[str, object], limit: int | None) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert checkpoint.position_limit(tmp_path) == limit


@pytest.mark.parametrize("content", [None, "{", "[1]"])
def test_a_folder_without_a_readable_config(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(DataError, match=r"has no readable config.json: name a folder that holds a saved checkpoint"):
        checkpoint.position_limit(tmp_path)


def test_a_starter_checkpoint_and_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "fetch_checkpoint", lambda name: tmp_path / name)
    assert checkpoint.resolve("minilm-l6", None) == tmp_path / "minilm-l6"
    assert checkpoint.resolve(str(tmp_path), None) == tmp_path
    with pytest.raises(DataError, match=r"^model.checkpoint=gone is no folder: check the path$"):
        checkpoint.resolve(str(tmp_path / "gone"), None)


def test_a_hub_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, str]] = []
    (tmp_path / "model.safetensors").touch()

    def download(name: str, *, revision: str, allow_patterns: list[str]) -> str:
        calls.append((name, revision))
        if name == "away/model":
            raise ConnectionError("secret://host")
        return str(tmp_path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(snapshot_download=download))
    assert checkpoint.resolve("org/model", "a" * 40) == tmp_path
    assert calls == [("org/model", "a" * 40)]
    with pytest.raises(
        DataError, match=r"^model.checkpoint=org/model is on the hub and needs its commit: set model.revision=<40 hex digits>$"
    ):
        checkpoint.resolve("org/model", None)
    with pytest.raises(
        DataError, match=r"^model.checkpoint=away/model could not be had from the Hugging Face hub \(ConnectionError\)"
    ) as raised:
        checkpoint.resolve("away/model", "a" * 40)
    assert "secret" not in str(raised.value)


def test_pickled_weights_are_fetched_only_where_there_are_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def download(name: str, *, revision: str, allow_patterns: list[str]) -> str:
        asked.append("pytorch_model*.bin" in allow_patterns)
        return str(tmp_path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(snapshot_download=download))
    checkpoint.resolve("org/old", "a" * 40)
    assert asked == [False, True]
    (tmp_path / "model.safetensors").touch()
    checkpoint.resolve("org/new", "a" * 40)
    assert asked == [False, True, False]
