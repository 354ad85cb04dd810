"""What the documents say exists: commands, settings, names, paths, links and rooms. Nothing is baked.

A fenced `sh` block is a list of commands. A fenced `yaml` block is a file: its first line is a comment with the path.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import pytest
import typer

import test_house_rules as house
from bakeoff import cli, config, spec
from bakeoff.report import frame

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "reports/README.md")
GROUPS = {"dataset", "model", "longdoc", "budget", "probe", "machine"}
NOUNS: dict[str, list[type]] = {
    "dataset": [spec.Dataset],
    "budget": [spec.Budget],
    "longdoc": [spec.LongDoc],
    "probe": list(spec.PROBE_KINDS.values()),
    "machine": [spec.Machine],
    "model": [*spec.MODEL_KINDS.values(), spec.Training],
}
OTHER_PROGRAMS = {"make", "pytest", "git", "wandb", "ray", "."}
"""Programs in `sh` blocks besides bakeoff; of these only `make` is looked into."""
COMMAND_LINE = typer.main.get_command(cli.app)


@dataclass(frozen=True)
class Command:
    """One command of a document, without comment, environment and a trailing `&`."""

    document: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.document}: {shlex.join(self.words)}"


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(document), flags=re.MULTILINE | re.DOTALL)


def inline(document: str) -> list[str]:
    """Code spans outside fenced blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text_of(document), flags=re.MULTILINE | re.DOTALL))


def commands() -> Iterator[Command]:
    for document in DOCUMENTS:
        lines = [line for block in blocks(document, "(?:sh|bash)") for line in block.replace("\\\n", " ").splitlines()]
        spans = [span for span in inline(document) if span.startswith(("bakeoff ", "make ")) and "…" not in span]
        for line in [*lines, *spans]:
            words = [word for word in shlex.split(line, comments=True) if word != "&"]
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words:
                yield Command(document, tuple(words))


def of(program: str) -> list[Command]:
    return [command for command in commands() if command.words[0] == program]


def choices(group: str) -> set[str]:
    return {path.stem for path in (ROOT / "conf" / group).glob("*.yaml")}


def files_of_the_documents() -> dict[str, str]:
    found = {}
    for document in DOCUMENTS:
        for block in blocks(document, "yaml"):
            head = re.match(r"# (\S+\.yaml)\n", block)
            assert head, f"{document}: a yaml block starts with a comment that names its file"
            found[head[1]] = block
    return found


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the reader's files: those that the documents show, and some data."""
    for name, content in files_of_the_documents().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (tmp_path / "answers.csv").write_text("row_id,label\n", encoding="utf-8")
    for name in ("tickets.csv", "tickets-test.csv"):
        (tmp_path / name).write_text("body,topic,customer\nwhere is it,delivery,a\npay me,money,b\n", encoding="utf-8")
    for label in ("pos", "neg"):
        (tmp_path / "reviews" / label).mkdir(parents=True)
        (tmp_path / "reviews" / label / "1.txt").write_text(f"so {label}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@cache
def runs_of(file: str, overrides: tuple[str, ...]) -> int:
    """How many Runs a sweep of the desk, or of the repository, lists; composed once, for every desk is alike."""
    assert file == Path(file).name or (ROOT / file).exists(), f"{file} is no file here"
    return len(config.load_sweep(Path(file), overrides).runs)


def split_words(words: list[str]) -> tuple[list[str], list[str]]:
    """Sweep files, and overrides."""
    return [word for word in words if "=" not in word], [word for word in words if "=" in word]


def test_the_documents_have_commands_to_check() -> None:
    verbs = {command.words[1] for command in of("bakeoff") if command.document == "README.md"}
    assert verbs == set(COMMAND_LINE.commands)  # type: ignore[attr-defined]
    assert {command.words[1] for command in of("make") if command.document == "README.md"} >= {"starter", "test"}


@pytest.mark.parametrize("command", list(commands()), ids=str)
def test_a_command_of_the_documents_names_a_program_we_know(command: Command) -> None:
    assert command.words[0] in OTHER_PROGRAMS | {"bakeoff"}


@pytest.mark.parametrize("command", of("bakeoff"), ids=str)
def test_a_bakeoff_command_of_the_documents_parses_and_composes(command: Command, desk: Path) -> None:
    verb, words = command.words[1], list(command.words[2:])
    if verb == "--help":
        return
    assert verb in COMMAND_LINE.commands, f"{verb} is no verb"  # type: ignore[attr-defined]
    if not words and verb not in ("doctor", "records"):  # the verb is only spoken of
        return
    context = COMMAND_LINE.commands[verb].make_context(verb, list(words))  # type: ignore[attr-defined]
    if verb == "run":
        known = {"-m", "--cfg", "job", "--info", "--config-dir"}
        assert {word for word in words if "=" not in word} <= known
        overrides = [word for word in words if "=" in word]
        for job in config.expand(overrides) if "-m" in words else [overrides]:
            config.Composer().job(job)
    elif verb in ("sweep", "tune"):
        assert runs_of(str(context.params["file"]), tuple(context.params["overrides"] or ()))
    elif verb == "report":
        files, overrides = split_words(context.params["arguments"])
        assert files
        assert all(runs_of(file, tuple(overrides)) for file in files)
    elif verb == "records":
        frame.filter_rows([], dict(word.split("=", 1) for word in context.params["filters"] or []))
    elif verb in ("data", "decide"):
        target = context.params["target"]
        assert target in choices("dataset") or Path(target).exists()
        header = Path(target).read_text(encoding="utf-8").splitlines()[0].split(",") if Path(target).is_file() else []
        assert {context.params[option] for option in ("text", "label", "group")} <= {*header, None}


@pytest.mark.parametrize("command", of("make"), ids=str)
def test_a_make_command_of_the_documents_has_its_target_and_variables(command: Command) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets, variables = split_words(list(command.words[1:]))
    assert set(targets) <= set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    for variable in variables:
        assert f"$({variable.partition('=')[0]})" in makefile
        if variable.startswith("SETTINGS="):
            assert runs_of("starter.yaml", tuple(shlex.split(variable.partition("=")[2])))


@pytest.mark.parametrize("name", sorted(files_of_the_documents()))
def test_a_file_that_the_documents_show_works(name: str, desk: Path) -> None:
    parts = Path(name).parts
    if parts[0] == "conf":
        config.Composer().job([f"{parts[1]}={Path(name).stem}"])
    else:
        assert runs_of(name, ())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_settings_and_choices_that_a_document_names_exist(document: str) -> None:
    shown = {tuple(Path(name).with_suffix("").parts[-2:]) for name in files_of_the_documents()}
    for span in inline(document):
        for key, value in re.findall(r"([a-z_]+(?:\.[a-z_]+)*)=([^\s=`]*)", span):
            group, *path = key.split(".")
            if group not in GROUPS:
                continue
            if path:
                assert any(path[-1] in {field.name for field in fields(noun)} for noun in NOUNS[group]), f"{key} is no setting"
            else:
                assert value in choices(group) or (group, value) in shown or value == "NAME", f"{span} names no choice"
        if re.fullmatch(r"(dataset|model|longdoc|budget|probe|machine)(\.[a-z_]+)+", span):
            group, *path = span.split(".")
            assert any(path[-1] in {field.name for field in fields(noun)} for noun in NOUNS[group]), f"{span} is no setting"


def test_the_readme_names_every_model_and_every_dataset() -> None:
    named = set(inline("README.md"))
    assert choices("model") <= named
    assert choices("dataset") <= named


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_that_a_document_names_exist(document: str) -> None:
    for span in inline(document):
        if re.fullmatch(r"(?:src|conf|sweeps|tests|benchmarks|\.ci)/[\w./-]*", span):
            assert (ROOT / span).exists(), f"{span} is no file here"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_environment_variables_that_a_document_names_are_read(document: str) -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for name in set(re.findall(r"BAKEOFF_\w+", text_of(document))):
        assert f'"{name}"' in source, f"nothing reads {name}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_pictures_lead_somewhere(document: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(document)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (ROOT / document).parent / path if path else ROOT / document
        assert found.exists(), f"{target} leads nowhere"
        if anchor:
            assert anchor in anchors(found), f"{target} names no heading"


def anchors(page: Path) -> set[str]:
    """The anchors that a Markdown page's headings get."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_table_of_rooms_is_the_house_as_it_is_enforced() -> None:
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|([^|]*)\|$", text_of("README.md"), flags=re.MULTILINE)
    told = {room: (set(re.findall(r"`(\w+)`", rooms)), set(re.findall(r"`(\w+)`", packages))) for room, _, rooms, packages in rows}
    enforced = {room: (rooms - {room}, packages) for room, (rooms, packages) in house.MAY.items()}
    assert told == enforced
    assert {room for room, _, rooms, _ in rows if rooms.strip() == "all"} == house.FREE


def test_git_keeps_the_reference_pages_only() -> None:
    def ignored(path: str) -> bool:
        return subprocess.run(["git", "-C", str(ROOT), "check-ignore", "--quiet", path], check=False).returncode == 0

    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout")
    assert not ignored("reports/README.md")
    assert not ignored("reports/starter/records.csv")
    assert ignored("reports/tickets/README.md")
    assert ignored("runs/0123456789ab/record.json")
