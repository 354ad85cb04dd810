"""Claim: information n positions away takes n steps of a recurrent network, and one of attention.

Varied: the distance between two tokens. Measured: the shortest path between them over which one update of the product's LSTM, or one
layer of its attention, carries anything; and the gradient norm from the last state to each input, for the same reader on either.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse.csgraph import shortest_path

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.claims.pictures import Lines, Series
from bakeoff.data.tokens import split_words
from bakeoff.models import pooling
from bakeoff.models.attention import MultiHeadAttention
from bakeoff.models.bilstm import Onward
from bakeoff.models.transformer import TransformerEncoder

SENTENCE = (
    "The report that the committee, after months of deliberation and three separate rounds of public consultation, finally published last "
    "Tuesday was widely condemned."
)
FROM, TO, APART = "report", "was", 21
WIDTH, HEADS, TOKENS = 64, 4, 129
DOCUMENTS = 8
NEAR, FAR = 1, 100
"""Distances whose gradients are compared: how much of what arrives from the token before the last one arrives from far away."""
SHOWN = tuple(range(1, TOKENS, 4))

Steps = Callable[[torch.Tensor], torch.Tensor]
"""States (documents, tokens, width) of inputs of that shape."""


def places() -> tuple[int, int]:
    """Where the two words of the sentence stand, counted in words and punctuation marks as the product does."""
    words = split_words(SENTENCE)
    return words.index(FROM), words.index(TO)


def recurrent_edges(tokens: int) -> npt.NDArray[np.bool_]:
    """(tokens, tokens): whether one update carries anything from place i to place j; found by differentiating each update."""
    with toys.seeded(0), toys.double_precision():
        lstm = Onward(WIDTH, WIDTH).forwards
        inputs = torch.randn(1, tokens, WIDTH)
    edges = np.zeros((tokens, tokens), dtype=np.bool_)
    state = (inputs.new_zeros(1, 1, WIDTH), inputs.new_zeros(1, 1, WIDTH))
    for j in range(tokens):
        before = tuple(part.detach().requires_grad_() for part in state)
        after, state = lstm(inputs[:, j : j + 1], before)
        found = torch.autograd.grad(after.sum(), before)
        edges[j - 1, j] = j > 0 and any(bool(gradient.any()) for gradient in found)
    return edges


def attention_edges(tokens: int) -> npt.NDArray[np.bool_]:
    """(tokens, tokens): whether one layer carries anything from place i to place j."""
    with toys.seeded(0), toys.double_precision():
        attention = MultiHeadAttention(WIDTH, HEADS)
        inputs = torch.randn(1, tokens, WIDTH, requires_grad=True)
    states = attention(inputs)
    columns = [torch.autograd.grad(states[0, j].sum(), inputs, retain_graph=True)[0][0].abs().amax(dim=1) > 0 for j in range(tokens)]
    return torch.stack(columns, dim=1).numpy()


def hops(edges: npt.NDArray[np.bool_], start: int, end: int) -> int | None:
    """Edges of the shortest path from one place to another; None where there is none."""
    found = shortest_path(edges, unweighted=True, indices=start)[end]
    return int(found) if np.isfinite(found) else None


def gradients(steps: Steps, *, seed: int) -> npt.NDArray[np.float64]:
    """Norm of the gradient of the last state to the input at each distance from it, (tokens,), root mean square over documents.

    The state is read as a head reads it, by one random direction a document, so that every number of it counts alike.
    """
    random = torch.Generator().manual_seed(seed)
    inputs = torch.randn(DOCUMENTS, TOKENS, WIDTH, generator=random, dtype=torch.float64).requires_grad_()
    direction = torch.randn(DOCUMENTS, WIDTH, generator=random, dtype=torch.float64)
    mask = torch.ones(DOCUMENTS, TOKENS, dtype=torch.bool)
    last = pooling.over_time(steps(inputs), mask, how="last")
    found = torch.autograd.grad((last * direction).sum(), inputs)[0].norm(dim=2)
    by_distance: npt.NDArray[np.float64] = found.square().mean(dim=0).sqrt().flip(0).numpy()
    return by_distance


def readers(seed: int) -> dict[str, Steps]:
    """One layer of each, untrained, in float64."""
    lengths = torch.full((DOCUMENTS,), TOKENS)
    with toys.seeded(seed), toys.double_precision():
        lstm = Onward(WIDTH, WIDTH)
        encoder = TransformerEncoder(width=WIDTH, layers=1, heads=HEADS, feed_forward=4 * WIDTH, positions="sinusoidal")

    def attend(inputs: torch.Tensor) -> torch.Tensor:
        with toys.double_precision():
            states: torch.Tensor = encoder(inputs)
        return states

    return {"LSTM, one direction": lambda inputs: lstm(inputs, lengths), "attention": attend}


def measure(bench: Bench) -> Answer:
    start, end = places()
    tokens = len(split_words(SENTENCE))
    recurrent, attention = recurrent_edges(tokens), attention_edges(tokens)
    every = [(i, j) for i in range(tokens) for j in range(i + 1, tokens)]
    exact = end - start == APART and all(hops(recurrent, i, j) == j - i and hops(attention, i, j) == 1 for i, j in every)
    norms: dict[str, list[npt.NDArray[np.float64]]] = {}
    for seed in range(toys.DRAWS):
        for name, steps in readers(seed).items():
            norms.setdefault(name, []).append(gradients(steps, seed=seed))
    kept = {name: [float(each[FAR] / each[NEAR]) for each in found] for name, found in norms.items()}
    found = rules.times_over_draws([b / a for a, b in zip(*kept.values(), strict=True)])
    of = {name: rules.times_over_draws(each).figure for name, each in kept.items()}
    lstm, attends = of.values()
    return Answer(
        verdict=rules.all_of([rules.exact(exact), rules.above(1, found.interval)]),
        figure=found.figure,
        unit="×",
        interval=found.interval,
        seen=(
            f"“{FROM}” is {hops(recurrent, start, end)} updates from “{TO}” in a recurrent network and {hops(attention, start, end)} "
            f"layer in attention. Of the gradient at distance {NEAR} an untrained LSTM passes {phrases.tiny(lstm)} on to distance "
            f"{FAR}, attention {attends:.2f}: {phrases.tiny(found.figure)} times as much."
        ),
        dataset=None,
        rows=tuple(
            {"reader": name, "draw": seed, "gradient at 1": float(each[1]), "at 10": float(each[10]), "at 100": float(each[100])}
            for name, draws in norms.items()
            for seed, each in enumerate(draws)
        ),
        detectable=found.detectable,
        pictures=(_picture(norms),),
        notes=("Both readers are as they start: training can lengthen an LSTM's memory, which the needle claim measures.",),
    )


def _picture(norms: dict[str, list[npt.NDArray[np.float64]]]) -> Lines:
    series = []
    for name, draws in norms.items():
        found = [rules.times_over_draws([float(each[distance]) for each in draws]) for distance in SHOWN]
        series.append(
            Series(
                label=name,
                x=tuple(float(distance) for distance in SHOWN),
                y=tuple(each.figure for each in found),
                low=tuple(each.interval.low for each in found),
                high=tuple(each.interval.high for each in found),
            )
        )
    return Lines(
        title="Gradient from the last state to an input",
        x_label="distance (tokens)",
        y_label="gradient norm",
        series=tuple(series),
        log_y=True,
    )


CLAIM = Claim(
    name="path-length",
    statement=(
        "Two tokens n positions apart are n steps apart for recurrence, and one for attention, and the gradient thins out with the steps."
    ),
    kind="mechanism",
    rule=(
        "Holds if the shortest path between all two tokens of the sentence is their distance (21 from report to was condemned) for the "
        "LSTM and 1 for attention, and attention passes a larger share of its gradient at distance 1 on to distance 100 (95% interval "
        "over draws)."
    ),
    seconds={"small": 2, "full": 2},
    measure=measure,
)
