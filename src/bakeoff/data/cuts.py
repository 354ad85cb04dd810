"""Which tokens or words of a document stay where only some fit: positions alone, so that both are cut by one rule."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bakeoff.spec import LongDoc

Numbers = npt.NDArray[np.int64]


def spans(length: int, room: int | None, longdoc: LongDoc) -> tuple[slice, ...]:
    """The parts of a document of `length` tokens that are read where `room` of them fit, in document order.

    They hold min(length, room) tokens. Of `head_tail` the start has `head_share` of the room, to the nearest token (a half goes
    up), and both ends have at least one of two or more. `middle` has the larger half of what is left out behind it. Whatever
    reads on (full, windows, extended) is cut like `head`, as is a text without sentences to select from.
    """
    if room is None or length <= room:
        return (slice(0, length),)
    room = max(room, 0)
    if longdoc.strategy == "tail":
        return (slice(length - room, length),)
    if longdoc.strategy == "middle":
        start = (length - room) // 2
        return (slice(start, start + room),)
    if longdoc.strategy == "head_tail" and room >= 2:
        assert longdoc.head_share is not None, "readings refuses head_tail without its share"
        head = min(max(int(longdoc.head_share * room + 0.5), 1), room - 1)
        return slice(0, head), slice(length - (room - head), length)
    return (slice(0, room),)


def shares(lengths: Sequence[int] | Numbers, order: Numbers, room: int | None) -> Numbers:
    """How many tokens of each sentence are read, shape (sentences,), where `room` of them fit.

    Sentences of `lengths` tokens are taken whole by `order` (sentences,), the best first, and the first that does not fit is cut
    at its end.
    """
    whole = np.asarray(lengths, dtype=np.int64)
    if room is None:
        return whole
    ends = whole[order].cumsum()
    read = np.empty_like(whole)
    read[order] = np.clip(max(room, 0) - (ends - whole[order]), 0, whole[order])
    return read
