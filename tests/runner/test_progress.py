"""The lines that a person reads."""

import io
from pathlib import Path

import pytest
import toys

from bakeoff.runner.events import Event, Failed, Finished, Notice, Present, Started, Waiting
from bakeoff.runner.progress import Progress, printable
from bakeoff.store import Store

RUN = toys.make_run()
TITLE = "toy · majority · full · 100 labels · seed 0"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Finished(run=RUN, seconds=62.4, status="ok", accuracy=0.771), f"[ 1/18] done    {RUN.run_id}  {TITLE}      77.1%   62 s\n"),
        (Finished(run=RUN, seconds=0.26, status="ok", accuracy=1.0), f"[ 1/18] done    {RUN.run_id}  {TITLE}     100.0%   0.3 s\n"),
        (Finished(run=RUN, seconds=9.0, status="diverged", accuracy=None), f"[ 1/18] done    {RUN.run_id}  {TITLE}   diverged   9.0 s\n"),
        (
            Finished(run=RUN, seconds=62.4, status="ok", accuracy=None, p50_ms=1.2345),
            f"[ 1/18] done    {RUN.run_id}  {TITLE}    1.23 ms   62 s\n",
        ),
        (
            Failed(run=RUN, type_="ValueError", message="no", written=True),
            f"[ 1/18] failed  {RUN.run_id}  {TITLE}   ValueError: no (see /runs/{RUN.run_id}/failure.json)\n",
        ),
        (
            Failed(run=RUN, type_="OSError", message="full", written=False),
            f"[ 1/18] failed  {RUN.run_id}  {TITLE}   OSError: full (and failure.json could not be written)\n",
        ),
        (Present(run=RUN), f"[ 1/18] present {RUN.run_id}  {TITLE}   recorded already\n"),
        (Waiting(run=RUN), f"[ 0/18] waiting {RUN.run_id}  another process bakes it: left until last\n"),
        (Notice(text="W&B is not installed"), "W&B is not installed\n"),
        (Started(run=RUN), ""),
    ],
)
def test_lines(event: Event, line: str) -> None:
    stream = io.StringIO()
    stream_with_encoding = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    for each in (stream, stream_with_encoding):
        Progress(total=18, store=Store(Path("/runs")), stream=each)(event)
    stream_with_encoding.seek(0)
    assert stream_with_encoding.read() == line
    assert stream.getvalue() == line.replace("·", "-")  # a stream that does not say its encoding gets ASCII


def test_a_folder_below_the_working_directory_is_named_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stream = io.StringIO()
    progress = Progress(total=1, store=Store(tmp_path / "runs"), stream=stream)
    progress(Failed(run=RUN, type_="ValueError", message="no", written=True))
    assert stream.getvalue().endswith(f"(see runs/{RUN.run_id}/failure.json)\n")


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "a · é"), ("latin-1", "a · é"), ("ascii", "a - ?"), (None, "a - ?")])
def test_printable(encoding: str | None, shown: str) -> None:
    assert printable("a · é", encoding) == shown
