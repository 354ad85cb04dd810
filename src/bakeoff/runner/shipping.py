"""What a Run reads of this machine's own files, as bytes that travel to where it is baked."""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from bakeoff.errors import DataError
from bakeoff.runner.needs import MODEL
from bakeoff.spec import Run
from bakeoff.store import RECORD, Store

Packed = dict[str, bytes]
"""Path below a folder, with forward slashes → the bytes of that file."""

Noun = Literal["dataset", "budget", "model"]

FINGERPRINTS: dict[tuple[Noun, str], str] = {
    ("dataset", "path"): "fingerprint",
    ("dataset", "test_path"): "fingerprint",
    ("budget", "unlabelled_path"): "unlabelled_fingerprint",
    ("model", "checkpoint"): "checkpoint_fingerprint",
    ("model", "vectors"): "vectors_fingerprint",
    ("model", "path"): "fingerprint",
}
"""Each field of a Run that may name a file or folder of this machine → the field that holds the hash of its bytes."""

_CHECKPOINT_ENDINGS = {".safetensors", ".bin", ".json", ".txt", ".model", ".bpe"}
"""Of the files of a checkpoint's folder those that are read: weights, configuration, tokeniser; states of optimisers stay here."""


@dataclass(frozen=True, kw_only=True)
class Own:
    """A file or folder of this machine that a Run reads."""

    noun: Noun
    field: str
    path: Path
    fingerprint: str

    @property
    def place(self) -> Path:
        """Where it lies below the folder of all that was shipped: by its bytes, under its own name, which errors and records tell."""
        key = hashlib.sha256(f"{self.fingerprint}|{self.field}|{self.path.name}".encode()).hexdigest()[:16]
        return Path(key) / self.path.name


def own_files(run: Run) -> list[Own]:
    """What a Run reads of this machine; names of starter assets and of the hub mean the same everywhere."""
    found = []
    for (noun, field), pinned in FINGERPRINTS.items():
        part = getattr(run, noun)
        value = getattr(part, field, None)
        if isinstance(value, str) and Path(value).is_absolute():
            found.append(Own(noun=noun, field=field, path=Path(value), fingerprint=str(getattr(part, pinned))))
    return found


def moved(run: Run, folder: Path) -> Run:
    """The same Run where its own files lie below `folder`, each in its `place`."""
    changes: dict[str, Any] = {}
    for own in own_files(run):
        changes[own.noun] = replace(changes.get(own.noun, getattr(run, own.noun)), **{own.field: str(folder / own.place)})
    elsewhere = replace(run, **changes)
    assert elsewhere.run_id == run.run_id, "paths are no part of the question"
    return elsewhere


def pack_own(own: Own) -> Packed:
    """The bytes of a file, or of the files of a folder that are read, below its own name. Raises DataError when it is gone."""
    if own.path.is_file():
        files = [own.path]
    elif own.noun == "dataset":
        files = [file for file in own.path.glob("*/*") if file.is_file()]
    else:
        files = [file for file in own.path.glob("*") if file.is_file() and file.suffix in _CHECKPOINT_ENDINGS]
        files += own.path.glob("*/config.json")
    if not files:
        raise DataError(f"{own.noun}.{own.field}={own.path.name} does not exist any more, or is empty: check the path")
    return {file.relative_to(own.path.parent).as_posix(): file.read_bytes() for file in sorted(files)}


def pack_weights(store: Store, run_id: str) -> Packed:
    """The record and the weights of a Run, from which others are built. Raises DataError where they are gone."""
    folder = store.folder(run_id)
    if not (folder / MODEL).is_dir():
        raise DataError(f"the weights of {run_id} are gone since this began: ask for the same again, which bakes them too")
    return {RECORD: (folder / RECORD).read_bytes()} | {f"{MODEL}/{name}": content for name, content in pack(folder / MODEL).items()}


def pack(folder: Path) -> Packed:
    """All files below a folder; links and what they lead to are left out."""
    packed: Packed = {}
    for root, _, names in os.walk(folder):
        for path in (Path(root) / name for name in sorted(names)):
            if path.is_file() and not path.is_symlink():
                packed[path.relative_to(folder).as_posix()] = path.read_bytes()
    return packed


def unpack(packed: Packed, folder: Path) -> None:
    """Write files below a folder. Raises ValueError for a name that leads out of it."""
    for name, content in packed.items():
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts:
            raise ValueError(f"{name} leads out of its folder")
        path = folder / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def below(packed: Packed, name: str) -> Packed:
    """The files of one folder among those packed, named from there."""
    return {file.removeprefix(f"{name}/"): content for file, content in packed.items() if file.startswith(f"{name}/")}
