"""What is often advised, beside what these records say of it: agreement, disagreement, undecided, or not measured.

The advice is that of introductions to transformers. Where it names a model, a record agrees if the rule of `choose` picks
a model of that kind under the advice's condition, and disagrees if it picks another that is shown to serve better there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bakeoff.errors import DataError
from bakeoff.report import bounds, pairs, words
from bakeoff.report.answer import Question
from bakeoff.report.answer_table import why
from bakeoff.report.choice import Contender, Field, Limits
from bakeoff.report.choose import choose
from bakeoff.report.stats import Estimate, Metric, difference
from bakeoff.report.summary import Section, Standing, Table, read_answers
from bakeoff.spec import hash_identity, identity
from bakeoff.store import Store

PRETRAINED = ("pretrained", "frozen")
OFF_THE_SHELF = ("zero_shot", "off_the_shelf")
RECURRENT = ("bilstm",)
LEARNT_HERE = ("bilstm", "scratch", "tfidf", "majority")

MOST_LABELS = 50_000
SINGLE_DIGIT_MS = 10.0
LONG_TOKENS = 1_000
WITHIN = 0.01
"""A point."""
ZERO_SHOT_AT = 1_000

Here = Literal["agrees", "disagrees", "undecided", "not measured here"]


Said = tuple[Here, str] | None
"""Whether one dataset's records agree, and the numbers; None where they do not speak to it."""


@dataclass(frozen=True, kw_only=True)
class Thumb:
    """One piece of advice beside one dataset's records."""

    rule: str
    dataset: str
    """Empty where nothing was measured."""
    here: Here
    says: str
    """The numbers, or what is missing."""


def thumbs(sections: Sequence[Section], questions: Sequence[Question], store: Store) -> list[Thumb]:
    """Every rule of thumb, a line for each dataset that speaks to it, or one that says what is missing."""
    fields = [(question, field) for question in questions if (field := _field(question, Limits())) is not None]
    found: list[Thumb] = []
    found += _or_missing(
        "Pretrained with under about 50,000 labels",
        [(section.title, _few_labels(section, store)) for section in sections],
        missing="no budget has both a pretrained model and one that learnt here alone, paired",
    )
    for rule, missing in (
        ("Pretrained where nuance decides", "these records do not score texts with negation or contrast apart"),
        ("Pretrained for rare words and typos", "these records do not score misspelt or rare words apart"),
    ):
        found += _or_missing(rule, [], missing=missing)
    long = any(_is_long(question, field) for question, field in fields)
    too_short = f"no documents here reach {LONG_TOKENS:,} tokens at the 95th percentile"
    conditions: list[tuple[str, Limits, Callable[[Question, Field], bool], str]] = [
        ("Recurrent for single-digit milliseconds", Limits(max_p95_ms=SINGLE_DIGIT_MS), _is_timed, "no recurrent model was timed on a CPU"),
        ("Recurrent without a GPU", Limits(), _is_timed, "no recurrent model was timed on a CPU"),
        ("Recurrent for very long documents", Limits(), _is_long, "no recurrent model competes" if long else too_short),
    ]
    for rule, limits, speaks, missing in conditions:
        said = [(q.title, _picked(field, q.under(limits), RECURRENT)) for q, field in fields if speaks(q, field)]
        found += _or_missing(rule, said, missing=missing)
    found += _or_missing(
        "Distilled before full size",
        [(question.title, _distilled(field)) for question, field in fields],
        missing="no student stands beside its teacher",
    )
    found += _or_missing(
        "Zero-shot first",
        [(question.title, _zero_shot(question)) for question, _ in fields],
        missing="no model competes that reads no label",
    )
    return found


def _or_missing(rule: str, said: Sequence[tuple[str, Said]], *, missing: str) -> list[Thumb]:
    found = [Thumb(rule=rule, dataset=title, here=one[0], says=one[1]) for title, one in said if one is not None]
    return found or [Thumb(rule=rule, dataset="", here="not measured here", says=missing)]


def _few_labels(section: Section, store: Store) -> Said:
    """The best pretrained model against the best other, at each budget below the advised bound."""
    below = [table for table in section.tables if 0 < table.n_labels < MOST_LABELS]
    gaps = [(table, gap) for table in below if (gap := _gap(table, section.metric, store)) is not None]
    if not gaps:
        return None
    here: Here = "undecided"
    if all(_shown(gap, -1) for _, (_, gap) in gaps):
        here = "agrees"
    elif any(_shown(gap, 1) for _, (_, gap) in gaps):
        here = "disagrees"
    each = [f"{words.budget(table)}: {_behind(gap)} against {other.candidate.label}" for table, (other, gap) in gaps]
    return here, "; ".join(each)


def _gap(table: Table, metric: Metric, store: Store) -> tuple[Standing, Estimate] | None:
    """The best other standing, and the metric of it minus that of the best pretrained; None where they do not pair."""
    own = [s for s in table.scored if not s.candidate.run.needs]
    pretrained = next((s for s in own if s.candidate.kind in PRETRAINED), None)
    other = next((s for s in own if s.candidate.kind in LEARNT_HERE), None)
    if pretrained is None or other is None:
        return None
    if table.best is pretrained and other.to_best is not None:
        return other, other.to_best
    if table.best is other and pretrained.to_best is not None:
        return other, _negated(pretrained.to_best)
    apart = difference(read_answers(store, other.records), read_answers(store, pretrained.records), metric)
    return None if apart is None else (other, apart)


def _shown(gap: Estimate, sign: int) -> bool:
    """Whether more than one seed shows a gap of this sign."""
    return gap.seeds > 1 and gap.excludes_zero and gap.mean * sign > 0


def _negated(gap: Estimate) -> Estimate:
    return replace(gap, mean=-gap.mean, low=-gap.high, high=-gap.low)


def _picked(field: Field, limits: Limits, kinds: Sequence[str]) -> Said:
    """Whether the rule picks a model of these kinds, and how the best of them stands.

    Where one seed of the best keeps the rule from picking, the others are asked: they can show disagreement alone.
    """
    if not any(each.candidate.kind in kinds for each in field.contenders):
        return None
    choice, among = choose(field, limits), ""
    if choice.reference is not None and choice.recommended is None:
        kept = tuple(each for each in field.contenders if each.seeds > 1 or not each.reads_labels)
        choice, among = choose(replace(field, contenders=kept), limits), "among those with more than one seed, "
    picked = choice.recommended
    if picked is None:
        return "undecided", f"{choice.reason}."
    said = f"{among}the rule picks {picked.contender.label} ({words.percent(picked.estimate.mean)}%)"
    if picked.contender.candidate.kind in kinds:
        return ("undecided" if among else "agrees"), said
    own = [each for each in choice.judged if each.contender.candidate.kind in kinds]
    if not own:
        return "undecided", said
    said += f"; {own[0].contender.label} ({words.percent(own[0].estimate.mean)}%): {why(own[0])}"
    open_ones = [each for each in own if each.verdict == "undecided" or each.feasibility.status == "not_measured"]
    return ("undecided" if open_ones else "disagrees"), said


def _distilled(field: Field) -> Said:
    """Students within a point of their teachers, one sentence a student."""
    results = []
    for student in field.contenders:
        teacher = _teacher(student, field)
        loss = None if teacher is None else pairs.loss(teacher, student, field.metric)
        if teacher is not None and loss is not None:
            results.append((_within(loss), f"{student.label} against {teacher.label}: {_behind(loss)}"))
    if not results:
        return None
    kinds = {here for here, _ in results}
    return (kinds.pop() if len(kinds) == 1 else "undecided"), "; ".join(said for _, said in results)


def _teacher(student: Contender, field: Field) -> Contender | None:
    taught = student.candidate.run.teacher
    if taught is None or student.engine not in (None, "eager"):
        return None
    model = hash_identity(identity(taught.model))
    alike = (each for each in field.contenders if each.engine in (None, "eager"))
    return next((each for each in alike if hash_identity(identity(each.candidate.run.model)) == model), None)


def _zero_shot(question: Question) -> Said:
    """The best model that reads no label, within a point of the best at 1,000 labels, or at the most that was recorded below or above."""
    field = _field(question, Limits(labels=ZERO_SHOT_AT)) or _field(question, Limits())
    if field is None:
        return None
    judged = choose(field, question.under(Limits())).judged
    free = next((each for each in judged if each.contender.candidate.kind in OFF_THE_SHELF), None)
    best = next((each for each in judged if each.contender.candidate.kind not in OFF_THE_SHELF), None)
    if free is None or best is None:
        return None
    loss = pairs.loss(best.contender, free.contender, field.metric)
    if loss is None:
        return None
    return _within(loss), f"{free.contender.label} against {best.contender.label} with {field.n_labels:,} labels: {_behind(loss)}"


def _within(loss: Estimate) -> Here:
    """Within a point by the one-sided 95% bound; disagreeing where the other bound lies above it."""
    if loss.seeds < 2:
        return "undecided"
    if bounds.bound(loss, level=bounds.ALPHA, side="below") <= WITHIN:
        return "agrees"
    return "disagrees" if bounds.bound(loss, level=bounds.ALPHA, side="above") > WITHIN else "undecided"


def _behind(loss: Estimate) -> str:
    return f"{words.points(-loss.mean)} points ({words.span_points(-loss.high, -loss.low)})"


def _field(question: Question, limits: Limits) -> Field | None:
    try:
        return question.fields(question.under(limits))
    except DataError:
        return None


def _is_timed(question: Question, field: Field) -> bool:
    return any(each.candidate.kind in RECURRENT and each.timed is not None for each in field.contenders)


def _is_long(question: Question, field: Field) -> bool:
    return max(record.data.length_tokens.get("p95", 0.0) for record in question.selected.records) >= LONG_TOKENS
