"""One Run on two devices: the same batches, losses, steps and answers as on one, with no row padded in or left out."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import bakery
import factories
from bakeoff.commands.baking import bake_runs
from bakeoff.data.batches import Batch, Documents
from bakeoff.data.masking import NOT_HIDDEN, Hiding, MaskedDocuments
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.runner.weights import difference
from bakeoff.store import Store
from bakeoff.training import fit as fitting
from bakeoff.training import mlm, parallel
from bakeoff.training.parallel import ALONE, Place, share

TRAINING = dataclasses.replace(factories.TRAINING, learning_rate=0.05, batch_size=4, epochs=3, min_steps=0)
TEST_ROWS = bakery.rows(5, seed=1)
HIDING = Hiding(fraction=0.3, mask_id=3, special=np.arange(30) < 4)


def batch(n: int, labels: torch.Tensor | None = None) -> Batch:
    lengths = torch.arange(n, 0, -1)
    return Batch(torch.arange(n * n).reshape(n, n), lengths, torch.arange(n) if labels is None else labels, torch.arange(n) + 100)


def test_shares_are_the_rows_of_a_batch_each_once() -> None:
    first, second = (share(batch(5), Place(rank, 2)).batch for rank in (0, 1))
    assert (first.rows.tolist(), second.rows.tolist()) == ([100, 102, 104], [101, 103])
    assert first.lengths.tolist() == [5, 3, 1]
    assert second.ids.tolist() == [[5, 6, 7, 8], [15, 16, 17, 18]]  # as wide as its longest
    assert second.labels.tolist() == [1, 3]


def test_one_device_has_the_batch_itself() -> None:
    whole = batch(3)
    assert share(whole, ALONE).batch is whole
    assert share(whole, ALONE).weight == 1.0


@pytest.mark.parametrize(("n", "devices", "weights"), [(4, 2, [1.0, 1.0]), (5, 2, [1.2, 0.8]), (1, 2, [2.0, 0.0]), (2, 3, [1.5, 1.5, 0.0])])
def test_weights_make_the_mean_of_the_means_that_of_the_batch(n: int, devices: int, weights: list[float]) -> None:
    shares = [share(batch(n), Place(rank, devices)) for rank in range(devices)]
    assert [each.weight for each in shares] == pytest.approx(weights)
    means = [each.weight * each.batch.labels.double().mean() for each in shares]
    assert float(sum(means)) / devices == pytest.approx(batch(n).labels.double().mean().item())


def test_hidden_tokens_are_weighted_one_by_one() -> None:
    labels = torch.full((3, 3), NOT_HIDDEN)
    labels[0, 0], labels[1, :2], labels[2, 0] = 7, 8, 9
    first, second = (share(batch(3, labels), Place(rank, 2)) for rank in (0, 1))
    assert (first.weight, second.weight) == (1.0, 1.0)  # two of four hidden tokens each, in two rows and in one
    assert second.batch.labels.tolist() == [[8, 8]]


def documents(n: int) -> Documents:
    """Documents of 1 to 4 tokens whose first token says the class."""
    labels = np.arange(n) % 2
    ids = [np.array([4 + label, *range(10, 10 + i % 4)], dtype=np.int32) for i, label in enumerate(labels)]
    return Documents(ids, labels.astype(np.int64), pad_id=0)


class WithIdleWeight(BiLstmClassifier):
    """Has a weight that no document uses; decay must not touch it, as on one device."""

    def __init__(self) -> None:
        spec = dataclasses.replace(factories.MODELS["bilstm"], embedding_dim=6, hidden_dim=4, dropout=0.0)
        super().__init__(spec, vocabulary_size=30, n_classes=2, pad_id=0)  # type: ignore[arg-type]
        self.idle = nn.Parameter(torch.ones(2, 2))


def fit(devices: int) -> fitting.Fitted:
    fitting.seed_everything(0, threads=1)
    return fitting.fit(
        WithIdleWeight(),
        TRAINING,
        documents(13),  # the last batch of an epoch has one row, so that a device has none
        documents(5),
        precision="float32",
        device="cpu",
        devices=devices,
        seed=0,
        log=lambda step, metrics: None,
    )


def answers(fitted: fitting.Fitted) -> np.ndarray:
    return fitting.predict(fitted.classifier, documents(5), 2, precision="float32", device="cpu")


@pytest.mark.slow
def test_two_devices_take_the_steps_of_one() -> None:
    one, two = fit(1), fit(2)
    assert (two.steps, two.epochs, two.best_step) == (one.steps, one.epochs, one.best_step) == (12, 3.0, one.best_step)
    for key in ("step", "learning_rate", "train_loss", "validation_loss"):
        expected = [np.nan if row[key] is None else row[key] for row in one.history]
        assert [np.nan if row[key] is None else row[key] for row in two.history] == pytest.approx(expected, abs=1e-4, nan_ok=True)
    assert torch.equal(two.classifier.get_parameter("idle"), torch.ones(2, 2))
    first, second = answers(one), answers(two)
    assert len(second) == 5
    assert np.isfinite(second).all()
    assert np.abs(first - second).max() < 1e-3
    assert not torch.distributed.is_initialized()


class Guesser(nn.Module):
    """Guesses hidden tokens from the tokens themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(30, 8)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Logits (hidden tokens, vocabulary)."""
        return functional.linear(self.table(ids)[hidden], self.table.weight)


@pytest.mark.slow
def test_two_devices_guess_the_same_hidden_tokens() -> None:
    histories = []
    for devices in (1, 2):
        fitting.seed_everything(0, threads=1)
        ids = documents(9).ids
        fitted = fitting.fit(
            Guesser(),
            TRAINING,
            MaskedDocuments(ids, 0, HIDING, seed=0, fixed=False),
            MaskedDocuments(ids[:3], 0, HIDING, seed=0, fixed=True),
            precision="float32",
            device="cpu",
            devices=devices,
            seed=0,
            log=lambda step, metrics: None,
            loss=mlm.mean_loss,
            validation_loss=mlm.summed_loss,
        )
        histories.append([value for row in fitted.history for value in row.values() if value is not None])
    assert histories[1] == pytest.approx(histories[0], abs=1e-4)


@pytest.mark.slow
def test_a_run_of_five_test_rows_is_the_same_run_on_two_devices(tmp_path: Path) -> None:
    table = bakery.on_table(bakery.write_csv(tmp_path / "train.csv", bakery.rows(46)), bakery.write_csv(tmp_path / "test.csv", TEST_ROWS))
    job = bakery.compose(*table, *bakery.TINY["bilstm"], "model.dropout=0", "budget.labels=30", "machine.device=cpu")
    stores = [Store(tmp_path / f"runs{devices}") for devices in (1, 2)]
    for devices, store in zip((1, 2), stores, strict=True):
        machine = dataclasses.replace(job.machine, devices=devices)
        assert bake_runs([job.run], machine, store, executor="local", slots=1).failed == {}
    first, second = (store.load(job.run.run_id) for store in stores)
    assert first is not None
    assert second is not None
    assert [each.quality["test"].n for each in (first, second)] == [5, 5]
    assert (second.training.steps, second.data.subset_hashes) == (first.training.steps, first.data.subset_hashes)
    far = difference(*(store.folder(job.run.run_id) / "predictions.parquet" for store in stores))
    assert far is not None
    assert 0 < far < 1e-3, "not the same bytes, or two processes had no part in it"


@pytest.mark.slow
def test_a_process_that_fails_ends_them_all_and_quotes_nothing() -> None:
    code = (
        "import faulty, torch\n"
        "from bakeoff.training import parallel\n"
        "if __name__ == '__main__':\n"
        "    with parallel.together(faulty.fails, devices=2, device='cpu'):\n"
        "        torch.distributed.all_reduce(torch.ones(1))\n"
        "        torch.distributed.all_reduce(torch.ones(1))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 1
    assert "process 2 of 2: RuntimeError at" in done.stderr
    assert "canary" not in done.stderr


def test_the_given_place_is_what_lightning_is_told() -> None:
    assert parallel.trainer_options(ALONE) == {"devices": 1}
    told = parallel.trainer_options(Place(1, 2))
    assert (told["devices"], told["use_distributed_sampler"]) == (2, False)
    (given,) = told["plugins"]
    assert (given.world_size(), given.global_rank(), given.local_rank(), given.node_rank()) == (2, 1, 1, 0)
    assert given.creates_processes_externally
