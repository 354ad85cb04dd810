"""The nouns of choosing: contenders, and a choice with the evidence for every verdict. Shares are from 0 to 1, as in records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bakeoff.report.candidates import Candidate
from bakeoff.report.limits import Limits as Limits
from bakeoff.report.stats import Answers, Estimate, Metric
from bakeoff.report.summary import Labels
from bakeoff.report.timing import engine_name
from bakeoff.spec import Dataset

MEGABYTE = 1_000_000

Verdict = Literal["best", "as_good", "worse", "undecided"]
Status = Literal["feasible", "infeasible", "not_measured"]
Scale = Literal["p50_ms", "ratio", "flops", "bytes"]


@dataclass(frozen=True, kw_only=True)
class Timed:
    """How fast a contender answers one document at a time, with the 95% interval of its p95; ms."""

    run_id: str
    session_id: str
    machine: str
    device: str
    threads: int
    engine: str
    p50_ms: float | None
    p95_ms: float | None
    low_ms: float | None
    high_ms: float | None
    contended: bool
    """Other processes disturbed the session: no basis for a decision."""
    tokens: int | None
    """The fixed length that was timed, where `tokens_p95` asked for another than the dataset's; its median then stands for the p95."""
    ratio_to_reference: float | None = None
    """Its median over that of the session's reference: what compares sessions. Null at a fixed length, where no session has one."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What became of the Runs of a contender."""

    scored: int
    collapsed: int
    """Of the scored: one class was answered for every row."""
    diverged: int
    failed: int
    """With `failure.json` and no record."""
    planned: int | None = None
    """Cells of the sweeps; null without a sweep."""

    @property
    def lost(self) -> int:
        """Runs that ended without a score, which no mean shows."""
        return self.diverged + self.failed


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One way to serve a candidate: the answers it gives, how fast, and how large it is."""

    key: str
    """Unique in the field: the candidate, and its engine where that changes answers or time."""
    label: str
    """What a person calls it, with its engine unless that is eager."""
    candidate: Candidate
    engine: str | None
    """Null where it was not timed."""
    folds: tuple[Answers, ...]
    """Answers by fold, or those on the one test set."""
    reads_labels: bool
    """False for zero-shot models, checkpoints as they are and answers from a file: for these a seed changes nothing."""
    counts: Counts
    run_ids: tuple[str, ...]
    """Quality Runs behind the answers."""
    timed: Timed | None
    bytes: int | None
    """On disk."""
    flops: float | None
    """For a document of median length."""
    timing_command: str | None
    """The line that times it; null where that cannot be done."""
    train_seconds: float | None = None
    """Mean over seeds."""
    pool_share: float = 0.0
    """Test rows over the rows that labels are drawn from; what the variance over folds is corrected with."""
    unscored_engines: tuple[str, ...] = ()
    """Engines that the candidate was timed with, that change answers, and whose own answers nobody scored at this budget."""
    fitted_by: tuple[str, ...] = ()
    """Quality Runs that trained its weights; those behind the answers, but for an engine with answers of its own."""

    @property
    def seeds(self) -> int:
        """Draws of labels that were scored: several seeds on one draw say nothing of other labels."""
        return min(answers.n_draws for answers in self.folds)

    @property
    def repeats_draws(self) -> bool:
        """Whether several seeds stand on one draw of labels."""
        return any(answers.n_draws < len(answers.seeds) for answers in self.folds)

    @property
    def alone(self) -> str:
        """What there is one of where a verdict would take several: `one seed`, or `one draw` with several seeds on it."""
        return "one seed" if min(len(answers.seeds) for answers in self.folds) < 2 else "one draw"

    @property
    def p50_ms(self) -> float | None:
        """The median latency, where one was measured that a decision can rest on."""
        return None if self.timed is None or self.timed.contended else self.timed.p50_ms

    @property
    def ratio_to_reference(self) -> float | None:
        """The median latency over that of the reference in its session, where a decision can rest on it."""
        return None if self.timed is None or self.timed.contended else self.timed.ratio_to_reference


@dataclass(frozen=True, kw_only=True)
class Miss:
    """A limit that a contender misses: the 95% bound that was held against it, and the value in its middle."""

    limit: str
    """The field of Limits; `min_recall CLASS` for a class."""
    wanted: float
    bound: float
    value: float

    @property
    def shortfall(self) -> float:
        """By what share of the limit the bound misses it."""
        return abs(self.bound - self.wanted) / self.wanted


@dataclass(frozen=True, kw_only=True)
class Feasibility:
    """Whether a contender meets the limits. Not measured is neither: `lacking` says what is missing, `command` measures it."""

    status: Status
    misses: tuple[Miss, ...] = ()
    lacking: str | None = None
    command: str | None = None

    @property
    def shortfall(self) -> float:
        """The worst of its misses, as a share of the limit."""
        return max((miss.shortfall for miss in self.misses), default=0.0)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Reference − contender, paired over rows (or groups) and draws, with one-sided 95% bounds corrected by Holm."""

    estimate: Estimate
    """Two-sided and uncorrected, as tables print it; it excludes zero or does not."""
    low: float
    high: float
    as_good_p: float
    """Holm-adjusted, of losing the margin or more."""
    worse_p: float
    """Holm-adjusted, of losing the margin or less."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """What would decide an undecided contender, if the loss stays as observed: either number alone; null is no number alone."""

    more_units: int | None
    units: Literal["test rows", "groups"]
    more_draws: int | None


@dataclass(frozen=True, kw_only=True)
class Saving:
    """What a contender takes less than the reference; negative where it takes more, null where one of the two is not known."""

    scale: Scale | None
    """What the two were compared by: the median latency in one session at one length, else its ratio to the reference that
    every session times, else floating-point operations, else size."""
    share: float | None
    """Contender over reference on that scale; below 1 is cheaper."""
    ms: float | None
    megabytes: float | None

    @property
    def is_cheaper(self) -> bool:
        """Strictly less on the scale."""
        return self.share is not None and self.share < 1


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A contender with its score and everything that was decided about it."""

    contender: Contender
    estimate: Estimate
    """Of the metric."""
    accuracy: Estimate
    feasibility: Feasibility
    verdict: Verdict | None = None
    """Null for one that is not feasible."""
    loss: Loss | None = None
    """Null for the reference, for what is not feasible, and where nothing pairs."""
    saving: Saving | None = None
    """Null where `loss` is, by rule."""
    needed: Needed | None = None
    """Of an undecided one."""
    why_undecided: str | None = None
    """Where it is not a matter of width: `one seed`, `one draw`, `no seed and test set in common`."""
    gap: Estimate | None = None
    """Reference − contender where one seed or draw alone pairs: rows vary, draws do not. Null elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Sureness:
    """How sure the choice is."""

    wins: Mapping[str, float]
    """Contender key → in what share of resampled test sets it had the best score among the feasible."""
    corrected: float
    """The score of whoever wins on resampled rows, on the rows left out: what the best score is worth after choosing."""
    detectable: float | None
    """The smallest true difference to the best that this design shows 4 times in 5 (two-sided 5%), the median over pairs."""
    seeds: int
    """The fewest seeds of a feasible contender that reads labels; 1 where none does."""
    advised_seeds: int


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the rule chose, and why; every contender is in `judged`, best score first."""

    limits: Limits
    metric: Metric
    recommended: Judged | None
    reason: str | None
    """Why nothing is recommended, as a sentence; null where something is."""
    reference: Judged | None
    """The feasible contender with the best mean."""
    runner_up: Judged | None
    """What the rule would choose without the recommended one."""
    waiting: Judged | None
    """The best of the rest where it has one seed or draw, so that the rule chooses no runner-up yet."""
    judged: tuple[Judged, ...]
    nearest_misses: tuple[Judged, ...]
    """Where none is feasible: up to three infeasible ones, the nearest first."""
    sureness: Sureness | None
    """Null where none is feasible."""

    @property
    def seeds(self) -> int | None:
        """The fewest draws behind the recommended one, the best mean and what pairs them; null where neither reads labels."""
        pair = [each for each in (self.recommended, self.reference) if each is not None and each.contender.reads_labels]
        loss = self.recommended.loss if self.recommended is not None else None
        shared = [loss.estimate.seeds] if pair and loss is not None else []
        return min([each.contender.seeds for each in pair] + shared, default=None)

    @property
    def has_enough_seeds(self) -> bool:
        """Whether a recommendation rests on as many draws as the house asks for; what reads no label needs none."""
        return self.seeds is None or self.sureness is None or self.seeds >= self.sureness.advised_seeds

    def with_verdict(self, verdict: Verdict) -> tuple[Judged, ...]:
        """Those of one verdict, best score first."""
        return tuple(each for each in self.judged if each.verdict == verdict)

    def with_status(self, status: Status) -> tuple[Judged, ...]:
        """Those of one feasibility, best score first."""
        return tuple(each for each in self.judged if each.feasibility.status == status)


@dataclass(frozen=True, kw_only=True)
class Field:
    """Who competes: every contender of one dataset at one budget, with what the answer's words need."""

    dataset: Dataset
    title: str
    metric: Metric
    metric_reason: str
    labels: Labels
    n_labels: int
    classes: tuple[str, ...]
    contenders: tuple[Contender, ...]
    machine: str | None
    """Where the latencies were measured; null without any."""
    run_ids: tuple[str, ...]
    """Every record that was read."""
    other_labels: tuple[Labels, ...]
    """Budgets that are recorded besides."""

    @property
    def unscored(self) -> tuple[str, ...]:
        """Engines that change answers, were timed, and whose own answers nobody scored: no contenders."""
        every = (f"{each.candidate.label} · {engine_name(engine)}" for each in self.contenders for engine in each.unscored_engines)
        return tuple(dict.fromkeys(every))
