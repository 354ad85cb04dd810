"""`decide --against`: how a file that has grown is split as last month, and the section that tells what changed."""

import dataclasses
import sys
from collections.abc import Sequence

from bakeoff.commands.decide_field import Field
from bakeoff.data import newest
from bakeoff.data.dataset import prepare
from bakeoff.deciding.against import Comparison, Scored
from bakeoff.deciding.drift import Changes, Pair
from bakeoff.deciding.old_report import DECISION, OldReport, read_old
from bakeoff.errors import DataError
from bakeoff.report.stats import Estimate
from bakeoff.spec import Dataset
from bakeoff.store import Store

DEFAULT_SHARE = 0.2
MOST_CLASSES = 10
"""Classes whose shares are listed: those that changed most."""


def pinned(dataset: Dataset) -> dict[str, str]:
    """Settings by which the cut of a split by time stays where it is when rows are appended; empty for other splits."""
    return _settings(prepare(dataset).newest_from or ())


def grown(old: OldReport, dataset: Dataset) -> dict[str, str]:
    """Settings by which the grown file `dataset` is split as last month; empty but for a split by time.

    What is newer than all old rows is divided anew, so that the pool grows too. Raises DataError for a file without any of
    last month's test rows.
    """
    before, cuts, there = old.dataset.newest_from, tuple[str, ...](), dataset
    if before is not None and dataset.time is not None:
        cuts = newest.grown_from(dataset, before, dataset.newest_share or DEFAULT_SHARE)
        there = dataclasses.replace(dataset, newest_from=cuts, newest_share=None)
    if old.test_row_ids.isdisjoint(prepare(there).test.row_ids):
        raise DataError(f"{dataset.name} has none of last month's test rows: give the file that has grown, or leave out --against")
    return _settings(cuts)


def _settings(cuts: Sequence[str]) -> dict[str, str]:
    if not cuts:
        return {}
    listed = ",".join(f"'{text}'" for text in cuts)
    return {"dataset.newest_from": f"[{listed}]", "dataset.newest_share": "null"}


def beside(field: Field, dataset: Dataset, store: Store) -> None:
    """Give the page a folder of its own where the one that it would be in holds a decision on other rows, such as last month's."""
    if not (field.folder / DECISION).exists():
        return
    try:
        is_same = read_old(field.folder, store).dataset.fingerprint == dataset.fingerprint
    except DataError:
        is_same = False
    if not is_same:
        kept, field.name = field.folder, f"{field.name}-{dataset.fingerprint[:8]}"
        field.folder = kept.with_name(field.name)
        print(f"{kept} holds an earlier decision and stays: the page is in {field.folder}", file=sys.stderr)


def render(found: Comparison) -> str:
    """The section of the page, in Markdown: the verdict, scores on old and new test rows, what changed."""
    name = "accuracy" if found.metric == "accuracy" else "macro-F1"
    lines = [f"## {found.verdict.capitalize()}", "", found.reason, ""]
    lines += [
        f"| retrained on the grown file | {name} on old test rows | on new test rows | behind the winner on both |",
        "|---|---|---|---|",
    ]
    lines += [_row(each) for each in (found.winner, *found.rivals)]
    return "\n".join([*lines, "", *_changes(found.changes, name)]) + "\n"


def _row(each: Scored) -> str:
    behind = "—" if each.behind is None else _points(each.behind)
    return f"| {each.name} | {_percent(each.old_rows)} | {_percent(each.new_rows)} | {behind} |"


def _changes(found: Changes, name: str) -> list[str]:
    gone = f"; {found.n_gone:,} old ones are gone from the file" if found.n_gone else ""
    lines = [f"{found.n_old:,} old and {found.n_new:,} new test rows{gone}."]
    if found.score is not None:
        then = " as it was last month" if found.since_then else ""
        lines += ["", f"The winner's {name} on new rows minus on old rows{then}: {_points(found.score)} points."]
    lengths = [f"{key} {_number(pair.old)} → {_number(pair.new)}" for key, pair in found.length_tokens.items()]
    if lengths and found.n_new:
        lines += ["", f"Length in tokens, old → new: {', '.join(lengths)}."]
    if found.mix_p_value is not None:
        moved = "differs" if found.mix_p_value < 0.05 else "does not differ for sure"
        lines += ["", f"The class mix {moved} between old and new rows (chi-square test, p = {found.mix_p_value:.2g}).", ""]
        lines += ["| class | old rows | new rows |", "|---|---|---|"]
        widest = sorted(found.shares.items(), key=lambda item: -_moved(item[1]))[:MOST_CLASSES]
        lines += [f"| {each} | {pair.old or 0:.1%} | {pair.new or 0:.1%} |" for each, pair in widest]
    return lines


def _moved(pair: Pair) -> float:
    return round(abs((pair.new or 0.0) - (pair.old or 0.0)), 9)  # so that ties stay in the order of classes


def _percent(estimate: Estimate | None) -> str:
    return "—" if estimate is None else f"{100 * estimate.mean:.1f}% ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def _points(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:+.1f} ({100 * estimate.low:+.1f} to {100 * estimate.high:+.1f})"


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:,.0f}"
