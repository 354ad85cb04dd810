"""Short timings of each architecture on the user's own documents, with untrained weights, in processes of their own."""

import contextlib
import dataclasses
import multiprocessing
import os
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

import numpy as np

from bakeoff.commands.baking import PRELOAD
from bakeoff.deciding.estimates import Pace
from bakeoff.deciding.offers import Candidate
from bakeoff.runner.processes import start_fork_server
from bakeoff.spec import Frozen, Machine, Neural, Run

FIRST_STEPS = 2
MOST_STEPS = 80
LEAST_ROWS = 64
MOST_ANSWERS = 256
MOST_TIMES = 4.0
"""A sample may take so many times what it should."""


def paces(
    runs: Mapping[Candidate, Run], *, machine: Machine, seconds: float, within_seconds: float, at_a_time: int
) -> dict[Candidate, Pace]:
    """What each of these Runs takes a step and a document; those that were not timed `within_seconds` of all are left out.

    As many are timed at a time as Runs will be baked, so that they disturb each other alike; each for about `seconds`.
    """
    start_fork_server(PRELOAD)
    deadline = time.monotonic() + within_seconds
    context = multiprocessing.get_context("forkserver")
    waiting, open_, found = list(runs.items()), dict[Connection, tuple[Candidate, Any]](), dict[Candidate, Pace]()
    try:
        while waiting or open_:
            while waiting and len(open_) < at_a_time:
                key, run = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_answer, args=(run, machine, seconds, theirs))
                process.start()
                theirs.close()
                open_[ours] = (key, process)
            ready = wait(list(open_), 0.5)
            if time.monotonic() >= deadline:
                return found
            for channel, (key, process) in list(open_.items()):
                if channel not in ready:
                    continue
                with contextlib.suppress(EOFError):  # it failed: this one is estimated roughly
                    found[key] = channel.recv()
                channel.close()
                process.join()
                del open_[channel]
    finally:
        for _, process in open_.values():
            process.terminate()
    return found


def _answer(run: Run, machine: Machine, seconds: float, channel: Connection) -> None:
    # Whatever a library prints here is about a sample, and belongs into nobody's log.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    channel.send(pace_of(run, machine=machine, seconds=seconds))


def pace_of(run: Run, *, machine: Machine, seconds: float) -> Pace:
    """Learn from a sample of the pool and answer a sample of the test rows: a little first, then for about `seconds`."""
    from bakeoff.bake import choose_device
    from bakeoff.data import dataset

    device, _ = choose_device(machine)
    prepared = dataset.prepare(run.dataset)
    if isinstance(run.model, Neural):
        return _by_steps(run, run.model, prepared, device=device, seconds=seconds)
    if isinstance(run.model, Frozen):
        return _by_features(run, run.model, prepared, device=device, seconds=seconds)
    pool = len(prepared.pool)
    small = min(pool, LEAST_ROWS)
    first = _learned(run, prepared, rows=small, answers=LEAST_ROWS, device=device)
    rows = sample_rows(pool, seconds_per_row=first.seconds / small, seconds=seconds)
    second = _learned(run, prepared, rows=rows, answers=MOST_ANSWERS, device=device) if first.seconds < seconds else first
    rows = rows if second is not first else small
    answers = min(MOST_ANSWERS if second is not first else LEAST_ROWS, len(prepared.test))
    return Pace(seconds_per_fit_row=second.seconds / rows, seconds_per_answer=(second.predict_seconds or 0.0) / answers)


def sample_rows(pool: int, *, seconds_per_row: float, seconds: float) -> int:
    """Rows of the second sample: an eighth to a quarter of the pool, fewer where an eighth takes several times `seconds`.

    Time grows with terms and classes, so that few rows say too little; with 77 classes an eighth alone takes minutes.
    """
    within = seconds / max(seconds_per_row, 1e-6)
    return min(pool, max(LEAST_ROWS, int(min(pool // 4, max(pool // 8, within), MOST_TIMES * within))))


def _by_steps(run: Run, model: Neural, prepared: Any, *, device: Literal["cpu", "cuda"], seconds: float) -> Pace:
    batch = model.training.batch_size
    brief = dataclasses.replace(
        run, model=dataclasses.replace(model, training=dataclasses.replace(model.training, epochs=1, min_steps=0)), teacher=None
    )
    first = _learned(brief, prepared, rows=FIRST_STEPS * batch, answers=2, device=device)
    step = first.seconds / max(1, first.steps)
    if first.seconds >= seconds:
        return Pace(seconds_per_step=step, seconds_per_answer=step / batch / 3)  # a forward pass is a third of a step
    steps = max(FIRST_STEPS + 1, min(MOST_STEPS, int(seconds / max(step, 1e-3))))
    answers = max(16, min(MOST_ANSWERS, int(seconds / max(step / batch, 1e-4))))
    second = _learned(brief, prepared, rows=steps * batch, answers=answers, device=device)
    asked = min(answers, len(prepared.test))
    return Pace(seconds_per_step=second.seconds / max(1, second.steps), seconds_per_answer=(second.predict_seconds or 0.0) / asked)


def _by_features(run: Run, model: Frozen, prepared: Any, *, device: Literal["cpu", "cuda"], seconds: float) -> Pace:
    """Past the cache of features, which would tell what they took when they were computed."""
    import threadpoolctl

    from bakeoff.data import budget, checkpoint, longdoc
    from bakeoff.data.batches import Documents
    from bakeoff.data.tokens import CheckpointTokeniser
    from bakeoff.models.logistic import Regression
    from bakeoff.models.pretrained import FrozenClassifier
    from bakeoff.training import features
    from bakeoff.training import fit as fitting

    fitting.seed_everything(run.seed, run.probe.threads)
    folder, n_classes = checkpoint.resolve(model.checkpoint, model.revision), len(prepared.classes)
    tokeniser = CheckpointTokeniser(folder)
    classifier = FrozenClassifier(model, n_classes=n_classes, folder=folder, longdoc=run.longdoc, frame=tokeniser)

    def sampled(labels: int) -> tuple[Any, float]:
        rows = budget.spend(prepared.pool, dataclasses.replace(run.budget, labels=labels), validation=False).fit
        taken = prepared.pool.take(rows)
        read = longdoc.read(taken.documents, tokeniser, run.longdoc)
        documents = Documents(read.ids, taken.labels, tokeniser.pad_id)
        begun = time.perf_counter()
        values = features.compute(classifier, documents, precision=model.precision, device=device).astype(np.float64)
        return (values, taken.labels, budget.bundles(prepared.pool)[rows]), (time.perf_counter() - begun) / labels

    pool = len(prepared.pool)
    known, answer = sampled(min(pool, LEAST_ROWS))
    rows = min(pool, MOST_ANSWERS * 2, int(seconds / max(answer, 1e-4)))
    if rows > LEAST_ROWS:
        known, answer = sampled(rows)
    values, labels, bundles = known
    regression = Regression(c_grid=model.c_grid, cv_folds=model.cv_folds, n_classes=n_classes, seed=run.seed)
    with threadpoolctl.threadpool_limits(run.probe.threads):
        begun = time.perf_counter()
        regression.fit(values, labels, regression.choose_c(values, labels, bundles))
    return Pace(seconds_per_fit_row=answer + (time.perf_counter() - begun) / len(labels), seconds_per_answer=answer)


def _learned(run: Run, prepared: Any, *, rows: int, answers: int, device: Literal["cpu", "cuda"]) -> Any:
    """What the Run learns from `rows` of its labels, with the vocabulary of the whole pool, as `Learned`."""
    from bakeoff.data import budget
    from bakeoff.data.budget import Spent
    from bakeoff.training.learn import learn

    rows = min(rows, len(prepared.pool))
    spent = budget.spend(prepared.pool, dataclasses.replace(run.budget, labels=rows), validation=False)
    sample = np.random.default_rng(0).permutation(len(prepared.test))[:answers]
    small = dataclasses.replace(prepared, test=prepared.test.take(sample), contaminated=prepared.contaminated[sample])
    nothing = np.empty(0, dtype=np.int64)
    texts = prepared.pool.documents if isinstance(run.model, Neural) and run.model.checkpoint is None else ()
    return learn(
        run,
        small,
        Spent(fit=spent.fit, validation=nothing, unlabelled=spent.unlabelled),
        device=device,
        log=_silent,
        unlabelled=texts,
    )


def _silent(step: int, metrics: Mapping[str, float]) -> None:
    pass
