"""Whether a user's own files fit into memory, asked before they are read: rows are held whole."""

from pathlib import Path

import psutil

from bakeoff.data import sources
from bakeoff.errors import DataError
from bakeoff.spec import Dataset

BYTES_A_BYTE = 30.0
"""Memory that reading, near-duplicates and the split take at their peak, over the size of a file of short texts; of long ones less."""
MEGABYTES_A_SECOND = 0.5
"""How much text is read and searched for near-duplicates in a second."""
LARGE_BYTES = 200_000_000
"""From here on it takes minutes, which one is told."""
_GIGABYTE = 1e9


def refuse_too_large(dataset: Dataset, *, available_bytes: int | None = None) -> None:
    """Raise DataError for files that would not fit into the memory that is free; null means that of this machine."""
    size, free = _size_bytes(dataset), psutil.virtual_memory().available if available_bytes is None else available_bytes
    if size > LARGE_BYTES and size * BYTES_A_BYTE > free:
        raise DataError(
            f"{_name(dataset)} has {size / _GIGABYTE:.1f} GB, for which about {size * BYTES_A_BYTE / _GIGABYTE:.0f} GB of memory are "
            f"needed, and {free / _GIGABYTE:.0f} GB are free: use a part of its rows, or a machine with more memory"
        )


def notice(dataset: Dataset) -> str | None:
    """What to tell whoever waits for a large file; null for others."""
    size = _size_bytes(dataset)
    if size <= LARGE_BYTES:
        return None
    minutes = size / 1e6 / MEGABYTES_A_SECOND / 60
    return (
        f"{_name(dataset)} has {size / _GIGABYTE:.1f} GB: reading it takes about {size * BYTES_A_BYTE / _GIGABYTE:.0f} GB of memory and "
        f"{minutes:.0f} minutes, once"
    )


def _size_bytes(dataset: Dataset) -> int:
    """Of the user's own files; 0 for data that comes with bakeoff, from the hub or is generated."""
    if dataset.path is None:
        return 0
    files = [each for path in sources.paths(dataset).values() for each in (path.glob("*/*") if path.is_dir() else (path,))]
    return sum(file.stat().st_size for file in files if file.is_file())


def _name(dataset: Dataset) -> str:
    return Path(str(dataset.path)).name
