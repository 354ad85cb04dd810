"""The starter assets are what the pages say they are, and Runs on them repeat byte for byte. Fetches what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bakeoff.config import Composer
from bakeoff.data import checkpoint
from bakeoff.data.dataset import Prepared, prepare
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.store import Store, default_root

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def minilm() -> Path:
    """The folder of the starter checkpoint."""
    return checkpoint.resolve("minilm-l6", None)


def prepared(name: str) -> Prepared:
    return prepare(Composer().job([f"dataset={name}"]).run.dataset)


def test_the_checkpoint_is_the_encoder_that_it_is_said_to_be(minilm: Path) -> None:
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(str(minilm), dtype=torch.float32)
    config = model.config
    assert (config.model_type, config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == ("bert", 6, 384, 12)
    assert sum(p.numel() for p in model.parameters()) == 22_713_216
    assert (config.vocab_size, config.max_position_embeddings, checkpoint.position_limit(minilm)) == (30_522, 512, 512)


def test_its_tokeniser_reads_every_token_of_a_long_text_and_pads_no_short_one(minilm: Path) -> None:
    import json

    stored = json.loads((minilm / "tokenizer.json").read_text())
    assert stored["truncation"]["max_length"] == 128
    assert stored["padding"]["strategy"]["Fixed"] == 128
    tokeniser = CheckpointTokeniser(minilm)
    ids = tokeniser.encode(["hello " * 600, "hi"])
    assert [len(each) for each in ids] == [600, 1]
    assert [*tokeniser.prefix, *ids[1], *tokeniser.suffix] == [101, 7632, 102]
    assert tokeniser.pad_id == 0


def test_its_tokeniser_is_the_file_that_shipped_with_it(minilm: Path) -> None:
    from tokenizers import Tokenizer

    shipped = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    shipped.no_truncation()
    shipped.no_padding()
    texts = [*prepared("movie").test.texts[:500], "Ünïcödé – 漢字 🙂", "a\tb\nc"]
    ours = CheckpointTokeniser(minilm).encode(texts)
    assert [ids.tolist() for ids in ours] == [shipped.encode(text, add_special_tokens=False).ids for text in texts]
    (ids,) = CheckpointTokeniser(minilm).encode([" [MASK] [SEP] "])
    assert ids.tolist() == shipped.encode("[ mask ] [ sep ]", add_special_tokens=False).ids  # text, and no special tokens


@pytest.mark.parametrize(
    ("name", "rows", "test_rows", "classes"),
    [
        ("movie", 5_242 + 5_326, 2_000, 2),
        ("newsgroups", 11_293 + 7_528, 7_528, 20),
        ("reuters8", 5_485 + 2_189, 2_189, 8),
        ("reuters52", 6_532 + 2_568, 2_568, 52),
        ("books", 140, None, 2),
    ],
)
def test_the_datasets_have_the_rows_that_they_are_said_to_have(name: str, rows: int, test_rows: int | None, classes: int) -> None:
    found = prepared(name)
    assert len(found.pool) + len(found.test) + found.left_out == rows
    assert test_rows is None or len(found.test) == test_rows
    assert len(found.classes) == classes
    if name == "movie":
        labels = [label for part in (found.pool, found.test, found.dropped) for label in part.labels.tolist()]
        assert (found.classes, labels.count(0), labels.count(1)) == (("negative", "positive"), 5_326, 5_242)


def test_a_run_gives_the_same_bytes_alone_and_as_the_fifth_of_a_sweep(tmp_path: Path) -> None:
    settings = ["dataset=books", "budget.labels=30", "longdoc.max_tokens=64", "machine.wandb=disabled"]
    quick = ["model.training.epochs=1", "model.training.min_steps=5"]
    parameters = {"model": {"values": ["bilstm", "pretrained"]}, "seed": {"values": [0, 1, 2, 3, 4]}}
    file = tmp_path / "five.yaml"
    file.write_text(yaml.safe_dump({"method": "grid", "parameters": parameters}))

    def bakeoff(*arguments: str, runs: Path) -> list[str]:
        environment = os.environ | {"BAKEOFF_RUNS": str(runs)}
        command = [sys.executable, "-m", "bakeoff.cli", *arguments, *settings, *quick]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    alone = [bakeoff("run", f"model={model}", "seed=4", runs=tmp_path / "alone")[-1] for model in ("bilstm", "pretrained")]
    bakeoff("sweep", str(file), runs=tmp_path / "swept")
    swept = Store(tmp_path / "swept")
    assert len(swept.load_all()) == 10
    for record in map(Path, alone):
        same = swept.folder(record.parent.name)
        assert (same / "predictions.parquet").read_bytes() == (record.parent / "predictions.parquet").read_bytes()
    fingerprints = {(same / "predictions.parquet").read_bytes() for same in (swept.folder(run.run_id) for run in swept.load_all())}
    assert len(fingerprints) == 10
    assert list(default_root().iterdir()) == []
