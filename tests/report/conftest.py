"""A small sweep with every kind of cell, and the store that answers it."""

from pathlib import Path

import pytest

import factories
from bakeoff.store import Store
from bakeoff.sweep import Cell, Sweep

ACCURACY = {"majority": {100: 0.5, 1000: 0.5}, "tfidf": {100: 0.6, 1000: 0.7}, "pretrained": {100: 0.7, 1000: 0.8}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


@pytest.fixture
def small(store: Store) -> Sweep:
    """Three models, two budgets and three seeds; one Run failed, one is missing, one cell makes no sense."""
    cells = []
    for model, scores in ACCURACY.items():
        for labels, accuracy in scores.items():
            for seed in range(3):
                run = factories.make_run(model=model, labels=labels, seed=seed)
                cells.append(factories.cell(run))
                if (model, labels, seed) == ("pretrained", 1000, 2):
                    store.write_failure(run, type_="RuntimeError", message="out of memory", trace=["fit.py:1 in fit"])
                elif (model, labels, seed) != ("tfidf", 100, 1):
                    factories.bake(store, run, accuracy=accuracy + 0.01 * seed)
    refused = ("dataset=reviews", "model=pretrained", "longdoc.max_tokens=1024", "seed=0")
    cells.append(Cell(overrides=refused, run=None, reason="longdoc.max_tokens=1024 is above the 512 positions of minilm-l6"))
    return factories.sweep_of(*cells)
