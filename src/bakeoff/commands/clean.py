"""`bakeoff clean`: disk space of weights and caches; never a record."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff import convert
from bakeoff.cache import cache_root
from bakeoff.errors import BakeoffError, ConfigError
from bakeoff.runner.needs import MODEL
from bakeoff.runner.weights import GONE, drop
from bakeoff.spec import Run, is_run_id
from bakeoff.store import Locked, Store, default_root

CACHES = ("prepared", "tokens", "features", "onnx", "sha256")
"""Folders of the cache whose contents are made again when they are needed."""
ASSETS = "assets"
"""The folder of the cache whose contents would have to be fetched again."""
OLD = ".old"
BUSY = "something is baked now, and may need them yet: run this again when bakeoff status shows nothing at work"


@dataclass(frozen=True, kw_only=True)
class Freed:
    """What was, or would be, deleted of one kind."""

    what: str
    places: int
    bytes: int


def clean(*, weights: bool, caches: bool, assets: bool, old: bool, dry_run: bool) -> str:
    """Free what is asked for, or with `dry_run` only say how much that would be. Raises ConfigError where nothing is asked for.

    Weights that something needs are made again when it is baked, so that deleting them costs time and no answer.
    """
    if not (weights or caches or assets or old):
        raise ConfigError("nothing to free is named: add --weights, --caches, --assets or --old")
    store, root = Store(default_root()), cache_root()
    freed: list[Freed] = []
    kept: list[str] = []
    if weights:
        if not dry_run and store.root.is_dir():
            store.check_usable()
        freed.append(_weights(store, kept, dry_run=dry_run))
    if old:
        folders = sorted((store.root / OLD).glob(f"*/{MODEL}"))
        freed.append(_freed("weights of Runs that were set aside", folders, dry_run=dry_run))
    if caches and store.holders():
        kept.append(f"kept: all caches, since {BUSY}")
    elif caches:
        freed += [_freed(f"cache of {name}", [root / name] if (root / name).is_dir() else [], dry_run=dry_run) for name in CACHES]
    if assets:
        freed.append(_freed("fetched assets", [root / ASSETS] if (root / ASSETS).is_dir() else [], dry_run=dry_run))
    word, total = "would free" if dry_run else "freed", sum(each.bytes for each in freed)
    lines = [f"{word} {_mb(each.bytes)}  {each.what}" for each in freed if each.places]
    return "\n".join([*lines, *kept, f"{word} {_mb(total)} in all; every record stays"])


def _weights(store: Store, kept: list[str], *, dry_run: bool) -> Freed:
    """Free the weights of every Run that no failed Run is built from, and none while something is baked; `kept` says why others stay."""
    if store.holders():
        kept.append(f"kept: all weights, since {BUSY}")
        return Freed(what="weights", places=0, bytes=0)
    needed = _needed(store)
    count = size = 0
    for folder in _with_weights(store):
        run_id = folder.name
        if run_id in needed:
            kept.append(f"kept: the weights of {run_id}, since {needed[run_id]}")
            continue
        with contextlib.ExitStack() as lock:
            try:
                if not dry_run:
                    lock.enter_context(store.lock(run_id, title="bakeoff clean"))
                elif store.is_locked(run_id):
                    raise Locked(run_id)
            except Locked:
                kept.append(f"kept: the weights of {run_id}, which another process bakes now")
                continue
            freed = _freed("", _weights_in(folder), dry_run=dry_run)
        count, size = count + 1, size + freed.bytes
    return Freed(what=f"weights of {count} Run{'' if count == 1 else 's'}", places=count, bytes=size)


def _needed(store: Store) -> dict[str, str]:
    """Run id → which failed Run is built from its weights."""
    unfinished = [run for failure in store.failures() if (run := _built(failure.get("run"))) is not None]
    return {need.run_id: f"{run.run_id} is not baked yet" for run in unfinished for need in run.needs.values()}


def _built(plain: Any) -> Run | None:
    if not isinstance(plain, dict):
        return None
    try:
        return convert.build_again({key: value for key, value in plain.items() if key != "machine"})
    except (BakeoffError, LookupError, TypeError, AttributeError):
        return None


def _with_weights(store: Store) -> Iterator[Path]:
    if store.root.is_dir():
        yield from (path for path in sorted(store.root.iterdir()) if is_run_id(path.name) and _weights_in(path))


def _weights_in(folder: Path) -> list[Path]:
    """The weights of a Run, and what is left of those that somebody began to delete."""
    return [path for path in (folder / MODEL, *sorted(folder.glob(f"{GONE}*"))) if path.is_dir()]


def _freed(what: str, folders: Sequence[Path], *, dry_run: bool) -> Freed:
    size = sum(_bytes_of(folder) for folder in folders)
    left = 0 if dry_run else sum(_bytes_of(drop(folder)) for folder in folders)
    return Freed(what=what, places=len(folders), bytes=size - left)


def _bytes_of(folder: Path) -> int:
    """Bytes of the files below a folder; links are not followed, since what they name is not deleted."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # one that somebody else has just deleted
                size += os.lstat(os.path.join(place, name)).st_size
    return size


def _mb(size: int) -> str:
    return f"{size / 1e6:8.1f} MB"
