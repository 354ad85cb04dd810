"""The first section of a page: what to ship, why, and the rules of thumb beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.record import Record
from bakeoff.report.answer import Answered, Question, answer_or_why, question_of, questions
from bakeoff.report.answer_table import answer_grid
from bakeoff.report.answer_words import Said, say, where
from bakeoff.report.blocks import Block, grid
from bakeoff.report.candidates import Candidate
from bakeoff.report.choice import Limits
from bakeoff.report.costs import Prices
from bakeoff.report.rules_of_thumb import thumbs
from bakeoff.report.summary import Section
from bakeoff.spec import Run
from bakeoff.store import Store

RULE = (
    "Recommended is the cheapest candidate that is shown to be as good as the one with the best mean: the one-sided 95% upper bound of "
    "what it loses, paired over test rows and draws and corrected by Holm over the cheaper candidates, lies within the margin of "
    "{margin:g} {points}. What is neither shown as good nor shown worse is undecided, and is never taken for equal. Cheaper is a lower "
    "median latency, else less arithmetic, else a smaller size."
)


@dataclass(frozen=True, kw_only=True)
class FirstSection:
    """What stands before the evidence: an answer a dataset and machine, and two tables under it."""

    said: tuple[Said, ...]
    blocks: tuple[Block, ...]
    """The verdict on every candidate, and the rules of thumb."""


def first_section(
    sections: Sequence[Section],
    runs: Sequence[Run],
    records: Sequence[Record],
    store: Store,
    *,
    known: Mapping[str, Candidate],
    commands: Mapping[str, str],
    limits: Limits,
    prices: Prices | None,
) -> FirstSection:
    """Answers for every dataset with a score; `known` and `commands` as in `questions`."""
    failures: list[Mapping[str, Any]] = [failure for run in runs if (failure := store.failure(run.run_id)) is not None]
    titles = {question_of(section.dataset): section.title for section in sections if section.dataset.fold is None}
    asked = questions(records, store, limits, failures=failures, planned=runs, commands=commands, titles=titles, known=known)
    answered = [answer_or_why(question, limits, prices=prices) for question in asked]
    chosen = [one for one in answered if isinstance(one, Answered)]
    blocks = [_verdicts(chosen, limits), _thumbs(sections, asked, store)] if chosen else []
    return FirstSection(said=tuple(map(say, answered)), blocks=tuple(blocks))


def _verdicts(answered: Sequence[Answered], limits: Limits) -> Block:
    points = "point" if limits.margin_points == 1 else "points"
    grids = [answer_grid(one) for one in answered]
    notes = [f"{where(one)}: compared by {one.choice.metric.replace('_', '-')}, {one.field.metric_reason}." for one in answered]
    return Block(
        heading="Who competes, and what the rule says",
        level=2,
        paragraphs=(RULE.format(margin=limits.margin_points, points=points),),
        grids=tuple(grids),
        notes=tuple(notes) if len(notes) > 1 else (),
    )


def _thumbs(sections: Sequence[Section], asked: Sequence[Question], store: Store) -> Block:
    found = thumbs(sections, asked, store)
    several = len({one.dataset for one in found if one.dataset}) > 1
    columns: list[tuple[str, Sequence[str]]] = [
        ("often advised", [one.rule for one in found]),
        *([("dataset", [one.dataset for one in found])] if several else []),
        ("here", [one.here for one in found]),
        ("what these records say", [one.says for one in found]),
    ]
    table = grid("Rules of thumb", columns, texts=("often advised", "dataset", "here", "what these records say"))
    return Block(heading="Rules of thumb, beside what was measured", level=2, grids=(table,))
