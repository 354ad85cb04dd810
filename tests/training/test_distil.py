"""A student and its teacher: the loss by hand, classes by name, layers, and what text is and is not shown."""

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import bakery
import factories
import toy_encoders
from bakeoff import spec
from bakeoff.data import budget, dataset
from bakeoff.data.batches import Batch
from bakeoff.data.tokens import CheckpointTokeniser, WordVocabulary
from bakeoff.errors import DataError
from bakeoff.models import encoders, files, loading
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.training import distil, saving
from bakeoff.training.learn import learn

HOW = spec.Distillation(temperature=2.0, soft_weight=1.0, hard_weight=0.5, hidden_weight=0.0, transfer_epochs=2)


# The loss.


def test_the_loss_by_hand_at_temperature_two() -> None:
    # Teacher at T=2: softmax(ln 9 / 2, 0) = (3/4, 1/4). Student at T=2: softmax(0, 0) = (1/2, 1/2), so the soft loss is ln 2,
    # times T² = 4; the label's is ln 2 for the first text and none for the second.
    teacher, student = torch.tensor([[math.log(9), 0.0]] * 2), torch.zeros(2, 2)
    found = distil.combined(HOW, student, teacher, torch.tensor([0, distil.UNKNOWN]))
    assert float(found) == pytest.approx((4 * math.log(2) + 0.5 * math.log(2) + 4 * math.log(2)) / 2)
    sure = torch.tensor([[math.log(9), 0.0]] * 2)  # the student is of its teacher's mind: the entropy of (3/4, 1/4) is left
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert float(distil.combined(HOW, sure, teacher, torch.tensor([distil.UNKNOWN] * 2))) == pytest.approx(4 * entropy)


def test_the_gradient_of_soft_targets_is_the_difference_of_softened_probabilities_times_t() -> None:
    soft = dataclasses.replace(HOW, hard_weight=0.0)
    student = torch.tensor([[0.3, -0.2, 0.1]], requires_grad=True)
    teacher = torch.tensor([[1.0, 0.0, -2.0]])
    distil.combined(soft, student, teacher, torch.tensor([distil.UNKNOWN])).backward()
    expected = 2.0 * ((student / 2).softmax(dim=1) - (teacher / 2).softmax(dim=1))
    torch.testing.assert_close(student.grad, expected.detach())


def test_weights_scale_their_parts_and_unknown_labels_have_none() -> None:
    student, teacher, labels = torch.randn(5, 3), torch.randn(5, 3), torch.tensor([0, 1, 2, -1, -1])
    parts = [
        distil.combined(dataclasses.replace(HOW, soft_weight=soft, hidden_weight=1.0, hard_weight=hard), student, teacher, labels)
        for soft, hard in ((1.0, 0.0), (0.0, 1.0), (3.0, 0.25))
    ]
    torch.testing.assert_close(parts[2], 3 * parts[0] + 0.25 * parts[1])
    labelled = nn.functional.cross_entropy(student[:3], labels[:3], reduction="sum") / 5
    torch.testing.assert_close(parts[1], labelled)


def test_targets_are_looked_up_by_row() -> None:
    logits = torch.tensor([[4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    seen = torch.zeros(2, 2)
    batch = Batch(ids=torch.ones(2, 1, dtype=torch.long), lengths=torch.ones(2), labels=torch.tensor([-1, -1]), rows=torch.tensor([2, 0]))
    loss = distil.loss_of(HOW, logits)(lambda ids, lengths: seen, batch)  # type: ignore[arg-type]
    torch.testing.assert_close(loss, distil.combined(HOW, seen, logits[[2, 0]], batch.labels))


# Classes.


def test_classes_are_found_by_name() -> None:
    teacher = factories.make_run(model="bilstm")
    assert distil.columns_of(("neg", "pos", "odd"), ("odd", "neg", "pos"), teacher=teacher) == [2, 0, 1]
    with pytest.raises(DataError) as refused:
        distil.columns_of(("neg", "pos"), ("neg", "new"), teacher=teacher)
    assert str(refused.value) == (
        f"model.teacher=bilstm knows no class new: its weights ({teacher.run_id}) are of other labels, so bake it again"
    )


class Certain(nn.Module):
    """The class that stands in a document's only word: its answer is the id of the word."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return 6.0 * nn.functional.one_hot(ids[:, 0] - 3, 2).float()


def test_a_teacher_whose_classes_stand_in_another_order_teaches_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The saved model says (pos, neg); the student's dataset (neg, pos)."""
    teacher = factories.make_run(model="bilstm")
    model = dataclasses.replace(teacher.model, teacher="bilstm", distillation=HOW)
    run = dataclasses.replace(teacher, model=model, teacher=teacher)
    vocabulary = WordVocabulary(words=("good", "bad"))
    saving.save_neural(tmp_path, teacher, ("pos", "neg"), Certain(), vocabulary)
    monkeypatch.setattr(loading, "neural", lambda *_, **__: Certain().eval())
    lesson = distil.prepare(
        run,
        nn.Linear(1, 1),
        vocabulary,
        labelled=["good"],
        labels=np.array([1]),
        unlabelled=["bad", "good"],
        classes=("neg", "pos"),
        folder=tmp_path,
        device="cpu",
    )
    assert lesson.documents.labels.tolist() == [1, distil.UNKNOWN, distil.UNKNOWN]
    assert [ids.tolist() for ids in lesson.documents.ids] == [[3], [4], [3]]
    likely, unlikely = (lesson.loss(answering(rows), lesson.documents.collate([1])) for rows in ([[9.0, 0.0]], [[0.0, 9.0]]))
    assert float(likely) < float(unlikely)  # "bad" is neg, class 0 here
    assert lesson.training.epochs == HOW.transfer_epochs


def answering(rows: list[list[float]]) -> nn.Module:
    return lambda ids, lengths: torch.tensor(rows)  # type: ignore[return-value]


# Layers.


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy checkpoint of four layers."""
    from transformers import BertConfig, BertModel

    folder = bakery.checkpoint(tmp_path_factory.mktemp("deep") / "toy")
    config = BertConfig.from_pretrained(folder)
    config.num_hidden_layers = 4
    torch.manual_seed(1)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def pretrained(folder: Path, keep: tuple[int, ...] | None = None) -> PretrainedClassifier:
    base = factories.MODELS["pretrained"]
    assert isinstance(base, spec.Pretrained)
    return PretrainedClassifier(dataclasses.replace(base, keep_layers=keep), n_classes=2, folder=folder)


def test_a_student_starts_from_the_teachers_layers_and_head(deep: Path) -> None:
    teacher, student = pretrained(deep), pretrained(deep, keep=(1, 3))
    with torch.no_grad():
        for parameter in teacher.parameters():  # as if fine-tuned
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    before = torch.get_rng_state()
    distil.start_from(student, teacher, [1, 3], [1, 0])
    assert torch.equal(torch.get_rng_state(), before)
    layers, kept = encoders.layers_of(teacher.encoder), encoders.layers_of(student.encoder)
    assert len(kept) == 2
    for own, theirs in zip(kept, (layers[1], layers[3]), strict=True):
        for name, tensor in own.state_dict().items():
            assert torch.equal(tensor, theirs.state_dict()[name])
    assert torch.equal(student.head.weight, teacher.head.weight[[1, 0]])


def test_nearness_is_the_mean_squared_distance_of_real_tokens_states(deep: Path) -> None:
    teacher, student = pretrained(deep).eval(), pretrained(deep, keep=(1, 3)).eval()
    near = distil.Nearness(teacher, [1, 3])
    batch = Batch(
        ids=torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]]), lengths=torch.tensor([4, 3]), labels=torch.tensor([0, 1]), rows=torch.tensor([0, 1])
    )
    with near.watching(student):
        student(batch.ids, batch.lengths)
    found = near.distance(batch)
    assert not any(layer._forward_hooks for layer in (*encoders.layers_of(student.encoder), *encoders.layers_of(teacher.encoder)))
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    own, theirs = (
        model.encoder(input_ids=batch.ids, attention_mask=mask, output_hidden_states=True).hidden_states for model in (student, teacher)
    )
    expected = sum(float((own[i + 1] - theirs[layer + 1])[mask.bool()].square().mean().detach()) for i, layer in enumerate((1, 3))) / 2
    assert expected > 0
    assert float(found.detach()) == pytest.approx(expected, rel=1e-5)


def test_states_that_a_longformer_pads_to_whole_windows_are_cut_to_the_batch() -> None:
    """Its window is 16 tokens, so that documents of 3 and 5 are read as 16."""
    base, config = factories.MODELS["pretrained"], toy_encoders.config("longformer", num_hidden_layers=2)
    assert isinstance(base, spec.Pretrained)
    torch.manual_seed(0)
    teacher, student = (PretrainedClassifier(base, n_classes=2, config=config).eval() for _ in range(2))
    near = distil.Nearness(teacher, [])
    ids = torch.tensor([[2, 7, 8, 9, 3], [2, 9, 3, 0, 0]])
    batch = Batch(ids=ids, lengths=torch.tensor([5, 3]), labels=torch.tensor([0, 1]), rows=torch.tensor([0, 1]))
    with near.watching(student):
        student(batch.ids, batch.lengths)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])

    def states(model: PretrainedClassifier) -> tuple[torch.Tensor, ...]:
        found = model.encoder(**encoders.inputs_of(model.encoder, ids, mask), output_hidden_states=True).hidden_states
        return tuple(each[:, :5][mask] for each in found[1:])

    expected = torch.stack([(own - theirs).square().mean() for own, theirs in zip(states(student), states(teacher), strict=True)]).mean()
    assert float(expected.detach()) > 0
    torch.testing.assert_close(near.distance(batch), expected)


def test_a_student_equal_to_its_teacher_is_at_no_distance(deep: Path) -> None:
    teacher = pretrained(deep).eval()
    near = distil.Nearness(teacher, [])
    batch = Batch(ids=torch.tensor([[2, 7, 3]]), lengths=torch.tensor([3]), labels=torch.tensor([0]), rows=torch.tensor([0]))
    loss = distil.loss_of(dataclasses.replace(HOW, hidden_weight=5.0), torch.zeros(1, 2), near)
    without = distil.loss_of(HOW, torch.zeros(1, 2))
    torch.testing.assert_close(loss(teacher, batch), without(teacher, batch))


@pytest.mark.parametrize(
    ("teacher_keeps", "student_keeps", "layers"),
    [(None, (1, 3), [1, 3]), ((1, 3), (3,), [1]), (None, None, [])],
)
def test_layers_are_counted_in_the_checkpoint(
    teacher_keeps: tuple[int, ...] | None, student_keeps: tuple[int, ...] | None, layers: list[int]
) -> None:
    teacher = factories.make_run(model="pretrained")
    teacher = dataclasses.replace(teacher, model=dataclasses.replace(teacher.model, keep_layers=teacher_keeps))
    model = dataclasses.replace(teacher.model, keep_layers=student_keeps, teacher="pretrained", distillation=HOW)
    assert distil.common_layers(dataclasses.replace(teacher, model=model, teacher=teacher)) == layers


def test_a_student_of_another_checkpoint_starts_from_its_own() -> None:
    teacher = factories.make_run(model="pretrained")
    model = dataclasses.replace(teacher.model, checkpoint_fingerprint="d" * 64, teacher="pretrained", distillation=HOW)
    assert distil.common_layers(dataclasses.replace(teacher, model=model, teacher=teacher)) is None


# From files to answers.


def wordy(count: int, seed: int) -> list[tuple[str, object]]:
    return bakery.rows(count, words=4, seed=seed)


def student_of(teacher: spec.Run, model: spec.Model, **changes: object) -> spec.Run:
    taught = dataclasses.replace(model, teacher=teacher.model.name, distillation=HOW)  # type: ignore[call-arg]
    return dataclasses.replace(teacher, model=taught, longdoc=model.default_longdoc, teacher=teacher, **changes)  # type: ignore[arg-type]


@pytest.fixture
def pool(tmp_path: Path) -> list[str]:
    table, test = bakery.write_csv(tmp_path / "pool.csv", wordy(120, 0)), bakery.write_csv(tmp_path / "test.csv", wordy(40, 1))
    return [*bakery.on_table(table, test), "budget.labels=8"]


def baked(run: spec.Run, folder: Path, needs: dict[str, Path] | None = None, unlabelled: Sequence[str] = ()) -> np.ndarray:
    prepared = dataset.prepare(run.dataset)
    spent = budget.spend(prepared.pool, run.budget, validation=True)
    learned = learn(run, prepared, spent, device="cpu", log=lambda step, metrics: None, needs=needs or {}, unlabelled=unlabelled)
    learned.save(folder)
    assert learned.test is not None
    return learned.test


def test_a_student_learns_what_its_teacher_says_of_unlabelled_text(pool: list[str], tmp_path: Path) -> None:
    """A teacher that calls every pos neg is believed, against the eight labels, where labels count for nothing."""
    teacher = bakery.compose(*pool, "budget.labels=all", *bakery.TINY["bilstm"], "model.training.epochs=20").run
    truth = dataset.prepare(teacher.dataset).test.labels
    assert (baked(teacher, tmp_path / "teacher").argmax(axis=1) == truth).mean() >= 0.9
    settings = json.loads((tmp_path / "teacher" / files.SETTINGS).read_text())
    (tmp_path / "teacher" / files.SETTINGS).write_text(json.dumps(settings | {"classes": ["pos", "neg"]}))
    small = bakery.compose(*pool, *bakery.TINY["bilstm"]).run.model
    student = student_of(teacher, small, budget=dataclasses.replace(teacher.budget, labels=8, unlabelled="pool"))
    how = dataclasses.replace(HOW, hard_weight=0.0, transfer_epochs=40)
    student = dataclasses.replace(student, model=dataclasses.replace(student.model, distillation=how))
    prepared = dataset.prepare(student.dataset)
    rest = prepared.pool.take(budget.spend(prepared.pool, student.budget, validation=True).unlabelled).texts
    assert len(rest) == 112
    taught = baked(student, tmp_path / "student", {"teacher": tmp_path / "teacher"}, rest)
    assert (taught.argmax(axis=1) == 1 - truth).mean() >= 0.9


def test_no_text_that_judges_is_in_the_transfer_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, test = bakery.write_csv(tmp_path / "pool.csv", wordy(500, 0)), bakery.write_csv(tmp_path / "test.csv", wordy(40, 1))
    teacher = bakery.compose(*bakery.on_table(table, test), *bakery.TINY["bilstm"], "budget.labels=400").run
    baked(teacher, tmp_path / "teacher")
    small = bakery.compose(*bakery.on_table(table, test), *bakery.TINY["bilstm"]).run.model
    student = student_of(teacher, small, budget=dataclasses.replace(teacher.budget, unlabelled="pool"))
    prepared = dataset.prepare(student.dataset)
    spent = budget.spend(prepared.pool, student.budget, validation=True)
    shown: list[str] = []
    original = distil.prepare

    def spy(*given: object, labelled: Sequence[str], unlabelled: Sequence[str], **named: object) -> distil.Lesson:
        shown.extend([*labelled, *unlabelled])
        return original(*given, labelled=labelled, unlabelled=unlabelled, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(distil, "prepare", spy)
    learned = learn(
        student,
        prepared,
        spent,
        device="cpu",
        log=lambda step, metrics: None,
        needs={"teacher": tmp_path / "teacher"},
        unlabelled=prepared.pool.take(spent.unlabelled).texts,
    )
    judges = {*prepared.test.texts, *prepared.pool.take(spent.validation).texts}
    assert len(judges) == 40 + 80
    assert len(shown) == len(set(shown)) == learned.n_transfer == 420
    assert not judges & set(shown)
    assert learned.validation is not None
    assert learned.validation.shape == (80, 2)
    assert learned.epochs == HOW.transfer_epochs


def test_saved_models_load_to_what_answered(tmp_path: Path, pool: list[str]) -> None:
    """Weights, tokeniser and settings of every kind that can teach."""
    toy = bakery.checkpoint_override(bakery.checkpoint(tmp_path / "toy"))
    for kind, settings in (
        ("bilstm", bakery.TINY["bilstm"]),
        ("pretrained", (*bakery.TINY["pretrained"], toy)),
        ("scratch", ("model=scratch", "model.width=8", "model.heads=2", "model.layers=1", "model.feed_forward=8", *bakery.QUICK)),
    ):
        run = bakery.compose(*pool, *settings).run
        answers, folder = baked(run, tmp_path / kind), tmp_path / kind
        assert isinstance(run.model, spec.Neural)
        saved = loading.settings(folder)
        assert (saved.run_id, saved.classes, saved.model["kind"]) == (run.run_id, ("neg", "pos"), kind)
        teacher = distil._Teacher.load(run, run.model, folder)
        assert isinstance(teacher.tokeniser, CheckpointTokeniser if kind == "pretrained" else WordVocabulary)
        again = teacher.answers(dataset.prepare(run.dataset).test.documents, device="cpu")
        np.testing.assert_allclose(again, answers, atol=1e-6)
