"""The templates of pages, and what makes text from strangers harmless in them."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from bakeoff.report import figures
from bakeoff.report.plain import one_line, visible


def markdown(text: object) -> str:
    """Text that Markdown shows as it is, on one line: names and messages may come from strangers."""
    line = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([\\`*\[\]|~])", r"\\\1", line)
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", line)


def markdown_code(text: object) -> str:
    """Text as a Markdown code span on one line, fit for a table cell."""
    return "`" + one_line(text).replace("`", "'").replace("|", "\\|") + "`"


def bracket_below(cell: str) -> Any:
    """HTML of a cell, the bracket behind a number on a line of its own, so that columns stay narrow."""
    from markupsafe import Markup, escape

    cell = visible(cell)
    value, bracket, rest = cell.partition(" (")
    if not bracket or not cell.endswith(")"):
        return escape(cell)
    return Markup('{}<small class="below">({}</small>').format(value, rest)


@cache
def templates() -> Any:
    """The environment of `templates/`: HTML is escaped by itself, Markdown by the filters `md` and `code`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"md": markdown, "code": markdown_code, "inline_svg": figures.inline, "bracket_below": bracket_below}
    return environment
