"""One Run on several devices: a process for each, every one of which learns from its share of each batch.

Every process goes through the same batches in the same order and takes some rows of each, so that no row is padded in, left
out or counted twice. The loss of a share is weighted by its targets, and the gradients are averaged over the processes: the
step is that of the whole batch on one device, but for rounding and for the masks that dropout draws.
"""

import contextlib
import multiprocessing
import os
import pickle
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Literal

import torch
from lightning_fabric.plugins.environments.cluster_environment import ClusterEnvironment
from pytorch_lightning.strategies import DDPStrategy
from torch import distributed

from bakeoff.data.batches import Batch
from bakeoff.data.masking import NOT_HIDDEN

_MEETING = timedelta(minutes=10)
"""How long a process waits for the others, at the start and at every step."""
_GRACE_SECONDS = 5.0
"""How long the others may take to end by themselves, once this process has failed."""


@dataclass(frozen=True)
class Place:
    """Which of the `devices` that train together a process has, counted from 0."""

    rank: int
    devices: int


ALONE = Place(0, 1)


@dataclass(frozen=True, kw_only=True)
class Share:
    """Rows of a batch, and what their mean loss counts in the mean of all shares, so that this is the mean of the batch."""

    batch: Batch
    weight: float


def share(batch: Batch, place: Place) -> Share:
    """Every `devices`-th row of a batch; where there are too few, its first row with no weight, since all must take part."""
    if place == ALONE:
        return Share(batch=batch, weight=1.0)
    idle = place.rank >= len(batch.lengths)
    mine = slice(0, 1) if idle else slice(place.rank, None, place.devices)
    lengths, labels = batch.lengths[mine], batch.labels[mine]
    longest = max(1, int(lengths.max()))
    part = replace(
        batch,
        ids=batch.ids[mine, :longest],
        lengths=lengths,
        labels=labels if labels.ndim == 1 else labels[:, :longest],
        rows=batch.rows[mine],
    )
    weight = 0.0 if idle else place.devices * n_targets(part) / max(1, n_targets(batch))
    return Share(batch=part, weight=weight)


def n_targets(batch: Batch) -> int:
    """What a mean loss is a mean over: rows, or the hidden tokens that are to be guessed."""
    return len(batch.labels) if batch.labels.ndim == 1 else int((batch.labels != NOT_HIDDEN).sum())


def trainer_options(place: Place) -> dict[str, Any]:
    """What Lightning's Trainer is told about the devices of a process."""
    if place == ALONE:
        return {"devices": 1}
    # A parameter that no row uses must stay as it is, as it does on one device.
    strategy = DDPStrategy(find_unused_parameters=True)
    return {"devices": place.devices, "strategy": strategy, "plugins": [_Given(place)], "use_distributed_sampler": False}


@contextlib.contextmanager
def together(work: Callable[[Place], object], *, devices: int, device: Literal["cpu", "cuda"]) -> Iterator[Place]:
    """While entered, `devices` − 1 new processes do `work`, each at its place, and this one does the same at the place given.

    `work` must be picklable, and ends in every process alike; new interpreters import what it needs anew. Ends this process with
    exit code 1 when another one fails, since a collective operation that waits for it cannot be called off; what went wrong is
    printed.
    """
    with tempfile.TemporaryDirectory(prefix="bakeoff-devices-") as folder:
        meeting = Path(folder) / "meeting"
        # Pickled by hand: multiprocessing would put tensors into memory that all processes share, and all of them train.
        described, context = pickle.dumps(work), multiprocessing.get_context("spawn")
        others = [context.Process(target=_help, args=(described, Place(rank, devices), device, meeting)) for rank in range(1, devices)]
        stopping = threading.Event()
        for process in others:
            process.start()
        watcher = threading.Thread(target=_watch, args=(others, stopping), daemon=True)
        watcher.start()
        try:
            with _group(Place(0, devices), device, meeting):
                yield Place(0, devices)
        except BaseException:
            stopping.set()
            watcher.join(_GRACE_SECONDS)  # one that failed first may still have to say why
            for process in others:
                process.kill()
            raise
        finally:
            watcher.join()


class _Given(ClusterEnvironment):
    """Tells Lightning that all processes are there already, and have met."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return "127.0.0.1"

    @property
    def main_port(self) -> int:
        return 0

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self.place.devices

    def set_world_size(self, size: int) -> None:
        assert size == self.place.devices

    def global_rank(self) -> int:
        return self.place.rank

    def set_global_rank(self, rank: int) -> None:
        assert rank == self.place.rank

    def local_rank(self) -> int:
        return self.place.rank

    def node_rank(self) -> int:
        return 0


@contextlib.contextmanager
def _group(place: Place, device: Literal["cpu", "cuda"], meeting: Path) -> Iterator[None]:
    """Meet the other processes at a file, so that no port has to be free."""
    own = None
    if device == "cuda":
        own = torch.device("cuda", place.rank)
        torch.cuda.set_device(own)
    distributed.init_process_group(
        "gloo" if device == "cpu" else "nccl",
        init_method=meeting.as_uri(),
        rank=place.rank,
        world_size=place.devices,
        timeout=_MEETING,
        device_id=own,
    )
    try:
        yield
    finally:
        distributed.destroy_process_group()


def _help(described: bytes, place: Place, device: Literal["cpu", "cuda"], meeting: Path) -> None:
    """The life of another process."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        work: Callable[[Place], object] = pickle.loads(described)
        with _group(place, device, meeting):
            work(place)
    except BaseException as error:
        # Without its message, which may quote a text.
        frames = (f"{Path(each.filename).name}:{each.lineno} in {each.name}" for each in traceback.extract_tb(error.__traceback__))
        print(f"process {place.rank + 1} of {place.devices}: {type(error).__name__} at", *frames, sep="\n  ", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _watch(others: Sequence[SpawnProcess], stopping: threading.Event) -> None:
    """Until all have ended; ends this process when one fails by itself."""
    left = {process.sentinel: process for process in others}
    while left:
        for ready in wait(list(left)):
            assert isinstance(ready, int)
            process = left.pop(ready)
            process.join()
            if process.exitcode and not stopping.is_set():
                print(f"one of the processes that train together ended with exit code {process.exitcode}", file=sys.stderr, flush=True)
                os._exit(1)
