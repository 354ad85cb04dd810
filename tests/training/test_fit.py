"""Training of tiny models: pinned losses, the best step's weights, steps on small budgets, and a loss that is no number."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import factories
from bakeoff.data.batches import Bucketed, Documents, LongestFirst, prediction_loader, training_loader
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.spec import Training
from bakeoff.training import fit as fitting
from bakeoff.training import optim

PINNED = [0.75194, 0.67785, 0.68723, 0.63998, 0.62581, 0.63579, 0.58564, 0.59248, 0.51213]
TRAINING = dataclasses.replace(factories.TRAINING, learning_rate=0.05, batch_size=4, epochs=3, min_steps=0)


def documents(n: int = 12, classes: int = 2) -> Documents:
    """Documents of 1 to 4 tokens whose first token says the class."""
    labels = np.arange(n) % classes
    ids = [np.array([3 + label, *range(10, 10 + i % 4)], dtype=np.int32) for i, label in enumerate(labels)]
    return Documents(ids, labels.astype(np.int64), pad_id=0)


def classifier(**changes: object) -> BiLstmClassifier:
    fitting.seed_everything(0, threads=1)
    spec = dataclasses.replace(factories.MODELS["bilstm"], embedding_dim=6, hidden_dim=4, dropout=0.0, **changes)
    return BiLstmClassifier(spec, vocabulary_size=30, n_classes=2, pad_id=0)


def fit(training: Training = TRAINING, validation: Documents | None = None, model: nn.Module | None = None) -> fitting.Fitted:
    return fitting.fit(
        classifier() if model is None else model,
        training,
        documents(),
        validation,
        precision="float32",
        device="cpu",
        seed=0,
        log=lambda step, metrics: None,
    )


def test_losses_of_a_tiny_model_are_pinned() -> None:
    losses = [row["train_loss"] for row in fit().history]
    assert losses == pytest.approx(PINNED, abs=1e-4)


def test_the_same_seed_repeats_exactly_and_another_does_not() -> None:
    first, second = fit(), fit()
    assert first.history == second.history
    assert all(
        torch.equal(a, b) for a, b in zip(first.classifier.state_dict().values(), second.classifier.state_dict().values(), strict=True)
    )


class Scripted(nn.Module):
    """One weight that every step moves the same way, whatever the data, so that validation gets worse each epoch."""

    def __init__(self, start: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([start]))

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits that lean to class 1 by the weight."""
        return torch.stack([torch.zeros(len(ids)), self.weight.expand(len(ids))], dim=1)


def only(label: int, n: int = 4) -> Documents:
    return Documents([np.array([1], dtype=np.int32)] * n, np.full(n, label, dtype=np.int64), pad_id=0)


def test_the_weights_of_the_best_epoch_are_kept_not_the_last() -> None:
    constant = dataclasses.replace(TRAINING, schedule="constant", warmup_fraction=0.0, weight_decay=0.0, learning_rate=0.5)
    done = fitting.fit(
        Scripted(0.0), constant, only(1), only(0), precision="float32", device="cpu", seed=0, log=lambda step, metrics: None
    )  # training on class 1 makes class 0 worse with each step, so epoch 1 of 3 is best
    assert (done.steps, done.best_step) == (3, 1)
    kept = done.classifier.weight.item()
    assert kept == pytest.approx(0.5, abs=0.01)
    assert done.best_validation_loss == pytest.approx(math.log(1 + math.exp(kept)), abs=1e-4)
    validation = [row["validation_loss"] for row in done.history if row["validation_loss"] is not None]
    assert validation == sorted(validation)
    assert len(validation) == 3


def test_without_validation_the_last_weights_stand() -> None:
    constant = dataclasses.replace(TRAINING, schedule="constant", warmup_fraction=0.0, weight_decay=0.0, learning_rate=0.5)
    done = fitting.fit(Scripted(0.0), constant, only(1), None, precision="float32", device="cpu", seed=0, log=lambda step, metrics: None)
    assert (done.best_step, done.best_validation_loss) == (None, None)
    assert done.classifier.weight.item() > 1.2


def test_a_loss_that_is_no_number_stops_training_and_says_so() -> None:
    done = fitting.fit(
        Scripted(float("inf")), TRAINING, only(0), None, precision="float32", device="cpu", seed=0, log=lambda step, metrics: None
    )
    assert done.stop_reason == "not_finite"
    assert done.steps == 1


@pytest.mark.parametrize(
    ("rows", "batch_size", "min_steps", "steps"), [(4, 8, 0, 3), (4, 8, 10, 10), (4, 16, 150, 150), (1, 8, 0, 3), (12, 4, 10, 12)]
)
def test_small_budgets_are_counted_in_steps_and_no_batch_is_dropped(rows: int, batch_size: int, min_steps: int, steps: int) -> None:
    training = dataclasses.replace(TRAINING, batch_size=batch_size, min_steps=min_steps)
    done = fitting.fit(
        Scripted(0.0), training, documents(rows), None, precision="float32", device="cpu", seed=0, log=lambda step, metrics: None
    )
    assert done.steps == steps


def test_predictions_come_back_in_the_order_of_the_documents() -> None:
    trained = fit(dataclasses.replace(TRAINING, epochs=30)).classifier
    held = documents(7)
    together = fitting.predict(trained, held, 2, precision="float32", device="cpu")
    assert together.argmax(axis=1).tolist() == held.labels.tolist()
    for row in range(7):
        alone = Documents([held.ids[row]], held.labels[row : row + 1], pad_id=0)
        assert fitting.predict(trained, alone, 2, precision="float32", device="cpu")[0] == pytest.approx(together[row], abs=1e-6)


def test_every_step_and_validation_is_told() -> None:
    told: list[tuple[int, dict[str, float]]] = []

    def log(step: int, metrics: Mapping[str, float]) -> None:
        told.append((step, dict(metrics)))

    fitting.fit(classifier(), TRAINING, documents(), documents(4), precision="float32", device="cpu", seed=0, log=log)
    assert [step for step, metrics in told if "train_loss" in metrics] == list(range(1, 10))
    assert [step for step, metrics in told if "validation_loss" in metrics] == [3, 6, 9]
    assert told[0][1].keys() == {"train_loss", "learning_rate"}


def test_the_schedule_by_hand() -> None:
    share = optim.schedule(dataclasses.replace(TRAINING, warmup_fraction=0.2), total_steps=10)
    assert [share(step) for step in range(11)] == pytest.approx([0.5, 1.0, *[(10 - step) / 8 for step in range(2, 11)]])
    constant = optim.schedule(dataclasses.replace(TRAINING, schedule="constant", warmup_fraction=0.0), total_steps=10)
    assert {constant(step) for step in range(10)} == {1.0}


def test_biases_and_norms_do_not_decay() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    decayed, free = optim.optimiser(model, TRAINING).param_groups
    assert [tuple(p.shape) for p in decayed["params"]] == [(2, 3)]
    assert [tuple(p.shape) for p in free["params"]] == [(2,), (2,), (2,)]
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.01, 0.0)


def test_an_epoch_has_every_row_once_in_batches_of_like_length() -> None:
    lengths = np.random.default_rng(0).integers(1, 200, 1003)
    sampler = Bucketed(lengths, batch_size=16, seed=3)
    first, second = list(sampler), list(sampler)
    for epoch in (first, second):
        assert sorted(row for batch in epoch for row in batch) == list(range(1003))
        assert len(epoch) == len(sampler) == 63
    assert first != second
    assert list(Bucketed(lengths, batch_size=16, seed=3)) == first
    spread = np.mean([np.ptp(lengths[batch]) for batch in first])
    assert spread < 10


def test_prediction_reads_the_longest_first_and_all_of_them() -> None:
    batches = list(LongestFirst(np.array([3, 9, 1, 7, 5]), batch_size=2))
    assert batches == [[1, 3], [4, 0], [2]]


def test_long_documents_make_smaller_batches_to_predict() -> None:
    lengths = np.array([10, 300, 90, 100, 40, 30, 20])
    assert list(LongestFirst(lengths, batch_size=3, most_tokens=200)) == [[1], [3, 2], [4, 5, 6], [0]]
    assert list(LongestFirst(lengths, batch_size=3)) == [[1, 3, 2], [4, 5, 6], [0]]
    assert [len(batch) for batch in LongestFirst(np.full(100, 2048), batch_size=64)] == [64, 36]
    assert [len(batch) for batch in LongestFirst(np.full(100, 2049), batch_size=64)] == [63, 37]
    assert [len(batch) for batch in LongestFirst(np.array([500_000, 1]), batch_size=64)] == [1, 1]
    pairs = [len(batch) for batch in LongestFirst(np.array([4096, 4096, 2048, 2048, *[512] * 64]), 64, most_pairs=64 * 512 * 512)]
    assert pairs == [1, 1, 4, 62]  # 2,048² goes 4 times into it


def test_batches_pad_to_their_longest_and_keep_lengths() -> None:
    batch = next(iter(prediction_loader(documents(4), batch_size=4)))
    assert batch.ids.tolist() == [[4, 10, 11, 12], [3, 10, 11, 0], [4, 10, 0, 0], [3, 0, 0, 0]]
    assert batch.lengths.tolist() == [4, 3, 2, 1]
    assert batch.labels.tolist() == [1, 0, 1, 0]
    assert len(training_loader(documents(4), batch_size=3, seed=0)) == 2


def test_bfloat16_trains_with_clipping_and_keeps_float32_weights() -> None:
    module = classifier()
    before = [weight.detach().clone() for weight in module.parameters()]
    done = fitting.fit(module, TRAINING, documents(), None, precision="bfloat16", device="cpu", seed=0, log=lambda step, metrics: None)
    assert done.stop_reason == "schedule"
    assert {weight.dtype for weight in done.classifier.parameters()} == {torch.float32}
    assert all((old != new).any() for old, new in zip(before, done.classifier.parameters(), strict=True))


def test_saved_weights_answer_as_the_model_did(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    from bakeoff.data.tokens import WordVocabulary
    from bakeoff.models import files
    from bakeoff.training import saving

    trained = fit().classifier
    vocabulary = WordVocabulary(words=tuple("abcdefg"))
    saving.save_neural(tmp_path, factories.make_run(model="bilstm"), ("x", "y"), trained, vocabulary)
    fresh = classifier()
    fresh.load_state_dict(load_file(tmp_path / files.WEIGHTS))
    before = fitting.predict(trained, documents(), 2, precision="float32", device="cpu")
    assert np.array_equal(before, fitting.predict(fresh, documents(), 2, precision="float32", device="cpu"))
    assert {path.name for path in tmp_path.iterdir()} == {"model.safetensors", "bakeoff.json", "vocabulary.json"}
