"""The head that guesses hidden tokens: tied to the embeddings, and read at hidden tokens alone."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional

import bakery
from bakeoff.models.build import count_parameters
from bakeoff.models.mlm_head import MaskedLanguageModel
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.models.scratch import ScratchClassifier
from bakeoff.spec import Pretrained, Scratch

WIDTH, WORDS = 16, 30


@pytest.fixture
def scratch() -> ScratchClassifier:
    job = bakery.compose("model=scratch", f"model.width={WIDTH}", "model.heads=2", "model.layers=1", "model.feed_forward=32")
    assert isinstance(job.run.model, Scratch)
    torch.manual_seed(0)
    return ScratchClassifier(job.run.model, vocabulary_size=WORDS, n_classes=2, pad_id=0)


def test_logits_are_those_of_the_published_head(scratch: ScratchClassifier) -> None:
    """Devlin et al. (2019): dense, GELU, layer norm, then the embedding table and a bias."""
    model = MaskedLanguageModel(scratch).eval()
    ids, lengths = torch.randint(1, WORDS, (2, 5)), torch.tensor([5, 3])
    hidden = torch.tensor([[False, True, False, False, True], [True, False, False, False, False]])
    states = scratch.encode(ids, lengths)
    head = model.guess
    expected = functional.layer_norm(functional.gelu(head.dense(states)), (WIDTH,)) @ scratch.embedding.weight.T + head.decoder.bias
    assert torch.allclose(model(ids, lengths, hidden), expected[hidden], atol=1e-6)
    assert model(ids, lengths, torch.zeros_like(hidden)).shape == (0, WORDS)


def test_decoder_and_embeddings_are_one_table(scratch: ScratchClassifier) -> None:
    before = count_parameters(scratch)
    model = MaskedLanguageModel(scratch)
    assert model.guess.decoder.weight is scratch.embedding.weight
    head = 2 * (WIDTH + 1)
    assert count_parameters(model) == before - head + WIDTH * (WIDTH + 1) + 2 * WIDTH + WORDS
    assert not any(name.startswith("head") for name in scratch.state_dict())


def test_a_checkpoint_has_its_own_embeddings_under_a_fresh_head(tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "toy")
    job = bakery.compose("model=pretrained", bakery.checkpoint_override(folder), "longdoc.max_tokens=32")
    assert isinstance(job.run.model, Pretrained)
    classifier = PretrainedClassifier(job.run.model, folder=folder, n_classes=2)
    model = MaskedLanguageModel(classifier)
    assert model.guess.decoder.weight is classifier.encoder.get_input_embeddings().weight
    ids = torch.randint(5, 40, (2, 6))
    hidden = torch.zeros(2, 6, dtype=torch.bool)
    hidden[1, 2] = True
    assert model(ids, torch.tensor([6, 4]), hidden).shape == (1, model.guess.decoder.weight.shape[0])
