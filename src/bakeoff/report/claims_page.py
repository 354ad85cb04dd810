"""The page of the claims: a table of verdicts, then a section a claim; written from stored answers alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.claims import stored as kept
from bakeoff.claims.claim import Cell, Verdict
from bakeoff.claims.stored import Stored
from bakeoff.report import claims_figures, claims_words, references, words
from bakeoff.report.blocks import Block, Figure, Grid
from bakeoff.report.plain import one_line
from bakeoff.report.templating import templates
from bakeoff.store import write_atomically

ANSWERS = "answers"
"""The folder beside the page that it is made from."""
COMMAND = "bakeoff claims --page"
_SAID: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "cannot be tested here": ("cannot be tested here", "cannot be tested here"),
}
"""What one claim of a verdict does, and what several do."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A claim on the page."""

    stored: Stored
    facts: Mapping[str, str]
    blocks: tuple[Block, ...]


def write_page(answers: Sequence[Stored], folder: Path, *, absent: Sequence[str] = ()) -> Path:
    """Write README.md, index.html, figures/ and answers/ of these answers, in their order, and return the path of README.md.

    `absent` are the names of claims without an answer; a file of one that could not be read is left as it is. The same answers give the
    same bytes.
    """
    sections = [_section(each) for each in answers]
    figures = [figure for section in sections for block in section.blocks for figure in block.figures]
    context = {
        "sections": sections,
        "counts": _counts(answers),
        "dirty": [each.name for each in answers if each.dirty],
        "absent": list(absent),
        "command": COMMAND,
        "say": claims_words,
        "references": references,
        "footnote": lambda rows: "",
        "behind": lambda rows: "",
    }
    for name, template in (("README.md", "claims.md.j2"), ("index.html", "claims.html.j2")):
        write_atomically(folder / name, templates().get_template(template).render(context))
    for figure in figures:
        write_atomically(folder / "figures" / figure.file, figure.svg)
    for each in answers:
        write_atomically(folder / ANSWERS / f"{each.name}.json", each.to_json())
    _forget(folder / "figures", {figure.file for figure in figures})
    _forget(folder / ANSWERS, {f"{name}.json" for name in (*absent, *(each.name for each in answers))})
    return folder / "README.md"


def read_answers(folder: Path, names: Sequence[str]) -> list[Stored]:
    """What a page in `folder` was made from, in the order of `names`. Raises DataError for a file that is no answer."""
    return [found for name in names if (found := kept.read(folder / ANSWERS, name)) is not None]


def _section(stored: Stored) -> Section:
    answer = stored.answer
    smallest = claims_words.detectable(answer)
    facts = {
        **({"Design": stored.how} if stored.how else {}),
        "Rule": stored.rule,
        "Figure": f"{claims_words.figure(answer)} (95% interval: {claims_words.interval(answer)})"
        if answer.interval is not None
        else f"{claims_words.figure(answer)}" + (" (exact)" if answer.figure is not None else ""),
        **({} if smallest is None else {"Smallest difference that could be seen": smallest}),
        "Data": "; ".join(stored.settings) or answer.dataset or "no dataset: what is read is made by the claim itself",
        "Measured": claims_words.where(stored),
        "Code": claims_words.code(stored),
        **({"Baked": "; ".join(stored.sweeps)} if stored.sweeps else {}),
        **({"Runs": f"{words.count(len(answer.run_ids), 'Run')}, listed in {ANSWERS}/{stored.name}.json"} if answer.run_ids else {}),
    }
    figures = tuple(
        Figure(
            file=f"{stored.name}{'' if len(answer.pictures) == 1 else f'-{place}'}.svg",
            caption=one_line(shown.title),
            svg=claims_figures.picture(shown, salt=f"{stored.name}-{place}"),
        )
        for place, shown in enumerate(answer.pictures, start=1)
    )
    seen = Block(
        heading=f"{stored.name}: what was measured",
        level=3,
        figures=figures,
        grids=_grids(f"{stored.name}: what was measured", answer.rows),
        notes=answer.notes,
        commands=(claims_words.command(stored),),
    )
    return Section(stored=stored, facts=facts, blocks=(seen,))


def _grids(name: str, rows: Sequence[Mapping[str, Cell]]) -> tuple[Grid, ...]:
    if not rows:
        return ()
    heads = list(rows[0])
    numeric = tuple(any(_is_number(row.get(head)) for row in rows) and not any(_is_word(row.get(head)) for row in rows) for head in heads)
    cells = tuple(tuple(claims_words.number(row.get(head)) for head in heads) for row in rows)
    return (Grid(name=name, heads=tuple(heads), numeric=numeric, rows=cells),)


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _is_word(cell: Cell) -> bool:
    return isinstance(cell, str | bool)


def _counts(answers: Sequence[Stored]) -> str:
    """`12 hold, 3 do not hold, 1 is inconclusive`."""
    seen = Counter(each.answer.verdict for each in answers)
    return ", ".join(f"{seen[verdict]} {_SAID[verdict][seen[verdict] != 1]}" for verdict in _SAID if seen[verdict])


def _forget(folder: Path, names: set[str]) -> None:
    """Delete what an earlier page left in a folder of this one."""
    for old in folder.glob("*"):
        if old.is_file() and old.suffix in (".svg", ".json") and old.name not in names:
            old.unlink()
