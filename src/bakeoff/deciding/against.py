"""Next month: last month's winner and its nearest rivals on the grown file, and whether to keep, retrain or reconsider.

How `decide` uses it:

    write_decision(report_folder, Decision(...))       (old_report.py) at the end of every round, for next month
    old = read_old(old_report_folder, store)           (old_report.py) with --against
    settings += grown_settings(old, run.dataset)       (commands/decide_against.py) splits the grown file as last month
    runs = plan(old, run.dataset)                      what to bake, the winner's Runs first
    found = compare(old, run.dataset, store)           after baking; `render(found)` is the section of the page

The rule. *reconsider*: a rival, retrained too, is better than the winner on today's test rows by more than the margin, or the
retrained winner scores lower on new test rows than on old ones by more than the margin (split by time: than last month, when
the old ones were the newest). *retrain*: else, and today's test
rows hold a class that the shipped model has never seen, or the retrained winner is better than the shipped one on the rows
that both answered. *keep*: else. Each "better" and "lower" also takes a 95% interval of the difference that leaves out zero:
paired between models, unpaired between new rows and old ones.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.deciding.drift import Changes, Old, changes
from bakeoff.deciding.old_report import OldCandidate, OldReport, on_dataset, read_lengths
from bakeoff.errors import DataError
from bakeoff.record import Record
from bakeoff.report import stats
from bakeoff.report.stats import Answers, Estimate, Metric
from bakeoff.report.summary import metric_of, read_answers
from bakeoff.spec import Dataset, Run, identity
from bakeoff.store import Store

Verdict = Literal["keep", "retrain", "reconsider"]

_MAY_DIFFER = ("fingerprint", "newest_share", "newest_from")
"""Settings of a dataset that change when it grows."""
MOST_LISTED = 3


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One candidate, retrained on the grown file: its score on old and on new test rows apart."""

    name: str
    old_rows: Estimate | None
    """Null where the grown file has none of last month's test rows."""
    new_rows: Estimate | None
    """Null where there are no new test rows."""
    behind: Estimate | None
    """The winner minus it on all of today's test rows, paired; null for the winner itself, and where no seed is shared."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What answers are judged by."""

    name: str
    """Of the winner."""
    classes: tuple[str, ...]
    unknown: frozenset[str]
    """Classes that last month had none of."""
    metric: Metric
    margin_points: float
    by_time: bool = False
    """Whether test rows are the newest."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The verdict with its evidence. Scores are shares from 0 to 1."""

    verdict: Verdict
    reason: str
    """One sentence."""
    metric: Metric
    winner: Scored
    rivals: tuple[Scored, ...]
    gain: Estimate | None
    """Retrained minus shipped winner, paired on the rows that both answered; null where no row or seed is shared."""
    changes: Changes


def refuse_other_question(old: Dataset, dataset: Dataset) -> None:
    """Raise DataError where columns, split, label map or the like differ from last month's: scores would not compare."""
    before, now = (identity(each) for each in (old, dataset))
    for key in sorted({*before, *now} - set(_MAY_DIFFER)):
        if before.get(key) != now.get(key):
            raise DataError(
                f"--against needs the same question of a grown file, but dataset.{key} was {before.get(key)} and is {now.get(key)}"
            )


def plan(old: OldReport, dataset: Dataset) -> tuple[Run, ...]:
    """Last month's winner and rivals, each with its seeds, asked of the grown file; the winner's Runs first.

    Raises DataError as `refuse_other_question`, and where the file holds the same bytes as last month.
    """
    refuse_other_question(old.dataset, dataset)
    if old.dataset.fingerprint == dataset.fingerprint:
        raise DataError("--against needs a file that has grown, but it holds the same bytes as in the old report")
    return tuple(on_dataset(run, dataset) for each in (old.winner, *old.rivals) for run in each.runs)


def compare(old: OldReport, dataset: Dataset, store: Store, *, margin_points: float = 1.0, shipped: Answers | None = None) -> Comparison:
    """The verdict, from the records of `plan(old, dataset)`.

    `shipped` are the answers of the exported model to today's test rows, in today's class indices, where its weights are
    still there; without them the shipped winner is known on the old rows alone. Raises DataError where the winner has no
    record on the grown file; a rival without one is left out.
    """
    winner = _again(old.winner, dataset, store)
    if winner is None:
        raise DataError("last month's winner has no score on the grown file, so nothing can be said against the old report")
    records, now = winner
    own, classes = old.winner.records[0].data.classes, records[0].data.classes
    return judge(
        in_classes(old.winner.answers, own, classes),
        now,
        {_name(each): found[1] for each in old.rivals if (found := _again(each, dataset, store)) is not None},
        setting=Setting(
            name=_name(old.winner),
            classes=classes,
            unknown=frozenset(classes) - set(own),
            metric=metric_of(dataset, records)[0],
            margin_points=margin_points,
            by_time=dataset.time is not None,
        ),
        shipped=shipped,
        lengths_tokens=read_lengths(store, records[0], now),
    )


def judge(
    old: Answers,
    winner: Answers,
    rivals: Mapping[str, Answers],
    *,
    setting: Setting,
    shipped: Answers | None = None,
    lengths_tokens: NDArray[np.int64] | None = None,
) -> Comparison:
    """The verdict on answers alone, class indices those of `setting.classes`.

    `old` is what the winner answered last month; `winner` and `rivals` are retrained and answer today's test rows, all in
    one order; `lengths_tokens` are those of today's rows, shape (n,).
    """
    metric, is_old = setting.metric, np.isin(winner.row_ids, old.row_ids)
    asked = Old(n_rows=len(old.row_ids), is_old=is_old)
    then = old if setting.by_time else None
    found = changes(asked, winner, metric=metric, classes=setting.classes, lengths_tokens=lengths_tokens, then=then)
    scored = tuple(_scored(each, answers, is_old, metric, winner=winner) for each, answers in rivals.items())
    before = old if shipped is None else shipped
    if setting.by_time and (is_new := ~np.isin(before.row_ids, old.row_ids)).any():
        before = before.where(is_new)  # for old rows the retrained winner knows what came after them
    gain = _gain(winner, before, metric)
    seen = np.bincount(winner.labels, minlength=len(setting.classes))
    unknown = {each: int(n) for each, n in zip(setting.classes, seen, strict=True) if n and each in setting.unknown}
    verdict, reason = _verdict(setting, scored, found, gain=gain, unknown=unknown)
    return Comparison(
        verdict=verdict,
        reason=reason,
        metric=metric,
        winner=_scored(setting.name, winner, is_old, metric, winner=None),
        rivals=scored,
        gain=gain,
        changes=found,
    )


def _verdict(
    setting: Setting, rivals: Sequence[Scored], found: Changes, *, gain: Estimate | None, unknown: Mapping[str, int]
) -> tuple[Verdict, str]:
    name, margin = setting.name, setting.margin_points / 100
    ahead = {each.name: each.behind for each in rivals if each.behind is not None and each.behind.high < 0 and each.behind.mean < -margin}
    if ahead:
        best = min(ahead, key=lambda each: ahead[each].mean)
        return "reconsider", f"{best} is now better than {name} by {_points(ahead[best], -1)} on today's test rows."
    drop = found.score
    if drop is not None and drop.high < 0 and drop.mean < -margin:
        than = "it scored on the newest rows of last month" if found.since_then else "on old ones"
        return "reconsider", f"{name}, retrained, scores {_points(drop, -1)} lower on new test rows than {than}: the data has changed."
    if unknown:
        listed = ", ".join(
            f"{each} in {n:,} of today's test rows" for each, n in sorted(unknown.items(), key=lambda item: -item[1])[:MOST_LISTED]
        )
        return "retrain", f"{name} as shipped has never seen {len(unknown)} of the classes ({listed})."
    if gain is not None and gain.low > 0:
        return "retrain", f"{name} gains {_points(gain)} by retraining, on the {gain.rows:,} test rows that both answered."
    if gain is None:
        return "keep", f"Nothing says that {name} should change, since no test row was answered both as shipped and retrained."
    return "keep", f"{name} gains nothing for sure by retraining: {_points(gain)} on the {gain.rows:,} test rows that both answered."


def _points(estimate: Estimate, sign: int = 1) -> str:
    """`2.1 points (0.4 to 3.8)`; with `sign` −1 of the difference the other way round."""
    low, high = sorted((sign * estimate.low, sign * estimate.high))
    return f"{100 * sign * estimate.mean:.1f} points ({100 * low:.1f} to {100 * high:.1f})"


def _scored(name: str, answers: Answers, is_old: NDArray[np.bool_], metric: Metric, *, winner: Answers | None) -> Scored:
    return Scored(
        name=name,
        old_rows=stats.estimate(answers.where(is_old), metric) if is_old.any() else None,
        new_rows=stats.estimate(answers.where(~is_old), metric) if not is_old.all() else None,
        behind=None if winner is None else stats.difference(winner, answers, metric),
    )


def _gain(now: Answers, before: Answers, metric: Metric) -> Estimate | None:
    """Retrained minus shipped on the rows that both answered under one label, paired; None where there are none."""
    label_of = dict(zip(before.row_ids.tolist(), before.labels.tolist(), strict=True))
    both = {row for row, label in zip(now.row_ids.tolist(), now.labels.tolist(), strict=True) if label_of.get(row) == label}
    if not both:
        return None
    retrained, shipped = (each.where(np.isin(each.row_ids, sorted(both))) for each in (now, before))
    return stats.difference(retrained, dataclasses.replace(shipped, groups=retrained.groups), metric)


def _again(candidate: OldCandidate, dataset: Dataset, store: Store) -> tuple[tuple[Record, ...], Answers] | None:
    """The records of a candidate on the grown file, with their answers; None where none has a score."""
    found = [store.load(on_dataset(run, dataset).run_id) for run in candidate.runs]
    records = tuple(record for record in found if record is not None and "test" in record.quality)
    return (records, read_answers(store, records)) if records else None


def in_classes(answers: Answers, own: Sequence[str], classes: Sequence[str]) -> Answers:
    """Answers with class indices of `classes`; a class that is gone from the data gets the number behind the last."""
    index = {name: i for i, name in enumerate(classes)}
    to = np.array([index.get(name, len(classes)) for name in own], dtype=np.int64)
    return dataclasses.replace(answers, labels=to[answers.labels], predicted=to[answers.predicted])


def _name(candidate: OldCandidate) -> str:
    run = candidate.runs[0]
    return run.model.name if run.longdoc == run.model.default_longdoc else f"{run.model.name} · {run.longdoc.label}"
