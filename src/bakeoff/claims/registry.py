"""Every claim by name, in the order of the argument; each is imported only when it is asked for."""

import difflib
import importlib
from collections.abc import Sequence

from bakeoff.claims.claim import Claim, Kind, Size
from bakeoff.errors import ConfigError

BY_KIND: dict[Kind, tuple[str, ...]] = {
    "mechanism": (
        "worked-example",
        "sqrt-dk",
        "heads-for-free",
        "one-head",
        "permutation",
        "sinusoid-shift",
        "learned-limit",
        "padding-mask",
        "masked-lm",
        "path-length",
        "ffn-share",
        "residuals",
    ),
    "cost": (
        "sequential-steps",
        "train-speed",
        "quadratic",
        "inference-cost",
        "single-digit-ms",
        "distilled",
    ),
    "learning": (
        "distilled-again",
        "labels-1000",
        "crossover",
        "learning-rate",
        "recipe",
        "tokeniser",
        "post-pre-norm",
        "positions",
        "encoder-decoder",
        "masked-lm-helps",
        "long-documents",
        "needle",
        "zero-shot-first",
        "typos",
        "nuance",
        "head-roles",
        "agreement",
    ),
}
KIND_OF: dict[str, Kind] = {name: kind for kind, names in BY_KIND.items() for name in names}
NAMES = tuple(KIND_OF)


def module_of(name: str) -> str:
    """The module of a known claim."""
    return f"bakeoff.claims.{KIND_OF[name]}.{name.replace('-', '_')}"


def load(name: str) -> Claim:
    """A known claim, its module imported now."""
    claim: Claim = importlib.import_module(module_of(name)).CLAIM
    return claim


def seconds_together(claims: Sequence[Claim], size: Size) -> float:
    """About how long claims take from nothing, one after another; Runs that several of them bake count once."""
    names = {claim.name for claim in claims}
    return sum(
        claim.seconds[size] - max((shared.get(size, 0.0) for name, shared in claim.shared_seconds.items() if name in names), default=0.0)
        for claim in claims
        if size in claim.seconds
    )


def check_names(names: Sequence[str]) -> None:
    """Raise ConfigError for the first name that is no claim, with the nearest one that is."""
    for name in names:
        if name not in KIND_OF:
            near = difflib.get_close_matches(name.replace("_", "-"), NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}"
            raise ConfigError(f"{name} is no claim; {hint}")
