"""What a decision needs to know of the data before anything is baked, and what it tells of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.commands.data import in_options, lengths_tokens
from bakeoff.commands.decide_field import Field
from bakeoff.data import audit as audits
from bakeoff.data import dataset as datasets
from bakeoff.data import text_signs
from bakeoff.data.dataset import prepare
from bakeoff.deciding.offers import Candidate, Offer
from bakeoff.errors import BakeoffError, DataError
from bakeoff.spec import LongDoc, Run


@dataclass(frozen=True, kw_only=True)
class Audited:
    """The data in the numbers that a plan rests on."""

    text: str
    pool_rows: int
    test_rows: int
    truncated_share: float
    """Of all documents, by the reading of the encoder; 0 where there is no encoder."""
    lengths_tokens: np.ndarray
    """Of all documents, whole; shape (rows,)."""


MOST_CLASSES = 12
"""Classes that are listed; more are counted."""


def audit(run: Run, reader: Run | None) -> Audited:
    """The audit of a Run's dataset, lengths in the tokens of `reader` where its checkpoint is here. Raises DataError."""
    try:
        prepared = prepare(run.dataset)
    except BakeoffError as error:
        raise type(error)(in_options(str(error))) from None
    asked = run if reader is None else reader
    lengths = lengths_tokens(asked, (*prepared.pool.documents, *prepared.test.documents))
    read = text_signs.tokenised(asked.model, prepared.test)
    found = audits.overview(prepared, lengths=lengths, max_tokens=asked.longdoc.max_tokens, tokenised=read)
    text = audits.render(found).rstrip()
    if len(prepared.classes) > MOST_CLASSES:
        head, _, tail = text.partition("\n\n")
        text = f"{head}\n{len(prepared.classes)} classes\n{tail.partition(chr(10) * 2)[2]}"
    return Audited(
        text=text,
        pool_rows=len(prepared.pool),
        test_rows=len(prepared.test),
        truncated_share=float(found.truncated_fraction or 0.0),
        lengths_tokens=lengths,
    )


def verify(run: Run) -> None:
    """Raise DataError where the file is another than the one that this decision began with."""
    try:
        datasets.verify(run.dataset)
    except DataError:
        raise DataError(
            f"{run.dataset.name} changed while bakeoff decide was at work: run the same command again, which begins anew with the rows as "
            "they are"
        ) from None


def longer(field: Field, readings: Sequence[Offer], lengths_tokens: np.ndarray) -> dict[Candidate, float]:
    """How many times as many tokens as their models' own each of these readings takes, of documents of these whole lengths."""
    return {
        offer.candidate: times_as_long(lengths_tokens, other.longdoc, own.longdoc)
        for offer in readings
        if (other := field.run(offer)) is not None and (own := field.run(Offer(model=offer.model))) is not None
    }


def times_as_long(lengths_tokens: np.ndarray, reading: LongDoc, own: LongDoc) -> float:
    """Tokens that a reading takes over those of another one, of documents of these whole lengths, shape (rows,)."""
    return _read_tokens(lengths_tokens, reading) / max(1.0, _read_tokens(lengths_tokens, own))


def _read_tokens(lengths_tokens: np.ndarray, reading: LongDoc) -> float:
    read = lengths_tokens if reading.max_tokens is None else np.minimum(lengths_tokens, reading.max_tokens)
    if (window := reading.window_tokens) is not None:  # what two windows share is read twice
        read = np.where(read > window, read * window / (window - (reading.overlap_tokens or 0)), read)
    return float(read.sum())
