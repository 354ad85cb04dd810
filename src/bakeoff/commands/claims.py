"""`bakeoff claims`: list the claims, measure some, or write their page."""

import dataclasses
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from bakeoff.claims import registry
from bakeoff.claims import stored as kept
from bakeoff.claims.claim import Answer, Claim, NotMeasured, Size, Verdict
from bakeoff.claims.settings import settings
from bakeoff.claims.stored import Stored
from bakeoff.commands.claims_bench import StoreBench
from bakeoff.commands.claims_text import Told, about, as_json, as_text, how_long, overview
from bakeoff.errors import BakeoffError, ConfigError
from bakeoff.provenance import gpu_name, machine_facts, provenance
from bakeoff.record import MachineFacts
from bakeoff.report import claims_page, words
from bakeoff.runner.failure import describe
from bakeoff.store import Store, default_root, utc_now

REPORTS = Path("reports")
UNTESTED: Verdict = "cannot be tested here"


def claims(
    names: Sequence[str],
    *,
    every: bool,
    size: Size,
    format: Literal["text", "json"],
    page: bool,
    out: Path | None,
) -> int:
    """Exit code of `bakeoff claims`: 1 where one could not be measured, whatever the verdicts. Raises ConfigError for unknown names."""
    registry.check_names(names)
    if every and names:
        raise ConfigError("--all measures every claim: leave out --all, or the names")
    store, folder = Store(default_root()), (out or REPORTS) / kept.FOLDER
    before = last_answers(store, folder)
    if not (names or every):
        written = write_page(before, folder) if page or out is not None else None
        listed = [Told(claim=registry.load(name), stored=before.get(name)) for name in registry.NAMES]
        if format == "json":
            print(as_json(listed))
        elif written is None:
            print(overview(listed, size))
        if written is not None:
            print(written) if format == "text" else _say(str(written))
        return 0
    chosen = [registry.load(name) for name in (registry.NAMES if every else dict.fromkeys(names))]
    _say(how_long(chosen, size))
    told: list[Told] = []
    try:
        for claim in chosen:
            told.append(ask(claim, size=size, store=store, last=before.get(claim.name)))
            if format == "text":
                print(as_text(told[-1]), flush=True)
    except KeyboardInterrupt:
        if format == "json":
            print(as_json(told))
        _say("interrupted; what was answered is kept, and the same command goes on where this one stopped")
        return 130
    if format == "json":
        print(as_json(told))
    if page or every or out is not None:
        written = write_page(last_answers(store, folder), folder)
        print(written) if format == "text" else _say(str(written))
    for each in told:
        if each.error is not None:
            _say(f"{each.claim.name} could not be measured: {each.error}")
    return 1 if any(each.error is not None for each in told) else 0


def ask(claim: Claim, *, size: Size, store: Store, last: Stored | None) -> Told:
    """Measure a claim and keep its answer. One without a form at this size keeps its last answer, or cannot be tested here."""
    if size not in claim.seconds:
        if last is not None:
            return Told(claim=claim, stored=last)
        form = next(iter(claim.seconds), None)
        other = f"with --size {form} it takes {about(claim.seconds[form])}" if form is not None else "it has no other form either"
        seen = f"It has no {size} form, and no answer of another is recorded: {other}."
        return _keep(claim, untested(seen), StoreBench(size=size, store=store), seconds=0.0)
    _say(f"{claim.name} ({size}, {about(claim.seconds[size])} from nothing)")
    bench, begin = StoreBench(size=size, store=store), time.perf_counter()
    try:
        answer = claim.measure(bench)
    except (NotMeasured, BakeoffError) as reason:
        return Told(claim=claim, stored=None, error=str(reason))
    except Exception as error:  # a fault in one claim must not cost the others; its message may quote a text
        return Told(claim=claim, stored=None, error=f"it failed with {type(error).__name__}{_place(error)}")
    if answer.verdict == UNTESTED and last is not None and last.answer.verdict != UNTESTED:
        _say(f"{claim.name} cannot be tested here, and its last answer stands: {answer.seen}")
        return Told(claim=claim, stored=last)
    answer = answer if answer.run_ids else dataclasses.replace(answer, run_ids=tuple(bench.records))
    return _keep(claim, answer, bench, seconds=time.perf_counter() - begin)


def untested(seen: str) -> Answer:
    """The answer of a claim that this machine cannot measure."""
    return Answer(verdict=UNTESTED, figure=None, unit="", interval=None, seen=seen, dataset=None)


def last_answers(store: Store, folder: Path) -> dict[str, Stored]:
    """The last answer of each claim that has one, in the store or beside the page in `folder`; what cannot be read is told."""
    found: dict[str, Stored] = {}
    for name in registry.NAMES:
        for place in (store.root / kept.FOLDER, folder / claims_page.ANSWERS):
            try:
                answer = kept.read(place, name)
            except BakeoffError as reason:
                _say(str(reason))
                continue
            if answer is not None and (name not in found or answer.measured_at > found[name].measured_at):
                found[name] = answer
    return found


def write_page(answers: Mapping[str, Stored], folder: Path) -> Path:
    """The page of these answers; the path of its README.md."""
    absent = [name for name in registry.NAMES if name not in answers]
    return claims_page.write_page(list(answers.values()), folder, absent=absent)


def _keep(claim: Claim, answer: Answer, bench: StoreBench, *, seconds: float) -> Told:
    records, code = list(bench.records.values()), provenance()
    machines = dict.fromkeys(_machine_line(record.machine) for record in records)
    stored = kept.stored(
        claim,
        answer,
        size=bench.size,
        machine="; ".join(machines) or _machine_line(machine_facts(device="cpu", gpu=gpu_name())),
        measured_at=utc_now(),
        seconds=round(seconds, 1),
        settings=settings(records),
        sweeps=tuple(dict.fromkeys(bench.sweeps)),
        recorded=bench.recorded,
        commit=code.commit,
        dirty=bool(code.dirty) or any(record.provenance.dirty for record in records),
    )
    kept.write(bench.store.root / kept.FOLDER, stored)
    return Told(claim=claim, stored=stored)


def _machine_line(facts: MachineFacts) -> str:
    return f"{facts.processor}, {words.count(facts.usable_cpus, 'CPU')}, {facts.memory_gb:.0f} GB, {facts.gpu or 'no GPU'}"


def _place(error: Exception) -> str:
    trace = describe(error, private=True).trace
    return f" ({trace[-1]})" if trace else ""


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
