"""An answer as it is kept: with its statement, where and when it was measured, and by which code; one JSON file a claim."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.claims.claim import Answer, Claim, Interval, Kind, Size
from bakeoff.claims.pictures import Heatmap, Lines, Picture, Series
from bakeoff.errors import DataError
from bakeoff.store import write_atomically

SCHEMA_VERSION, READABLE = 2, (1, 2)
"""Version 1 did not say how a claim was measured, on which rows, nor by which sweeps."""
FOLDER, OLD = "claims", ".old"


@dataclass(frozen=True, kw_only=True)
class Stored:
    """An Answer and what it answers; complete, so that a page needs neither the claim nor its Runs."""

    name: str
    statement: str
    kind: Kind
    rule: str
    how: str = ""
    """What is varied and what is measured."""
    settings: tuple[str, ...] = ()
    """What its Runs were given, a line a dataset and a way of timing."""
    sweeps: tuple[str, ...] = ()
    """The sweep files that it baked, each with its overrides."""
    recorded: int = 0
    """How many of its Runs were recorded before, so that `seconds` leaves them out."""
    size: Size
    machine: str
    """Where it was measured; several machines are joined by semicolons."""
    measured_at: str
    """ISO 8601 in UTC."""
    seconds: float
    """What this measurement took; less than from nothing where Runs were recorded."""
    commit: str | None
    """Of the code that judged; null outside a checkout."""
    dirty: bool
    """Whether that code, or the code of any of its Runs, was not committed as it was."""
    answer: Answer

    def to_json(self) -> str:
        """All of it as JSON; numbers that are not finite are written `{"number": "inf"}`."""
        plain = {"schema_version": SCHEMA_VERSION} | {
            field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self) if field.name != "answer"
        }
        return json.dumps(plain | {"answer": _plain(self.answer)}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def stored(
    claim: Claim,
    answer: Answer,
    *,
    size: Size,
    machine: str,
    measured_at: str,
    seconds: float,
    commit: str | None,
    dirty: bool,
    settings: tuple[str, ...] = (),
    sweeps: tuple[str, ...] = (),
    recorded: int = 0,
) -> Stored:
    """The answer of a claim, ready to be kept."""
    return Stored(
        name=claim.name,
        statement=claim.statement,
        kind=claim.kind,
        rule=claim.rule,
        how=claim.how,
        settings=settings,
        sweeps=sweeps,
        recorded=recorded,
        size=size,
        machine=machine,
        measured_at=measured_at,
        seconds=seconds,
        commit=commit,
        dirty=dirty,
        answer=answer,
    )


def from_json(text: str) -> Stored:
    """What `to_json` wrote. Raises ValueError, KeyError or TypeError for anything else."""
    plain = json.loads(text)
    if plain.pop("schema_version") not in READABLE:
        raise ValueError("it was written by another version of bakeoff")
    plain = _numbers(plain)
    answer = plain.pop("answer")
    interval, pictures = answer.pop("interval"), answer.pop("pictures")
    return Stored(
        **_tuples(plain),
        answer=Answer(
            **_tuples(answer),
            interval=None if interval is None else Interval(**interval),
            pictures=tuple(_picture(each) for each in pictures),
        ),
    )


def write(folder: Path, answer: Stored) -> Path:
    """Keep an answer as `folder/NAME.json`, whole or not at all; an earlier one goes to `.old/` and is never deleted."""
    path = folder / f"{answer.name}.json"
    if path.exists():
        write_atomically(folder / OLD / f"{answer.name}-{path.stat().st_mtime_ns}.json", path.read_text(encoding="utf-8"))
    write_atomically(path, answer.to_json())
    return path


def read(folder: Path, name: str) -> Stored | None:
    """The answer of a claim kept in `folder`; None where there is none. Raises DataError for a file that is no answer."""
    path = folder / f"{name}.json"
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{path.parent.name}/{path.name} holds no answer of a claim that can be read: measure {name} again") from None


def _plain(value: Any) -> Any:
    """Plain JSON values; NumPy's numbers become Python's."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"picture": type(value).__name__.lower()} | fields if isinstance(value, Picture) else fields
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def _numbers(plain: Any) -> Any:
    """JSON values with `{"number": "inf"}` as the number that it is."""
    if isinstance(plain, dict):
        if plain.keys() == {"number"} and plain["number"] in ("inf", "-inf", "nan"):
            return float(plain["number"])
        return {key: _numbers(value) for key, value in plain.items()}
    return [_numbers(value) for value in plain] if isinstance(plain, list) else plain


def _picture(plain: dict[str, Any]) -> Picture:
    kind = plain.pop("picture")
    if kind == "heatmap":
        values = tuple(tuple(row) for row in plain.pop("values"))
        return Heatmap(title=plain["title"], rows=tuple(plain["rows"]), columns=tuple(plain["columns"]), values=values)
    if kind != "lines":
        raise ValueError(f"{kind} is no picture")
    series = tuple(Series(**_tuples(each)) for each in plain.pop("series"))
    return Lines(**plain, series=series)


def _tuples(plain: dict[str, Any]) -> dict[str, Any]:
    """Fields of a dataclass that holds tuples, which JSON knows as lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()}
