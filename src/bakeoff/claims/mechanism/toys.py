"""Small models of the product's kinds, and generated tasks, that several claims about mechanisms share."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from bakeoff.models.attention import MultiHeadAttention
from bakeoff.spec import BiLstm, LongDoc, Scratch, Training

DRAWS = 5
"""Of data and of first weights together."""
TELLING, NOISE = 8, 32
"""Words that speak for a class, half of them for each; words that say nothing."""
VOCABULARY = 1 + TELLING + NOISE
"""Padding is word 0."""
WIDTH = 32

_FULL = LongDoc(strategy="full", max_tokens=None)
_TRAINING = Training(
    learning_rate=1e-3,
    weight_decay=0.0,
    batch_size=32,
    epochs=1,
    min_steps=1,
    warmup_fraction=0.0,
    schedule="constant",
    clip_norm=1.0,
)
_SCRATCH = Scratch(
    name="scratch",
    default_longdoc=_FULL,
    precision="float32",
    width=WIDTH,
    layers=2,
    heads=2,
    feed_forward=4 * WIDTH,
    positions="sinusoidal",
    max_positions=None,
    norm="before",
    causal=False,
    pooling="mean",
    dropout=0.0,
    vocabulary="words",
    checkpoint=None,
    revision=None,
    checkpoint_fingerprint=None,
    min_count=1,
    max_vocabulary=VOCABULARY,
    training=_TRAINING,
    teacher=None,
    distillation=None,
    start=None,
)
_BILSTM = BiLstm(
    name="bilstm",
    default_longdoc=_FULL,
    precision="float32",
    embedding_dim=WIDTH,
    hidden_dim=WIDTH,
    layers=2,
    pooling="max",
    dropout=0.0,
    min_count=1,
    max_vocabulary=VOCABULARY,
    training=_TRAINING,
)


def scratch(**changes: Any) -> Scratch:
    """A transformer of two layers of width 32, without dropout."""
    return replace(_SCRATCH, **changes)


def bilstm(**changes: Any) -> BiLstm:
    """Two recurrent layers of width 32, without dropout."""
    return replace(_BILSTM, **changes)


@contextlib.contextmanager
def double_precision() -> Iterator[None]:
    """While entered, whatever is made without a type is float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """While entered, weights are drawn from `seed`; what is drawn afterwards does not notice."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def as_printed(found: float, printed: str) -> bool:
    """Whether a number is the printed one to its last digit, such as 3.38e-4 and "3.4e-4"."""
    last_digit = Decimal(printed).as_tuple().exponent
    assert isinstance(last_digit, int), "a number is printed, not a word"
    return abs(found - float(printed)) <= 0.5 * 10.0**last_digit


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """While entered, PyTorch computes on one thread: as fast for models this small, and the same numbers on any number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, kw_only=True)
class Reviews:
    """Documents of two classes. Most words say nothing; of the telling ones more speak for the document's class."""

    ids: torch.Tensor
    """Shape (documents, longest), 0 behind the end of each."""
    lengths: torch.Tensor
    """Shape (documents,)."""
    labels: torch.Tensor
    """Shape (documents,): 0 or 1, as often."""


def reviews(documents: int, *, shortest: int, longest: int, seed: int) -> Reviews:
    """Lengths are even from `shortest` to `longest`; a quarter of the words tell, at least one, and a strict majority of them is right."""
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(shortest, longest + 1, (documents,), generator=random)
    labels = torch.randperm(documents, generator=random) % 2
    telling = (lengths // 4).clamp(min=1)[:, None]
    wrong = (telling - 1) // 2
    rank = _shuffled(lengths, longest, random)  # which of its document's words each is, in an order that says nothing
    words = torch.randint(NOISE, (documents, longest), generator=random) + 1 + TELLING
    side = torch.where(rank < wrong, 1 - labels[:, None], labels[:, None])
    spoken = 1 + side * (TELLING // 2) + torch.randint(TELLING // 2, (documents, longest), generator=random)
    ids = torch.where(rank < telling, spoken, words)
    return Reviews(ids=ids.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths=lengths, labels=labels)


def _shuffled(lengths: torch.Tensor, longest: int, random: torch.Generator) -> torch.Tensor:
    """A shuffled 0 … length − 1 for each document, whatever behind it: (documents, longest)."""
    keys = torch.rand(len(lengths), longest, generator=random).masked_fill(torch.arange(longest) >= lengths[:, None], 2.0)
    return keys.argsort(dim=1).argsort(dim=1)


@dataclass(frozen=True, kw_only=True)
class Questions:
    """Facts, each a name with a value, and questions about some of them, each a relation of its own to one token."""

    names: torch.Tensor
    """Shape (rows, facts): which name each fact has, every one once."""
    values: torch.Tensor
    """Shape (rows, facts)."""
    asked: torch.Tensor
    """Shape (rows, relations): the names that are asked for, all different."""
    answers: torch.Tensor
    """Shape (rows, relations): their values."""


def questions(rows: int, *, facts: int, values: int, relations: int, random: torch.Generator) -> Questions:
    """Drawn evenly, so that `1 / values` of the answers are right by chance."""
    names = torch.rand(rows, facts, generator=random).argsort(dim=1)
    held = torch.randint(values, (rows, facts), generator=random)
    asked = torch.rand(rows, facts, generator=random).argsort(dim=1)[:, :relations]
    places = (names[:, None, :] == asked[:, :, None]).long().argmax(dim=2)
    return Questions(names=names, values=held, asked=asked, answers=held.gather(1, places))


class Reader(nn.Module):
    """One attention layer, from whose last token, which asks, a linear layer answers every relation; no positions."""

    def __init__(self, attention: MultiHeadAttention, *, width: int, facts: int, values: int, relations: int) -> None:
        super().__init__()
        self.names, self.values = nn.Embedding(facts, width), nn.Embedding(values, width)
        self.asked = nn.ModuleList(nn.Embedding(facts, width) for _ in range(relations))
        self.attention = attention
        self.head = nn.Linear(width, relations * values)

    def forward(self, rows: Questions) -> torch.Tensor:
        """Logits (rows, relations, values). Numbers of every token have variance 1, as embeddings have in PyTorch."""
        facts = (self.names(rows.names) + self.values(rows.values)) / math.sqrt(2)
        asks = sum(table(rows.asked[:, i]) for i, table in enumerate(self.asked)) / math.sqrt(len(self.asked))
        states = self.attention(torch.cat([facts, asks[:, None]], dim=1))
        logits: torch.Tensor = self.head(states[:, -1]).unflatten(1, (len(self.asked), -1))
        return logits


@one_thread()
def train_reader(reader: Reader, *, facts: int, values: int, relations: int, steps: int, seed: int) -> list[float]:
    """Loss of each step on new rows, 32 at a time, by Adam at its usual rate (Kingma & Ba, 2015)."""
    optimiser = torch.optim.Adam(reader.parameters(), lr=1e-3, fused=True)
    random = torch.Generator().manual_seed(seed)
    losses = []
    for _ in range(steps):
        rows = questions(32, facts=facts, values=values, relations=relations, random=random)
        loss = functional.cross_entropy(reader(rows).flatten(0, 1), rows.answers.flatten())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses
