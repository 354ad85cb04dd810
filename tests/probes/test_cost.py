"""Arithmetic by hand, against PyTorch's own counter, and what it is held against."""

import dataclasses
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig

import bakery
import factories
import served
from bakeoff import spec
from bakeoff.models import sizes
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.models.scratch import ScratchClassifier
from bakeoff.probes import cost, flops, weights


def test_a_bilstm_by_hand() -> None:
    model = dataclasses.replace(factories.MODELS["bilstm"], embedding_dim=3, hidden_dim=2)
    # a token, each way: 4 gates of 2 units, each a product with 3 inputs and 2 states: 2·4·2·(3 + 2) = 80 operations
    # the head: 2·(2·2)·3 classes = 24
    assert flops.of_bilstm(model, tokens=5, n_classes=3) == 5 * 2 * 80 + 24
    # a second layer reads both ways: 2·4·2·(4 + 2) = 96
    assert flops.of_bilstm(dataclasses.replace(model, layers=2), tokens=5, n_classes=3) == 5 * 2 * (80 + 96) + 24


@pytest.mark.parametrize("n", [1, 7, 2000])
def test_a_direction_at_equal_widths_is_16_n_d_squared(n: int) -> None:
    model = dataclasses.replace(factories.MODELS["bilstm"], embedding_dim=128, hidden_dim=128)
    assert flops.of_bilstm(model, tokens=n, n_classes=2) - 4 * 128 * 2 == 2 * 16 * n * 128**2


def test_an_encoder_by_hand() -> None:
    size = spec.EncoderSize(family="bert", layers=2, width=4, heads=2, feed_forward=16, vocabulary=9, positions=8)
    # three tokens, a layer: Q, K, V and output 4·(2·3·4·4) = 384; QKᵀ over both heads 2·(2·3·2·3) = 72, with V as much;
    # feed-forward 2·3·4·16 = 384 and back as much
    layer = 384 + 72 + 72 + 384 + 384
    assert flops.of_encoder(size, tokens=3, n_classes=2) == 2 * layer + 2 * 4 * 2
    assert layer == 8 * 3 * 4**2 + 4 * 3**2 * 4 + 16 * 3 * 4**2


def test_the_starter_checkpoint_takes_what_its_architecture_says() -> None:
    size = spec.EncoderSize(family="bert", layers=6, width=384, heads=12, feed_forward=1536, vocabulary=30522, positions=512)
    # 6 layers · (8 + 16)·384² = 21.2 M operations a token, three times that to train: 63.7 M
    per_token = (flops.of_encoder(size, tokens=1000, n_classes=2) - 6 * 4 * 1000**2 * 384) / 1000
    assert 3 * per_token == pytest.approx(63.7e6, rel=1e-3)


@pytest.mark.parametrize(
    ("family", "tokens"), [("bert", 7), ("distilbert", 5), ("roberta", 11), ("modernbert", 40), ("longformer", 9), ("big_bird", 50)]
)
def test_an_encoder_as_pytorch_counts_it(family: str, tokens: int) -> None:
    size = served.size(family, positions=2048)
    config = sizes.config_of(size)
    module = PretrainedClassifier(factories.MODELS["pretrained"], config=config, n_classes=3).eval()
    assert flops.of_encoder(size, tokens=tokens, n_classes=3) == counted(module, tokens)


def test_longformers_blocks_as_pytorch_counts_them() -> None:
    size = served.size("longformer", positions=2048)
    module = PretrainedClassifier(factories.MODELS["pretrained"], config=sizes.config_of(size), n_classes=3).eval()
    assert flops.of_encoder(size, tokens=1100, n_classes=3) == counted(module, 1100)
    assert flops.of_encoder(size, tokens=1100, n_classes=3) == flops.of_encoder(size, tokens=1536, n_classes=3)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("directions", ["both", "forward"])
@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_a_bilstm_as_pytorch_counts_it(layers: int, directions: str, pooling: str) -> None:
    changes = {"embedding_dim": 12, "hidden_dim": 7, "layers": layers, "directions": directions, "pooling": pooling}
    model = dataclasses.replace(factories.MODELS["bilstm"], **changes)
    module = BiLstmClassifier(model, vocabulary_size=50, n_classes=3, pad_id=0).eval()
    assert flops.of_bilstm(model, tokens=9, n_classes=3) == counted(module, 9)


@pytest.mark.parametrize("changes", [{"positions": "rotary"}, {"positions": "sinusoidal", "causal": True, "pooling": "last"}])
def test_a_scratch_transformer_as_pytorch_counts_it(changes: dict[str, object]) -> None:
    model = dataclasses.replace(factories.MODELS["scratch"], feed_forward=40, layers=3, **changes)
    module = ScratchClassifier(model, vocabulary_size=50, n_classes=3, pad_id=0).eval()
    assert flops.of_scratch(model, tokens=9, n_classes=3) == counted(module, 9)
    run = factories.make_run(model=model)
    assert cost.flops_per_document(run, lengths_tokens=np.array([9]), n_classes=3, n_special_tokens=2) == flops.of_scratch(
        model, tokens=9, n_classes=3
    )


def counted(module: torch.nn.Module, tokens: int) -> int:
    ids, lengths = torch.randint(5, 50, (1, tokens)), torch.tensor([tokens])
    # oneDNN's fused LSTM and the fused attention of a CPU are one operator each, inside which the counter does not look
    separate = torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH)
    with separate[0], separate[1], torch.inference_mode(), FlopCounterMode(display=False) as counter:
        module(ids, lengths)
    return int(counter.get_total_flops())


def test_a_document_of_median_length_is_counted_as_far_as_it_is_read() -> None:
    bilstm = factories.make_run(model="bilstm")
    assert isinstance(bilstm.model, spec.BiLstm)
    lengths = np.array([4, 10, 3000])
    assert cost.flops_per_document(bilstm, lengths_tokens=lengths, n_classes=2, n_special_tokens=0) == flops.of_bilstm(
        bilstm.model, tokens=10, n_classes=2
    )
    size = served.size("bert")
    encoder = factories.make_run(model=dataclasses.replace(factories.MODELS["pretrained"], size=size))
    found = cost.flops_per_document(encoder, lengths_tokens=lengths * 100, n_classes=2, n_special_tokens=2)
    assert found == flops.of_encoder(size, tokens=256, n_classes=2)
    for kind in ("majority", "tfidf"):
        assert cost.flops_per_document(factories.make_run(model=kind), lengths_tokens=lengths, n_classes=2, n_special_tokens=2) is None


def test_a_checkpoints_numbers_are_read_from_its_configuration(tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "bert")
    run, config = served.make_run("pretrained", folder), AutoConfig.from_pretrained(folder)
    assert isinstance(run.model, spec.Pretrained)
    found = cost.encoder_size(run.model)
    assert found == spec.EncoderSize(
        family="bert", layers=1, width=16, heads=2, feed_forward=32, vocabulary=config.vocab_size, positions=bakery.POSITIONS
    )


def test_size_counts_parameters_and_bytes() -> None:
    run = served.make_run("bilstm")
    candidate = weights.load(run, served.prepared(), classes=served.CLASSES, folder=None)
    assert isinstance(candidate, weights.Neural)
    words = candidate.classifier.get_parameter("embedding.weight").shape[0]
    size = cost.size_of(run, candidate, lengths_tokens=np.array([10]), n_classes=2)
    rest = 2 * 4 * (16 * 16 + 16 * 16 + 2 * 16) + 2 * 32 + 2
    assert (size.parameters_embedding, size.parameters_total, size.parameters_trainable) == (
        16 * words,
        16 * words + rest,
        16 * words + rest,
    )
    assert size.bytes == 4 * size.parameters_total


def test_the_peak_is_a_rate_that_one_product_does_not_beat_by_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "_PEAK_WIDTHS", {"cpu": (64, 256)})
    peak = cost.matmul_peak_gflops(device="cpu", precision="float32", seconds=0.1)
    a = torch.randn(256, 256)
    seconds = []
    for _ in range(20):
        started = time.perf_counter()
        a @ a
        seconds.append(time.perf_counter() - started)
    assert peak > 0.5 * 2 * 256**3 / float(np.median(seconds)) / 1e9


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_peak_of_a_gpu_is_above_any_cpus(precision: spec.Precision) -> None:
    assert cost.matmul_peak_gflops(device="cuda", precision=precision) > 5_000


def test_windows_of_words_have_no_special_tokens() -> None:
    """52 words in windows of 16 that share 4 are 4 windows of 16."""
    reading = spec.LongDoc(strategy="windows", max_tokens=None, window_tokens=16, overlap_tokens=4, pool="mean_logits", trained_windows=8)
    run = dataclasses.replace(factories.make_run(model="bilstm"), longdoc=reading)
    assert isinstance(run.model, spec.BiLstm)
    found = cost.flops_per_document(run, lengths_tokens=np.array([52]), n_classes=2, n_special_tokens=0)
    assert found == 4 * flops.of_bilstm(run.model, tokens=16, n_classes=2)
