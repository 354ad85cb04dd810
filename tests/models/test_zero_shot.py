"""Checkpoints that answer as they are: worked examples, and parity with transformers' own pair encoding."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import bakery
import zero
from bakeoff.data import heads, hypotheses
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.errors import DataError
from bakeoff.models.zero_shot import SCALE, EntailmentClassifier, OffTheShelfClassifier, SimilarityClassifier, load_sequence_classifier
from bakeoff.spec import ZeroShot

VECTORS = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])


class TableEncoder(nn.Module):
    """States are looked up: token t has the vector VECTORS[t], whatever stands around it."""

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(hidden_size=2, model_type="bert")

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(last_hidden_state=VECTORS[input_ids])


def test_similarity_is_the_cosine_of_mean_pooled_states_times_the_scale() -> None:
    classifier = SimilarityClassifier(TableEncoder(), n_classes=2)
    classifier.describe(torch.tensor([[1, 1], [2, 0]]), torch.tensor([2, 1]))  # (1, 0) and (0, 1)
    assert torch.equal(classifier.described, torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    # mean of (3, 0) and (1, 1) is (2, 1/2); its padding, token 0, has no part
    logits = classifier(torch.tensor([[1, 3, 0], [2, 2, 2], [3, 0, 0]]), torch.tensor([2, 3, 1]))
    length = np.hypot(2, 0.5)
    expected = SCALE * np.array([[2 / length, 0.5 / length], [0, 1], [np.sqrt(0.5), np.sqrt(0.5)]])
    assert logits.numpy() == pytest.approx(expected, abs=1e-5)


def test_texts_without_tokens_have_finite_similarities() -> None:
    classifier = SimilarityClassifier(TableEncoder(), n_classes=2)
    classifier.describe(torch.tensor([[1], [2]]), torch.tensor([1, 1]))
    assert torch.equal(classifier(torch.zeros(2, 3, dtype=torch.long), torch.tensor([0, 1])), torch.zeros(2, 2))


def test_outputs_are_gathered_into_classes_and_normalised_over_what_is_mapped() -> None:
    class Fixed(nn.Module):
        config = SimpleNamespace(model_type="bert")

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
            return SimpleNamespace(logits=torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log())

    classifier = OffTheShelfClassifier(Fixed(), outputs=[(2,), (0, 1)])  # the last output means no class
    probabilities = classifier(torch.tensor([[1]]), torch.tensor([1])).softmax(dim=1)
    assert probabilities[0].tolist() == pytest.approx([0.5, 0.5])


MODEL = ZeroShot(
    name="nli",
    default_longdoc=None,  # type: ignore[arg-type]
    method="entailment",
    checkpoint="toy",
    revision=None,
    checkpoint_fingerprint="c" * 64,
    precision="float32",
    template="{}",
    descriptions={},
)


def entailment(folder: Path, words: list[str], *, max_tokens: int | None = 64) -> EntailmentClassifier:
    tokeniser = CheckpointTokeniser(folder)
    tails = hypotheses.tails(folder, words, prefix=tokeniser.prefix, max_tokens=max_tokens)
    return EntailmentClassifier(
        load_sequence_classifier(folder, name="toy"),
        entailment=heads.entailment_output(MODEL, heads.label_names(MODEL, folder)),
        tails=[tail.ids for tail in tails],
        types=[tail.types for tail in tails],
        suffix_tokens=len(tokeniser.suffix),
        max_tokens=max_tokens,
        pad_id=tokeniser.pad_id,
    ).eval()


TEXTS = ["good dalba", "bad", "", "odd grand dull good hi"]


def alone(folder: Path, texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts as every model is given them: framed alone, padded."""
    tokeniser = CheckpointTokeniser(folder)
    rows = [[*tokeniser.prefix, *ids, *tokeniser.suffix] for ids in tokeniser.encode_now(texts)]
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows]), torch.tensor([len(row) for row in rows])


@pytest.mark.parametrize("max_tokens", [64, None, 7])
def test_entailment_reads_the_pairs_that_the_tokeniser_itself_writes(tmp_path: Path, max_tokens: int | None) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder, words = zero.classifier(tmp_path / "nli", ["entailment", "neutral", "contradiction"]), ["good", "bad odd"]
    tokeniser = AutoTokenizer.from_pretrained(folder)
    judge = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        found = entailment(folder, words, max_tokens=max_tokens)(*alone(folder, TEXTS))
        for row, text in enumerate(TEXTS):
            for column, hypothesis in enumerate(words):
                cut = {"truncation": "only_first", "max_length": max_tokens} if max_tokens == 7 else {}
                pair = tokeniser(text, hypothesis, return_tensors="pt", **cut)
                assert float(found[row, column]) == pytest.approx(float(judge(**pair).logits[0, 0]), abs=1e-5)


def test_the_label_of_entailment_is_found_by_name_wherever_it_stands(tmp_path: Path) -> None:
    first = zero.classifier(tmp_path / "first", ["ENTAILMENT", "neutral", "contradiction"])
    third = zero.classifier(tmp_path / "third", ["contradiction", "neutral", "entailment"], order=[2, 1, 0])
    with torch.inference_mode():
        found = [entailment(folder, ["good", "bad"])(*alone(folder, TEXTS)) for folder in (first, third)]
    assert torch.equal(found[0], found[1])


@pytest.mark.parametrize("make", [zero.classifier, zero.bart])
def test_a_texts_entailment_does_not_change_with_its_neighbours(tmp_path: Path, make: Callable[..., Path]) -> None:
    """BART's head reads the state of the last end token, which it finds by its id, so that padding must be no end token."""
    folder = make(tmp_path / "nli", ["entailment", "other"])
    classifier = entailment(folder, ["good", "bad odd dull"])
    with torch.inference_mode():
        together = classifier(*alone(folder, TEXTS))
        apart = torch.cat([classifier(*alone(folder, [text])) for text in TEXTS])
    assert together.numpy() == pytest.approx(apart.numpy(), abs=1e-5)
    assert together.isfinite().all()


def test_a_sentence_that_leaves_no_room_for_a_text_is_refused(tmp_path: Path) -> None:
    folder = zero.classifier(tmp_path / "nli", ["entailment", "other"])
    with pytest.raises(DataError) as raised:
        entailment(folder, ["good bad odd"], max_tokens=6)
    assert str(raised.value) == (
        "longdoc.max_tokens=6 leaves no room for a text beside a class in words (5 tokens): shorten model.template and the descriptions"
    )


def test_a_tokeniser_without_pairs_is_refused(tmp_path: Path) -> None:
    folder = zero.without_pairs(bakery.checkpoint(tmp_path / "toy"))
    with pytest.raises(DataError, match=r"^model\.checkpoint=toy has a tokeniser that writes no pairs of texts, which entailment needs$"):
        hypotheses.tails(folder, ["good"], prefix=(2,), max_tokens=None)


def test_a_head_that_is_not_among_the_weights_is_refused(tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "bare")
    with pytest.raises(DataError, match=r"^model\.checkpoint=bare lacks .* of its weights, such as .*, so random ones would answer"):
        load_sequence_classifier(folder, name="bare")
