"""Attention heads: what is read of them, what is left without some, and the two claims about them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import text_bench
import torch

import toy_encoders
from bakeoff.claims import attention_heads
from bakeoff.claims.claim import NotMeasured
from bakeoff.claims.learning import agreement, head_roles
from bakeoff.claims.pronoun_pairs import ARTICLE, PAIRS
from bakeoff.data import checkpoint
from bakeoff.models import encoders
from bakeoff.store import Store

IDS = [np.array([2, 5, 6, 7, 3], dtype=np.int32), np.array([2, 8, 3], dtype=np.int32)]


class Toy(torch.nn.Module):
    """A classifier around a toy encoder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = encoders.load(folder).eval()
        self.head = torch.nn.Linear(toy_encoders.WIDTH, 2)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(encoders.pooled(self.encoder, ids, lengths, how="cls"))
        return logits


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return toy_encoders.checkpoint(tmp_path / "bert", "bert")


def test_attention_is_a_share_a_row(toy: Path) -> None:
    encoder = attention_heads.with_weights(toy)
    weights = attention_heads.attention(encoder, IDS[0])
    assert weights.shape == (*attention_heads.shape_of(encoder), 5, 5) == (4, 2, 5, 5)
    assert np.allclose(weights.sum(axis=-1), 1)
    assert weights.min() >= 0


def test_a_gate_of_zero_is_a_head_whose_values_are_zero(toy: Path) -> None:
    """Against the model whose weights of that head's values are zero, which computes the same without it."""
    encoder, other = encoders.load(toy).eval(), encoders.load(toy).eval()
    gates = torch.ones(4, 2)
    gates[1, 0] = 0
    values = other.get_submodule("encoder.layer.1.attention.self.value")
    with torch.no_grad():
        values.weight[:8], values.bias[:8] = 0, 0  # type: ignore[index]
    ids, mask = torch.tensor([[2, 5, 6, 3]]), torch.ones(1, 4, dtype=torch.bool)
    with torch.inference_mode():
        whole = encoders.states(encoder, ids, mask)
        with attention_heads.gated(encoder, gates):
            without = encoders.states(encoder, ids, mask)
        assert torch.allclose(without, encoders.states(other, ids, mask), atol=1e-6)
        assert not torch.allclose(without, whole, atol=1e-3)
        assert torch.equal(encoders.states(encoder, ids, mask), whole)  # nothing stays behind
        with attention_heads.gated(encoder, torch.ones(1, 4, 2)):
            assert torch.equal(encoders.states(encoder, ids, mask), whole)


def test_importance_is_the_mean_size_of_the_slope_scaled_by_layer(toy: Path) -> None:
    model = Toy(toy).requires_grad_(False)
    labels = np.array([0, 1])
    found = attention_heads.importance(model, IDS, labels, pad_id=0)
    assert found.shape == (4, 2)
    assert np.allclose((found**2).sum(axis=1), 1)
    slopes = np.zeros((4, 2))
    for ids, label in zip(IDS, labels.tolist(), strict=True):
        for layer in range(4):
            for head in range(2):
                losses = []
                for step in (1e-2, -1e-2):
                    gates = torch.ones(4, 2)
                    gates[layer, head] += step
                    with torch.inference_mode(), attention_heads.gated(model.encoder, gates):
                        logits = model(torch.from_numpy(ids.astype(np.int64))[None], torch.tensor([len(ids)]))
                    losses.append(float(torch.nn.functional.cross_entropy(logits, torch.tensor([label]))))
                slopes[layer, head] += abs(losses[0] - losses[1]) / 2e-2 / 2
    assert np.allclose(found, slopes / np.linalg.norm(slopes, axis=1, keepdims=True), atol=0.02)


def test_answers_without_heads(toy: Path) -> None:
    model = Toy(toy)
    with torch.inference_mode():
        whole = [int(model(torch.from_numpy(ids.astype(np.int64))[None], torch.tensor([len(ids)])).argmax()) for ids in IDS]
    none = np.array([], dtype=np.int64)
    assert attention_heads.answers(model, IDS, pad_id=0, removed=none).tolist() == whole
    assert attention_heads.answers(model, IDS, pad_id=0, removed=np.arange(8)).shape == (2,)


def test_another_family_is_refused(tmp_path: Path) -> None:
    encoder = encoders.load(toy_encoders.checkpoint(tmp_path / "distilbert", "distilbert"))
    with pytest.raises(NotMeasured, match=r"^heads can be taken out of BERT and its kin, and this is a distilbert encoder$"):
        attention_heads.shape_of(encoder)


# head-roles.


def pruning_bench(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, wrong: dict[str, dict[float, int]], **changes: Any
) -> text_bench.TextBench:
    """`wrong` counts, by order and share removed, the rows that are answered wrongly."""
    previous = np.full((6, 12), 0.1)
    previous[2, 3], previous[0, 1] = 0.9, 0.6
    monkeypatch.setattr(head_roles, "previous_token_weights", lambda texts: previous)

    def without(bench: Any, baked: Any, texts: Any) -> dict[Any, np.ndarray]:
        labels = np.arange(len(texts)) % 2
        return {
            (order, share): np.where(np.arange(len(texts)) < wrong[order].get(share, 0), 1 - labels, labels)
            for order in head_roles.ORDERS
            for share in head_roles.SHARES
        }

    monkeypatch.setattr(head_roles, "_without_heads", without)
    cells = {"head_roles": text_bench.runs("pretrained", draws=5)}
    texts = [f"text {i}" for i in range(2000)]
    return text_bench.TextBench(**{"store": Store(folder), "cells": cells, "test_texts": texts, "right": lambda run, text: True} | changes)


@pytest.mark.parametrize(("wrong", "verdict"), [(4, "holds"), (20, "inconclusive"), (200, "does not hold")])
def test_head_roles_by_what_a_fifth_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int, verdict: str) -> None:
    bench = pruning_bench(tmp_path, monkeypatch, wrong={"least worth first": {0.2: wrong}, "random": {0.2: 300, 0.8: 900}})
    answer = head_roles.CLAIM.measure(bench)
    assert answer.verdict == verdict
    assert answer.figure == pytest.approx(100 * wrong / 2000)
    assert answer.detectable is not None
    rows = {(row["order"], row["heads removed, %"]): row for row in answer.rows}
    assert len(rows) == 8
    assert rows["random", 80]["accuracy, %"] == 55.0
    assert rows["random", 20]["lost, points"] == 15.0
    assert "Most of the attention goes to the token before in 2 of 72 heads; in head 3 of layer 2 it is 90%." in answer.seen
    assert answer.notes[1] == "Of 72 heads 14, 29, 43, 58 are taken out, the nearest to 20, 40, 60, 80%."
    assert len(answer.run_ids) == 5
    heat, curve = answer.pictures
    assert (len(heat.rows), len(heat.columns)) == (6, 12)  # type: ignore[union-attr]
    assert curve.series[0].y == pytest.approx((100, 100 - wrong / 20, 100, 100, 100))  # type: ignore[union-attr]


def test_previous_token_weights_leave_special_tokens_out(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "resolve", lambda name, revision: toy)
    found = head_roles.previous_token_weights(["hi good bad", "hi"])
    encoder = attention_heads.with_weights(toy)
    tokeniser = agreement.CheckpointTokeniser(toy)
    (own,) = tokeniser.encode_now(["hi good bad"])
    weights = attention_heads.attention(encoder, np.concatenate([tokeniser.prefix, own, tokeniser.suffix]).astype(np.int32))
    assert len(own) == 3
    assert np.allclose(found, (weights[:, :, 2, 1] + weights[:, :, 3, 2]) / 2)


# agreement.


def test_pairs_are_what_the_claim_says() -> None:
    assert len(PAIRS) >= 20
    assert len({pair.sentence(pair.for_first[0]) for pair in PAIRS}) == len(PAIRS)
    for pair in (ARTICLE, *PAIRS):
        adjectives = (*pair.for_first, *pair.for_second)
        assert len(set(adjectives)) == 4
        for adjective in adjectives:
            words = pair.sentence(adjective).rstrip(".").split()
            assert (words.count("it"), words.count(pair.first), words.count(pair.second)) == (1, 1, 1)
            assert words.index(pair.first) < words.index(pair.second) < words.index("it")
    assert ARTICLE.sentence("tired") == "The animal did not cross the street because it was too tired."


def of_heads(meaning: float, neutral: float) -> agreement.Moved:
    """Head 1 of layer 0 moves so far; the other one not at all."""
    return agreement.Moved(meaning=np.array([[0.0, meaning]]), neutral=np.array([[0.0, neutral]]))


@pytest.mark.parametrize(
    ("meanings", "verdict"),
    [((0.3, 0.4), "holds"), ((-0.3, -0.2), "does not hold"), ((0.5, -0.5), "inconclusive")],
)
def test_agreement_is_judged_on_the_half_that_chose_no_head(
    monkeypatch: pytest.MonkeyPatch, meanings: tuple[float, float], verdict: str
) -> None:
    chosen, tested = iter([0.5] * 14), iter(meanings * 7)
    halves = iter(range(28))
    monkeypatch.setattr(agreement, "moved_in", lambda pair, watched: of_heads(next(tested) if next(halves) % 2 else next(chosen), 0.1))
    monkeypatch.setattr(agreement, "_heatmap", lambda watched, adjective, layer, head: (adjective, layer, head))
    monkeypatch.setattr(agreement, "Watched", lambda **parts: None)
    monkeypatch.setattr(agreement, "CheckpointTokeniser", lambda folder: None)
    monkeypatch.setattr(attention_heads, "with_weights", lambda folder: None)
    monkeypatch.setattr(checkpoint, "resolve", lambda name, revision: Path())
    bench: Any = SimpleNamespace(size="small", say=lambda line: None)
    answer = agreement.CLAIM.measure(bench)
    assert answer.verdict == verdict
    assert answer.figure == pytest.approx(100 * (np.mean(meanings) - 0.1))
    assert len(answer.rows) == 14
    assert answer.detectable is not None
    assert answer.pictures == (("tired", 0, 1), ("wide", 0, 1))


def test_what_moves_is_the_lean_from_one_noun_to_the_other() -> None:
    pair = PAIRS[0]
    leans = dict(zip((*pair.for_first, *pair.for_second), (0.5, 0.3, -0.2, 0.0), strict=True))
    watched: Any = SimpleNamespace(lean=lambda pair, adjective: np.array([[leans[adjective]]]))
    moved = agreement.moved_in(pair, watched)
    assert moved.meaning == pytest.approx(np.array([[0.5]]))  # (0.5 + 0.3 + 0.2 - 0.0) / 2
    assert moved.neutral == pytest.approx(np.array([[0.2]]))
    assert moved.beyond == pytest.approx(np.array([[0.3]]))


@pytest.mark.slow
def test_the_starter_checkpoint_reads_every_noun_as_one_piece() -> None:
    tokeniser = agreement.CheckpointTokeniser(checkpoint.resolve(agreement.CHECKPOINT, None))
    for pair in (ARTICLE, *PAIRS):
        assert [len(ids) for ids in tokeniser.encode_now([pair.first, pair.second, agreement.PRONOUN])] == [1, 1, 1]
