"""Claim: masked language modelling hides 15% of the tokens and recovers them from both sides; a decoder must not see the future.

Varied: which token of a document changes, and whether the model is causal. Measured: how many tokens the product's own masking hides
and what stands in their place; which guesses and which states a changed token reaches, in float64.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.data.masking import NOT_HIDDEN, hide, hiding_of, with_mask
from bakeoff.data.tokens import WordVocabulary
from bakeoff.models.mlm_head import MaskedLanguageModel
from bakeoff.models.scratch import ScratchClassifier

FRACTION, FATES = 0.15, {"mask": 0.8, "another": 0.1, "itself": 0.1}
DOCUMENTS, SHORTEST, LONGEST = 4_000, 20, 100
WORDS = 1_000
ERRORS = 4.0
"""Standard errors that a share may lie from its own."""
TOKENS, HIDDEN = 12, 6
"""Of the document whose tokens are changed one by one, and the one of them that is hidden."""
MASK = toys.VOCABULARY - 1
NOTHING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Masking:
    """What was hidden, over all documents."""

    ordinary: int
    """Tokens that may be hidden."""
    hidden: int
    specials_hidden: int
    fates: dict[str, int]
    """How many of the hidden tokens became what."""
    stand_ins: int
    """Words that another word is drawn from."""

    @property
    def share(self) -> float:
        return self.hidden / self.ordinary


def masked(*, documents: int = DOCUMENTS, seed: int = 0) -> Masking:
    """Documents of an even number of lengths, half of them with unknown words, through the product's masking."""
    vocabulary = with_mask(WordVocabulary(words=tuple(f"word{i}" for i in range(WORDS))))
    hiding = hiding_of(vocabulary, FRACTION)
    random = np.random.default_rng(seed)
    lengths = random.integers(SHORTEST, LONGEST + 1, size=documents)
    ids = random.integers(3, 3 + WORDS, size=(documents, LONGEST))
    ids[::2, 3] = 1  # a word that the vocabulary does not know is special
    real = np.arange(LONGEST) < lengths[:, None]
    ids[~real] = vocabulary.pad_id
    found = hide(ids, lengths, hiding, random)
    # By what stands before the words, and not by what the masking itself takes for special.
    chosen, special = found.targets != NOT_HIDDEN, (ids < 3) | ~real
    mask, itself = found.ids == hiding.mask_id, found.ids == ids
    return Masking(
        ordinary=int((~special).sum()),
        hidden=int(chosen.sum()),
        specials_hidden=int((chosen & special).sum() + (found.ids != ids)[special].sum()),
        fates={
            "mask": int((chosen & mask).sum()),
            "another": int((chosen & ~mask & ~itself).sum()),
            "itself": int((chosen & itself).sum()),
        },
        stand_ins=WORDS,
    )


def errors_away(masking: Masking) -> dict[str, float]:
    """How many standard errors the share hidden and the share of each fate lie from what they should be.

    A drawn word is the hidden one itself once in `stand_ins` times, and is then counted as kept. Each document hides a rounded
    number of its tokens, so that the share hidden varies by rounding alone, less than by independent draws.
    """
    again = FATES["another"] / masking.stand_ins
    shares = {"mask": FATES["mask"], "another": FATES["another"] - again, "itself": FATES["itself"] + again}
    away = {"hidden": _errors(masking.hidden, masking.ordinary, FRACTION)}
    return away | {fate: _errors(masking.fates[fate], masking.hidden, share) for fate, share in shares.items()}


def _errors(count: int, of: int, share: float) -> float:
    return (count / of - share) / math.sqrt(share * (1 - share) / of)


def reach_of_guess() -> dict[int, float]:
    """By how much the guess of the hidden token changes, at most, as each other token of its document changes."""
    classifier = _classifier(causal=False)
    with toys.seeded(1), toys.double_precision():
        model = MaskedLanguageModel(classifier).eval()
    hidden = torch.zeros(1, TOKENS, dtype=torch.bool)
    hidden[0, HIDDEN] = True
    with torch.inference_mode():
        guess = model(_ids(), torch.tensor([TOKENS]), hidden)
        others = [j for j in range(TOKENS) if j != HIDDEN]
        return {j: float((model(_ids(j), torch.tensor([TOKENS]), hidden) - guess).abs().max()) for j in others}


def reach(*, causal: bool) -> torch.Tensor:
    """By how much the state of each token changes, at most, as token j changes: (changed token j, token), float64."""
    classifier = _classifier(causal=causal)
    with torch.inference_mode():
        states = classifier.encode(_ids(), torch.tensor([TOKENS]))[0]
        changed = [classifier.encode(_ids(j), torch.tensor([TOKENS]))[0] for j in range(TOKENS)]
    return torch.stack([(each - states).abs().amax(dim=1) for each in changed])


def _classifier(*, causal: bool) -> ScratchClassifier:
    with toys.seeded(0), toys.double_precision():
        return ScratchClassifier(toys.scratch(causal=causal), vocabulary_size=toys.VOCABULARY, n_classes=2, pad_id=0).eval()


def _ids(changed: int | None = None) -> torch.Tensor:
    """A document of different words, of which HIDDEN is the mask, and one may be changed to a word of no other place."""
    ids = torch.arange(1, TOKENS + 1)[None].clone()
    ids[0, HIDDEN] = MASK
    if changed is not None:
        ids[0, changed] = 1 + TOKENS + changed
    return ids


def measure(bench: Bench) -> Answer:
    found = masked()
    away = errors_away(found)
    with_future, without = reach(causal=False), reach(causal=True)
    ahead = torch.ones(TOKENS, TOKENS).tril(-1).bool()  # token j changed, a token before it
    leak, least = float(without[ahead].max()), float(with_future.min())
    guess = reach_of_guess()
    fates = {fate: count / found.hidden for fate, count in found.fates.items()}
    masking = abs(away["hidden"]) <= ERRORS and all(abs(away[fate]) <= ERRORS for fate in FATES) and found.specials_hidden == 0
    sides = all(change > NOTHING for change in guess.values()) and least > NOTHING
    return Answer(
        verdict=rules.exact(masking and sides and leak < NOTHING),
        figure=100 * found.share,
        unit="%",
        interval=None,
        seen=(
            f"{found.share:.2%} of {found.ordinary:,} tokens are hidden, {found.specials_hidden} of them special. Of the hidden ones "
            f"{fates['mask']:.1%} become the mask, {fates['another']:.1%} another word, and {fates['itself']:.1%} stay. Every token on "
            f"either side changes the guess of a hidden one; in a causal model changing a token changes the states before it by "
            f"{phrases.tiny(leak)}."
        ),
        dataset=None,
        rows=tuple(
            {
                "changed token": j,
                "change of the hidden token's guess": guess.get(j),
                "largest change before it, both sides": _most(with_future[j, :j]),
                "largest change before it, causal": _most(without[j, :j]),
                "largest change behind it, causal": _most(without[j, j + 1 :]),
            }
            for j in range(TOKENS)
        ),
        notes=tuple(f"Share of {name}: {phrases.signed(value)} standard errors from what it should be." for name, value in away.items()),
    )


def _most(changes: torch.Tensor) -> float | None:
    return float(changes.max()) if len(changes) else None


CLAIM = Claim(
    name="masked-lm",
    statement="15% of the tokens are hidden and recovered from both sides; a decoder must not see the future.",
    kind="mechanism",
    rule=(
        "Holds if 15% are hidden, 80/10/10 of them as the mask, another word and themselves (each within 4 standard errors), specials "
        "never, every token reaches a guess, and in a causal model changing a token changes no state before it (1e-12, float64)."
    ),
    seconds={"small": 1, "full": 1},
    measure=measure,
)
