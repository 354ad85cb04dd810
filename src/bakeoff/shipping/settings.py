"""What a shipped folder says of itself, in a file that is read without loading any model."""

import json
from pathlib import Path
from typing import Any

from bakeoff.errors import DataError

FILE = "settings.json"
FORMAT = 1
"""Raise it when the file means something else."""


def settings_of(folder: Path) -> dict[str, Any]:
    """What a shipped model says of itself. Raises DataError for a folder that is none, or one of a newer bakeoff."""
    try:
        settings = json.loads((folder / FILE).read_text(encoding="utf-8"))
        version = settings["format"]
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(f"{folder} is no folder that `bakeoff export` wrote: it has no {FILE} that can be read") from None
    if version != FORMAT:
        raise DataError(f"{folder} was exported by another bakeoff (format {version}, here {FORMAT}): export the Run again")
    return settings  # type: ignore[no-any-return]
