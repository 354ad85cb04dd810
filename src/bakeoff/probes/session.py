"""An exclusive session: models of one dataset, device, thread count and scenario, timed against each other in turns.

One process an engine, driven turn by turn from here, so that thread pools of two engines never meet and only one model
works at a time. A process that dies, or a model that refuses, ends its own Runs alone.
"""

import functools
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bakeoff.data.tokens import Document
from bakeoff.errors import NotApplicable
from bakeoff.probes.contention import CpuReading, foreign_share, read_cpu
from bakeoff.probes.grid import grid_rules, lengths_of
from bakeoff.probes.latency import Turn, play_rounds
from bakeoff.probes.rules import Rules
from bakeoff.probes.serving import Kit
from bakeoff.probes.warmup import Search, WarmUp
from bakeoff.probes.worker import Worker
from bakeoff.spec import Latency, Run

GRID_DOCUMENTS = 20
"""Generated documents a length."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One Run of a session and what it brings along."""

    run: Run
    weights: Path | None = None
    """Folder of its trained weights; None for untrained ones."""
    asked: Sequence[Document] = ()
    """Texts whose answers are wanted besides."""


@dataclass(kw_only=True)
class Measured:
    """What a session learned about one Run."""

    lengths: Literal["dataset", "grid", "long_grid"] = "dataset"
    """What `probe.lengths` asks for."""
    batch_size: int = 1
    search: Search | None = None
    warm_up: WarmUp | None = None
    start_up_seconds: float | None = None
    peak_memory_mb: float | None = None
    lengths_tokens: npt.NDArray[np.int64] | None = None
    """Shape (documents,), in the model's own tokens."""
    turns: dict[int, Turn] = field(default_factory=dict)
    """Round → turn over the dataset's documents; empty for lengths=grid."""
    grid: dict[int, dict[int, Turn]] = field(default_factory=dict)
    """Tokens → round → turn, of every length that is read; empty for lengths=dataset."""
    grid_reasons: dict[int, str] = field(default_factory=dict)
    """Tokens → why that length was not timed."""
    grid_memory_mb: dict[int, float | None] = field(default_factory=dict)
    """Tokens → the most memory that a process with this model alone held while it answered; None where that is not told."""
    grid_processed: dict[int, int] = field(default_factory=dict)
    """Tokens → how many pass through the model."""
    served: Any = None
    """What `Kit.describe` told about the model."""
    answers: npt.NDArray[np.float64] | None = None
    """Probabilities of the texts asked for, shape (texts, classes)."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A whole session by run id: each Run is in `measured` or in `failed`."""

    session_id: str
    measured: dict[str, Measured]
    failed: dict[str, Exception]
    foreign_cpu_share: float


def new_session_id() -> str:
    """Eight random hex digits and the time."""
    return f"{secrets.token_hex(4)}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"


def hold(
    candidates: Sequence[Candidate],
    *,
    reference: str,
    documents: Sequence[Document],
    kit: Kit,
    rules: Rules,
    notify: Callable[[str], None],
    session_id: str,
    read_cpu: Callable[[], CpuReading] = read_cpu,
) -> Outcome:
    """Time every candidate on `documents`, in the order in which they stand; `reference` is the run id of one of them."""
    session = _Session(
        candidates={candidate.run.run_id: candidate for candidate in candidates},
        reference=reference,
        documents=documents,
        kit=kit,
        rules=rules,
        rng=np.random.default_rng(int(session_id.split("-")[0], 16)),
    )
    try:
        for step in (session.start_up, session.load, session.warm_up):
            session.each(step)
        left = len(session.measured)
        most = f"{max(1, round(rules.seconds_per_model * left / 60))} minutes at most"
        longer = ", and longer where a call takes seconds" if any(one.lengths == "long_grid" for one in session.measured.values()) else ""
        notify(f"session {session_id}: {left} models take turns, for {most}{longer}")
        before = read_cpu()
        session.play()
        share = foreign_share(before, read_cpu())
        session.each(session.answer)
    finally:
        session.close()
    return Outcome(session_id=session_id, measured=session.measured, failed=session.failed, foreign_cpu_share=share)


def probe_of(run: Run) -> Latency:
    """The probe of a latency Run."""
    assert isinstance(run.probe, Latency)
    return run.probe


@dataclass(kw_only=True)
class _Session:
    candidates: dict[str, Candidate]
    reference: str
    documents: Sequence[Document]
    kit: Kit
    rules: Rules
    rng: np.random.Generator
    measured: dict[str, Measured] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    """By engine."""

    def __post_init__(self) -> None:
        self.measured = {run_id: Measured(lengths=probe_of(candidate.run).lengths) for run_id, candidate in self.candidates.items()}

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers.values():
            worker.close()

    def each(self, step: Callable[[str], None]) -> None:
        """Take a step for every Run that is still in; one that raises is out."""
        for run_id in list(self.measured):
            try:
                step(run_id)
            except Exception as error:
                self._out(run_id, error)

    def start_up(self, run_id: str) -> None:
        """Load it in a process of its own, whose memory is this model's alone and whose death is no other's."""
        run, measured, begin = self.candidates[run_id].run, self.measured[run_id], time.monotonic()
        worker = self._worker(run)
        try:
            loaded = worker.ask("load", run_id, run, self.candidates[run_id].weights, self.documents)
            measured.start_up_seconds = loaded.answered_at - begin - loaded.preparing_seconds
            measured.peak_memory_mb = worker.ask("answer_longest", run_id, probe_of(run).batch_size or 1)
            for tokens in self._lengths(run_id):
                try:
                    measured.grid_memory_mb[tokens] = worker.ask("answer_length", run_id, tokens)
                except NotApplicable as reason:
                    measured.grid_reasons[tokens] = str(reason)
        finally:
            worker.close()

    def load(self, run_id: str) -> None:
        """Load it in the process of its engine."""
        run, measured = self.candidates[run_id].run, self.measured[run_id]
        engine = probe_of(run).engine
        if engine not in self.workers:
            self.workers[engine] = self._worker(run)
        self._ask(run_id, "load", run, self.candidates[run_id].weights, self.documents)
        measured.lengths_tokens = self._ask(run_id, "lengths_tokens")
        measured.served = self._ask(run_id, "describe", run)

    def warm_up(self, run_id: str) -> None:
        """Settle the batch size, and call it until it is warm; in a grid, at each length that it reads.

        In a long grid at the shortest alone: longer documents take seconds a call, and each turn opens with an untimed one.
        """
        run, measured = self.candidates[run_id].run, self.measured[run_id]
        probe = probe_of(run)
        if probe.batch_size is None:
            measured.search = self._ask(run_id, "search_batch")
            measured.batch_size = measured.search.best
        elif probe.batch_size > 1:
            self._ask(run_id, "set_batch", probe.batch_size)
            measured.batch_size = probe.batch_size
        if probe.lengths == "dataset":
            measured.warm_up = self._ask(run_id, "warm_up", self.rules)
            return
        for tokens in measured.grid_memory_mb:
            self._ask(run_id, "set_length", tokens, GRID_DOCUMENTS)
            measured.grid[tokens] = {}
            measured.grid_processed[tokens] = self._ask(run_id, "tokens_processed", tokens)
            if measured.lengths == "grid" or measured.warm_up is None:
                warm = self.workers[probe.engine].ask("warm_up", f"{run_id}@{tokens}", self.rules)
                measured.warm_up = warm if measured.warm_up is None else measured.warm_up.and_also(warm)

    def play(self) -> None:
        """Turns over the dataset's documents, then over the grid's."""
        runs = {run_id: probe_of(self.candidates[run_id].run) for run_id in self.measured}
        whole = {run_id: self._player(run_id, run_id, self.rules) for run_id, probe in runs.items() if probe.lengths == "dataset"}
        played = play_rounds(whole, rng=self.rng, rules=self.rules, always=(self.reference,))
        for run_id, turns in played.turns.items():
            self.measured[run_id].turns = turns
        for run_id, error in played.failed.items():
            self._out(run_id, error)
        self._play_grid("grid")
        self._play_grid("long_grid")

    def _play_grid(self, lengths: str) -> None:
        """Turns over generated documents, each length of a Run by itself."""
        rules, asked = grid_rules(self.rules, lengths), {name: each for name, each in self.measured.items() if each.lengths == lengths}
        cells = {(run_id, tokens): f"{run_id}@{tokens}" for run_id, measured in asked.items() for tokens in measured.grid}
        played = play_rounds({name: self._player(run_id, name, rules) for (run_id, _), name in cells.items()}, rng=self.rng, rules=rules)
        for (run_id, tokens), name in cells.items():
            if name in played.failed:
                self._out(run_id, played.failed[name])
            elif run_id in self.measured:
                self.measured[run_id].grid[tokens] = played.turns[name]

    def _lengths(self, run_id: str) -> list[int]:
        """The generated lengths that a Run reads; the others have their reason written down."""
        run, measured = self.candidates[run_id].run, self.measured[run_id]
        most, lengths = run.longdoc.max_tokens, lengths_of(measured.lengths)
        too_long = [tokens for tokens in lengths if most is not None and tokens > most]
        measured.grid_reasons |= dict.fromkeys(too_long, f"longdoc={run.longdoc.label} reads {most} tokens of a document")
        return [tokens for tokens in lengths if tokens not in too_long]

    def answer(self, run_id: str) -> None:
        """Let it answer the texts asked for."""
        if asked := self.candidates[run_id].asked:
            self.measured[run_id].answers = self._ask(run_id, "probabilities", asked)

    def _player(self, run_id: str, name: str, rules: Rules) -> Callable[[int], Turn]:
        worker = self.workers[probe_of(self.candidates[run_id].run).engine]
        return functools.partial(_turn, worker, name, rules)

    def _worker(self, run: Run) -> Worker:
        probe = probe_of(run)
        return Worker(self.kit, threads=probe.threads, device=probe.device)

    def _ask(self, run_id: str, command: str, *arguments: Any) -> Any:
        return self.workers[probe_of(self.candidates[run_id].run).engine].ask(command, run_id, *arguments)

    def _out(self, run_id: str, error: Exception) -> None:
        self.measured.pop(run_id, None)
        self.failed.setdefault(run_id, error)


def _turn(worker: Worker, name: str, rules: Rules, first: int) -> Turn:
    turn: Turn = worker.ask("turn", name, first, rules)
    return turn
