"""When a row was written: dates and moments as people write them, or numbers; one way of writing a column.

A moment is an `int` of microseconds since 1970 in UTC, where those without a zone are taken as they stand. A number is its
own value, so that seconds since 1970, years and counters all order rows.
"""

import datetime
import math
import re
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from typing import Literal, TypeVar

from bakeoff.errors import DataError

Moment = int | float
Kind = Literal["number", "date"]
T = TypeVar("T")

_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_WRITTEN = (*(day + clock for day in _DAYS for clock in _CLOCKS), "%a %b %d %H:%M:%S %z %Y", "%a %b %d %H:%M:%S %Y")
_Zoned = tuple[datetime.datetime, bool]


def parse(values: Sequence[object], where: Sequence[int], *, name: str, place: str) -> tuple[Moment, ...]:
    """The time of each row; `where` are the rows' numbers, `name` and `place` what errors call the column and its file.

    Raises DataError, quoting no cell, where a time is missing, is none, or is written in another way than the first, and
    where all could be read day or month first.
    """
    texts = [_text(value) for value in values]
    missing = [row for row, text in zip(where, texts, strict=True) if not text]
    if missing:
        raise DataError(f"dataset.time={name} is empty in {len(missing)} rows of {place}, the first is row {missing[0]}: fill it in")
    if _NUMBER.fullmatch(texts[0]):
        return tuple(_each(texts, where, _number, name, place))
    found = _each(texts, where, _reader(texts, where, name, place), name, place)
    zoned = [aware for _, aware in found]
    if len(set(zoned)) > 1:
        odd = where[zoned.index(not zoned[0])]
        state = "a time zone" if zoned[0] else "no time zone"
        raise DataError(f"dataset.time={name} has {state} in the first row of {place} but not so in row {odd}: write all alike")
    return tuple(_microseconds(moment) for moment, _ in found)


def kind_of(texts: Sequence[str]) -> Kind:
    """Whether cuts, as `written` writes them, are numbers or dates."""
    return "number" if all(_NUMBER.fullmatch(text) for text in texts) else "date"


def written(moment: Moment, kind: Kind) -> str:
    """A moment as text that `read` reads back: a number, or ISO 8601 in UTC without the zone."""
    if kind == "number":
        return repr(moment)
    return (_EPOCH + moment * _MICROSECOND).replace(tzinfo=None).isoformat()


def read(text: str, key: str) -> Moment:
    """A cut: a number, or an ISO date with or without a time. Raises DataError, which names it `key`, for anything else."""
    try:
        return _number(text) if _NUMBER.fullmatch(text) else _microseconds(_iso(text)[0])
    except ValueError:
        raise DataError(
            f"{key}={text} is no time: write it as 2024-03-01 or 2024-03-01T12:00:00, or as the number that the column holds"
        ) from None


def kind_of_column(values: Sequence[object]) -> Kind:
    """Whether a column that `parse` has read holds numbers or dates."""
    return "number" if _NUMBER.fullmatch(_text(values[0])) else "date"


def _text(value: object) -> str:
    if value is None or isinstance(value, bool) or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, datetime.date):  # a datetime is one too
        return value.isoformat()
    return (repr(value) if isinstance(value, float) else str(value)).strip()


def _each(texts: Sequence[str], where: Sequence[int], reader: Callable[[str], T], name: str, place: str) -> list[T]:
    found = []
    for row, text in zip(where, texts, strict=True):
        try:
            found.append(reader(text))
        except (ValueError, OverflowError):
            raise DataError(
                f"dataset.time={name} is no time, or written in another way than in the first row, in row {row} of {place}: "
                "write dates as 2024-03-01, or numbers, in every row"
            ) from None
    return found


def _reader(texts: Sequence[str], where: Sequence[int], name: str, place: str) -> Callable[[str], _Zoned]:
    """What reads the first row and, of two ways that do, every other row too."""
    for simple in (_iso, _mail):
        if _reads(simple, texts[0]):
            return simple
    fitting = [reader for reader in map(_in_format, _WRITTEN) if _reads(reader, texts[0])]
    for text in texts:
        if len(fitting) < 2:
            break
        fitting = [reader for reader in fitting if _reads(reader, text)] or fitting[:1]
    if not fitting:
        raise DataError(
            f"dataset.time={name} is no time in row {where[0]} of {place}: name a column of dates, written as 2024-03-01, or of numbers"
        )
    if len(fitting) > 1 and any(fitting[0](text) != fitting[1](text) for text in texts):
        raise DataError(f"dataset.time={name} of {place} can be read day first or month first in every row: write dates as 2024-03-01")
    return fitting[0]


def _reads(reader: Callable[[str], _Zoned], text: str) -> bool:
    try:
        reader(text)
    except (ValueError, OverflowError):
        return False
    return True


def _number(text: str) -> Moment:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return int(text) if re.fullmatch(r"[-+]?[0-9]+", text) else int(number) if number.is_integer() else number


def _iso(text: str) -> _Zoned:
    moment = datetime.datetime.fromisoformat(text.removesuffix(" UTC").strip())
    return moment, moment.tzinfo is not None or text.endswith(" UTC")


def _mail(text: str) -> _Zoned:
    moment = parsedate_to_datetime(text)
    if not re.match(r"[A-Za-z]{3},", text):  # it takes other texts for dates, too
        raise ValueError(text)
    return moment, moment.tzinfo is not None


def _in_format(form: str) -> Callable[[str], _Zoned]:
    def reader(text: str) -> _Zoned:
        moment = datetime.datetime.strptime(text, form)
        return moment, moment.tzinfo is not None

    return reader


def _microseconds(moment: datetime.datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
    return (aware - _EPOCH) // _MICROSECOND
