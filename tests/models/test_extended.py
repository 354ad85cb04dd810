"""An encoder carried past its positions answers as the checkpoint does as far as that reads, and goes on behind it."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig

import factories
import toy_encoders
from bakeoff import spec
from bakeoff.data import assets, checkpoint_checks
from bakeoff.errors import ConfigError, NotApplicable
from bakeoff.models import encoders, extended
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier

FAMILIES = ("bert", "roberta")
WINDOW, POSITIONS = 16, 40
READS_ALIKE = WINDOW // 2 + 2
"""Tokens of the longest document in which each attends to all others: the first to all, half a window lies between the others."""


def longdoc(max_tokens: int = 2000, window: int = WINDOW) -> spec.LongDoc:
    return spec.LongDoc(strategy="extended", max_tokens=max_tokens, attention_window=window)


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that reads 40 tokens, whose padding token is number 3 of a RoBERTa."""
    changes = {"bert": {}, "roberta": {"pad_token_id": 3}}[request.param]
    rows = POSITIONS + (changes["pad_token_id"] + 1 if changes else 0)
    return toy_encoders.checkpoint(
        tmp_path_factory.mktemp("toy") / request.param, request.param, max_position_embeddings=rows, hidden_act="relu", **changes
    )


def tokens(rows: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(5, toy_encoders.VOCABULARY, (rows, count), generator=torch.Generator().manual_seed(count))
    return ids, torch.ones_like(ids, dtype=torch.bool)


def pretrained(**changes: Any) -> spec.Pretrained:
    model = dataclasses.replace(factories.MODELS["pretrained"], **changes)
    assert isinstance(model, spec.Pretrained)
    return model


def table(encoder: Any) -> torch.Tensor:
    found: torch.Tensor = encoder.embeddings.position_embeddings.weight
    return found


@pytest.mark.parametrize("count", [1, 2, READS_ALIKE])
@torch.inference_mode()
def test_a_document_within_the_window_is_read_as_the_checkpoint_reads_it(folder: Path, count: int) -> None:
    original, longer = encoders.load(folder), encoders.load(folder, extend=longdoc())
    ids, mask = tokens(3, count)
    assert (encoders.states(original, ids, mask) - encoders.states(longer, ids, mask)).abs().max() < 1e-5
    assert longer.training is original.training is False


@torch.inference_mode()
def test_a_token_further_than_half_a_window_is_not_attended_to_but_by_way_of_the_first(folder: Path) -> None:
    original, longer = encoders.load(folder), encoders.load(folder, extend=longdoc())
    ids, mask = tokens(1, READS_ALIKE + 1)
    assert (encoders.states(original, ids, mask) - encoders.states(longer, ids, mask)).abs().max() > 1e-4
    one_layer = encoders.with_layers(longer, (0,))
    ids, mask = tokens(1, POSITIONS)
    changed = ids.clone()
    changed[0, 20] = 5 + (int(ids[0, 20]) - 4) % 300
    differs = (encoders.states(one_layer, ids, mask) - encoders.states(one_layer, changed, mask)).abs().amax(dim=2)[0] > 1e-6
    assert differs.nonzero().flatten().tolist() == [0, *range(20 - WINDOW // 2, 20 + WINDOW // 2 + 1)]


def test_what_reaches_the_inputs_backwards_is_the_same(folder: Path) -> None:
    ids, mask = tokens(2, READS_ALIKE)
    found = []
    for encoder in (encoders.load(folder), encoders.load(folder, extend=longdoc())):
        weight = encoder.get_input_embeddings().weight  # type: ignore[operator]
        (encoders.states(encoder, ids, mask)[:, 0] * torch.arange(toy_encoders.WIDTH)).sum().backward()
        found.append(weight.grad[ids])
    assert found[0].abs().max() > 0.1
    assert (found[0] - found[1]).abs().max() < 1e-5 * found[0].abs().max()


@torch.inference_mode()
def test_padding_and_neighbours_change_nothing(folder: Path) -> None:
    longer = encoders.load(folder, extend=longdoc())
    (ids, _), lengths = tokens(2, 50), torch.tensor([50, 21])
    pad = longer.config.pad_token_id  # type: ignore[union-attr]
    ids[1, 21:] = pad
    mask = torch.arange(50) < lengths[:, None]
    beside = encoders.states(longer, ids, mask)
    alone = encoders.states(longer, ids[1:, :21], mask[1:, :21])
    assert (beside[1, :21] - alone[0]).abs().max() < 1e-5
    assert (beside[0] - encoders.states(longer, ids[:1], mask[:1])[0]).abs().max() < 1e-5


def test_positions_repeat_until_the_new_length_is_covered(folder: Path) -> None:
    original, longer = encoders.load(folder), encoders.load(folder, extend=longdoc(max_tokens=100))
    pad = longer.config.pad_token_id  # type: ignore[union-attr]
    own = table(original) if folder.name == "bert" else table(original)[pad + 1 :]
    assert len(own) == POSITIONS
    assert torch.equal(table(longer)[pad + 1 :], torch.cat([own, own, own[:20]]))
    assert len(table(longer)) == longer.config.max_position_embeddings == pad + 1 + 100  # type: ignore[union-attr]
    for name, tensor in original.state_dict().items():
        if "position_embeddings" not in name:
            assert torch.equal(longer.state_dict()[name], tensor)
    for part in ("query", "key", "value"):
        for kind in ("weight", "bias"):
            name = f"encoder.layer.2.attention.self.{part}"
            assert torch.equal(longer.state_dict()[f"{name}_global.{kind}"], original.state_dict()[f"{name}.{kind}"])


@torch.inference_mode()
def test_two_thousand_tokens_are_read_and_the_last_reaches_the_first(folder: Path) -> None:
    model = PretrainedClassifier(pretrained(), folder=folder, n_classes=3, longdoc=longdoc()).eval()
    ids, _ = tokens(1, 2000)
    changed = ids.clone()
    changed[0, -1] = 5 + (int(ids[0, -1]) - 4) % 300
    logits = model(ids, torch.tensor([2000]))
    assert logits.shape == (1, 3)
    assert (logits - model(changed, torch.tensor([2000]))).abs().max() > 1e-6


@torch.inference_mode()
def test_a_saved_one_is_built_again_from_its_own_configuration(folder: Path, tmp_path: Path) -> None:
    model = PretrainedClassifier(pretrained(keep_layers=(0, 2, 3)), folder=folder, n_classes=2, longdoc=longdoc()).eval()
    model.encoder.config.save_pretrained(tmp_path)
    config = encoders.read_config(tmp_path)
    assert extended.config_of(config, longdoc()) is config
    again = PretrainedClassifier(pretrained(keep_layers=(0, 2, 3)), config=config, n_classes=2, longdoc=longdoc()).eval()
    again.load_state_dict(model.state_dict())
    ids, _ = tokens(2, 60)
    assert torch.equal(again(ids, torch.tensor([60, 30])), model(ids, torch.tensor([60, 30])))
    frozen = dataclasses.replace(factories.MODELS["frozen"], c_grid=(1.0,))
    one = FrozenClassifier(frozen, folder=folder, n_classes=2, longdoc=longdoc()).eval()  # type: ignore[arg-type]
    assert one.encoder.config.model_type == "longformer"
    assert not any(parameter.requires_grad for parameter in one.encoder.parameters())


def test_layers_are_kept_started_afresh_and_told_by_depth(folder: Path) -> None:
    whole = encoders.load(folder, extend=longdoc())
    kept = encoders.with_layers(whole, (1, 3))
    assert kept.config.attention_window == [WINDOW] * 2  # type: ignore[union-attr]
    for mine, theirs in enumerate((1, 3)):
        ours, expected = (encoders.layers_of(one)[layer].state_dict() for one, layer in ((kept, mine), (whole, theirs)))
        assert all(torch.equal(ours[name], expected[name]) for name in expected)
    before = {name: tensor.clone() for name, tensor in whole.state_dict().items()}
    encoders.reinitialise_top(whole, 1)
    changed = {name for name, tensor in whole.state_dict().items() if not torch.equal(tensor, before[name])}
    assert {name.split(".")[2] for name in changed} == {"3"}
    assert {"query", "query_global"} <= {name.split(".")[5] for name in changed if ".self." in name}
    depths = encoders.depth_of(whole)
    assert depths["encoder.layer.3.attention.self.key_global.weight"] == 1
    assert depths["embeddings.position_embeddings.weight"] == toy_encoders.LAYERS + 1


@pytest.mark.parametrize("family", sorted(set(toy_encoders.FAMILIES) - {*FAMILIES, "longformer"}))
def test_another_family_is_refused(family: str, tmp_path: Path) -> None:
    folder = toy_encoders.checkpoint(tmp_path / family, family)
    with pytest.raises(ConfigError, match=rf"^longdoc=extended cannot carry this {family} encoder past its positions: use a BERT"):
        encoders.load(folder, extend=longdoc())
    message = (
        f"longdoc=extended carries bert and roberta encoders past their positions, and {family} is a {family} one: use longdoc=windows, "
        "or longdoc=head with as many tokens as it reads"
    )
    with pytest.raises(NotApplicable) as refused:
        checkpoint_checks.check_extendable(folder, longdoc())
    assert str(refused.value) == message
    checkpoint_checks.check_extendable(folder, spec.LongDoc(strategy="head", max_tokens=32))


def test_a_checkpoint_that_reads_long_documents_itself_is_refused_and_its_configuration_left_alone(tmp_path: Path) -> None:
    folder = toy_encoders.checkpoint(tmp_path / "long", "longformer")
    with pytest.raises(NotApplicable, match="and long is a longformer one"):
        checkpoint_checks.check_extendable(folder, longdoc())
    config = AutoConfig.from_pretrained(folder)
    assert extended.config_of(config, longdoc()) is config


def test_both_rooms_know_the_same_families(folder: Path) -> None:
    assert extended.FAMILIES == checkpoint_checks.EXTENDABLE == FAMILIES
    checkpoint_checks.check_extendable(folder, longdoc())


@pytest.mark.slow
@torch.inference_mode()
def test_the_starter_checkpoint_reads_on_as_it_did() -> None:
    folder = assets.fetch_checkpoint("minilm-l6")
    original, longer = encoders.load(folder), encoders.load(folder, extend=longdoc(max_tokens=4096, window=256))
    ids = torch.randint(1000, 30000, (2, 129), generator=torch.Generator().manual_seed(0))
    ids[:, 0], lengths = 101, torch.tensor([129, 70])
    ids[1, 70:] = 0
    mask = torch.arange(129) < lengths[:, None]
    ours, theirs = encoders.states(longer, ids, mask), encoders.states(original, ids, mask)
    assert (ours - theirs)[mask].abs().max() < 1e-5
    assert longer.config.hidden_act == original.config.hidden_act  # type: ignore[union-attr]
    long = torch.randint(1000, 30000, (1, 2000), generator=torch.Generator().manual_seed(1))
    assert torch.isfinite(encoders.states(longer, long, torch.ones_like(long, dtype=torch.bool))).all()
