import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.data import times
from bakeoff.errors import DataError

MARCH = 1_709_251_200  # 2024-03-01T00:00:00Z in seconds


def parse(*values: object) -> tuple[times.Moment, ...]:
    return times.parse(values, range(2, 2 + len(values)), name="when", place="f.csv")


@pytest.mark.parametrize(
    "values",
    [
        ("2024-03-01", "2024-03-02"),
        ("2024-03-01T00:00:00Z", "2024-03-02T01:00:00+01:00"),
        ("2024-03-01 00:00:00 UTC", "2024-03-02 00:00 UTC"),
        ("2024/03/01", "2024/03/02"),
        ("01.03.2024", "02.03.2024", "13.03.2024"),
        ("01/03/2024 00:00", "02/03/2024 00:00", "31/03/2024 00:00"),
        ("03/01/2024", "03/02/2024", "03/31/2024"),
        ("3/1/2024 12:00 AM", "3/2/2024 12:00 AM", "3/31/2024 1:15 PM"),
        ("1 Mar 2024", "2 Mar 2024"),
        ("March 1, 2024", "March 2, 2024"),
        ("Fri, 01 Mar 2024 00:00:00 +0000", "Sat, 02 Mar 2024 00:00:00 +0000"),
        ("Fri Mar 01 00:00:00 +0000 2024", "Sat Mar 02 00:00:00 +0000 2024"),
        (datetime.date(2024, 3, 1), datetime.date(2024, 3, 2)),
        (datetime.datetime(2024, 3, 1), datetime.datetime(2024, 3, 2)),
    ],
)
def test_dates_as_people_write_them(values: tuple[object, ...]) -> None:
    assert parse(*values)[:2] == (MARCH * 10**6, (MARCH + 86_400) * 10**6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1709251200", "1709251201"), (1_709_251_200, 1_709_251_201)),
        (("1709251200.5", "1e3", "-2"), (1_709_251_200.5, 1000, -2)),
        ((2019, 2020.0), (2019, 2020)),
        (("1709251200123456789", "1709251200123456788"), (1_709_251_200_123_456_789, 1_709_251_200_123_456_788)),
        (("20240301", "20240229"), (20_240_301, 20_240_229)),
    ],
)
def test_numbers_are_their_own_order(values: tuple[object, ...], expected: tuple[float, ...]) -> None:
    assert parse(*values) == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("2024-03-01", "", None, "nan"), "dataset.time=when is empty in 2 rows of f.csv, the first is row 3: fill it in"),
        ((True, "2024"), "dataset.time=when is empty in 1 rows of f.csv, the first is row 2: fill it in"),
        (
            ("CANARY", "2024-03-01"),
            "dataset.time=when is no time in row 2 of f.csv: name a column of dates, written as 2024-03-01, or of numbers",
        ),
        (
            ("2024-03-01", "2024-03-02", "CANARY"),
            "dataset.time=when is no time, or written in another way than in the first row, in row 4 of f.csv: "
            "write dates as 2024-03-01, or numbers, in every row",
        ),
        (
            ("2024", "2024-03-02"),
            "dataset.time=when is no time, or written in another way than in the first row, in row 3 of f.csv: "
            "write dates as 2024-03-01, or numbers, in every row",
        ),
        (
            ("13.03.2024", "03/14/2024"),
            "dataset.time=when is no time, or written in another way than in the first row, in row 3 of f.csv: "
            "write dates as 2024-03-01, or numbers, in every row",
        ),
        (
            ("2024-03-01T10:00:00", "2024-03-02T10:00:00Z"),
            "dataset.time=when has no time zone in the first row of f.csv but not so in row 3: write all alike",
        ),
        (
            ("01/03/2024", "02/03/2024"),
            "dataset.time=when of f.csv can be read day first or month first in every row: write dates as 2024-03-01",
        ),
        (("2024-02-30",), "dataset.time=when is no time in row 2 of f.csv: name a column of dates, written as 2024-03-01, or of numbers"),
    ],
)
def test_one_sentence_for_what_is_no_time(values: tuple[object, ...], message: str) -> None:
    with pytest.raises(DataError) as raised:
        parse(*values)
    assert str(raised.value) == message


def test_day_and_month_may_be_equal() -> None:
    assert parse("03/03/2024") == ((MARCH + 2 * 86_400) * 10**6,)


@given(st.datetimes(min_value=datetime.datetime(1900, 1, 1), max_value=datetime.datetime(2200, 1, 1)))
def test_a_cut_reads_back(moment: datetime.datetime) -> None:
    (found,) = parse(moment.isoformat())
    text = times.written(found, "date")
    assert times.read(text, "key") == found
    assert times.kind_of([text]) == "date"


@given(st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False).map(lambda x: int(x) if x.is_integer() else x))
def test_a_number_reads_back(number: float) -> None:
    assert times.read(times.written(number, "number"), "key") == number
    assert parse(str(number)) == (number,)


def test_a_cut_that_is_none() -> None:
    with pytest.raises(
        DataError, match=r"^dataset.newest_from=soon is no time: write it as 2024-03-01 or 2024-03-01T12:00:00, or as the number that the"
    ):
        times.read("soon", "dataset.newest_from")
