"""Figures: text stays text, the same bytes each time, and nothing from outside when they stand in a page."""

import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import pytest

from bakeoff.report import figures
from bakeoff.report.figures import Baseline, Line, Point

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
