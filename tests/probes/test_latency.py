"""Turns under a clock that moves only when a fake model works: every number is exact."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from bakeoff.probes.latency import Turn, choose_documents, is_enough, play_rounds, take_turn, take_turns
from bakeoff.probes.rules import Rules, batches_of
from bakeoff.probes.warmup import best_batch, clock_resolution_ns, warm_up

MS = 1_000_000
DOCUMENTS = [f"document {number}" for number in range(10)]
BATCHES = batches_of(DOCUMENTS, 1)


@dataclass
class Machine:
    """A clock and models that take time on it."""

    now_ns: int = 0
    pending_ns: int = 0
    """Work that a device has been given and not finished."""
    calls: dict[str, list[str]] = field(default_factory=dict)
    """Model → first document of each call."""

    def clock(self) -> int:
        return self.now_ns

    def model(self, name: str, ms: Callable[[int, Sequence[str]], float] | float, *, asynchronous: bool = False) -> Callable[..., None]:
        """A model that takes `ms`, or ms(number of the call, texts)."""
        seen = self.calls.setdefault(name, [])

        def call(texts: Sequence[str]) -> None:
            taken_ns = round((ms(len(seen), texts) if callable(ms) else ms) * MS)
            seen.append(texts[0])
            if asynchronous:
                self.pending_ns += taken_ns
            else:
                self.now_ns += taken_ns

        return call

    def synchronise(self) -> None:
        self.now_ns, self.pending_ns = self.now_ns + self.pending_ns, 0


@dataclass(frozen=True)
class Stages:
    tokenise_ns: int = 1
    window_ns: int = 2
    forward_ns: int = 3
    pool_ns: int = 4


def test_a_turn_is_untimed_calls_then_a_block_that_lasts_and_one_staged_call() -> None:
    machine, staged = Machine(), []
    turn = take_turn(
        machine.model("m", 3.0),
        BATCHES,
        4,
        rules=Rules(block_ms=20.0, least_calls=1),
        clock=machine.clock,
        staged=lambda texts: staged.append(texts) or Stages(),  # type: ignore[func-returns-value]
    )
    # Untimed on the three documents before number 4; then 7 × 3 ms is the first sum to reach 20 ms; then one more.
    assert machine.calls["m"] == [DOCUMENTS[i] for i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)]
    assert staged == [(DOCUMENTS[1],)]
    assert turn == Turn(opening=1, first=4, total_ns=[3 * MS] * 7, after_switch_ns=3 * MS, stages=Stages(), seconds=0.030)


@pytest.mark.parametrize(("least_calls", "timed"), [(1, 1), (5, 5)])
def test_a_slow_model_has_its_least_calls(least_calls: int, timed: int) -> None:
    machine = Machine()
    turn = take_turn(machine.model("m", 50.0), BATCHES, 0, rules=Rules(least_calls=least_calls), clock=machine.clock)
    assert turn.total_ns == [50 * MS] * timed


def test_the_slow_call_after_a_switch_is_kept_apart() -> None:
    machine = Machine()
    turn = take_turn(machine.model("m", lambda call, _: 90.0 if call == 0 else 4.0), BATCHES, 0, rules=Rules(), clock=machine.clock)
    assert (turn.after_switch_ns, set(turn.total_ns)) == (90 * MS, {4 * MS})


def test_a_device_that_works_asynchronously_is_waited_for() -> None:
    machine = Machine()
    call = machine.model("m", 7.0, asynchronous=True)
    turn = take_turn(call, BATCHES, 0, rules=Rules(), clock=machine.clock, synchronise=machine.synchronise)
    assert (turn.total_ns, turn.after_switch_ns) == ([7 * MS] * 5, 7 * MS)
    assert machine.pending_ns == 0


RULES = Rules(least_calls=1, least_rounds=4, samples_p95=40, samples_p99=80, seconds_per_model=100.0, warm_up_seconds=1.0)


def test_every_model_is_timed_on_every_document_equally_often() -> None:
    machine = Machine()
    documents = [DOCUMENTS[i] for i in choose_documents(len(DOCUMENTS), RULES)]
    played = take_turns(
        {"fast": machine.model("fast", 2.0), "slow": machine.model("slow", 10.0)},
        documents,
        batch_size=1,
        rng=np.random.default_rng(0),
        rules=RULES,
        clock=machine.clock,
    )
    for turns in played.turns.values():
        timed = Counter((turn.first + i) % len(documents) for turn in turns.values() for i in range(len(turn.total_ns)))
        assert timed == dict.fromkeys(range(10), 8)


def test_rounds_are_in_random_order_that_the_seed_repeats() -> None:
    def order(seed: int) -> list[str]:
        machine, told = Machine(), []

        def model(name: str) -> Callable[[Sequence[str]], None]:
            call = machine.model(name, 20.0)
            return lambda texts: (told.append(name) if not told or told[-1] != name else None, call(texts))[1]

        rules = Rules(least_calls=1, least_rounds=30, samples_p95=1, samples_p99=1, warm_up_seconds=0.0)
        models = {name: model(name) for name in "abc"}
        played = play_rounds(
            {
                name: lambda first, call=call: take_turn(call, BATCHES, first, rules=rules, clock=machine.clock)
                for name, call in models.items()
            },
            rng=np.random.default_rng(seed),
            rules=rules,
        )
        assert [list(turns) for turns in played.turns.values()] == [list(range(30))] * 3
        return told

    assert order(1) == order(1) != order(2)
    assert {tuple(order(1)[i : i + 2]) for i in range(0, 40)} >= {("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")}


def scripted(turns: dict[str, int], samples: int = 10, seconds: float = 0.1) -> dict[str, Callable[[int], Turn]]:
    def player(name: str) -> Callable[[int], Turn]:
        def play(first: int) -> Turn:
            turns[name] += 1
            return Turn(opening=first - 3, first=first, total_ns=[MS] * samples, after_switch_ns=MS, stages=None, seconds=seconds)

        return play

    return {name: player(name) for name in turns}


def test_the_reference_plays_while_anybody_does() -> None:
    counts = {"reference": 0, "fast": 0, "slow": 0}
    players = scripted(counts) | {"slow": scripted(counts, samples=2)["slow"]}
    played = play_rounds(players, rng=np.random.default_rng(0), rules=RULES, always=("reference",))
    assert counts == {"reference": 40, "fast": 8, "slow": 40}
    assert played.turns["slow"].keys() == played.turns["reference"].keys()


def test_a_model_that_raises_drops_out_and_the_others_go_on() -> None:
    counts = {"good": 0, "bad": 0}

    def bad(first: int) -> Turn:
        raise RuntimeError("no")

    played = play_rounds(scripted(counts) | {"bad": bad}, rng=np.random.default_rng(0), rules=RULES)
    assert (counts["good"], list(played.failed)) == (8, ["bad"])
    assert str(played.failed["bad"]) == "no"


@pytest.mark.parametrize(
    ("samples", "rounds", "seconds", "enough"),
    [
        (5000, 50, 100.0, True),
        (5000, 49, 100.0, False),  # too few turns to resample
        (4999, 999, 100.0, False),  # the rest is affordable
        (1000, 200, 40.0, True),  # 5,000 would take 200 s
        (999, 200, 100.0, False),
        (999, 200, 180.0, True),  # its time is up
        (3, 1, 180.0, True),
    ],
)
def test_what_is_enough(samples: int, rounds: int, seconds: float, enough: bool) -> None:
    assert is_enough(samples, rounds=rounds, seconds=seconds, rules=Rules()) == enough


def test_documents_are_a_fixed_permutation_cut_at_the_samples_of_p95() -> None:
    assert sorted(choose_documents(7, Rules())) == list(range(7))
    chosen = choose_documents(5000, Rules())
    assert len(set(chosen.tolist())) == len(chosen) == 1000
    assert (chosen == choose_documents(5000, Rules())).all()


def test_the_last_batch_is_filled_up_from_the_beginning() -> None:
    assert batches_of(["a", "b", "c"], 2) == [("a", "b"), ("c", "a")]
    assert batches_of(["a", "b"], 5) == [("a", "b", "a", "b", "a")]


# Before the turns.


def test_warm_is_a_model_whose_block_medians_have_settled() -> None:
    machine = Machine()
    found = warm_up(machine.model("m", lambda call, _: 8.0 if call < 20 else 4.0), BATCHES, rules=Rules(), clock=machine.clock)
    assert (found.calls, found.stable) == (60, True)
    assert machine.calls["m"] == DOCUMENTS * 6


def test_a_model_that_never_settles_is_left_when_its_time_is_up() -> None:
    machine = Machine()
    found = warm_up(machine.model("m", lambda call, _: 50.0 * 1.1 ** (call // 20)), BATCHES, rules=Rules(), clock=machine.clock)
    assert not found.stable
    assert machine.now_ns >= 10_000 * MS
    assert machine.now_ns < 10_200 * MS


def test_one_call_longer_than_the_warm_up_is_a_warm_up() -> None:
    machine = Machine()
    found = warm_up(machine.model("m", 11_000.0), BATCHES, rules=Rules(), clock=machine.clock)
    assert (found.calls, found.stable) == (1, False)


def test_the_best_batch_is_the_one_of_highest_throughput() -> None:
    machine = Machine()  # 4 ms a call and 1 ms a document, above 8 documents 3 ms: 0.2, 0.33, 0.5, 0.67, 0.31, 0.32 a ms
    model = machine.model("m", lambda _, texts: 4.0 + len(texts) * (1.0 if len(texts) <= 8 else 3.0))
    found = best_batch(model, DOCUMENTS, clock=machine.clock)
    assert (found.best, found.ended) == (8, "falling")
    assert found.documents_per_second == pytest.approx({1: 200, 2: 2000 / 6, 4: 500, 8: 8000 / 12, 16: 16000 / 52, 32: 32000 / 100})


def test_a_batch_that_does_not_fit_ends_the_search() -> None:
    machine = Machine()

    def model(texts: Sequence[str]) -> None:
        if len(texts) > 4:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        machine.now_ns += MS

    found = best_batch(model, DOCUMENTS, clock=machine.clock)
    assert (found.best, found.ended) == (4, "memory")


def test_a_fault_is_no_shortage_of_memory() -> None:
    def model(_: Sequence[str]) -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        best_batch(model, DOCUMENTS, clock=Machine().clock)


def test_the_clocks_resolution_is_its_smallest_step() -> None:
    times = iter([0, 0, 0, 7000, 7000, 14000, 24000])
    assert clock_resolution_ns(lambda: next(times), readings=7) == 7000
    assert clock_resolution_ns(lambda: 5, readings=7) == 10**9
