"""Windows: every token is covered, any batch answers as a plain loop over windows, gradients and memory keep to their limits."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

import factories
import toy_encoders
from bakeoff import spec
from bakeoff.errors import NotApplicable
from bakeoff.models import windows
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier
from bakeoff.models.scratch import ScratchClassifier
from bakeoff.training import optim

CLS, SEP, PAD = 2, 3, 0
POOLS = ("mean_logits", "max_logits", "mean_embeddings", "max_embeddings", "attention", "lstm", "transformer")
KINDS = ("bilstm", "scratch", "pretrained")
Classifier = BiLstmClassifier | ScratchClassifier | PretrainedClassifier | FrozenClassifier


@dataclass(frozen=True, kw_only=True)
class Frame:
    prefix: tuple[int, ...] = (CLS,)
    suffix: tuple[int, ...] = (SEP,)
    pad_id: int = PAD


FRAME = Frame()


def reading(pool: str = "mean_logits", *, window: int = 10, overlap: int = 2, trained: int = 4) -> spec.LongDoc:
    return spec.LongDoc(
        strategy="windows",
        max_tokens=None,
        window_tokens=window,
        overlap_tokens=overlap,
        pool=pool,  # type: ignore[arg-type]
        trained_windows=trained,
    )


def framed(*sizes: int, start: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """Documents of so many tokens between CLS and SEP, no two tokens alike."""
    lengths, following = torch.tensor(sizes) + 2, start
    ids = torch.full((len(sizes), int(lengths.max())), PAD)
    for row, size in enumerate(sizes):
        ids[row, : size + 2] = torch.tensor([CLS, *range(following, following + size), SEP])
        following += size
    return ids, lengths


def build(kind: str, longdoc: spec.LongDoc | None, *, seed: int = 0, vocabulary: int = 400, **changes: Any) -> Classifier:
    torch.manual_seed(seed)
    frame = None if longdoc is None else FRAME
    given: dict[str, Any] = {"n_classes": 3, "longdoc": longdoc, "frame": frame}
    model: Any = dataclasses.replace(factories.MODELS[kind], **changes)
    if kind == "bilstm":
        return BiLstmClassifier(model, vocabulary_size=vocabulary, pad_id=PAD, **given)
    if kind == "scratch":
        return ScratchClassifier(model, vocabulary_size=vocabulary, pad_id=PAD, **given)
    config = toy_encoders.config("bert", num_hidden_layers=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return FrozenClassifier(model, config=config, **given) if kind == "frozen" else PretrainedClassifier(model, config=config, **given)


def by_hand(ids: torch.Tensor, length: int, *, window: int = 10, overlap: int = 2) -> Iterator[torch.Tensor]:
    """The windows of one document, cut with plain slices, each as a batch of one."""
    content, room = ids[1 : length - 1].tolist(), window - 2
    for start in range(0, max(1, len(content) - overlap), room - overlap):
        yield torch.tensor([[CLS, *content[start : start + room], SEP]])


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[list[int]], Frame, int, int]:
    prefix, suffix = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    window = draw(st.integers(prefix + suffix + 1, 20))
    overlap = draw(st.integers(0, window - prefix - suffix - 1))
    sizes = draw(st.lists(st.integers(0, 60), min_size=1, max_size=4))
    documents = [draw(st.lists(st.integers(10, 99), min_size=size, max_size=size)) for size in sizes]
    return documents, Frame(prefix=(CLS,) * prefix, suffix=(SEP,) * suffix), window, overlap


@settings(max_examples=150, deadline=None)
@given(cuts())
def test_windows_cover_every_token_and_overlap_by_just_what_was_asked(case: tuple[list[list[int]], Frame, int, int]) -> None:
    documents, frame, window, overlap = case
    whole = [[*frame.prefix, *content, *frame.suffix] for content in documents]
    lengths = torch.tensor([len(each) for each in whole])
    ids = torch.full((len(whole), max(1, int(lengths.max()))), PAD)
    for row, each in enumerate(whole):
        ids[row, : len(each)] = torch.tensor(each, dtype=torch.long)
    found = windows.cut(ids, lengths, prefix=frame.prefix, suffix=frame.suffix, window_tokens=window, overlap_tokens=overlap, pad_id=PAD)
    assert found.ids.shape[0] == len(found.lengths) == len(found.document) == len(found.number)
    assert int(found.lengths.max()) <= window
    before, after = len(frame.prefix), len(frame.suffix)
    for row, content in enumerate(documents):
        mine = (found.document == row).nonzero()[:, 0].tolist()
        assert found.number[mine].tolist() == list(range(len(mine)))
        assert len(mine) >= 1
        covered: list[int] = []
        for number, line in enumerate(mine):
            length, read = int(found.lengths[line]), found.ids[line].tolist()
            assert read[:before] == list(frame.prefix)
            assert read[length - after : length] == list(frame.suffix)
            assert set(read[length:]) <= {PAD}
            part = read[before : length - after]
            if number:
                assert len(part) > overlap, "each window reads something new"
                assert covered[len(covered) - overlap :] == part[:overlap]
                part = part[overlap:]
            covered += part
        assert covered == content
    if overlap < window - 2:  # what LongDoc allows
        expected = np.bincount(found.document.numpy(), weights=found.lengths.numpy()).astype(int).tolist()
        assert windows.processed_tokens(lengths.numpy(), reading(window=window, overlap=overlap), frame).tolist() == expected


@pytest.mark.parametrize(("frame", "count", "last"), [(Frame(prefix=(), suffix=()), 6, 10), (FRAME, 8, 10)])
def test_fifty_tokens_in_windows_of_ten_that_overlap_by_two(frame: Frame, count: int, last: int) -> None:
    content = list(range(10, 60))
    ids = torch.tensor([[*frame.prefix, *content, *frame.suffix]])
    found = windows.cut(
        ids, torch.tensor([ids.shape[1]]), prefix=frame.prefix, suffix=frame.suffix, window_tokens=10, overlap_tokens=2, pad_id=PAD
    )
    assert found.ids.shape == (count, 10)
    assert int(found.lengths[-1]) == last
    assert set(found.ids.flatten().tolist()) - {CLS, SEP} == set(content)


def test_other_readings_process_what_they_read() -> None:
    read = np.array([3, 200])
    assert windows.processed_tokens(read, factories.HEAD, FRAME) is read


def plain_answers(model: Classifier, pool: str, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """One window at a time and one document at a time; nothing is padded."""
    reader, answers = model.windows, []
    assert reader is not None
    for row, length in zip(ids, lengths.tolist(), strict=True):
        found = [model.features(window, torch.tensor([window.shape[1]]))[0] for window in by_hand(row, length)]
        states = torch.stack(found)
        logits = model.head(states)
        if pool in ("mean_logits", "max_logits"):
            answers.append(logits.mean(dim=0) if pool == "mean_logits" else logits.amax(dim=0))
            continue
        if pool == "attention":
            scores = reader.attention.query(reader.attention.project(states).tanh()).softmax(dim=0)
            pooled = (scores * states).sum(dim=0)
        elif pool == "lstm":
            pooled = reader.lstm(states)[0][-1]
        elif pool == "transformer":
            pooled = reader.transformer(states[None])[0].mean(dim=0)
        else:
            pooled = states.mean(dim=0) if pool == "mean_embeddings" else states.amax(dim=0)
        answers.append(model.head(pooled))
    return torch.stack(answers)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pool", POOLS)
def test_a_batch_answers_as_a_plain_loop_over_windows(kind: str, pool: str) -> None:
    model = build(kind, reading(pool)).eval()
    ids, lengths = framed(5, 44, 0, 20)  # 1, 7, 1 and 3 windows
    with torch.inference_mode():
        assert model(ids, lengths).tolist() == pytest.approx(plain_answers(model, pool, ids, lengths), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pool", POOLS)
def test_a_text_answers_alike_alone_and_beside_seven_windows(kind: str, pool: str) -> None:
    model = build(kind, reading(pool)).eval()
    ids, lengths = framed(5, 44)
    with torch.inference_mode():
        alone, beside = model(ids[:1, :7], lengths[:1]), model(ids, lengths)
    assert alone[0].tolist() == pytest.approx(beside[0].tolist(), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pool", POOLS[:4])
def test_documents_of_one_window_answer_as_without_windows(kind: str, pool: str) -> None:
    model, plain = build(kind, reading(pool, window=40)).eval(), build(kind, None).eval()
    ids, lengths = framed(38, 5, 1, 0)
    with torch.inference_mode():
        assert (model(ids, lengths) - plain(ids, lengths)).abs().max() < 1e-6


@pytest.mark.parametrize("kind", [*KINDS, "frozen"])
def test_no_other_reading_has_a_part_in_weights_or_random_numbers(kind: str) -> None:
    plain = build(kind, None)
    after = torch.random.get_rng_state()
    head = build(kind, factories.HEAD)
    assert torch.equal(after, torch.random.get_rng_state())
    assert list(head.state_dict()) == list(plain.state_dict())
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(head.state_dict().values(), plain.state_dict().values(), strict=True))
    assert head.windows is None
    ids, lengths = framed(30, 5)
    assert torch.equal(head.eval()(ids, lengths), plain.eval()(ids, lengths))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pool", ["attention", "lstm", "transformer"])
def test_what_pools_windows_comes_after_all_other_weights(kind: str, pool: str) -> None:
    own, plain = build(kind, reading(pool)).state_dict(), build(kind, None).state_dict()
    assert all(torch.equal(own[name], tensor) for name, tensor in plain.items())
    added = [name for name in own if name not in plain]
    assert added
    assert all(name.startswith(f"windows.{pool}.") for name in added)


@pytest.mark.parametrize("pool", ["mean_embeddings", "max_embeddings"])
def test_frozen_features_are_pooled_over_windows_and_then_normalised(pool: str) -> None:
    model = build("frozen", reading(pool)).eval()
    ids, lengths = framed(5, 44)
    expected = []
    with torch.inference_mode():
        for row, length in zip(ids, lengths.tolist(), strict=True):
            found = [model.encoder(input_ids=window).last_hidden_state[0].mean(dim=0) for window in by_hand(row, length)]
            states = torch.stack(found)
            expected.append(functional.normalize(states.mean(dim=0) if pool == "mean_embeddings" else states.amax(dim=0), dim=0))
        assert model.features(ids, lengths).tolist() == pytest.approx(torch.stack(expected), abs=1e-5)
        assert model(ids, lengths).tolist() == pytest.approx(model.head(torch.stack(expected)), abs=1e-5)


def test_an_overlap_that_leaves_nothing_new_beside_the_special_tokens_is_refused() -> None:
    with pytest.raises(NotApplicable, match=r"longdoc.overlap_tokens=7 .* longdoc.window_tokens=10 .* below 7"):
        windows.WindowReader(reading(overlap=7), width=4, frame=Frame(suffix=(SEP, SEP)))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 30), st.integers(0, 999))
def test_trained_windows_are_spread_over_the_documents(counts: list[int], most: int, seed: int) -> None:
    torch.manual_seed(seed)
    document = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    chosen = windows.spread(document, most).tolist()
    assert len(chosen) == len(set(chosen)) == min(most, sum(counts))
    each = torch.bincount(document[chosen], minlength=len(counts)).tolist()
    assert most < len(counts) or min(each) >= 1
    left = [have for have, there in zip(each, counts, strict=True) if have < there]
    assert not left or max(each) - min(left) <= 1


def test_every_window_is_drawn_sometimes() -> None:
    torch.manual_seed(0)
    document = torch.tensor([0, 1, 1, 1, 1, 1])
    drawn = torch.cat([windows.spread(document, 2) for _ in range(300)])
    counts = torch.bincount(drawn).tolist()
    assert counts[0] == 300
    assert min(counts[1:]) > 30


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pool", POOLS)
def test_gradients_are_those_of_a_loop_that_detaches_the_other_windows(kind: str, pool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: dict[str, Any] = {} if kind == "pretrained" else {"dropout": 0.0}
    model = build(kind, reading(pool, trained=3), **changes).train()
    ids, lengths = framed(5, 44)
    chosen = torch.tensor([4, 0, 7])  # of the windows 0 | 1 … 7
    monkeypatch.setattr(windows, "spread", lambda document, most: chosen[:most])
    with reads(model) as seen:
        functional.cross_entropy(model(ids, lengths), torch.tensor([0, 2])).backward()
    assert [(read.windows, read.learning) for read in seen] == [(3, True), (5, False)]
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    windows_read = [window for row, length in zip(ids, lengths.tolist(), strict=True) for window in by_hand(row, length)]
    features = model.features

    def detached(window: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        number = next(i for i, each in enumerate(windows_read) if each.shape == window.shape and torch.equal(each, window))
        states = features(window, length)
        return states if number in chosen else states.detach()

    monkeypatch.setattr(model, "features", detached)
    functional.cross_entropy(plain_answers(model, pool, ids, lengths), torch.tensor([0, 2])).backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            assert (found[name] - parameter.grad).abs().max() < 1e-5, name


@dataclass(frozen=True, kw_only=True)
class Read:
    windows: int
    tokens: int
    learning: bool


class reads:
    """The batches that a model's encoder, or embedding, reads while this is entered."""

    def __init__(self, model: Classifier) -> None:
        self._module: nn.Module = model.embedding if isinstance(model, BiLstmClassifier | ScratchClassifier) else model.encoder

    def __enter__(self) -> list[Read]:
        seen: list[Read] = []

        def note(_module: nn.Module, inputs: tuple[torch.Tensor, ...], named: dict[str, Any]) -> None:
            ids = inputs[0] if inputs else named["input_ids"]
            seen.append(Read(windows=len(ids), tokens=ids.numel(), learning=torch.is_grad_enabled()))

        self._hook = self._module.register_forward_pre_hook(note, with_kwargs=True)
        return seen

    def __exit__(self, *_: object) -> None:
        self._hook.remove()


@pytest.mark.parametrize("kind", ["bilstm", "scratch"])
def test_tokens_of_windows_beyond_the_limit_learn_nothing(kind: str) -> None:
    model = build(kind, reading(window=10, overlap=0, trained=4), dropout=0.0).train()
    ids, lengths = framed(8, 48)
    model(ids, lengths).square().sum().backward()
    learned = model.embedding.weight.grad.abs().sum(dim=1) > 0
    windows_read = [
        set(window[0, 1:-1].tolist()) for row, n in zip(ids, lengths.tolist(), strict=True) for window in by_hand(row, n, overlap=0)
    ]
    touched = [sum(bool(learned[token]) for token in window) for window in windows_read]
    assert len(touched) == 7
    assert sorted(touched)[:3] == [0, 0, 0]
    assert sum(count > 0 for count in touched) == 4
    assert touched[0] > 0, "each document learns"


@pytest.mark.parametrize("kind", ["scratch", "pretrained"])
def test_in_bfloat16_the_trained_windows_have_their_gradient_beside_those_without(kind: str) -> None:
    model = build(kind, reading(trained=2)).train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(*framed(5, 44)).square().sum()
    loss.backward()
    missing = [name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.abs().sum()]
    assert missing == []


def test_long_windows_are_read_fewer_at_once() -> None:
    assert [windows.at_once(tokens) for tokens in (16, 4096, 8192, 32_768, 200_000)] == [32, 32, 16, 4, 1]


def test_what_is_padded_to_whole_blocks_is_processed() -> None:
    read = np.array([2, 10, 16, 17, 40])
    assert windows.processed_tokens(read, factories.HEAD, FRAME, padded_to=8).tolist() == [8, 16, 16, 24, 40]
    # Windows of 10 with 2 special tokens and 2 that overlap, each padded to 16: one to 10 tokens, then 6 more each.
    found = windows.processed_tokens(np.array([2, 10, 11, 16, 17]), reading(window=10, overlap=2), FRAME, padded_to=16)
    assert found.tolist() == [16, 16, 32, 32, 48]


def test_a_piece_of_a_step_trains_its_share_of_the_windows() -> None:
    model = build("scratch", reading(trained=6), dropout=0.0).train()
    for rows, of, trained in ((4, 4, 6), (2, 4, 3), (1, 4, 2), (1, 12, 1)):
        with reads(model) as seen, windows.part_of_step(model, rows=rows, of=of):
            model(*framed(60, 60))
        assert sum(read.windows for read in seen if read.learning) == trained
    with reads(model) as seen:
        model(*framed(60, 60))
    assert sum(read.windows for read in seen if read.learning) == 6


def test_memory_for_one_document_of_fifty_thousand_tokens_is_bounded() -> None:
    longdoc = reading(window=130, overlap=0, trained=8)
    model = build("scratch", longdoc, dropout=0.0, layers=1)
    content = torch.randint(4, 400, (50_000,), generator=torch.Generator().manual_seed(0)).tolist()
    ids = torch.tensor([[CLS, *content, SEP]])
    with reads(model) as seen, torch.inference_mode():
        answered = model.eval()(ids, torch.tensor([50_002]))
    assert sum(read.windows for read in seen) == 391  # ⌈50,000 / 128⌉
    assert max(read.windows for read in seen) == windows.CHUNK_WINDOWS
    assert max(read.tokens for read in seen) == windows.CHUNK_WINDOWS * 130
    with reads(model) as seen:
        learning = model.train()(ids, torch.tensor([50_002]))
    assert learning.tolist() == pytest.approx(answered, abs=1e-5)
    assert [read.windows for read in seen if read.learning] == [8]
    assert sum(read.windows for read in seen) == 391
    assert max(read.windows for read in seen) == windows.CHUNK_WINDOWS


@pytest.mark.parametrize("kind", KINDS)
def test_where_no_gradient_is_asked_for_no_window_is_drawn(kind: str) -> None:
    model = build(kind, reading(trained=1))
    before = torch.random.get_rng_state()
    with torch.no_grad():
        model.eval()(*framed(5, 44))
    model.train(False)(*framed(5, 44))
    assert torch.equal(before, torch.random.get_rng_state())


def test_what_pools_windows_learns_at_the_rate_of_the_head() -> None:
    model = build("pretrained", reading("lstm"))
    training = dataclasses.replace(factories.TRAINING, learning_rate=1.0)
    rates = {id(p): group["lr"] for group in optim.optimiser(model, training, layer_decay=0.5).param_groups for p in group["params"]}
    assert {rates[id(parameter)] for parameter in model.windows.parameters()} == {1.0} == {rates[id(model.head.weight)]}
    assert {rates[id(parameter)] for parameter in model.encoder.parameters()} == {0.5, 0.25, 0.125}


def test_a_reader_over_windows_of_any_width() -> None:
    for width in (15, 16, 384):
        reader = windows.WindowReader(reading("transformer"), width=width, frame=FRAME)
        found = reader.embeddings(*framed(44, 1), features=lambda ids, lengths, width=width: torch.ones(len(ids), width))
        assert found.shape == (2, width)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_checkpoint_reads_by_windows_too(family: str, tmp_path: Path) -> None:
    folder = toy_encoders.checkpoint(tmp_path / family, family)
    model = dataclasses.replace(factories.MODELS["pretrained"], pooling="cls")
    found = PretrainedClassifier(model, folder=folder, n_classes=2, longdoc=reading(window=20), frame=FRAME).eval()  # type: ignore[arg-type]
    with torch.inference_mode():
        assert found(*framed(300)).shape == (1, 2)
