"""Paired differences between two ways to read: head against tail, past the window, and beside a BiLSTM."""

from dataclasses import dataclass, replace

import numpy as np

from bakeoff.report import stats
from bakeoff.report.longdoc_readers import PAST_WINDOW, Reader, Slice, Study
from bakeoff.report.pairs import corrected, together
from bakeoff.report.stats import Estimate
from bakeoff.spec import BiLstm, Frozen, Pretrained

ENCODERS = ("pretrained", "frozen")
"""Kinds of model with a window."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """`first` minus `second` on the same documents and seeds."""

    first: Reader
    second: Reader
    part: Slice | None
    """Which documents, by the tokens of `first` for both; null is all."""
    difference: Estimate
    picked_from: int = 1
    """How many readings the first was the best of, on these very documents."""

    @property
    def winner_first(self) -> "Pair":
        """The same with the sides so that the difference is not negative."""
        d = self.difference
        if d.mean >= 0:
            return self
        return replace(self, first=self.second, second=self.first, difference=replace(d, mean=-d.mean, low=-d.high, high=-d.low))


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """What a study asks of its readers, a list of differences each."""

    head_against_tail: tuple[Pair, ...]
    past_the_head: tuple[Pair, ...]
    beside_bilstm: tuple[Pair, ...]
    at_equal_tokens: tuple[Pair, ...]

    @property
    def every(self) -> tuple[Pair, ...]:
        """All of them, question by question."""
        return (*self.head_against_tail, *self.past_the_head, *self.beside_bilstm, *self.at_equal_tokens)


def pairs_of(study: Study) -> Pairs:
    """Every paired difference that a study has an answer to."""
    return Pairs(
        head_against_tail=tuple(head_against_tail(study)),
        past_the_head=tuple(past_the_head(study)),
        beside_bilstm=tuple(beside_bilstm(study)),
        at_equal_tokens=tuple(at_equal_tokens(study)),
    )


def pair(first: Reader, second: Reader, *, part: Slice | None = None, picked_from: int = 1) -> Pair | None:
    """The first minus the second on the folds that both have; None without a shared document or seed.

    Of a slice, the first reader's own tokens say which documents belong, for both.
    """
    sides = [side.answers if part is None else side.folds_on(part, first) for side in (first, second)]
    shared = [fold for fold in sides[0] if fold in sides[1]]
    if not shared:
        return None
    found = [stats.difference(sides[0][fold], sides[1][fold], first.metric) for fold in shared]
    differences = [each for each in found if each is not None]
    if len(differences) < len(shared):
        return None
    if len(shared) == 1:
        return Pair(first=first, second=second, part=part, difference=differences[0], picked_from=picked_from)
    seeds = tuple(seed for seed in first.seeds if seed in second.seeds)
    scores = [together([side[fold] for fold in shared]).only(seeds).scores(first.metric).mean() for side in sides]
    difference = corrected(
        np.array([each.mean for each in differences]),
        mean=float(scores[0] - scores[1]),
        share=max(first.pool_share, second.pool_share),
        rows=sum(each.rows for each in differences),
        seeds=len(seeds),
        least=-1.0,
    )
    return Pair(first=first, second=second, part=part, difference=difference, picked_from=picked_from)


def head_against_tail(study: Study) -> list[Pair]:
    """The tail minus the head at each size, for every model that was read both ways; smallest size first."""
    found = []
    for model in study.models:
        readers = [reader for reader in study.of_model(model) if reader.candidate.kind != "majority"]
        tails = [reader for reader in readers if reader.reading.strategy == "tail"]
        for tail in sorted(tails, key=lambda reader: reader.reading.max_tokens or 0):
            heads = [r for r in readers if r.reading.strategy == "head" and r.reading.max_tokens == tail.reading.max_tokens]
            found += [each for head in heads if (each := pair(tail, head)) is not None]
    return found


def past_the_head(study: Study) -> list[Pair]:
    """For every encoder, its best other reading on documents over 512 of its tokens minus its longest head, on these documents.

    The best is chosen among the readings that were run on the folds of the head.
    """
    found = []
    for model in study.models:
        readers = [reader for reader in study.of_model(model) if reader.candidate.kind in ENCODERS]
        heads = [reader for reader in readers if reader.reading.strategy == "head"]
        if not heads:
            continue
        head = max(heads, key=lambda reader: reader.reading.max_tokens or 0)
        others = [reader for reader in readers if reader.reading.strategy != "head" and reader.folds == head.folds]
        scored = [(scored.mean, reader) for reader in others if (scored := reader.on(PAST_WINDOW)) is not None]
        if scored:
            best = max(scored, key=lambda item: item[0])[1]
            each = pair(best, head, part=PAST_WINDOW, picked_from=len(scored))
            found += [] if each is None else [each]
    return found


def beside_bilstm(study: Study) -> list[Pair]:
    """The best reading of any encoder minus each BiLSTM on whole documents: on all documents, and on those over 512 of its tokens.

    It is the best of those that were run on the folds of the BiLSTM, since some folds are easier than others.
    """
    encoders = [reader for reader in study.readers if reader.candidate.kind in ENCODERS]
    whole = [reader for reader in study.readers if reader.candidate.kind == "bilstm" and reader.reading.strategy == "full"]
    beside = [(bilstm, [encoder for encoder in encoders if encoder.folds == bilstm.folds]) for bilstm in whole]
    asked = [(found, bilstm, part) for bilstm, found in beside if found for part in (None, PAST_WINDOW)]
    pairs = [pair(found[0], bilstm, part=part, picked_from=len(found)) for found, bilstm, part in asked]
    return [each for each in pairs if each is not None]


def at_equal_tokens(study: Study) -> list[Pair]:
    """Every encoder minus every BiLSTM over its own word pieces that was given the same cut of a document."""
    encoders = [reader for reader in study.readers if reader.candidate.kind in ENCODERS]
    recurrent = [reader for reader in study.readers if reader.candidate.kind == "bilstm" and reader.reading.max_tokens is not None]
    alike = [(one, two) for one in encoders for two in recurrent if one.reading == two.reading and _same_tokens(one, two)]
    return [each for each in (pair(encoder, bilstm) for encoder, bilstm in alike) if each is not None]


def _same_tokens(encoder: Reader, bilstm: Reader) -> bool:
    """Whether a cut of so many tokens is the same text to both."""
    one, two = encoder.candidate.run.model, bilstm.candidate.run.model
    assert isinstance(one, Pretrained | Frozen)
    assert isinstance(two, BiLstm)
    return two.vocabulary == "word_pieces" and one.checkpoint_fingerprint == two.checkpoint_fingerprint
