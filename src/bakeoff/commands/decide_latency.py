"""How fast each architecture answers the user's documents, before any is trained, in a session that the time allows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.commands.baking import visible_gpus
from bakeoff.deciding.estimates import SECONDS_PER_MODEL, session_seconds
from bakeoff.deciding.offers import Candidate, Offer
from bakeoff.errors import ConfigError
from bakeoff.probes.rules import Rules
from bakeoff.provenance import usable_cpus
from bakeoff.record import Record
from bakeoff.report.choice import MEGABYTE
from bakeoff.report.limits import Limits
from bakeoff.report.words import three_digits

SHARE = 0.25
"""Of the time, for a session at most."""
LEAST_SECONDS, MOST_SECONDS = 3.0, 90.0
"""Of timed turns a model."""
REFERENCE: Candidate = ("bilstm", None)
"""What every session times, asked or not."""
SAMPLES_P95 = ((60.0, 1000), (15.0, 400), (0.0, 200))
"""Seconds a model → samples that a p95 needs: fewer where there is less time, which its interval shows."""


@dataclass(frozen=True, kw_only=True)
class SessionPlan:
    """What one session times, and how much of it."""

    offers: tuple[Offer, ...]
    left_out: tuple[Offer, ...]
    """Cheaper ones first, so these are the last."""
    rules: Rules
    seconds: float
    """What it takes."""

    @property
    def seconds_per_model(self) -> float:
        """Of timed turns."""
        return self.rules.seconds_per_model


def plan_session(offers: Sequence[Offer], *, seconds: float) -> SessionPlan:
    """As many of the offers, which stand cheapest first, as can be timed in these seconds, beside the reference of every session."""
    most = int(seconds / (SECONDS_PER_MODEL + LEAST_SECONDS))
    chosen = tuple(offers[: most if any(_is_reference(offer) for offer in offers[:most]) else max(0, most - 1)])
    models = len(chosen) + (0 if any(_is_reference(offer) for offer in chosen) else 1)
    each = max(LEAST_SECONDS, min(MOST_SECONDS, seconds / models - SECONDS_PER_MODEL)) if chosen else LEAST_SECONDS
    samples = next(samples for least, samples in SAMPLES_P95 if each >= least)
    rules = Rules(
        seconds_per_model=each,
        samples_p90=min(samples, 500),
        samples_p95=samples,
        least_rounds=30,
        warm_up_seconds=min(10.0, each),
        samples_p99=5000,
    )
    return SessionPlan(
        offers=chosen,
        left_out=tuple(offers[len(chosen) :]),
        rules=rules,
        seconds=session_seconds(models, seconds_per_model=each) if chosen else 0.0,
    )


def _is_reference(offer: Offer) -> bool:
    return offer.candidate == REFERENCE


def too_slow(timed: Mapping[Offer, Record], limits: Limits) -> dict[Candidate, str]:
    """Candidate → why it cannot be served within the limits, from the bound that `report.feasible` holds against it.

    The upper end of the 95% interval of p95, or where a model is too slow to have one, the lower end of that of its median. A session
    that other processes disturbed drops nobody.
    """
    found = {}
    for offer, record in timed.items():
        facts, most = record.latency, limits.max_p95_ms
        if facts is None:
            continue
        p95, p50 = (facts.intervals.get(name) for name in ("p95_ms", "p50_ms"))
        if most is not None and not facts.contended:
            if p95 is not None and facts.p95_ms is not None and p95.high > most:
                found[offer.candidate] = (
                    f"p95 of {three_digits(facts.p95_ms)} ms (up to {three_digits(p95.high)}) is above {three_digits(most)} ms"
                )
            elif facts.p95_ms is None and p50 is not None and p50.low > most:
                found[offer.candidate] = f"its median alone, {three_digits(facts.p50_ms)} ms, is above {three_digits(most)} ms"
        size = record.size
        has_own_size = offer.model in ("frozen", "pretrained") and size is not None  # that of others grows with the words they learn
        if limits.max_size_mb is not None and has_own_size and size is not None and size.bytes / MEGABYTE > limits.max_size_mb:
            found.setdefault(offer.candidate, f"{size.bytes / MEGABYTE:.0f} MB is above {limits.max_size_mb:g} MB")
    return found


def check_serving(limits: Limits, threads: int) -> None:
    """Raise ConfigError for what this machine cannot serve with."""
    if limits.device == "cuda" and not visible_gpus():
        raise ConfigError("--device cuda: there is no GPU here, so time on the CPU with --device cpu")
    if threads > usable_cpus():
        raise ConfigError(f"--threads {threads} is more than the {usable_cpus()} CPUs that bakeoff may use here")
