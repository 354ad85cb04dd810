"""The page of the claims: the same bytes from the same answers, and nothing of a stranger's that acts."""

import dataclasses
import os
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from answered import LINES, MATRIX, RICH, stored
from bakeoff.claims.claim import Verdict
from bakeoff.claims.pictures import Heatmap, Lines, Series
from bakeoff.claims.stored import Stored
from bakeoff.report import claims_figures, claims_words
from bakeoff.report.claims_page import read_answers, write_page
from bakeoff.report.words import Answer

GOLDEN = Path(__file__).parent / "golden" / "claims.md"
EXACT = dataclasses.replace(
    RICH,
    figure=0.802,
    unit="",
    interval=None,
    dataset=None,
    rows=(),
    run_ids=(),
    detectable=None,
    pictures=(),
    notes=(),
    seen="As printed.",
)
UNTESTED = dataclasses.replace(EXACT, figure=None, seen="It needs bert-base-uncased, which is not here.")


def answers() -> list[Stored]:
    """One of each verdict."""
    return [
        stored("worked-example", kind="mechanism", answer=dataclasses.replace(EXACT, verdict="holds"), seconds=0.2),
        stored(
            "quadratic",
            how="Varied: n. Measured: *times*.",
            settings=("movie: 300 labels, 5 draws, 2,000 test rows", "one document at a time, 1,000 samples or more a model"),
            sweeps=("sweeps/claims/quadratic.yaml budget.labels=300",),
            recorded=1,
        ),
        stored("inference-cost", "inconclusive", dirty=True, size="full"),
        stored("distilled", answer=dataclasses.replace(UNTESTED, verdict="cannot be tested here"), commit=None),
    ]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_golden_page(tmp_path: Path) -> None:
    """`BAKEOFF_WRITE_GOLDEN=1` writes it anew; read the difference before you commit it."""
    written = write_page(answers(), tmp_path, absent=["needle", "typos"])
    if os.environ.get("BAKEOFF_WRITE_GOLDEN"):
        GOLDEN.write_text(written.read_text())
    assert written.read_text() == GOLDEN.read_text()


def test_an_answer_that_cannot_be_read_stays_where_it_is(tmp_path: Path) -> None:
    write_page(answers(), tmp_path, absent=["needle"])
    foreign = tmp_path / "answers" / "needle.json"
    foreign.write_text('{"schema_version": 99}')
    (tmp_path / "answers" / "gone.json").write_text("of a claim that is no more")
    write_page(answers(), tmp_path, absent=["needle"])
    assert foreign.read_text() == '{"schema_version": 99}'
    assert not (tmp_path / "answers" / "gone.json").exists()


def test_a_page_is_rebuilt_from_its_own_answers(tmp_path: Path) -> None:
    write_page(answers(), tmp_path / "first", absent=["needle"])
    names = [each.name for each in answers()]
    again = read_answers(tmp_path / "first", [*names, "needle"])
    write_page(again, tmp_path / "second", absent=["needle"])
    first = files(tmp_path / "first")
    assert first == files(tmp_path / "second")
    assert set(first) == {
        *(f"answers/{name}.json" for name in names),
        *("figures/inference-cost-1.svg", "figures/inference-cost-2.svg", "figures/quadratic-1.svg", "figures/quadratic-2.svg"),
        *("README.md", "index.html"),
    }


def test_what_an_earlier_page_had_is_gone(tmp_path: Path) -> None:
    write_page(answers(), tmp_path)
    write_page(answers()[:1], tmp_path)
    assert [path.name for path in (tmp_path / "answers").iterdir()] == ["worked-example.json"]
    assert list((tmp_path / "figures").iterdir()) == []


def test_the_page_needs_no_script_and_no_other_file(tmp_path: Path) -> None:
    write_page(answers(), tmp_path)
    html = (tmp_path / "index.html").read_text()
    assert "<script" not in html
    assert "src=" not in html
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert html.count("<svg") == 4
    for said in ("prefers-color-scheme: dark", "@media print", "@media (max-width: 40rem)", 'name="viewport"'):
        assert said in html


def test_strangers_are_escaped(tmp_path: Path) -> None:
    markdown, html = write_page(answers(), tmp_path).read_text(), (tmp_path / "index.html").read_text()
    assert "<b>attention</b>" not in html + markdown
    assert "&lt;b&gt;attention&lt;/b&gt;" in html
    assert "lstm \\| wide" in markdown
    assert "A second \\*note\\*." in markdown
    assert "Time against <length>" not in html + markdown


def test_what_does_not_hold_or_is_open_says_what_could_have_been_seen() -> None:
    seen = "The LSTM took 1.25 times as long."
    smallest = "The smallest difference that this design could have seen is 0.2×."
    asked: tuple[Verdict, ...] = ("holds", "does not hold", "inconclusive")
    found = {verdict: claims_words.said(stored(verdict=verdict).answer) for verdict in asked}
    assert found == {
        "holds": Answer(lead="It holds.", rest=seen),
        "does not hold": Answer(lead="It does not hold.", rest=f"Seen instead: {seen} {smallest}"),
        "inconclusive": Answer(lead="Inconclusive: what was measured does not settle the rule.", rest=f"{seen} {smallest}"),
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.40112, "0.401"),
        (0.802, "0.802"),
        (77.8249, "77.82"),
        (22.6, "22.6"),
        (1234.5, "1,234"),
        (1.1e-7, "1.1e-7"),
        (3.4e-4, "0.00034"),
        (0.00342, "0.0034"),
        (0.0995, "0.1"),
        (-0.25, "−0.25"),
        (-0.0, "0"),
        (0.0, "0"),
        (1_234_567, "1,234,567"),
        (-3, "−3"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
        (float("nan"), "–"),
        (None, "–"),
        (True, "yes"),
        ("as it is", "as it is"),
        (2.5e9, "2.5e9"),
        (9.9999, "10"),
    ],
)
def test_numbers_as_people_read_them(value: float | str | None, text: str) -> None:
    assert claims_words.number(value) == text


def test_pictures_are_svg_and_alike_each_time() -> None:
    for shown in (LINES, MATRIX, dataclasses.replace(LINES, log_x=False, log_y=False)):
        first = claims_figures.picture(shown, salt="s")
        assert first == claims_figures.picture(shown, salt="s")
        xml.fromstring(first)
        assert "<image" not in first
    assert "attention" in claims_figures.picture(LINES, salt="s")


def test_pictures_of_little_are_drawn_too() -> None:
    empty = Lines(
        title="",
        x_label="",
        y_label="",
        series=(Series(label="a", x=(), y=()), Series(label="b", x=(0.0,), y=(-1.0,))),
        log_x=True,
        log_y=True,
    )
    without = Heatmap(title="", rows=(), columns=(), values=())
    large = Heatmap(title="", rows=tuple(map(str, range(64))), columns=tuple(map(str, range(48))), values=((0.0,) * 48,) * 64)
    for shown in (empty, without, large):
        assert xml.fromstring(claims_figures.picture(shown, salt="s")).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_table_of_words_and_numbers(tmp_path: Path) -> None:
    answer = dataclasses.replace(
        RICH, pictures=(), rows=({"model": "a", "p50_ms": 1.0, "n": None}, {"model": "b", "p50_ms": None, "n": None})
    )
    html = (write_page([stored(answer=answer)], tmp_path).parent / "index.html").read_text()
    assert '<th>model</th><th class="number">p50_ms</th><th>n</th>' in html
