"""One decision at work: what it knows, what it bakes next, and what it leaves out and why."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.commands import decide_audit, decide_latency, decide_pace
from bakeoff.commands.baking import bake_runs, tell_end
from bakeoff.commands.decide_field import Field
from bakeoff.commands.decide_page import Page
from bakeoff.deciding import rounds
from bakeoff.deciding.clock import SPARE, Clock
from bakeoff.deciding.estimates import Estimates, Pace, Sizes, Took, took_seconds
from bakeoff.deciding.offers import LONG_SHARE, TRAINED, Candidate, Offer, floors, readings, timings, trained, universe
from bakeoff.deciding.rounds import Known, Round
from bakeoff.errors import ConfigError
from bakeoff.provenance import usable_cpus
from bakeoff.report.limits import Limits
from bakeoff.runner import needs
from bakeoff.runner.live import duration
from bakeoff.runner.slots import slots_of
from bakeoff.spec import Machine
from bakeoff.store import Store, default_root

PACE_SHARE = 0.1
"""Of the time, for timing steps at most."""
STOPPED = "TimeLimit"
"""How the message of a Run begins that was stopped when its time was over."""
SESSION_SPARE = 2.5
"""A latency session may take so many times what it should: stopped, it was for nothing."""
LEAST_PACE_SECONDS, MOST_PACE_SECONDS = 1.0, 5.0


@dataclass(kw_only=True)
class Decision:
    """How far a decision has come."""

    field: Field
    limits: Limits
    clock: Clock
    store: Store
    machine: Machine
    estimates: Estimates
    page: Page
    truncated_share: float
    timed: tuple[Offer, ...]
    """What a latency session would time."""
    session: decide_latency.SessionPlan
    slots: int
    dropped: dict[Candidate, str] = dataclasses.field(default_factory=dict)
    left_out: dict[Offer, str] = dataclasses.field(default_factory=dict)
    """Why each was not run."""
    failed: dict[Offer, str] = dataclasses.field(default_factory=dict)
    interrupted: bool = False

    @classmethod
    def begin(cls, field_: Field, limits: Limits, *, clock: Clock, threads: int) -> "Decision":
        """Read and audit the data, and time steps of each architecture on it. Raises DataError or ConfigError for what is wrong with it."""
        decide_latency.check_serving(limits, threads)
        store = Store(default_root())
        store.check_usable()
        run = field_.first_run(floors()[0])
        field_.check([*floors(), *trained()], store)
        audited = decide_audit.audit(run, field_.run(Offer(model="pretrained")))
        print(audited.text, file=sys.stderr)
        is_long = audited.truncated_share > LONG_SHARE
        timed = timings(threads=threads, device=limits.device, long=is_long)
        field_.check([*(readings() if is_long else ()), *timed], store)
        timed = tuple(offer for offer in timed if field_.run(offer) is not None)
        machine = dataclasses.replace(field_.machine(), keep_weights="all")
        slots = len(slots_of(machine, [run], cores=usable_cpus()))
        longer = decide_audit.longer(field_, readings() if is_long else (), audited.lengths_tokens)
        estimates = Estimates(sizes=Sizes(pool=audited.pool_rows, test=audited.test_rows), longer=longer)
        found = cls(
            field=field_,
            limits=limits,
            clock=clock,
            store=store,
            machine=machine,
            estimates=estimates,
            page=Page(field=field_, store=store, limits=limits),
            truncated_share=audited.truncated_share,
            timed=timed,
            session=decide_latency.plan_session((), seconds=0.0),
            slots=slots,
        )
        estimates.paces = found._paces()
        found._note_recorded()
        untimed = [offer for offer in timed if not found.is_recorded(offer)]
        kept_back = sum(found.seconds(offer) for offer in floors() if not found.is_settled(offer))
        found.session = decide_latency.plan_session(
            untimed, seconds=min(decide_latency.SHARE * clock.budget_seconds, clock.left_seconds - 1.3 * kept_back)
        )
        return found

    def _paces(self) -> Mapping[Candidate, Pace]:
        """Of what is not recorded yet: what is known of a candidate's own Runs is better than any timing."""
        budget = self.clock.budget_seconds
        # tfidf last: its timing alone has no end that is known before, and would take the time of the others
        asked = [*(Offer(model=name) for name in TRAINED[:2]), Offer(model="frozen"), Offer(model="tfidf")]
        runs = {offer.candidate: run for offer in asked if (run := self.field.run(offer)) is not None and not self.is_recorded(offer)}
        if not runs:
            return {}
        print("timing a few steps of each architecture on these documents …", file=sys.stderr)
        each = max(LEAST_PACE_SECONDS, min(MOST_PACE_SECONDS, budget / 300))
        return decide_pace.paces(runs, machine=self.machine, seconds=each, within_seconds=PACE_SHARE * budget, at_a_time=self.slots)

    def _note_recorded(self) -> None:
        """What Runs of an earlier call took stands for what others will take."""
        for offer in self.recorded():
            if offer.asks == "quality":
                self._note(offer, estimated_seconds=None)

    def _note(self, offer: Offer, *, estimated_seconds: float | None, seconds: float | None = None) -> None:
        """A Run has its record; `seconds` is what it took by the clock, where this call baked it."""
        run = self.field.run(offer)
        record = None if run is None else self.store.load(run.run_id)
        if run is not None and record is not None:
            said, seconds = self.estimates.by_steps(run, offer), seconds or took_seconds(record)
            self.estimates.note(Took(offer=offer, estimated_seconds=estimated_seconds, said_seconds=said, seconds=seconds))
            if offer.model == "majority":
                self.estimates.fixed_seconds = seconds

    def is_recorded(self, offer: Offer) -> bool:
        """Whether its Run has a record."""
        run = self.field.run(offer)
        return run is not None and self.store.load(run.run_id) is not None

    def is_settled(self, offer: Offer) -> bool:
        """Whether it is not to be run in this call any more."""
        return offer in self.left_out or offer in self.failed or self.field.run(offer) is None or self.is_recorded(offer)

    def recorded(self) -> list[Offer]:
        """Everything of this decision that has a record, in the order of rounds."""
        pool = self.estimates.sizes.pool
        every = universe(("all", *(pool // share for share in rounds.SHARES)), long=self.truncated_share > LONG_SHARE)
        return [offer for offer in (*every, *self.timed) if self.is_recorded(offer)]

    def known(self) -> Known:
        """What the next round is chosen by."""
        return Known(
            pool_rows=self.estimates.sizes.pool,
            truncated_share=self.truncated_share,
            standing=self.page.standing(self.recorded()),
            is_settled=self.is_settled,
            dropped=self.dropped,
            slots=self.slots,
        )

    def plan(self) -> list[tuple[Round, list[tuple[Offer, float]]]]:
        """Every round as things stand, with seconds a Run; where nobody is scored yet, more draws of every model."""
        known = self.known()
        if not known.standing.open and known.standing.leader is None:
            known = dataclasses.replace(known, standing=rounds.everybody_open())
        return [(each, [(offer, self.seconds(offer)) for offer in each.offers]) for each in rounds.rounds(known)]

    def seconds(self, offer: Offer) -> float:
        """What its Run is expected to take, without what it is built from."""
        run = self.field.run(offer)
        return 0.0 if run is None else self.estimates.seconds(offer, run)

    def check_floors(self) -> None:
        """Raise ConfigError where the time is too little for what is cheapest."""
        waiting = [self.seconds(offer) for offer in floors() if not self.is_settled(offer)]
        needed = sum(waiting) / min(self.slots, max(1, len(waiting))) if waiting else 0.0
        if waiting and not self.clock.fits(max(needed, max(waiting))):
            budget = self.clock.budget_seconds
            least = self.clock.spent_seconds + self.clock.report_seconds + 1.3 * max(needed, max(waiting)) + 10.0
            raise ConfigError(
                f"--hours {budget / 3600:g} ({budget:.0f} s) is too little for even the floors, which take about "
                f"{duration(least)} in all here: give at least --hours {max(0.01, least * 1.1 / 3600):.2f}"
            )

    def time_architectures(self) -> None:
        """Hold the latency session, and drop what cannot be served within the limits."""
        for offer in self.session.left_out:
            self.left_out[offer] = "no time to time it beside the others"
        self._hold(self.session.offers, again=False)
        self._drop()
        for candidate, reason in self.dropped.items():
            print(f"not trained: {Offer(model=candidate[0], reading=candidate[1]).label}: {reason}", file=sys.stderr)

    @property
    def _readings(self) -> tuple[Offer, ...]:
        """Other readings that this decision may come to."""
        return readings() if self.truncated_share > LONG_SHARE else ()

    def _drop(self) -> None:
        """Note who cannot be served within the limits, by the latencies that are recorded."""
        records = {offer: self.store.load(run.run_id) for offer in self.timed if (run := self.field.run(offer)) is not None}
        timed = {offer: record for offer, record in records.items() if record is not None}
        slow = decide_latency.too_slow(timed, self.limits)
        measured = {offer.candidate for offer, record in timed.items() if record.latency is not None and not record.latency.contended}
        self.dropped = rounds.dropped_by_latency(slow, (*floors(), *trained(), *self._readings), measured=measured)

    def _hold(self, offers: Sequence[Offer], *, again: bool) -> None:
        """A latency session, stopped where it would take the time of the floors."""
        if not offers:
            return
        floor = sum(self.seconds(offer) for offer in floors() if not self.is_settled(offer))
        most = max(1.0, min(self.clock.limit_seconds - floor, SESSION_SPARE * self.session.seconds))
        self._bake(offers, dataclasses.replace(self.machine, time_limit_minutes=most / len(offers) / 60), again=again)

    def time_again(self) -> bool:
        """With a latency limit: time in what is left whom no session timed, or only one that other processes disturbed.

        Whether a session was held.
        """
        if self.limits.max_p95_ms is None:
            return False
        records = {offer: self.store.load(run.run_id) for offer in self.timed if (run := self.field.run(offer)) is not None}
        disturbed = [offer for offer, record in records.items() if record is None or record.latency is None or record.latency.contended]
        self.session = decide_latency.plan_session(disturbed, seconds=self.clock.limit_seconds / SPARE)
        if self.session.offers:
            print("timing what was not timed, or was disturbed by other processes", file=sys.stderr)
            self._hold(self.session.offers, again=True)
            self._drop()
            self.left_out = {offer: why for offer, why in self.left_out.items() if not self.is_recorded(offer)}
        return bool(self.session.offers)

    def bake_round(self, asked: Round) -> None:
        """Bake what fits of a round, and write the page anew."""
        run = self.field.run(floors()[0])
        assert run is not None
        decide_audit.verify(run)
        print(f"{asked.name}: {rounds.WHY[asked.name]}", file=sys.stderr)
        before = len(self.estimates.took)
        while not self.interrupted and (ready := self._ready(asked)):
            wave = rounds.wave(ready, seconds=self._seconds_until_done, fits=self.clock.fits, slots=self.slots)
            for offer in wave.too_long:
                left = max(0.0, self.clock.left_seconds)
                self.left_out[offer] = f"takes about {duration(self._seconds_until_done(offer))}, and {left:.0f} s were left"
            if wave.together:
                one_by_one = 1 + max(len(self._lost_needs(offer)) for offer in wave.together)
                machine = dataclasses.replace(self.machine, time_limit_minutes=self.clock.limit_seconds / one_by_one / 60)
                self._bake(wave.together, machine)
        if len(self.estimates.took) > before:
            self.page.write(self.recorded(), self.clock)

    def _ready(self, asked: Round) -> list[Offer]:
        """What can start now: for one whose teacher is not there, the teacher; one whose teacher cannot be there is left out."""
        found: dict[Offer, None] = {}
        for offer in asked.offers:
            run = self.field.run(offer)
            if run is None or self.is_settled(offer):
                continue
            missing = [each for each in needs.needs_of(run).values() if not needs.is_settled(self.store, each.run_id)]
            if not missing:
                found[offer] = None
                continue
            teacher = Offer(model=missing[0].model.name, labels=offer.labels, seed=offer.seed)
            if teacher in self.left_out or teacher in self.failed:
                self.left_out[offer] = f"its teacher {teacher.title} was not run"
            elif self.is_recorded(teacher):
                found[offer] = None  # whose weights are gone: they are baked with it
            else:
                found[teacher] = None
        return list(found)

    def _seconds_until_done(self, offer: Offer) -> float:
        """With what is baked for it; of a teacher that is baked for its student alone, with the student."""
        teachers = sum(self.seconds(each) for each in self._lost_needs(offer))
        student = Offer(model="distilled_bilstm", labels=offer.labels, seed=offer.seed)
        is_for_student = offer.candidate == ("pretrained", None) and offer.candidate in self.dropped
        return teachers + self.seconds(offer) + (self.seconds(student) if is_for_student else 0.0)

    def _lost_needs(self, offer: Offer) -> list[Offer]:
        """The recorded teacher whose weights are gone, which is baked again right before the offer: each has a time limit of its own."""
        run = self.field.run(offer)
        lost = [] if run is None else [each for each in needs.needs_of(run).values() if not needs.is_settled(self.store, each.run_id)]
        return [Offer(model=each.model.name, labels=offer.labels, seed=offer.seed) for each in lost]

    def _bake(self, offers: Sequence[Offer], machine: Machine, *, again: bool = False) -> None:
        asked = {run.run_id: offer for offer in offers if (run := self.field.run(offer)) is not None}
        runs = [run for offer in offers if (run := self.field.run(offer)) is not None]
        expected = {run_id: self.seconds(offer) for run_id, offer in asked.items() if offer.asks == "quality"}
        outcome = bake_runs(
            runs,
            machine,
            self.store,
            executor="local",
            slots=min(self.slots, len(runs)),
            group=self.field.name,
            seconds=expected,
            rules=self.session.rules,
            rebake_all=again,
        )
        self.interrupted = outcome.interrupted
        if outcome.interrupted or any(not message.startswith(STOPPED) for message in outcome.failed.values()):
            tell_end(outcome, runs, self.store)
        for run_id, offer in asked.items():
            if run_id in outcome.failed:
                message = outcome.failed[run_id]
                if message.startswith(STOPPED):
                    self.left_out[offer] = "was stopped when its time was over"
                else:
                    self.failed[offer] = message
            elif run_id in outcome.baked and offer.asks == "quality":
                self._note(offer, estimated_seconds=expected[run_id], seconds=outcome.seconds.get(run_id))
