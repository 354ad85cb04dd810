"""Generated documents in which two words, some way apart, decide the label by whether they agree; and who can see both.

One word alone says nothing about the label, so a reader that sees one of the two, or neither, is at chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bakeoff.data import cuts
from bakeoff.errors import DataError, NotApplicable
from bakeoff.spec import LongDoc, Needle

TELLING = ("red", "blue")
_WORDS = """
the of and to in that it was he for on with as his at by had her from not they this have are which all their there one
were when who would more no if out so what up some into than them only new time other could these two may then do first any
my now such like our over man me even most made after also did many before must through back years where much your way well
down should because each just those people how too little state good very make world still own see men work long get here
between both life being under never day same another know while last might us great old year off come since against go came
right used take three house city water road table morning letter garden river winter music paper window market kitchen
village train bridge summer doctor teacher school office
"""
FILLER = tuple(_WORDS.split())
"""Words that are one word to word vocabularies and one piece to BERT's; none of them tells."""
_COMBINATIONS = ((0, 0), (0, 1), (1, 1), (1, 0))
"""Equally often in pool and test, so that neither word alone says anything even about the rows that there are."""

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A document of words between single spaces, and its class: same or different."""

    text: str
    label: str


def generate(needle: Needle) -> dict[str, list[Row]]:
    """The rows of `pool` and `test`, all different; the same parameters give the same bytes everywhere.

    Raises DataError where so many different documents of this length hardly exist.
    """
    n_rows = {"pool": needle.train_rows, "test": needle.test_rows}
    places = needle.length_tokens - needle.distance_tokens
    possible = len(_COMBINATIONS) * places * len(FILLER) ** (needle.length_tokens - 2)
    if 2 * sum(n_rows.values()) > possible:
        raise DataError(
            f"dataset.needle.length_tokens={needle.length_tokens} makes {possible:,} different documents, too few for "
            f"{sum(n_rows.values()):,} rows: ask for longer documents"
        )
    seen: set[str] = set()
    streams = {role: np.random.default_rng([needle.seed, i]) for i, role in enumerate(n_rows)}
    return {role: list(_rows(needle, count, streams[role], seen)) for role, count in n_rows.items()}


def _rows(needle: Needle, count: int, random: np.random.Generator, seen: set[str]) -> Iterator[Row]:
    for number in range(count):
        first, second = _COMBINATIONS[number % len(_COMBINATIONS)]
        while True:
            words = [FILLER[i] for i in random.integers(len(FILLER), size=needle.length_tokens)]
            start = int(random.integers(needle.length_tokens - needle.distance_tokens))
            words[start], words[start + needle.distance_tokens] = TELLING[first], TELLING[second]
            text = " ".join(words)
            if text not in seen:
                break
        seen.add(text)
        yield Row(text=text, label="same" if first == second else "different")


def positions(texts: tuple[str, ...]) -> Positions:
    """Where the two telling words of each generated text stand, counted in words from 0; shape (texts, 2)."""
    found = [[place for place, word in enumerate(text.split(" ")) if word in TELLING] for text in texts]
    return np.asarray(found, dtype=np.int64).reshape(-1, 2)


def visible(places: Positions, longdoc: LongDoc, *, length_tokens: int, special_tokens: int) -> Mask:
    """Which documents show a reader the two words at `places`, shape (documents, 2), in one look; shape (documents,).

    A look is what a model reads at once: a window, where answers or embeddings of windows are only averaged or maximised, and
    all that is read, where something runs over the windows (attention, lstm, transformer) and for every other reading. An ideal
    reader of one look at a time is right about these documents and at chance about the others; what is averaged or maximised
    over windows can tell some more of two words in different ones.

    Documents have `length_tokens` words, and the model sets `special_tokens` around what it reads, a window too. A window
    begins window − special − overlap tokens after the one before it. Raises NotApplicable for `select`, which goes by words.
    """
    if longdoc.strategy == "select":
        raise NotApplicable("longdoc=select chooses sentences by their words, so that positions do not say what it reads of dataset=needle")
    room = None if longdoc.max_tokens is None else longdoc.max_tokens - special_tokens
    read = np.zeros(length_tokens, dtype=bool)
    for part in cuts.spans(length_tokens, room, longdoc):
        read[part] = True
    both = read[places[:, 0]] & read[places[:, 1]]
    if longdoc.pool is None or longdoc.pool in ("attention", "lstm", "transformer"):
        return both
    assert longdoc.window_tokens is not None, "LongDoc refuses windows without them"
    assert longdoc.overlap_tokens is not None, "LongDoc refuses windows without it"
    window = longdoc.window_tokens - special_tokens
    stride = window - longdoc.overlap_tokens
    last = -(-max(int(read.sum()) - window, 0) // stride)
    starts = np.minimum(places[:, 0] // stride, last) * stride  # of the last window that shows the first word
    together: Mask = both & (places[:, 1] < starts + window)
    return together


def visible_fraction(
    needle: Needle | None, texts: tuple[str, ...], longdoc: LongDoc, lengths_tokens: npt.NDArray[np.int64]
) -> float | None:
    """The share of generated `texts` that show both telling words in one look, by a model that counts `lengths_tokens` (texts,).

    None for other data, for a model that counts no tokens, and where words are no single tokens or the reading goes by words.
    """
    if needle is None or longdoc.strategy == "select" or len(lengths_tokens) != len(texts):
        return None
    special_tokens = int(lengths_tokens.min()) - needle.length_tokens
    if special_tokens < 0 or (lengths_tokens != lengths_tokens[0]).any():
        return None
    return float(visible(positions(texts), longdoc, length_tokens=needle.length_tokens, special_tokens=special_tokens).mean())
