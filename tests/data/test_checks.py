import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff import spec
from bakeoff.data import checks
from bakeoff.errors import DataError, NotApplicable

Make = Callable[..., spec.Dataset]
FULL = spec.LongDoc(strategy="full", max_tokens=None)


@pytest.fixture(autouse=True)
def forget() -> None:
    checks._last.clear()
    checks._folders.clear()


@pytest.fixture
def data(make_dataset: Make, tmp_path: Path) -> spec.Dataset:
    path = tmp_path / "f.csv"
    path.write_text("text,label\n" + "".join(f"{chr(97 + i % 26) * (1 + i // 26)},c{i % 2}\n" for i in range(50)))
    return make_dataset(path=path)


@pytest.fixture
def encoder(tmp_path: Path) -> spec.Pretrained:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "max_position_embeddings": 512, "num_hidden_layers": 6}))
    for name in ("tokenizer.json", "model.safetensors"):
        (folder / name).touch()
    training = spec.Training(
        learning_rate=2e-5, weight_decay=0.01, batch_size=16, epochs=3, min_steps=60, warmup_fraction=0.1, schedule="linear", clip_norm=1.0
    )
    return spec.Pretrained(
        name="encoder", default_longdoc=FULL, checkpoint=str(folder), revision=None, checkpoint_fingerprint="0", precision="float32",
        pooling="mean", training=training,
    )  # fmt: skip


def run(dataset: spec.Dataset, *, labels: int | str = 4, model: spec.Model | None = None, longdoc: spec.LongDoc = FULL) -> spec.Run:
    return spec.Run(
        dataset=dataset,
        budget=spec.Budget(labels=labels, draw=0, order="stratified", unlabelled="none"),  # type: ignore[arg-type]
        model=model or spec.Majority(name="majority", default_longdoc=FULL),
        longdoc=longdoc,
        probe=spec.Quality(threads=1),
        seed=0,
    )


def test_a_run_that_can_start(data: spec.Dataset) -> None:
    checks.check(run(data))
    checks.check(run(data, labels=1))
    checks.check(run(data, labels="all"))


def test_a_budget_above_the_pool(data: spec.Dataset) -> None:
    with pytest.raises(NotApplicable, match=r"^budget.labels=51 is more than the \d\d labelled rows of the train pool"):
        checks.check(run(data, labels=51))


def test_data_is_prepared_once_and_errors_are_remembered(data: spec.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    prepare = checks.prepare
    monkeypatch.setattr(checks, "prepare", lambda dataset: (calls.append("prepare"), prepare(dataset))[1])
    for labels in (1, 2, 3):
        checks.check(run(data, labels=labels))
    assert len(calls) == 1
    Path(data.path or "").unlink()
    checks._last.clear()
    for _ in range(2):
        with pytest.raises(DataError, match=r"does not exist"):
            checks.check(run(data))
    assert len(calls) == 2


@pytest.mark.parametrize("tokens", [3, 256, 512])
def test_readings_within_the_limit(data: spec.Dataset, encoder: spec.Pretrained, tokens: int) -> None:
    checks.check(run(data, model=encoder, longdoc=spec.LongDoc(strategy="head", max_tokens=tokens)))


def test_readings_above_the_limit(data: spec.Dataset, encoder: spec.Pretrained) -> None:
    with pytest.raises(NotApplicable) as raised:
        checks.check(run(data, model=encoder, longdoc=spec.LongDoc(strategy="head", max_tokens=1024)))
    assert str(raised.value) == (
        "longdoc.max_tokens=1024 is above the 512 tokens that encoder can read: use longdoc=head with longdoc.max_tokens=512 or less, "
        "or longdoc=windows for whole documents"
    )
    with pytest.raises(
        NotApplicable, match=r"^longdoc=full reads documents of any length, but encoder reads 512 tokens at most: use longdoc=head"
    ):
        checks.check(run(data, model=encoder))


def test_relative_positions_have_no_limit(data: spec.Dataset, encoder: spec.Pretrained) -> None:
    (Path(encoder.checkpoint) / "config.json").write_text('{"model_type": "t5"}')
    checks.check(run(data, model=encoder))


def test_a_checkpoint_that_is_gone(data: spec.Dataset, encoder: spec.Pretrained) -> None:
    (Path(encoder.checkpoint) / "config.json").unlink()
    with pytest.raises(DataError, match=r"^model.checkpoint=checkpoint has no readable config.json"):
        checks.check(run(data, model=encoder))


def test_special_tokens_that_leave_a_window_nothing_new(
    data: spec.Dataset, encoder: spec.Pretrained, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Three:
        prefix, suffix = (1, 2), (3,)

        def __init__(self, folder: Path) -> None: ...

    monkeypatch.setattr(checks, "CheckpointTokeniser", Three)

    def windows(overlap: int) -> spec.LongDoc:
        return spec.LongDoc(
            strategy="windows", max_tokens=None, window_tokens=16, overlap_tokens=overlap, pool="mean_logits", trained_windows=1
        )

    checks.check(run(data, model=encoder, longdoc=windows(12)))
    with pytest.raises(
        NotApplicable, match=r"^longdoc\.overlap_tokens=13 leaves a window .+ 3 special tokens of encoder: set it below 13$"
    ):
        checks.check(run(data, model=encoder, longdoc=windows(13)))
