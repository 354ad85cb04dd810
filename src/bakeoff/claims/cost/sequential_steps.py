"""Recurrence takes n dependent steps, attention a number that does not grow with n; adding hardware does not shorten a chain.

Varied: the length n of one document (batch 1), and the hardware: one CPU thread, all of them, and a GPU where there is one. Measured on
the product's bricks, an LSTM that reads forwards and a block of attention and feed-forward with as many parameters: the longest chain
of dependent matrix products, exactly; and the speed-up over one thread at the median, in turns. Other processes take
the second core away from what could use it, so a disturbed session gives no verdict.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from bakeoff.claims import operations, rules
from bakeoff.claims.claim import Answer, Bench, Claim, Interval, NotMeasured
from bakeoff.claims.in_turns import Session, time_in_turns
from bakeoff.claims.pictures import Lines, Series
from bakeoff.models.bilstm import Onward
from bakeoff.models.build import count_parameters
from bakeoff.models.transformer import Block

WIDTH, HEADS, FEED_FORWARD = 128, 2, 256
"""4 · 128 · (128 + 128 + 2) = 132,096 parameters of the LSTM; 4 · 128² + 2 · 128 · 256 and biases and norms, 132,480, of the block."""
LENGTHS = {"small": (64, 256, 1024), "full": (64, 128, 256, 512, 1024, 2048, 4096)}
SECONDS = {"small": 40.0, "full": 180.0}
"""The longest that one brick at one length on one piece of hardware is timed."""
CHAIN_LENGTH = 64
SPEED_UP = 1.2


@dataclass(frozen=True, kw_only=True)
class SpeedUp:
    """How many times as fast a brick is at a length as on one CPU thread."""

    brick: str
    tokens: int
    hardware: str
    p50_ms: float
    times: float
    interval: Interval
    samples: int


def measure(bench: Bench) -> Answer:
    """Judged: every speed-up of the LSTM, and the block's at the longest length. The figure is the LSTM's largest."""
    threads = _usable_cpus()
    if threads < 2:
        raise NotMeasured("all threads of this machine are one: run it where there are two CPU cores or more")
    bricks: dict[str, nn.Module] = {"LSTM": lstm(), "attention": block()}
    counts = {name: count_parameters(brick) for name, brick in bricks.items()}
    assert rules.matched(list(counts.values())), "the constants above match them"
    before, speed_ups, notes = torch.get_num_threads(), list[SpeedUp](), list[str | None]()
    try:
        for tokens in LENGTHS[bench.size]:
            bench.say(f"sequential-steps: {tokens:,} tokens")
            session = _session(bricks, tokens, threads=threads, seconds=SECONDS[bench.size])
            speed_ups += _speed_ups(session, tokens)
            notes.append(session.note)
    finally:
        torch.set_num_threads(before)
    recurrent = [each for each in speed_ups if each.brick == "LSTM"]
    longest = [each for each in speed_ups if each.brick == "attention" and each.tokens == LENGTHS[bench.size][-1]]
    top, last = max(recurrent, key=lambda each: each.times), min(longest, key=lambda each: each.times)
    chains = {
        name: [operations.count(_forward(brick, n)).chain for n in (CHAIN_LENGTH, 2 * CHAIN_LENGTH)] for name, brick in _followed().items()
    }
    verdicts = (
        *(rules.below(SPEED_UP, each.interval) for each in recurrent),
        *(rules.above(SPEED_UP, each.interval) for each in longest),
        rules.exact(chains["LSTM"] == [CHAIN_LENGTH, 2 * CHAIN_LENGTH] and chains["attention"][0] == chains["attention"][1]),
    )
    disturbed = tuple(dict.fromkeys(note for note in notes if note is not None))
    return Answer(
        verdict="inconclusive" if disturbed else rules.all_of(verdicts),
        figure=top.times,
        unit="×",
        interval=top.interval,
        seen=f"Of {chains['LSTM'][0]} tokens the LSTM makes a chain of {chains['LSTM'][0]} dependent products and of twice as many "
        f"{chains['LSTM'][1]}; attention's chain is {chains['attention'][0]} products long at either length. More hardware speeds the "
        f"LSTM up {top.times:.2f} times at most "
        f"(at {top.tokens:,} tokens, {top.hardware}), and attention {last.times:.2f} times at {last.tokens:,} "
        f"tokens ({last.hardware}).",
        dataset=None,
        rows=tuple(_row(each, counts) for each in speed_ups),
        detectable=max(top.interval.high / top.times, top.times / top.interval.low),
        pictures=_pictures(speed_ups),
        notes=(
            *(() if torch.cuda.is_available() else ("There was no GPU to judge: hardware is the threads of one processor.",)),
            *disturbed,
        ),
    )


def lstm() -> Onward:
    """The product's recurrent layer."""
    torch.manual_seed(0)
    return Onward(WIDTH, WIDTH).eval()


def block() -> Block:
    """The product's transformer block, of as many parameters."""
    torch.manual_seed(0)
    return Block(WIDTH, HEADS, FEED_FORWARD, norm="before").eval()


def _followed() -> dict[str, Callable[[torch.Tensor], object]]:
    """The same computations with every product in sight: the LSTM step by step, attention unfused."""
    recurrent, attention = lstm(), block()
    attention.attention.fused = False
    return {"LSTM": lambda states: operations.write_out(recurrent.forwards, states), "attention": attention}


def _forward(brick: Callable[[torch.Tensor], object], tokens: int) -> Callable[[], object]:
    states = torch.randn(1, tokens, WIDTH, generator=torch.Generator().manual_seed(tokens))
    return lambda: brick(states)


def _session(bricks: dict[str, nn.Module], tokens: int, *, threads: int, seconds: float) -> Session:
    """Each brick on each hardware, in turns."""
    calls: dict[str, Callable[[], object]] = {}
    for name, brick in bricks.items():
        calls[f"{name}@1 thread"] = _call(brick, tokens, threads=1, device="cpu")
        calls[f"{name}@{threads} threads"] = _call(brick, tokens, threads=threads, device="cpu")
        if torch.cuda.is_available():
            calls[f"{name}@GPU"] = _call(brick, tokens, threads=1, device="cuda")
    return time_in_turns(calls, seconds=seconds, synchronise=torch.cuda.synchronize if torch.cuda.is_available() else None)


def _call(brick: nn.Module, tokens: int, *, threads: int, device: str) -> Callable[[], object]:
    states = torch.randn(1, tokens, WIDTH, generator=torch.Generator().manual_seed(tokens))
    lengths = torch.tensor([tokens])
    states, brick = states.to(device), _another(brick).to(device)

    def call() -> object:
        torch.set_num_threads(threads)
        with torch.inference_mode():
            return brick(states, lengths) if isinstance(brick, Onward) else brick(states)

    return call


def _another(brick: nn.Module) -> nn.Module:
    """A brick of its own for each hardware, since moving one to a GPU takes it from the CPU."""
    return lstm() if isinstance(brick, Onward) else block()


def _speed_ups(session: Session, tokens: int) -> list[SpeedUp]:
    found = []
    for name in session.calls:
        brick, hardware = name.split("@")
        if hardware != "1 thread":
            ratio = session.ratio(f"{brick}@1 thread", name)
            interval = Interval(low=ratio.interval.low, high=ratio.interval.high)
            found.append(
                SpeedUp(
                    brick=brick,
                    tokens=tokens,
                    hardware=hardware,
                    p50_ms=session.p50_ms(name),
                    times=ratio.value,
                    interval=interval,
                    samples=session.n(name),
                )
            )
    return found


def _row(each: SpeedUp, counts: dict[str, int]) -> dict[str, str | float | int]:
    return {
        "brick": each.brick,
        "parameters": counts[each.brick],
        "tokens": each.tokens,
        "hardware": each.hardware,
        "p50_ms": each.p50_ms,
        "p50_ms_one_thread": each.p50_ms * each.times,
        "speed_up": each.times,
        "low": each.interval.low,
        "high": each.interval.high,
        "samples": each.samples,
    }


def _pictures(speed_ups: list[SpeedUp]) -> tuple[Lines, ...]:
    lines: dict[str, list[SpeedUp]] = {}
    for each in speed_ups:
        lines.setdefault(f"{each.brick}, {each.hardware}", []).append(each)
    series = tuple(
        Series(
            label=label,
            x=tuple(float(each.tokens) for each in own),
            y=tuple(each.times for each in own),
            low=tuple(each.interval.low for each in own),
            high=tuple(each.interval.high for each in own),
        )
        for label, own in lines.items()
    )
    return (
        Lines(
            title="Speed-up over one CPU thread against length, one document at a time",
            x_label="tokens",
            y_label="times as fast",
            series=series,
            log_x=True,
        ),
    )


def _usable_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


CLAIM = Claim(
    name="sequential-steps",
    statement="Recurrence takes n dependent steps, attention one: adding hardware does not shorten a chain of dependencies.",
    kind="cost",
    rule=f"Holds if the chain of the LSTM is n products long and attention's does not grow with n, the LSTM's speed-up from one thread to "
    f"all (and to the GPU, where there is one) stays below {SPEED_UP} at every length, upper bound included, and the lower bound of "
    "attention's at the longest length is above it.",
    seconds={"small": 110, "full": 2400},
    measure=measure,
)
