"""Figures: text stays text, the same bytes each time, and nothing from outside when they stand in a page."""

import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import pytest

from bakeoff.report import figures, latency_figures
from bakeoff.report.figures import Baseline, Line, Point
from bakeoff.report.latency_figures import Scaling, Spot, Spread

LINES = [
    Line(label="tfidf", order=0, points=(Point(labels=100, mean=60, low=57, high=63), Point(labels=1000, mean=70, low=67, high=73))),
    Line(
        label="a <b> & $x$", order=1, points=(Point(labels=100, mean=60.1, low=58, high=62), Point(labels=1000, mean=70.1, low=69, high=71))
    ),
]
BASELINE = Baseline(labels=(100, 1000), scores=(50.0, 50.0))
ONE = [Line(label=line.label, order=line.order, points=line.points[:1]) for line in LINES]


def curves() -> str:
    return figures.curves(LINES, BASELINE, ticks={100: "100", 1000: "all 1,000"}, axis="Accuracy, %", salt="x")


def dots() -> str:
    return figures.dots(ONE, BASELINE, axis="Accuracy, %", salt="x")


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("draw", [curves, dots])
def test_the_same_bytes_whatever_the_users_settings(draw: "type[curves]", monkeypatch: pytest.MonkeyPatch) -> None:
    first = draw()
    monkeypatch.setitem(mpl.rcParams, "font.size", 30.0)
    monkeypatch.setitem(mpl.rcParams, "axes.facecolor", "red")
    assert draw() == first
    assert "<dc:date>" not in first
    assert "matplotlib.org" not in first


def test_curves_name_budgets_lines_and_the_baseline() -> None:
    found = texts(curves())
    assert {"100", "all 1,000", "tfidf", "a <b> & $x$", "largest class", "Accuracy, %"} <= set(found)


def test_dots_print_each_score() -> None:
    assert {"60.0", "60.1", "tfidf", "largest class"} <= set(texts(dots()))


def test_labels_of_close_lines_do_not_overlap() -> None:
    root = ElementTree.fromstring(curves())
    places = {
        text.text: float(text.attrib["y"])
        for text in root.iter("{http://www.w3.org/2000/svg}text")
        if text.text in ("tfidf", "a <b> & $x$")
    }
    assert abs(places["tfidf"] - places["a <b> & $x$"]) >= 10


def test_an_inline_figure_follows_the_page() -> None:
    svg = figures.inline(curves(), name='5 > 4 "quoted"')
    assert svg.startswith('<svg role="img" aria-label="5 &gt; 4 &quot;quoted&quot;"')
    assert ElementTree.fromstring(svg).attrib.keys() >= {"viewBox", "style"}
    assert not {"width", "height"} & ElementTree.fromstring(svg).attrib.keys()
    assert figures.INK not in svg
    assert "var(--series-0)" in svg
    assert 'id="axes_1"' not in svg


def test_colours_and_markers_tell_fourteen_lines_apart() -> None:
    looks = {tuple(Line(label="", order=order, points=()).look.values()) for order in range(14)}
    assert len(looks) == 14


def spot(label: str, ms: float, score: float, order: int = 0) -> Spot:
    look = figures.look_of(order)
    return Spot(label=label, look=look, ms=ms, ms_low=ms * 0.9, ms_high=ms * 1.1, score=score, score_low=score - 2, score_high=score + 2)


SPOTS = [spot("slow", 22.0, 80.0), spot("beaten", 30.0, 79.0, 1), spot("fast", 1.0, 70.0, 2), spot("middle", 4.0, 78.5, 3)]


def front() -> str:
    return latency_figures.front(SPOTS, x_axis="ms", axis="Accuracy, %", salt="x")


def scaling() -> str:
    look = figures.look_of(0)
    lines = [
        Scaling(
            label="bilstm, exponent 1.00",
            look=look,
            tokens=(8, 128, 512, 2048),
            values=(0.4, 1.2, 4.8, 19.2),
            fit=((8, 0.08), (2048, 19.2)),
        ),
        Scaling(label="short", look=look, tokens=(8,), values=(6.0,), fit=()),
    ]
    return latency_figures.scaling(lines, axis="Median ms", salt="x")


def percentiles() -> str:
    spreads = [Spread(label="a <b>", look=figures.look_of(0), percentiles=(("p50", 1.0), ("p95", 2.0), ("p99", 5000.0)))]
    return latency_figures.percentiles(spreads, x_axis="ms", salt="x")


@pytest.mark.parametrize("draw", [front, scaling, percentiles])
def test_figures_of_latency_have_the_same_bytes(draw: "type[front]", monkeypatch: pytest.MonkeyPatch) -> None:
    first = draw()
    monkeypatch.setitem(mpl.rcParams, "font.size", 30.0)
    assert draw() == first


def test_the_front_is_what_nothing_beats_on_both() -> None:
    assert [each.label for each in latency_figures.pareto(SPOTS)] == ["fast", "middle", "slow"]
    assert [each.label for each in latency_figures.pareto([spot("a", 1.0, 70.0), spot("b", 1.0, 71.0)])] == ["b"]


def test_figures_of_latency_name_lines_lengths_and_percentiles() -> None:
    assert {"slow", "beaten", "fast", "middle", "Accuracy, %"} <= set(texts(front()))
    assert {"bilstm, exponent 1.00", "short", "8", "128", "512", "2,048"} <= set(texts(scaling()))
    assert {"a <b>", "p50", "p95", "p99", "1", "1,000"} <= set(texts(percentiles()))


def test_labels_of_close_spots_do_not_overlap() -> None:
    close = [spot(f"number {n}", 4.0 + 0.01 * n, 78.0 + 0.1 * n, n) for n in range(3)]
    root = ElementTree.fromstring(latency_figures.front(close, x_axis="ms", axis="", salt="x"))
    places = [text.attrib for text in root.iter("{http://www.w3.org/2000/svg}text") if (text.text or "").startswith("number")]
    assert len({(place["x"], place["y"]) for place in places}) == 3
