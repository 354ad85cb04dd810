"""Can the latency probe be trusted? Its agreement with torch.utils.benchmark, its own cost, and how well ratios repeat.

One run prints three things, on one thread: the median of a plain PyTorch forward of the starter checkpoint on one fixed
document, timed by the probe and by torch.utils.benchmark in turns; what the probe spends on a sample besides the model; and
the ratio of two models' medians over several sessions, each in fresh processes. With `--loaded` a busy process holds one
core during the sessions.

    python benchmarks/latency_agreement.py [sessions] [--loaded]
"""

import dataclasses
import os
import shlex
import signal
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
from torch.utils.benchmark import Timer

from bakeoff import spec
from bakeoff.config import Composer
from bakeoff.data import dataset, longdoc
from bakeoff.data.batches import pad
from bakeoff.probes import engines, latency, samples, session, weights
from bakeoff.probes.facts import gather
from bakeoff.probes.kit import KIT
from bakeoff.probes.latency import take_turn
from bakeoff.probes.rules import Rules
from bakeoff.probes.session import Candidate

ROUNDS = 40
BLOCK_SECONDS = 0.25
BUSY = "while True: pass"
RULES = dataclasses.replace(Rules(), samples_p99=Rules().samples_p95, seconds_per_model=60.0)
"""A thousand samples a model: only medians are asked for."""


def latency_run(model: str) -> spec.Run:
    """The latency Run of a model on the starter dataset."""
    return Composer().job(["probe=latency", f"model={model}"]).run


def agreement() -> None:
    """Print the median of one forward by the probe and by torch.utils.benchmark, round by round in turns."""
    run = latency_run("pretrained")
    prepared = dataset.prepare(run.dataset)
    engines.use_threads(1)
    candidate = weights.load(run, prepared, classes=prepared.classes, folder=None)
    assert isinstance(candidate, weights.Neural)
    ids, lengths = pad(longdoc.read(prepared.test.texts[:1], candidate.tokeniser, run.longdoc).ids, candidate.tokeniser.pad_id)
    forward = engines.eager(candidate.classifier, precision="float32", device="cpu")
    timer = Timer("forward(ids, lengths)", globals={"forward": forward, "ids": ids, "lengths": lengths}, num_threads=1)
    ours, theirs = [], []

    def probe() -> None:
        turn = take_turn(lambda _: forward(ids, lengths), [("",)], 0, rules=Rules(block_ms=1000 * BLOCK_SECONDS))
        ours.append(statistics.median(turn.total_ns) / 1e6)

    def benchmark() -> None:
        theirs.append(1000 * timer.blocked_autorange(min_run_time=BLOCK_SECONDS).median)

    for number in range(ROUNDS):  # who comes first changes, so that a drifting clock favours neither
        for time_it in (probe, benchmark) if number % 2 else (benchmark, probe):
            time_it()
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    print(f"one forward of {int(lengths[0])} tokens on {torch.get_num_threads()} thread, {ROUNDS} rounds:")
    print(f"  probe {statistics.median(ours):.3f} ms, torch.utils.benchmark {statistics.median(theirs):.3f} ms, ", end="")
    print(f"median of the rounds' ratios {100 * (ratio - 1):+.1f}%", flush=True)


def own_cost() -> None:
    """Print what a timed call takes when the model takes nothing."""
    costs = []
    for _ in range(ROUNDS):
        started = time.perf_counter_ns()
        turn = take_turn(lambda _: None, [("",)], 0, rules=Rules(block_ms=50.0))
        costs.append((time.perf_counter_ns() - started) / len(turn.total_ns) / 1000)
    print(f"the probe's own cost a sample: {statistics.median(costs):.2f} µs")


def start_stranger() -> int:
    """The process id of a busy process that is no child of this one, so that a session counts its time as another's."""
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(BUSY)} >/dev/null 2>&1 & echo $!"
    return int(subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, text=True, check=True).stdout)


def repeats(n_sessions: int, *, loaded: bool) -> None:
    """Print the ratio of two models' medians in each of several sessions, and how far they lie apart."""
    run, reference = latency_run("pretrained"), latency_run("bilstm")
    prepared = dataset.prepare(run.dataset)
    documents = [prepared.test.texts[i] for i in latency.choose_documents(len(prepared.test), RULES)]
    ratios = []
    busy = start_stranger() if loaded else None
    try:
        for _ in range(n_sessions):
            outcome = session.hold(
                [Candidate(run=reference), Candidate(run=run)],
                reference=reference.run_id,
                documents=documents,
                kit=KIT,
                rules=RULES,
                notify=lambda _: None,
                session_id=session.new_session_id(),
            )
            for error in outcome.failed.values():
                raise error
            model, below = (gather(outcome.measured[each.run_id], len(documents)) for each in (run, reference))
            found = samples.ratio(model, below, rules=RULES, rng=np.random.default_rng(0))
            assert found is not None
            ratios.append(found.value)
            print(
                f"session {outcome.session_id}: {found.value:.2f} ({found.interval.low:.2f} to {found.interval.high:.2f}), "
                f"reference {found.reference_p50_ms:.3f} ms, others used {outcome.foreign_cpu_share:.0%} of a core",
                flush=True,
            )
    finally:
        if busy is not None:
            os.kill(busy, signal.SIGKILL)
    load = " with one core loaded" if loaded else ""
    print(f"ratio pretrained / bilstm over {n_sessions} sessions{load}: median {statistics.median(ratios):.2f}")
    print(f"  largest over smallest {100 * (max(ratios) / min(ratios) - 1):+.1f}%")


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
    own_cost()
    agreement()
    repeats(numbers[0] if numbers else 5, loaded="--loaded" in sys.argv)
