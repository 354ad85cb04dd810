"""What a worker does with a Run of another machine: lay out what it reads, bake it in a child, hand over what came out."""

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.cache import cache_root
from bakeoff.record import Record
from bakeoff.runner import shipping
from bakeoff.runner.attempt import Bake, Notify
from bakeoff.runner.events import Event
from bakeoff.runner.local import run_local
from bakeoff.runner.shipping import Packed
from bakeoff.runner.slots import Slot
from bakeoff.spec import Run
from bakeoff.store import LOCKS, Store

Fetch = Callable[[Any], Packed]
"""Gets the files behind a reference."""
Rename = Callable[[Run, Path, Path], None]
"""Given a Run as it was asked for, the folder where it was baked, and the folder where it will lie: lets its files name the
latter, and the paths of the former. Must be picklable."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A Run for a worker, and what it needs to know to bake it. All of it must be picklable."""

    run: Run
    lies_in: Path
    """The Run's folder on the driver's machine."""
    sweep: str
    """A name that no other sweep has, for the folder of all that this one leaves on a node until it ends."""
    bake: Bake
    rename: Rename
    preload: tuple[str, ...]
    share_texts: bool
    limit_seconds: float | None
    environment: Mapping[str, str]
    """Variables that are set as on the driver's machine."""
    own_files: Mapping[Path, Any]
    """`Own.place` → reference to the files of `shipping.pack_own`."""
    weights: Mapping[str, Any]
    """Id of each Run that this one is built from → reference to the files of `shipping.pack_weights`."""


@dataclass(frozen=True, kw_only=True)
class Returned:
    """What a worker gives back."""

    events: tuple[Event, ...]
    """All that was told; without an end among them the worker was stopped."""
    files: Packed
    """All files of the temporary store, the Run's own below its id."""


def bake(order: Order, *, gpus: Sequence[str], fetch: Fetch) -> Returned:
    """Bake an order in a temporary store with a child of this process, which sees these GPUs alone; nothing of it stays.

    Files that several Runs read stay in the sweep's folder until `clean`, and so do prepared copies of the user's own data.
    """
    folder = _folder(order.sweep)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds texts, on a machine that others may use
    for place, reference in order.own_files.items():
        _lay_out(folder / "files" / place.parent, reference, fetch)
    for run_id, reference in order.weights.items():
        _lay_out(folder / "weights" / run_id, reference, fetch)
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(dir=folder / "runs"))
    try:
        for run_id in order.weights:
            (root / run_id).symlink_to(folder / "weights" / run_id)
        environment = dict(order.environment)
        if order.own_files:
            environment["BAKEOFF_CACHE"] = str(_cache(folder))
        events: list[Event] = []
        run_local(
            [shipping.moved(order.run, folder / "files")],
            store=Store(root),
            bake=functools.partial(
                _bake, bake=order.bake, rename=order.rename, asked=order.run, lies_in=order.lies_in, environment=environment
            ),
            slots=[Slot(gpus=tuple(gpus))],
            preload=order.preload,
            share_texts=order.share_texts,
            limit_seconds=order.limit_seconds,
            on_event=events.append,
        )
        shutil.rmtree(root / LOCKS, ignore_errors=True)
        return Returned(events=tuple(events), files=shipping.pack(root))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def clean(sweep: str) -> None:
    """Leave nothing of a sweep on this node."""
    shutil.rmtree(_folder(sweep), ignore_errors=True)
    with contextlib.suppress(OSError):  # another sweep has its own folder there
        _folder(sweep).parent.rmdir()


def _bake(
    run: Run,
    folder: Path,
    notify: Notify,
    write: Callable[[Record], None],
    *,
    bake: Bake,
    rename: Rename,
    asked: Run,
    lies_in: Path,
    environment: Mapping[str, str],
) -> Record:
    os.environ.update(environment)
    record = bake(run, folder, notify, write)
    rename(asked, folder, lies_in)
    return record


def _folder(sweep: str) -> Path:
    return cache_root() / "elsewhere" / sweep


def _cache(folder: Path) -> Path:
    """A cache of the sweep's own, so that copies of the user's texts go with it; fetched assets are those of the node."""
    assets, cache = cache_root() / "assets", folder / "cache"
    for each in (assets, cache):
        each.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (cache / assets.name).symlink_to(assets)
    return cache


def _lay_out(folder: Path, reference: Any, fetch: Fetch) -> None:
    """Write the files behind a reference once a node, whole or not at all."""
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        shipping.unpack(fetch(reference), half)
        with contextlib.suppress(OSError):  # another Run of this node was faster
            os.rename(half, folder)
    finally:
        shutil.rmtree(half, ignore_errors=True)
