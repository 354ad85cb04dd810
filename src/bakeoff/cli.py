"""The commands: parse, then import what the verb needs."""

import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer
from typer.exceptions import TyperException

from bakeoff.commands import decide_cli, export_cli, limits_cli, predict_cli
from bakeoff.commands.options import (
    AddressOption,
    ExecutorOption,
    Overrides,
    SlotsOption,
    SweepFile,
    pairs_of,
)
from bakeoff.errors import BakeoffError, ConfigError

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


app.command()(decide_cli.decide)


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


app.command()(limits_cli.report)
app.command()(limits_cli.choose)
app.command()(export_cli.export)
app.command()(predict_cli.predict)


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
    print(frame.render(frame.filter_rows(rows, pairs_of(filters or [])), format))
    for each in store.all_unreadable(but={row["run_id"] for row in rows if row["status"] != "failed"}):
        print(f"bakeoff: {each.why}", file=sys.stderr)


@app.command()
def claims(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Claims to measure; without any they are listed.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Measure all that this machine can, and write the page.")] = False,
    size: Annotated[Literal["small", "full"] | None, typer.Option(help="small for two CPU cores, full for GPUs and the hub.")] = None,
    full: Annotated[bool, typer.Option("--full", help="The same as --size full.")] = False,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print it.")] = "text",
    page: Annotated[
        bool, typer.Option("--page", help="Write the page of the answers that are there; without a name nothing is measured.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of reports; the page is its claims/. Asks for the page. Else reports.")] = None,
) -> None:
    """The transformer-versus-recurrent trade-offs, each by a rule that was fixed before its result, a verdict each."""
    from bakeoff.commands.claims import claims as command

    if full and size == "small":
        raise ConfigError("--full is --size full: leave one out")
    chosen: Literal["small", "full"] = "full" if full else size or "small"
    sys.exit(command(names or [], every=every, size=chosen, format=format, page=page, out=out))


@app.command()
def data(
    target: Annotated[str, typer.Argument(metavar="DATASET | PATH", help="A dataset's name, or a file or folder of your own.")],
    text: Annotated[str | None, typer.Option(help="Column of the texts.")] = None,
    text_pair: Annotated[str | None, typer.Option(help="Column of the second texts, where a row is a pair.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the labels.")] = None,
    group: Annotated[str | None, typer.Option(help="Column whose rows stay on one side of a split.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of dates or numbers: the newest rows are the test rows.")] = None,
    test: Annotated[Path | None, typer.Option(help="File or folder with the official test rows.")] = None,
    encoding: Annotated[str | None, typer.Option(help="For example cp1252, if the file is not UTF-8.")] = None,
    model: Annotated[str, typer.Option(help="The model whose tokens lengths are counted in.")] = "pretrained",
    format: Annotated[Literal["table", "json"], typer.Option(help="How to print it.")] = "table",
    test_rows: Annotated[Path | None, typer.Option(help="New CSV file for ids and texts of the test rows, to answer elsewhere.")] = None,
    suspects: Annotated[int | None, typer.Option(min=1, help="Also export so many rows whose labels are likely wrong.")] = None,
    out: Annotated[Path | None, typer.Option(help="New CSV file for --suspects; NAME-suspects.csv unless named.")] = None,
) -> None:
    """Audit a dataset before a label or a GPU-hour is spent."""
    from bakeoff.commands.data import data as command

    columns = {"text": text, "text_pair": text_pair, "label": label, "group": group, "time": time}
    options = {**columns, "test_path": test, "encoding": encoding}
    settings = {key: str(value) for key, value in options.items() if value is not None}
    print(command(target, settings, model=model, format=format, test_rows=test_rows, suspects=suspects, out=out))


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


if __name__ == "__main__":
    main()
