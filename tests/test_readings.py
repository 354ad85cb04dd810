"""Which readings exist, how each is named, and why one is refused: alone, with a model, with a checkpoint."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bakery
import factories
import served
from bakeoff import spec
from bakeoff.data import checks
from bakeoff.errors import NotApplicable
from bakeoff.probes.engines import build_pipeline
from bakeoff.readings import LongDoc

WINDOWS: dict[str, Any] = {
    "strategy": "windows", "max_tokens": None, "window_tokens": 256, "overlap_tokens": 64, "pool": "mean_logits", "trained_windows": 8,
}  # fmt: skip
EXTENDED: dict[str, Any] = {"strategy": "extended", "max_tokens": 4096, "attention_window": 256}
SELECT: dict[str, Any] = {"strategy": "select", "max_tokens": 256, "rank": "textrank"}


def exactly(sentence: str) -> str:
    return f"^{re.escape(sentence)}$"


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"strategy": "full", "max_tokens": None}, "full"),
        ({"strategy": "tail", "max_tokens": 256}, "tail-256"),
        ({"strategy": "head_tail", "max_tokens": 256, "head_share": 0.5}, "head_tail-256"),
        ({"strategy": "head_tail", "max_tokens": 256, "head_share": 0.25}, "head_tail-256-0.25"),
        (SELECT, "select-textrank-256"),
        (EXTENDED, "extended-256-4096"),
        (WINDOWS, "windows-256-64 mean_logits"),
        (WINDOWS | {"max_tokens": 2048}, "windows-256-64 mean_logits of 2048"),
    ],
)
def test_labels(fields: dict[str, Any], label: str) -> None:
    assert LongDoc(**fields).label == label


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"strategy": "tail", "max_tokens": None}, "longdoc.max_tokens is missing: longdoc=tail needs it"),
        ({"strategy": "full", "max_tokens": 9}, "longdoc.max_tokens=9 needs longdoc=head: full reads the whole document"),
        ({"strategy": "select", "max_tokens": 9}, "longdoc.rank is missing: longdoc=select needs it"),
        (SELECT | {"head_share": 0.5}, "longdoc.head_share=0.5 means nothing to longdoc=select: it is for head_tail"),
        (
            {"strategy": "head_tail", "max_tokens": 9, "head_share": 1.0},
            "longdoc.head_share=1.0 should be between 0 and 1: use longdoc=head or longdoc=tail",
        ),
        (EXTENDED | {"attention_window": 7}, "longdoc.attention_window=7 should be an even number of at least 2"),
        (WINDOWS | {"trained_windows": 0}, "longdoc.trained_windows=0 should be at least 1"),
        (WINDOWS | {"window_tokens": 2}, "longdoc.window_tokens=2 should be at least 3 (one token between two special ones)"),
    ],
)
def test_a_reading_that_means_nothing(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=exactly(sentence)):
        LongDoc(**fields)


@pytest.mark.parametrize("overlap", [8, 9, 10, -1])
def test_an_overlap_that_leaves_a_window_nothing_new(overlap: int) -> None:
    """Pitfall 15: of a window of 10, two are special tokens."""
    sentence = (
        f"longdoc.overlap_tokens={overlap} should be from 0 to 7, so that each window of longdoc.window_tokens=10 reads on beside two "
        "special tokens"
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        LongDoc(**WINDOWS | {"window_tokens": 10, "overlap_tokens": overlap})


@pytest.mark.parametrize("overlap", [0, 7])
def test_an_overlap_that_leaves_it_something(overlap: int) -> None:
    assert LongDoc(**WINDOWS | {"window_tokens": 10, "overlap_tokens": overlap}).overlap_tokens == overlap


# With a model.


def asked(model: str, reading: dict[str, Any], **changes: Any) -> spec.Run:
    run = factories.make_latency_run(model=model) if isinstance(changes.get("probe"), dict) else factories.make_run(model=model)
    if isinstance(own := changes.pop("probe", None), dict):
        changes["probe"] = dataclasses.replace(run.probe, **own)
    elif own is not None:
        changes["probe"] = own
    return dataclasses.replace(run, longdoc=LongDoc(**reading), **changes)


MEAN = WINDOWS | {"pool": "mean_embeddings"}
PAIR = {"dataset": factories.make_dataset(text_pair="other")}
NO_WINDOW = "which has no window to read past: set longdoc=full"
AS_IT_IS = "which answers in one go and as it is: set longdoc=head, or another cut"


@pytest.mark.parametrize("reading", [WINDOWS, EXTENDED], ids=["windows", "extended"])
@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("tfidf", f"means nothing to tfidf, {NO_WINDOW}"),
        ("majority", f"means nothing to majority, {NO_WINDOW}"),
        ("predictions", "means nothing to rules, whose answers stand in a file: set longdoc=full"),
        ("zero_shot", f"is not for zero_shot, {AS_IT_IS}"),
        ("off_the_shelf", f"is not for off_the_shelf, {AS_IT_IS}"),
    ],
)
def test_models_that_do_not_read_past_a_window(model: str, sentence: str, reading: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=exactly(f"longdoc={reading['strategy']} {sentence}")):
        asked(model, reading)


@pytest.mark.parametrize(
    ("model", "reading", "changes", "sentence"),
    [
        (
            "bilstm",
            EXTENDED,
            {},
            "longdoc=extended carries a pretrained encoder past its positions, which bilstm is not: use longdoc=windows",
        ),
        (
            "scratch",
            EXTENDED,
            {},
            "longdoc=extended carries a pretrained encoder past its positions, which scratch is not: use longdoc=windows",
        ),
        (
            "frozen",
            WINDOWS | {"pool": "lstm"},
            {},
            "longdoc.pool=lstm pools what a head that learns by steps makes of windows, but frozen fits its head to features: set "
            "longdoc.pool=mean_embeddings or longdoc.pool=max_embeddings",
        ),
        (
            "pretrained",
            {"strategy": "tail", "max_tokens": 256},
            PAIR,
            "longdoc=tail is for documents of one text, but dataset.text_pair=other asks about pairs: set longdoc=head or longdoc=full",
        ),
        (
            "bilstm",
            WINDOWS,
            PAIR,
            "longdoc=windows is for documents of one text, but dataset.text_pair=other asks about pairs: set longdoc=head or longdoc=full",
        ),
        (
            "scratch",
            SELECT,
            {"probe": spec.Pretrain(mask_fraction=0.15, training=factories.TRAINING, threads=1)},
            "probe=pretrain hides tokens of a running text, which longdoc=select does not leave whole: set longdoc=head",
        ),
        (
            "scratch",
            {"strategy": "head_tail", "max_tokens": 64, "head_share": 0.5},
            {"probe": spec.Pretrain(mask_fraction=0.15, training=factories.TRAINING, threads=1)},
            "probe=pretrain hides tokens of a running text, which longdoc=head_tail does not leave whole: set longdoc=head",
        ),
        (
            "bilstm",
            WINDOWS,
            {"probe": {"engine": "onnx"}},
            "probe.engine=onnx does not take documents apart, as longdoc=windows does: set probe.engine=eager",
        ),
    ],
)
def test_a_reading_that_goes_with_something_else(model: str, reading: dict[str, Any], changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=exactly(sentence)):
        asked(model, reading, **changes)


@pytest.mark.parametrize(
    ("model", "reading", "changes"),
    [
        *[(model, SELECT, {}) for model in ("tfidf", "bilstm", "scratch", "frozen", "zero_shot", "off_the_shelf", "pretrained")],
        *[(model, WINDOWS, {}) for model in ("bilstm", "scratch", "pretrained")],
        *[(model, EXTENDED, {}) for model in ("frozen", "pretrained")],
        ("frozen", MEAN, {}),
        ("frozen", MEAN | {"pool": "max_embeddings"}, {}),
        ("bilstm", WINDOWS, {"probe": {"engine": "eager"}}),
        ("bilstm", SELECT, {"probe": {"engine": "onnx"}}),
        ("pretrained", {"strategy": "head", "max_tokens": 256}, PAIR),
    ],
)
def test_a_reading_that_a_model_can_use(model: str, reading: dict[str, Any], changes: dict[str, Any]) -> None:
    assert asked(model, reading, **changes).longdoc == LongDoc(**reading)


def student(reading: dict[str, Any], teacher: LongDoc, *, hidden_weight: float, checkpoint: str = "c") -> spec.Run:
    run = factories.make_run(model="pretrained")
    how = spec.Distillation(temperature=1.0, soft_weight=1.0, hard_weight=0.0, hidden_weight=hidden_weight, transfer_epochs=1)
    model = dataclasses.replace(run.model, teacher="pretrained", distillation=how, checkpoint_fingerprint=checkpoint * 64)
    return dataclasses.replace(run, longdoc=LongDoc(**reading), model=model, teacher=dataclasses.replace(run, longdoc=teacher))


def test_layers_of_windows_are_not_compared_token_by_token() -> None:
    sentence = "model.distillation.hidden_weight=1 compares layers token by token, which longdoc=windows reads apart: set it to 0"
    for ours, theirs in ((WINDOWS, factories.HEAD), (dataclasses.asdict(factories.HEAD), LongDoc(**WINDOWS))):
        with pytest.raises(ValueError, match=exactly(sentence)):
            student(ours, theirs, hidden_weight=1.0)
        assert student(ours, theirs, hidden_weight=0.0).needs


def test_an_encoder_that_is_carried_past_its_positions_starts_from_no_other() -> None:
    sentence = (
        "model.teacher=pretrained reads head-256 and pretrained reads extended-256-4096, which gives them other positions: leave "
        "model.teacher out, or read both with longdoc=windows"
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        student(EXTENDED, factories.HEAD, hidden_weight=0.0)
    assert student(EXTENDED, LongDoc(**EXTENDED), hidden_weight=0.0).needs
    assert student(EXTENDED, factories.HEAD, hidden_weight=0.0, checkpoint="d").needs  # whose answers alone are taught


# With a checkpoint.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toy encoder that reads 64 tokens."""
    monkeypatch.setattr(checks, "_prepared", lambda dataset: served.prepared())
    monkeypatch.setattr(checks, "_folders", {})
    return bakery.checkpoint(tmp_path / "toy")


def refused(kind: str, folder: Path, reading: dict[str, Any]) -> str | None:
    model: Any = dataclasses.replace(factories.MODELS[kind], checkpoint=str(folder), checkpoint_fingerprint="0")  # type: ignore[arg-type]
    run = dataclasses.replace(factories.make_run(model=model, labels=40), longdoc=LongDoc(**reading))
    try:
        checks.check(run)
    except NotApplicable as reason:
        return str(reason)
    return None


@pytest.mark.parametrize("kind", ["pretrained", "frozen"])
def test_a_window_has_a_limit_and_its_document_has_none(folder: Path, kind: str) -> None:
    """Pitfall 14."""
    small = MEAN | {"window_tokens": 64, "overlap_tokens": 8}
    assert refused(kind, folder, small) is None
    assert refused(kind, folder, small | {"max_tokens": 5000}) is None
    assert refused(kind, folder, small | {"window_tokens": 65}) == (
        f"longdoc.window_tokens=65 is above the 64 tokens that {kind} can read: set longdoc.window_tokens=64 or less"
    )


def test_a_limit_that_is_too_high_names_what_reads_whole_documents(folder: Path) -> None:
    for kind, windows in (("pretrained", "windows"), ("frozen", "windows_mean_embeddings")):
        advice = f"use longdoc=head with longdoc.max_tokens=64 or less, or longdoc={windows} for whole documents"
        assert refused(kind, folder, {"strategy": "tail", "max_tokens": 65}) == (
            f"longdoc.max_tokens=65 is above the 64 tokens that {kind} can read: {advice}"
        )
        assert refused(kind, folder, {"strategy": "full", "max_tokens": None}) == (
            f"longdoc=full reads documents of any length, but {kind} reads 64 tokens at most: {advice}"
        )


def test_an_encoder_is_extended_where_its_family_can_be(folder: Path) -> None:
    assert refused("pretrained", folder, EXTENDED) is None
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "albert"}))
    sentence = refused("pretrained", folder, EXTENDED)
    assert sentence is not None
    assert sentence.startswith("longdoc=extended carries ")
    assert "albert" in sentence


def test_learned_positions_of_a_model_from_scratch(folder: Path) -> None:
    table = dataclasses.replace(factories.MODELS["scratch"], positions="learned", max_positions=64)  # type: ignore[arg-type]
    run = factories.make_run(model=table, labels=40)  # type: ignore[arg-type]
    small = LongDoc(**WINDOWS | {"window_tokens": 64, "overlap_tokens": 8})
    checks.check(dataclasses.replace(run, longdoc=small))
    with pytest.raises(NotApplicable) as raised:
        checks.check(dataclasses.replace(run, longdoc=dataclasses.replace(small, window_tokens=65)))
    assert str(raised.value) == (
        "longdoc.window_tokens=65 is above the model.max_positions=64 of scratch: raise that, or set longdoc.window_tokens=64 or less"
    )
    with pytest.raises(NotApplicable, match=r"^longdoc=full may read more than the model.max_positions=64 of scratch: raise that, use"):
        checks.check(run)


# From the configuration to the record.


def long_table(folder: Path) -> list[str]:
    """Documents of 18 sentences, 190 words and marks, of which the last holds the word that tells the class."""
    pool, test = (
        [
            (
                ". ".join([*(text.replace("good", "odd").replace("bad", "odd") for text, _ in bakery.rows(18, seed=seed)), f"{cue} " * 10]),
                cue,
            )
            for seed, cue in ((1000 * of + i, ("good", "bad")[i % 2]) for i in range(count))
        ]
        for of, count in ((1, 40), (2, 20))
    )
    return bakery.on_table(bakery.write_csv(folder / "pool.csv", pool), bakery.write_csv(folder / "test.csv", test))


def test_tfidf_sees_the_words_that_its_reading_keeps_and_no_others(tmp_path: Path) -> None:
    """The mark of the class is at the end of each document, and weighs most in it."""
    asked = [*long_table(tmp_path), *bakery.TINY["tfidf"], "model.ngram_max=1", "longdoc.max_tokens=20"]
    found = {}
    for name in ("head", "tail", "head_tail", "middle", "select", "select_textrank"):
        record = bakery.bake(bakery.compose(*asked, f"longdoc={name}")).record
        assert record.quality is not None
        assert record.data.truncated_fraction == 1.0
        assert [finding.message for finding in record.data.audit if finding.code == "truncated"] == [
            "20 of 20 documents (100.0%) are longer than 20 tokens"
        ]
        found[name] = record.quality["test"].accuracy
    assert {name for name, accuracy in found.items() if accuracy == 1.0} == {"tail", "head_tail", "select"}
    assert found["head"] <= 0.75


@pytest.mark.parametrize("kind", ["tfidf", "bilstm", "pretrained"])
@pytest.mark.parametrize("reading", [{"strategy": "tail", "max_tokens": 12}, SELECT | {"max_tokens": 12}], ids=["tail", "select"])
def test_what_is_served_reads_as_training_did(kind: str, reading: dict[str, Any], tmp_path: Path) -> None:
    run = served.make_run(kind, bakery.checkpoint(tmp_path / "toy"), default_longdoc=LongDoc(**reading))
    learned = served.trained(run, tmp_path / "model")
    pipeline = build_pipeline(run, served.prepared(), classes=served.CLASSES, weights_folder=tmp_path / "model")
    texts = served.prepared().test.texts
    assert np.abs(pipeline.probabilities(texts) - learned.test).max() < 1e-6
    assert pipeline.lengths_tokens(texts).tolist() == learned.lengths_tokens.tolist()
    assert learned.read_tokens is not None
    assert learned.read_tokens.tolist() == np.minimum(learned.lengths_tokens, 12).tolist()
    assert learned.truncated.any()
