"""The answer of a page or of `bakeoff choose`: one a dataset and machine, with what would change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.errors import DataError
from bakeoff.record import Record
from bakeoff.report.answer_costs import Total, totals
from bakeoff.report.candidates import Candidate
from bakeoff.report.choice import Choice, Contender, Field, Limits
from bakeoff.report.choose import choose
from bakeoff.report.costs import Prices
from bakeoff.report.field import field_of
from bakeoff.report.ledger import Selected, budgets, labels_of
from bakeoff.report.timed import is_asked
from bakeoff.report.timing import machine_of
from bakeoff.report.what_if import Fields, WhatIf, timed_lengths, what_ifs
from bakeoff.spec import Dataset, Quality, Run, hash_identity, identity
from bakeoff.store import Store


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A choice with the field it was made from, and what other conditions would make of it."""

    field: Field
    choice: Choice
    what_ifs: tuple[WhatIf, ...]
    gpu_machines: tuple[str, ...]
    """Machines whose GPU was timed, one document at a time."""
    several_machines: bool
    """Whether the same records hold another answer for another machine."""
    totals: Mapping[str, Total]
    """Contender key → what it costs in all; empty where no price of a label is given."""
    currency: str | None
    """Of the totals; null without any."""


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """A dataset whose records allow no choice, and why, as a sentence."""

    title: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """One dataset (its folds together) as one machine serves it: who competes, under any limits."""

    title: str
    selected: Selected
    """At least the records at the budget that the limits name."""
    fields: Fields
    machine: str | None
    """Null where nothing was timed."""
    several_machines: bool

    def under(self, limits: Limits) -> Limits:
        """The limits on this machine."""
        return replace(limits, machine=self.machine)


def answer(question: Question, limits: Limits, *, prices: Prices | None = None) -> Answered:
    """The choice under these limits and under other conditions. Raises DataError where the records allow none."""
    limits = question.under(limits)
    field = question.fields(limits)
    choice = choose(field, limits)
    lengths = timed_lengths(question.selected)
    gpus = tuple(one for one in machines_of(question.selected.records, Limits(device="cuda")) if one is not None)
    label = limits.price_per_label if prices is None or limits.price_per_label is not None else prices.label
    money = None
    if prices is not None and label is not None:
        by_id = {record.run_id: record for record in question.selected.records}
        money = totals(field, by_id, price_per_label=label, prices=prices)
    return Answered(
        field=field,
        choice=choice,
        what_ifs=tuple(what_ifs(field, choice, question.fields, lengths=lengths, gpu=bool(gpus))),
        gpu_machines=gpus,
        several_machines=question.several_machines,
        totals={} if money is None else money,
        currency=None if money is None or prices is None else prices.currency,
    )


def answer_or_why(question: Question, limits: Limits, *, prices: Prices | None = None) -> Answered | Unanswered:
    """The answer, or why the records allow none."""
    try:
        return answer(question, limits, prices=prices)
    except DataError as reason:
        return Unanswered(title=question.title, reason=str(reason))


def questions(
    records: Sequence[Record],
    store: Store,
    limits: Limits,
    *,
    failures: Sequence[Mapping[str, Any]] = (),
    planned: Sequence[Run] = (),
    commands: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    known: Mapping[str, Candidate] | None = None,
) -> list[Question]:
    """One question a dataset that has a score, and machine that timed it on the limits' device, in the order of the records.

    `commands` are candidate key → timing line, `titles` question of a dataset (`question_of`) → what the page calls it,
    and `known` run id → candidate as the page names it.
    """
    named = {candidate.key: candidate for candidate in (known or {}).values()}
    found = []
    for question, own in _by_question(records).items():
        dataset = own[0].run.dataset
        title = (titles or {}).get(question, dataset.name)
        timed = [record for record in records if record.latency is not None and record.run.dataset.fingerprint == dataset.fingerprint]
        failed = tuple(plain for plain in failures if plain.get("run", {}).get("dataset", {}).get("fingerprint") == dataset.fingerprint)
        selected = Selected(records=(*own, *timed), failures=failed, other_labels=())
        asked = [run for run in planned if question_of(run.dataset) == question]

        def fields(under: Limits, *, selected: Selected = selected, asked: Sequence[Run] = asked, title: str = title) -> Field:
            field = field_of(_at_budget(selected, under), store, under, planned=asked, commands=commands)
            return replace(field, title=title, contenders=tuple(_renamed(each, named) for each in field.contenders))

        found += by_machine(title, selected, fields, limits)
    return found


def by_machine(title: str, selected: Selected, fields: Fields, limits: Limits) -> list[Question]:
    """A question for every machine that counts; one without where nothing was timed."""
    machines = machines_of(selected.records, limits)
    several = len(machines) > 1
    return [
        Question(title=title, selected=selected, fields=fields, machine=machine, several_machines=several)
        for machine in machines or [limits.machine]
    ]


def machines_of(records: Sequence[Record], limits: Limits) -> Sequence[str | None]:
    """The machines whose single-stream latencies can count under the limits, or the one that they name."""
    if limits.machine is not None:
        return [limits.machine]
    return sorted({machine_of(record) for record in records if is_asked(record.run.probe, limits)})


def question_of(dataset: Dataset) -> str:
    """What is asked of a dataset whatever the fold."""
    return hash_identity({name: value for name, value in identity(dataset).items() if name != "fold"})


def _by_question(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Quality records with or without a score, by the question of their dataset, where any has a score."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if isinstance(record.run.probe, Quality) and not record.run.is_trial:
            found.setdefault(question_of(record.run.dataset), []).append(record)
    return {question: own for question, own in found.items() if any("test" in record.quality for record in own)}


def _at_budget(selected: Selected, limits: Limits) -> Selected:
    """With the failures of the budget alone, and the other budgets named."""
    recorded = {record.run.budget.labels for record in selected.records if "test" in record.quality and record.latency is None}
    labels = labels_of(recorded, limits.labels)
    failed = tuple(plain for plain in selected.failures if plain["run"].get("budget", {}).get("labels") in (labels, 0))
    return replace(selected, failures=failed, other_labels=budgets(recorded - {labels}))


def _renamed(contender: Contender, named: Mapping[str, Candidate]) -> Contender:
    """Under the name that its candidate has on the page, where the page has one."""
    candidate = named.get(contender.candidate.key)
    if candidate is None:
        return contender
    engine = contender.label.removeprefix(contender.candidate.label)
    return replace(contender, candidate=candidate, label=candidate.label + engine)
