"""What an encoder that is left as it is says of documents: computed once, kept on disk by the content of what it depends on."""

import contextlib
import hashlib
import json
import os
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from bakeoff import spec
from bakeoff.cache import cache_root
from bakeoff.data.batches import Batch, Documents, prediction_loader
from bakeoff.models.pretrained import FrozenClassifier
from bakeoff.spec import Frozen

Features = npt.NDArray[np.float32]

BATCH_SIZE = 64
# Raise it when the same documents would have other features.
_FEATURES_VERSION = 1


def features_of(
    classifier: FrozenClassifier, documents: Documents, model: Frozen, *, longdoc: spec.LongDoc, device: Literal["cpu", "cuda"]
) -> Features:
    """Features (documents, width), from the cache where the same documents were read with the same encoder and settings.

    The thread count counts as a setting: it changes last bits, and a Run should answer alike alone and in a sweep.
    """
    file = cache_root() / "features" / f"{_key(documents, model, longdoc, device)}.npz"
    if (cached := _load(file, len(documents))) is not None:
        return cached
    found = compute(classifier, documents, precision=model.precision, device=device)
    _save(file, found)
    return found


def compute(classifier: FrozenClassifier, documents: Documents, *, precision: spec.Precision, device: Literal["cpu", "cuda"]) -> Features:
    """Features (documents, width) in the order of the documents; batches are of like length, longest first."""
    classifier.eval().to(device)
    autocast = contextlib.nullcontext() if precision == "float32" else torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False)
    found = np.zeros((len(documents), classifier.head.in_features), dtype=np.float32)
    batch: Batch
    for batch in prediction_loader(documents, batch_size=BATCH_SIZE):
        with torch.inference_mode(), autocast:
            found[batch.rows.numpy()] = classifier.features(batch.ids.to(device), batch.lengths).float().cpu().numpy()
    return found


def _key(documents: Documents, model: Frozen, longdoc: spec.LongDoc, device: str) -> str:
    settings = {
        "version": _FEATURES_VERSION,
        "model": spec.identity(model, part="architecture"),
        "longdoc": spec.identity(longdoc),
        "computed": [torch.__version__, metadata.version("transformers"), device, torch.get_num_threads(), BATCH_SIZE],
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for ids in documents.ids:
        digest.update(len(ids).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(ids, dtype=np.int32).tobytes())
    return digest.hexdigest()


def _load(file: Path, n_documents: int) -> Features | None:
    try:
        with np.load(file, allow_pickle=False) as stored:
            found: Features = stored["features"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return found if found.dtype == np.float32 and found.ndim == 2 and len(found) == n_documents else None


def _save(file: Path, found: Features) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.stem}.{os.getpid()}.npz")
    try:
        np.savez(temporary, features=found)
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
