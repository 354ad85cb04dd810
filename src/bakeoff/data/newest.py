"""The newest share as test rows: where time is cut, so that a score speaks of what comes next.

A share of the rows alone would move its cut, and rows across it, whenever newer rows are appended. So the cut is found once
and then pinned (`dataset.newest_from`), and a file that has grown gets further cuts behind its old rows: what was appended is
divided into pool and test as the first file was, by cuts of its own, and no old row changes sides.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence, Set

import numpy as np

from bakeoff.data import row_ids, sources, times
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


def grown(dataset: Dataset, old_test: Set[str], *, share: float, first: Sequence[str] | None) -> tuple[str, ...]:
    """`dataset.newest_from` for a file that was appended to after the rows `old_test` (ids) were its newest.

    Old rows stay where they are: `first` are the cuts of then, null where the oldest of these rows says it. Rows newer than
    all of them are divided anew: their newest `share` are test rows and the others go to the pool, which was as old as that
    once. Raises DataError where no old test row is left.
    """
    parts = [(role == "test", rows) for role, rows in sources.read(dataset).items()]
    rows = parts[0][1]
    assert rows.times is not None, "only a split by time has cuts"
    assert rows.time_kind is not None, "whoever reads times knows their kind"
    ids = row_ids.of_parts([rows], given=row_ids.given_by(parts))
    old = [moment for row_id, moment in zip(ids, rows.times, strict=True) if row_id in old_test]
    if not old:
        raise DataError(f"{dataset.name} has none of last month's test rows: give the file that has grown, or leave out --against")
    before = pinned([min(old)], rows.time_kind) if first is None else tuple(first)
    newer = [moment for moment in rows.times if moment > max(old)]
    found = cut(newer, share) if newer else None
    return before if found is None else (*before, *pinned([min(newer), found], rows.time_kind))
