"""Where records live: one folder a Run, locked by whoever bakes it, its record written once and last."""

import contextlib
import errno
import json
import os
import secrets
import shutil
import socket
import time
import traceback
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff import locks
from bakeoff import record as records
from bakeoff.errors import BakeoffError
from bakeoff.locks import Locked as Locked
from bakeoff.locks import NoLocks as NoLocks
from bakeoff.record import Record
from bakeoff.spec import Run, is_run_id, to_plain

RECORD, FAILURE, LOCKS = "record.json", "failure.json", ".locks"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class StoreError(BakeoffError):
    """No Run can be baked into this store as it is."""


@dataclass(frozen=True, kw_only=True)
class Holder:
    """Who bakes a Run right now, as far as its lock says."""

    run_id: str
    title: str | None = None
    pid: int | None = None
    host: str | None = None
    started_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A `record.json` that is there and is none."""

    run_id: str
    why: str
    newer: bool
    """Whether a newer bakeoff wrote it, so that it must stay as it is."""


@dataclass(frozen=True)
class Store:
    """The folder of Runs at `root`."""

    root: Path

    def folder(self, run_id: str) -> Path:
        """Where a Run keeps its files, whether or not it exists yet."""
        return self.root / run_id

    @contextlib.contextmanager
    def lock(self, run_id: str, *, title: str | None = None) -> Iterator[None]:
        """Hold a Run, of this `title`, for this process; the kernel frees it at death.

        Raises Locked if it is held already, NoLocks where the file system has none, OSError where nothing can be written.
        """
        says = {"title": title, "pid": os.getpid(), "host": socket.gethostname(), "started_at": utc_now()}
        with locks.hold(self.root / LOCKS / run_id, says=json.dumps(says)):
            yield

    def is_locked(self, run_id: str) -> bool:
        """Whether a Run is held right now; leaves no lock file behind where there was none."""
        return locks.said(self.root / LOCKS / run_id) is not None

    def holders(self) -> list[Holder]:
        """Who bakes what right now, the longest at work first."""
        folder = self.root / LOCKS
        paths = [path for path in folder.iterdir() if is_run_id(path.name)] if folder.is_dir() else []
        found = [_holder(path.name, said) for path in paths if (said := locks.said(path)) is not None]
        return sorted(found, key=lambda each: (each.started_at or "", each.run_id))

    def check_usable(self) -> None:
        """Raise StoreError or NoLocks where no Run could be baked: nothing can be written, the disk is full, or it has no locks."""
        probe = self.root / LOCKS / f".probe-{os.getpid()}-{secrets.token_hex(4)}"  # containers have the same process ids
        try:
            try:
                write_atomically(probe, "probe" * 1000)
                with contextlib.suppress(Locked), locks.hold(probe, says=""):
                    pass
            finally:
                probe.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(_fault(self.root, error)) from None

    def load(self, run_id: str) -> Record | None:
        """The record of a finished Run; None while it is missing, unreadable or another Run's."""
        try:
            record = self.read(run_id)
        except (OSError, ValueError, BakeoffError):
            return None
        return record if record.run_id == run_id else None

    def read(self, run_id: str) -> Record:
        """What stands in a Run's `record.json`, which may be another Run's. Raises OSError, ValueError or BakeoffError for none."""
        return records.from_json((self.folder(run_id) / RECORD).read_text(encoding="utf-8"))

    def unreadable(self, run_id: str) -> Unreadable | None:
        """Why a Run's `record.json` is no record, which `load` passes over; null for a record, and where there is none."""
        why, newer = None, False
        try:
            record = self.read(run_id)
            if record.run_id != run_id:
                why = f"it is the record of {record.run_id}"
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            why = f"it cannot be read ({os.strerror(error.errno or 0)})"
        except records.NewerSchema as error:
            why, newer = str(error), True
        except BakeoffError as error:
            why = str(error)
        except ValueError:
            why = "it is not whole, or no JSON"
        return None if why is None else Unreadable(run_id=run_id, why=f"{run_id}/{RECORD} is no record: {why}", newer=newer)

    def all_unreadable(self, *, but: Container[str] = ()) -> list[Unreadable]:
        """Every record that cannot be read, by run id; those of `but` are known to be whole."""
        found = (self.unreadable(run_id) for run_id in self._run_ids() if run_id not in but)
        return [each for each in found if each is not None]

    def load_all(self) -> list[Record]:
        """Every finished Run's record, by run id; `all_unreadable` tells what it passes over."""
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
        try:
            return sorted(path.name for path in self.root.iterdir() if is_run_id(path.name))
        except PermissionError as error:
            raise StoreError(
                f"{self.root} cannot be read ({os.strerror(error.errno or 0)}): set BAKEOFF_RUNS to a folder that can"
            ) from None


def _holder(run_id: str, said: str) -> Holder:
    try:
        plain = json.loads(said)
        return Holder(run_id=run_id, **{key: plain.get(key) for key in ("title", "pid", "host", "started_at")})
    except (ValueError, AttributeError):  # a lock of an earlier version, or one that is just being taken
        return Holder(run_id=run_id)


def _fault(root: Path, error: OSError) -> str:
    text = os.strerror(error.errno or 0)
    if error.errno in _FULL:
        return f"the disk of {root} is full ({text}): free some, for example with bakeoff clean --weights --caches, then run the same again"
    return f"nothing can be written to {root} ({text}): set BAKEOFF_RUNS to a folder where that is allowed"


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
