"""What an answer costs in all: the labels, the training, and a million predictions, against how right it is.

A line a candidate over the budgets at which it was scored. Only where prices are given, one of them that of a label,
and only candidates whose speed was measured: what was not is neither cheap nor dear.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.report import total_cost_figure, words
from bakeoff.report.blocks import Block, Figure, grid
from bakeoff.report.candidates import served_key
from bakeoff.report.costs import Cost, Prices, costs, fitting
from bakeoff.report.figures import look_of
from bakeoff.report.latency_blocks import places_of
from bakeoff.report.stats import Estimate
from bakeoff.report.summary import Section, Standing
from bakeoff.report.timing import Session
from bakeoff.report.total_cost_figure import Spent, Trail


@dataclass(frozen=True, kw_only=True)
class Total:
    """One candidate at one budget, in the currency of the prices."""

    standing: Standing
    estimate: Estimate
    n_labels: int
    labels: float
    training: float
    predictions: float

    @property
    def total(self) -> float:
        """Everything together."""
        return self.labels + self.training + self.predictions


def totals(section: Section, found: Sequence[Cost], prices: Prices) -> list[Total]:
    """Every score of the section's candidates that were timed one document at a time, eager where there are several engines.

    Raises ValueError for prices without that of a label.
    """
    if prices.label is None:
        raise ValueError("the price of a label is not given")
    known = {record.run_id: record for record in section.records}
    serving: dict[str, float] = {}
    for cost in sorted(found, key=lambda cost: cost.timing.probe.engine != "eager"):
        money = cost.money_a_million_singly(prices)
        if money is not None:
            serving.setdefault(cost.timing.candidate.key, money)
    return [
        Total(
            standing=standing,
            estimate=standing.estimate,
            n_labels=table.n_labels,
            labels=table.n_labels * prices.label,
            training=fitting(standing.records, known, prices).money,
            predictions=serving[served_key(standing.candidate.run)],
        )
        for table in section.tables
        for standing in table.scored
        if standing.estimate is not None and standing.candidate.kind != "majority" and served_key(standing.candidate.run) in serving
    ]


def total_cost_blocks(sections: Sequence[Section], sessions: Sequence[Session], prices: Prices | None) -> list[Block]:
    """A block a dataset and machine; none without the price of a label."""
    if prices is None or prices.label is None or not sessions:
        return []
    places = places_of(sections, sessions)
    blocks = []
    for section in sections:
        alike = [session for session in sessions if session.fingerprint == section.dataset.fingerprint and session.timings]
        for machine in dict.fromkeys(session.machine for session in alike):
            found = totals(section, costs([session for session in alike if session.machine == machine], section), prices)
            if len({one.standing.candidate.key for one in found}) > 1:
                blocks.append(_block(section, machine, found, prices, places))
    return blocks


def _block(section: Section, machine: str, found: Sequence[Total], prices: Prices, places: Mapping[str, int]) -> Block:
    title = f"Total cost: {section.title} on {machine}"
    ordered = sorted(found, key=lambda one: one.total)
    money = f", {prices.currency}"
    columns = [
        ("model", [one.standing.candidate.label for one in ordered]),
        ("labels", [f"{one.n_labels:,}" for one in ordered]),
        (
            f"{words.METRIC_NAMES[section.metric]} %",
            [f"{words.percent(one.estimate.mean)} ({words.span(one.estimate)})" for one in ordered],
        ),
        (f"in all{money}", [words.three_digits(one.total) for one in ordered]),
        (f"for labels{money}", [words.three_digits(one.labels) for one in ordered]),
        (f"to train{money}", [words.three_digits(one.training) for one in ordered]),
        (f"a million predictions{money}", [words.three_digits(one.predictions) for one in ordered]),
    ]
    runs = [tuple(record.run_id for record in one.standing.records) for one in ordered]
    return Block(
        heading=title,
        level=2,
        figures=(_figure(section, machine, found, prices, places),),
        grids=(grid(title, columns, texts=("model",), runs=runs),),
        notes=(
            f"A label costs {prices.currency} {prices.label:g}; training is the mean over seeds, with that of a student's teacher "
            f"where it is recorded here, and predictions are made one after the "
            f"other on this machine, with the eager engine where it was timed. {prices.note}.",
        ),
    )


def _figure(section: Section, machine: str, found: Sequence[Total], prices: Prices, places: Mapping[str, int]) -> Figure:
    metric = words.METRIC_NAMES[section.metric]
    members = dict.fromkeys(one.standing.candidate.key for one in found)
    trails = []
    for key in members:
        own = [one for one in found if one.standing.candidate.key == key]
        trails.append(
            Trail(
                label=own[0].standing.candidate.label,
                look=look_of(places[served_key(own[0].standing.candidate.run)]),
                spent=tuple(
                    Spent(money=one.total, score=100 * one.estimate.mean, low=100 * one.estimate.low, high=100 * one.estimate.high)
                    for one in own
                ),
            )
        )
    name = re.sub(r"[^a-z0-9]+", "-", f"total-cost-{section.title}-{machine}".lower()).strip("-")
    svg = total_cost_figure.trails(
        trails,
        axis=f"{metric[0].upper()}{metric[1:]}, % (bars: 95% intervals)",
        x_axis=f"labels, training and a million predictions, {prices.currency} (log scale); a mark a budget",
        salt=name,
    )
    return Figure(
        file=f"{name}.svg",
        caption=f"{section.title}: {metric} against what labels, training and a million predictions cost together.",
        svg=svg,
        runs=tuple(record.run_id for one in found for record in one.standing.records),
    )
