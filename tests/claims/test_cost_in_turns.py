"""Blocks in turns, and what is read from them."""

import time

import numpy as np
import pytest
from made_bench import MadeBench

from bakeoff.claims.cost import quadratic, sequential_steps
from bakeoff.claims.in_turns import LEAST_ROUNDS, SAMPLES, Session, time_in_turns
from bakeoff.probes.samples import Samples


def samples(ms: float, *, rounds: int = 20, calls: int = 5) -> Samples:
    number = np.repeat(np.arange(rounds), calls)
    return Samples(total_ms=np.full(rounds * calls, ms), rounds=number, call=np.zeros_like(number), batch=np.zeros_like(number))


def session(**ms: float) -> Session:
    return Session(calls={name.replace("_", "@", 1): samples(each) for name, each in ms.items()}, foreign_cpu_share=0.0)


def test_fast_calls_are_timed_a_thousand_times_each() -> None:
    called = {"a": 0, "b": 0}

    def count(name: str) -> None:
        called[name] += 1

    found = time_in_turns({"a": lambda: count("a"), "b": lambda: count("b")}, seconds=20.0)
    assert found.n("a") == found.n("b") == SAMPLES == 1000
    assert min(called.values()) > SAMPLES  # untimed calls open each turn
    assert found.ratio("a", "a").value == 1.0


def test_slow_calls_end_with_their_time_but_never_before_they_can_be_resampled() -> None:
    found = time_in_turns({"slow": lambda: time.sleep(0.01)}, seconds=0.0)
    assert len(np.unique(found.calls["slow"].rounds)) >= LEAST_ROUNDS
    assert found.n("slow") < 100
    assert found.p50_ms("slow") >= 10


def test_an_error_of_a_brick_is_told() -> None:
    def broken() -> None:
        raise RuntimeError("no such brick")

    with pytest.raises(RuntimeError, match="no such brick"):
        time_in_turns({"broken": broken}, seconds=1.0)


def test_ratios_and_notes_of_a_session() -> None:
    found = session(a=3.0, b=2.0)
    assert found.ratio("a", "b").value == 1.5
    assert (found.ratio("a", "b").interval.low, found.ratio("a", "b").interval.high) == (1.5, 1.5)
    assert found.note is None
    busy = Session(calls=found.calls, foreign_cpu_share=0.5)
    assert busy.note == "other processes used 0.50 of a core meanwhile: run it again on an idle machine"


def test_the_crossing_in_time_lies_between_the_lengths_around_it() -> None:
    # Ratios 1/2 at 128 and 2 at 512: on straight lines between logarithms they cross 1 at 256.
    found = session(attention_128=1.0, LSTM_128=2.0, attention_512=4.0, LSTM_512=2.0)
    assert quadratic.time_crossing(found, (128, 512)) == "from 256 tokens on (256 to 256), 4 times d"
    never = session(attention_128=1.0, LSTM_128=2.0, attention_512=1.0, LSTM_512=2.0)
    assert quadratic.time_crossing(never, (128, 512)) == "at none of the lengths up to 512"
    always = session(attention_128=3.0, LSTM_128=2.0, attention_512=4.0, LSTM_512=2.0)
    assert quadratic.time_crossing(always, (128, 512)).startswith("from 128 tokens on")


@pytest.mark.parametrize(("foreign", "verdict"), [(0.0, "holds"), (0.5, "inconclusive")])
def test_a_disturbed_session_gives_no_verdict(monkeypatch: pytest.MonkeyPatch, foreign: float, verdict: str) -> None:
    """Whatever took the second core would also have kept the LSTM below its limit."""
    ms = {"LSTM@1 thread": 2.0, "LSTM@2 threads": 2.0, "attention@1 thread": 3.0, "attention@2 threads": 2.0}
    found = Session(calls={name: samples(each) for name, each in ms.items()}, foreign_cpu_share=foreign)
    monkeypatch.setattr(sequential_steps, "_session", lambda *_, **__: found)
    monkeypatch.setattr(sequential_steps, "_usable_cpus", lambda: 2)
    answer = sequential_steps.CLAIM.measure(MadeBench({}))
    assert (answer.verdict, answer.figure) == (verdict, 1.0)
    assert any("other processes used 0.50 of a core" in note for note in answer.notes) == (foreign > 0)


def test_speed_ups_are_over_one_thread() -> None:
    calls = {
        "LSTM@1 thread": samples(2.0),
        "LSTM@2 threads": samples(1.0),
        "attention@1 thread": samples(3.0),
        "attention@2 threads": samples(2.0),
    }
    found = sequential_steps._speed_ups(Session(calls=calls, foreign_cpu_share=0.0), 64)
    assert [(each.brick, each.hardware, each.times, each.p50_ms) for each in found] == [
        ("LSTM", "2 threads", 2.0, 1.0),
        ("attention", "2 threads", 1.5, 2.0),
    ]
