"""Answers come back from disk as they were, and are never half there."""

import dataclasses
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from answered import RICH, stored
from bakeoff.claims import stored as kept
from bakeoff.claims.claim import Answer, Interval
from bakeoff.errors import DataError

numbers = some.floats(allow_nan=False)
texts = some.text(alphabet=some.characters(exclude_categories=["Cs"]), max_size=20)
cells = some.one_of(texts, numbers, some.integers(-(2**53), 2**53), some.booleans(), some.none())
made = some.builds(
    Answer,
    verdict=some.sampled_from(["holds", "does not hold", "inconclusive", "cannot be tested here"]),
    figure=some.none() | numbers,
    unit=texts,
    interval=some.none() | some.builds(Interval, low=numbers, high=numbers),
    seen=texts,
    dataset=some.none() | texts,
    rows=some.lists(some.dictionaries(texts, cells, max_size=3), max_size=3).map(tuple),
    run_ids=some.lists(texts, max_size=3).map(tuple),
    detectable=some.none() | numbers,
    notes=some.lists(texts, max_size=2).map(tuple),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made)
def test_any_answer_comes_back_as_it_was(answer: Answer) -> None:
    written = stored(answer=answer)
    assert kept.from_json(written.to_json()) == written
    assert kept.from_json(written.to_json()).to_json() == written.to_json()


def test_pictures_and_what_is_not_finite_come_back(tmp_path: Path) -> None:
    written = stored()
    path = kept.write(tmp_path / "claims", written)
    assert path == tmp_path / "claims" / "quadratic.json"
    again = kept.read(tmp_path / "claims", "quadratic")
    assert again is not None
    assert again.to_json() == written.to_json()
    assert again.answer.interval == Interval(low=0.5, high=math.inf)
    assert again.answer.pictures[1] == RICH.pictures[1]
    assert math.isnan(again.answer.pictures[0].series[1].y[1])  # type: ignore[union-attr]
    json.loads(path.read_text(), parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))


def test_numbers_of_numpy_are_kept() -> None:
    answer = dataclasses.replace(
        RICH, pictures=(), figure=np.float64(1.5), rows=({"n": np.int64(3), "x": np.float32(0.5), "b": np.bool_(True)},)
    )
    again = kept.from_json(stored(answer=answer).to_json()).answer
    assert (again.figure, dict(again.rows[0])) == (1.5, {"n": 3, "x": 0.5, "b": True})
    assert again.rows[0]["b"] is True


def test_an_earlier_answer_is_set_aside(tmp_path: Path) -> None:
    kept.write(tmp_path, stored(seconds=1.0))
    kept.write(tmp_path, stored(seconds=2.0))
    (old,) = (tmp_path / ".old").iterdir()
    assert kept.from_json(old.read_text()).seconds == 1.0
    again = kept.read(tmp_path, "quadratic")
    assert again is not None
    assert again.seconds == 2.0


def test_a_crash_leaves_the_earlier_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.write(tmp_path, stored(seconds=1.0))
    rename = os.replace

    def crash(source: str, target: str) -> None:
        if Path(target).name == "quadratic.json":
            raise OSError("no more")
        rename(source, target)

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="no more"):
        kept.write(tmp_path, stored(seconds=2.0))
    again = kept.read(tmp_path, "quadratic")
    assert again is not None
    assert again.seconds == 1.0
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["quadratic.json"]


def test_an_answer_of_the_first_version_is_read(tmp_path: Path) -> None:
    plain = json.loads(stored("needle").to_json()) | {"schema_version": 1}
    for later in ("how", "settings", "sweeps", "recorded"):
        del plain[later]
    (tmp_path / "needle.json").write_text(json.dumps(plain))
    found = kept.read(tmp_path, "needle")
    assert found is not None
    assert found.to_json() == stored("needle").to_json()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema_version": 2}', '{"schema_version": 3}', '{"schema_version": 1, "answer": {}}', "null"]
)
def test_a_file_that_is_no_answer_is_told(tmp_path: Path, text: str) -> None:
    assert kept.read(tmp_path, "needle") is None
    (tmp_path / "needle.json").write_text(text)
    with pytest.raises(DataError, match=r"needle\.json holds no answer of a claim that can be read: measure needle again$"):
        kept.read(tmp_path, "needle")
