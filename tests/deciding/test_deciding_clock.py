from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.deciding.clock import FIRST_REPORT_SECONDS, REPORT_SPARE, SPARE, STOP_SECONDS, Clock


@dataclass
class Time:
    at: float = 1000.0
    calls: int = field(default=0)

    def __call__(self) -> float:
        return self.at


def test_keeps_back_the_page_and_the_time_to_stop_a_run() -> None:
    now = Time()
    clock = Clock(budget_seconds=900.0, now=now)
    assert (clock.spent_seconds, clock.left_seconds) == (0.0, 900.0 - FIRST_REPORT_SECONDS)
    now.at += 100.0
    assert clock.limit_seconds == 900.0 - 100.0 - FIRST_REPORT_SECONDS - STOP_SECONDS
    clock.has_reported(20.0)
    clock.has_reported(5.0)
    assert clock.report_seconds == pytest.approx(20.0 * REPORT_SPARE)


def test_a_short_time_keeps_a_tenth_of_it_for_the_page() -> None:
    assert Clock(budget_seconds=60.0, now=Time()).report_seconds == 6.0


@given(budget=st.floats(30, 7200), spent=st.floats(0, 9000), seconds=st.floats(0.1, 7200))
def test_what_fits_ends_in_time_even_where_it_takes_somewhat_longer(budget: float, spent: float, seconds: float) -> None:
    now = Time()
    clock = Clock(budget_seconds=budget, now=now)
    now.at += spent
    if clock.fits(seconds):
        assert spent + SPARE * seconds + clock.report_seconds <= budget
    if clock.limit_seconds > 1.0:
        assert spent + clock.limit_seconds + STOP_SECONDS + clock.report_seconds <= budget + 1e-6


def test_nothing_fits_once_the_time_is_over() -> None:
    now = Time()
    clock = Clock(budget_seconds=100.0, now=now)
    now.at += 95.0
    assert not clock.fits(0.0)
