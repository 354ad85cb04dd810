"""Some heads attend to the previous token; many can be pruned.

Varied: how many attention heads of the fine-tuned encoder are taken out, in order of what they are worth on validation rows
(least first), and in random order. Measured: test accuracy; and for each head of the checkpoint as it is published, how much of
its attention goes to the token before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.claims import attention_heads, contrasts, phrases, rules
from bakeoff.claims.claim import Answer, Baked, Bench, Cell, Claim, NotMeasured
from bakeoff.claims.labelled_texts import validation_rows
from bakeoff.claims.pictures import Heatmap, Lines, Series
from bakeoff.claims.rules import Measured
from bakeoff.claims.scores import Scored, all_run_ids, scored
from bakeoff.data import checkpoint, longdoc
from bakeoff.data.saved import read_tokeniser
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.errors import DataError
from bakeoff.models import loading
from bakeoff.models.files import VOCABULARY
from bakeoff.report.stats import Estimate, Floats
from bakeoff.runner.needs import MODEL
from bakeoff.spec import Neural

CHECKPOINT = "minilm-l6"
JUDGED = 0.2
SHARES = (JUDGED, 0.4, 0.6, 0.8)
"""Of all heads."""
LOOKED_AT = 200
"""Test texts on which heads are watched."""
MOSTLY = 0.5
Order = Literal["least worth first", "random"]
ORDERS: tuple[Order, ...] = ("least worth first", "random")


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """What is left of the fine-tuned encoder."""

    whole: Scored
    correct: Mapping[tuple[Order, float], Floats]
    """Order and share of heads removed → 1 where the answer is right, shape (draws, rows)."""

    def accuracy(self, order: Order, share: float) -> Estimate:
        """Without that share of the heads; with all of them at 0."""
        values = self.correct[order, share] if share else self.whole.answers.correct.astype(np.float64)
        return contrasts.mean(values, self.whole.answers, least=0.0, most=1.0)

    def loss(self, order: Order, share: float) -> Measured:
        """Points lost against all heads."""
        lost = self.whole.answers.correct.astype(np.float64) - self.correct[order, share]
        return rules.in_points(contrasts.mean(lost, self.whole.answers))


def measure(bench: Bench) -> Answer:
    """Watch the published heads, then bake with kept weights and take heads out."""
    whole = next(iter(scored(bench.bake("head_roles", keep_weights=True), by=lambda run: run.model.name).values()))
    texts = bench.texts(whole.run)
    ordered = [texts[row] for row in whole.answers.row_ids.tolist()]
    previous = previous_token_weights(ordered[:LOOKED_AT])
    pruned = _prune(bench, whole, ordered)
    loss = pruned.loss("least worth first", JUDGED)
    verdict = rules.within_a_point(loss.interval)
    layer, head = np.unravel_index(int(previous.argmax()), previous.shape)
    return Answer(
        verdict=verdict,
        figure=loss.figure,
        unit="points lost",
        interval=loss.interval,
        seen=(
            f"Without the {100 * JUDGED:.0f}% of heads worth least the encoder {phrases.loses(loss.figure)} "
            f"({phrases.span(loss.interval)}), without as many at random it {phrases.loses(pruned.loss('random', JUDGED).figure)}. Most "
            f"of the "
            f"attention goes to the token before in {int((previous > MOSTLY).sum())} of {previous.size} heads; in head {head} of layer "
            f"{layer} it "
            f"is {100 * float(previous.max()):.0f}%."
        ),
        dataset=whole.run.dataset.name,
        rows=tuple(_row(pruned, order, share) for order in ORDERS for share in SHARES),
        run_ids=all_run_ids([whole]),
        detectable=loss.detectable,
        pictures=(_heads(previous), _curve(pruned)),
        notes=(
            f"Attention is that of {CHECKPOINT} as published, over {min(LOOKED_AT, len(ordered))} test texts, from every token but the "
            "first to the one before; layers and heads are counted from 0.",
            f"Of {previous.size} heads {', '.join(str(_count(share, previous.size)) for share in SHARES)} are taken out, the nearest to "
            f"{', '.join(f'{100 * share:.0f}' for share in SHARES)}%.",
            "A head's worth is the mean size of the slope of the loss in its gate, on the draw's validation rows, scaled within its layer "
            "(Michel, Levy and Neubig, 2019); one random order a draw.",
        ),
    )


def previous_token_weights(texts: Sequence[str]) -> Floats:
    """Of each head, (layers, heads), the mean attention from a text's tokens to the one before, special tokens aside."""
    try:
        folder = checkpoint.resolve(CHECKPOINT, None)
    except DataError as reason:
        raise NotMeasured(str(reason)) from None
    encoder, tokeniser = attention_heads.with_weights(folder), CheckpointTokeniser(folder)
    before, after = len(tokeniser.prefix), len(tokeniser.suffix)
    total, count = np.zeros(attention_heads.shape_of(encoder)), 0
    for own in tokeniser.encode_now(texts):
        ids = np.concatenate([tokeniser.prefix, own, tokeniser.suffix]).astype(np.int32)[: encoder.config.max_position_embeddings]  # type: ignore[union-attr]
        at = np.arange(before + 1, len(ids) - after)
        if len(at):
            weights = attention_heads.attention(encoder, ids)
            total, count = total + weights[:, :, at, at - 1].sum(axis=2), count + len(at)
    return np.asarray(total / max(1, count))


def _prune(bench: Bench, whole: Scored, texts: Sequence[str]) -> Pruned:
    found: dict[tuple[Order, float], list[Floats]] = {(order, share): [] for order in ORDERS for share in SHARES}
    for baked in whole.baked:
        for key, predicted in _without_heads(bench, baked, texts).items():
            found[key].append((predicted == whole.answers.labels).astype(np.float64))
    return Pruned(whole=whole, correct={key: np.stack(each) for key, each in found.items()})


def _without_heads(bench: Bench, baked: Baked, texts: Sequence[str]) -> dict[tuple[Order, float], NDArray[np.int64]]:
    """Class indices of one Run's texts, by order and share of heads removed."""
    run, folder = baked.record.run, baked.folder / MODEL
    assert isinstance(run.model, Neural), "the sweep bakes encoders"
    tokeniser = read_tokeniser(folder, words_in=VOCABULARY)
    classifier = loading.neural(run.model, folder, n_classes=len(baked.record.data.classes), frame=tokeniser).requires_grad_(False)
    chosen = validation_rows(run)
    validation = longdoc.read(chosen.texts, tokeniser, run.longdoc).ids
    worth = attention_heads.importance(classifier, validation, chosen.labels, pad_id=tokeniser.pad_id).ravel()
    orders: dict[Order, NDArray[np.int64]] = {
        "least worth first": np.argsort(worth, kind="stable"),
        "random": np.random.default_rng([run.budget.draw, run.seed]).permutation(worth.size),
    }
    ids, found = longdoc.read(texts, tokeniser, run.longdoc).ids, {}
    for order, heads in orders.items():
        for share in SHARES:
            bench.say(f"head-roles: seed {run.seed} without {100 * share:.0f}% of its heads, {order}")
            removed = heads[: _count(share, len(heads))]
            found[order, share] = attention_heads.answers(classifier, ids, pad_id=tokeniser.pad_id, removed=removed)
    return found


def _count(share: float, of: int) -> int:
    """How many heads a share of them is, to the nearest."""
    return round(share * of)


def _row(pruned: Pruned, order: Order, share: float) -> Mapping[str, Cell]:
    loss = pruned.loss(order, share)
    return {
        "order": order,
        "heads removed, %": round(100 * share),
        "accuracy, %": round(100 * pruned.accuracy(order, share).mean, 1),
        "lost, points": round(loss.figure, 1),
        "from": round(loss.interval.low, 1),
        "to": round(loss.interval.high, 1),
        "draws": len(pruned.whole.baked),
    }


def _heads(previous: Floats) -> Heatmap:
    layers, heads = previous.shape
    return Heatmap(
        title="Attention to the token before, by head",
        rows=tuple(f"layer {layer}" for layer in range(layers)),
        columns=tuple(f"head {head}" for head in range(heads)),
        values=tuple(tuple(float(weight) for weight in row) for row in previous),
    )


def _curve(pruned: Pruned) -> Lines:
    shares, series = (0.0, *SHARES), []
    for order in ORDERS:
        found = [pruned.accuracy(order, share) for share in shares]
        series.append(
            Series(
                label=order,
                x=tuple(100 * share for share in shares),
                y=tuple(100 * one.mean for one in found),
                low=tuple(100 * one.low for one in found),
                high=tuple(100 * one.high for one in found),
            )
        )
    return Lines(title="Accuracy without some heads", x_label="heads removed, %", y_label="test accuracy, %", series=tuple(series))


CLAIM = Claim(
    name="head-roles",
    statement="Some heads attend to the previous token; many can be pruned.",
    kind="learning",
    rule=(
        "Holds when the fine-tuned encoder without the 20% of its heads that are worth least on validation rows is within a point of "
        "itself with all of them (upper bound of the loss at most 1.0 point)."
    ),
    seconds={"small": 900, "full": 900},
    measure=measure,
    sweeps=("head_roles",),
)
