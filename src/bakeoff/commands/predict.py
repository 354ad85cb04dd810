"""`bakeoff predict`: a file of any size labelled by an exported model."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO

from bakeoff.errors import DataError
from bakeoff.provenance import usable_cpus
from bakeoff.shipping import scoring, served, stream
from bakeoff.shipping.settings import settings_of


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Columns as the command line names them."""

    text: str | None
    text_pair: str | None
    id: str | None
    label: str | None

    def columns(self, settings: dict[str, Any]) -> stream.Columns:
        """Which columns are read, those of the texts as the model learned from them unless said otherwise. Raises DataError."""
        text, pair = self.text or settings["text"], self.text_pair or settings["text_pair"]
        if text is None:
            raise DataError("the model learned from no table, so nothing says which column holds the texts: pass --text COLUMN")
        if not settings["pairs"] and self.text_pair is not None:
            raise DataError("the model reads one text a row, not two: leave --text-pair out")
        return stream.Columns(text=text, text_pair=pair if settings["pairs"] else None, id=self.id, label=self.label)


@dataclass(frozen=True, kw_only=True)
class How:
    """How a file is read and answered."""

    threads: int | None
    batch_size: int
    encoding: str


def predict(folder: Path, file: Path, asked: Asked, how: How, *, out: Path | None) -> int:
    """Label a file's rows on standard output, or in a new file, whose name it has once it is whole; the exit code.

    Raises DataError for what cannot be read, with the rows before it written: to standard output, or to OUT.partial.
    """
    columns = asked.columns(settings_of(folder))
    if out is not None and out.exists():
        raise DataError(f"--out {out} exists already: name a new file")
    tally = scoring.Tally()
    with opened(file) as handle, _progress(file) as moved:
        size = scoring.CHUNK_BATCHES * how.batch_size
        chunks = stream.chunks(handle, file, columns, rows=size, encoding=how.encoding)
        first = next(chunks, None)  # a wrong column is told before a model is loaded
        classifier = served.load(folder, threads=how.threads or usable_cpus()).classifier

        def write(to: TextIO) -> None:
            scoring.score(
                _with_first(first, chunks),
                classifier,
                to,
                batch_size=how.batch_size,
                id_column=columns.id,
                tally=tally,
                moved=lambda: moved(handle.tell(), tally.rows),
            )

        if out is None:
            try:
                write(sys.stdout)
                sys.stdout.flush()
            except BrokenPipeError:  # whoever read it, such as `head`, has seen enough
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        partial = out.with_name(f"{out.name}.partial")
        try:
            with open(partial, "w", encoding="utf-8", newline="") as to:
                write(to)
        except DataError as mistake:
            raise DataError(f"{mistake} (the {tally.rows:,} rows before it are labelled in {partial.name})") from None
        except OSError as error:
            raise DataError(f"--out {out} cannot be written ({os.strerror(error.errno or 0)}): name a file in a folder that can") from None
        os.replace(partial, out)
    print(f"{tally.rows:,} rows are labelled in {out}", file=sys.stderr)
    return 0


@contextmanager
def opened(file: Path) -> Iterator[IO[bytes]]:
    """A file's bytes. Raises DataError where it cannot be read."""
    try:
        handle = open(file, "rb")  # noqa: SIM115
    except OSError as error:
        raise DataError(f"{file.name} cannot be read ({os.strerror(error.errno or 0)}): check the path") from None
    with handle:
        yield handle


@contextmanager
def _progress(file: Path) -> Iterator[Any]:
    """What tells how far a file has been read, in bytes and rows, on standard error where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rows]:,} rows"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=file.stat().st_size, rows=0)
        yield lambda read_bytes, rows: bar.update(task, completed=read_bytes, rows=rows)


def _with_first(first: stream.Chunk | None, others: Iterator[stream.Chunk]) -> Iterator[stream.Chunk]:
    if first is not None:
        yield first
    yield from others
