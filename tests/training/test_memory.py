"""Batches that do not fit into memory: the same steps in pieces, the same answers, and an error where one row is too much."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import bakery
import factories
from bakeoff.data.batches import Batch, Documents, pad
from bakeoff.data.masking import NOT_HIDDEN, Hiding, MaskedDocuments
from bakeoff.models import pooling
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.spec import Distillation
from bakeoff.training import distil, memory, parallel
from bakeoff.training import fit as fitting

TRAINING = dataclasses.replace(factories.TRAINING, learning_rate=0.05, batch_size=4, epochs=3, min_steps=0)


class Cramped(nn.Module):
    """A classifier on a device that has room for so many rows at a time; those that it was shown are counted."""

    def __init__(self, inner: nn.Module, *, training_rows: int = 1000, reading_rows: int = 1000) -> None:
        super().__init__()
        self.inner, self.training_rows, self.reading_rows = inner, training_rows, reading_rows
        self.shown: list[int] = []

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """What the classifier says, if there is room."""
        self.shown.append(len(ids))
        if len(ids) > (self.training_rows if self.training else self.reading_rows):
            raise torch.OutOfMemoryError("no room")
        answer: torch.Tensor = self.inner(ids, lengths)
        return answer


class Dropping(nn.Module):
    """A classifier that forgets half of its answers."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.dropout = inner, nn.Dropout(0.5)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Its logits, some of them 0."""
        answer: torch.Tensor = self.dropout(self.inner(ids, lengths))
        return answer


def documents(n: int) -> Documents:
    """Documents of 1 to 4 tokens whose first token says the class."""
    labels = np.arange(n) % 2
    ids = [np.array([3 + label, *range(10, 10 + i % 4)], dtype=np.int32) for i, label in enumerate(labels)]
    return Documents(ids, labels.astype(np.int64), pad_id=0)


def classifier() -> BiLstmClassifier:
    fitting.seed_everything(0, threads=1)
    spec = dataclasses.replace(factories.MODELS["bilstm"], embedding_dim=6, hidden_dim=4, dropout=0.0)
    return BiLstmClassifier(spec, vocabulary_size=30, n_classes=2, pad_id=0)


def fit(model: nn.Module, *, precision: str = "float32") -> fitting.Fitted:
    """Three epochs of 10 rows, in batches of 4, 4 and 2."""
    silent = {"seed": 0, "log": lambda step, metrics: None}
    return fitting.fit(model, TRAINING, documents(10), documents(7), precision=precision, device="cpu", **silent)  # type: ignore[arg-type]


@pytest.mark.parametrize(("room", "micro_batch_size"), [(3, 2), (2, 2), (1, 1)])
def test_pieces_of_a_batch_give_the_steps_of_the_whole_batch(room: int, micro_batch_size: int) -> None:
    whole, cramped = fit(Cramped(classifier())), Cramped(classifier(), training_rows=room)
    pieces = fit(cramped)
    assert (whole.micro_batch_size, pieces.micro_batch_size) == (None, micro_batch_size)
    assert (pieces.steps, pieces.epochs) == (whole.steps, whole.epochs) == (9, 3.0)
    assert pieces.best_step == whole.best_step
    assert len(pieces.history) == len(whole.history) == 12
    for mine, theirs in zip(pieces.history, whole.history, strict=True):
        for key, value in theirs.items():
            assert mine[key] == (value if value is None else pytest.approx(value, abs=1e-6))
    for own, other in zip(pieces.classifier.state_dict().values(), whole.classifier.state_dict().values(), strict=True):
        assert torch.allclose(own, other, rtol=0, atol=1e-6)
    read = [rows for rows in cramped.shown if rows <= micro_batch_size]
    assert sum(read) == 30  # after a try with too many, every row once an epoch


def test_clipping_sees_the_gradient_of_the_whole_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    norms: list[float] = []
    clip = torch.nn.utils.clip_grad_norm_

    def noting(parameters: list[torch.Tensor], largest: float) -> torch.Tensor:
        norms.append(float(clip(parameters, largest)))
        return torch.tensor(norms[-1])

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", noting)
    fit(Cramped(classifier()))
    whole = norms.copy()
    norms.clear()
    fit(Cramped(classifier(), training_rows=1))
    assert norms == pytest.approx(whole, abs=1e-6)


def test_training_begins_again_from_the_seed() -> None:
    """A try that failed after it had drawn masks and taken steps leaves nothing behind: not a weight, not a random number."""
    histories = []
    for room in (2, 3):  # both end with 2 rows at a time, after one try; room for 3 takes none of the batches of 4 either
        model = Cramped(Dropping(classifier()), training_rows=room)
        histories.append(fit(model).history)
    late = Late(Dropping(classifier()))
    histories.append(fit(late).history)
    assert late.failed
    assert histories[0] == histories[1] == histories[2]


class Late(Cramped):
    """A device on which something else takes room after five steps."""

    failed = False

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """What the classifier says, until the sixth batch comes."""
        if self.training and len(self.shown) > 5 and len(ids) == 4:
            self.failed = True
            raise torch.OutOfMemoryError("no room")
        return super().forward(ids, lengths)


def test_bfloat16_in_pieces_stays_near_the_whole() -> None:
    whole, pieces = (fit(Cramped(classifier(), training_rows=room), precision="bfloat16") for room in (1000, 2))
    losses = [[row["train_loss"] for row in each.history if row["train_loss"] is not None] for each in (whole, pieces)]
    assert losses[1] == pytest.approx(losses[0], abs=0.02)


def test_the_record_says_that_memory_did_not_suffice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = BiLstmClassifier.forward

    def cramped(self: BiLstmClassifier, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        if self.training and len(ids) > 3:
            raise torch.OutOfMemoryError("no room")
        return forward(self, ids, lengths)

    monkeypatch.setattr(BiLstmClassifier, "forward", cramped)
    pool, test = bakery.write_csv(tmp_path / "pool.csv", bakery.rows(24)), bakery.write_csv(tmp_path / "test.csv", bakery.rows(12, seed=1))
    job = bakery.compose(*bakery.on_table(pool, test), *bakery.TINY["bilstm"], "model.training.batch_size=8")
    facts = bakery.bake(job).record.training
    assert facts.micro_batch_size == 2
    told = "a batch did not fit into memory: its gradients were added up over 2 rows at a time"
    assert [each.message for each in facts.diagnostics if each.code == "out_of_memory"] == [told]
    monkeypatch.undo()
    assert facts.steps == 6  # 24 rows in batches of 8, twice


def test_validation_and_prediction_read_halves() -> None:
    roomy, cramped = fit(Cramped(classifier())), fit(Cramped(classifier(), reading_rows=2))
    assert cramped.micro_batch_size is None  # reading less at a time changes no step
    validated = [row["validation_loss"] for row in roomy.history if row["validation_loss"] is not None]
    assert [row["validation_loss"] for row in cramped.history if row["validation_loss"] is not None] == pytest.approx(validated, abs=1e-6)
    answers = [fitting.predict(each.classifier, documents(7), 2, precision="float32", device="cpu") for each in (roomy, cramped)]
    assert answers[0] == pytest.approx(answers[1], abs=1e-6)
    assert isinstance(cramped.classifier, Cramped)
    assert cramped.classifier.shown[-7:] == [7, 4, 2, 2, 3, 2, 1]


def test_one_row_too_much_is_one_sentence() -> None:
    for room in ({"training_rows": 0}, {"reading_rows": 0}):
        with pytest.raises(memory.OutOfMemory, match=r"out of GPU memory even with one document at a time: lower longdoc\.max_tokens"):
            fit(Cramped(classifier(), **room))


def test_a_fault_that_is_not_about_memory_is_not_tried_again() -> None:
    class Broken(Cramped):
        def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            self.shown.append(len(ids))
            raise RuntimeError("device-side assert")

    model = Broken(classifier())
    with pytest.raises(RuntimeError, match="device-side assert"):
        fit(model)
    assert len(model.shown) == 1


def test_pieces_hold_every_row_once_and_their_weights_are_its_share() -> None:
    ids, lengths = pad(documents(7).ids, 0)
    batch = Batch(ids=ids, lengths=lengths, labels=torch.arange(7), rows=torch.arange(7))
    parts = memory.pieces(batch, 3)
    assert [part.batch.rows.tolist() for part in parts] == [[0, 3, 6], [1, 4], [2, 5]]
    assert [part.weight for part in parts] == pytest.approx([3 / 7, 2 / 7, 2 / 7])
    assert [len(part.batch.rows) for part in memory.pieces(batch, None)] == [7]
    assert [part.weight for part in memory.pieces(batch, 100)] == [1.0]


def test_hidden_tokens_are_weighed_by_their_number_and_hidden_alike_in_each_try() -> None:
    special = np.zeros(30, dtype=np.bool_)
    special[:3] = True
    masked = MaskedDocuments(documents(5).ids, 0, Hiding(fraction=0.5, mask_id=2, special=special), seed=1, fixed=False)
    first, again = (masked.afresh().collate(range(5)) for _ in range(2))
    assert first.labels.equal(again.labels)
    hidden = [(part.batch.labels != NOT_HIDDEN).sum().item() for part in memory.pieces(first, 2)]
    total = (first.labels != NOT_HIDDEN).sum().item()
    assert [part.weight for part in memory.pieces(first, 2)] == pytest.approx([number / total for number in hidden])


def test_a_students_loss_adds_up() -> None:
    how = Distillation(temperature=2.0, soft_weight=1.0, hard_weight=0.5, hidden_weight=0.0, transfer_epochs=1)
    loss, model = distil.loss_of(how, torch.randn(10, 2, generator=torch.Generator().manual_seed(0))), classifier()
    rows = documents(10)
    rows.labels[3:] = distil.UNKNOWN
    batch = rows.collate(range(10))
    parts = memory.pieces(batch, 3)
    with torch.no_grad():
        added = sum(float(part.weight * loss(model, part.batch)) for part in parts)
        assert added == pytest.approx(float(loss(model, batch)), abs=1e-6)


def test_a_mean_over_tokens_adds_up() -> None:
    batch = documents(10).collate(range(10))
    real = pooling.mask_of(batch.lengths, batch.ids)
    parts = memory.pieces(batch, 3)
    means = [float(part.batch.ids[pooling.mask_of(part.batch.lengths, part.batch.ids)].float().mean()) for part in parts]
    added = sum(part.weight * part.batch.token_weight * mean for part, mean in zip(parts, means, strict=True))
    assert added == pytest.approx(float(batch.ids[real].float().mean()), rel=1e-6)
    assert [part.batch.token_weight for part in memory.pieces(batch, None)] == [1.0]
    assert parts[0].batch.to(torch.device("cpu")).token_weight == parts[0].batch.token_weight != 1.0


def test_several_devices_say_what_to_do_where_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def together(*_: object, **__: object) -> Iterator[parallel.Place]:
        yield parallel.ALONE

    monkeypatch.setattr(parallel, "together", together)
    options = {"precision": "float32", "device": "cpu", "devices": 2, "seed": 0, "log": lambda step, metrics: None}
    with pytest.raises(memory.OutOfMemory, match=r"with machine\.devices=2: set machine\.devices=1, where batches are halved"):
        fitting.fit(Cramped(classifier(), training_rows=1), TRAINING, documents(10), None, **options)  # type: ignore[arg-type]


def test_a_batch_of_too_many_tokens_is_learned_from_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, short = fit(Cramped(classifier())), Cramped(classifier())
    monkeypatch.setattr(memory, "TRAINING_TOKENS", 8)  # documents have 1 to 4 tokens: two of the longest
    pieces = fit(short)
    training = [rows for rows in short.shown if rows < 7]
    assert max(training) == 4  # batches of short documents stay whole
    assert 2 in training
    assert pieces.micro_batch_size is None
    assert pieces.steps == whole.steps == 9
    for mine, theirs in zip(pieces.history, whole.history, strict=True):
        assert mine["train_loss"] == (None if theirs["train_loss"] is None else pytest.approx(theirs["train_loss"], abs=1e-6))


def test_rows_within_the_tokens_that_a_step_may_have() -> None:
    def batch(rows: int, longest: int) -> Batch:
        ids = torch.zeros((rows, 1), dtype=torch.int64).expand(rows, longest)
        return Batch(ids=ids, lengths=torch.full((rows,), longest), labels=torch.zeros(rows), rows=torch.arange(rows))

    assert memory.within_tokens(batch(32, 16_384), None) is None
    assert memory.within_tokens(batch(32, 50_000), None) == 10
    assert memory.within_tokens(batch(32, 50_000), 4) == 4
    assert memory.within_tokens(batch(2, 600_000), None) == 1
