"""Datasets and rows that tests of the data room build, each with its own cache folder."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff import fingerprint, spec
from bakeoff.data.dataset import Rows

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("BAKEOFF_CACHE", str(cache))
    return cache


@pytest.fixture
def make_dataset() -> Callable[..., spec.Dataset]:
    """A Dataset from the fields that matter to a test; the fingerprint comes from the bytes unless given."""

    def make(**fields: object) -> spec.Dataset:
        values: dict[str, object] = {
            "name": "test", "description": "", "family": "test", "redistributable": False, "metric": "auto",
            "asset": None, "path": None, "test_path": None, "format": "csv", "text": None, "label": None, "group": None,
            "encoding": "auto", "label_map": {}, "split": "fold", "fold": None, "held_out_rows": None,
        }  # fmt: skip
        values.update(fields)
        if values["format"] in ("csv", "tsv", "jsonl"):
            values["text"], values["label"] = values["text"] or "text", values["label"] or "label"
        if values["test_path"] is not None:
            values["split"] = "official"
        if values["split"] == "fold" and values["fold"] is None:
            values["fold"] = 0
        for key in ("path", "test_path"):
            values[key] = None if values[key] is None else str(values[key])
        if "fingerprint" not in values:
            test = None if values["test_path"] is None else Path(str(values["test_path"]))
            values["fingerprint"] = (
                fingerprint.of_dataset_asset(str(values["asset"]))
                if values["asset"]
                else fingerprint.of_files(Path(str(values["path"])), test)
            )
        return spec.Dataset(**values)  # type: ignore[arg-type]

    return make


@pytest.fixture
def shared() -> Path:
    """The folder of real data for checks; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the shared real data are not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def make_rows() -> Callable[..., Rows]:
    """Rows with given labels (class indices); ids, texts, groups and clusters are made up unless given."""

    def make(labels: list[int], *, clusters: list[int] | None = None, groups: list[str] | None = None) -> Rows:
        return Rows(
            row_ids=tuple(f"{i:016x}-0" for i in range(len(labels))),
            texts=tuple(f"text {i}" for i in range(len(labels))),
            labels=np.array(labels, dtype=np.int64),
            groups=None if groups is None else tuple(groups),
            clusters=np.arange(len(labels), dtype=np.int64) if clusters is None else np.array(clusters, dtype=np.int64),
        )

    return make
