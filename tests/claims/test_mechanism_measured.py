"""The measured figures of the mechanism claims, at sizes that take a second."""

import numpy as np
import pytest
import torch

from bakeoff.claims.claim import Claim
from bakeoff.claims.mechanism import every_model, one_head, padding_mask, path_length, residuals, sqrt_dk, toys
from bakeoff.models.transformer import Block
from bakeoff.spec import MODEL_KINDS


class Silent:
    """A bench for claims that bake nothing."""

    size = "small"

    def say(self, line: str) -> None:
        """Nothing reads it."""


# Toys.


def test_reviews_are_decided_by_a_strict_majority_of_telling_words() -> None:
    found = toys.reviews(200, shortest=1, longest=20, seed=3)
    assert found.labels.sum() == 100
    assert found.lengths.min() >= 1
    assert found.lengths.max() <= 20
    for ids, length, label in zip(found.ids, found.lengths.tolist(), found.labels.tolist(), strict=True):
        words = ids[:length]
        assert (words > 0).all()
        assert (ids[length:] == 0).all()
        telling = words[words <= toys.TELLING]
        assert len(telling) == max(1, length // 4)
        assert int((telling > toys.TELLING // 2).long().sum() * 2 > len(telling)) == label


def test_questions_are_answered_by_their_facts() -> None:
    rows = toys.questions(50, facts=6, values=4, relations=3, random=torch.Generator().manual_seed(0))
    for names, values, asked, answers in zip(*(each.tolist() for each in (rows.names, rows.values, rows.asked, rows.answers)), strict=True):
        assert sorted(names) == list(range(6))
        assert len(set(asked)) == 3
        held = dict(zip(names, values, strict=True))
        assert answers == [held[name] for name in asked]


# sqrt-dk.


def test_without_scaling_queries_are_multiplied_by_the_root_of_their_width() -> None:
    times = sqrt_dk.Times(2, 8.0)
    assert times(torch.ones(3, 1)).flatten().tolist() == [8.0, 8.0, 1.0]


def test_the_same_model_learns_slower_without_scaling_where_it_is_wide() -> None:
    scaled, unscaled = (sqrt_dk.losses(64, scaled=scaled, seed=0, steps=30) for scaled in (True, False))
    assert len(scaled) == len(unscaled) == 30
    assert sum(unscaled) > sum(scaled)


# one-head.


def test_one_head_and_eight_have_equal_parameters() -> None:
    assert one_head.parameters(1) == one_head.parameters(8)


def test_one_head_answers_one_relation_but_not_three() -> None:
    right = {
        (heads, relations): one_head.accuracy(heads, seed=0, steps=150, width=64, relations=relations)
        for heads, relations in ((1, 1), (1, 3), (8, 3))
    }
    assert right[1, 1] > 0.95
    assert right[8, 3] > right[1, 3] + 0.2


# padding-mask.


def test_every_neural_kind_of_the_product_is_compared() -> None:
    kinds = {kind for kind, _, _, _ in every_model._builders()}
    assert kinds == set(MODEL_KINDS) - {"majority", "tfidf", "predictions"}


def test_padding_moves_no_logit_with_the_mask_and_every_models_without() -> None:
    names = set()
    for toy in every_model.every():
        found = padding_mask.leak(toy)
        assert found.masked < 1e-5, toy.name
        assert found.unmasked > 1e-5, toy.name
        assert found.size > 0.01, toy.name
        names.add((toy.kind, toy.name))
    assert len(names) == 72


def test_padding_reaches_every_token() -> None:
    assert padding_mask.least_reached() > 1e-5


def test_quarters_are_scored_with_and_without_the_mask() -> None:
    for masked in (True, False):
        found = padding_mask.scores(masked=masked, seed=0, steps=2)
        assert 0.3 < found.shortest < 1
        assert 0.3 < found.longest < 1


# path-length.


def test_gradients_are_those_of_a_reader_that_forgets_half_each_step() -> None:
    def halves(inputs: torch.Tensor) -> torch.Tensor:
        states = [inputs[:, 0]]
        for step in range(1, inputs.shape[1]):
            states.append(0.5 * states[-1] + inputs[:, step])
        return torch.stack(states, dim=1)

    found = path_length.gradients(halves, seed=0)
    assert found.shape == (path_length.TOKENS,)
    assert found[:20] / found[0] == pytest.approx(0.5 ** np.arange(20), rel=1e-9)


def test_the_path_length_claim_holds_with_an_interval() -> None:
    answer = path_length.CLAIM.measure(Silent())  # type: ignore[arg-type]
    assert answer.verdict == "holds"
    assert answer.interval is not None
    assert answer.figure is not None
    assert 1 < answer.interval.low < answer.figure < answer.interval.high
    assert len(answer.rows) == 2 * toys.DRAWS


# residuals.


@pytest.mark.parametrize("norm", ["before", "after"])
def test_a_straight_block_is_a_block_whose_sums_are_left_out(norm: str) -> None:
    torch.manual_seed(0)
    block = Block(8, 2, 16, norm=norm)  # type: ignore[arg-type]
    states = torch.randn(2, 3, 8)
    with torch.no_grad():
        found = residuals.Straight(block)(states)
        for parameter in (*block.feed_forward.back.parameters(), *block.attention.outward.parameters()):
            parameter.zero_()
        nothing = residuals.Straight(block)(states)
        through = block(states)
    assert found.abs().max() > 0.01
    assert nothing.abs().max() == 0
    assert through.abs().max() > 0.1  # what it read is still there


def test_a_deep_stack_trains_with_residuals_and_not_without() -> None:
    deep = {kept: residuals.train(12, residuals=kept, seed=0, steps=20) for kept in (True, False)}
    assert deep[True].trains
    assert not deep[False].trains
    assert deep[True].steps < deep[False].steps == 20
    assert residuals.train(2, residuals=True, seed=0).gradient > 0


def test_a_run_that_trains_before_its_first_step_has_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = residuals.train(2, residuals=True, seed=0).gradient
    monkeypatch.setattr(residuals.rules, "trains", lambda accuracy, *, majority: True)
    found = residuals.train(2, residuals=True, seed=0)
    assert (found.steps, found.gradient) == (0, expected)


# All twelve.


@pytest.mark.slow
@pytest.mark.parametrize("claim", [sqrt_dk.CLAIM, one_head.CLAIM, padding_mask.CLAIM, residuals.CLAIM], ids=lambda claim: claim.name)
def test_a_measured_claim_answers_with_an_interval(claim: Claim) -> None:
    answer = claim.measure(Silent())  # type: ignore[arg-type]
    assert answer.verdict in ("holds", "does not hold", "inconclusive")
    assert answer.interval is not None
    assert answer.detectable is not None
    assert all(row.keys() == answer.rows[0].keys() for row in answer.rows)


def test_who_draws_next_does_not_notice_the_weights_of_a_claim() -> None:
    torch.manual_seed(5)
    residuals.classifier(2, residuals=True, seed=0)
    next(every_model.every())
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(5))
