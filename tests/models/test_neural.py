"""The modules: padding has no part in any answer, pooling counts real tokens, any encoder builds."""

import dataclasses
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

import factories
from bakeoff.models import pooling
from bakeoff.models.bilstm import BiLstmClassifier, last_states
from bakeoff.models.build import count_parameters
from bakeoff.models.pretrained import PretrainedClassifier

TOY = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(0)
    BertModel(BertConfig(**TOY, max_position_embeddings=600)).save_pretrained(folder)
    return folder


def bilstm(**changes: object) -> BiLstmClassifier:
    torch.manual_seed(0)
    spec = dataclasses.replace(factories.MODELS["bilstm"], **changes)
    return BiLstmClassifier(spec, vocabulary_size=50, n_classes=3, pad_id=0).eval()


def pad(*documents: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.tensor([len(document) for document in documents])
    ids = torch.zeros(len(documents), int(lengths.max()), dtype=torch.long)
    for row, document in enumerate(documents):
        ids[row, : len(document)] = torch.tensor(document)
    return ids, lengths


SHORT, LONG = [2, 7, 9, 3], [2, *range(10, 40), 3] * 16


@pytest.mark.parametrize("how", ["max", "mean", "last"])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_bilstm_answers_alike_alone_and_beside_a_long_text(how: str, layers: int) -> None:
    model = bilstm(pooling=how, layers=layers)
    alone, beside = model(*pad(SHORT)), model(*pad(SHORT, LONG))
    assert alone[0].tolist() == pytest.approx(beside[0].tolist(), abs=1e-6)


@pytest.mark.parametrize("how", ["cls", "mean", "max"])
def test_an_encoder_answers_alike_alone_and_beside_a_long_text(bert: Path, how: str) -> None:
    spec = dataclasses.replace(factories.MODELS["pretrained"], pooling=how)
    model = PretrainedClassifier(spec, folder=bert, n_classes=3).eval()
    alone, beside = model(*pad(SHORT)), model(*pad(SHORT, LONG))
    assert alone[0].tolist() == pytest.approx(beside[0].tolist(), abs=1e-5)


def test_without_the_mask_it_would_not(bert: Path) -> None:
    model = PretrainedClassifier(factories.MODELS["pretrained"], folder=bert, n_classes=3).eval()
    ids, lengths = pad(SHORT, LONG)
    right, wrong = model(ids, lengths)[0], model(ids, torch.full_like(lengths, ids.shape[1]))[0]
    assert (right - wrong).abs().max() > 1e-3


def packed_twin(model: BiLstmClassifier) -> nn.LSTM:
    """PyTorch's own bidirectional LSTM with the same weights."""
    first = model.layers[0].forwards
    twin = nn.LSTM(first.input_size, first.hidden_size, num_layers=len(model.layers), bidirectional=True, batch_first=True)
    for number, layer in enumerate(model.layers):
        for ours, suffix in ((layer.forwards, ""), (layer.backwards, "_reverse")):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(twin, f"{name}_l{number}{suffix}").data.copy_(getattr(ours, f"{name}_l0"))
    return twin


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_bilstm_equals_pytorchs_over_packed_sequences_forward_and_backward(layers: int) -> None:
    model = bilstm(layers=layers, pooling="last")
    twin = packed_twin(model)
    ids, lengths = pad(SHORT, LONG[:50], [5])
    embedded = model.embedding(ids).detach()
    ours = embedded.clone().requires_grad_(True)
    theirs = embedded.clone().requires_grad_(True)
    states = ours
    for layer in model.layers:
        states = layer(states, lengths)
    packed, (last, _) = twin(pack_padded_sequence(theirs, lengths, batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(packed, batch_first=True)
    mask = pooling.mask_of(lengths, states)
    assert (states - expected)[mask].abs().max() < 1e-6
    ends = last_states(states, lengths)
    assert (ends - torch.cat([last[-2], last[-1]], dim=1)).abs().max() < 1e-6
    (states[mask].square().sum() + ends.sum()).backward()
    (expected[mask].square().sum() + torch.cat([last[-2], last[-1]], dim=1).sum()).backward()
    assert (ours.grad - theirs.grad).abs().max() < 1e-5
    for number, layer in enumerate(model.layers):
        assert (layer.backwards.weight_hh_l0.grad - getattr(twin, f"weight_hh_l{number}_reverse").grad).abs().max() < 1e-4


def test_pooling_of_a_worked_example() -> None:
    states = torch.tensor([[[1.0, -5.0], [3.0, -1.0], [99.0, 99.0]]])
    mask = pooling.mask_of(torch.tensor([2]), states)
    assert mask.tolist() == [[True, True, False]]
    assert pooling.over_time(states, mask, how="mean").tolist() == [[2.0, -3.0]]
    assert pooling.over_time(states, mask, how="max").tolist() == [[3.0, -1.0]]
    assert pooling.over_time(states, mask, how="cls").tolist() == [[1.0, -5.0]]


def test_cls_reads_what_hugging_faces_encoder_gives(bert: Path) -> None:
    spec = dataclasses.replace(factories.MODELS["pretrained"], pooling="cls")
    model = PretrainedClassifier(spec, folder=bert, n_classes=3).eval()
    ids, lengths = pad(SHORT, LONG)
    reference = BertModel.from_pretrained(bert, add_pooling_layer=False).eval()
    mask = torch.arange(ids.shape[1]) < lengths[:, None]
    expected = model.head(reference(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0])
    assert (model(ids, lengths) - expected).abs().max() < 1e-6


def test_a_bfloat16_checkpoint_loads_in_float32(tmp_path: Path) -> None:
    BertModel(BertConfig(**TOY)).to(torch.bfloat16).save_pretrained(tmp_path)
    model = PretrainedClassifier(factories.MODELS["pretrained"], folder=tmp_path, n_classes=2)
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_other_encoders_build_and_answer(tmp_path: Path) -> None:
    RobertaModel(RobertaConfig(**TOY, max_position_embeddings=600)).save_pretrained(tmp_path)
    model = PretrainedClassifier(factories.MODELS["pretrained"], folder=tmp_path, n_classes=2).eval()
    assert model(*pad(SHORT, LONG)).shape == (2, 2)


def test_parameters_are_counted_by_hand() -> None:
    model = bilstm()  # embedding 50×16; each direction 4·(16·16 + 16·16 + 2·16); head 3·32 + 3
    assert count_parameters(model, embedding=True) == 800
    assert count_parameters(model) == 800 + 2 * 4 * (256 + 256 + 32) + 99
    model.embedding.weight.requires_grad_(False)
    assert count_parameters(model, trainable=True) == 2 * 4 * (256 + 256 + 32) + 99
