"""Claims and their answers on the terminal: a line each, all of one, or JSON."""

import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.claims import registry
from bakeoff.claims.claim import Claim, Size
from bakeoff.claims.stored import Stored
from bakeoff.report import claims_words, words
from bakeoff.runner.live import duration

MOST_ROWS = 40
"""Of a claim's table; the page has them all."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What came of a claim: its answer, or in one sentence why it could not be measured."""

    claim: Claim
    stored: Stored | None
    error: str | None = None


def overview(listed: Sequence[Told], size: Size) -> str:
    """A line a claim: its kind, how long it takes in this form, the last verdict and the statement."""
    rows = [("claim", "kind", f"time ({size})", "last verdict", "statement")]
    for each in listed:
        claim, last = each.claim, each.stored
        takes = about(claim.seconds[size]).removeprefix("about ") if size in claim.seconds else f"no {size} form"
        rows.append((claim.name, claim.kind, takes, "–" if last is None else _verdict(last, size), claim.statement))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows]
    if sys.stdout.isatty():
        columns = shutil.get_terminal_size().columns
        lines = [line if len(line) <= columns else line[: columns - 1] + "…" for line in lines]
    return "\n".join(lines)


def as_text(told: Told) -> str:
    """What a claim came to, for a terminal."""
    claim, stored = told.claim, told.stored
    if stored is None:
        return f"{claim.name}: could not be measured\n  {claim.statement}\n  {told.error}\n"
    answer = stored.answer
    lines = [
        ("statement", stored.statement),
        ("rule", stored.rule),
        ("figure", claims_words.figure(answer)),
        ("interval", claims_words.interval(answer)),
        ("could see", claims_words.detectable(answer) or ""),
        ("seen", answer.seen),
        ("data", answer.dataset or ""),
        ("measured", claims_words.where(stored)),
        ("code", claims_words.code(stored)),
        ("runs", str(len(answer.run_ids)) if answer.run_ids else ""),
        *(("note", note) for note in answer.notes),
    ]
    text = [f"{stored.name}: {answer.verdict}", *(f"  {head:<10}{value}" for head, value in lines if value)]
    return "\n".join([*text, *_table(answer.rows), ""])


def as_json(told: Sequence[Told]) -> str:
    """A list of objects, one a claim; a bound that is not finite is null."""
    return json.dumps([_object(each) for each in told], indent=2, ensure_ascii=False, allow_nan=False)


def how_long(chosen: Sequence[Claim], size: Size) -> str:
    """How long claims take that are about to be measured."""
    asked = [claim for claim in chosen if size in claim.seconds]
    without, takes = len(chosen) - len(asked), about(registry.seconds_together(asked, size))
    said = f"{words.count(len(asked), 'claim')} in {size} form, {takes} from nothing; what is recorded is not baked again"
    return said + (f"; {without} {'has' if without == 1 else 'have'} no such form" if without else "")


def about(seconds: float) -> str:
    """`under 1 s`, `about 40 s`, `about 12 min`."""
    return "under 1 s" if seconds < 1 else f"about {duration(seconds)}"


def _object(told: Told) -> dict[str, Any]:
    claim, stored = told.claim, told.stored
    plain: dict[str, Any] = {
        "name": claim.name,
        "statement": claim.statement,
        "kind": claim.kind,
        "rule": claim.rule,
        "seconds_expected": dict(claim.seconds),
        **dict.fromkeys(("verdict", "figure", "unit", "interval", "detectable", "seen", "dataset", "machine", "run_ids", "rows", "notes")),
        **dict.fromkeys(("size", "measured_at", "seconds", "commit", "dirty")),
        "error": told.error,
    }
    if stored is None:
        return plain | {"run_ids": []}
    own = json.loads(stored.to_json())
    answer = own.pop("answer")
    kept = {key: value for key, value in (own | answer).items() if key in plain}
    return plain | {key: _finite(value) for key, value in kept.items()}


def _finite(value: Any) -> Any:
    """Plain JSON, null for what is not finite."""
    if isinstance(value, dict):
        return None if value.keys() == {"number"} and not isinstance(value["number"], float) else {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _verdict(stored: Stored, size: Size) -> str:
    marks = [*([stored.size] if stored.size != size else []), *(["uncommitted code"] if stored.dirty else [])]
    return stored.answer.verdict + (f" ({', '.join(marks)})" if marks else "")


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return []
    heads = list(rows[0])
    cells = [heads, *([claims_words.number(row.get(head)) for head in heads] for row in rows[:MOST_ROWS])]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return [*lines, *([f"  … and {len(rows) - MOST_ROWS} more rows on the page"] if len(rows) > MOST_ROWS else [])]
