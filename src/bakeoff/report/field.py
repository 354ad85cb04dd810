"""Records to the contenders of a choice: one dataset, one budget, one machine's latencies.

A contender is a candidate as one engine serves it. Engines that do not change answers are judged on the candidate's
quality Runs, others on their own; a candidate that nobody timed competes too, where no latency is asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from bakeoff import convert
from bakeoff.errors import BakeoffError, DataError
from bakeoff.record import Record
from bakeoff.report.candidates import Candidate, candidates, served_key
from bakeoff.report.choice import Contender, Counts, Field, Limits, Timed
from bakeoff.report.ledger import Selected, labels_of, one_dataset, reads_labels, recorded_labels, with_labels
from bakeoff.report.stats import Answers
from bakeoff.report.summary import metric_of, on_test, read_answers
from bakeoff.report.timed import pick, timing_line, within
from bakeoff.report.timing import Timing, engine_name, machine_of
from bakeoff.spec import Latency, Quality, Run, hash_identity, identity
from bakeoff.store import Store

EXPORTED = ("onnx", "onnx_int8")
"""Engines that ship a file of their own."""


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """What is known of one candidate: its scored Runs, its timings that count, what became of the rest."""

    candidate: Candidate
    records: tuple[Record, ...]
    timings: tuple[Timing, ...]
    counts: Counts


def field_of(
    selected: Selected, store: Store, limits: Limits, *, planned: Sequence[Run] = (), commands: Mapping[str, str] | None = None
) -> Field:
    """Who competes. `planned` are the Runs of sweeps; `commands` are candidate key → a line that times it.

    Raises DataError where the records are of several datasets or machines, or none has a score at `limits.labels`.
    """
    every = [r for r in selected.records if isinstance(r.run.probe, Quality) and not r.run.is_trial]
    scored = [record for record in every if "test" in record.quality]
    labels = labels_of(recorded_labels(scored), limits.labels)
    here = with_labels(every, labels)
    fingerprint = one_dataset((record.run.dataset.name, record.run.dataset.fingerprint) for record in here)
    _check_one_variant(here)
    timed = [record for record in selected.records if record.latency is not None and record.run.dataset.fingerprint == fingerprint]
    failed = [run for plain in selected.failures if (run := _run_of(plain)) is not None]
    asked = [run for run in planned if isinstance(run.probe, Quality) and (run.budget.labels == labels or not reads_labels(run))]
    known = candidates([*(record.run for record in (*here, *timed)), *failed, *asked])
    usable = within(timed, limits)
    contenders = list[Contender]()
    for entry in _entries(here, usable, failed=failed, planned=asked, known=known):
        contenders += _contenders(entry, store, limits, command=(commands or {}).get(entry.candidate.key))
    some = next(record for record in here if "test" in record.quality)
    metric, reason = (limits.metric, "as asked") if limits.metric is not None else metric_of(some.run.dataset, scored)
    return Field(
        dataset=some.run.dataset,
        title=some.run.dataset.name,
        metric=metric,
        metric_reason=reason,
        labels=labels,
        n_labels=max(record.data.n_fit + record.data.n_val for record in here),
        classes=some.data.classes,
        contenders=tuple(contenders),
        machine=machine_of(usable[0]) if usable else None,
        run_ids=tuple(record.run_id for record in (*here, *timed)),
        other_labels=selected.other_labels,
    )


def _check_one_variant(records: Sequence[Record]) -> None:
    """Folds are parts of one question; another split, column or label map is another."""
    variants = {hash_identity({k: v for k, v in identity(record.run.dataset).items() if k != "fold"}) for record in records}
    if len(variants) > 1:
        raise DataError(
            f"the records ask {len(variants)} different questions of {records[0].run.dataset.name} (another split, column or label map): "
            "name the sweep whose question is yours"
        )


def _entries(
    here: Sequence[Record], usable: Sequence[Record], *, failed: Sequence[Run], planned: Sequence[Run], known: Mapping[str, Candidate]
) -> list[_Entry]:
    """One entry a candidate with a score, in the order of the records."""
    members: dict[str, list[Record]] = {}
    for record in here:
        members.setdefault(known[record.run_id].key, []).append(record)
    timings: dict[str, list[Timing]] = {}
    for record in usable:
        assert record.latency is not None
        assert isinstance(record.run.probe, Latency)
        timing = Timing(record=record, candidate=known[record.run_id], facts=record.latency, probe=record.run.probe)
        timings.setdefault(timing.candidate.key, []).append(timing)
    recorded = {record.run_id for record in here}
    entries = []
    for key, group in members.items():
        scored = _once_a_seed([record for record in group if "test" in record.quality])
        if not scored:
            continue
        candidate = known[group[0].run_id]
        counts = Counts(
            scored=len(scored),
            collapsed=0 if candidate.kind == "majority" else sum(on_test(record).collapsed for record in scored),
            diverged=sum(record.status == "diverged" for record in group),
            failed=sum(known[run.run_id].key == key for run in failed if run.run_id not in recorded),
            planned=sum(known[run.run_id].key == key for run in planned) if planned else None,
        )
        own = timings.get(served_key(candidate.run), [])
        entries.append(_Entry(candidate=candidate, records=tuple(scored), timings=tuple(own), counts=counts))
    return entries


def _contenders(entry: _Entry, store: Store, limits: Limits, *, command: str | None) -> list[Contender]:
    """A candidate as each engine serves it that has answers; without any of these, untimed."""
    by_engine: dict[str, list[Timing]] = {}
    for timing in entry.timings:
        by_engine.setdefault(timing.probe.engine, []).append(timing)
    line = timing_line(entry.candidate.run, limits, known=command)
    own_answers = {engine: _own_answers(entry, own) for engine, own in by_engine.items() if _changes_answers(entry, own)}
    unscored = tuple(engine for engine, records in own_answers.items() if not records)
    folds, found = _folds(store, entry.records), list[Contender]()
    alike: list[str | None] = [engine for engine in by_engine if engine not in own_answers]
    for engine in alike or [None]:
        timed = None if engine is None else pick(by_engine[engine], limits)
        found.append(_contender(entry, entry.records, folds, engine=engine, timed=timed, line=line))
    for engine, records in own_answers.items():
        if records:
            timed = pick(by_engine[engine], limits)
            found.append(_contender(entry, records, _folds(store, records), engine=engine, timed=timed, line=line))
    return [replace(each, unscored_engines=unscored) for each in found]


def _contender(
    entry: _Entry, records: Sequence[Record], folds: tuple[Answers, ...], *, engine: str | None, timed: Timed | None, line: str | None
) -> Contender:
    """`records` are those of the answers: quality Runs, or also latency Runs where an engine changes answers."""
    timings = [timing for timing in entry.timings if timing.probe.engine == engine]
    size = records[0].size
    if engine in EXPORTED:  # what is shipped is another file, and grows with the words of its labels
        size = next((t.record.size for t in timings if _is_trained_here(entry, t) and t.record.size is not None), None)
    flops = timings[0].facts.cost.flops if timings else None
    candidate, is_own = entry.candidate, records is not entry.records
    n_pool = records[0].data.n_pool
    return Contender(
        key=candidate.key if engine is None else f"{candidate.key}:{engine}",
        label=candidate.label if engine in (None, "eager") else f"{candidate.label} · {engine_name(engine)}",
        candidate=candidate,
        engine=engine,
        folds=folds,
        reads_labels=reads_labels(candidate.run),
        counts=Counts(scored=len(records), collapsed=sum(on_test(r).collapsed for r in records), diverged=0, failed=0)
        if is_own
        else entry.counts,
        run_ids=tuple(record.run_id for record in records),
        timed=timed,
        bytes=None if size is None else size.bytes,
        flops=flops if flops is not None or size is None else size.flops_per_document,
        timing_command=line,
        train_seconds=fmean(record.training.seconds for record in entry.records),
        pool_share=fmean(record.data.n_test for record in records) / n_pool if n_pool else 0.0,
        fitted_by=tuple(record.run_id for record in entry.records),
    )


def _folds(store: Store, records: Sequence[Record]) -> tuple[Answers, ...]:
    """The answers of each fold, or of the one test set."""
    by_fold: dict[int, list[Record]] = {}
    for record in records:
        by_fold.setdefault(record.run.dataset.fold or 0, []).append(record)
    return tuple(read_answers(store, by_fold[fold]) for fold in sorted(by_fold))


def _changes_answers(entry: _Entry, timings: Sequence[Timing]) -> bool:
    """Whether an engine's answers are its own, by its timings on other weights than those of another budget or recipe, if there are any."""
    own = [timing for timing in timings if timing.probe.weights == "untrained" or _is_trained_here(entry, timing)]
    return any(timing.changes_answers for timing in own or timings)


def _own_answers(entry: _Entry, timings: Sequence[Timing]) -> list[Record]:
    """The record of an engine's answers for each seed of this candidate: its own, or the quality Run's where it changes no label."""
    own: dict[tuple[int | None, int, int], Timing] = {}
    for timing in sorted(timings, key=_most_telling_first):
        if _is_trained_here(entry, timing):
            own.setdefault(_place(timing.record), timing)
    found = []
    for record in entry.records:
        seen = own.get(_place(record))
        agreement = None if seen is None else seen.facts.agreement
        if seen is not None and "test" in seen.record.quality:
            found.append(seen.record)
        elif agreement is not None and agreement.changed_labels == 0:
            found.append(record)
    return found


def _most_telling_first(timing: Timing) -> tuple[bool, int, str]:
    """Scored answers, then what changed the most labels, so that no other timing of a seed hides a change."""
    agreement = timing.facts.agreement
    return "test" not in timing.record.quality, 0 if agreement is None else -agreement.changed_labels, timing.record.run_id


def _is_trained_here(entry: _Entry, timing: Timing) -> bool:
    """Whether weights of this candidate at this budget were timed."""
    run, own = timing.record.run, entry.records[0].run
    is_same = _learned(run) == _learned(entry.candidate.run) and run.budget.labels == own.budget.labels
    return timing.probe.weights == "trained" and is_same


def _place(record: Record) -> tuple[int | None, int, int]:
    """Fold, draw and seed."""
    return record.run.dataset.fold, record.run.budget.draw, record.run.seed


def _learned(run: Run) -> str:
    return hash_identity([identity(run.model), identity(run.longdoc), run.budget.order, run.budget.unlabelled])


def _once_a_seed(records: Sequence[Record]) -> list[Record]:
    """One record a fold, draw and seed: the first; and one a fold for models that no seed changes, by order of seeds."""
    found: dict[tuple[int | None, int, int], Record] = {}
    for record in sorted(records, key=lambda r: (r.run.dataset.fold or 0, r.run.budget.draw, r.run.seed, r.run_id)):
        found.setdefault(_place(record), record)
    return list(found.values())


def _run_of(failure: Mapping[str, Any]) -> Run | None:
    """The Run that failed; None for one that another version wrote."""
    try:
        return convert.build_run(failure["run"])
    except (KeyError, BakeoffError):
        return None
