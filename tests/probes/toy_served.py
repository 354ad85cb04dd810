"""Models of no substance that a session's processes serve; their names say what they do."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.errors import NotApplicable
from bakeoff.probes.kit import Served
from bakeoff.probes.serving import Kit
from bakeoff.record import Agreement, Size
from bakeoff.spec import Latency, Run


@dataclass(frozen=True)
class Stages:
    tokenise_ns: int = 1000
    window_ns: int = 2000
    forward_ns: int = 3000
    pool_ns: int = 4000


@dataclass
class Toy:
    """Takes a millisecond a document, or a tenth of it for `fast`; may die after a number of calls."""

    name: str
    engine: str
    calls: int = 0
    checking_seconds: float = 0.0

    def label(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        act = self.name.partition(" ")[0]
        if act == "killed" and self.calls > 12:
            os.kill(os.getpid(), signal.SIGKILL)
        if act == "raises" and self.calls > 40:
            raise RuntimeError(f"cannot convert {texts[0]}")
        if act == "greedy" and len(texts) > 4:
            raise MemoryError
        if act == "hungry":  # 8,000 bytes a word
            np.ones(1000 * sum(len(text.split()) for text in texts))
        end = time.perf_counter() + (1e-4 if act == "fast" else 1e-3) * len(texts)
        while time.perf_counter() < end:
            pass
        return np.zeros(len(texts), dtype=int)

    def probabilities(self, texts: Sequence[str]) -> Any:
        return np.tile([0.25, 0.75] if self.engine == "eager" else [0.75, 0.25], (len(texts), 1))

    def timed(self, texts: Sequence[str]) -> Stages:
        return Stages()

    def lengths_tokens(self, texts: Sequence[str]) -> Any:
        return np.array([2 + len(text.split()) for text in texts])

    def tokens_processed(self, tokens: int) -> int:
        return 2 * tokens


def prepare(run: Run) -> str:
    return "prepared"


def build(run: Run, prepared: str, weights: Path | None) -> Toy:
    assert prepared == "prepared"
    assert isinstance(run.probe, Latency)
    if run.model.name.startswith("refused"):
        raise NotApplicable("probe.engine=onnx cannot take it: set probe.engine=eager")
    if run.model.name.startswith("stillborn"):
        os._exit(9)
    if run.model.name == "checks":
        time.sleep(0.3)  # as an engine that is compared with the eager one before it serves
        return Toy(name="checks", engine=run.probe.engine, checking_seconds=0.3)
    return Toy(name=run.model.name, engine=run.probe.engine)


def describe(run: Run, served: Toy) -> Served:
    assert isinstance(run.probe, Latency)
    size = Size(parameters_total=3, parameters_trainable=2, parameters_embedding=1, bytes=12, flops_per_document=5e6)
    environment = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")}
    compared = Agreement(n=2, max_probability_difference=0.0, changed_labels=0, tolerance=0.001)
    agreement = None if run.probe.engine == "eager" else compared
    return Served(size=size, flops=5e6, peak_gflops=50.0, agreement=agreement, notes=(f"{os.getpid()} {environment}",))


KIT = Kit(prepare=prepare, build=build, describe=describe)
