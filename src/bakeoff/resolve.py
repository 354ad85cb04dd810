"""What a configuration leaves open: data and checkpoint identity, the draw, the reading, the Runs that a Run needs."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bakeoff import fingerprint
from bakeoff.cache import cache_root
from bakeoff.errors import ConfigError, DataError, NotApplicable
from bakeoff.labelled import Needle
from bakeoff.provenance import machine_line

_HUB_NAMES = {"config": "hub_config", "revision": "revision", "pool": "hub_pool", "test": "hub_test"}
_PROBE_OF = {"teacher": "quality", "start": "pretrain"}
"""What is asked of the Runs that `model.teacher` and `model.start` name."""
_FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_NEWEST_SHARE = 0.2
"""As large as one of the five folds by hash."""

Chosen = Callable[[str, str, str], Mapping[str, Any]]
"""The plain `model` and `probe` of (part, name of a model, name of a probe), as configured where nothing overrides them."""

Found = dict[tuple[str, str], dict[str, Any]]
"""What data and checkpoints turned out to be, by what was asked about them; thousands of Runs ask about a few."""


def resolve(values: Mapping[str, Any], chosen: Chosen, found: Found) -> dict[str, Any]:
    """The plain values of a Run with what is derived filled in, those of its teacher and start under these names.

    What is in `found` is not looked at again, and what is not is added. Raises ConfigError for a noun that is missing, and
    DataError for data or a checkpoint that is not there, or whose bytes are not those of a fingerprint that the
    configuration already carries.
    """
    for name in ("dataset", "budget", "model", "longdoc", "probe"):
        if not isinstance(values.get(name), dict):
            raise ConfigError(f"{name} is missing: choose one with {name}=…")
    seed = values.get("seed")
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ConfigError(f"seed={seed} should be a whole number")
    budget = dict(values["budget"])
    if budget.get("draw") is None:
        budget["draw"] = seed
    if budget.get("unlabelled_path") is not None:
        budget |= _own_file("budget", budget, "unlabelled_path", "unlabelled_fingerprint", found=found, of=fingerprint.of_texts)
    model = _model(dict(values["model"]), values["probe"], values["dataset"], found)
    _check_pretraining(model.pop("pretraining", None))
    budget["unlabelled"] = _unlabelled(budget, model.pop("unlabelled", None), values["probe"])
    longdoc = _longdoc(values["longdoc"], model.get("default_longdoc"))
    asked, probe = dict(values["dataset"]), _probe(dict(values["probe"]), found)
    dataset = _once(found, "dataset", asked, lambda: _dataset(asked))
    resolved = {**values, "dataset": dataset, "budget": budget, "model": model, "longdoc": longdoc, "probe": probe}
    for part in _PROBE_OF:
        needed = resolved[part] = _needed(part, resolved, values.get(part), chosen, found)
        if needed is not None:
            model[part] = needed["model"].get("name")
    return resolved


def _once(found: Found, what: str, asked: object, answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is known about this already, or else the answer."""
    key = (what, repr(asked))
    if key not in found:
        found[key] = answer()
    return dict(found[key])


def _check_pretraining(own: Any) -> None:
    """What a model's YAML says of its pretraining is read by `conf/probe/pretrain.yaml`."""
    if own is not None and not (isinstance(own, Mapping) and own.keys() <= {"learning_rate", "epochs"}):
        raise ConfigError(f"model.pretraining={own} should map learning_rate or epochs, or both, to a number")


def _unlabelled(budget: Mapping[str, Any], own: Any, probe: Mapping[str, Any]) -> Any:
    """The budget's own choice wins; what it leaves open is the model's, if it has one."""
    if budget.get("unlabelled") is not None:
        return budget["unlabelled"]
    if budget.get("unlabelled_path") is not None:
        return "file"
    return "none" if own is None or _untrained(probe) else own


def _needed(part: str, student: dict[str, Any], section: Any, chosen: Chosen, found: Found) -> dict[str, Any] | None:
    """The plain Run that `model.teacher` or `model.start` names: on the student's data and labels, with its seed and threads.

    `section` is what a Run's own run.yaml says of it, and wins over the configured model while it is of that name. Unlabelled
    text is what the needed model's own YAML says, and none where it says nothing.
    """
    name = student["model"].get(part)
    if not isinstance(name, str) or _untrained(student["probe"]):
        return None
    whole = isinstance(section, Mapping) and all(isinstance(section.get(noun), Mapping) for noun in ("model", "longdoc", "probe", "budget"))
    if whole and section["model"].get("name") == name:
        model, longdoc, probe, own = dict(section["model"]), section["longdoc"], dict(section["probe"]), section["budget"].get("unlabelled")
    else:
        composed = chosen(part, name, _PROBE_OF[part])
        model, longdoc, probe = dict(composed["model"]), {}, dict(composed["probe"])
        own = model.pop("unlabelled", None) or "none"
    if any(model.get(each) is not None for each in _PROBE_OF):
        raise NotApplicable(f"model.{part}={name} is itself built from another model: only one level is allowed")
    if student["probe"].get("kind") != "latency":
        probe["threads"] = student["probe"].get("threads")
    budget = student["budget"] | {"unlabelled": own}
    if own != "file":
        budget |= {"unlabelled_path": None, "unlabelled_fingerprint": None}
    values = {"dataset": student["dataset"], "budget": budget, "model": model, "longdoc": longdoc, "probe": probe, "seed": student["seed"]}
    return resolve(values, chosen, found)


def _untrained(probe: Mapping[str, Any]) -> bool:
    return probe.get("kind") == "latency" and probe.get("weights") == "untrained"


def _longdoc(chosen: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """An explicit reading wins; what it leaves open is the model's own. Tokens above all are no open question of windows."""
    strategy, own = chosen.get("strategy"), default if isinstance(default, dict) else {}
    if strategy is None and own.get("strategy") == "full" and chosen.get("max_tokens") is not None:
        return {**chosen, "strategy": "head"}
    if strategy == "windows" == own.get("strategy"):
        return {**own, **chosen}
    if strategy in (None, own.get("strategy")):
        return {**chosen, **own, **{key: value for key, value in chosen.items() if value is not None}}
    return dict(chosen)


def _model(model: dict[str, Any], probe: Mapping[str, Any], dataset: Mapping[str, Any], found: Found) -> dict[str, Any]:
    if model.get("teacher") is None and "distillation" in model:
        model["distillation"] = None  # how a teacher would teach, where there is none
    if model.get("kind") == "zero_shot":
        model["descriptions"] = {**(dataset.get("label_descriptions") or {}), **(model.get("descriptions") or {})}
    if model.get("checkpoint") is not None:
        asked = *(model.get(key) for key in ("checkpoint", "revision", "size", "checkpoint_fingerprint")), _untrained(probe)
        model |= _once(found, "model.checkpoint", asked, lambda: _checkpoint(model, probe))
    for key, pinned in (("vectors", "vectors_fingerprint"), ("path", "fingerprint")):
        if model.get(key) is not None:
            model |= _own_file("model", model, key, pinned, found=found)
    return model


def _checkpoint(model: Mapping[str, Any], probe: Mapping[str, Any]) -> dict[str, Any]:
    name, revision, size = str(model["checkpoint"]), model.get("revision"), model.get("size")
    is_here = name in fingerprint.CHECKPOINTS or Path(name).expanduser().is_dir()
    if is_here and name not in fingerprint.CHECKPOINTS:
        name = str(Path(name).expanduser().absolute())
    if _untrained(probe) and isinstance(size, Mapping) and revision is None and not is_here:
        found = fingerprint.of_architecture(size)
    else:
        found = fingerprint.of_checkpoint(name, None if revision is None else str(revision), cache_root())
    _refuse_other_bytes("model.checkpoint_fingerprint", model.get("checkpoint_fingerprint"), found, "model.checkpoint")
    return {"checkpoint": name, "checkpoint_fingerprint": found}


def _own_file(
    noun: str,
    values: Mapping[str, Any],
    key: str,
    pinned: str,
    *,
    found: Found,
    of: Callable[[Path, Path | None], str] = fingerprint.of_bytes,
) -> dict[str, Any]:
    def answer() -> dict[str, Any]:
        path = Path(str(values[key])).expanduser().absolute()
        if not path.is_file():
            raise DataError(f"{noun}.{key}={path.name} is no file: check the path")
        bytes_ = of(path, cache_root())
        _refuse_other_bytes(f"{noun}.{pinned}", values.get(pinned), bytes_, f"{noun}.{key}")
        return {key: str(path), pinned: bytes_}

    return _once(found, f"{noun}.{key}", (values[key], values.get(pinned)), answer)


def _probe(probe: dict[str, Any], found: Found) -> dict[str, Any]:
    """A latency probe is about this machine, and answers one document a call where nothing else is asked for."""
    if probe.get("kind") != "latency":
        return probe
    engine, pinned = str(probe.get("engine")), probe.get("machine")
    here = _once(found, "machine", engine, lambda: {"machine": machine_line(engine)})["machine"]
    if pinned is not None and pinned != here:
        raise ConfigError(f"probe.machine={pinned} is another machine than this one, {here}: pass probe.machine=null to time it here")
    if probe.get("scenario") == "single" and probe.get("batch_size") is None:
        probe["batch_size"] = 1
    return probe | {"machine": here}


def _dataset(dataset: dict[str, Any]) -> dict[str, Any]:
    if dataset.get("hub") is not None:
        named = {key: None if dataset.get(name) is None else str(dataset[name]) for key, name in _HUB_NAMES.items()}
        found = fingerprint.of_hub_dataset(str(dataset["hub"]), **named)
        name = dataset.get("name") or str(dataset["hub"]).rpartition("/")[2]
        dataset |= {"name": name, "family": dataset.get("family") or name} | _split(dataset, tested=dataset.get("hub_test") is not None)
    elif dataset.get("format") == "needle":
        found = fingerprint.of_generated({"recipe": Needle.recipe, **(dataset.get("needle") or {})})
    elif dataset.get("asset") is not None:
        found = fingerprint.of_dataset_asset(str(dataset["asset"]))
    else:
        dataset |= _own_data(dataset)
        test = dataset["test_path"]
        found = fingerprint.of_files(Path(dataset["path"]), None if test is None else Path(test), cache_root())
    _refuse_other_bytes("dataset.fingerprint", dataset.get("fingerprint"), found, "dataset.path")
    rewrite, name = str(dataset.get("rewrite") or "none"), str(dataset.get("name"))
    if rewrite != "none" and not name.endswith(rewrite):
        dataset["name"] = f"{name}_{rewrite}"  # so that no page takes it for the data as they are
    return dataset | {"fingerprint": found}


def _own_data(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """Absolute paths, and what a YAML for anybody's data leaves open: format, name, family, split."""
    paths = {key: None if dataset.get(key) is None else Path(str(dataset[key])).expanduser().absolute() for key in ("path", "test_path")}
    path = paths["path"]
    if path is None:
        raise DataError("dataset.path is empty: pass dataset.path=FILE, or a folder with one folder a class")
    for key, each in paths.items():
        if each is not None and not each.exists():
            raise DataError(f"dataset.{key}={each} does not exist: give the path of a file, or of a folder with one folder a class")
    chosen = {key: None if each is None else str(each) for key, each in paths.items()}
    form = dataset.get("format") or _FORMATS.get(path.suffix.lower())
    if form is None:
        advice = (
            "is a folder: use dataset=folder"
            if path.is_dir()
            else "should end in .csv, .tsv, .jsonl or .parquet, or set dataset.format=csv"
        )
        raise DataError(f"dataset.path={path.name} {advice}")
    name = dataset.get("name") or re.sub(r"[^\w.-]+", "_", path.stem)
    rows = dataset.get("held_out_rows")
    if rows is not None:
        raise ConfigError(
            f"dataset.held_out_rows={rows} is for data that never grows: rows added later would move old ones; use dataset.split=fold"
        )
    split = _split(dataset, tested=paths["test_path"] is not None)
    return chosen | {"format": form, "name": name, "family": dataset.get("family") or name} | split


def _split(dataset: Mapping[str, Any], *, tested: bool) -> dict[str, Any]:
    """The official test rows where the data has some and brings no folds, the newest rows where a column tells time, or fold 0."""
    brings_folds = dataset.get("fold_column") is not None or dataset.get("fold_pattern") is not None
    split, fold = dataset.get("split"), dataset.get("fold")
    if split is None:
        split = "official" if tested and not brings_folds else "fold" if dataset.get("time") is None else "newest"
    chosen = {"split": split, "fold": 0 if split == "fold" and fold is None else fold}
    if split == "newest" and dataset.get("newest_share") is None and dataset.get("newest_from") is None:
        chosen["newest_share"] = _NEWEST_SHARE
    return chosen


def _refuse_other_bytes(key: str, pinned: Any, found: str, source: str) -> None:
    """A configuration that was written down, such as a Run's own run.yaml, names the bytes that it was about."""
    if pinned is not None and pinned != found:
        raise DataError(f"{source} holds other bytes than {key} says: pass ~{key} to ask about the bytes as they are now")
