"""Arguments and options that several verbs share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Hydra overrides, for example seed=0 budget.labels=100.")
]
SweepFile = Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="A sweep file, or the name of one that comes with bakeoff.")]

ExecutorOption = Annotated[
    Literal["local", "inprocess", "ray"],
    typer.Option(help="A process a Run on this machine, all in this process, to debug, or the nodes of a Ray cluster."),
]
SlotsOption = Annotated[int | None, typer.Option(min=1, help="Runs at a time.")]
AddressOption = Annotated[
    str | None, typer.Option(metavar="HOST:PORT|auto", help="Of the Ray cluster; else one is started here for the time of the sweep.")
]

# What a recommendation must meet, alike in `report` and `choose`.
LabelsOption = Annotated[str | None, typer.Option(metavar="N|all", help="How many labels may be spent; else the most recorded.")]
MaxP95Option = Annotated[float | None, typer.Option(help="Latency limit, a document at a time, at the 95th percentile.")]
DeviceOption = Annotated[Literal["cpu", "cuda"], typer.Option(help="Where it will be served.")]
ThreadsOption = Annotated[int | None, typer.Option(help="CPU threads to serve with.")]
EngineOption = Annotated[str | None, typer.Option(help="For example onnx_int8; else every engine competes.")]
MachineOption = Annotated[str | None, typer.Option(help="Whose latencies count, where several machines were timed.")]
MinAccuracyOption = Annotated[float | None, typer.Option(help="Accuracy to reach, for example 0.8.")]
MinRecallOption = Annotated[list[str] | None, typer.Option(metavar="CLASS=SHARE", help="Recall of a class to reach; repeat it.")]
MaxSizeOption = Annotated[float | None, typer.Option(help="Largest size of the files that are shipped.")]
TokensOption = Annotated[int | None, typer.Option(help="How long your documents are, in tokens, at the 95th percentile.")]
PriceOption = Annotated[float | None, typer.Option(help="What a label costs, in the currency of conf/prices.yaml.")]
MetricOption = Annotated[Literal["accuracy", "macro_f1"] | None, typer.Option(help="What is compared; else the dataset's own.")]
MarginOption = Annotated[float, typer.Option(help="Points of it that may be lost to a cheaper model.")]


def pairs_of(filters: list[str]) -> dict[str, str]:
    """Equality filters on columns, as they were typed. Raises BadParameter for one that has no equals sign."""
    pairs: dict[str, str] = {}
    for text in filters:
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} should be COLUMN=VALUE")
        pairs[key] = value
    return pairs
