"""Several modules' definitions as one file: those that are asked for, and whatever of bakeoff they use, copied as it is written.

So what is shipped computes what was trained and scored, by the same lines.
"""

import ast
import functools
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_STAND_INS = {("bakeoff.spec", "LongDoc"): ("types", "SimpleNamespace")}
"""What is not copied → what takes its place in the file."""


@dataclass(frozen=True, kw_only=True)
class Bundled:
    """The parts of a file."""

    imports: str
    definitions: str
    packages: frozenset[str]
    """Top-level names of the packages that it imports, those of the standard library left out."""


@dataclass(frozen=True)
class _Origin:
    """Where a name was imported from; `name` is None for a module."""

    module: str
    name: str | None


@dataclass(frozen=True, kw_only=True)
class _Definition:
    """A function, class or constant, as it stands in its module."""

    source: str
    node: ast.stmt
    module: str
    first_line: int

    @property
    def names(self) -> list[str]:
        """Every name that it mentions."""
        return [node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)]


@dataclass(frozen=True, kw_only=True)
class _Module:
    definitions: dict[str, _Definition]
    imported: dict[str, _Origin]


@dataclass
class _Gathering:
    """What was found so far: definitions by the name that they have in the file, each behind what it uses."""

    found: dict[str, _Definition] = field(default_factory=dict)
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    """Module and name → name in the file, where another module had taken it."""
    external: dict[str, _Origin] = field(default_factory=dict)

    def add(self, module: str, name: str) -> None:
        """Gather a definition of a module of bakeoff, and what it uses."""
        parsed = _parsed(module)
        if name in parsed.imported:
            self._add_imported(name, parsed.imported[name])
            return
        assert name in parsed.definitions, f"{module}.{name} is a module of bakeoff, or computed: import definitions by their names"
        definition, taken = parsed.definitions[name], self.found.get(name)
        if (module, name) in self.renamed or (taken is not None and taken.source == definition.source):
            return
        self.renamed[module, name] = own = name if taken is None else f"_{module.rpartition('.')[2]}_{name.lstrip('_')}"
        for used in definition.names:
            if used != name and (used in parsed.definitions or used in parsed.imported):
                self.add(module, used)
        self.found[own] = definition

    def _add_imported(self, name: str, origin: _Origin) -> None:
        if not origin.module.startswith("bakeoff."):
            self.external[name] = origin
        elif origin.name is not None and (origin.module, origin.name) in _STAND_INS:
            self.external[name] = _Origin(*_STAND_INS[origin.module, origin.name])
        else:
            assert origin.name == name, f"{name} has another name in {origin.module}: import it by its own"
            self.add(origin.module, name)

    def written(self) -> Iterator[str]:
        """Each definition as it stands in the file."""
        for definition in self.found.values():
            yield _rewritten(
                definition, {name: own for (module, name), own in self.renamed.items() if module == definition.module and name != own}
            )


def bundle(parts: Iterable[str]) -> Bundled:
    """The file of these definitions, each named as `module.Name`; it imports nothing of bakeoff."""
    gathering = _Gathering()
    for part in parts:
        module, _, name = part.rpartition(".")
        gathering.add(module, name)
    inside = {origin.partition(".")[0] for each in gathering.found.values() for origin in _imports_within(each.node)}
    top = {origin.module.partition(".")[0] for origin in gathering.external.values()} | inside
    return Bundled(
        imports=_import_lines(gathering.external),
        definitions="\n\n\n".join(gathering.written()),
        packages=frozenset(top - sys.stdlib_module_names),
    )


@functools.cache
def _parsed(module: str) -> _Module:
    found = importlib.util.find_spec(module)
    assert found is not None, module
    assert found.origin is not None, module
    text = Path(found.origin).read_text(encoding="utf-8")
    lines, body = text.splitlines(), ast.parse(text).body
    definitions: dict[str, _Definition] = {}
    imported: dict[str, _Origin] = {}
    for place, node in enumerate(body):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            imported |= {alias.asname or alias.name: _Origin(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.asname or alias.name: _Origin(alias.name, None) for alias in node.names}
        for name in _names_of(node):
            following = body[place + 1] if place + 1 < len(body) else None
            last = following if isinstance(node, ast.Assign | ast.AnnAssign) and _is_docstring(following) else node
            first_line = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
            source = "\n".join(lines[first_line - 1 : (last or node).end_lineno])
            definitions[name] = _Definition(source=source, node=node, module=module, first_line=first_line)
    return _Module(definitions=definitions, imported=imported)


def _names_of(node: ast.stmt) -> list[str]:
    """What a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def _is_docstring(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports_within(node: ast.stmt) -> list[str]:
    """The modules that a function imports when it is called."""
    inner = list(ast.walk(node))
    plain = [alias.name for each in inner if isinstance(each, ast.Import) for alias in each.names]
    return plain + [each.module for each in inner if isinstance(each, ast.ImportFrom) and each.module is not None]


def _rewritten(definition: _Definition, renamed: dict[str, str]) -> str:
    """The source of a definition with some names changed; only constants are, since their names are plain ones throughout."""
    places = [node for node in ast.walk(definition.node) if isinstance(node, ast.Name) and node.id in renamed]
    lines = definition.source.splitlines()
    assert getattr(definition.node, "name", None) not in renamed, "two functions or classes of one name"
    for node in sorted(places, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        row = node.lineno - definition.first_line
        start = len(lines[row].encode()[: node.col_offset].decode())
        lines[row] = lines[row][:start] + renamed[node.id] + lines[row][start + len(node.id) :]
    return "\n".join(lines)


def _import_lines(external: dict[str, _Origin]) -> str:
    """Import statements, those of the standard library first."""
    plain = {
        f"import {origin.module}" + ("" if origin.module == name else f" as {name}")
        for name, origin in external.items()
        if origin.name is None
    }
    named: dict[str, list[str]] = {}
    for name, origin in external.items():
        if origin.name is not None:
            named.setdefault(origin.module, []).append(origin.name if origin.name == name else f"{origin.name} as {name}")
    lines = [*plain, *(f"from {module} import {', '.join(sorted(names))}" for module, names in named.items())]
    inside, outside = ([line for line in sorted(lines, key=_by_kind) if _is_standard(line) == wanted] for wanted in (True, False))
    return "\n\n".join("\n".join(group) for group in (inside, outside) if group)


def _by_kind(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line


def _is_standard(line: str) -> bool:
    return line.split()[1].partition(".")[0] in sys.stdlib_module_names
