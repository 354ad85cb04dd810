"""The commands: parse, then import what the verb needs."""

import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer
from typer.exceptions import TyperException

from bakeoff.commands.options import (
    AddressOption,
    DeviceOption,
    EngineOption,
    ExecutorOption,
    LabelsOption,
    MachineOption,
    MarginOption,
    MaxP95Option,
    MaxSizeOption,
    MetricOption,
    MinAccuracyOption,
    MinRecallOption,
    Overrides,
    PriceOption,
    SlotsOption,
    SweepFile,
    ThreadsOption,
    TokensOption,
)
from bakeoff.errors import BakeoffError

WRONG = 2
"""Exit code of a command or configuration that makes no sense."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Which text classifier should you ship? bakeoff answers with evidence, on your data, at your label budget.",
)


def main() -> None:
    """The console script: a user's mistake is one sentence on standard error and exit code 2."""
    if len(sys.argv) == 1:
        sys.argv.append("--help")
    try:
        if code := app(prog_name="bakeoff", standalone_mode=False):  # what typer makes of Ctrl-C
            sys.exit(code)
    except BakeoffError as mistake:
        _refuse(str(mistake))
    except TyperException as mistake:  # an unknown verb or option, which the parser would surround with its usage
        _refuse(mistake.format_message() if hasattr(mistake, "format_message") else str(mistake))


def _refuse(sentence: str) -> NoReturn:
    print(f"bakeoff: {sentence}", file=sys.stderr)
    sys.exit(WRONG)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["--help"]},
    options_metavar="[KEY=VALUE]...",
)
def run(context: typer.Context) -> None:
    """Bake one Run and print the path of its record.

    For example: bakeoff run model=pretrained budget.labels=1000 seed=0

    A Hydra application: -m runs every combination of comma-separated values, --cfg job prints the configuration,
    --config-dir adds a folder of your own.
    """
    from bakeoff.commands.run import run as command

    sys.exit(command(context.args))


@app.command()
def sweep(
    file: SweepFile,
    overrides: Overrides = None,
    executor: ExecutorOption = "local",
    slots: SlotsOption = None,
    address: AddressOption = None,
    rebake: Annotated[Literal["missing", "failed", "all"], typer.Option(help="Which Runs to bake.")] = "missing",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List every Run and its state; bake nothing.")] = False,
    format: Annotated[Literal["table", "json"], typer.Option(help="Of --dry-run.")] = "table",
) -> None:
    """Bake every Run of a sweep that is not yet recorded."""
    from bakeoff.commands.sweep import sweep as command

    sys.exit(command(file, overrides or [], executor=executor, slots=slots, address=address, rebake=rebake, dry_run=dry_run, format=format))


@app.command()
def tune(
    file: SweepFile,
    overrides: Overrides = None,
    trials: Annotated[int, typer.Option(min=1, help="Recipes to try of each model, its default the first.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Draws which other recipes are tried.")] = 0,
    executor: ExecutorOption = "local",
    slots: SlotsOption = None,
    address: AddressOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List every trial and its state; bake nothing.")] = False,
) -> None:
    """Choose recipes on validation rows, with equally many trials for every model.

    Trials answer no test row. What they choose is written to sweeps/tuned/, as sweep files to bake and report.
    """
    from bakeoff.commands.tune import tune as command

    sys.exit(command(file, overrides or [], trials=trials, seed=seed, executor=executor, slots=slots, address=address, dry_run=dry_run))


@app.command()
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


@app.command()
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
    chosen = {} if files else _pairs(pairs)
    print(command(files, pairs, limits=limits, format=format, filters=chosen, allow_dirty=allow_dirty))


@app.command()
def records(
    filters: Annotated[list[str] | None, typer.Argument(metavar="[COLUMN=VALUE]...", help="Equality filters on columns.")] = None,
    format: Annotated[Literal["table", "csv", "json"], typer.Option(help="How to print it.")] = "table",
) -> None:
    """The flat table of everything that was baked or failed."""
    from bakeoff.report import frame
    from bakeoff.store import Store, default_root

    store = Store(default_root())
    rows = frame.flat_rows(store)
    print(frame.render(frame.filter_rows(rows, _pairs(filters or [])), format))
    for each in store.all_unreadable(but={row["run_id"] for row in rows if row["status"] != "failed"}):
        print(f"bakeoff: {each.why}", file=sys.stderr)


@app.command()
def data(
    target: Annotated[str, typer.Argument(metavar="DATASET | PATH", help="A dataset's name, or a file or folder of your own.")],
    text: Annotated[str | None, typer.Option(help="Column of the texts.")] = None,
    text_pair: Annotated[str | None, typer.Option(help="Column of the second texts, where a row is a pair.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the labels.")] = None,
    group: Annotated[str | None, typer.Option(help="Column whose rows stay on one side of a split.")] = None,
    test: Annotated[Path | None, typer.Option(help="File or folder with the official test rows.")] = None,
    encoding: Annotated[str | None, typer.Option(help="For example cp1252, if the file is not UTF-8.")] = None,
    model: Annotated[str, typer.Option(help="The model whose tokens lengths are counted in.")] = "pretrained",
    format: Annotated[Literal["table", "json"], typer.Option(help="How to print it.")] = "table",
    test_rows: Annotated[Path | None, typer.Option(help="New CSV file for ids and texts of the test rows, to answer elsewhere.")] = None,
) -> None:
    """Audit a dataset before a label or a GPU-hour is spent."""
    from bakeoff.commands.data import data as command

    options = {"text": text, "text_pair": text_pair, "label": label, "group": group, "test_path": test, "encoding": encoding}
    settings = {key: str(value) for key, value in options.items() if value is not None}
    print(command(target, settings, model=model, format=format, test_rows=test_rows))


@app.command()
def status(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[SWEEP.yaml]... [KEY=VALUE]...", help="Sweep files, then Hydra overrides.")
    ] = None,
) -> None:
    """What is being baked right now, and how far sweeps have come, whichever process bakes them."""
    from bakeoff.commands.status import status as command

    words = arguments or []
    print(command([Path(text) for text in words if "=" not in text], [text for text in words if "=" in text]))


@app.command()
def clean(
    weights: Annotated[bool, typer.Option("--weights", help="Of Runs; they are made again where something needs them.")] = False,
    caches: Annotated[bool, typer.Option("--caches", help="Prepared data, token ids, features, exported models.")] = False,
    assets: Annotated[bool, typer.Option("--assets", help="Datasets and checkpoints that would have to be fetched again.")] = False,
    old: Annotated[bool, typer.Option("--old", help="Weights of Runs that were baked again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how much it would free, and free nothing.")] = False,
) -> None:
    """Free disk space: weights and caches, never a record."""
    from bakeoff.commands.clean import clean as command

    print(command(weights=weights, caches=caches, assets=assets, old=old, dry_run=dry_run))


@app.command()
def doctor(fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the starter assets that are missing.")] = False) -> None:
    """What this machine is, what is installed and fetched, and what would be faster."""
    from bakeoff.commands.doctor import doctor as command

    sys.exit(command(fetch=fetch))


def _pairs(filters: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in filters:
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} should be COLUMN=VALUE")
        pairs[key] = value
    return pairs


if __name__ == "__main__":
    main()
