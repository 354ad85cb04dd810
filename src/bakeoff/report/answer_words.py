"""The sentences of an answer: what to ship, who is next, what would change it, and how sure it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bakeoff.report import answer_limits, words
from bakeoff.report.answer import Answered, Unanswered
from bakeoff.report.answer_numbers import (
    folds_decide_nothing,
    loss_points,
    megabytes,
    money,
    more_needed,
    open_because,
    score,
    seeds,
    speed,
    times,
)
from bakeoff.report.choice import Choice, Judged
from bakeoff.report.what_if import WhatIf
from bakeoff.report.words import METRIC_NAMES, Answer, percent, three_digits

MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Said:
    """An answer in words: the paragraph, the points under it, and the lines that would measure what is not measured."""

    lead: str
    rest: str
    points: tuple[Answer, ...] = ()
    commands: tuple[str, ...] = ()


def say(answered: Answered | Unanswered) -> Said:
    """What an answer says."""
    if isinstance(answered, Unanswered):
        return Said(lead=f"{answered.title}: no answer,", rest=f"for {answered.reason}.")
    choice = answered.choice
    points = [
        *(_runner_up(choice) if choice.recommended is not None else []),
        *_undecided(choice),
        *_cost(answered),
        *_changes(answered),
        *_sure(answered),
        *_unmeasured(answered),
    ]
    commands = tuple(dict.fromkeys(filter(None, (each.feasibility.command for each in choice.with_status("not_measured")))))
    return Said(lead=_lead(answered), rest=_rest(answered), points=tuple(points), commands=commands)


def where(answered: Answered) -> str:
    """`movie, 1,000 labels, accuracy at least 80%`."""
    field = answered.field
    machine = [f"timed on {field.machine}"] if answered.several_machines and field.machine is not None else []
    return ", ".join([field.title, answer_limits.budget(field), *answer_limits.stated(answered.choice.limits, field), *machine])


def _lead(answered: Answered) -> str:
    choice = answered.choice
    if choice.reference is None:
        verdict = "no candidate meets the limits" if choice.nearest_misses else "not measured"
    elif choice.recommended is None:
        verdict = "no recommendation"
    elif not choice.has_enough_seeds:
        verdict = f"too few seeds to recommend a model; so far the rule picks {choice.recommended.contender.label}"
    else:
        verdict = f"ship {choice.recommended.contender.label}"
    return f"{where(answered)}: {verdict}."


def _rest(answered: Answered) -> str:
    choice, sentences = answered.choice, []
    if choice.reference is None:
        if choice.nearest_misses:
            nearest = "; ".join(f"{each.contender.label} ({score(each)}): {_misses(each)}" for each in choice.nearest_misses)
            sentences.append(f"Nearest: {nearest}.")
        else:
            sentences.append("Nobody has the measurements that the limits ask for, which makes them neither good nor bad.")
        return " ".join(sentences)
    best, reference = choice.recommended or choice.reference, choice.reference
    if choice.recommended is None:
        sentences.append(f"{choice.reason}.")
    about = [f"95% interval {words.span(best.estimate)}"]
    about += [seeds(best.contender)] if best.contender.reads_labels else []
    about.append(words.count(best.estimate.rows, "test row"))
    facts = [f"scores {score(best)} {METRIC_NAMES[choice.metric]} ({', '.join(about)})"]
    facts += [f"answers in {said}"] if (said := speed(best)) is not None else []
    facts += [f"takes {megabytes(best.contender.bytes)} MB"] if best.contender.bytes else []
    sentences.append(f"It {words.listing(facts)}.")
    if choice.recommended is None:
        return " ".join([*sentences, *_counts(best)])
    if best is not reference and best.loss is not None:
        sentences.append(
            f"{reference.contender.label} has the highest mean, {score(reference)}, but this is as good: it loses at most "
            f"{loss_points(best.loss.high)} points (95%), within the margin of {choice.limits.margin_points:g}, at {times(best.saving)}."
        )
    elif any(each.saving is not None and each.saving.is_cheaper for each in choice.judged):
        sentences.append("It has the highest mean, and nothing cheaper is shown to be as good.")
    elif len(choice.with_status("feasible")) > 1:
        others = [each for each in choice.with_status("feasible") if each is not best]
        known = all(each.saving is not None and each.saving.scale is not None for each in others)
        sentences.append(f"It has the highest mean, and nothing here is {'cheaper' if known else 'known to be cheaper'}.")
    return " ".join([*sentences, *_counts(best)])


def _counts(judged: Judged) -> list[str]:
    counts, label = judged.contender.counts, judged.contender.label
    found = []
    if counts.collapsed:
        found.append(f"{counts.collapsed} of {words.count(counts.scored, 'Run')} of {label} collapsed to one answer for every text.")
    if counts.lost:
        found.append(f"{words.count(counts.lost, 'Run')} of {label} ended without a score.")
    return found


def _runner_up(choice: Choice) -> list[Answer]:
    second = choice.runner_up
    if second is None:
        if choice.waiting is not None:
            first = choice.waiting
            return [Answer(lead="Runner-up:", rest=f"none yet: {first.contender.label}, {score(first)}, has {first.contender.alone}.")]
        only = len(choice.judged) == 1
        return [
            Answer(
                lead="Runner-up:",
                rest="none, for nothing else was baked." if only else "none, for nothing else is known to meet the limits.",
            )
        ]
    said = [f"{second.contender.label}, {score(second)}"]
    if second.loss is not None:
        low, high, mean = (loss_points(value) for value in (second.loss.estimate.low, second.loss.estimate.high, second.loss.estimate.mean))
        said.append(f"{mean} points below the best mean (95% interval {low} to {high})")
    elif second is choice.reference:
        said.append("the best by its mean")
    said += [cost] if (cost := speed(second)) is not None else []
    return [Answer(lead="Runner-up:", rest=" ".join([f"{', '.join(said)}.", *_counts(second)]))]


def _undecided(choice: Choice) -> list[Answer]:
    """Cheaper ones that may be as good, with what would decide it and what that would save; and those that nothing compares yet."""
    open_ones = [each for each in choice.with_verdict("undecided") if each.saving is not None and each.saving.is_cheaper]
    cheaper = [each for each in open_ones if choice.recommended is None or _costs_less(each, choice.recommended)]
    near = [each for each in cheaper if each.loss is not None or (each.gap is not None and each.gap.low <= choice.limits.margin)]
    far = [each for each in cheaper if each not in near]
    return [*_named("Cheaper, and perhaps as good:", near, _to_decide), *_named("Cheaper, not comparable yet:", far, _apart)]


def _named(lead: str, found: Sequence[Judged], say: Callable[[Judged], str]) -> list[Answer]:
    """The first few of these, those of whom the same is said together."""
    if not found:
        return []
    reasons: dict[str, list[str]] = {}
    for each in found[:MOST_NAMED]:
        reasons.setdefault(say(each), []).append(each.contender.label)
    said = [f"{words.listing(labels)}: {reason}" for reason, labels in reasons.items()]
    if len(found) > MOST_NAMED:
        said.append(f"{words.count(len(found) - MOST_NAMED, 'other')} in the table")
    return [Answer(lead=lead, rest=f"{'; '.join(said)}.")]


def _apart(judged: Judged) -> str:
    """`9.1 points behind, with one seed in common with the best`."""
    gap = "" if judged.gap is None else f"{loss_points(judged.gap.mean)} points behind, "
    return f"{gap}with {open_because(judged)}"


def _cost(answered: Answered) -> list[Answer]:
    """Of the recommended and the runner-up, where prices are given."""
    said = []
    for judged in (answered.choice.recommended, answered.choice.runner_up):
        total = answered.totals.get(judged.contender.key) if judged is not None else None
        if judged is not None and total is not None:
            parts = [f"{money(total.labels)} for {answer_limits.budget(answered.field)}"]
            teacher = ", its teacher left out" if total.lacks_teacher else ""
            parts += [f"{money(total.training)} to train{teacher}"] if total.training is not None else []
            parts += [f"{money(total.million_predictions)} a million predictions"] if total.million_predictions is not None else []
            whole = "is not known in all" if total.total is None else f"{money(total.total)} {answered.currency} in all"
            said.append(f"{judged.contender.label} {whole} ({', '.join(parts)}).")
    return [Answer(lead="Cost:", rest=" ".join(said))] if said else []


def _costs_less(judged: Judged, recommended: Judged) -> bool:
    own, other = judged.saving, recommended.saving
    return own is not None and own.share is not None and (other is None or other.share is None or own.share < other.share)


def _to_decide(judged: Judged) -> str:
    if judged.why_undecided is not None:
        return f"undecided, with {open_because(judged)}"
    more, said = more_needed(judged.needed), folds_decide_nothing(judged)
    means = said or (
        "no number of test rows or of draws alone would decide it" if more is None else f"{more} would decide it, if the gap stays"
    )
    saves = [f"{three_digits(judged.saving.ms)} ms"] if judged.saving is not None and (judged.saving.ms or 0) > 0 else []
    saves += [f"{three_digits(judged.saving.megabytes)} MB"] if judged.saving is not None and (judged.saving.megabytes or 0) > 0 else []
    return means + (f"; if it is, it saves {words.listing(saves)}" if saves else "")


def _changes(answered: Answered) -> list[Answer]:
    found = [sentence for one in answered.what_ifs if (sentence := _what_if(one, answered)) is not None]
    conditions = {one.condition for one in answered.what_ifs}
    limits = answered.choice.limits
    if "labels" not in conditions and answered.field.labels != "all":
        found.append("More labels are not recorded.")
    if limits.device == "cpu" and not answered.gpu_machines:
        found.append("No GPU was timed.")
    elif limits.device == "cpu" and len(answered.gpu_machines) > 1:
        found.append(f"A GPU was timed on {len(answered.gpu_machines)} machines, which do not compare: ask for each with --device cuda.")
    if limits.max_p95_ms is not None and answered.choice.recommended is not None and "tokens" not in conditions:
        found.append("With longer documents it was not timed.")
    return [Answer(lead="What would change it:", rest=" ".join(found))] if found else []


def _what_if(one: WhatIf, answered: Answered) -> str | None:
    is_or_stays = "it is" if one.changes else "it stays"
    few = f", on {words.count(one.too_few_seeds, 'seed')} only" if one.too_few_seeds and answered.choice.has_enough_seeds else ""
    who = (
        f"nothing is recommended ({one.reason})"
        if one.chosen is None
        else f"{is_or_stays} {one.chosen.contender.label} ({score(one.chosen)}{few})"
    )
    if one.condition == "labels":
        return f"With {'all ' if one.limits.labels == 'all' else ''}{words.count(int(one.value or 0), 'label')} {who}."
    if one.condition == "more_seeds":
        return f"Among those with more than one seed {who}."
    if one.condition == "gpu":
        return f"On a GPU {who}."
    if one.condition == "tokens":
        upto = "With" if one.changes else "Up to"
        return f"{upto} documents of {int(one.value or 0):,} tokens {who}."
    assert one.chosen is not None
    assert one.limit is not None
    assert one.value is not None
    if one.condition == "looser":
        needed = answer_limits.loosened(one.limit, one.value, answered.choice.limits)
        return f"{needed[0].upper()}{needed[1:]} would make it {one.chosen.contender.label} ({score(one.chosen)}{few})."
    return f"Where less than {three_digits(one.value)} ms is allowed at the 95th percentile {who}."


def _sure(answered: Answered) -> list[Answer]:
    sure, reference = answered.choice.sureness, answered.choice.reference
    if sure is None or reference is None:
        return []
    said = []
    if not answered.choice.has_enough_seeds:
        rests = words.count(answered.choice.seeds or 0, "draw" if reference.contender.repeats_draws else "seed")
        said.append(f"It rests on {rests}, and a recommendation takes {sure.advised_seeds}.")
    if len(sure.wins) > 1:
        share = sure.wins.get(reference.contender.key, 0.0)
        said.append(
            f"{reference.contender.label} had the best score on {100 * share:.0f}% of resampled test sets; corrected for having been "
            f"picked as the best, the score is {percent(sure.corrected)}%."
        )
    if sure.detectable is not None:
        said.append(f"A true difference of {loss_points(sure.detectable)} points to the best would show in 4 of 5 such studies.")
    return [Answer(lead="How sure:", rest=" ".join(said))] if said else []


def _unmeasured(answered: Answered) -> list[Answer]:
    missing = answered.choice.with_status("not_measured")
    found = []
    if missing:
        reasons: dict[str, list[str]] = {}
        for each in missing:
            reasons.setdefault(each.feasibility.lacking or "", []).append(each.contender.label)
        said = "; ".join(f"{words.listing(labels)} ({why})" for why, labels in reasons.items())
        found.append(Answer(lead="Not measured:", rest=f"{said}."))
    if answered.field.unscored:
        names = words.listing(list(answered.field.unscored))
        at = answer_limits.budget(answered.field)
        found.append(Answer(lead="Not scored:", rest=f"{names}, which changes answers and was not scored at {at}."))
    return found


def _misses(judged: Judged) -> str:
    return words.listing([answer_limits.missed(miss) for miss in judged.feasibility.misses])
