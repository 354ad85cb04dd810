"""The verb `decide`: its options, and nothing that takes long to import."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from bakeoff.commands.options import DeviceOption, MarginOption, MaxP95Option, MaxSizeOption, MetricOption, MinAccuracyOption


def decide(
    target: Annotated[str, typer.Argument(metavar="PATH", help="Your file or folder, or the name of a dataset.")],
    text: Annotated[str | None, typer.Option(help="Column of the texts.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the labels.")] = None,
    group: Annotated[str | None, typer.Option(help="Column whose rows stay on one side of a split.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of dates or numbers: the newest rows are the test rows.")] = None,
    test: Annotated[Path | None, typer.Option(help="File or folder with the official test rows.")] = None,
    encoding: Annotated[str | None, typer.Option(help="For example cp1252, if the file is not UTF-8.")] = None,
    hours: Annotated[float, typer.Option(help="How long it may take in all, the page included.")] = 2.0,
    max_p95_ms: MaxP95Option = None,
    device: DeviceOption = "cpu",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads to serve with.")] = 1,
    min_accuracy: MinAccuracyOption = None,
    max_size_mb: MaxSizeOption = None,
    metric: MetricOption = None,
    margin: MarginOption = 1.0,
    name: Annotated[str | None, typer.Option(help="Of the page under reports/; else the file's.")] = None,
    against: Annotated[Path | None, typer.Option(help="The report of an earlier decision, on a file that has grown since.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan with its estimates; bake nothing.")] = False,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print it.")] = "text",
) -> None:
    """From your own file to a recommendation, in the time you have.

    For example: bakeoff decide tickets.csv --text body --label topic --hours 2 --max-p95-ms 20 --threads 2

    Cheapest first: floors, one draw of each model, more draws of whoever is undecided, fewer labels. What cannot answer in time is
    not trained. The same command goes on where it stopped.
    """
    from bakeoff.commands.choose import parse_limits
    from bakeoff.commands.decide import decide as command
    from bakeoff.commands.decide_field import field_of
    from bakeoff.errors import ConfigError

    if not 0 < hours < float("inf"):
        raise ConfigError(f"--hours {hours:g} should be above 0, for example 0.25")
    limits = parse_limits(
        labels="all",
        min_recall=(),
        max_p95_ms=max_p95_ms,
        device=device,
        threads=threads,
        min_accuracy=min_accuracy,
        max_size_mb=max_size_mb,
        metric=metric,
        margin_points=margin,
    )
    options = {
        key: value for key, value in {"text": text, "label": label, "group": group, "encoding": encoding}.items() if value is not None
    }
    field = field_of(target, options, test=test, time=time, name=name)
    sys.exit(command(field, limits, hours=hours, threads=threads, against=against, dry_run=dry_run, format=format))
