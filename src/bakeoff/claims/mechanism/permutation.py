"""Claim: without positions, attention gives shuffled tokens the same outputs, shuffled alike; a BiLSTM does not.

Varied: the order of "dog bites man". Measured, in float64: how far the outputs of each word change from one order to another.
"""

import torch
from torch import nn

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.models.bilstm import BothWays
from bakeoff.models.transformer import TransformerEncoder

WORDS = ("dog", "bites", "man")
ORDERS = (("man", "bites", "dog"), ("bites", "dog", "man"))
ALIKE = 1e-12
WIDTH, LAYERS = 32, 2


def encoder(positions: str = "none") -> TransformerEncoder:
    """The product's stack of blocks in float64."""
    with toys.seeded(0), toys.double_precision():
        return TransformerEncoder(
            width=WIDTH,
            layers=LAYERS,
            heads=4,
            feed_forward=4 * WIDTH,
            positions=positions,  # type: ignore[arg-type]
            max_positions=len(WORDS) if positions == "learned" else None,
        )


def recurrent() -> BothWays:
    """The product's bidirectional layer in float64."""
    with toys.seeded(0), toys.double_precision():
        return BothWays(WIDTH, WIDTH)


def change(module: nn.Module, order: tuple[str, ...]) -> float:
    """How far any number of any word's output lies from the one that the word has in "dog bites man"."""
    with toys.double_precision(), torch.inference_mode():
        vectors = torch.randn(len(WORDS), WIDTH, generator=torch.Generator().manual_seed(1))
        places = [WORDS.index(word) for word in order]
        before, after = (_read(module, vectors[None, rows]) for rows in (list(range(len(WORDS))), places))
        return float((after - before[:, places]).abs().max())


def _read(module: nn.Module, states: torch.Tensor) -> torch.Tensor:
    read: torch.Tensor = module(states, torch.tensor([states.shape[1]])) if isinstance(module, BothWays) else module(states)
    return read


def measure(bench: Bench) -> Answer:
    readers: dict[str, nn.Module] = {f"attention, positions {kind}": encoder(kind) for kind in ("none", "sinusoidal", "learned", "rotary")}
    readers["BiLSTM"] = recurrent()
    changes = {name: {order: change(module, order) for order in ORDERS} for name, module in readers.items()}
    without = max(changes["attention, positions none"].values())
    others = min(value for name, each in changes.items() if name != "attention, positions none" for value in each.values())
    return Answer(
        verdict=rules.exact(without < ALIKE and others > ALIKE),
        figure=without,
        unit="",
        interval=None,
        seen=(
            f"Without positions no output of a word moves by more than {phrases.tiny(without)} when the words are shuffled; the "
            f"BiLSTM's move by up to {max(changes['BiLSTM'].values()):.2f}."
        ),
        dataset=None,
        rows=tuple(
            {"reader": name, "order": " ".join(order), "largest change of a word's output": value}
            for name, each in changes.items()
            for order, value in each.items()
        ),
    )


CLAIM = Claim(
    name="permutation",
    statement="Without positions, shuffling tokens only shuffles attention's outputs; a recurrent network gets order from reading.",
    kind="mechanism",
    rule="Holds if outputs differ by less than 1e-12 up to the permutation in float64, while a BiLSTM's, and those with positions, differ.",
    seconds={"small": 1, "full": 1},
    measure=measure,
)
