"""Segment ids of pairs: as Hugging Face's tokeniser gives them, and none where a text stands alone."""

import dataclasses
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, BertModel, DistilBertConfig, PreTrainedTokenizerFast, RobertaConfig

import bakery
import factories
from bakeoff import spec
from bakeoff.data import longdoc
from bakeoff.data.batches import pad
from bakeoff.data.tokens import CheckpointTokeniser, Document
from bakeoff.models import encoders, pooling
from bakeoff.models.pretrained import PretrainedClassifier

FULL = spec.LongDoc(strategy="full", max_tokens=None)
SEP = 3
PAIRS: list[Document] = [("good bad", "odd"), ("dull", "grand good hi bad odd"), ("", "hi"), ("hi", "")]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bakery.checkpoint(tmp_path_factory.mktemp("toy") / "bert")


def classifier(folder: Path, **changes: object) -> PretrainedClassifier:
    torch.manual_seed(0)
    model = PretrainedClassifier(dataclasses.replace(factories.MODELS["pretrained"], **changes), n_classes=3, folder=folder)
    return model.eval()


def test_segments_of_a_worked_example() -> None:
    ids = torch.tensor([[2, 7, SEP, 8, SEP, 0], [2, 7, 8, SEP, 0, 0]])
    mask = pooling.mask_of(torch.tensor([5, 4]), ids)
    assert encoders.segments(ids, mask, SEP).tolist() == [[0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0]]


def test_a_pair_reads_as_in_hugging_faces_own_tokeniser_and_model(toy: Path) -> None:
    tokeniser = CheckpointTokeniser(toy)
    assert tokeniser.pair is not None
    model = classifier(toy, pooling="cls")
    encoders.tell_segments(model.encoder, tokeniser.pair.separator_id)
    ids, lengths = pad(longdoc.read(PAIRS, tokeniser, FULL).ids, tokeniser.pad_id)
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(toy / "tokenizer.json"), pad_token="[PAD]")
    theirs.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    encoded = theirs([pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS], padding=True, return_tensors="pt")
    assert ids.tolist() == encoded["input_ids"].tolist()
    mask = pooling.mask_of(lengths, ids)
    assert (encoders.segments(ids, mask, SEP) * mask).tolist() == (encoded["token_type_ids"] * mask).tolist()
    reference = BertModel.from_pretrained(toy, add_pooling_layer=False).eval()
    with torch.inference_mode():
        expected = model.head(reference(**encoded).last_hidden_state[:, 0])
        found = model(ids, lengths)
        plain = classifier(toy, pooling="cls")(ids, lengths)
    assert (found - expected).abs().max() < 1e-6
    assert (found - plain).abs().max() > 1e-4  # without segments the two texts are not told apart


def test_single_texts_read_as_ever(toy: Path) -> None:
    tokeniser, told, plain = CheckpointTokeniser(toy), classifier(toy), classifier(toy)
    encoders.tell_segments(told.encoder, SEP)
    ids, lengths = pad(longdoc.read(["good bad hi", "odd", ""], tokeniser, FULL).ids, tokeniser.pad_id)
    with torch.inference_mode():
        assert torch.equal(told(ids, lengths), plain(ids, lengths))


def test_both_halves_reach_the_model(toy: Path) -> None:
    tokeniser, model = CheckpointTokeniser(toy), classifier(toy)
    encoders.tell_segments(model.encoder, SEP)

    def logits(pair: Document) -> torch.Tensor:
        with torch.inference_mode():
            return model(*pad(longdoc.read([pair], tokeniser, FULL).ids, tokeniser.pad_id))

    base = logits(("good", "bad"))
    assert (logits(("good", "odd")) - base).abs().max() > 1e-4
    assert (logits(("odd", "bad")) - base).abs().max() > 1e-4
    assert (logits(("bad", "good")) - base).abs().max() > 1e-4


def test_what_was_told_is_saved_with_the_configuration(toy: Path, tmp_path: Path) -> None:
    model = classifier(toy)
    encoders.tell_segments(model.encoder, SEP)
    model.encoder.config.save_pretrained(tmp_path)
    again = PretrainedClassifier(factories.MODELS["pretrained"], n_classes=3, config=AutoConfig.from_pretrained(tmp_path)).eval()
    again.load_state_dict(model.state_dict())
    ids, lengths = torch.tensor([[2, 7, SEP, 8, SEP]]), torch.tensor([5])
    with torch.inference_mode():
        assert torch.equal(again(ids, lengths), model(ids, lengths))


@pytest.mark.parametrize(
    "config",
    [
        RobertaConfig(type_vocab_size=1, vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32),
        DistilBertConfig(vocab_size=50, dim=16, n_layers=1, n_heads=2, hidden_dim=32),
    ],
)
def test_an_encoder_of_one_segment_is_told_nothing(config: object) -> None:
    encoder = encoders.fresh(config)
    before = encoder.config.to_json_string()
    encoders.tell_segments(encoder, SEP)
    assert encoder.config.to_json_string() == before
    encoders.states(encoder, torch.tensor([[2, 7, SEP, SEP, 8, SEP]]), torch.ones(1, 6, dtype=torch.bool))


def test_a_text_with_the_characters_of_the_separator_stays_one_segment(toy: Path) -> None:
    (ids,) = longdoc.read(["good [SEP] bad"], CheckpointTokeniser(toy), FULL).ids
    assert ids.tolist().count(SEP) == 1
