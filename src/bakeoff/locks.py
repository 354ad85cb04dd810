"""Files that one process at a time holds: the kernel frees them at its death, and what they say tells people who holds them."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from bakeoff.errors import BakeoffError


class Locked(Exception):
    """Another process, or another part of this one, holds this file right now."""


class NoLocks(BakeoffError):
    """The file system cannot lock files."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(
            f"the file system of {path.parent} has no file locks ({os.strerror(error.errno or 0)}), without which two processes could "
            "bake one Run: set BAKEOFF_RUNS to a folder on a local disk"
        )


_HELD: dict[tuple[int, Path], str] = {}
"""What this process holds and says; with its id, since a fork holds nothing. Opening such a file again, and closing it, would free it."""


@contextlib.contextmanager
def hold(path: Path, *, says: str) -> Iterator[None]:
    """Hold a file, made where it is missing, which meanwhile says so; raises Locked, NoLocks, or OSError where it cannot be made."""
    own = (os.getpid(), path.absolute())
    if own in _HELD:
        raise Locked(path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(handle, fcntl.LOCK_EX, path)
        _HELD[own] = says
        with contextlib.suppress(OSError):  # a full disk must not stop what needs no space
            os.ftruncate(handle, 0)
            os.pwrite(handle, says.encode(), 0)
        try:
            yield
        finally:
            del _HELD[own]
    finally:
        os.close(handle)


def said(path: Path) -> str | None:
    """What the holder of a file says, which may be nothing; null where nobody holds it. Raises NoLocks."""
    if (own := _HELD.get((os.getpid(), path.absolute()))) is not None:
        return own
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        _lock(handle, fcntl.LOCK_SH, path)
    except Locked:
        return os.pread(handle, 4096, 0).decode(errors="replace")
    else:
        return None
    finally:
        os.close(handle)


def _lock(handle: int, how: int, path: Path) -> None:
    try:
        fcntl.lockf(handle, how | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise Locked(path.name) from None
    except OSError as error:
        raise NoLocks(path, error) from None
