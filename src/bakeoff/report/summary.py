"""What a set of sweeps found, in numbers: a section a dataset, a table a budget, a standing a candidate."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bakeoff.record import MACRO_MIN_ROWS, Record, SplitQuality
from bakeoff.report import stats
from bakeoff.report.candidates import Candidate, candidates, split_by_probe
from bakeoff.report.saved_answers import PREDICTIONS as PREDICTIONS
from bakeoff.report.saved_answers import on_test as on_test
from bakeoff.report.saved_answers import read_answers as read_answers
from bakeoff.report.stats import Answers, Estimate, Metric
from bakeoff.spec import Dataset, Run, hash_identity, identity
from bakeoff.store import Store

Labels = int | str


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one candidate stands at one budget: `planned` Runs, of which `records` finished with a score."""

    candidate: Candidate
    planned: int
    records: tuple[Record, ...]
    estimate: Estimate | None
    """Of the primary metric; null without a finished Run."""
    to_best: Estimate | None = None
    """This candidate minus the best, paired; null for the best itself and where nothing pairs."""

    @property
    def collapsed(self) -> int:
        """Runs that answered one class for every row; the majority model does so by definition."""
        return 0 if self.candidate.kind == "majority" else sum(on_test(record).collapsed for record in self.records)

    def mean(self, name: str) -> float:
        """Mean over seeds of a number of the test split, for example `log_loss`."""
        return fmean(getattr(on_test(record), name) for record in self.records)

    @property
    def train_seconds(self) -> float:
        """Mean over seeds of the training time."""
        return fmean(record.training.seconds for record in self.records)


@dataclass(frozen=True, kw_only=True)
class Table:
    """One budget of one dataset: standings with a score first and best first, then those without."""

    labels: Labels
    n_labels: int
    """The number of labels that `labels` means here."""
    standings: tuple[Standing, ...]
    baseline: float
    """The primary metric of always answering the largest class of the labels."""
    baseline_accuracy: float
    baseline_macro_f1: float

    @property
    def best(self) -> Standing:
        """The highest mean of the primary metric."""
        return self.standings[0]

    @property
    def scored(self) -> tuple[Standing, ...]:
        """Standings with at least one finished Run."""
        return tuple(standing for standing in self.standings if standing.records)


@dataclass(frozen=True, kw_only=True)
class Section:
    """One dataset at one split."""

    dataset: Dataset
    title: str
    """Unique on the page."""
    metric: Metric
    metric_reason: str
    """Why it is this metric, as the end of a sentence."""
    n_test: int
    classes: tuple[str, ...]
    tables: tuple[Table, ...]
    records: tuple[Record, ...]
    candidates: dict[str, Candidate]
    """By run id, of the whole page, so that names and colours agree between datasets."""

    @property
    def n_groups(self) -> int | None:
        """How many groups the test rows stand in; null where they have none, or predictions do not say."""
        estimates = [standing.estimate for table in self.tables for standing in table.scored]
        return next((estimate.groups for estimate in estimates if estimate and estimate.groups), None)

    @property
    def slug(self) -> str:
        """The title, fit for a file name and an anchor."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "dataset"


def sections(runs: Sequence[Run], store: Store) -> list[Section]:
    """What the store holds for the quality Runs among these, datasets in the Runs' order; those without a score are left out.

    Raises DataError where saved predictions and record disagree.
    """
    by_dataset: dict[str, list[Run]] = {}
    runs, _ = split_by_probe(runs)
    for run in runs:
        by_dataset.setdefault(hash_identity(identity(run.dataset)), []).append(run)
    known = candidates(runs)
    found: list[Section] = []
    for key, members in by_dataset.items():
        records = {run.run_id: record for run in members if (record := store.load(run.run_id)) is not None and "test" in record.quality}
        if records:
            title = _dataset_title(members[0].dataset)
            if any(section.title == title for section in found):
                title = f"{title}, variant {key}"
            found.append(_section(members, known, records, store, title=title))
    return found


def metric_of(dataset: Dataset, records: Iterable[Record]) -> tuple[Metric, str]:
    """What the page scores by, and why: the configuration of today, else the class ratio that Runs found.

    The metric is no part of a Run's identity, so Runs baked under another choice stand here too. Only one that had
    `auto` knows the class ratio.
    """
    if dataset.metric != "auto":
        return dataset.metric, "as its configuration says"
    found = list(records)
    automatic = [record for record in found if record.run.dataset.metric == "auto"]
    metric: Metric = (automatic or found)[0].data.primary_metric
    if not automatic:
        return metric, "as the configuration said when its Runs were baked"
    ratio = "at most" if metric == "accuracy" else "more than"
    return metric, f"since its largest class is {ratio} three times its smallest"


def _section(runs: Sequence[Run], known: dict[str, Candidate], records: dict[str, Record], store: Store, *, title: str) -> Section:
    metric, reason = metric_of(runs[0].dataset, records.values())
    budgets: dict[Labels, list[Run]] = {}
    for run in runs:
        budgets.setdefault(run.budget.labels, []).append(run)
    tables = [
        _table(members, known, records, store, metric=metric)
        for _, members in sorted(budgets.items(), key=lambda item: float("inf") if item[0] == "all" else float(item[0]))
        if any(run.run_id in records for run in members)
    ]
    some = next(iter(records.values()))
    return Section(
        dataset=runs[0].dataset,
        title=title,
        metric=metric,
        metric_reason=reason,
        n_test=on_test(some).n,
        classes=some.data.classes,
        tables=tuple(tables),
        records=tuple(records.values()),
        candidates=known,
    )


def _table(runs: Sequence[Run], known: dict[str, Candidate], records: dict[str, Record], store: Store, *, metric: Metric) -> Table:
    members: dict[str, list[Run]] = {}
    for run in runs:
        members.setdefault(known[run.run_id].key, []).append(run)
    standings: list[Standing] = []
    answers: dict[str, Answers] = {}
    for key, group in members.items():
        done = tuple(records[run.run_id] for run in group if run.run_id in records)
        if done:
            answers[key] = read_answers(store, done)
        estimate = stats.estimate(answers[key], metric) if done else None
        standings.append(Standing(candidate=known[group[0].run_id], planned=len(group), records=done, estimate=estimate))
    standings.sort(key=lambda standing: -standing.estimate.mean if standing.estimate else float("inf"))
    best = standings[0]
    paired = [standing if standing is best or not standing.records else _against(standing, best, answers, metric) for standing in standings]
    finished = [record for standing in standings for record in standing.records]
    majority = [record for record in finished if record.run.model.kind == "majority"]
    accuracy = fmean(on_test(record).majority_baseline for record in majority or finished)
    macro_f1 = fmean(_baseline_macro_f1(on_test(record)) for record in majority or finished)
    return Table(
        labels=runs[0].budget.labels,
        n_labels=finished[0].data.n_fit + finished[0].data.n_val,
        standings=tuple(paired),
        baseline=accuracy if metric == "accuracy" else macro_f1,
        baseline_accuracy=accuracy,
        baseline_macro_f1=macro_f1,
    )


def _against(standing: Standing, best: Standing, answers: dict[str, Answers], metric: Metric) -> Standing:
    return Standing(
        candidate=standing.candidate,
        planned=standing.planned,
        records=standing.records,
        estimate=standing.estimate,
        to_best=stats.difference(answers[standing.candidate.key], answers[best.candidate.key], metric),
    )


def _baseline_macro_f1(quality: SplitQuality) -> float:
    """Macro-F1 of answering one class: its precision is its share p, its recall 1, so F1 = 2p / (1 + p); the other classes have 0.

    It is itself left out of the mean where it has too few test rows and another class has not.
    """
    supports = [one.support for one in quality.classes.values()]
    counted = sum(n >= MACRO_MIN_ROWS for n in supports)
    share = quality.majority_baseline
    if counted and round(share * quality.n) < MACRO_MIN_ROWS:
        return 0.0
    return 2 * share / (1 + share) / (counted or sum(n > 0 for n in supports))


def _dataset_title(dataset: Dataset) -> str:
    return dataset.name if dataset.fold is None else f"{dataset.name}, fold {dataset.fold}"
