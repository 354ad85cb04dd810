"""Layers that learn at a pace of their own: worked groups, a head that learns alone first, and a loss of one's own."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import factories
import toy_encoders
from bakeoff import spec
from bakeoff.data.batches import Batch, Documents
from bakeoff.errors import ConfigError
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.training import fit as fitting
from bakeoff.training import optim

TRAINING = dataclasses.replace(
    factories.TRAINING, learning_rate=0.01, batch_size=4, epochs=3, min_steps=0, warmup_fraction=0.0, schedule="constant"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_encoders.checkpoint(tmp_path_factory.mktemp("toy") / "bert", "bert", initializer_range=0.02)


def classifier(folder: Path, **changes: Any) -> PretrainedClassifier:
    fitting.seed_everything(0, threads=1)
    model = dataclasses.replace(factories.MODELS["pretrained"], training=TRAINING, **changes)
    assert isinstance(model, spec.Pretrained)
    return PretrainedClassifier(model, folder=folder, n_classes=2)


def documents(n: int = 12) -> Documents:
    labels = np.arange(n) % 2
    ids = [np.array([2, 10 + label, *range(20, 20 + i % 4), 3], dtype=np.int32) for i, label in enumerate(labels)]
    return Documents(ids, labels.astype(np.int64), pad_id=0)


def fit(model: nn.Module, *, validation: Documents | None = None, **options: Any) -> fitting.Fitted:
    plain: dict[str, Any] = {"precision": "float32", "device": "cpu", "seed": 0, "log": lambda step, metrics: None}
    return fitting.fit(model, TRAINING, documents(), validation, **plain | options)


def test_a_model_says_its_pace() -> None:
    slow = dataclasses.replace(factories.MODELS["pretrained"], layer_decay=0.9, head_first_epochs=1)
    assert optim.Pace.of(slow) == optim.Pace(layer_decay=0.9, head_first_epochs=1)
    assert optim.Pace.of(factories.MODELS["pretrained"]) == optim.EVEN
    assert optim.Pace.of(factories.MODELS["bilstm"]) == optim.EVEN


def test_learning_rates_of_a_worked_example(folder: Path) -> None:
    """Four layers at a decay of ½: head 1, layers from the top ½, ¼, ⅛, 1⁄16, embeddings 1⁄32 of the rate."""
    model = classifier(folder)
    adam = optim.optimiser(model, TRAINING, layer_decay=0.5)
    names = {id(p): name for name, p in model.named_parameters()}
    rates: dict[str, set[float]] = {}
    for group in adam.param_groups:
        for p in group["params"]:
            name = names[id(p)]
            part = "head" if name.startswith("head") else name.split(".")[3] if ".layer." in name else "embeddings"
            rates.setdefault(part, set()).add(group["lr"] / 0.01)
            assert group["weight_decay"] == (0.01 if p.ndim > 1 else 0.0)
    assert rates == {"head": {1.0}, "3": {0.5}, "2": {0.25}, "1": {0.125}, "0": {0.0625}, "embeddings": {0.03125}}
    assert sum(len(group["params"]) for group in adam.param_groups) == len(names)
    assert adam.param_groups[0]["lr"] == 0.01  # the curve shows the head's


def test_one_rate_for_all_is_the_two_groups_of_old(folder: Path) -> None:
    model = classifier(folder)
    decayed, free = optim.optimiser(model, TRAINING, layer_decay=1.0).param_groups
    assert [id(p) for p in decayed["params"]] == [id(p) for p in model.parameters() if p.ndim > 1]
    assert [id(p) for p in free["params"]] == [id(p) for p in model.parameters() if p.ndim <= 1]
    assert (decayed["lr"], free["lr"], decayed["weight_decay"], free["weight_decay"]) == (0.01, 0.01, 0.01, 0.0)


def test_lower_layers_move_less(folder: Path) -> None:
    model = classifier(folder)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    fit(model, pace=optim.Pace(layer_decay=0.1))
    moved = [
        (model.get_parameter(name) - before[name]).abs().max().item()
        for name in ("head.weight", *(f"encoder.encoder.layer.{n}.output.dense.weight" for n in (3, 2, 1, 0)))
    ]
    assert all(0 < lower < 0.3 * upper for upper, lower in itertools.pairwise(moved)), moved


def test_layers_that_cannot_be_found_are_refused_before_a_step() -> None:
    model = nn.Module()
    model.encoder = nn.Linear(2, 2)
    model.encoder.config = dataclasses.make_dataclass("Config", [("model_type", str), ("num_hidden_layers", int)])("own", 2)
    with pytest.raises(ConfigError, match=r"^the layers of this own encoder could not be found: leave model.layer_decay"):
        optim.optimiser(model, TRAINING, layer_decay=0.9)


class Watch:
    """What the head and the encoder look like at each training step, as a loss of one's own sees them."""

    def __init__(self) -> None:
        self.encoders: list[torch.Tensor] = []
        self.heads: list[torch.Tensor] = []

    def __call__(self, classifier: nn.Module, batch: Batch) -> torch.Tensor:
        self.encoders.append(torch.cat([p.detach().flatten() for p in classifier.get_submodule("encoder").parameters()]))
        self.heads.append(classifier.get_parameter("head.weight").detach().clone())
        return nn.functional.cross_entropy(classifier(batch.ids, batch.lengths), batch.labels)


def test_the_head_learns_alone_first_and_then_all(folder: Path) -> None:
    model, watch = classifier(folder), Watch()
    done = fit(model, loss=watch, pace=optim.Pace(head_first_epochs=2), validation=documents(4))
    assert done.steps == len(watch.encoders) == 9  # three steps an epoch
    assert all(torch.equal(watch.encoders[0], later) for later in watch.encoders[:7])
    assert not torch.equal(watch.encoders[6], watch.encoders[7])
    assert all(not torch.equal(one, next_one) for one, next_one in itertools.pairwise(watch.heads))
    assert all(p.requires_grad for p in model.parameters())


def test_an_encoder_learns_although_memory_ended_while_it_waited(folder: Path) -> None:
    class Cramped(Watch):
        """Has no room for the second step of the first try."""

        def __call__(self, classifier: nn.Module, batch: Batch) -> torch.Tensor:
            loss = super().__call__(classifier, batch)
            if len(self.heads) == 2:
                raise torch.OutOfMemoryError
            return loss

    model, watch = classifier(folder), Cramped()
    done = fit(model, loss=watch, pace=optim.Pace(head_first_epochs=2), validation=documents(4))
    assert done.micro_batch_size is not None
    assert torch.equal(watch.encoders[0], watch.encoders[2])
    assert not torch.equal(watch.encoders[0], watch.encoders[-1])


def test_an_encoder_that_waits_does_not_decay_either(folder: Path) -> None:
    model, watch = classifier(folder), Watch()
    heavy = dataclasses.replace(TRAINING, weight_decay=10.0, epochs=2)
    fitting.fit(
        model, heavy, documents(), None, precision="float32", device="cpu", seed=0, log=lambda step, metrics: None,
        loss=watch, pace=optim.Pace(head_first_epochs=1),
    )  # fmt: skip
    assert torch.equal(watch.encoders[0], watch.encoders[3])
    assert not torch.equal(watch.encoders[3], watch.encoders[4])


def test_an_encoder_learns_again_although_training_ended_early(folder: Path) -> None:
    model = classifier(folder)
    done = fit(
        model, loss=lambda classifier, batch: classifier(batch.ids, batch.lengths).sum() * torch.nan, pace=optim.Pace(head_first_epochs=2)
    )
    assert done.stop_reason == "not_finite"
    assert all(p.requires_grad for p in model.parameters())


def test_an_even_pace_is_what_it_always_was(folder: Path) -> None:
    one = fit(classifier(folder))
    other = fit(classifier(folder), pace=optim.Pace(layer_decay=1.0, head_first_epochs=0))
    assert one.history == other.history
    ours, theirs = one.classifier.state_dict(), other.classifier.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_loss_of_ones_own_is_minimised_and_validation_stays_cross_entropy(folder: Path) -> None:
    held = documents(4)

    def towards_class_0(classifier: nn.Module, batch: Batch) -> torch.Tensor:
        return nn.functional.cross_entropy(classifier(batch.ids, batch.lengths), torch.zeros_like(batch.labels))

    model = classifier(folder)
    done = fit(model, loss=towards_class_0, validation=held)
    losses = [row["train_loss"] for row in done.history if row["train_loss"] is not None]
    assert losses[-1] < 0.5 * losses[0]
    validation = [row["validation_loss"] for row in done.history if row["validation_loss"] is not None]
    assert done.best_step == 3  # half of the rows are of class 1, so each epoch is worse than the one before
    assert validation == sorted(validation)


def test_bfloat16_trains_an_encoder_whose_weights_stay_float32(folder: Path) -> None:
    model = classifier(folder)
    done = fit(model, precision="bfloat16", pace=optim.Pace(layer_decay=0.9, head_first_epochs=1), validation=documents(4))
    assert done.stop_reason == "schedule"
    assert {p.dtype for p in model.parameters()} == {torch.float32}
