"""What a Run will take: from steps timed on these documents, corrected by what finished Runs of the same model took."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from bakeoff.deciding.offers import Candidate, Offer
from bakeoff.record import Record
from bakeoff.spec import Frozen, Majority, Neural, Run, ZeroShot

FIXED_SECONDS = 0.75
"""Starting a process, reading data, tokenising, scoring and writing, until the first Run says what that takes here."""
AROUND_SECONDS = 1.0
"""Of a Run, before its record begins and after it ends: starting a process, and W&B."""
UNTIMED_ROW_SECONDS = 0.01
"""A row of a model that could not be timed."""
VALIDATION_FROM_LABELS = 300
VALIDATION_SHARE = 0.2
SECONDS_PER_MODEL = 8.0
"""Of a latency session: starting a process for a model, loading it twice and warming it up."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast one architecture learns and answers on these documents."""

    seconds_per_step: float | None = None
    """Null for models that are not trained by steps."""
    seconds_per_fit_row: float = 0.0
    """Of closed-form models: reading a labelled row and choosing the regression, over rows."""
    seconds_per_answer: float = 0.0
    """Reading one document and answering it."""

    def times(self, factor: float) -> "Pace":
        """That of documents so many times as long."""
        step = None if self.seconds_per_step is None else factor * self.seconds_per_step
        return Pace(
            seconds_per_step=step,
            seconds_per_fit_row=factor * self.seconds_per_fit_row,
            seconds_per_answer=factor * self.seconds_per_answer,
        )


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many rows there are to learn from, and to answer."""

    pool: int
    test: int


@dataclass(frozen=True, kw_only=True)
class Took:
    """What a finished Run took, by the clock."""

    offer: Offer
    estimated_seconds: float | None
    """Before it began; null where nobody estimated it."""
    said_seconds: float
    """What the timed steps say."""
    seconds: float

    @property
    def is_near(self) -> bool:
        """Whether the estimate was right within a factor of 1.5."""
        return self.estimated_seconds is not None and 1 / 1.5 <= self.seconds / max(self.estimated_seconds, 1e-9) <= 1.5


@dataclass(kw_only=True)
class Estimates:
    """Seconds a Run, by offer. `paces` are by candidate, and so is `longer`: how many times as much as its model's own a reading takes."""

    sizes: Sizes
    paces: Mapping[Candidate, Pace] = field(default_factory=dict)
    longer: Mapping[Candidate, float] = field(default_factory=dict)
    fixed_seconds: float = FIXED_SECONDS
    took: list[Took] = field(default_factory=list)

    def note(self, took: Took) -> None:
        """A Run has ended."""
        self.took.append(took)

    def seconds(self, offer: Offer, run: Run) -> float:
        """What it will take alone; what it is built from is another Run.

        The median of the same candidate on as many labels, with other seeds, where one has ended; features of the whole pool are
        computed by the first of them alone. Else what the timed steps say, times what Runs of this candidate took of what these said.
        """
        alike = [one.seconds for one in self.took if (one.offer.candidate, one.offer.labels) == (offer.candidate, offer.labels)]
        if isinstance(run.model, Frozen) and offer.labels == "all":
            alike = alike[1:]
        if alike:
            return median(alike)
        known = [one for one in self.took if one.offer.candidate == offer.candidate]
        # Over sums: a Run of a second, of which half was said, says little about one of minutes.
        factor = sum(one.seconds for one in known) / sum(one.said_seconds for one in known) if known else 1.0
        return self.by_steps(run, offer) * factor

    def by_steps(self, run: Run, offer: Offer) -> float:
        """What the timed steps say."""
        return self.fixed_seconds + self.work_seconds(run, offer)

    def work_seconds(self, run: Run, offer: Offer) -> float:
        """Learning and answering alone."""
        pace, model = self._pace(offer), run.model
        labels = self.sizes.pool if run.budget.labels == "all" else run.budget.labels
        if isinstance(model, Majority):
            return 0.0
        if isinstance(model, Frozen):
            return self._frozen_seconds(offer, labels)
        if isinstance(model, ZeroShot) or not isinstance(model, Neural):
            return labels * pace.seconds_per_fit_row + self.sizes.test * pace.seconds_per_answer
        validation = round(VALIDATION_SHARE * labels) if labels >= VALIDATION_FROM_LABELS else 0
        rows, training = labels - validation, model.training
        epochs, transfer = training.epochs, 0
        if model.distillation is not None and run.teacher is not None:
            transfer = self.sizes.pool - validation if run.budget.unlabelled == "pool" else rows
            if transfer > rows:
                rows, epochs = transfer, model.distillation.transfer_epochs
        steps_per_epoch = math.ceil(rows / training.batch_size)
        epochs = max(epochs, -(-training.min_steps // steps_per_epoch))
        teaching = transfer * self._pace(Offer(model=run.teacher.model.name)).seconds_per_answer if run.teacher is not None else 0.0
        answers = self.sizes.test + validation * (epochs + 1)
        return steps_per_epoch * epochs * (pace.seconds_per_step or 0.0) + answers * pace.seconds_per_answer + teaching

    def _frozen_seconds(self, offer: Offer, labels: int) -> float:
        """Features that a Run before it has computed are there: those of the test rows, and those of the whole pool."""
        pace, before = self._pace(offer), [one.offer.labels for one in self.took if one.offer.candidate == offer.candidate]
        reading = 0 if offer.labels == "all" and "all" in before else labels
        answering = 0 if before else self.sizes.test
        regression = labels * max(0.0, pace.seconds_per_fit_row - pace.seconds_per_answer)
        return (reading + answering) * pace.seconds_per_answer + regression

    def _pace(self, offer: Offer) -> Pace:
        """That of the candidate, or of the one whose architecture it has."""
        untimed = Pace(seconds_per_step=1.0, seconds_per_fit_row=1.5 * UNTIMED_ROW_SECONDS, seconds_per_answer=UNTIMED_ROW_SECONDS)
        same = {"distilled_bilstm": "bilstm", "zero_shot": "frozen"}.get(offer.model, offer.model)
        found = self.paces.get(offer.candidate) or self.paces.get((same, offer.reading))
        if found is None:
            found = (self.paces.get((same, None)) or untimed).times(self.longer.get(offer.candidate, 1.0))
        return Pace(seconds_per_answer=found.seconds_per_answer) if offer.model == "zero_shot" else found


def session_seconds(models: int, *, seconds_per_model: float) -> float:
    """What a latency session of so many models takes; the reference is one of them."""
    return models * (SECONDS_PER_MODEL + seconds_per_model)


def right_share(took: Sequence[Took]) -> float | None:
    """The share of Runs whose estimate was right within a factor of 1.5; null without any."""
    known = [one for one in took if one.estimated_seconds is not None]
    return sum(one.is_near for one in known) / len(known) if known else None


def took_seconds(record: Record) -> float:
    """What the Run of a record took: by its record, which counts whole seconds, and what surrounds it."""
    begin, end = (datetime.fromisoformat(text) for text in (record.started_at, record.finished_at))
    return max((end - begin).total_seconds(), record.training.seconds) + AROUND_SECONDS
