"""Claim: a table of learned positions ends at its length; sinusoidal and rotary positions have no end.

Varied: the kind of positions, and documents of n_max and n_max + 1 tokens. Measured: what the product says to each, whether the other
kinds read on, and by how much the product of a rotated query and key changes when both move.
"""

import torch

from bakeoff import fingerprint
from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.data.checks import check
from bakeoff.errors import NotApplicable
from bakeoff.models.attention import Rotary
from bakeoff.models.build import build
from bakeoff.spec import Budget, Dataset, LongDoc, Needle, Quality, Run, identity

MOST = 64
"""Rows of the table."""
WIDTH, MOVES = 32, (1, 7, 64, 500)
CLOSE = 1e-10
ENDLESS = ("sinusoidal", "rotary")

_NEEDLE = Needle(length_tokens=MOST + 1, distance_tokens=8, train_rows=16, test_rows=8, seed=0)
_DATASET = Dataset(
    name="needle",
    description="generated documents that two words decide",
    family="needle",
    redistributable=True,
    metric="accuracy",
    asset=None,
    path=None,
    test_path=None,
    format="needle",
    needle=_NEEDLE,
    fingerprint=fingerprint.of_generated(identity(_NEEDLE)),
    text=None,
    label=None,
    group=None,
    encoding="utf-8",
    label_map={},
    split="official",
    fold=None,
    held_out_rows=None,
)


def refusal(tokens: int) -> str | None:
    """What the product answers to a Run that reads so many tokens with a table of MOST positions; None where it starts."""
    run = Run(
        dataset=_DATASET,
        budget=Budget(labels=16, draw=0, order="stratified", unlabelled="none"),
        model=toys.scratch(positions="learned", max_positions=MOST),
        longdoc=LongDoc(strategy="head", max_tokens=tokens),
        probe=Quality(threads=1),
        seed=0,
    )
    try:
        check(run)
    except NotApplicable as refused:
        return str(refused)
    return None


def reads(positions: str, tokens: int) -> bool:
    """Whether the model itself gives finite logits for a document of so many tokens; its table of learned positions has MOST rows."""
    with toys.seeded(0):
        spec = toys.scratch(positions=positions, max_positions=MOST if positions == "learned" else None)
        model = build(spec, n_classes=2, vocabulary_size=toys.VOCABULARY, pad_id=0, folder=None).eval()
    try:
        with torch.inference_mode():
            return bool(model(torch.ones(1, tokens, dtype=torch.long), torch.tensor([tokens])).isfinite().all())
    except IndexError:
        return False


def rotary_change(move: int, *, positions: int = MOST) -> float:
    """By how much the score of any query and key changes, at most, when both stand `move` positions later, in float64."""
    scores = _scores(positions + move)
    return float((scores[move:, move:] - scores[:positions, :positions]).abs().max())


def rotary_apart() -> float:
    """By how much the score of a query and key changes, at least, when they move from one place to another apart, in float64."""
    scores = _scores(MOST)[0]
    return float((scores[1:] - scores[0]).abs().min())


def _scores(positions: int) -> torch.Tensor:
    """Of one query and one key at so many positions each, (positions, positions), float64.

    The brick turns numbers of float32 exactly as they are, so the query and the key are such numbers.
    """
    with toys.double_precision(), torch.inference_mode():
        random = torch.Generator().manual_seed(0)
        query, key = (torch.randn(WIDTH, generator=random, dtype=torch.float32).double() for _ in range(2))
        turn = Rotary(WIDTH)
        queries, keys = (turn(vector.expand(1, 1, positions, WIDTH))[0, 0] for vector in (query, key))
        scores: torch.Tensor = queries @ keys.T
        return scores


def measure(bench: Bench) -> Answer:
    said = {tokens: refusal(tokens) for tokens in (MOST, MOST + 1)}
    sentence = said[MOST + 1] or ""
    refused = said[MOST] is None and f"model.max_positions={MOST}" in sentence
    table = reads("learned", MOST) and not reads("learned", MOST + 1)
    others = {kind: reads(kind, 8 * MOST) for kind in ENDLESS}
    changes = {move: rotary_change(move) for move in MOVES}
    worst, apart = max(changes.values()), rotary_apart()
    return Answer(
        verdict=rules.exact(refused and table and all(others.values()) and worst < CLOSE < apart),
        figure=worst,
        unit="",
        interval=None,
        seen=(
            f"A table of {MOST} positions reads {MOST} tokens; {MOST + 1} are refused before anything starts. Sinusoidal and rotary "
            f"positions read {8 * MOST}, and moving a rotated query and key together changes their score by at most {phrases.tiny(worst)}; "
            f"moving one of them changes it by {phrases.tiny(apart)} or more."
        ),
        dataset=None,
        rows=tuple({"query and key later by": move, "largest change of a score": change} for move, change in changes.items()),
        notes=() if not sentence else (f"What the product says to {MOST + 1} tokens: {sentence}.",),
    )


CLAIM = Claim(
    name="learned-limit",
    statement=(
        "A learned position table cannot go past its length; sinusoids and rotary positions can, and rotary scores know distance alone."
    ),
    kind="mechanism",
    rule=(
        "Holds if position n_max + 1 is refused in a sentence that names the table, the other kinds read on, and rotary scores change by "
        "less than 1e-10 in float64 when query and key move together, and by more when one of them moves."
    ),
    seconds={"small": 1, "full": 1},
    measure=measure,
)
