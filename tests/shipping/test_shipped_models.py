"""Every kind of model, shipped, answers as it was scored: by its own file, and by the parts in this process."""

import dataclasses
import importlib.util
import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import bakery
import factories
import served
from bakeoff import fingerprint, spec
from bakeoff.data import budget
from bakeoff.data.dataset import Prepared
from bakeoff.errors import DataError
from bakeoff.shipping import folder as files
from bakeoff.shipping import served as in_process
from bakeoff.shipping.folder import Engine, Shipment
from bakeoff.training.learn import learn

ONNX = all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime"))
needs_onnx = pytest.mark.skipif(not ONNX, reason="the extra `onnx` is not installed")
_numbers = itertools.count()


def head(most: int) -> spec.LongDoc:
    return spec.LongDoc(strategy="head", max_tokens=most)


def windows(pool: str) -> spec.LongDoc:
    return spec.LongDoc(strategy="windows", max_tokens=None, window_tokens=12, overlap_tokens=3, pool=pool, trained_windows=8)  # type: ignore[arg-type]


READINGS = {
    "full": spec.LongDoc(strategy="full", max_tokens=None),
    "head": head(9),
    "tail": spec.LongDoc(strategy="tail", max_tokens=9),
    "head_tail": spec.LongDoc(strategy="head_tail", max_tokens=10, head_share=0.3),
    "middle": spec.LongDoc(strategy="middle", max_tokens=9),
    "select": spec.LongDoc(strategy="select", max_tokens=12, rank="textrank"),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bakery.checkpoint(tmp_path_factory.mktemp("toy") / "bert")


def data(*, pairs: bool = False) -> Prepared:
    """Toy rows whose test rows are awkward too."""
    made = served.prepared()
    test = dataclasses.replace(made.test, texts=(*served.AWKWARD, *made.test.texts[len(served.AWKWARD) :]))
    if not pairs:
        return dataclasses.replace(made, test=test)
    two = [dataclasses.replace(rows, pairs=tuple(reversed(rows.texts))) for rows in (made.pool, test, made.dropped)]
    return dataclasses.replace(made, pool=two[0], test=two[1], dropped=two[2])


def ship(
    tmp_path: Path, kind: str, checkpoint: Path, *, longdoc: spec.LongDoc, engine: Engine = "eager", pairs: bool = False, **changes: object
) -> tuple[Path, np.ndarray, Prepared]:
    """The folder of a toy model that was trained, and what it answered to the test rows."""
    if kind == "frozen":
        own = {"checkpoint": str(checkpoint), "checkpoint_fingerprint": fingerprint.of_checkpoint(str(checkpoint), None)}
        asked = factories.make_run(model=dataclasses.replace(factories.MODELS["frozen"], **own | changes), labels=40)  # type: ignore[arg-type]
    else:
        asked = served.make_run(kind, checkpoint, **changes)
    run = dataclasses.replace(asked, longdoc=longdoc, probe=spec.Quality(threads=1))
    if pairs:
        run = dataclasses.replace(run, dataset=dataclasses.replace(run.dataset, text_pair="second"))
    rows = data(pairs=pairs)
    spent = budget.spend(rows.pool, run.budget, validation=False)
    learned = learn(run, rows, spent, device="cpu", log=lambda step, metrics: None)
    source, folder = tmp_path / "model", tmp_path / "export"
    learned.save(source)
    folder.mkdir()
    files.write(folder, Shipment(run=run, source=source, engine=engine, refitted=False))
    assert learned.test is not None
    return folder, learned.test, rows


def imported(folder: Path) -> ModuleType:
    found = importlib.util.spec_from_file_location(f"shipped_{next(_numbers)}", folder / "predict.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def difference(folder: Path, documents: Sequence[object], expected: np.ndarray) -> float:
    """The largest one, of the shipped file all at once and one by one, and of the parts in this process."""
    shipped, here = imported(folder).load(), in_process.load(folder, threads=1).classifier
    together = [shipped.probabilities(documents, batch_size=4), here.probabilities(documents, batch_size=4)]  # type: ignore[arg-type]
    alone = np.concatenate([shipped.probabilities([document]) for document in documents])
    assert shipped.predict(documents) == [served.CLASSES[number] for number in expected.argmax(axis=1)]
    return max(float(np.abs(found - expected).max()) for found in (*together, alone))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kind", ["tfidf", "bilstm", "pretrained"])
def test_a_shipped_model_reads_as_it_was_scored(kind: str, reading: str, tmp_path: Path, checkpoint: Path) -> None:
    longdoc = READINGS[reading] if (kind, reading) != ("pretrained", "full") else head(bakery.POSITIONS)
    folder, expected, rows = ship(tmp_path, kind, checkpoint, longdoc=longdoc)
    assert difference(folder, rows.test.documents, expected) < 1e-6


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("majority", {}),
        ("tfidf", {"ngram_max": 3, "sublinear_tf": False}),
        ("frozen", {"normalise": True, "pooling": "mean"}),
        ("frozen", {"normalise": False, "pooling": "cls"}),
        ("pretrained", {"pooling": "max"}),
        ("bilstm", {"directions": "forward", "layers": 2, "pooling": "last"}),
        ("bilstm", {"pooling": "attention"}),
        ("bilstm", {"vocabulary": "word_pieces", "pooling": "last"}),
        ("scratch", {"positions": "rotary"}),
        ("scratch", {"positions": "learned", "max_positions": 32, "pooling": "cls", "norm": "after"}),
        ("scratch", {"positions": "none", "causal": True, "pooling": "last", "vocabulary": "word_pieces"}),
    ],
    ids=str,
)
def test_every_kind_of_model_is_shipped(kind: str, changes: dict[str, object], tmp_path: Path, checkpoint: Path) -> None:
    folder, expected, rows = ship(tmp_path, kind, checkpoint, longdoc=head(32), **changes)
    assert difference(folder, rows.test.documents, expected) < 1e-6


@pytest.mark.parametrize("pool", ["mean_logits", "max_logits", "mean_embeddings", "max_embeddings", "attention", "lstm", "transformer"])
def test_windows_are_shipped(pool: str, tmp_path: Path, checkpoint: Path) -> None:
    folder, expected, rows = ship(tmp_path, "pretrained", checkpoint, longdoc=windows(pool))
    assert difference(folder, rows.test.documents, expected) < 1e-6


@pytest.mark.parametrize(("kind", "pool"), [("frozen", "mean_embeddings"), ("bilstm", "mean_logits"), ("scratch", "attention")])
def test_windows_of_other_kinds_are_shipped(kind: str, pool: str, tmp_path: Path, checkpoint: Path) -> None:
    folder, expected, rows = ship(tmp_path, kind, checkpoint, longdoc=windows(pool))
    assert difference(folder, rows.test.documents, expected) < 1e-6


@pytest.mark.parametrize("kind", ["tfidf", "bilstm", "frozen", "pretrained"])
@pytest.mark.parametrize("most", [11, None])
def test_pairs_are_shipped(kind: str, most: int | None, tmp_path: Path, checkpoint: Path) -> None:
    longdoc = READINGS["full"] if most is None and kind in ("tfidf", "bilstm") else head(most or bakery.POSITIONS)
    folder, expected, rows = ship(tmp_path, kind, checkpoint, longdoc=longdoc, pairs=True)
    assert difference(folder, rows.test.documents, expected) < 1e-6


def test_a_shipped_file_of_pairs_asks_for_both_columns(tmp_path: Path, checkpoint: Path) -> None:
    folder, expected, rows = ship(tmp_path, "tfidf", checkpoint, longdoc=READINGS["full"], pairs=True)
    table = [("text", "second"), *rows.test.documents[4:]]
    (tmp_path / "rows.tsv").write_text("".join(f"{first}\t{second}\n" for first, second in table))

    def told(*columns: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-B", str(folder / "predict.py"), str(tmp_path / "rows.tsv"), "--text", "text", *columns]
        return subprocess.run(command, capture_output=True, text=True)

    assert "the model reads two texts a row: name the second with --text-pair" in told().stderr
    found = [line.split(",") for line in told("--text-pair", "second").stdout.splitlines()]
    assert [line[1] for line in found[1:]] == [served.CLASSES[number] for number in expected[4:].argmax(axis=1)]


@needs_onnx
@pytest.mark.parametrize("kind", ["bilstm", "scratch", "frozen", "pretrained"])
def test_onnx_is_shipped_without_torch(kind: str, tmp_path: Path, checkpoint: Path) -> None:
    folder, expected, rows = ship(tmp_path, kind, checkpoint, longdoc=head(32), engine="onnx")
    assert difference(folder, rows.test.documents, expected) < 1e-5
    assert not any(line.startswith(("torch", "transformers")) for line in (folder / "requirements.txt").read_text().splitlines())
    assert sorted(path.name for path in folder.iterdir())[0] == "model.onnx"


@needs_onnx
def test_int8_answers_nearly_alike(tmp_path: Path, checkpoint: Path) -> None:
    folder, expected, rows = ship(tmp_path, "pretrained", checkpoint, longdoc=head(32), engine="onnx_int8")
    found = imported(folder).load().probabilities(rows.test.documents)
    assert 0 < np.abs(found - expected).max() < 0.1


def test_no_text_and_no_path_is_in_a_folder(tmp_path: Path, checkpoint: Path) -> None:
    folder, _, rows = ship(tmp_path, "pretrained", checkpoint, longdoc=head(32))
    together = b"".join(path.read_bytes() for path in folder.iterdir())
    assert str(checkpoint.parent).encode() not in together
    assert not any(text.encode() in together for text in rows.pool.texts if len(text) > 20)
    assert json.loads((folder / "settings.json").read_text())["model"]["checkpoint"] == "bert"


def test_what_is_no_shipped_folder_is_told(tmp_path: Path, checkpoint: Path) -> None:
    with pytest.raises(DataError, match="is no folder that `bakeoff export` wrote"):
        in_process.load(tmp_path, threads=1)
    folder, _, _ = ship(tmp_path, "tfidf", checkpoint, longdoc=READINGS["full"])
    settings = json.loads((folder / "settings.json").read_text())
    (folder / "settings.json").write_text(json.dumps(settings | {"format": 2}))
    with pytest.raises(DataError, match=r"by another bakeoff \(format 2, here 1\)"):
        in_process.load(folder, threads=1)
    (folder / "settings.json").write_text(json.dumps(settings))
    (folder / "model.safetensors").write_bytes(b"half of it")
    with pytest.raises(DataError, match=r"is damaged or was changed and cannot be loaded \(SafetensorError\): export the Run again"):
        in_process.load(folder, threads=1)
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"lacks .*: export the Run again"):
        in_process.load(folder, threads=1)
