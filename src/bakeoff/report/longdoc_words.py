"""What the paired differences between ways to read say, in sentences."""

from collections.abc import Sequence

from bakeoff.report import stats, words
from bakeoff.report.longdoc_pairs import Pair, Pairs
from bakeoff.report.longdoc_readers import Study

FEWEST_GROUPS = 20
"""With fewer groups among the test rows, a page shows and does not judge."""
PUBLISHED_NEWSGROUPS = (
    "Published beside it, accuracy %: BERT 84.79, BERT with TextRank sentences 84.99, with random sentences 84.65, CogLTX 84.63, "
    "Longformer 83.39, ToBERT 85.52 (Park et al. 2022, 7,532 test posts by date; headers kept, except words with a colon, an @ or more "
    "than 60 letters; figures taken second-hand). Ours are the 7,528 posts of that split that are not empty, headers stripped, "
    "lower-cased, without punctuation: another variant, so near and not equal."
)


def findings(pairs: Pairs) -> list[str]:
    """What the paired differences say, a sentence each."""
    return [
        *map(_head_or_tail, pairs.head_against_tail),
        *map(_past, pairs.past_the_head),
        *map(_beside, pairs.beside_bilstm),
        *_equal(pairs.at_equal_tokens),
    ]


def illustrates(study: Study) -> str | None:
    """Why this study shows and does not judge; None where it may judge."""
    groups = study.n_groups
    if groups is None or groups >= FEWEST_GROUPS:
        return None
    column = "" if study.dataset.group is None else f" ({study.dataset.group})"
    return (
        f"Illustration, without verdict: the test rows stand in {words.count(groups, 'group')}{column}, and fewer than {FEWEST_GROUPS} "
        "say little of others."
    )


def published(study: Study) -> list[str]:
    """Numbers from elsewhere to stand beside these, with the variant of the data."""
    return [PUBLISHED_NEWSGROUPS] if study.dataset.asset == "newsgroups" and study.table.labels == "all" else []


def _head_or_tail(found: Pair) -> str:
    one = found.winner_first
    model, size = one.first.candidate.name, one.first.reading.max_tokens
    if one.difference.mean == 0:
        return f"{model} at {size} tokens: head and tail score alike {_evidence(one)}."
    won, lost = one.first.reading.strategy, one.second.reading.strategy
    by = words.percent(one.difference.mean)
    return f"{model} at {size} tokens: the {won} scores {by} points above the {lost} {_evidence(one)}{_doubt(one)}."


def _past(found: Pair) -> str:
    one = found.first
    return (
        f"{one.candidate.name} on documents over 512 of its tokens: {one.reading.label}, the best of {found.picked_from} other readings "
        f"there, minus {found.second.reading.label} is {words.points(found.difference.mean)} points {_evidence(found)}, where the "
        f"smallest detectable difference is {100 * stats.smallest_detectable(found.difference):.1f}{_doubt(found)}."
    )


def _beside(found: Pair) -> str:
    encoder, bilstm = found.first.candidate, found.second.candidate
    which = "on all documents" if found.part is None else f"on documents over 512 tokens of {encoder.name}"
    return (
        f"{encoder.label}, the best of {words.count(found.picked_from, 'reading')} by encoders, minus {bilstm.name} on the whole document "
        f"is {words.points(found.difference.mean)} points {which} {_evidence(found)}{_doubt(found)}."
    )


def _equal(pairs: Sequence[Pair]) -> list[str]:
    """A sentence for each two models, over the cuts that both read."""
    together: dict[tuple[str, str], list[Pair]] = {}
    for found in pairs:
        together.setdefault((found.first.candidate.name, found.second.candidate.name), []).append(found)
    said = {names: [f"{each.first.reading.label} {points_with_interval(each)}" for each in found] for names, found in together.items()}
    return [f"At equal tokens read, {encoder} minus {bilstm}: {words.listing(each)} points." for (encoder, bilstm), each in said.items()]


def _evidence(one: Pair) -> str:
    d = one.difference
    rows = words.count(d.rows, "document") + ("" if d.groups is None else f" in {words.count(d.groups, 'group')}")
    return f"(95% interval {words.span_points(d.low, d.high)}, {rows}, {words.count(d.seeds, 'seed')})"


def _doubt(one: Pair) -> str:
    return "" if one.difference.excludes_zero else ": these rows and seeds do not tell the two apart"


def points_with_interval(one: Pair) -> str:
    """The difference in points with its interval: `+3.0 (+1.2 to +4.8)`."""
    return f"{words.points(one.difference.mean)} ({words.span_points(one.difference.low, one.difference.high)})"
