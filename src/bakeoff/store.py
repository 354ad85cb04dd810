"""Where records live: one folder a Run, locked by whoever bakes it, its record written once and last."""

import contextlib
import fcntl
import json
import os
import shutil
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff import record as records
from bakeoff.errors import BakeoffError
from bakeoff.record import Record
from bakeoff.spec import Run, is_run_id, to_plain

RECORD, FAILURE = "record.json", "failure.json"


class Locked(Exception):
    """Another process bakes this Run right now."""


@dataclass(frozen=True)
class Store:
    """The folder of Runs at `root`."""

    root: Path

    def folder(self, run_id: str) -> Path:
        """Where a Run keeps its files, whether or not it exists yet."""
        return self.root / run_id

    @contextlib.contextmanager
    def lock(self, run_id: str) -> Iterator[None]:
        """Hold a Run for this process; the kernel frees it at death. Raises Locked if another process holds it."""
        locks = self.root / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        handle = os.open(locks / run_id, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                raise Locked(run_id) from None
            yield
        finally:
            os.close(handle)

    def load(self, run_id: str) -> Record | None:
        """The record of a finished Run; None while it is missing, unreadable or another Run's."""
        try:
            record = records.from_json((self.folder(run_id) / RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError, BakeoffError):
            return None
        return record if record.run_id == run_id else None

    def load_all(self) -> list[Record]:
        """Every finished Run's record, by run id."""
        found = (self.load(run_id) for run_id in self._run_ids())
        return [record for record in found if record is not None]

    def failure(self, run_id: str) -> dict[str, Any] | None:
        """What a failed Run left behind, unless a record exists by now."""
        path = self.folder(run_id) / FAILURE
        if self.load(run_id) is not None or not path.exists():
            return None
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return plain if isinstance(plain, dict) else None

    def failures(self) -> list[dict[str, Any]]:
        """Every Run that failed and has no record, by run id."""
        found = (self.failure(run_id) for run_id in self._run_ids())
        return [failure for failure in found if failure is not None]

    def write_record(self, record: Record) -> Path:
        """Write a Run's record, once and last. Raises BakeoffError if it already has one."""
        path = self.folder(record.run_id) / RECORD
        if self.load(record.run_id) is not None:
            raise BakeoffError(f"{record.run_id} is already recorded; a record is never overwritten")
        write_atomically(path, record.to_json())
        return path

    def write_failure(self, run: Run, *, type_: str, message: str, trace: list[str]) -> Path:
        """Write down why a Run has no record; attempts are counted."""
        earlier = self.failure(run.run_id)
        plain = {
            "run_id": run.run_id,
            "question_id": run.question_id,
            "status": "failed",
            "attempt": 1 + (earlier["attempt"] if earlier else 0),
            "failed_at": utc_now(),
            "type": type_,
            "message": message,
            "traceback": trace,
            "run": records.without_folders(to_plain(run)),
        }
        path = self.folder(run.run_id) / FAILURE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(plain, indent=2) + "\n")
        return path

    def set_aside(self, run_id: str) -> None:
        """Move a Run's folder to `.old/`, where nothing is ever deleted."""
        folder = self.folder(run_id)
        if folder.exists():
            old = self.root / ".old"
            old.mkdir(exist_ok=True)
            shutil.move(folder, old / f"{run_id}-{time.time_ns()}")

    def _run_ids(self) -> list[str]:
        if not self.root.is_dir():
            return []
        return sorted(path.name for path in self.root.iterdir() if is_run_id(path.name))


def default_root() -> Path:
    """`$BAKEOFF_RUNS`, or `runs/` in the working directory."""
    return Path(os.environ.get("BAKEOFF_RUNS") or "runs").absolute()


def utc_now() -> str:
    """The present as ISO 8601 in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all: temporary file, fsync, rename, fsync of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def frames_of(error: BaseException) -> list[str]:
    """Where an error arose, as `file:line in function`, without any value that the program held."""
    return [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
