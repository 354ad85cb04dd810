"""A dataset on the Hugging Face hub, at a pinned commit, to the columns that a configuration names."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff import fingerprint, spec
from bakeoff.data import labels, tables
from bakeoff.errors import DataError


def splits(dataset: spec.Dataset) -> dict[str, str]:
    """Role → name of the split on the hub: `pool` and, for an official split, `test`."""
    found = {"pool": dataset.hub_pool, "test": dataset.hub_test if dataset.split == "official" else None}
    return {role: name for role, name in found.items() if name is not None}


def load(dataset: spec.Dataset) -> Mapping[str, Any]:
    """Name of the split → its `datasets.Dataset`, downloaded when missing. Raises DataError when it cannot be had."""
    import datasets

    datasets.disable_progress_bars()  # a log file has no use for them
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # nor for a line a retry, since the last one becomes the sentence below
    try:
        found: Mapping[str, Any] = datasets.load_dataset(dataset.hub, dataset.hub_config, revision=dataset.revision)
    except Exception as error:  # its HTTP client changes between versions, so the kind of failure is only named
        raise DataError(
            f"dataset.hub={dataset.hub} could not be had from the Hugging Face hub ({type(error).__name__}): check the name, "
            f"dataset.hub_config, dataset.revision and the network, or use a file with dataset=csv or a starter dataset "
            f"({', '.join(sorted(fingerprint.DATASETS))})"
        ) from None
    for role, name in splits(dataset).items():
        if name not in found:
            raise DataError(f"dataset.hub_{role}={name} is no split of {dataset.hub}; {labels.nearest(name, map(str, found))}")
    return found


def rows(split: Any, columns: Mapping[str, str], place: str) -> Iterator[dict[str, Any]]:
    """The values of `columns` (setting → column), row by row, by setting; a class label is its name, or None where it is -1.

    Raises DataError for a column that is not there.
    """
    import datasets

    for key, name in columns.items():
        if name not in split.column_names:
            raise DataError(f"dataset.{key}={name} is no column of {place}; {tables.nearest_column(name, split.column_names)}")
    found = []
    for name in columns.values():
        values, feature = list(split[name]), split.features[name]
        if isinstance(feature, datasets.ClassLabel):
            values = [None if value is None or value < 0 else feature.int2str(value) for value in values]
        found.append(values)
    for row in zip(*found, strict=True):
        yield dict(zip(columns, row, strict=True))
