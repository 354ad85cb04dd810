"""What a checkpoint can do as it is, told from its files before anything is loaded: embed, classify, judge entailment."""

import json
import re
from pathlib import Path
from typing import Any

from bakeoff.data import labels
from bakeoff.errors import DataError
from bakeoff.spec import BudgetZero, OffTheShelf, ZeroShot

EMBEDDING_ASSETS = ("minilm-l6",)
"""Starter checkpoints that were tuned so that texts of like meaning lie close together."""
_EMBEDDING_MODULES = {"Transformer", "Pooling", "Normalize"}
_HEAD = re.compile(r"(^|\.)(classif\w*|score|logits_proj)\.")
_HEAD_OUTPUT = re.compile(r"(^|\.)(classifier|classification_head\.out_proj|classifier\.out_proj|score|logits_proj)\.weight$")


def require_embedding(model: ZeroShot, folder: Path) -> None:
    """Raise DataError for a checkpoint that is no embedding model, or that embeds otherwise than by the mean of its tokens."""
    if model.checkpoint in EMBEDDING_ASSETS:
        return
    modules = folder / "modules.json"
    if not modules.is_file():
        if (folder / "config_sentence_transformers.json").is_file():
            return  # such a checkpoint is read by the mean where nothing else is said
        raise DataError(
            f"model.checkpoint={named(model)} is no embedding checkpoint (it has no modules.json of sentence-transformers), so distances "
            f"between its states mean little: use {' or '.join(EMBEDDING_ASSETS)}, or model.method=entailment with an NLI checkpoint"
        )
    parts = _read(modules, model)
    kinds = [str(part.get("type")).rpartition(".")[2] for part in parts]
    if extra := sorted(set(kinds) - _EMBEDDING_MODULES):
        raise DataError(f"model.checkpoint={named(model)} embeds through a layer of its own ({extra[0]}), which bakeoff does not have")
    for part, kind in zip(parts, kinds, strict=True):
        if kind == "Pooling" and not _is_mean(_read(folder / str(part.get("path")) / "config.json", model)):
            raise DataError(f"model.checkpoint={named(model)} does not embed by the mean of its tokens, as bakeoff does: use another")


def label_names(model: BudgetZero, folder: Path) -> tuple[str, ...]:
    """What the outputs of a sequence classifier are called, in their order.

    Raises DataError for a checkpoint that is no such classifier, whose head is not among its weights, or whose head has
    another number of outputs than it names.
    """
    config = _read(folder / "config.json", model)
    built = [str(name) for name in config.get("architectures") or ["of no stated architecture"]]
    if not any(name.endswith("ForSequenceClassification") for name in built):
        raise DataError(
            f"model.checkpoint={named(model)} is {', '.join(built)}, which classifies nothing: name one that was fine-tuned as a "
            "…ForSequenceClassification"
        )
    if config.get("problem_type") == "multi_label_classification":
        raise DataError(f"model.checkpoint={named(model)} gives a text several labels at once (multi-label), which bakeoff does not do")
    given = config.get("id2label") or {str(i): f"LABEL_{i}" for i in range(int(config.get("num_labels") or 2))}
    names = tuple(str(name) for _, name in sorted(given.items(), key=lambda item: int(item[0])))
    if len(set(names)) < len(names):
        raise DataError(f"model.checkpoint={named(model)} calls several of its outputs alike, so that they cannot be told apart by name")
    _require_head(model, folder, len(names))
    return names


def entailment_output(model: ZeroShot, names: tuple[str, ...]) -> int:
    """The output that says "follows from the text", found by its name. Raises DataError where there is none."""
    found = [i for i, name in enumerate(names) if name.lower().startswith("entail")]
    if len(found) != 1:
        raise DataError(
            f"model.checkpoint={named(model)} has no label of entailment (its labels are {', '.join(names[:20])}): name one that was "
            "trained for natural-language inference"
        )
    return found[0]


def outputs_of_classes(model: OffTheShelf, names: tuple[str, ...], classes: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """For each class, the outputs that mean it, by name and never by position.

    Raises DataError for a label or a class that does not exist, and for a class that would never be answered.
    """
    meant = dict(model.labels)
    if not meant:
        by_name = {name.casefold(): name for name in classes}
        if sorted(by_name) != sorted(name.casefold() for name in names):
            raise DataError(
                f"model.checkpoint={named(model)} answers {', '.join(names[:20])}, but the classes are {', '.join(classes[:20])}: say what "
                f"its labels mean with '+model.labels={{{names[0]}: {classes[0]}, …}}'"
            )
        meant = {name: by_name[name.casefold()] for name in names}
    for label, name in meant.items():
        if label not in names:
            raise DataError(f"model.labels.{label} is no label of model.checkpoint={named(model)}; {labels.nearest(label, names)}")
        if name not in classes:
            raise DataError(f"model.labels.{label}={name} is no class of the data; {labels.nearest(name, classes)}")
    if never := [name for name in classes if name not in meant.values()]:
        raise DataError(
            f"model.labels lets model.checkpoint={named(model)} never answer {', '.join(never[:20])}: map a label to each class "
            f"(its labels are {', '.join(names[:20])})"
        )
    return tuple(tuple(i for i, label in enumerate(names) if meant.get(label) == name) for name in classes)


def named(model: BudgetZero) -> str:
    """The checkpoint as errors call it: a folder by its last part."""
    return Path(model.checkpoint).name if Path(model.checkpoint).is_absolute() else model.checkpoint


def _require_head(model: BudgetZero, folder: Path, n_names: int) -> None:
    """Weights in an old format are looked at when they are loaded."""
    from safetensors import safe_open

    index, single = folder / "model.safetensors.index.json", folder / "model.safetensors"
    if index.is_file():
        weights, rows = set(_read(index, model).get("weight_map", {})), None
    elif single.is_file():
        with safe_open(str(single), framework="numpy") as stored:
            weights = set(stored.keys())
            rows = next((stored.get_slice(name).get_shape()[0] for name in sorted(weights) if _HEAD_OUTPUT.search(name)), None)
    else:
        return
    if not any(_HEAD.search(name) for name in weights):
        raise headless(named(model))
    if rows is not None and rows != n_names:
        raise DataError(f"model.checkpoint={named(model)} has {rows} outputs but names {n_names} labels: its config.json is not its own")


def headless(name: str) -> DataError:
    """The error for a checkpoint whose head would be random."""
    return DataError(
        f"model.checkpoint={name} has no classification head among its weights, so a random one would answer: name a fine-tuned checkpoint"
    )


def _is_mean(pooling: dict[str, Any]) -> bool:
    """Whether the mean is the one pooling that is switched on, as older and as newer files write it."""
    if "pooling_mode" in pooling:
        return bool(pooling["pooling_mode"] == "mean")
    return [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on] == ["pooling_mode_mean_tokens"]


def _read(file: Path, model: BudgetZero) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DataError(f"model.checkpoint={named(model)} has no readable {file.name}: name a folder with a saved checkpoint") from None
