"""The files of a shipped model."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import load_file, save_file

from bakeoff import spec
from bakeoff.data.saved import read_tokeniser
from bakeoff.data.tokens import Tokeniser
from bakeoff.errors import NotApplicable
from bakeoff.models import loading
from bakeoff.models.files import VOCABULARY, WEIGHTS
from bakeoff.record import without_folders
from bakeoff.shipping import script
from bakeoff.shipping.settings import FILE, FORMAT

Engine = Literal["eager", "onnx", "onnx_int8"]
Shippable = spec.Majority | spec.Tfidf | spec.Frozen | spec.Neural
_TRAINING = ("default_longdoc", "training", "distillation", "teacher", "start", "c_grid", "cv_folds")
"""Fields of a model that mean nothing to one that is served."""
GRAPH, TOKENISER = "model.onnx", "tokenizer.json"


@dataclass(frozen=True, kw_only=True)
class Shipment:
    """What is shipped, and in what form."""

    run: spec.Run
    source: Path
    """The folder of its weights, as training saved them."""
    engine: Engine
    refitted: bool
    """Whether the weights were fitted on the test rows too, so that nothing is left to score them."""


def write(folder: Path, shipment: Shipment) -> dict[str, Any]:
    """Write weights, what reads for them, `predict.py`, `requirements.txt` and `settings.json`, which are returned.

    Raises NotApplicable where the engine cannot take the model.
    """
    run, source = shipment.run, shipment.source
    plain = without_folders(spec.to_plain(run))
    settings: dict[str, Any] = {
        "format": FORMAT,
        "run_id": run.run_id,
        "name": run.model.name,
        "kind": run.model.kind,
        "classes": list(loading.settings(source).classes),
        "text": run.dataset.text,
        "text_pair": run.dataset.text_pair,
        "pairs": run.dataset.text_pair is not None,
        "engine": shipment.engine,
        "refitted": shipment.refitted,
        "longdoc": plain["longdoc"],
        "model": {name: value for name, value in plain["model"].items() if name not in _TRAINING},
    }
    if isinstance(run.model, spec.Majority | spec.Tfidf):
        for name in (WEIGHTS, VOCABULARY):
            if (source / name).exists():
                shutil.copyfile(source / name, folder / name)
    else:
        assert isinstance(run.model, spec.Neural | spec.Frozen), "only models with weights of their own are shipped"
        settings |= _write_neural(folder, run.model, shipment)
    parts = script.bundled(settings)
    (folder / "predict.py").write_text(script.script(settings, parts), encoding="utf-8")
    (folder / "requirements.txt").write_text(script.requirements(parts), encoding="utf-8")
    (folder / FILE).write_text(json.dumps(settings, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for file in folder.iterdir():
        file.chmod(0o644)  # safetensors lets nobody else read what it writes
    return settings


def _write_neural(folder: Path, model: spec.Neural | spec.Frozen, shipment: Shipment) -> dict[str, Any]:
    """Write a network and its tokeniser; the settings that are their own."""
    source = shipment.source
    tokeniser = read_tokeniser(source, words_in=VOCABULARY)
    words = (source / VOCABULARY).exists()
    shutil.copyfile(source / (VOCABULARY if words else TOKENISER), folder / (VOCABULARY if words else TOKENISER))
    tensors = load_file(source / WEIGHTS)
    if shipment.engine == "eager":
        save_file({_served_name(name, shipment.run.longdoc): tensor for name, tensor in tensors.items()}, folder / WEIGHTS)
        if (source / "config.json").exists():
            shutil.copyfile(source / "config.json", folder / "config.json")
    else:
        shutil.copyfile(_graph(source, model, shipment.engine, tokeniser), folder / GRAPH)
    rows = len(tensors["embedding.weight"]) if "embedding.weight" in tensors else None
    return {"words": words, "frame": _frame(tokeniser), "embedding_rows": rows, "width": tensors["head.weight"].shape[1]}


def _graph(source: Path, model: spec.Neural | spec.Frozen, engine: Engine, tokeniser: Tokeniser) -> Path:
    """The network as an ONNX file."""
    from bakeoff.probes import onnx_engine

    module = loading.neural(model, source, n_classes=len(loading.settings(source).classes), frame=tokeniser)
    try:
        return onnx_engine.exported(module, model, int8=engine == "onnx_int8")
    except Exception as error:
        raise NotApplicable(
            f"--engine {engine} cannot take {model.name} with this reading ({type(error).__name__}): use --engine eager"
        ) from error


def _served_name(name: str, longdoc: spec.LongDoc) -> str:
    """A weight's name in the module that is served: with windows, that of the network or of what pools its windows."""
    if longdoc.strategy != "windows":
        return name
    return f"pool.{name.removeprefix('windows.')}" if name.startswith("windows.") else f"module.{name}"


def _frame(tokeniser: Tokeniser) -> dict[str, Any]:
    """The special tokens around documents."""
    pair = tokeniser.pair
    return {
        "pad_id": tokeniser.pad_id,
        "prefix": list(tokeniser.prefix),
        "suffix": list(tokeniser.suffix),
        "pair": None if pair is None else {part: list(getattr(pair, part)) for part in ("prefix", "middle", "suffix")},
    }
