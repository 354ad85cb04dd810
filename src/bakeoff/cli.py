"""The commands: parse, then import what the verb needs."""

import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer
from typer.exceptions import TyperException

from bakeoff.errors import BakeoffError

WRONG = 2
"""Exit code of a command or configuration that makes no sense."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Which text classifier should you ship? bakeoff answers with evidence, on your data, at your label budget.",
)

Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Hydra overrides, for example seed=0 budget.labels=100.")
]
SweepFile = Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="A sweep file, or the name of one that comes with bakeoff.")]


def main() -> None:
    """The console script: a user's mistake is one sentence on standard error and exit code 2."""
    if len(sys.argv) == 1:
        sys.argv.append("--help")
    try:
        app(prog_name="bakeoff", standalone_mode=False)
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
    executor: Annotated[Literal["local", "inprocess"], typer.Option(help="A process a Run, or all in this one, to debug.")] = "local",
    slots: Annotated[int | None, typer.Option(min=1, help="Runs at a time.")] = None,
    rebake: Annotated[Literal["missing", "failed", "all"], typer.Option(help="Which Runs to bake.")] = "missing",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List every Run and its state; bake nothing.")] = False,
    format: Annotated[Literal["table", "json"], typer.Option(help="Of --dry-run.")] = "table",
) -> None:
    """Bake every Run of a sweep that is not yet recorded."""
    from bakeoff.commands.sweep import sweep as command

    sys.exit(command(file, overrides or [], executor=executor, slots=slots, rebake=rebake, dry_run=dry_run, format=format))


@app.command()
def tune(
    file: SweepFile,
    overrides: Overrides = None,
    trials: Annotated[int, typer.Option(min=1, help="Recipes to try of each model, its default the first.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Draws which other recipes are tried.")] = 0,
    executor: Annotated[Literal["local", "inprocess"], typer.Option(help="A process a Run, or all in this one, to debug.")] = "local",
    slots: Annotated[int | None, typer.Option(min=1, help="Runs at a time.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List every trial and its state; bake nothing.")] = False,
) -> None:
    """Choose recipes on validation rows, with equally many trials for every model.

    Trials answer no test row. What they choose is written to sweeps/tuned/, as sweep files to bake and report.
    """
    from bakeoff.commands.tune import tune as command

    sys.exit(command(file, overrides or [], trials=trials, seed=seed, executor=executor, slots=slots, dry_run=dry_run))


@app.command()
def report(
    arguments: Annotated[list[str], typer.Argument(metavar="SWEEP.yaml... [KEY=VALUE]...", help="Sweep files, then Hydra overrides.")],
    out: Annotated[Path, typer.Option(help="Folder of reports; each gets its sweep's name.")] = Path("reports"),
    evidence: Annotated[bool, typer.Option("--evidence", help="Also keep the records beside the page, to rebuild it anywhere.")] = False,
) -> None:
    """Write the page of a sweep: Markdown, HTML, figures and a table of records."""
    from bakeoff.commands.report import report as command

    files = [Path(text) for text in arguments if "=" not in text]
    if not files:
        raise typer.BadParameter("name at least one sweep file")
    print(command(files, [text for text in arguments if "=" in text], out=out, evidence=evidence))


@app.command()
def records(
    filters: Annotated[list[str] | None, typer.Argument(metavar="[COLUMN=VALUE]...", help="Equality filters on columns.")] = None,
    format: Annotated[Literal["table", "csv", "json"], typer.Option(help="How to print it.")] = "table",
) -> None:
    """The flat table of everything that was baked or failed."""
    from bakeoff.report import frame
    from bakeoff.store import Store, default_root

    rows = frame.flat_rows(Store(default_root()))
    print(frame.render(frame.filter_rows(rows, _pairs(filters or [])), format))


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
