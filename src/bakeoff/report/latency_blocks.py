"""The part of a page about speed and cost: accuracy against latency, sessions, growth with length, cost."""

import re
from collections.abc import Mapping, Sequence

from bakeoff.report import latency_figures, latency_long, latency_view, serving_view, words
from bakeoff.report.blocks import Block, Figure
from bakeoff.report.candidates import can_be_timed, served_key
from bakeoff.report.costs import Prices, costs
from bakeoff.report.figures import look_of
from bakeoff.report.joined import Joined, Served, join
from bakeoff.report.latency_figures import Scaling, Spot, Spread
from bakeoff.report.summary import Section
from bakeoff.report.timing import Session, comparisons, engine_name, fit, grid_points
from bakeoff.store import Store

Places = Mapping[str, int]
"""Served key of a candidate → its place, which fixes colour and marker on the whole page."""


def latency_blocks(
    sections: Sequence[Section], sessions: Sequence[Session], store: Store, *, commands: Mapping[str, str], prices: Prices | None
) -> list[Block]:
    """Everything about speed and cost that these sessions know; `commands` time a candidate, by its key."""
    places = places_of(sections, sessions)
    joined = joined_blocks(join(sections, sessions, store), places, commands)
    return [*joined, *session_blocks(sessions, places), *cost_blocks(sessions, sections, prices)]


def joined_blocks(joined: Sequence[Joined], places: Places, timing_commands: Mapping[str, str]) -> list[Block]:
    """Accuracy against latency, a block a dataset and machine; `timing_commands` are by candidate key."""
    blocks = []
    for one in joined:
        missing = [row for row in one.served if row.timing is None]
        untimed, never = ([row for row in missing if can_be_timed(row.candidate.run) is able] for able in (True, False))
        setting = f" probe.device={one.probe.device} probe.threads={one.probe.threads}"
        commands = [timing_commands[row.candidate.key] + setting for row in untimed if row.candidate.key in timing_commands]
        notes = serving_view.joined_notes(one)
        if never:
            notes.append(f"Cannot be timed, so neither slow nor fast: {words.listing([row.candidate.label for row in never])}.")
        if untimed:
            notes.append(
                f"Not measured, so neither slow nor fast: {words.listing([row.candidate.label for row in untimed])}. To have it measured:"
            )
        figure = _front(one, places)
        block = Block(
            heading=f"Accuracy against latency: {one.title}",
            level=2,
            figures=(figure,) if figure else (),
            grids=(serving_view.joined_grid(one),),
            notes=tuple(notes),
            commands=tuple(commands),
        )
        blocks.append(block)
    return blocks


def session_blocks(sessions: Sequence[Session], places: Places) -> list[Block]:
    """A block a session, after one that says how all were measured."""
    if not sessions:
        return []
    untrained = any(t.probe.weights == "untrained" for session in sessions for t in session.every)
    own = any(session.timings or session.grids for session in sessions)
    how = (*(latency_view.HOW_OWN_DOCUMENTS if own else (latency_view.HOW,)), *([latency_view.UNTRAINED] if untrained else []))
    blocks = [Block(heading="Latency", level=2, paragraphs=how)]
    for session in sessions:
        mark = " (contended)" if session.contended else ""
        if session.timings:
            figure, ratios = _percentiles(session, places), comparisons(session)
            grids = [latency_view.session_grid(session)] + ([latency_view.comparison_grid(ratios)] if ratios else [])
            block = Block(
                heading=session.title + mark,
                level=3,
                paragraphs=tuple(latency_view.measured(session)),
                warnings=tuple(latency_view.alarms(session)),
                figures=(figure,) if figure else (),
                grids=tuple(grids),
                notes=(*([latency_view.BY_WAY] if any(one.by_way_of_reference for one in ratios) else []), *latency_view.notes(session)),
            )
            blocks.append(block)
        if any(grid_points(timing) for timing in session.grids):
            block = Block(
                heading=f"Latency against length: {session.title}{mark}",
                level=3,
                warnings=() if session.timings else tuple(latency_view.alarms(session)),
                figures=(_scaling(session, places),),
                grids=(latency_view.scaling_grid(session),),
                notes=tuple(latency_view.scaling_notes(session)),
            )
            blocks.append(block)
        blocks += latency_long.blocks(session, places)
    return blocks


def cost_blocks(sessions: Sequence[Session], sections: Sequence[Section], prices: Prices | None) -> list[Block]:
    """What serving and training take, a block a dataset and machine."""
    blocks = []
    groups: dict[tuple[str, str], list[Session]] = {}
    for session in sessions:
        if session.timings:
            groups.setdefault((session.fingerprint, session.machine), []).append(session)
    for (fingerprint, _), here in groups.items():
        section = next((section for section in sections if section.dataset.fingerprint == fingerprint), None)
        found = costs(here, section)
        heading = f"Cost: {here[0].dataset} on {here[0].machine}"
        grid = serving_view.cost_grid(found, prices, name=heading)
        blocks.append(Block(heading=heading, level=2, grids=(grid,), notes=tuple(serving_view.cost_notes(found, prices))))
    return blocks


def places_of(sections: Sequence[Section], sessions: Sequence[Session]) -> dict[str, int]:
    """Colours of the quality figures for what was scored; then the rest, in the order of the sessions."""
    every = {candidate.key: candidate for section in sections for candidate in section.candidates.values()}
    quality = [candidate for candidate in every.values() if candidate.kind != "majority"]
    seen: dict[str, int] = {}
    places: dict[str, int] = {}
    for candidate in quality:
        place = seen.setdefault(candidate.key, len(seen))
        places.setdefault(served_key(candidate.run), place)
    following = len(seen)
    for session in sessions:
        for timing in session.every:
            if timing.candidate.key not in places:
                places[timing.candidate.key], following = following, following + 1
    return places


def _front(joined: Joined, places: Places) -> Figure | None:
    """The score at the largest budget against p95, or against p50 where any p95 is missing; two ways to serve are needed."""
    table = joined.section.tables[-1]
    shown = [
        row
        for row in joined.served
        if row.timing and row.session and not row.session.contended and table.labels in row.estimates and row.timing.facts.p50_ms
    ]
    if len(shown) < 2:
        return None
    p95 = all(row.timing is not None and row.timing.facts.p95_ms is not None for row in shown)
    metric = words.METRIC_NAMES[joined.section.metric]
    name = "95th percentile" if p95 else "median"
    svg = latency_figures.front(
        [_spot(row, table.labels, "p95" if p95 else "p50", places, shown) for row in shown],
        x_axis=f"{name} of latency, one document at a time, ms (log scale)",
        axis=f"{metric[0].upper()}{metric[1:]} at {words.budget(table)}, % (bars: 95% intervals)",
        salt=f"front-{_slug(joined.title)}",
    )
    caption = (
        f"{joined.title}: {metric} at {words.budget(table)} against the {name} of latency; nothing measured beats the dashed steps on both."
    )
    runs = tuple(dict.fromkeys(row.timing.record.run_id for row in shown if row.timing is not None))
    return Figure(file=f"front-{_slug(joined.title)}.svg", caption=caption, svg=svg, runs=runs)


def _spot(row: Served, labels: int | str, percentile: str, places: Places, shown: Sequence[Served]) -> Spot:
    timing, estimate = row.timing, row.estimates[labels]
    assert timing is not None
    ms = timing.facts.p95_ms if percentile == "p95" else timing.facts.p50_ms
    assert ms is not None
    interval = timing.facts.intervals.get(f"{percentile}_ms")
    return Spot(
        label=_spot_label(row, shown),
        look=look_of(places[timing.candidate.key]),
        ms=ms,
        ms_low=interval.low if interval else ms,
        ms_high=interval.high if interval else ms,
        score=100 * estimate.mean,
        score_low=100 * estimate.low,
        score_high=100 * estimate.high,
    )


def _spot_label(row: Served, shown: Sequence[Served]) -> str:
    """The candidate, with engine unless eager, and device and threads as far as they differ in the figure."""
    assert row.timing is not None
    probes = [other.timing.probe for other in shown if other.timing is not None]
    probe = row.timing.probe
    parts = [row.candidate.label] + ([] if probe.engine == "eager" else [engine_name(probe.engine)])
    if len({(each.device, each.threads) for each in probes}) > 1:
        parts.append(f"{probe.device}, {words.count(probe.threads, 'thread')}")
    return " · ".join(parts)


def _percentiles(session: Session, places: Places) -> Figure | None:
    """None for throughput, where a batch's time is shared out evenly and percentiles say little of documents."""
    if session.probe.scenario != "single":
        return None
    spreads = []
    for timing in session.timings:
        facts = timing.facts
        found = [("p50", facts.p50_ms), ("p90", facts.p90_ms), ("p95", facts.p95_ms), ("p99", facts.p99_ms)]
        known = tuple((name, ms) for name, ms in found if ms is not None)
        if known:
            spreads.append(Spread(label=timing.label, look=look_of(places[timing.candidate.key]), percentiles=known))
    if not spreads:
        return None
    svg = latency_figures.percentiles(spreads, x_axis="ms a document (log scale)", salt=f"percentiles-{session.slug}")
    return Figure(
        file=f"percentiles-{session.slug}.svg",
        caption=f"{session.title}: percentiles over documents, eager unless an engine is named.",
        svg=svg,
        runs=tuple(timing.record.run_id for timing in session.timings),
    )


def _scaling(session: Session, places: Places) -> Figure:
    lines = []
    for timing in session.grids:
        points = grid_points(timing)
        if points:
            law = fit(points)
            lines.append(
                Scaling(
                    label=f"{timing.label}{'' if law is None else f', exponent {law.exponent:.2f}'}",
                    look=look_of(places[timing.candidate.key]),
                    tokens=tuple(tokens for tokens, _ in points),
                    values=tuple(ms for _, ms in points),
                    fit=() if law is None else tuple((tokens, law.ms(tokens)) for tokens in (points[0][0], points[-1][0])),
                )
            )
    svg = latency_figures.scaling(lines, axis="Median ms a document (log scale)", salt=f"length-{session.slug}")
    return Figure(
        file=f"length-{session.slug}.svg",
        caption=f"{session.title}: median latency by length; dashed, the fitted power laws carried on to short documents.",
        svg=svg,
        runs=tuple(timing.record.run_id for timing in session.grids),
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
