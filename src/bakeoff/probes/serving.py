"""The inside of a process that serves models of one engine, and times them when it is told to.

It reads one command at a time and otherwise sleeps, so that of all processes of a session only one works.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bakeoff.data.tokens import Document
from bakeoff.errors import BakeoffError
from bakeoff.probes import grid, peak
from bakeoff.probes.latency import Stages, Turn, take_turn
from bakeoff.probes.peak import Device
from bakeoff.probes.rules import Rules, batches_of
from bakeoff.probes.warmup import Search, WarmUp, best_batch, is_out_of_memory, warm_up
from bakeoff.spec import Run


class Servable(Protocol):
    """A model that is ready to answer raw texts; `pipeline.Pipeline` is one."""

    @property
    def checking_seconds(self) -> float: ...
    def label(self, texts: Sequence[Document]) -> npt.NDArray[Any]: ...
    def probabilities(self, texts: Sequence[Document]) -> npt.NDArray[Any]: ...
    def timed(self, texts: Sequence[Document]) -> Stages: ...
    def lengths_tokens(self, texts: Sequence[Document]) -> npt.NDArray[Any]: ...
    def tokens_processed(self, tokens: int) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Kit:
    """How a process comes by its models; both functions are importable, since the process is a fresh one."""

    prepare: Callable[[Run], Any]
    """The dataset of a Run; read once, since all Runs of a session share it."""
    build: Callable[[Run, Any, Path | None], Servable]
    """A Run, its dataset and the folder of its trained weights, if it has them, to what is served."""
    describe: Callable[[Run, Any], Any]
    """What is recorded of a Run's model besides its times."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A model that is ready; moments are seconds of the monotonic clock, which the processes of a machine share."""

    answered_at: float
    """When its first answer was there."""
    preparing_seconds: float
    """Spent on what serving does not do: reading the dataset, exporting the model, comparing an engine with the eager one."""


class Bench:
    """The models of one process by name; each method is a command."""

    def __init__(self, kit: Kit, *, threads: int, device: Device) -> None:
        self._kit, self._threads, self._device = kit, threads, device
        self._prepared: Any = None
        self._served: dict[str, Servable] = {}
        self._documents: dict[str, list[Document]] = {}
        self._batches: dict[str, list[tuple[Document, ...]]] = {}

    def load(self, name: str, run: Run, weights: Path | None, documents: Sequence[Document]) -> Loaded:
        """Make a model ready to answer `documents`, one a call, and let it answer the first."""
        begin = time.monotonic()
        self._prepared = self._prepared or self._kit.prepare(run)
        prepared_at = time.monotonic()
        served = self._kit.build(run, self._prepared, weights)
        if (torch := sys.modules.get("torch")) is not None:  # a model that does without starts faster without
            torch.set_num_threads(self._threads)
        served.label(documents[:1])
        answered_at = time.monotonic()
        self._served[name] = served
        self._documents[name], self._batches[name] = list(documents), batches_of(documents, 1)
        return Loaded(answered_at=answered_at, preparing_seconds=prepared_at - begin + served.checking_seconds)

    def answer_longest(self, name: str, batch_size: int) -> float:
        """Answer the longest documents once; the process's largest resident size so far, in MB (of a GPU: of its memory)."""
        served, documents = self._served[name], self._documents[name]
        longest = np.argsort(-served.lengths_tokens(documents), kind="stable")[:batch_size]
        served.label([documents[i] for i in longest])
        return peak.memory_mb(self._device)

    def answer_length(self, name: str, tokens: int) -> float | None:
        """Answer one generated document of so many tokens; the most memory held meanwhile, in MB (of a GPU: of its own).

        None where the system does not tell. Raises NotApplicable as `grid.documents_of` does.
        """
        served = self._served[name]
        documents = grid.documents_of(tokens, 1, self._documents[name], served.lengths_tokens)
        told = peak.forget(self._device)
        served.label(documents)
        return peak.memory_mb(self._device) if told else None

    def tokens_processed(self, name: str, tokens: int) -> int:
        """How many tokens pass through a model for a document of so many."""
        return self._served[name].tokens_processed(tokens)

    def set_batch(self, name: str, size: int) -> None:
        """Answer `size` documents a call from now on. Raises BakeoffError when that many do not fit."""
        batches = batches_of(self._documents[name], size)
        try:
            self._served[name].label(batches[0])
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise BakeoffError(f"probe.batch_size={size} does not fit in memory: set a lower one, or null to search for the best") from None
        self._batches[name] = batches

    def search_batch(self, name: str) -> Search:
        """Find the batch size of the highest throughput, and answer so many documents a call from now on."""
        found = best_batch(self._served[name].label, self._documents[name], synchronise=self._synchronise())
        self._batches[name] = batches_of(self._documents[name], found.best)
        return found

    def set_length(self, name: str, tokens: int, count: int) -> None:
        """Make `name@tokens`, the same model with `count` generated documents of that length.

        Raises NotApplicable where no document of that length can be made.
        """
        served, player = self._served[name], f"{name}@{tokens}"
        documents = grid.documents_of(tokens, count, self._documents[name], served.lengths_tokens)
        self._served[player], self._batches[player] = served, batches_of(documents, 1)

    def warm_up(self, name: str, rules: Rules) -> WarmUp:
        """Call a model until it is warm."""
        return warm_up(self._served[name].label, self._batches[name], rules=rules, synchronise=self._synchronise())

    def turn(self, name: str, first: int, rules: Rules) -> Turn:
        """One turn, which goes on with batch number `first`."""
        served = self._served[name]
        staged = served.timed if rules.staged else None
        return take_turn(served.label, self._batches[name], first, rules=rules, synchronise=self._synchronise(), staged=staged)

    def lengths_tokens(self, name: str) -> npt.NDArray[np.int64]:
        """Lengths of the documents in the model's own tokens, shape (documents,)."""
        return np.asarray(self._served[name].lengths_tokens(self._documents[name]), dtype=np.int64)

    def probabilities(self, name: str, texts: Sequence[Document]) -> npt.NDArray[np.float64]:
        """Probabilities of any number of texts, shape (texts, classes)."""
        return np.asarray(self._served[name].probabilities(texts), dtype=np.float64)

    def describe(self, name: str, run: Run) -> Any:
        """What the kit tells about a model."""
        return self._kit.describe(run, self._served[name])

    def _synchronise(self) -> Callable[[], object] | None:
        if self._device == "cpu":
            return None
        import torch

        return torch.cuda.synchronize


def main(channel: Connection, kit: Kit, threads: int, device: Device) -> None:
    """Obey commands until the channel closes; each answer is a pair (whether it worked, value or exception)."""
    # Ctrl-C reaches the whole process group; the session ends its processes itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    bench = Bench(kit, threads=threads, device=device)
    while True:
        try:
            command, arguments = channel.recv()
        except (EOFError, OSError):
            break
        try:
            answer = (True, getattr(bench, command)(*arguments))
        except Exception as error:
            traceback.print_tb(error.__traceback__)  # without the message, which may quote a text
            answer = (False, _sendable(error))
        try:
            channel.send(answer)
        except OSError:
            break


def environment(threads: int, device: Device) -> dict[str, str]:
    """What must be set before a process loads its libraries: thread counts, and pools that sleep while idle."""
    own = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")}
    own |= {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false"}
    return own | ({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {})


def _sendable(error: Exception) -> Exception:
    """The error itself, or one that names its type where it cannot travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__} in the process of the model")
    return error.with_traceback(None)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
