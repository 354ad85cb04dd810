"""bake_session(runs) → Records: the latency Runs of one session, timed against each other and against the reference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import yaml

from bakeoff import record as records
from bakeoff.data import audit, budget, dataset
from bakeoff.data.answers import write_predictions
from bakeoff.data.dataset import Prepared
from bakeoff.errors import NotApplicable
from bakeoff.probes import facts, latency, session, warmup
from bakeoff.probes.kit import KIT
from bakeoff.probes.raw import write_samples
from bakeoff.probes.requirements import versions
from bakeoff.probes.rules import Rules
from bakeoff.probes.serving import Kit
from bakeoff.probes.session import Candidate, Measured, probe_of
from bakeoff.provenance import gpu_name, machine_facts, provenance
from bakeoff.record import Agreement, DataFacts, Record, SplitQuality, TrainingFacts
from bakeoff.spec import Machine, Quality, Run, to_plain
from bakeoff.store import RECORD, utc_now, write_atomically
from bakeoff.tracking import Mirror

Notify = Callable[[str], None]
FolderOf = Callable[[str], Path]

NOT_TRAINED = TrainingFacts(
    epochs=0.0,
    steps=0,
    best_step=None,
    best_validation_loss=None,
    seconds=0.0,
    predict_seconds=None,
    tokens_per_second=None,
    peak_memory_mb=0.0,
    stop_reason="not_trained",
    selected={},
    diagnostics=(),
)
MODEL = "model"
"""The folder of a Run's weights, inside the Run's own."""


def bake_session(
    runs: Sequence[Run],
    folder_of: FolderOf,
    notify: Notify,
    write: Callable[[Record], None],
    *,
    machine: Machine,
    group: str | None = None,
    kit: Kit = KIT,
    rules: Rules | None = None,
) -> dict[str, Record | Exception]:
    """Time Runs of one dataset, split, device, thread count and scenario against each other, in processes of their own.

    Writes each Run's files into `folder_of(run_id)`, hands its Record to `write`, and only then ends its W&B mirror. Returns
    by run id the Record, or why there is none. Raises DataError for data that cannot be read.
    """
    from bakeoff.bake import rerunnable

    rules, started_at = rules or Rules(), utc_now()
    for run in runs:
        write_atomically(folder_of(run.run_id) / "run.yaml", rerunnable(run, machine, folder_of(run.run_id)))
    prepared = dataset.prepare(runs[0].dataset)
    chosen = latency.choose_documents(len(prepared.test), rules)
    reference = reference_of(runs[0])
    candidates, failed = _candidates({reference.run_id: reference} | {run.run_id: run for run in runs}, prepared, folder_of)
    outcome = session.hold(
        candidates,
        reference=reference.run_id,
        documents=[prepared.test.documents[i] for i in chosen],
        kit=kit,
        rules=rules,
        notify=notify,
        session_id=session.new_session_id(),
    )
    failed |= outcome.failed
    held = _Held(
        started_at=started_at,
        prepared=prepared,
        row_ids=[prepared.test.row_ids[i] for i in chosen],
        setting=facts.Setting(
            outcome=outcome,
            n_documents=len(chosen),
            reference=outcome.measured.get(reference.run_id),
            reference_reason=f"the reference could not be timed ({type(failed.get(reference.run_id)).__name__})",
            rules=rules,
            resolution_ns=warmup.clock_resolution_ns(),
        ),
    )
    answers: dict[str, Record | Exception] = {}
    for run in runs:
        # W&B starts only now, since its service would have used the processor meanwhile.
        mirror = Mirror.start(run, machine=machine, root=folder_of(run.run_id).parent, group=group, notify=notify)
        try:
            if run.run_id in failed:
                raise failed[run.run_id]
            record = _record(run, outcome.measured[run.run_id], held, folder_of)
            write(record)
        except Exception as error:
            mirror.fail(type(error).__name__)
            answers[run.run_id] = error
        else:
            answers[run.run_id] = record
            mirror.finish(record)
    return answers


def reference_of(run: Run) -> Run:
    """What the session of a Run times besides: our BiLSTM as bakeoff ships it, untrained and eager, on the same documents."""
    from bakeoff import config, convert, tuning

    probe = probe_of(run)
    plain = yaml.safe_load((config.packaged("conf") / "model" / f"{probe.reference}.yaml").read_text(encoding="utf-8"))
    tuning.take_space(plain)
    plain_run = to_plain(run)
    budget = plain_run["budget"] | {"unlabelled": "none", "unlabelled_path": None, "unlabelled_fingerprint": None}
    changes = {"model": plain | {"distillation": None}, "budget": budget, "teacher": None, "start": None}
    built = convert.build_run(plain_run | changes)
    batch_size = None if probe.scenario == "offline" else 1
    asked = replace(probe, engine="eager", lengths="dataset", weights="untrained", batch_size=batch_size)
    return replace(built, longdoc=built.model.default_longdoc, probe=asked)


def quality_of(run: Run) -> Run:
    """The quality Run whose weights a latency Run with trained weights times."""
    return replace(run, probe=Quality(threads=1))


def weights_of(run: Run, folder_of: FolderOf) -> Path | None:
    """The folder of a Run's trained weights; None for untrained ones. Raises NotApplicable when they are not kept."""
    if probe_of(run).weights == "untrained":
        return None
    folder = folder_of(quality_of(run).run_id)
    if not (folder / MODEL).is_dir():
        again = " after moving its folder away, since it is recorded without them" if (folder / RECORD).exists() else ""
        raise NotApplicable(
            f"probe.weights=trained needs the weights of quality Run {folder.name}: bake it with probe=quality "
            f"machine.keep_weights=all and the same settings{again}"
        )
    return folder / MODEL


@dataclass(frozen=True, kw_only=True)
class _Held:
    """A session that is over, and what its records have in common."""

    started_at: str
    prepared: Prepared
    row_ids: Sequence[str]
    """Of the timed documents, in their order."""
    setting: facts.Setting


def _candidates(runs: dict[str, Run], prepared: Prepared, folder_of: FolderOf) -> tuple[list[Candidate], dict[str, Exception]]:
    candidates: list[Candidate] = []
    failed: dict[str, Exception] = {}
    for run in runs.values():
        try:
            weights = weights_of(run, folder_of)
        except NotApplicable as reason:
            failed[run.run_id] = reason
            continue
        asked = prepared.test.documents if weights is not None and probe_of(run).engine != "eager" else ()
        candidates.append(Candidate(run=run, weights=weights, asked=asked))
    return candidates, failed


def _record(run: Run, measured: Measured, held: _Held, folder_of: FolderOf) -> Record:
    probe, prepared = probe_of(run), held.prepared
    assert measured.lengths_tokens is not None
    lengths = measured.lengths_tokens
    write_samples(folder_of(run.run_id) / "latency.parquet", measured, held.setting.reference, row_ids=held.row_ids)
    agreement, scores = measured.served.agreement, dict[str, SplitQuality]()
    if measured.answers is not None:
        agreement = _agreement(measured.answers, _eager_answers(run, prepared, folder_of), measured.served.agreement.tolerance)
        if agreement.changed_labels:
            answers = measured.answers.astype(np.float32)
            write_predictions(folder_of(run.run_id) / "predictions.parquet", prepared, answers)
            scores["test"] = _score(run, prepared, answers)
    return Record(
        schema_version=records.SCHEMA_VERSION,
        run_id=run.run_id,
        question_id=run.question_id,
        status="ok",
        started_at=held.started_at,
        finished_at=utc_now(),
        run=run,
        machine=machine_facts(device=probe.device, gpu=gpu_name() if probe.device == "cuda" else None),
        data=DataFacts(
            revision=run.dataset.fingerprint,
            classes=prepared.classes,
            primary_metric=prepared.primary_metric,
            n_pool=len(prepared.pool),
            n_fit=0,
            n_val=0,
            n_test=len(prepared.test),
            subset_hashes={},
            truncated_fraction=audit.truncated_fraction(lengths, run.longdoc.max_tokens),
            length_tokens=audit.length_percentiles(lengths),
            audit=(),
        ),
        training=NOT_TRAINED,
        quality=scores,
        latency=facts.facts_of(
            measured, held.setting, versions=versions(probe.engine), tokens=audit.length_percentiles(lengths), agreement=agreement
        ),
        size=measured.served.size,
        provenance=provenance(),
    )


def _eager_answers(run: Run, prepared: Prepared, folder_of: FolderOf) -> npt.NDArray[np.float64]:
    """What the quality Run with the same weights answered, shape (test rows, classes)."""
    table = pq.read_table(folder_of(quality_of(run).run_id) / "predictions.parquet", columns=["row_id", "probabilities"])
    by_id = dict(zip(table["row_id"].to_pylist(), table["probabilities"].to_pylist(), strict=True))
    return np.asarray([by_id[row_id] for row_id in prepared.test.row_ids], dtype=np.float64)


def _agreement(answers: npt.NDArray[np.float64], eager: npt.NDArray[np.float64], tolerance: float) -> Agreement:
    return Agreement(
        n=len(answers),
        max_probability_difference=float(np.abs(answers - eager).max()),
        changed_labels=int((answers.argmax(axis=1) != eager.argmax(axis=1)).sum()),
        tolerance=tolerance,
    )


def _score(run: Run, prepared: Prepared, answers: npt.NDArray[np.float32]) -> SplitQuality:
    """The engine's own quality on the whole test set."""
    from bakeoff.probes import quality

    spent = budget.spend(prepared.pool, run.budget, validation=quality_of(run).keeps_validation)
    fit_labels = prepared.pool.labels[spent.fit]
    return quality.score(prepared.test.labels, answers, prepared.classes, fit_labels=fit_labels)
