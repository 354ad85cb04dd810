"""A recurrent network is a queue that leaves the hardware idle; commercially that is the bigger problem: it trains slowly.

Varied: a BiLSTM, or a transformer from random weights with as many parameters. Measured on the same documents, labels, batches and
epochs, each with its own learning rate, draw by draw and one after the other on the same cores: tokens a second while it learns, and the
seconds until the validation loss falls to 0.5 nats, which stands for a fixed accuracy (the record's history has losses and no accuracies;
beside it stands how right the kept step is).
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.claims import parameters, rules
from bakeoff.claims.claim import Answer, Baked, Bench, Claim, NotMeasured, Verdict
from bakeoff.claims.pictures import Lines, Series
from bakeoff.claims.rules import Measured

ATTENTION, RECURRENT = "train_speed", "train_speed_bilstm"
DRAWS = 5
TARGET_LOSS = 0.5
"""Nats a document. Answering with the class shares of R8 costs 1.3."""
LARGE = {
    ATTENTION: ("budget.labels=all", "model.width=256", "model.layers=4", "model.feed_forward=1024", "machine.slots=1"),
    RECURRENT: ("budget.labels=all", "model.embedding_dim=256", "model.hidden_dim=512", "machine.slots=1"),
}
"""Of the full form: 4 · (12 · 256² + 13 · 256) + 2 · 256 = 3,159,552 and 8 · 512 · (256 + 512 + 2) = 3,153,920 beside the words."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Validation losses by the seconds of training that they took; as a share of the steps, which are alike."""

    seconds: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def reached_seconds(self) -> float | None:
        """When the loss first was at the target; None where it never was."""
        return next((at for at, loss in zip(self.seconds, self.losses, strict=True) if loss <= TARGET_LOSS), None)


def measure(bench: Bench) -> Answer:
    """Judged: both ratios, attention over recurrence in tokens a second and recurrence over attention in seconds to the target."""
    pairs = [{name: _one(bench, name, draw) for name in (ATTENTION, RECURRENT)} for draw in range(DRAWS)]
    counts = parameters.matched(pairs[0])
    rate = rules.times_over_draws([_rate(pair[ATTENTION]) / _rate(pair[RECURRENT]) for pair in pairs])
    curves = [{name: read_curve(one) for name, one in pair.items()} for pair in pairs]
    reached = [seconds for pair in curves if (seconds := _both_reached(pair)) is not None]
    sooner = rules.times_over_draws([seconds[RECURRENT] / seconds[ATTENTION] for seconds in reached]) if len(reached) == DRAWS else None
    run = pairs[0][ATTENTION].record.run
    return Answer(
        verdict=verdict_of(rate, sooner),
        figure=rate.figure,
        unit="×",
        interval=rate.interval,
        seen=_seen(rate, sooner, n_reached=len(reached)),
        dataset=run.dataset.name,
        rows=tuple(_row(pairs, curves, name, counts[name]) for name in (ATTENTION, RECURRENT)),
        run_ids=tuple(one.record.run_id for pair in pairs for one in pair.values()),
        detectable=rate.detectable,
        pictures=(_picture(curves[0]),),
        notes=(f"{run.probe.threads} CPU threads a Run, one Run at a time, on {pairs[0][ATTENTION].record.machine.device}.",),
    )


def verdict_of(rate: Measured, sooner: Measured | None) -> Verdict:
    """Both ratios above 1. A target that one of the two missed leaves it open: the draws that came to it would be a choice of the fast."""
    return rules.all_of((rules.above(1.0, rate.interval), "inconclusive" if sooner is None else rules.above(1.0, sooner.interval)))


def read_curve(baked: Baked) -> Curve:
    """The validation losses of `history.csv`."""
    facts = baked.record.training
    with open(baked.folder / "history.csv", encoding="utf-8", newline="") as file:
        points = [(int(row["step"]), float(row["validation_loss"])) for row in csv.DictReader(file) if row["validation_loss"]]
    return Curve(seconds=tuple(facts.seconds * step / facts.steps for step, _ in points), losses=tuple(loss for _, loss in points))


def _one(bench: Bench, sweep: str, draw: int) -> Baked:
    """The two models take turns draw by draw, so that a slower minute of the machine falls on both."""
    baked = bench.bake(sweep, f"seed={draw}", *(LARGE[sweep] if bench.size == "full" else ()))
    if not baked or baked[0].record.status != "ok":
        raise NotMeasured(f"draw {draw} of sweeps/claims/{sweep}.yaml has no trained model: see what `bakeoff records` says of it")
    return baked[0]


def _rate(baked: Baked) -> float:
    rate = baked.record.training.tokens_per_second
    assert rate is not None, "a model that is trained by steps has read tokens"
    return rate


def _both_reached(pair: Mapping[str, Curve]) -> dict[str, float] | None:
    seconds = {name: curve.reached_seconds for name, curve in pair.items()}
    found = {name: at for name, at in seconds.items() if at is not None}
    return found if len(found) == len(pair) else None


def _seen(rate: Measured, sooner: Measured | None, *, n_reached: int) -> str:
    said = f"The transformer learns from {rate.figure:.2f} times the tokens a second of a BiLSTM of its size"
    if sooner is None:
        return (
            f"{said}. In {n_reached} of {DRAWS} draws both came to a validation loss of {TARGET_LOSS}, so that seconds to it are not "
            "compared: the draws that came to it would be a choice of the fast."
        )
    return (
        f"{said}, and the BiLSTM takes {sooner.figure:.2f} times ({sooner.interval.low:.2f} to {sooner.interval.high:.2f}) as long to a "
        f"validation loss of {TARGET_LOSS}."
    )


def _row(
    pairs: Sequence[Mapping[str, Baked]], curves: Sequence[Mapping[str, Curve]], name: str, count: int
) -> dict[str, str | float | int | None]:
    baked = [pair[name] for pair in pairs]
    reached = [seconds for pair in curves if (seconds := pair[name].reached_seconds) is not None]
    right = [quality.accuracy for one in baked if (quality := one.record.quality.get("validation")) is not None]
    return {
        "model": baked[0].record.run.model.name,
        "parameters_beside_words": count,
        "parameters_total": None if baked[0].record.size is None else baked[0].record.size.parameters_total,
        "tokens_per_second": sum(map(_rate, baked)) / len(baked),
        "seconds_to_target": sum(reached) / len(reached) if reached else None,
        "draws_at_target": len(reached),
        "validation_accuracy": sum(right) / len(right) if right else None,
    }


def _picture(curves: Mapping[str, Curve]) -> Lines:
    labels = {ATTENTION: "transformer", RECURRENT: "BiLSTM"}
    series = tuple(Series(label=labels[name], x=curve.seconds, y=curve.losses) for name, curve in curves.items())
    return Lines(
        title="Validation loss against seconds of training, first draw", x_label="seconds", y_label="loss (nats a document)", series=series
    )


CLAIM = Claim(
    name="train-speed",
    statement="A recurrent network leaves the hardware waiting: it trains slower than attention of the same size.",
    kind="cost",
    rule=f"Holds if, over {DRAWS} draws and with parameters matched within 5%, the lower bounds of both ratios are above 1: tokens a "
    f"second of the transformer over the BiLSTM's, and seconds to a validation loss of {TARGET_LOSS} of the BiLSTM over the transformer's.",
    seconds={"small": 120, "full": 900},
    measure=measure,
    sweeps=(ATTENTION, RECURRENT),
)
