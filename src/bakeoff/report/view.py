"""The page as texts, formatted once for both templates: tables of scores, and the data."""

from dataclasses import dataclass
from statistics import fmean

from bakeoff.report import words
from bakeoff.report.blocks import ABSENT
from bakeoff.report.frame import precision_of
from bakeoff.report.summary import Section, Standing, Table, on_test
from bakeoff.spec import FOLDS, Run


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One line of a budget's table, every cell as text."""

    model: str
    reading: str
    precision: str
    score: str
    interval: str
    to_best: str
    to_best_interval: str
    other: str
    rows: str
    seeds: str
    sd: str
    log_loss: str
    ece: str
    collapsed: str
    seconds: str
    role: str
    """best, baseline, or nothing."""
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How long a candidate found the test documents, in its own tokens, and how many it cut."""

    model: str
    reading: str
    median: str
    p95: str
    longest: str
    cut: str


def table_rows(section: Section, table: Table) -> list[TableRow]:
    """Best first, candidates without a score last, and the largest class in every table."""
    rows = [_row(section, table, standing) for standing in table.standings]
    if not any(standing.candidate.kind == "majority" and standing.records for standing in table.standings):
        scored = sum(standing.estimate is not None and standing.estimate.mean > table.baseline for standing in table.standings)
        rows.insert(scored, _baseline_row(section, table))
    return rows


def _row(section: Section, table: Table, standing: Standing) -> TableRow:
    estimate, gap = standing.estimate, standing.to_best
    is_best, by_design = standing is table.best, standing.candidate.kind == "majority"
    other = "macro_f1" if section.metric == "accuracy" else "accuracy"
    return TableRow(
        model=standing.candidate.name,
        reading=standing.candidate.run.longdoc.label,
        precision=precision_of(standing.candidate.run),
        score=words.percent(estimate.mean) if estimate else ABSENT,
        interval=words.span(estimate) if estimate else ABSENT,
        to_best="best" if is_best else words.points(gap.mean) if gap else ABSENT,
        to_best_interval=words.span_points(gap.low, gap.high) if gap else "",
        other=words.percent(standing.mean(other)) if estimate else ABSENT,
        rows=f"{estimate.rows:,}" if estimate else ABSENT,
        seeds=words.seeds(standing),
        sd=f"{100 * estimate.sd:.1f}" if estimate and estimate.sd is not None else ABSENT,
        log_loss=_probabilistic(standing, "log_loss"),
        ece=_probabilistic(standing, "ece"),
        collapsed="by design" if by_design else str(standing.collapsed) if estimate else ABSENT,
        seconds=f"{standing.train_seconds:,.1f}" if estimate and standing.candidate.kind != "predictions" else ABSENT,
        role="best" if is_best else "baseline" if by_design else "",
        runs=tuple(record.run_id for record in standing.records),
    )


def _probabilistic(standing: Standing, name: str) -> str:
    """The mean over seeds of what judges probabilities; a dash where answers came without any."""
    values = [getattr(on_test(record), name) for record in standing.records]
    return ABSENT if not values or None in values else f"{fmean(values):.3f}"


def _baseline_row(section: Section, table: Table) -> TableRow:
    other = table.baseline_macro_f1 if section.metric == "accuracy" else table.baseline_accuracy
    empty = dict.fromkeys(("reading", "precision", "interval", "to_best", "seeds", "sd", "log_loss", "ece", "seconds"), ABSENT)
    return TableRow(
        **empty,
        runs=(),
        model="largest class, not baked",
        score=words.percent(table.baseline),
        to_best_interval="",
        other=words.percent(other),
        rows=f"{section.n_test:,}",
        collapsed="by design",
        role="baseline",
    )


def facts(section: Section) -> str:
    """One line on what was scored and how."""
    some = section.records[0].data
    classes = f"{len(section.classes)} classes"
    if len(section.classes) <= 10:
        classes += f" ({', '.join(section.classes)})"
    sizes = f"{words.count(some.n_pool, 'row')} to draw labels from, {words.test_rows(section)} ({_split(section)})"
    scored = f"Scored by {words.METRIC_NAMES[section.metric]}, {section.metric_reason}."
    if section.dataset.group is not None and section.n_groups is None:
        scored += " These Runs were baked before groups were saved, so intervals take every row for a group of its own: too narrow."
    return f"{classes}; {sizes}. {scored} Data fingerprint {section.dataset.fingerprint[:12]}."


def _split(section: Section) -> str:
    dataset = section.dataset
    if dataset.split == "fold":
        return f"fold {dataset.fold} of those that the data brings" if dataset.brings_folds else f"fold {dataset.fold} of {FOLDS} by hash"
    if dataset.split == "newest":
        return f"the newest by {dataset.time}" + (f", from {dataset.newest_from[0]} on" if dataset.newest_from else "")
    return "the official test set" if dataset.split == "official" else "held out by hash"


def audit(section: Section) -> list[str]:
    """Each kind of finding once, in the Run where it is largest, and in how many Runs it stands."""
    seen: dict[str, list[tuple[int, str]]] = {}
    for record in section.records:
        for finding in record.data.audit:
            seen.setdefault(finding.code, []).append((finding.count, finding.message))
    lines = []
    for found in seen.values():
        worst, total = max(found, key=lambda item: item[0])[1], len(section.records)
        if len(set(found)) > 1:
            worst = f"{worst.rstrip('.')} (the most of any Run; {words.count(len(found), 'Run')} of {total} have some)"
        elif len(found) < total:
            worst = f"{worst.rstrip('.')} ({words.count(len(found), 'Run')} of {total})"
        lines.append(worst)
    return lines


def readings(section: Section) -> list[Reading]:
    """How the candidates that count tokens read the test documents."""
    found: dict[str, Reading] = {}
    for record in section.records:
        candidate, length = section.candidates[record.run_id], record.data.length_tokens
        if candidate.key in found or not length:
            continue
        cut = record.data.truncated_fraction
        found[candidate.key] = Reading(
            model=candidate.name,
            reading=candidate.run.longdoc.label,
            median=_tokens(length.get("p50")),
            p95=_tokens(length.get("p95")),
            longest=_tokens(length.get("max")),
            cut=ABSENT if cut is None else f"{100 * cut:.1f}%",
        )
    return list(found.values())


def contamination(section: Section, table: Table) -> str | None:
    """What changes without the test rows that have a near-duplicate in the pool; None where nothing does."""
    changed, left_out = [], 0
    for standing in table.scored:
        pairs = [
            (on_test(record), record.quality["test_uncontaminated"])
            for record in standing.records
            if "test_uncontaminated" in record.quality
        ]
        if len(pairs) < len(standing.records):
            continue
        with_them = sum(getattr(every, section.metric) for every, _ in pairs) / len(pairs)
        without = sum(getattr(clean, section.metric) for _, clean in pairs) / len(pairs)
        left_out = max(left_out, pairs[0][0].n - pairs[0][1].n)
        if words.percent(with_them) != words.percent(without):
            changed.append(f"{standing.candidate.label} {words.percent(without)}% instead of {words.percent(with_them)}%")
    if not changed:
        return None
    rows = words.count(left_out, "test row")
    return f"Without the {rows} that nearly repeat a pool row: {'; '.join(changed)}."


def unlabelled(section: Section) -> str:
    """Which candidates read unlabelled text, themselves or through a model that they are built from."""

    def reads(run: Run) -> bool:
        return any(each.budget.unlabelled != "none" for each in (run, *run.needs.values()))

    users = sorted({section.candidates[record.run_id].name for record in section.records if reads(record.run)})
    return f"{words.listing(users)} also read texts without labels." if users else "No model read unlabelled text."


def _tokens(value: float | None) -> str:
    return ABSENT if value is None else f"{value:,.0f}"
