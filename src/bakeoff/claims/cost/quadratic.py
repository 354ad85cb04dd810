"""Attention is more expensive in raw arithmetic once n exceeds d.

Varied: the number n of tokens, at width d. Counted, exactly: the matrix products of attention and of an LSTM written out step by step,
against closed formulas. Measured: the length from which attention also takes longer, and the largest tensor that attention makes, with
its weights held (unfused) and not (fused).

    leading terms       n²·d and n·d²              cross at n = d
    with constants      4·n²·d and 16·n·d²         at n = 4·d    QKᵀ and the product with V; four gates of two products each
    with projections    4·n²·d + 8·n·d², 16·n·d²   at n = 2·d    queries, keys, values and output besides
"""

import math
from collections.abc import Callable, Sequence

import torch

from bakeoff.claims import operations, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.in_turns import Session, time_in_turns
from bakeoff.claims.operations import Counted
from bakeoff.claims.pictures import Lines, Series
from bakeoff.models.attention import MultiHeadAttention
from bakeoff.models.bilstm import Onward
from bakeoff.probes import peak

WIDTH = 64
"""Of one head, as the product's encoders have them."""
TIMED = {"small": tuple(2**power for power in range(8, 13)), "full": tuple(2**power for power in range(8, 16))}
SECONDS = {"small": 6.0, "full": 120.0}
"""The longest that one of the two is timed at one length."""
COUNTED_WIDTH = 16
GROWTH = 1.9
"""A tensor that grows with the square of the length has an exponent of 2; by this exponent it counts as one."""


def leading_attention(n: int, d: int) -> int:
    """The term of attention that grows with the square of n."""
    return n * n * d


def leading_lstm(n: int, d: int) -> int:
    """The term of recurrence."""
    return n * d * d


def core(n: int, d: int) -> int:
    """Operations of QKᵀ and of the product with V, over all heads."""
    return 4 * n * n * d


def attention_flops(n: int, d: int) -> int:
    """The core, and four projections of (n, d) by (d, d)."""
    return core(n, d) + 8 * n * d * d


def lstm_flops(n: int, d: int) -> int:
    """Operations of one direction: each token, four gates, a product with the input and one with the state."""
    return 16 * n * d * d


def crossing(dear: Callable[[int, int], int], cheap: Callable[[int, int], int], d: int) -> int:
    """The largest n at which `dear` is not above `cheap`, both of (n, d)."""
    n = 1
    while dear(n + 1, d) <= cheap(n + 1, d):
        n += 1
    return n


def measure(bench: Bench) -> Answer:
    """Judged: what is counted. The figure is the crossing of the leading terms in widths; time is printed beside it."""
    d = COUNTED_WIDTH
    crossings = {
        "leading terms": crossing(leading_attention, leading_lstm, d) / d,
        "core": crossing(core, lstm_flops, d) / d,
        "with projections": crossing(attention_flops, lstm_flops, d) / d,
    }
    lengths = (d, 2 * d, 4 * d)
    counted = {n: (count_attention(n, d, fused=False), count_lstm(n, d)) for n in lengths}
    agree = all(one.flops == attention_flops(n, d) and other.flops == lstm_flops(n, d) for n, (one, other) in counted.items())
    growth = {fused: _growth(fused=fused) for fused in (False, True)}
    as_said = list(crossings.values()) == [1.0, 4.0, 2.0]
    bench.say("quadratic: attention and an LSTM in turns")
    session = _session(TIMED[bench.size], seconds=SECONDS[bench.size])
    slower = time_crossing(session, TIMED[bench.size])
    return Answer(
        verdict=rules.exact(as_said and agree and growth[False] >= GROWTH > growth[True]),
        figure=crossings["leading terms"],
        unit="× d",
        interval=None,
        seen=f"The leading terms cross at n = d, with their constants at n = {crossings['core']:g}·d (core) and "
        f"n = {crossings['with projections']:g}·d (with projections); products counted in cells written out "
        f"{'are' if agree else 'are not'} those of the formulas. At d = {WIDTH} on one thread attention takes longer {slower}. Its largest "
        f"tensor grows as n^{growth[False]:.1f} unfused and n^{growth[True]:.1f} fused.",
        dataset=None,
        rows=tuple(_row(session, n) for n in TIMED[bench.size]),
        pictures=(_picture(session, TIMED[bench.size]),),
        notes=(
            "By how much the process grows is what the system says, which is nothing where memory that was freed is taken again.",
            *(() if session.note is None else (session.note,)),
        ),
    )


def count_attention(n: int, d: int, *, fused: bool) -> Counted:
    """What the product's attention of one head takes."""
    attention = MultiHeadAttention(d, 1).eval()
    attention.fused = fused
    states = torch.zeros(1, n, d)
    return operations.count(lambda: attention(states))


def count_lstm(n: int, d: int) -> Counted:
    """What the product's LSTM of one direction takes, written out."""
    lstm, states = Onward(d, d).forwards, torch.zeros(1, n, d)
    return operations.count(lambda: operations.write_out(lstm, states))


def time_crossing(session: Session, lengths: Sequence[int]) -> str:
    """From how many tokens attention takes longer, by straight lines between logarithms; never beyond what was timed."""
    ratios = {n: session.ratio(f"attention@{n}", f"LSTM@{n}") for n in lengths}
    middle = _first_above([(n, ratio.value) for n, ratio in ratios.items()])
    low = _first_above([(n, ratio.interval.high) for n, ratio in ratios.items()])
    high = _first_above([(n, ratio.interval.low) for n, ratio in ratios.items()])
    if middle is None:
        return f"at none of the lengths up to {lengths[-1]:,}"
    ends = f"{low or middle:,.0f} to " + (f"{high:,.0f}" if high is not None else f"> {lengths[-1]:,}")
    return f"from {middle:,.0f} tokens on ({ends}), {middle / WIDTH:.0f} times d"


def _first_above(points: Sequence[tuple[int, float]]) -> float | None:
    """Where a ratio crosses 1 from below, by the logarithms of (tokens, ratio); None where it stays at or below 1."""
    before: tuple[int, float] | None = None
    for n, ratio in points:
        if ratio > 1:
            if before is None:
                return float(n)
            share = math.log(before[1]) / (math.log(before[1]) - math.log(ratio))
            return float(before[0] * (n / before[0]) ** share)
        before = (n, ratio)
    return None


def _growth(*, fused: bool, n: int = 1024) -> float:
    """The exponent with which attention's largest tensor grows from n to 2·n tokens."""
    small, large = (count_attention(each, WIDTH, fused=fused).largest_tensor_bytes for each in (n, 2 * n))
    return math.log2(large / small)


def _session(lengths: Sequence[int], *, seconds: float) -> Session:
    calls: dict[str, Callable[[], object]] = {}
    torch.manual_seed(0)
    attention, lstm = MultiHeadAttention(WIDTH, 1).eval(), Onward(WIDTH, WIDTH).eval()
    for n in lengths:
        states = torch.randn(1, n, WIDTH)
        calls[f"attention@{n}"] = _call(attention, states)
        calls[f"LSTM@{n}"] = _call(lstm.forwards, states)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return time_in_turns(calls, seconds=seconds)
    finally:
        torch.set_num_threads(threads)


def _call(brick: torch.nn.Module, states: torch.Tensor) -> Callable[[], object]:
    def call() -> object:
        with torch.inference_mode():
            return brick(states)

    return call


def _row(session: Session, n: int) -> dict[str, str | float | int | None]:
    ratio = session.ratio(f"attention@{n}", f"LSTM@{n}")
    return {
        "tokens": n,
        "attention_flops": attention_flops(n, WIDTH),
        "lstm_flops": lstm_flops(n, WIDTH),
        "attention_ms": session.p50_ms(f"attention@{n}"),
        "lstm_ms": session.p50_ms(f"LSTM@{n}"),
        "times": ratio.value,
        "low": ratio.interval.low,
        "high": ratio.interval.high,
        "samples": min(session.n(f"attention@{n}"), session.n(f"LSTM@{n}")),
        "unfused_largest_tensor_mb": count_attention(n, WIDTH, fused=False).largest_tensor_bytes / 1e6,
        "fused_largest_tensor_mb": count_attention(n, WIDTH, fused=True).largest_tensor_bytes / 1e6,
        "unfused_process_growth_mb": _peak_mb(n, fused=False),
        "fused_process_growth_mb": _peak_mb(n, fused=True),
    }


def _peak_mb(n: int, *, fused: bool) -> float | None:
    """By how much the memory of this process grows while attention reads n tokens; None where the system does not tell."""
    attention = MultiHeadAttention(WIDTH, 1).eval()
    attention.fused = fused
    states = torch.zeros(1, n, WIDTH)
    if not peak.forget("cpu"):
        return None
    before = peak.memory_mb("cpu")
    with torch.inference_mode():
        attention(states)
    return round(peak.memory_mb("cpu") - before, 1)


def _picture(session: Session, lengths: Sequence[int]) -> Lines:
    x = tuple(float(n) for n in lengths)
    names = ("attention", "LSTM")
    series = tuple(Series(label=name, x=x, y=tuple(session.p50_ms(f"{name}@{n}") for n in lengths)) for name in names)
    return Lines(
        title=f"Time against length, d = {WIDTH}, one document at a time on one CPU thread",
        x_label="tokens",
        y_label="ms (median)",
        series=series,
        log_x=True,
        log_y=True,
    )


CLAIM = Claim(
    name="quadratic",
    statement="Attention is more expensive in raw arithmetic once n exceeds d, and n² is what caps the window.",
    kind="cost",
    rule="Holds if the leading terms cross at n = d exactly, with constants at 4·d (core) and 2·d (with projections), the formulas are "
    f"what is counted in cells written out, and attention's largest tensor grows with an exponent of at least {GROWTH} unfused, "
    "and of less fused.",
    seconds={"small": 60, "full": 1800},
    measure=measure,
)
