"""*It* attends to *animal* when tired, and to *street* when wide.

Varied: the last adjective of a sentence, which decides what *it* means; and, as the neutral swap, that adjective for another
that leaves the meaning of *it* alone. Measured: how far the attention of *it* moves to the noun that is meant, in the head of
the starter checkpoint that is chosen on one half of the sentences, on the other half, beyond what neutral swaps move it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn

from bakeoff.claims import attention_heads, phrases, rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured
from bakeoff.claims.pictures import Heatmap
from bakeoff.claims.pronoun_pairs import ARTICLE, PAIRS, PronounPair
from bakeoff.data import checkpoint
from bakeoff.data.tokens import CheckpointTokeniser, Ids
from bakeoff.errors import DataError
from bakeoff.report.stats import Floats

CHECKPOINT = "minilm-l6"
PRONOUN = "it"


@dataclass(frozen=True, kw_only=True)
class Moved:
    """How far the attention of *it* moved in one pair of sentences, by head: each of shape (layers, heads)."""

    meaning: Floats
    """Towards the noun that is meant, when the adjective changes what *it* means; below 0 it moved the wrong way."""
    neutral: Floats
    """Either way, when the adjective changes and the meaning does not."""

    @property
    def beyond(self) -> Floats:
        """What the change of meaning moves more."""
        return self.meaning - self.neutral


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A checkpoint whose attention can be read."""

    encoder: nn.Module
    tokeniser: CheckpointTokeniser

    def ids(self, sentence: str) -> Ids:
        """With special tokens."""
        (own,) = self.tokeniser.encode_now([sentence])
        return np.concatenate([self.tokeniser.prefix, own, self.tokeniser.suffix]).astype(np.int32)

    def lean(self, pair: PronounPair, adjective: str) -> Floats:
        """Attention of *it* to the first noun minus that to the second, (layers, heads)."""
        ids = self.ids(pair.sentence(adjective))
        weights, it = attention_heads.attention(self.encoder, ids), self._place(ids, PRONOUN)
        first, second = self._place(ids, pair.first), self._place(ids, pair.second)
        return np.asarray(weights[:, :, it, first] - weights[:, :, it, second])

    def _place(self, ids: Ids, word: str) -> int:
        """Where a word of one piece stands. Raises NotMeasured for one that the tokeniser breaks, or that stands elsewhere too."""
        (own,) = self.tokeniser.encode_now([word])
        found = np.flatnonzero(ids == own[0])
        if len(own) != 1 or len(found) != 1:
            raise NotMeasured(f"this checkpoint's tokeniser does not read {word} as one piece that stands once: use another checkpoint")
        return int(found[0])


def measure(bench: Bench) -> Answer:
    """Read the attention of every sentence, choose a head on every second pair, and test it on the others."""
    bench.say(f"agreement: {len(PAIRS)} pairs of sentences")
    try:
        folder = checkpoint.resolve(CHECKPOINT, None)
    except DataError as reason:
        raise NotMeasured(str(reason)) from None
    watched = Watched(encoder=attention_heads.with_weights(folder), tokeniser=CheckpointTokeniser(folder))
    moved = [moved_in(pair, watched) for pair in PAIRS]
    layer, head = chosen_head(moved[::2])
    tested = list(zip(PAIRS[1::2], moved[1::2], strict=True))
    beyond = rules.over_draws([100 * float(one.beyond[layer, head]) for _, one in tested])
    right = sum(one.meaning[layer, head] > 0 for _, one in tested)
    verdict = rules.above(0.0, beyond.interval)
    return Answer(
        verdict=verdict,
        figure=beyond.figure,
        unit="points of attention",
        interval=beyond.interval,
        seen=(
            f"In head {head} of layer {layer}, chosen on the other half, the attention of it moves to the right noun in {right} of "
            f"{len(tested)} pairs, by {_mean(tested, 'meaning', layer, head):.1f} points; neutral swaps move it by "
            f"{_mean(tested, 'neutral', layer, head):.1f}, which leaves {phrases.signed(beyond.figure)} "
            f"({phrases.span(beyond.interval)})."
        ),
        dataset=None,
        rows=tuple(_row(pair, one, layer, head) for pair, one in tested),
        detectable=beyond.detectable,
        pictures=tuple(_heatmap(watched, adjectives[0], layer, head) for adjectives in (ARTICLE.for_first, ARTICLE.for_second)),
        notes=(
            f"{CHECKPOINT} as published, which is a distilled, sentence-tuned encoder; layers and heads are counted from 0.",
            f"Of {len(PAIRS)} pairs half chose the head.",
            "Attention from it to the first noun minus that to the second, in points of 100; a neutral swap counts whichever way it moves.",
            "The article's own pair is an illustration: it chose no head and was not tested.",
        ),
    )


def moved_in(pair: PronounPair, watched: Watched) -> Moved:
    """From four sentences: two adjectives a noun."""
    first, second = ([watched.lean(pair, adjective) for adjective in adjectives] for adjectives in (pair.for_first, pair.for_second))
    return Moved(
        meaning=np.asarray((first[0] + first[1] - second[0] - second[1]) / 2),
        neutral=np.asarray((np.abs(first[0] - first[1]) + np.abs(second[0] - second[1])) / 2),
    )


def chosen_head(moved: Sequence[Moved]) -> tuple[int, int]:
    """Layer and number of the head that a change of meaning moves most beyond neutral swaps, on average over these pairs."""
    mean = np.mean([one.beyond for one in moved], axis=0)
    layer, head = np.unravel_index(int(mean.argmax()), mean.shape)
    return int(layer), int(head)


def _mean(tested: Sequence[tuple[PronounPair, Moved]], what: str, layer: int, head: int) -> float:
    return 100 * float(np.mean([getattr(one, what)[layer, head] for _, one in tested]))


def _row(pair: PronounPair, one: Moved, layer: int, head: int) -> dict[str, Cell]:
    return {
        "sentence": f"{pair.sentence(pair.for_first[0])[:-1]} / {pair.for_second[0]}.",
        "moved to the noun that is meant, points": round(100 * float(one.meaning[layer, head]), 1),
        "moved by neutral swaps, points": round(100 * float(one.neutral[layer, head]), 1),
    }


def _heatmap(watched: Watched, adjective: str, layer: int, head: int) -> Heatmap:
    sentence = ARTICLE.sentence(adjective)
    ids = watched.ids(sentence)
    piece_of = {number: piece for piece, number in watched.tokeniser.pieces.items()}
    names = tuple(piece_of[int(number)] for number in ids)
    weights = attention_heads.attention(watched.encoder, ids)[layer, head]
    return Heatmap(
        title=f"{sentence} (head {head} of layer {layer}; each row attends to the columns)",
        rows=names,
        columns=names,
        values=tuple(tuple(float(weight) for weight in row) for row in weights),
    )


CLAIM = Claim(
    name="agreement",
    statement="“it” attends to “animal” when tired, and to “street” when wide.",
    kind="learning",
    rule=(
        "Holds when, in the one head chosen on half of the sentence pairs, a change of meaning moves the attention of it to the noun that "
        "is meant by more than neutral swaps move it, on the other half (lower bound of the mean difference above 0)."
    ),
    seconds={"small": 15, "full": 15},
    measure=measure,
)
