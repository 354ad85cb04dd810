"""A shipped folder in this process: made of bakeoff's own parts, so that no code of the folder is run."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from bakeoff.errors import DataError
from bakeoff.shipping.parts.classifier import Classifier
from bakeoff.shipping.recipe import make, steps_of
from bakeoff.shipping.settings import settings_of


@dataclass(frozen=True, kw_only=True)
class Served:
    """A classifier, and what its folder says of it."""

    classifier: Classifier
    settings: dict[str, Any]


def load(folder: Path, *, threads: int) -> Served:
    """The model in a folder, on so many CPU threads. Raises DataError for a folder that is none or lacks a file."""
    settings = settings_of(folder)
    os.environ |= {"TOKENIZERS_PARALLELISM": str(threads > 1).lower(), "RAYON_NUM_THREADS": str(threads)}
    try:
        classifier = make(steps_of(settings), folder, settings, threads=threads)
    except ModuleNotFoundError as error:
        raise DataError(
            f"{folder} needs the package {error.name}, which is not installed: pip install -r {folder}/requirements.txt"
        ) from None
    except FileNotFoundError as error:
        raise DataError(f"{folder} lacks {Path(error.filename or 'a file').name}: export the Run again") from None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise DataError(f"{folder} is damaged or was changed and cannot be loaded ({type(error).__name__}): export the Run again") from None
    return Served(classifier=classifier, settings=settings)
