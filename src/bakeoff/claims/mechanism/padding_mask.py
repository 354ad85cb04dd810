"""Claim: without the mask, padding leaks into every token with no error, only a model that is quietly worse on short texts.

Varied: whether the model is told how long each text of a batch is. Measured: how far a text's logits move when it stands beside one of 500
tokens, for every neural model of the product; and the accuracy lost on the shortest quarter of generated texts, in batches that mix
lengths, by a transformer that trains and answers without the mask.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.nn import functional

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import every_model, toys
from bakeoff.claims.mechanism.every_model import Toy
from bakeoff.data.batches import pad
from bakeoff.models.scratch import ScratchClassifier

SHORT, LONG = 7, 500
"""Tokens of the text, and of the one beside it."""
SAME = 1e-5
SHORTEST, LONGEST = 4, 48
"""Words of the generated texts."""
TRAINED, TEST, BATCH, STEPS = 1_024, 2_048, 32, 60
TEST_SEEDS = 1_000


@dataclass(frozen=True, kw_only=True)
class Leak:
    """How far the logits of a text lie, at most, from those it has alone, once it stands beside a long one."""

    masked: float
    unmasked: float
    size: float
    """The largest of the logits that it has alone."""


@toys.one_thread()
def leak(toy: Toy) -> Leak:
    """Of one model, in float32; without the mask it is told that the text is as long as the batch."""
    random = torch.Generator().manual_seed(0)
    texts = []
    for tokens in (SHORT, LONG):
        words = torch.randint(every_model.FIRST_WORD, toys.VOCABULARY, (tokens - 2,), generator=random)
        texts.append(torch.cat([torch.tensor([every_model.PREFIX]), words, torch.tensor([every_model.SUFFIX])]))
    ids, lengths = pad([text.numpy() for text in texts], toy.pad_id)
    with torch.inference_mode():
        alone = toy.module(texts[0][None], lengths[:1])[0]
        beside = toy.module(ids, lengths)[0]
        unmasked = toy.module(ids, torch.full_like(lengths, LONG))[0]
    return Leak(masked=float((beside - alone).abs().max()), unmasked=float((unmasked - alone).abs().max()), size=float(alone.abs().max()))


def least_reached() -> float:
    """By how much, at least, a real token's state changes without the mask, over the tokens of the text."""
    with toys.seeded(0):
        model = ScratchClassifier(toys.scratch(), vocabulary_size=toys.VOCABULARY, n_classes=2, pad_id=0).eval()
    text = torch.arange(1, SHORT + 1)[None]
    ids = functional.pad(text, (0, LONG - SHORT))
    with torch.inference_mode():
        alone, unmasked = model.encode(text, torch.tensor([SHORT])), model.encode(ids, torch.tensor([LONG]))
    return float((unmasked[:, :SHORT] - alone).abs().amax(dim=2).min())


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Accuracy on the test texts of a draw."""

    shortest: float
    """Of the shortest quarter."""
    longest: float
    """Of the longest quarter."""


@toys.one_thread()
def scores(*, masked: bool, seed: int, steps: int = STEPS) -> Scores:
    """Of a transformer that trains and answers with the mask or without, in batches of mixed lengths.

    It answers from the first token's state, so that only attention sees the padding.
    """
    with toys.seeded(seed):
        spec = toys.scratch(pooling="cls", layers=1)
        model = ScratchClassifier(spec, vocabulary_size=toys.VOCABULARY, n_classes=2, pad_id=0)
    documents = toys.reviews(TRAINED, shortest=SHORTEST, longest=LONGEST, seed=seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    batches = _batches(documents, seed=seed)
    for _ in range(steps):
        batch = next(batches)
        loss = functional.cross_entropy(_answer(model, batch, masked=masked), batch.labels)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    test = toys.reviews(TEST, shortest=SHORTEST, longest=LONGEST, seed=TEST_SEEDS + seed)
    with torch.inference_mode():  # one batch of all of them mixes lengths as much as can be
        right = (_answer(model, test, masked=masked).argmax(dim=1) == test.labels).double()
    by_length = right[test.lengths.argsort(stable=True)]
    return Scores(shortest=float(by_length[: TEST // 4].mean()), longest=float(by_length[-TEST // 4 :].mean()))


def _answer(model: ScratchClassifier, batch: toys.Reviews, *, masked: bool) -> torch.Tensor:
    longest = int(batch.lengths.max())
    lengths = batch.lengths if masked else torch.full_like(batch.lengths, longest)
    logits: torch.Tensor = model(batch.ids[:, :longest], lengths)
    return logits


def _batches(documents: toys.Reviews, *, seed: int) -> Iterator[toys.Reviews]:
    """Documents in a new order each epoch, whatever their lengths."""
    random = torch.Generator().manual_seed(seed)
    while True:
        for rows in torch.split(torch.randperm(len(documents.labels), generator=random), BATCH):
            yield toys.Reviews(ids=documents.ids[rows], lengths=documents.lengths[rows], labels=documents.labels[rows])


def measure(bench: Bench) -> Answer:
    leaks = {f"{toy.kind}: {toy.name}": leak(toy) for toy in every_model.every()}
    exact = all(each.masked < SAME < each.unmasked for each in leaks.values()) and least_reached() > SAME
    bench.say(f"padding-mask: {len(leaks)} models compared; training with and without the mask")
    masked = [scores(masked=True, seed=seed) for seed in range(toys.DRAWS)]
    unmasked = [scores(masked=False, seed=seed) for seed in range(toys.DRAWS)]
    lost = rules.over_draws([100 * (a.shortest - b.shortest) for a, b in zip(masked, unmasked, strict=True)])
    long = rules.over_draws([100 * (a.longest - b.longest) for a, b in zip(masked, unmasked, strict=True)])
    worst, weakest = max(each.masked for each in leaks.values()), min(each.unmasked for each in leaks.values())
    return Answer(
        verdict=rules.all_of([rules.exact(exact), rules.above(0, lost.interval)]),
        figure=lost.figure,
        unit="points",
        interval=lost.interval,
        seen=(
            f"With the mask the logits of a text beside one of {LONG} tokens move by at most {phrases.tiny(worst)} in {len(leaks)} "
            f"models; without it by at least {phrases.tiny(weakest)}, and no error is raised. "
            f"A transformer trained without it in batches of mixed lengths loses {lost.figure:.1f} points on the shortest quarter of "
            f"generated texts and {long.figure:.1f} on the longest."
        ),
        dataset=None,
        rows=tuple(
            {"model": name, "moved with the mask": each.masked, "moved without": each.unmasked, "largest logit": each.size}
            for name, each in leaks.items()
        ),
        detectable=lost.detectable,
        notes=tuple(
            f"Draw {seed}: {a.shortest:.1%} right on the shortest quarter with the mask, {b.shortest:.1%} without."
            for seed, (a, b) in enumerate(zip(masked, unmasked, strict=True))
        ),
    )


CLAIM = Claim(
    name="padding-mask",
    statement=(
        "Without the mask padding leaks into every token: no error, only a model that is quietly worse on short texts among long ones."
    ),
    kind="mechanism",
    rule=(
        "Holds if for every model of the product a text's logits beside one of 500 tokens equal those it has alone to 1e-5 with the mask "
        "and differ without, and a transformer without it is right less often on the shortest quarter (95% interval over draws, paired, "
        "above 0)."
    ),
    seconds={"small": 15, "full": 15},
    measure=measure,
)
