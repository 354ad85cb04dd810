"""The newest share as test rows: where time is cut, so that a score speaks of what comes next.

A share of the rows alone would move its cut, and rows across it, whenever newer rows are appended. So the cut is found once
and then pinned (`dataset.newest_from`), together with the end of what there was. A file that has grown gets a further cut behind
that end: what was appended is divided into pool and test as the first file was, and no old row changes sides.
"""

import dataclasses
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bakeoff.data import sources, times
from bakeoff.data.times import Moment
from bakeoff.errors import DataError
from bakeoff.spec import Dataset


def is_newest(moments: Sequence[Moment], cuts: Sequence[Moment]) -> np.ndarray:
    """Bool mask of the test rows: those with an odd number of `cuts`, ascending, at or before them."""
    return np.array([bisect_right(cuts, moment) % 2 == 1 for moment in moments], dtype=bool)


def cut(moments: Sequence[Moment], share: float) -> Moment | None:
    """The time from which rows are the newest `share`, as nearly as rows of equal time, which stay together, allow.

    None where all rows have one time.
    """
    wanted, count = share * len(moments), 0
    found: tuple[float, Moment] | None = None
    for moment, rows in sorted(Counter(moments).items(), reverse=True)[:-1]:  # the oldest time is never a test row
        count += rows
        if found is None or abs(count - wanted) < found[0]:
            found = (abs(count - wanted), moment)
    return None if found is None else found[1]


def cuts_of(dataset: Dataset, moments: Sequence[Moment], kind: times.Kind) -> tuple[Moment, ...]:
    """The cuts that a configuration means for rows of these times. Raises DataError where it means none."""
    if dataset.newest_from is None:
        assert dataset.newest_share is not None
        if (found := cut(moments, dataset.newest_share)) is None:
            raise DataError(f"dataset.time={dataset.time} is the same in every row, so no row is newer than another: name another column")
        return (found,)
    if times.kind_of(dataset.newest_from) != kind:
        raise DataError(
            f"dataset.newest_from={', '.join(dataset.newest_from)} should be a {kind}, since dataset.time={dataset.time} holds {kind}s"
        )
    cuts = tuple(times.read(text, "dataset.newest_from") for text in dataset.newest_from)
    if list(cuts) != sorted(set(cuts)):
        raise DataError(f"dataset.newest_from={', '.join(dataset.newest_from)} should hold different times, the earliest first")
    return cuts


def pinned(cuts: Sequence[Moment], kind: times.Kind) -> tuple[str, ...]:
    """Cuts as `dataset.newest_from` holds them."""
    return tuple(times.written(moment, kind) for moment in cuts)


def closed(cuts: Sequence[Moment], moments: Sequence[Moment]) -> tuple[Moment, ...]:
    """Cuts with an end behind the newest row, so that rows appended later are no test rows before they are divided."""
    return tuple(cuts) if len(cuts) % 2 == 0 else (*cuts, _after(max(moments)))


def grown(cuts: Sequence[Moment], moments: Sequence[Moment], share: float) -> tuple[Moment, ...]:
    """The closed `cuts` of a file that has grown to rows of these times: of what is behind their end the newest `share` is test.

    All of it is test where it has one time only.
    """
    newer = [moment for moment in moments if moment >= cuts[-1]]
    if not newer:
        return tuple(cuts)
    found = cut(newer, share)
    return closed((*cuts, min(newer) if found is None else found), newer)


def grown_from(dataset: Dataset, cuts: Sequence[str], share: float) -> tuple[str, ...]:
    """`grown` for the file of a dataset, from and to what `dataset.newest_from` holds. Raises DataError as `cuts_of`."""
    rows = sources.read(dataset)["pool"]
    assert rows.times is not None, "only a split by time has cuts"
    assert rows.time_kind is not None, "whoever reads times knows their kind"
    before = cuts_of(dataclasses.replace(dataset, newest_from=tuple(cuts), newest_share=None), rows.times, rows.time_kind)
    return pinned(grown(before, rows.times, share), rows.time_kind)


def _after(moment: Moment) -> Moment:
    """The next moment or whole number; of a number with decimals the next that a computer knows."""
    return moment + 1 if isinstance(moment, int) else math.nextafter(moment, math.inf)
