"""The figure of a section: scores against labels, or at one budget."""

from bakeoff.report import equivalents, figures, words
from bakeoff.report.blocks import Figure
from bakeoff.report.equivalents import Equivalence, shown_in_figure
from bakeoff.report.summary import Section, Standing, Table


def section_figure(section: Section) -> Figure | None:
    """Curves where there are several budgets, dots for one; None where only the largest class was scored."""
    order = _order(section)
    lines = [line for key, place in order.items() if (line := _line(section, key, place)) is not None]
    if not lines:
        return None
    metric = words.METRIC_NAMES[section.metric]
    axis = f"{metric[0].upper()}{metric[1:]} on {words.test_rows(section)}, % (bars: 95% intervals)"
    baseline = figures.Baseline(
        labels=tuple(table.n_labels for table in section.tables), scores=tuple(100 * table.baseline for table in section.tables)
    )
    if len(section.tables) > 1:
        ticks = {table.n_labels: f"all {table.n_labels:,}" if table.labels == "all" else f"{table.n_labels:,}" for table in section.tables}
        shown = shown_in_figure(section)
        span = None if shown is None else _span(shown)
        svg = figures.curves(lines, baseline, ticks=ticks, axis=axis, salt=section.slug, span=span)
        caption = f"{section.title}: {metric} against the number of labels."
        if shown is not None:
            caption += (
                f" Dotted: {shown.candidate.label} needs {equivalents.text(shown.needed.middle)} labels to score what "
                f"{shown.best.candidate.label} scores with {shown.table.n_labels:,}."
            )
    else:
        lines.sort(key=lambda line: -line.points[0].mean)
        svg = figures.dots(lines, baseline, axis=axis, salt=section.slug)
        caption = f"{section.title}: {metric} at {words.budget(section.tables[0])}."
    return Figure(file=f"{section.slug}-{section.metric.replace('_', '-')}.svg", caption=caption, svg=svg, runs=_runs(section))


def _span(shown: Equivalence) -> figures.Span | None:
    middle, best = shown.needed.middle, shown.best.estimate
    if best is None:
        return None
    times = middle.n / shown.table.n_labels
    return figures.Span(
        score=100 * best.mean,
        first=float(shown.table.n_labels),
        last=middle.n,
        is_open=middle.side == "more_than",
        said=f"{'more than ' if middle.side == 'more_than' else ''}{words.three_digits(times)}× the labels",
    )


def _runs(section: Section) -> tuple[str, ...]:
    return tuple(record.run_id for table in section.tables for standing in table.scored for record in standing.records)


def _order(section: Section) -> dict[str, int]:
    """Candidates by key, in the order of the page's Runs, which fixes colours; without the majority model."""
    keys = dict.fromkeys(candidate.key for candidate in section.candidates.values() if candidate.kind != "majority")
    return {key: place for place, key in enumerate(keys)}


def _line(section: Section, key: str, place: int) -> figures.Line | None:
    standings = [(table, standing) for table in section.tables for standing in table.scored if standing.candidate.key == key]
    if not standings:
        return None
    points = tuple(_point(table, standing) for table, standing in standings)
    return figures.Line(label=standings[0][1].candidate.label, order=place, points=points)


def _point(table: Table, standing: Standing) -> figures.Point:
    estimate = standing.estimate
    assert estimate is not None
    return figures.Point(labels=table.n_labels, mean=100 * estimate.mean, low=100 * estimate.low, high=100 * estimate.high)
