"""The field of candidates that `bakeoff decide` may bake, each an ordinary cell of a sweep."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bakeoff.report.summary import Labels
from bakeoff.sweep import Cell, Sweep

FLOORS = ("majority", "tfidf", "frozen")
"""What is cheap on every label; `zero_shot`, which reads none, stands beside them."""
UNLABELLED = "zero_shot"
TRAINED = ("bilstm", "pretrained", "distilled_bilstm")
"""Trained by steps, in the order in which they are baked: the last is taught by the one before."""
READINGS = {"frozen": ("head_tail", "head_512", "windows_mean_embeddings"), "pretrained": ("head_tail", "head_512", "windows")}
"""How else the models whose own reading cuts documents may read them, cheapest first."""
TIMED = ("tfidf", "bilstm", "frozen", "pretrained")
"""Whose architectures are timed; `distilled_bilstm` has that of `bilstm`, and zero-shot models have no latency probe."""
MOST_SEEDS, SMALLER_SEEDS = 10, 2
"""Draws that any recommendation asks for, and those of smaller budgets."""
Candidate = tuple[str, str | None]
"""Model and reading: what competes."""
LONG_SHARE = 0.05
"""Other readings are tried where more than this share of documents is cut."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One Run that may be worth its time: what differs from the others of this decision."""

    model: str
    reading: str | None = None
    """A choice of the longdoc group; null is the model's own."""
    labels: Labels = "all"
    seed: int = 0
    asks: Literal["quality", "latency"] = "quality"
    threads: int = 1
    """CPU threads of a latency Run; quality Runs have one, so that several stand side by side."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Of a latency Run."""

    @property
    def candidate(self) -> Candidate:
        """Model and reading: what competes."""
        return self.model, self.reading

    @property
    def label(self) -> str:
        """What a person calls the candidate."""
        return self.model if self.reading is None else f"{self.model} · {self.reading.replace('_', ' ')}"

    @property
    def title(self) -> str:
        """`pretrained, all labels, seed 1`."""
        if self.asks == "latency":
            return f"{self.label}, timed"
        count = "all labels" if self.labels == "all" else f"{self.labels:,} labels" if isinstance(self.labels, int) else self.labels
        return f"{self.label}, {'no label' if self.labels == 0 else f'{count}, seed {self.seed}'}"

    @property
    def settings(self) -> dict[str, str]:
        """Its overrides: key → value."""
        found = {"model": self.model}
        if self.reading is not None:
            found["longdoc"] = self.reading
        if self.asks == "latency":
            found |= {"probe": "latency", "probe.threads": str(self.threads)}
            return found | ({} if self.device == "cpu" else {"probe.device": self.device})
        return found | {"budget.labels": str(self.labels), "seed": str(self.seed)}

    @property
    def overrides(self) -> tuple[str, ...]:
        """As Hydra reads them."""
        return tuple(f"{key}={value}" for key, value in self.settings.items())


def floors() -> tuple[Offer, ...]:
    """What stands beneath all others, cheapest first."""
    return (*(Offer(model=name) for name in FLOORS[:2]), Offer(model=UNLABELLED, labels=0), *(Offer(model=name) for name in FLOORS[2:]))


def trained() -> tuple[Offer, ...]:
    """One draw of each model that is trained by steps."""
    return tuple(Offer(model=name) for name in TRAINED)


def readings() -> tuple[Offer, ...]:
    """Other readings of long documents: of the frozen encoder first, which is the cheapest way to see whether they help."""
    return tuple(Offer(model=model, reading=reading) for model, own in READINGS.items() for reading in own)


def timings(*, threads: int, device: Literal["cpu", "cuda"], long: bool) -> tuple[Offer, ...]:
    """The architectures to time, cheapest first; with `long` documents the other readings too."""
    every = [(model, None) for model in TIMED] + ([each.candidate for each in readings()] if long else [])
    return tuple(
        Offer(model=model, reading=reading, asks="latency", threads=threads, device=device)
        for model, reading in every
        if device == "cpu" or model != "tfidf"  # which has no forward pass to put there
    )


def universe(labels: Iterable[Labels], *, long: bool) -> Iterator[Offer]:
    """Every quality Run that a decision may come to, at these numbers of labels: what it looks for in the store.

    Other readings are among them where documents are `long`.
    """
    yield Offer(model=UNLABELLED, labels=0)
    competing = [(model, None) for model in (*FLOORS, *TRAINED)] + ([each.candidate for each in readings()] if long else [])
    for n in labels:
        yield from (
            Offer(model=model, reading=reading, labels=n, seed=seed)
            for model, reading in competing
            for seed in range(MOST_SEEDS if n == "all" else SMALLER_SEEDS)
        )


def timed_as(offer: Offer) -> Candidate:
    """The candidate whose latency is that of this one."""
    return ("bilstm" if offer.model == "distilled_bilstm" else offer.model), offer.reading


def grids(offers: Iterable[Offer]) -> list[tuple[Offer, ...]]:
    """Offers in rectangular grids, such as sweep files hold: models that have everything but their name alike, in order."""
    by_model: dict[tuple[tuple[str, str], ...], dict[str, list[Offer]]] = {}
    for offer in offers:
        shared = tuple((key, value) for key, value in offer.settings.items() if key not in ("model", "seed"))
        by_model.setdefault(shared, {}).setdefault(offer.model, []).append(offer)
    found: list[tuple[Offer, ...]] = []
    for models in by_model.values():
        by_seeds: dict[tuple[int, ...], list[Offer]] = {}
        for own in models.values():
            ordered = sorted(own, key=lambda each: each.seed)
            by_seeds.setdefault(tuple(each.seed for each in ordered), []).extend(ordered)
        found += [tuple(members) for members in by_seeds.values()]
    return found


def parameters(grid: Iterable[Offer], base: Mapping[str, str]) -> dict[str, list[str]]:
    """The parameters of a grid's sweep file: those of the dataset, then each key with the values it takes."""
    values: dict[str, dict[str, None]] = {key: {value: None} for key, value in base.items()}
    for offer in grid:
        for key, value in offer.settings.items():
            values.setdefault(key, {})[value] = None
    return {key: list(each) for key, each in values.items()}


def sweep_of(name: str, path: str, cells: Iterable[Cell]) -> Sweep:
    """The sweep that a written file is."""
    return Sweep(name=name, description="", path=path, cells=tuple(cells))
