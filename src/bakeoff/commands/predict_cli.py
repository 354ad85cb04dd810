"""The verb `predict`: its options, and nothing that takes long to import."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `bakeoff export` wrote.")],
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="CSV, TSV or JSON lines.")] = None,
    text: Annotated[str | None, typer.Option(help="Column of the texts; else the one that the model learned from.")] = None,
    text_pair: Annotated[str | None, typer.Option(help="Column of the second texts, for a model of pairs.")] = None,
    id: Annotated[str | None, typer.Option(help="Column to copy, by which answers are matched with rows.")] = None,
    out: Annotated[Path | None, typer.Option(help="New CSV file; else standard output.")] = None,
    confirm: Annotated[Path | None, typer.Option(help="Labelled file: score the model once on rows that nothing of it has seen.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the labels, of --confirm.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; else all there are.")] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Documents that the model reads at once.")] = 64,
    encoding: Annotated[str, typer.Option(help="For example cp1252, if the file is not UTF-8.")] = "auto",
) -> None:
    """Label the rows of a file, of any size, with an exported model: row number, label and probability as CSV.

    Rows are counted from 1, without the header. Where a line cannot be read, the rows before it are kept.
    """
    from bakeoff.commands import predict as command

    columns = command.Asked(text=text, text_pair=text_pair, id=id, label=label)
    how = command.How(threads=threads, batch_size=batch_size, encoding=encoding)
    if confirm is not None:
        if file is not None or out is not None or id is not None:
            raise typer.BadParameter("--confirm FILE takes the place of FILE, and has no --out and no --id")
        from bakeoff.commands.confirm import confirm as confirming

        print(confirming(folder, confirm, columns, how))
        return
    if file is None or label is not None:
        raise typer.BadParameter("name the FILE to label" if file is None else "--label goes with --confirm FILE")
    sys.exit(command.predict(folder, file, columns, how, out=out))
