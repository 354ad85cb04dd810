"""Deep pre-norm stacks train more stably than post-norm ones.

Varied: where the norm stands (before each sub-layer, or after each addition), and the depth, 12 or 24 blocks, of the scratch transformer on
300 labels. Measured: the share of ten seeds that *train*, compared by an exact test. A record holds the loss of every training step and no
training accuracy, so a Run trains where the mean loss of its last epoch is below that of guessing well enough for the rule: a model that is
right with the share a of *trains* (the largest class's share + half of what that lacks to 1), and as sure as it is right, loses the entropy
of a.
"""

import csv
import math
from statistics import fmean

from bakeoff.claims import rules
from bakeoff.claims.claim import Answer, Baked, Bench, Claim, NotMeasured
from bakeoff.claims.rules import Shares
from bakeoff.spec import Scratch

SWEEP = "post_pre_norm"
DEPTHS = (12, 24)
_CEILING = "So many train with the norm after that no share before it could have been told apart by the test."
BEFORE, AFTER = "before", "after"
SMALL = ("model.width=32", "model.heads=2", "model.feed_forward=128")


def measure(bench: Bench) -> Answer:
    """Judged: the shares at 24 blocks. The figure is their difference; the small form has small widths."""
    cells: dict[tuple[int, str], list[Baked]] = {}
    for one in bench.bake(SWEEP, *(SMALL if bench.size == "small" else ())):
        model = one.record.run.model
        assert isinstance(model, Scratch), "the sweep varies one kind of model"
        cells.setdefault((model.layers, model.norm), []).append(one)
    wanted = [(depth, norm) for depth in DEPTHS for norm in (BEFORE, AFTER)]
    if missing := [f"{depth} blocks with the norm {norm}" for depth, norm in wanted if (depth, norm) not in cells]:
        raise NotMeasured(f"there are no Runs of {', '.join(missing)}: bake sweeps/claims/{SWEEP}.yaml")
    trained = {cell: sum(map(trains, cells[cell])) for cell in wanted}
    found = {depth: _compared(depth, cells, trained) for depth in DEPTHS}
    deep = found[DEPTHS[-1]]
    first = cells[wanted[0]][0].record
    assert isinstance(first.run.model, Scratch), "the sweep varies one kind of model"
    training, steps = first.run.model.training, first.training.steps
    majority = max(
        (one.record.quality["test"].majority_baseline for cell in wanted for one in cells[cell] if one.record.quality), default=0.5
    )
    said = "; ".join(
        f"of {depth} blocks {trained[depth, BEFORE]} of {len(cells[depth, BEFORE])} train with the norm before and "
        f"{trained[depth, AFTER]} of {len(cells[depth, AFTER])} after"
        for depth in DEPTHS
    )
    return Answer(
        verdict=rules.more_often(deep),
        figure=deep.difference.figure,
        unit="points more that train with the norm before",
        interval=deep.difference.interval,
        seen=said[0].upper() + said[1:] + ".",
        dataset=cells[wanted[0]][0].record.run.dataset.name,
        rows=tuple(
            {
                "blocks": depth,
                "norm": norm,
                "train": trained[depth, norm],
                "of": len(cells[depth, norm]),
                "last_epoch_loss_nats": fmean(losses) if (losses := _last_losses(cells[depth, norm])) else None,
                "diverged": sum(one.record.status == "diverged" for one in cells[depth, norm]),
                "p_value": found[depth].p_value,
            }
            for depth, norm in wanted
        ),
        run_ids=tuple(one.record.run_id for cell in wanted for one in cells[cell]),
        detectable=deep.difference.detectable,
        notes=(
            f"Training accuracy is not recorded: a Run counts as trained where the mean training loss of its last epoch, with dropout "
            f"on, is "
            f"below {loss_that_trains(majority):.2f} nats, the loss of being right {100 * (majority + (1 - majority) / 2):.0f}% of the "
            f"time and "
            "as sure as that.",
            f"A Run takes {steps:,} steps at a learning rate of {training.learning_rate:g}, of which it warms up for "
            f"{100 * training.warmup_fraction:.0f}%; blocks are {first.run.model.width} wide.",
            *(() if deep.difference.detectable is not None else (_CEILING,)),
        ),
    )


def trains(baked: Baked) -> bool:
    """Whether the mean training loss of the last epoch is below what the rule's accuracy costs; a diverged Run does not train."""
    loss = last_loss(baked)
    return loss is not None and loss < loss_that_trains(baked.record.quality["test"].majority_baseline)


def last_loss(baked: Baked) -> float | None:
    """The mean training loss of the last epoch, in nats; None of a Run that diverged."""
    facts = baked.record.training
    if baked.record.status == "diverged":
        return None
    with open(baked.folder / "history.csv", encoding="utf-8", newline="") as file:
        losses = [float(row["train_loss"]) for row in csv.DictReader(file) if row["train_loss"]]
    a_last_epoch = max(1, round(facts.steps / facts.epochs))
    return fmean(losses[-a_last_epoch:])


def _last_losses(cell: list[Baked]) -> list[float]:
    return [loss for one in cell if (loss := last_loss(one)) is not None]


def loss_that_trains(majority: float) -> float:
    """Entropy in nats of being right with the share that *trains* asks for: 0.562 at a majority of 1/2, where that share is 3/4."""
    right = majority + (1 - majority) / 2
    return -right * math.log(right) - (1 - right) * math.log(1 - right)


def _compared(depth: int, cells: dict[tuple[int, str], list[Baked]], trained: dict[tuple[int, str], int]) -> Shares:
    return rules.shares(trained[depth, BEFORE], len(cells[depth, BEFORE]), trained[depth, AFTER], len(cells[depth, AFTER]))


CLAIM = Claim(
    name="post-pre-norm",
    statement="Deep pre-norm stacks train more stably than post-norm ones.",
    kind="learning",
    rule="Holds if, of 24 blocks, more of ten seeds train with the norm before than after, by Barnard's exact test at 5%. A Run trains "
    "where "
    "the mean training loss of its last epoch is below that of a model with the training accuracy of *trains* (the largest class's "
    "share and "
    "half of what that lacks to 1) that is as sure as it is right.",
    seconds={"small": 900, "full": 7200},
    measure=measure,
    sweeps=(SWEEP,),
)
