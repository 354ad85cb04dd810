"""The starter dataset and checkpoint: baked at 100 labels, exported and asked by the command line, each in processes of its own."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from bakeoff.config import Composer
from bakeoff.data.dataset import Prepared, prepare

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

MODELS = {"tfidf": "eager", "pretrained": "eager", "frozen": "onnx", "bilstm": "onnx_int8"}

ROWS = 300


def bakeoff(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in `folder`, which should end well."""
    command = [sys.executable, "-m", "bakeoff.cli", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"BAKEOFF_RUNS": str(folder / "runs")})
    assert done.returncode == 0, done.stderr
    return done


def starter() -> Prepared:
    return prepare(Composer().job(["dataset=movie"]).run.dataset)


@pytest.mark.parametrize("model", MODELS)
def test_a_starter_model_is_shipped_and_labels_a_file(model: str, tmp_path: Path) -> None:
    engine = MODELS[model]
    short = [] if model == "tfidf" else ["longdoc=head", "longdoc.max_tokens=64"]
    kept = [] if model == "tfidf" else ["machine.keep_weights=all"]  # weights that are gone are baked again first
    quick = ["model.training.epochs=1", "model.training.min_steps=10"] if model in ("pretrained", "bilstm") else []
    baked = bakeoff(
        tmp_path, "run", f"model={model}", "dataset=movie", "budget.labels=100", *short, *quick, *kept, "machine.wandb=disabled"
    )
    folder = Path(baked.stdout.splitlines()[-1]).parent
    bakeoff(tmp_path, "export", folder.name[:8], "shipped", "--engine", engine)
    test = starter().test
    with open(tmp_path / "new.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body"])
        writer.writerows([text] for text in test.texts[:ROWS])
    bakeoff(tmp_path, "predict", "shipped", "new.csv", "--text", "body", "--out", "labels.csv")
    shipped = [sys.executable, "-I", "-B", str(tmp_path / "shipped" / "predict.py"), "new.csv", "--text", "body"]
    alone = subprocess.run(shipped, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    with open(tmp_path / "labels.csv", newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    told = list(csv.DictReader(alone.splitlines()))
    assert [row["label"] for row in told] == [row["label"] for row in found]
    recorded = parquet.read_table(folder / "predictions.parquet")["predicted"].to_pylist()[:ROWS]
    agree = sum(row["label"] == ("negative", "positive")[number] for row, number in zip(found, recorded, strict=True)) / len(found)
    assert agree == 1 if engine != "onnx_int8" else agree > 0.9
    card = (tmp_path / "shipped" / "README.md").read_text()
    assert ("Rounded to onnx_int8 it changes" in card) == (engine == "onnx_int8")
