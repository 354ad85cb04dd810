"""Where fetched assets and cached tokens live."""

import os
from pathlib import Path


def cache_root() -> Path:
    """`$BAKEOFF_CACHE`, or the user's cache directory."""
    if chosen := os.environ.get("BAKEOFF_CACHE"):
        return Path(chosen).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("bakeoff", appauthor=False))
