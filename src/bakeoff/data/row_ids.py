"""What a row is called: a hash of its text(s) and a counter over rows of equal text, never its place in a file."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from bakeoff.data import sources
from bakeoff.data.sources import RawRows
from bakeoff.spec import Dataset


def of_parts(parts: Sequence[RawRows], *, given: Sequence[int | float]) -> list[str]:
    """The id of each row of the parts of a dataset, one part after the other.

    Rows of equal text are counted by `given`, what says on which side of a split a row was given, then by label and group.
    """
    texts = [text for rows in parts for text in rows.texts]
    pairs = [pair for rows in parts for pair in rows.pairs or ()]
    names = [label for rows in parts for label in rows.labels]
    groups = [group for rows in parts for group in rows.groups or ()] or [""] * len(texts)
    hashes = _hashes(texts, pairs or None)
    ids, seen = [""] * len(texts), Counter[str]()
    for _, i in sorted((key, i) for i, key in enumerate(zip(hashes, given, names, groups, strict=True))):
        ids[i] = f"{hashes[i]}-{seen[hashes[i]]}"
        seen[hashes[i]] += 1
    return ids


def given_by(parts: Sequence[tuple[bool, RawRows]]) -> list[int | float]:
    """What says on which side of a split each row was given: its time, its fold, or its part (test or not)."""
    times = [time for _, rows in parts for time in rows.times or ()]
    folds = [fold for _, rows in parts for fold in rows.folds or ()]
    return [*times] or [*folds] or [int(is_test) for is_test, rows in parts for _ in rows.texts]


def _hashes(texts: Sequence[str], pairs: Sequence[str] | None) -> list[str]:
    """16 hex digits of each text's SHA-256; of a pair, of its two digests, since joined texts could be cut in several places."""
    digests = _digests(texts)
    if pairs is not None:
        digests = _digests([first + second for first, second in zip(digests, _digests(pairs), strict=True)])
    return [digest[:16] for digest in digests]


def _digests(texts: Sequence[str]) -> list[str]:
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts]


def numbers(dataset: Dataset) -> dict[str, int]:
    """Row id → where that row stands in its file, as errors count; the file is read anew."""
    parts = [(role == "test", rows) for role, rows in sources.read(dataset).items()]
    ids = of_parts([rows for _, rows in parts], given=given_by(parts))
    return dict(zip(ids, (number for _, rows in parts for number in rows.numbers), strict=True))
