"""The scratch transformer and the BiLSTM's newer ways: neighbours, padding and later tokens have no part; it learns."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import factories
from bakeoff import spec
from bakeoff.models import pooling
from bakeoff.models.attention import MultiHeadAttention
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.models.build import build, count_parameters
from bakeoff.models.scratch import ScratchClassifier

SHORT, LONG = [7, 9, 1, 5], [*range(10, 40)] * 2
POSITIONS = ("none", "sinusoidal", "learned", "rotary")


def scratch(**changes: object) -> ScratchClassifier:
    torch.manual_seed(0)
    if changes.get("positions") == "learned":
        changes["max_positions"] = 64
    model = dataclasses.replace(factories.MODELS["scratch"], **changes)
    classifier = ScratchClassifier(model, vocabulary_size=50, n_classes=3, pad_id=0).eval()
    with torch.no_grad():  # weights of a size at which the smallest leak shows
        for parameter in classifier.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return classifier


def bilstm(**changes: object) -> BiLstmClassifier:
    torch.manual_seed(0)
    model = dataclasses.replace(factories.MODELS["bilstm"], **changes)
    return BiLstmClassifier(model, vocabulary_size=50, n_classes=3, pad_id=0).eval()


def pad(*documents: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.tensor([len(document) for document in documents])
    ids = torch.zeros(len(documents), int(lengths.max()), dtype=torch.long)
    for row, document in enumerate(documents):
        ids[row, : len(document)] = torch.tensor(document)
    return ids, lengths


WAYS = [
    {"positions": positions, "norm": norm, "causal": causal, "pooling": how}
    for positions, norm, causal, how in itertools.product(POSITIONS, ("before", "after"), (False, True), ("cls", "mean", "max", "last"))
    if not (causal and how == "cls")
]


@pytest.mark.parametrize("changes", WAYS, ids=lambda changes: "-".join(map(str, changes.values())))
def test_a_text_answers_alike_alone_and_beside_a_long_one(changes: dict[str, object]) -> None:
    model = scratch(**changes)
    alone, beside = model(*pad(SHORT)), model(*pad(SHORT, LONG))
    assert (alone[0] - beside[0]).abs().max() < 1e-5
    assert (model(*pad(LONG))[0] - beside[1]).abs().max() < 1e-5


def test_without_the_mask_it_would_not() -> None:
    ids, lengths = pad(SHORT, LONG)
    model = scratch()
    assert (model(ids, lengths)[0] - model(ids, torch.full_like(lengths, ids.shape[1]))[0]).abs().max() > 1e-3


@pytest.mark.parametrize("how", ["max", "mean", "last", "attention"])
@pytest.mark.parametrize("directions", ["both", "forward"])
@pytest.mark.parametrize("layers", [1, 3])
def test_a_bilstm_answers_alike_alone_and_beside_a_long_text(how: str, directions: str, layers: int) -> None:
    model = bilstm(pooling=how, directions=directions, layers=layers)
    alone, beside = model(*pad(SHORT)), model(*pad(SHORT, LONG))
    assert (alone[0] - beside[0]).abs().max() < 1e-6


@pytest.mark.parametrize("positions", POSITIONS)
def test_what_a_causal_model_knows_of_a_prefix_does_not_depend_on_what_follows(positions: str) -> None:
    model = scratch(positions=positions, causal=True, pooling="last")
    prefix, whole = model.encode(*pad(LONG[:9])), model.encode(*pad(LONG))
    assert (prefix[0] - whole[0, :9]).abs().max() < 1e-5
    assert (model(*pad(LONG[:9])) - model.head(whole[:, 8])).abs().max() < 1e-5
    other = scratch(positions=positions, causal=False)
    assert (other.encode(*pad(LONG[:9]))[0] - other.encode(*pad(LONG))[0, :9]).abs().max() > 1e-3


def test_a_forward_lstm_does_not_know_what_follows_and_ends_at_its_last_token() -> None:
    model = bilstm(directions="forward", pooling="last", layers=2)
    embedded = model.embedding(pad(SHORT)[0])
    twin = nn.LSTM(16, 16, num_layers=2, batch_first=True)
    for number, layer in enumerate(model.layers):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(twin, f"{name}_l{number}").data.copy_(getattr(layer.forwards, f"{name}_l0"))
    _, (ends, _) = twin(embedded)
    assert (model(*pad(SHORT, LONG))[0] - model.head(ends[-1, 0])).abs().max() < 1e-6


@pytest.mark.parametrize("model", ["scratch", "bilstm"])
def test_rows_of_unknown_words_and_of_padding_alone_are_finite(model: str) -> None:
    for changes in ({"pooling": "mean"}, {"pooling": "max"}, {"pooling": "last"}, {"pooling": "attention"}):
        if model == "scratch" and changes["pooling"] == "attention":
            continue
        classifier = scratch(**changes) if model == "scratch" else bilstm(**changes)
        ids = torch.tensor([[1, 1, 1], [0, 0, 0], [0, 0, 0]])
        logits = classifier(ids, torch.tensor([3, 3, 0]))
        assert logits.isfinite().all()
        logits.sum().backward()
        assert all(parameter.grad.isfinite().all() for parameter in classifier.parameters() if parameter.grad is not None)


def test_attention_pooling_by_hand() -> None:
    pooled = pooling.AttentionPooling(2)
    with torch.no_grad():
        pooled.project.weight.copy_(torch.eye(2))
        pooled.project.bias.zero_()
        pooled.query.weight.copy_(torch.tensor([[2.0, 0.0]]))
    states = torch.tensor([[[0.0, 4.0], [float(np.arctanh(np.log(3) / 2)), 0.0], [99.0, 99.0]]])
    found = pooled(states, torch.tensor([[True, True, False]]))  # scores 0 and log 3, so weights 1/4 and 3/4
    assert found[0].tolist() == pytest.approx([0.75 * float(np.arctanh(np.log(3) / 2)), 1.0], abs=1e-6)


def test_the_last_real_token_is_pooled() -> None:
    states = torch.arange(12.0).reshape(2, 3, 2)
    mask = pooling.mask_of(torch.tensor([1, 3]), states)
    assert pooling.over_time(states, mask, how="last").tolist() == [[0.0, 1.0], [10.0, 11.0]]


def test_a_given_row_starts_an_embedding_and_a_missing_one_starts_as_it_would() -> None:
    rows = np.full((50, 16), np.nan, dtype=np.float32)
    rows[4], rows[0] = [3.0, -1.0] * 8, [1.0, -3.0] * 8  # of size √5, where random embeddings are of size 0.3
    torch.manual_seed(0)
    model = build(factories.MODELS["bilstm"], n_classes=3, vocabulary_size=50, pad_id=0, folder=None, embeddings=rows)
    plain = bilstm()
    table, other = model.get_parameter("embedding.weight"), plain.embedding.weight
    assert table[4].tolist() == pytest.approx([0.9 / 5**0.5, -0.3 / 5**0.5] * 8)
    assert table[0].abs().max() == 0
    kept = torch.arange(50) != 4
    assert torch.equal(table[kept], other[kept])
    assert torch.equal(model.get_parameter("head.weight"), plain.head.weight)


def test_where_no_row_is_given_all_start_at_random() -> None:
    rows = np.full((50, 16), np.nan, dtype=np.float32)
    torch.manual_seed(0)
    model = build(factories.MODELS["bilstm"], n_classes=3, vocabulary_size=50, pad_id=0, folder=None, embeddings=rows)
    assert torch.equal(model.get_parameter("embedding.weight"), bilstm().embedding.weight)


def test_a_default_bilstm_starts_as_it_always_did() -> None:
    """Published Runs started from these weights."""
    logits = bilstm()(torch.tensor([[2, 7, 9, 3, 0, 0], [2, 7, 9, 3, 4, 5]]), torch.tensor([4, 6]))
    expected = [[0.217325553, 0.0376375131, -0.155998841], [0.225305721, 0.0162107684, -0.146607876]]
    assert logits.tolist() == [pytest.approx(row, abs=1e-7) for row in expected]
    assert next(iter(bilstm().state_dict())) == "embedding.weight"
    assert not any("attention" in name for name in bilstm().state_dict())


def test_parameters_are_counted_by_hand() -> None:
    model = scratch(positions="learned")
    assert isinstance(factories.MODELS["scratch"], spec.Scratch)
    block = 3 * 16 * 16 + 3 * 16 + 16 * 16 + 16 + 16 * 32 + 32 + 32 * 16 + 16 + 4 * 16
    assert count_parameters(model) == 50 * 16 + 64 * 16 + 2 * block + 2 * 16 + 3 * 16 + 3
    assert count_parameters(model, embedding=True) == 50 * 16 + 64 * 16


def test_it_starts_small_and_even_and_the_padding_row_stays_zero() -> None:
    torch.manual_seed(0)
    wide = dataclasses.replace(factories.MODELS["scratch"], width=64, layers=4, feed_forward=128)
    model = ScratchClassifier(wide, vocabulary_size=500, n_classes=2, pad_id=3)
    assert model.embedding.weight[3].abs().max() == 0
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.05)
    block = model.encoder.blocks[0]
    assert block.attention.inward.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert block.attention.outward.weight.std().item() == pytest.approx(0.02 / 8**0.5, rel=0.05)
    assert block.feed_forward.back.weight.std().item() == pytest.approx(0.02 / 8**0.5, rel=0.05)
    assert block.attention.inward.bias.abs().max() == 0
    probabilities = model.eval()(torch.randint(4, 500, (8, 20)), torch.full((8,), 20)).softmax(dim=-1)
    assert (probabilities - 0.5).abs().max() < 0.2


def losses(model: nn.Module, *, steps: int) -> list[float]:
    """Of a few steps on documents whose class is whether token 7 stands in them."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(8, 50, (24, 12), generator=generator)
    ids[::2, 5] = 7
    labels, lengths = torch.arange(24) % 2, torch.randint(6, 13, (24,), generator=generator)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    found = []
    for _ in range(steps):
        loss = functional.cross_entropy(model(ids, lengths), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize(
    ("causal", "pinned"), [(False, [0.698709488, 0.681215942, 0.664552093]), (True, [0.701173723, 0.663655281, 0.624714553])]
)
def test_the_losses_of_a_tiny_model_are_pinned_and_it_learns(causal: bool, pinned: list[float]) -> None:
    torch.manual_seed(0)
    tiny = dataclasses.replace(factories.MODELS["scratch"], causal=causal, pooling="last" if causal else "mean", dropout=0.0)
    found = losses(ScratchClassifier(tiny, vocabulary_size=50, n_classes=2, pad_id=0), steps=40)
    assert found[:3] == pytest.approx(pinned, abs=1e-5)
    assert found[-1] < 0.05


def test_unfused_attention_gives_the_fused_answers() -> None:
    model = scratch(layers=3)
    fused = model(*pad(SHORT, LONG))
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.fused = False
    assert (model(*pad(SHORT, LONG)) - fused).abs().max() < 1e-6
