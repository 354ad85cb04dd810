"""bake(run) → Record: the whole story of one Run on one page."""

import csv
import dataclasses
import hashlib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import yaml

from bakeoff import record as records
from bakeoff.data import audit, budget, dataset, needle, text_signs, unlabelled
from bakeoff.data.answers import write_predictions
from bakeoff.data.budget import Spent
from bakeoff.data.dataset import Prepared
from bakeoff.data.unlabelled import Unlabelled
from bakeoff.errors import ConfigError, DataError
from bakeoff.identity import to_plain
from bakeoff.probes import cost, peak, quality, slices, stated
from bakeoff.probes.peak import Device
from bakeoff.provenance import machine_facts
from bakeoff.record import DataFacts, Diagnostic, Finding, Provenance, Record, Size, SplitQuality, TrainingFacts
from bakeoff.runner.needs import MODEL
from bakeoff.runner.weights import keep_best
from bakeoff.spec import Machine, Majority, Neural, Pretrain, Run
from bakeoff.store import Store, utc_now, write_atomically
from bakeoff.tracking import Mirror
from bakeoff.training.learn import learn
from bakeoff.training.learned import Learned

Notify = Callable[[str], None]
Write = Callable[[Record], object]


def bake(
    run: Run,
    folder: Path,
    notify: Notify,
    write: Write,
    *,
    machine: Machine,
    code: Provenance,
    group: str | None = None,
    needed: frozenset[str] = frozenset(),
) -> Record:
    """Answer one Run: write its files into `folder`, hand its Record to `write`, and only then end the W&B mirror.

    `code` is what was loaded when the command began, since a long sweep may outlive an edit. `needed` are the ids of Runs
    that others are built from: their weights are kept whatever `machine.keep_weights` says. Raises DataError or
    ConfigError for what the user can mend; any other exception is a fault.
    """
    started_at = utc_now()
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "run.yaml", rerunnable(run, machine, folder))
    device, gpu = choose_device(machine)
    peak.forget(device)
    mirror = Mirror.start(run, machine=machine, root=folder.parent, group=group, notify=notify)
    try:
        prepared = dataset.prepare(run.dataset)
        spent = budget.spend(prepared.pool, run.budget, validation=run.keeps_validation)
        judged = on_validation(prepared, spent) if run.is_trial else prepared
        texts = unlabelled.read(run.budget, run.dataset, prepared, spent)
        needs = weights_of_needs(run, Store(folder.parent))
        learned = learn(run, judged, spent, device=device, devices=machine.devices, log=mirror.log, unlabelled=texts.documents, needs=needs)
        write_history(folder / "history.csv", learned.history)
        finite = learned.finite
        scores = score(run, judged, spent, learned) if finite else {}
        if finite and learned.test is not None and not run.is_trial:
            write_predictions(folder / "predictions.parquet", prepared, learned.test, lengths_tokens=learned.lengths_tokens)
        answer = Record(
            schema_version=records.SCHEMA_VERSION,
            run_id=run.run_id,
            question_id=run.question_id,
            status="ok" if finite else "diverged",
            started_at=started_at,
            finished_at=utc_now(),
            run=run,
            machine=machine_facts(device=device, gpu=gpu),
            data=data_facts(run, prepared, spent, learned, texts),
            training=training_facts(run, judged, learned, scores, device=device),
            quality=scores,
            size=None
            if learned.from_file is not None
            else Size(
                parameters_total=learned.parameters_total,
                parameters_trainable=learned.parameters_trainable,
                parameters_embedding=learned.parameters_embedding,
                bytes=learned.bytes,
                flops_per_document=cost.flops_per_document(
                    run,
                    lengths_tokens=learned.lengths_tokens,
                    n_classes=len(prepared.classes),
                    n_special_tokens=learned.n_special_tokens,
                ),
            ),
            stated=None if learned.from_file is None else stated.summarise(learned.from_file),
            provenance=code,
        )
        pretrained = isinstance(run.probe, Pretrain)  # its weights are its answer
        if finite and (machine.keep_weights in ("all", "best") or run.run_id in needed or pretrained):
            learned.save(folder / MODEL)
        if finite and machine.keep_weights == "best" and not pretrained:
            keep_best(answer, Store(folder.parent), needed)
        write(answer)
    except BaseException as error:
        mirror.fail(type(error).__name__)
        raise
    mirror.finish(answer, folder=folder, texts=dict(zip(prepared.test.row_ids, prepared.test.whole_texts, strict=True)))
    return answer


def choose_device(machine: Machine) -> tuple[Device, str | None]:
    """The device that `machine.device` means here, and the GPU's name if it is one."""
    import torch

    available = torch.cuda.is_available()
    if machine.device == "cuda" and not available:
        raise ConfigError("machine.device=cuda, but torch sees no GPU here; set machine.device=cpu or auto")
    device: Device = "cuda" if available and machine.device != "cpu" else "cpu"
    if device == "cuda" and torch.cuda.device_count() < machine.devices:
        raise ConfigError(f"machine.devices={machine.devices}, but this Run sees {torch.cuda.device_count()} GPU: set machine.devices=1")
    return device, torch.cuda.get_device_name() if device == "cuda" else None


def on_validation(prepared: Prepared, spent: Spent) -> Prepared:
    """The dataset as a trial sees it: its validation rows stand where the test rows were, so that no model meets a test row."""
    rows = prepared.pool.take(spent.validation)
    return dataclasses.replace(prepared, test=rows, contaminated=np.zeros(len(rows), dtype=bool))


def score(run: Run, prepared: Prepared, spent: Spent, learned: Learned) -> dict[str, SplitQuality]:
    """Quality of every split and slice that has rows: those of the test set, validation; of a trial validation alone."""
    if learned.test is None:
        return {}
    pool, test, classes = prepared.pool, prepared.test, prepared.classes
    fit_labels = pool.labels[spent.fit] if len(spent.fit) else pool.labels  # without labels the pool tells which class is largest
    known = learned.from_file is None or learned.from_file.has_probabilities
    if run.is_trial:
        return {"validation": quality.score(test.labels, learned.test, classes, fit_labels=fit_labels)}
    answered = slices.Answered(
        labels=test.labels,
        probabilities=learned.test,
        contaminated=prepared.contaminated,
        lengths_tokens=learned.lengths_tokens,
        read_tokens=learned.read_tokens,
    )
    scores = slices.score(answered, classes, fit_labels=fit_labels, with_probabilities=known)
    if learned.validation is not None:
        labels = pool.labels[spent.validation]
        scores["validation"] = quality.score(labels, learned.validation, classes, fit_labels=fit_labels)
    return scores


def data_facts(run: Run, prepared: Prepared, spent: Spent, learned: Learned, texts: Unlabelled) -> DataFacts:
    """What the Run saw; pretraining reads the budget's texts and spends none of its labels."""
    pretrains = learned.test is None
    ids, tested = prepared.pool.row_ids, () if run.is_trial or pretrains else prepared.test.row_ids
    subsets = {"fit": (ids[i] for i in spent.fit), "validation": (ids[i] for i in spent.validation), "test": tested}
    findings = audit.audit(
        prepared,
        lengths=learned.lengths_tokens,
        max_tokens=run.longdoc.max_tokens,
        tokenised=text_signs.tokenised(run.model, prepared.test),
    )
    return DataFacts(
        revision=run.dataset.fingerprint,
        classes=prepared.classes,
        primary_metric=prepared.primary_metric,
        n_pool=len(prepared.pool),
        n_fit=0 if pretrains else len(spent.fit),
        n_val=0 if pretrains else len(spent.validation),
        n_test=len(tested),
        n_transfer=learned.n_transfer,
        subset_hashes={name: subset_hash(rows) for name, rows in subsets.items()},
        truncated_fraction=float(learned.truncated.mean()) if len(learned.truncated) else None,
        length_tokens=audit.length_percentiles(learned.lengths_tokens),
        audit=(
            *(Finding(**dataclasses.asdict(finding)) for finding in findings),
            *(() if pretrains else unseen_classes(prepared, spent)),
            *repeated_texts(texts),
        ),
        read_fraction=slices.read_fraction(learned.lengths_tokens, learned.read_tokens),
        processed_tokens_mean=slices.mean_tokens(learned.processed_tokens),
        visible_fraction=None
        if learned.read_tokens is None
        else needle.visible_fraction(run.dataset.needle, prepared.test.texts if tested else (), run.longdoc, learned.lengths_tokens),
    )


def unseen_classes(prepared: Prepared, spent: Spent) -> tuple[Finding, ...]:
    """The finding that a budget holds no label of some classes, which no model can then answer."""
    absent = len(prepared.classes) - len(np.unique(prepared.pool.labels[spent.fit])) if len(spent.fit) else 0
    message = f"{absent} of {len(prepared.classes)} classes have no label to learn from in this budget"
    return (Finding(code="unseen_class", count=absent, message=message),) if absent else ()


def repeated_texts(texts: Unlabelled) -> tuple[Finding, ...]:
    """The finding that unlabelled texts repeat some that judge, and so would give something away."""
    message = f"{texts.left_out} unlabelled texts were left out, since they repeat texts that judge, or nearly, or are of their group"
    return (Finding(code="unlabelled_left_out", count=texts.left_out, message=message),) if texts.left_out else ()


def training_facts(run: Run, prepared: Prepared, learned: Learned, scores: Mapping[str, SplitQuality], *, device: Device) -> TrainingFacts:
    """How fitting went, and what looks wrong about it."""
    diagnostics: list[Diagnostic] = []
    learns = run.probe if isinstance(run.probe, Pretrain) else run.model
    learning_rate = learns.training.learning_rate if isinstance(learns, Neural | Pretrain) else None
    split: Literal["test", "validation"] = "validation" if run.is_trial else "test"
    if not learned.finite:
        message = "the model answered with numbers that are not finite"
        if learning_rate is not None:
            message = f"the loss stopped being finite at step {learned.steps}; lower the learning rate (it is {learning_rate:g})"
        diagnostics.append(Diagnostic(code="not_finite", message=message))
    elif split in scores and not isinstance(run.model, Majority):
        diagnostics += quality.diagnose(scores[split], prepared.test.labels, learning_rate=learning_rate, split=split)
    if learning_rate is not None and learned.steps == 0:
        diagnostics.append(Diagnostic(code="no_steps", message="no optimiser step was taken: the model is as it was initialised"))
    if learned.micro_batch_size is not None:
        message = f"a batch did not fit into memory: its gradients were added up over {learned.micro_batch_size} rows at a time"
        diagnostics.append(Diagnostic(code="out_of_memory", message=message))
    return TrainingFacts(
        epochs=learned.epochs,
        steps=learned.steps,
        best_step=learned.best_step,
        best_validation_loss=learned.best_validation_loss,
        seconds=learned.seconds,
        predict_seconds=learned.predict_seconds,
        tokens_per_second=learned.tokens_per_second,
        peak_memory_mb=peak.memory_mb(device),
        stop_reason=learned.stop_reason,
        selected=learned.selected,
        diagnostics=tuple(diagnostics),
        micro_batch_size=learned.micro_batch_size,
    )


def subset_hash(row_ids: Iterable[str]) -> str:
    """SHA-256 of the sorted row ids."""
    return hashlib.sha256("\n".join(sorted(row_ids)).encode()).hexdigest()


def weights_of_needs(run: Run, store: Store) -> dict[str, Path]:
    """The folders of the weights that a Run is built from, by their part. Raises DataError for one that is not there."""
    folders = {part: store.folder(needed.run_id) / MODEL for part, needed in run.needs.items()}
    for part, folder in folders.items():
        if not folder.is_dir():
            raise DataError(f"the weights of its {part} ({folder.parent.name}) are not there: run the same command again to bake them")
    return folders


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
