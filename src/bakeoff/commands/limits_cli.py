"""The verbs that recommend under limits: their many options, and nothing that takes long to import."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from bakeoff.commands.options import (
    DeviceOption,
    EngineOption,
    LabelsOption,
    MachineOption,
    MarginOption,
    MaxP95Option,
    MaxSizeOption,
    MetricOption,
    MinAccuracyOption,
    MinRecallOption,
    PriceOption,
    ThreadsOption,
    TokensOption,
    pairs_of,
)


def report(
    arguments: Annotated[list[str], typer.Argument(metavar="SWEEP.yaml... [KEY=VALUE]...", help="Sweep files, then Hydra overrides.")],
    out: Annotated[Path, typer.Option(help="Folder of reports; each gets its sweep's name.")] = Path("reports"),
    evidence: Annotated[bool, typer.Option("--evidence", help="Also keep the records beside the page, to rebuild it anywhere.")] = False,
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Show records of uncommitted code too, and say so.")] = False,
    show_texts: Annotated[
        bool, typer.Option("--show-texts", help="A page for this machine only, with texts that the best got wrong.")
    ] = False,
    wandb: Annotated[bool, typer.Option("--wandb", help="Also log the page, its figures and its records as a W&B run.")] = False,
    labels: LabelsOption = None,
    max_p95_ms: MaxP95Option = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
    engine: EngineOption = None,
    machine: MachineOption = None,
    min_accuracy: MinAccuracyOption = None,
    min_recall: MinRecallOption = None,
    max_size_mb: MaxSizeOption = None,
    tokens_p95: TokensOption = None,
    price_per_label: PriceOption = None,
    metric: MetricOption = None,
    margin: MarginOption = 1.0,
) -> None:
    """Write the page of a sweep: what to ship under the limits, and the evidence; Markdown, HTML, figures and tables of records."""
    from bakeoff.commands.choose import parse_limits
    from bakeoff.commands.report import report as command

    limits = parse_limits(
        labels=labels,
        max_p95_ms=max_p95_ms,
        device=device,
        threads=threads,
        engine=engine,
        machine=machine,
        min_accuracy=min_accuracy,
        min_recall=min_recall or [],
        max_size_mb=max_size_mb,
        tokens_p95=tokens_p95,
        price_per_label=price_per_label,
        metric=metric,
        margin_points=margin,
    )

    files = [Path(text) for text in arguments if "=" not in text]
    if not files:
        raise typer.BadParameter("name at least one sweep file")
    overrides = [text for text in arguments if "=" in text]
    more = {"evidence": evidence, "allow_dirty": allow_dirty, "show_texts": show_texts, "wandb": wandb}
    print(command(files, overrides, out=out, limits=limits, **more))


def choose(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SWEEP.yaml]... [KEY=VALUE]...", help="Sweep files and Hydra overrides; or filters on columns of records."),
    ] = None,
    labels: LabelsOption = None,
    max_p95_ms: MaxP95Option = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
    engine: EngineOption = None,
    machine: MachineOption = None,
    min_accuracy: MinAccuracyOption = None,
    min_recall: MinRecallOption = None,
    max_size_mb: MaxSizeOption = None,
    tokens_p95: TokensOption = None,
    price_per_label: PriceOption = None,
    metric: MetricOption = None,
    margin: MarginOption = 1.0,
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Choose from records of uncommitted code too, and say so.")] = False,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print it.")] = "text",
) -> None:
    """Recommend what to ship under limits, with the runner-up, what would change the answer, and how sure it is.

    For example: bakeoff choose sweeps/starter.yaml --labels 1000 --max-p95-ms 10
    """
    from bakeoff.commands.choose import choose as command
    from bakeoff.commands.choose import parse_limits

    words = arguments or []
    files, pairs = [Path(text) for text in words if "=" not in text], [text for text in words if "=" in text]
    limits = parse_limits(
        labels=labels,
        max_p95_ms=max_p95_ms,
        device=device,
        threads=threads,
        engine=engine,
        machine=machine,
        min_accuracy=min_accuracy,
        min_recall=min_recall or [],
        max_size_mb=max_size_mb,
        tokens_p95=tokens_p95,
        price_per_label=price_per_label,
        metric=metric,
        margin_points=margin,
    )
    chosen = {} if files else pairs_of(pairs)
    print(command(files, pairs, limits=limits, format=format, filters=chosen, allow_dirty=allow_dirty))
