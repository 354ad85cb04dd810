"""What an encoder that is left as it is says of documents: computed once, kept on disk by the content of what it depends on."""

import contextlib
import hashlib
import json
import os
import time
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from bakeoff import spec
from bakeoff.cache import cache_root
from bakeoff.data.batches import PREDICTION_PAIRS, PREDICTION_TOKENS, Batch, Documents, prediction_loader
from bakeoff.models import encoders, windows
from bakeoff.models.pretrained import FrozenClassifier
from bakeoff.spec import Frozen
from bakeoff.training import memory

Features = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Computed:
    """What an encoder says of documents."""

    features: Features
    """Shape (documents, width)."""
    seconds: float
    """What it took when it was computed, which may be long ago."""


BATCH_SIZE = 64
# Raise it when the same documents would have other features.
_FEATURES_VERSION = 3


def features_of(
    classifier: FrozenClassifier, documents: Documents, model: Frozen, *, longdoc: spec.LongDoc, device: Literal["cpu", "cuda"]
) -> Computed:
    """Features (documents, width), from the cache where the same documents were read with the same encoder and settings.

    The thread count counts as a setting: it changes last bits, and a Run should answer alike alone and in a sweep. The order of
    the documents does not: they are read in one of their own, so that every draw of a whole pool is computed once.
    """
    order = _order(documents)
    ordered = Documents([documents.ids[i] for i in order], documents.labels[order], documents.pad_id)
    file = cache_root() / "features" / f"{_key(ordered, model, longdoc, device)}.npz"
    if (found := _load(file, len(documents))) is None:
        started = time.perf_counter()
        values = compute(classifier, ordered, precision=model.precision, device=device)
        found = Computed(features=values, seconds=time.perf_counter() - started)
        _save(file, found)
    return Computed(features=found.features[np.argsort(order)], seconds=found.seconds)


def _order(documents: Documents) -> npt.NDArray[np.int64]:
    """Positions of the documents in an order that is theirs alone: by their tokens."""
    tokens = [np.ascontiguousarray(ids, dtype=np.int32).tobytes() for ids in documents.ids]
    return np.array(sorted(range(len(tokens)), key=tokens.__getitem__), dtype=np.int64)


def compute(classifier: FrozenClassifier, documents: Documents, *, precision: spec.Precision, device: Literal["cpu", "cuda"]) -> Features:
    """Features (documents, width) in the order of the documents; batches are of like length, longest first."""
    classifier.eval().to(device)
    autocast = contextlib.nullcontext() if precision == "float32" else torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False)
    found = np.zeros((len(documents), classifier.head.in_features), dtype=np.float32)

    def features(part: Batch) -> tuple[torch.Tensor, Features]:
        with torch.inference_mode(), autocast:
            return part.rows, classifier.features(part.ids.to(device), part.lengths).float().cpu().numpy()

    batch: Batch
    for batch in prediction_loader(documents, batch_size=BATCH_SIZE, holds_all_pairs=encoders.holds_all_pairs(classifier)):
        for rows, values in memory.answers_within(features, batch):
            found[rows.numpy()] = values
    return found


def _key(documents: Documents, model: Frozen, longdoc: spec.LongDoc, device: str) -> str:
    settings = {
        "version": _FEATURES_VERSION,
        "model": spec.identity(model, part="architecture"),
        "longdoc": spec.identity(longdoc),
        "computed": [torch.__version__, metadata.version("transformers"), device, torch.get_num_threads()],
        "batches": [BATCH_SIZE, PREDICTION_TOKENS, PREDICTION_PAIRS, windows.CHUNK_WINDOWS, windows.CHUNK_TOKENS],
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for ids in documents.ids:
        digest.update(len(ids).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(ids, dtype=np.int32).tobytes())
    return digest.hexdigest()


def _load(file: Path, n_documents: int) -> Computed | None:
    try:
        with np.load(file, allow_pickle=False) as stored:
            found: Features = stored["features"]
            seconds = float(stored["seconds"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    right = found.dtype == np.float32 and found.ndim == 2 and len(found) == n_documents
    return Computed(features=found, seconds=seconds) if right else None


def _save(file: Path, found: Computed) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.stem}.{os.getpid()}.npz")
    try:
        np.savez(temporary, features=found.features, seconds=np.float64(found.seconds))
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
