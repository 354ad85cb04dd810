"""bake(run) → Record: the whole story of one Run on one page."""

import csv
import dataclasses
import hashlib
import math
import resource
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from bakeoff import record as records
from bakeoff.data import audit, budget, dataset
from bakeoff.data.budget import Spent
from bakeoff.data.dataset import Prepared, Rows
from bakeoff.errors import ConfigError
from bakeoff.identity import to_plain
from bakeoff.probes import cost, quality
from bakeoff.provenance import machine_facts
from bakeoff.record import DataFacts, Diagnostic, Finding, Provenance, Record, Size, SplitQuality, TrainingFacts
from bakeoff.spec import Machine, Majority, Neural, Run
from bakeoff.store import Store, utc_now, write_atomically
from bakeoff.tracking import Mirror
from bakeoff.training.learn import learn
from bakeoff.training.learned import Learned

Notify = Callable[[str], None]
Write = Callable[[Record], object]
Device = Literal["cpu", "cuda"]


def bake(run: Run, folder: Path, notify: Notify, write: Write, *, machine: Machine, code: Provenance, group: str | None = None) -> Record:
    """Answer one Run: write its files into `folder`, hand its Record to `write`, and only then end the W&B mirror.

    `code` is what was loaded when the command began, since a long sweep may outlive an edit. Raises DataError or
    ConfigError for what the user can mend; any other exception is a fault.
    """
    started_at = utc_now()
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "run.yaml", rerunnable(run, machine, folder))
    device, gpu = choose_device(machine)
    mirror = Mirror.start(run, machine=machine, root=folder.parent, group=group, notify=notify)
    try:
        prepared = dataset.prepare(run.dataset)
        spent = budget.spend(prepared.pool, run.budget, validation=isinstance(run.model, Neural))
        learned = learn(run, prepared, spent, device=device, log=mirror.log)
        write_history(folder / "history.csv", learned.history)
        finite = bool(np.isfinite(learned.test).all())
        scores = score(prepared, spent, learned) if finite else {}
        if finite:
            write_predictions(folder / "predictions.parquet", prepared, learned.test)
        answer = Record(
            schema_version=records.SCHEMA_VERSION,
            run_id=run.run_id,
            question_id=run.question_id,
            status="ok" if finite else "diverged",
            started_at=started_at,
            finished_at=utc_now(),
            run=run,
            machine=machine_facts(device=device, gpu=gpu),
            data=data_facts(run, prepared, spent, learned),
            training=training_facts(run, prepared, learned, scores.get("test")),
            quality=scores,
            size=Size(
                parameters_total=learned.parameters_total,
                parameters_trainable=learned.parameters_trainable,
                parameters_embedding=learned.parameters_embedding,
                bytes=learned.bytes,
                flops_per_document=cost.flops_per_document(run, lengths_tokens=learned.lengths_tokens, n_classes=len(prepared.classes)),
            ),
            provenance=code,
        )
        if finite and machine.keep_weights in ("all", "best"):
            learned.save(folder / "model")
        if finite and machine.keep_weights == "best":
            keep_best(answer, Store(folder.parent))
        write(answer)
    except BaseException as error:
        mirror.fail(type(error).__name__)
        raise
    mirror.finish(answer)
    return answer


def choose_device(machine: Machine) -> tuple[Device, str | None]:
    """The device that `machine.device` means here, and the GPU's name if it is one."""
    import torch

    available = torch.cuda.is_available()
    if machine.device == "cuda" and not available:
        raise ConfigError("machine.device=cuda, but torch sees no GPU here; set machine.device=cpu or auto")
    device: Device = "cuda" if available and machine.device != "cpu" else "cpu"
    return device, torch.cuda.get_device_name() if device == "cuda" else None


def score(prepared: Prepared, spent: Spent, learned: Learned) -> dict[str, SplitQuality]:
    """Quality of every split that has rows: test, test without contaminated rows, validation."""
    pool, test, classes = prepared.pool, prepared.test, prepared.classes
    fit_labels = pool.labels[spent.fit]
    scores = {"test": quality.score(test.labels, learned.test, classes, fit_labels=fit_labels)}
    clean = ~prepared.contaminated
    if prepared.contaminated.any() and clean.any():
        scores["test_uncontaminated"] = quality.score(test.labels[clean], learned.test[clean], classes, fit_labels=fit_labels)
    if learned.validation is not None:
        labels = pool.labels[spent.validation]
        scores["validation"] = quality.score(labels, learned.validation, classes, fit_labels=fit_labels)
    return scores


def data_facts(run: Run, prepared: Prepared, spent: Spent, learned: Learned) -> DataFacts:
    """What the Run saw."""
    ids = prepared.pool.row_ids
    subsets = {"fit": (ids[i] for i in spent.fit), "validation": (ids[i] for i in spent.validation), "test": prepared.test.row_ids}
    findings = audit.audit(prepared, lengths=learned.lengths_tokens, max_tokens=run.longdoc.max_tokens)
    return DataFacts(
        revision=run.dataset.fingerprint,
        classes=prepared.classes,
        primary_metric=prepared.primary_metric,
        n_pool=len(prepared.pool),
        n_fit=len(spent.fit),
        n_val=len(spent.validation),
        n_test=len(prepared.test),
        subset_hashes={name: subset_hash(rows) for name, rows in subsets.items()},
        truncated_fraction=float(learned.truncated.mean()),
        length_tokens=audit.length_percentiles(learned.lengths_tokens),
        audit=(*(Finding(**dataclasses.asdict(finding)) for finding in findings), *unseen_classes(prepared, spent)),
    )


def unseen_classes(prepared: Prepared, spent: Spent) -> tuple[Finding, ...]:
    """The finding that a budget holds no label of some classes, which no model can then answer."""
    absent = len(prepared.classes) - len(np.unique(prepared.pool.labels[spent.fit]))
    message = f"{absent} of {len(prepared.classes)} classes have no label to learn from in this budget"
    return (Finding(code="unseen_class", count=absent, message=message),) if absent else ()


def training_facts(run: Run, prepared: Prepared, learned: Learned, test: SplitQuality | None) -> TrainingFacts:
    """How fitting went, and what looks wrong about it."""
    diagnostics: list[Diagnostic] = []
    learning_rate = run.model.training.learning_rate if isinstance(run.model, Neural) else None
    if test is None:
        message = f"the loss stopped being finite at step {learned.steps}; lower the learning rate (it is {learning_rate:g})"
        diagnostics.append(Diagnostic(code="not_finite", message=message))
    elif not isinstance(run.model, Majority):
        diagnostics += quality.diagnose(test, prepared.test.labels, learning_rate=learning_rate)
    if learning_rate is not None and learned.steps == 0:
        diagnostics.append(Diagnostic(code="no_steps", message="no optimiser step was taken: the model is as it was initialised"))
    return TrainingFacts(
        epochs=learned.epochs,
        steps=learned.steps,
        best_step=learned.best_step,
        best_validation_loss=learned.best_validation_loss,
        seconds=learned.seconds,
        predict_seconds=learned.predict_seconds,
        tokens_per_second=learned.tokens_per_second,
        peak_memory_mb=peak_memory_mb(),
        stop_reason=learned.stop_reason,
        selected=learned.selected,
        diagnostics=tuple(diagnostics),
    )


def subset_hash(row_ids: Iterable[str]) -> str:
    """SHA-256 of the sorted row ids."""
    return hashlib.sha256("\n".join(sorted(row_ids)).encode()).hexdigest()


def peak_memory_mb() -> float:
    """Largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)


def keep_best(answer: Record, store: Store) -> None:
    """Of the seeds whose `model/` is kept, keep the lowest validation loss, or the lowest id where nothing was validated.

    The test split has no say, so that what ships was not chosen by what scores it.
    """

    def but_for_the_seed(each: Record) -> Run:
        return dataclasses.replace(each.run, seed=0, budget=dataclasses.replace(each.run.budget, draw=0))

    def rank(each: Record) -> tuple[float, str]:
        loss = each.training.best_validation_loss
        return (math.inf if loss is None else loss, each.run_id)

    asked = but_for_the_seed(answer).run_id
    kept = (each for each in store.load_all() if each.status == "ok" and (store.folder(each.run_id) / "model").is_dir())
    rivals = [answer, *(each for each in kept if but_for_the_seed(each).run_id == asked)]
    best = min(rivals, key=rank)
    for each in rivals:
        if each is not best:
            shutil.rmtree(store.folder(each.run_id) / "model", ignore_errors=True)


def write_predictions(file: Path, prepared: Prepared, probabilities: npt.NDArray[np.float32]) -> None:
    """One line a test row: id, label and prediction as class indices, probabilities, group; equal answers, equal bytes."""
    columns = {
        "row_id": pa.array(prepared.test.row_ids, pa.string()),
        "label": pa.array(prepared.test.labels, pa.int32()),
        "predicted": pa.array(probabilities.argmax(axis=1), pa.int32()),
        "probabilities": pa.array(list(probabilities), pa.list_(pa.float32())),
        "contaminated": pa.array(prepared.contaminated, pa.bool_()),
        "group": pa.array(group_numbers(prepared.test), pa.int32()),
    }
    pq.write_table(pa.table(columns), file, compression="zstd")


def group_numbers(rows: Rows) -> list[int | None]:
    """A number for each row's group, by sorted name; null without groups."""
    if rows.groups is None:
        return [None] * len(rows)
    numbers = {name: number for number, name in enumerate(sorted(set(rows.groups)))}
    return [numbers[name] for name in rows.groups]


def write_history(file: Path, history: Sequence[dict[str, float | int | None]]) -> None:
    """The learning curve: one line a step or validation."""
    with open(file, "w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, ["step", "train_loss", "learning_rate", "validation_loss"])
        writer.writeheader()
        writer.writerows(history)


def rerunnable(run: Run, machine: Machine, folder: Path) -> str:
    """The resolved configuration as YAML, with the command that bakes it again where it has no record."""
    here = Path.cwd()
    place = folder.relative_to(here) if folder.is_relative_to(here) else folder
    header = f"# Bake this Run again: {shlex.join(['bakeoff', 'run', '--config-dir', str(place), '--config-name', 'run'])}\n"
    return header + yaml.safe_dump({**to_plain(run), "machine": to_plain(machine)}, sort_keys=False, allow_unicode=True)
