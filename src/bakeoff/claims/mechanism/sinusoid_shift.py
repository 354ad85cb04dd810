"""Claim: in the sinusoidal encoding a fixed offset is one linear map, whatever the position, and low frequencies move slowly.

Varied: the offset. Measured, in float64 on `models.transformer.SinusoidalPositions`: how far the map of an offset k, made from PE(k)
alone, takes any PE(p) from PE(p + k).
"""

import torch

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.claims.pictures import Heatmap
from bakeoff.models.transformer import SinusoidalPositions

WIDTH, POSITIONS = 128, 1_024
OFFSETS = (1, 7, 21, 64, 500)
CLOSE = 1e-10
SHOWN_POSITIONS, SHOWN_NUMBERS = 48, 32


def encoding(*, positions: int = POSITIONS, width: int = WIDTH) -> torch.Tensor:
    """PE (positions, width) in float64, as the brick adds it to nothing."""
    with toys.double_precision():
        placed: torch.Tensor = SinusoidalPositions()(torch.zeros(1, positions, width))
    return placed[0]


def shift(encoded: torch.Tensor, offset: int) -> torch.Tensor:
    """The matrix M (width, width) with PE(p + offset) = PE(p)·M for every p.

    It turns the pair of numbers of each frequency w by w · offset: sin(a + b) = sin a · cos b + cos a · sin b, and cos(a + b) = cos a ·
    cos b − sin a · sin b, with a = w · p. The sine and cosine of b = w · offset are what PE(offset) holds.
    """
    sine, cosine = encoded[offset, 0::2], encoded[offset, 1::2]
    turns = torch.stack([torch.stack([cosine, -sine], dim=1), torch.stack([sine, cosine], dim=1)], dim=1)  # (pairs, from, to)
    matrix: torch.Tensor = torch.block_diag(*turns)  # type: ignore[no-untyped-call]
    return matrix


def error(offset: int, *, positions: int = POSITIONS, width: int = WIDTH) -> float:
    """The largest distance of any number of PE(p)·M from PE(p + offset), over all p."""
    encoded = encoding(positions=positions, width=width)
    return float((encoded[:-offset] @ shift(encoded, offset) - encoded[offset:]).abs().max())


def frequencies(*, width: int = WIDTH) -> torch.Tensor:
    """Radians a position of each pair of numbers, (width / 2,), read from PE(1)."""
    one = encoding(positions=2, width=width)[1]
    return torch.atan2(one[0::2], one[1::2])


def moves(*, width: int = WIDTH) -> torch.Tensor:
    """How far each pair of numbers moves from one position to the next, (width / 2,): the same at every position."""
    steps = encoding(width=width).diff(dim=0).reshape(-1, width // 2, 2)
    return steps.square().sum(dim=2).sqrt().mean(dim=0)


def measure(bench: Bench) -> Answer:
    errors = {offset: error(offset) for offset in OFFSETS}
    found, moved = frequencies(), moves()
    monotone = bool((found.diff() < 0).all() and (moved.diff() < 0).all())
    worst = max(errors.values())
    return Answer(
        verdict=rules.exact(worst < CLOSE and monotone),
        figure=worst,
        unit="",
        interval=None,
        seen=(
            f"One matrix an offset takes PE(p) to PE(p + k) for all {POSITIONS} positions to within {phrases.tiny(worst)}. The fastest "
            f"pair of "
            f"numbers moves by {float(moved[0]):.2f} a position, the slowest by {float(moved[-1]):.5f}."
        ),
        dataset=None,
        rows=tuple({"offset": offset, "largest error": value} for offset, value in errors.items()),
        pictures=(_picture(),),
    )


def _picture() -> Heatmap:
    """From 0, where a sine or cosine is −1, to 1."""
    shown = (1 + encoding(positions=SHOWN_POSITIONS)[:, :: WIDTH // SHOWN_NUMBERS]) / 2
    return Heatmap(
        title="Sinusoidal positions: (1 + PE) / 2, a row a position, every fourth number",
        rows=tuple(str(position) for position in range(SHOWN_POSITIONS)),
        columns=tuple(str(number) for number in range(0, WIDTH, WIDTH // SHOWN_NUMBERS)),
        values=tuple(tuple(row) for row in shown.tolist()),
    )


CLAIM = Claim(
    name="sinusoid-shift",
    statement="A fixed offset is a linear transformation of the sinusoidal encoding, and low frequencies change slowly.",
    kind="mechanism",
    rule="Holds if one matrix an offset maps PE(p) to PE(p + k) for all p to 1e-10 in float64, and frequencies fall from pair to pair.",
    seconds={"small": 1, "full": 1},
    measure=measure,
)
