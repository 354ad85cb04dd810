"""The claim about tokenisers, on made answers; and a checkpoint under other ids."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import text_bench

import bakery
import factories
from bakeoff import record as records
from bakeoff import spec
from bakeoff.claims import other_ids
from bakeoff.claims.claim import Baked, NotMeasured
from bakeoff.claims.learning import tokeniser
from bakeoff.data import checkpoint
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.errors import DataError
from bakeoff.store import Store

ROWS = 400
TEXTS = [f"Good, no. {chr(97 + i % 26)}{i}!" for i in range(ROWS)]
PIECES = ("good", "no", *"abcdefghijklmnopqrstuvwxyz", *(f"##{i}" for i in range(10)), ",", ".", "!")
SIGNS = {"strip_punctuation": "stripped_punctuation", "split_characters": "split_characters", "other ids": "foreign_vocabulary"}
LOST = {"none": 0, "strip_punctuation": 8, "split_characters": 2, "other ids": 4}
"""Every how-manieth row is wrong; none at 0."""


class Bench(text_bench.TextBench):
    """Runs by what they were given."""

    def bake(self, sweep: str, *overrides: str, keep_weights: bool = False) -> tuple[Baked, ...]:
        self.asked.append(" ".join((sweep, *(each for each in overrides if not each.startswith("model.checkpoint")))))
        chosen = dict(each.split("=", 1) for each in overrides)
        given = chosen.get("dataset.rewrite", "none,strip_punctuation,split_characters").split(",")
        seeds = [int(seed) for seed in chosen.get("seed", "0,1,2,3,4").split(",")]
        name = chosen.get("model.name", "pretrained")
        if name != "pretrained":
            assert Path(chosen["model.checkpoint"].strip("'")).is_dir()
        return tuple(self._baked(run_of(rewrite, seed, name)) for rewrite in given for seed in seeds)


def run_of(rewrite: str, seed: int, name: str) -> spec.Run:
    model = dataclasses.replace(factories.encoder(name, layers=6), checkpoint_fingerprint=name)  # type: ignore[type-var]
    return factories.make_run(model=model, labels=1000, seed=seed, dataset=factories.make_dataset(rewrite=rewrite))


def given(run: spec.Run) -> str:
    return "other ids" if run.model.name == "pretrained_other_ids" else run.dataset.rewrite


def bench(folder: Path, *, lost: dict[str, int] = LOST, told: Sequence[str] = tuple(SIGNS), alarm: bool = False, **changes: Any) -> Bench:
    def right(run: spec.Run, text: str) -> bool:
        every = lost[given(run)]
        return not every or TEXTS.index(text) % every > 0

    runs = [
        run_of(rewrite, seed, name)
        for rewrite, name in (
            ("none", "pretrained"),
            ("strip_punctuation", "pretrained"),
            ("split_characters", "pretrained"),
            ("none", "pretrained_other_ids"),
        )
        for seed in range(5)
    ]
    findings = {
        run.run_id: tuple(
            records.Finding(code=code, count=1, message="")
            for what, code in SIGNS.items()
            if (what == given(run) and what in told) or (alarm and given(run) == "none")
        )
        for run in runs
    }
    return Bench(store=Store(folder), cells={}, test_texts=TEXTS, right=right, findings=findings, **changes)


@pytest.fixture(autouse=True)
def _starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A toy stands in for the starter checkpoint."""
    folder = bakery.checkpoint(tmp_path / "toy", words=PIECES)
    monkeypatch.setattr(checkpoint, "resolve", lambda name, revision: folder)


def test_it_holds_where_all_lose_and_the_audit_tells(tmp_path: Path) -> None:
    answer = tokeniser.CLAIM.measure(bench(tmp_path / "runs"))
    assert answer.verdict == "holds"
    assert answer.figure == pytest.approx(12.5)
    assert answer.interval is not None
    assert 0 < answer.interval.low < 12.5 < answer.interval.high
    assert [(row["given"], row["accuracy, %"], row["lost, points"], row["the audit tells"]) for row in answer.rows] == [
        ("raw", 100.0, None, "no sign"),
        ("punctuation stripped", 87.5, 12.5, "stripped_punctuation"),
        ("characters split", 50.0, 50.0, "split_characters"),
        ("another checkpoint's ids", 75.0, 25.0, "foreign_vocabulary"),
        ("lower-cased", 100.0, 0.0, "no sign"),
    ]
    assert answer.notes[0].startswith("400 of 400 lower-cased test texts have exactly the ids of the raw ones")
    assert len(answer.run_ids) == 20


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"told": ("strip_punctuation", "split_characters")}, "does not hold"),
        ({"alarm": True}, "does not hold"),
        ({"lost": LOST | {"strip_punctuation": 0, "none": 8}}, "does not hold"),
        ({"lost": LOST | {"strip_punctuation": 200}}, "inconclusive"),
    ],
)
def test_it_does_not_hold(tmp_path: Path, changes: dict[str, Any], verdict: str) -> None:
    answer = tokeniser.CLAIM.measure(bench(tmp_path / "runs", **changes))
    assert answer.verdict == verdict
    assert answer.detectable is not None


def test_an_alarm_about_one_raw_run_is_a_false_alarm(tmp_path: Path) -> None:
    made = bench(tmp_path / "runs", alarm=True)
    raw = [run_of("none", seed, "pretrained").run_id for seed in range(1, 5)]
    answer = tokeniser.CLAIM.measure(dataclasses.replace(made, findings=dict(made.findings) | dict.fromkeys(raw, ())))
    assert answer.verdict == "does not hold"
    assert answer.rows[0]["the audit tells"] == "a false alarm"
    assert answer.notes[-1] == "No Run failed or diverged: but for the audit, the loss is silent."


def test_the_small_form(tmp_path: Path) -> None:
    small = bench(tmp_path / "runs", size="small")
    answer = tokeniser.CLAIM.measure(small)
    assert small.asked == [
        "tokeniser budget.labels=300",
        "tokeniser dataset.rewrite=none model.name=pretrained_other_ids budget.labels=300",
    ]
    assert [row["draws"] for row in answer.rows] == [5, 5, 5, 5, 5]


def test_without_the_starter_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str, revision: str | None) -> Path:
        raise DataError("pip failed")

    monkeypatch.setattr(checkpoint, "resolve", gone)
    with pytest.raises(NotMeasured, match=r"^pip failed$"):
        tokeniser.CLAIM.measure(bench(tmp_path / "runs"))


def test_other_ids_break_texts_alike_and_number_them_otherwise(tmp_path: Path) -> None:
    source = tmp_path / "toy"
    folder = other_ids.make(source, tmp_path / "other" / "ids")
    stored = (folder / "tokenizer.json").read_bytes()
    assert other_ids.make(source, folder) == folder
    assert (folder / "tokenizer.json").read_bytes() == stored
    assert other_ids.make(source, tmp_path / "again").joinpath("tokenizer.json").read_bytes() == stored  # so that Runs keep their ids
    assert (folder / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
    own, other = CheckpointTokeniser(source), CheckpointTokeniser(folder)
    (a,), (b,) = own.encode_now(["Good, no. b12!"]), other.encode_now(["Good, no. b12!"])
    assert a.tolist() != b.tolist()
    names = [{number: piece for piece, number in each.pieces.items()} for each in (own, other)]
    assert [names[0][i] for i in a.tolist()] == [names[1][i] for i in b.tolist()]
    assert (own.prefix, own.suffix, own.pad_id) == (other.prefix, other.suffix, other.pad_id)
    assert sorted(own.pieces.values()) == sorted(other.pieces.values())


def test_a_tokeniser_without_a_vocabulary_of_pieces(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "tokenizer.json").write_text(json.dumps({"model": {"type": "Unigram", "vocab": [["a", 0.0]]}, "added_tokens": []}))
    with pytest.raises(DataError, match=r"^the tokeniser of odd has no vocabulary of word-pieces whose ids could be shuffled$"):
        other_ids.make(tmp_path / "odd", tmp_path / "made")
    assert not (tmp_path / "made").exists()
