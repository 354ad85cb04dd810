"""The verb `export`: its options, and nothing that takes long to import."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def export(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="A Run's id, or its first digits.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    engine: Annotated[Literal["eager", "onnx", "onnx_int8"], typer.Option(help="What executes the model.")] = "eager",
    refit: Annotated[
        Literal["none", "all"], typer.Option(help="all: fit again on every labelled row; nothing is left to score it.")
    ] = "none",
) -> None:
    """Ship a Run's model: a folder that needs no bakeoff, checked against what was scored, with a model card.

    For example: bakeoff export 0123abcd model/
    """
    from bakeoff.commands.export import export as command

    print(command(run_id, folder, engine=engine, refit=refit == "all"))
