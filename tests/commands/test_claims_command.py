"""`bakeoff claims` with made-up claims: what it prints, keeps and returns."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

import bakery
from answered import RICH
from bakeoff import cli, config
from bakeoff.claims import registry
from bakeoff.claims import stored as kept
from bakeoff.claims.claim import Answer, Bench, Claim, NotMeasured, Size
from bakeoff.commands import claims_bench
from bakeoff.commands.baking import bake_runs
from bakeoff.commands.claims_bench import StoreBench
from bakeoff.errors import DataError
from bakeoff.store import Store, default_root
from bakery import TINY

HOLDS = Answer(verdict="holds", figure=0.802, unit="", interval=None, seen="As printed.", dataset=None)
UNTESTED = Answer(verdict="cannot be tested here", figure=None, unit="", interval=None, seen="It needs a GPU.", dataset=None)


def claim(name: str, measure: Callable[[Bench], Answer], **seconds: float) -> Claim:
    forms: dict[Size, float] = seconds or {"small": 0.2, "full": 7200}  # type: ignore[assignment]
    statement = f"What {name} says"
    return Claim(name=name, statement=statement, kind="mechanism", rule="It is as printed.", seconds=forms, measure=measure)


def refuse(bench: Bench) -> Answer:
    raise NotMeasured("the checkpoint is not here: fetch it")


def fall(bench: Bench) -> Answer:
    raise ValueError("a secret text of a document")


def wrong(bench: Bench) -> Answer:
    raise DataError("movie.tsv is not there: give its path")


Measures = dict[str, Claim]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Measures:
    """The registry of this test, in an empty working directory."""
    claims: Measures = {
        "first-claim": claim("first-claim", lambda bench: HOLDS),
        "second-claim": claim("second-claim", lambda bench: RICH),
    }
    monkeypatch.chdir(tmp_path)
    names: dict[str, Claim] = claims
    monkeypatch.setattr(registry, "load", names.__getitem__)

    class Names:
        def __iter__(self) -> object:
            return iter(names)

    monkeypatch.setattr(registry, "NAMES", Names())
    monkeypatch.setattr(registry, "KIND_OF", names)
    return claims


@pytest.fixture
def claims(known: Measures, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command: its exit code, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["bakeoff", "claims", *arguments])
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        assert isinstance(code, int)
        return code, captured.out, captured.err

    return call


Command = Callable[..., tuple[int, str, str]]


def answer_file(name: str) -> Path:
    return default_root() / "claims" / f"{name}.json"


def test_the_list_has_a_line_a_claim(claims: Command, known: Measures) -> None:
    known["third-claim"] = claim("third-claim", refuse, full=600)
    claims("second-claim")
    code, out, err = claims()
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["claim", "kind", "time", "(small)", "last", "verdict", "statement"]
    assert lines[1] == ["first-claim", "mechanism", "under", "1", "s", "–", "What", "first-claim", "says"]
    assert lines[2][5:8] == ["does", "not", "hold"]
    assert lines[3][2:6] == ["no", "small", "form", "–"]
    assert claims("--full")[1].splitlines()[1].split()[2:5] == ["2", "h", "00"]


def test_a_claim_prints_statement_figure_interval_and_verdict(claims: Command) -> None:
    code, out, err = claims("second-claim")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "second-claim: does not hold"
    told = {line[2:12].strip(): line[12:] for line in lines[1:12]}
    assert told["statement"] == "What second-claim says"
    assert told["rule"] == "It is as printed."
    assert told["figure"] == "1.25×"
    assert told["interval"] == "0.5 to ∞"
    assert told["could see"] == "0.2×"
    assert told["data"] == "movie"
    assert told["runs"] == "2"
    assert "small form, in under a second, on " in told["measured"]
    assert err.splitlines() == [
        "1 claim in small form, under 1 s from nothing; what is recorded is not baked again",
        "second-claim (small, under 1 s from nothing)",
    ]
    found = kept.read(answer_file("second-claim").parent, "second-claim")
    assert found is not None
    assert found.answer.rows == RICH.rows


def test_json_is_a_list_of_whole_objects(claims: Command, known: Measures) -> None:
    known["third-claim"] = claim("third-claim", refuse)
    code, out, _ = claims("first-claim", "second-claim", "third-claim", "--format", "json")
    assert code == 1
    first, second, third = json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert {"name", "statement", "verdict", "figure", "interval", "dataset", "machine", "run_ids"} <= set(first)
    assert set(first) == set(second) == set(third)
    assert (first["verdict"], first["figure"], first["interval"], first["run_ids"]) == ("holds", 0.802, None, [])
    assert (second["interval"], second["run_ids"]) == ({"low": 0.5, "high": None}, list(RICH.run_ids))
    assert (third["verdict"], third["error"]) == (None, "the checkpoint is not here: fetch it")
    listed = json.loads(claims("--format", "json")[1])
    assert [each["verdict"] for each in listed] == ["holds", "does not hold", None]


def test_what_could_not_be_measured_costs_the_others_nothing(claims: Command, known: Measures) -> None:
    known |= {
        "third-claim": claim("third-claim", fall),
        "fourth-claim": claim("fourth-claim", wrong),
        "fifth": claim("fifth", lambda bench: HOLDS),
    }
    code, out, err = claims("--all")
    assert code == 1
    assert err.splitlines()[-2].startswith("third-claim could not be measured: it failed with ValueError (test_claims_command.py:")
    assert err.splitlines()[-1] == "fourth-claim could not be measured: movie.tsv is not there: give its path"
    assert "secret" not in out + err
    assert "Traceback" not in err
    assert answer_file("fifth").is_file()
    assert not answer_file("third-claim").exists()
    assert out.splitlines()[-1] == "reports/claims/README.md"


def test_any_verdict_is_exit_code_0(claims: Command, known: Measures) -> None:
    known["third-claim"] = claim("third-claim", lambda bench: UNTESTED)
    assert claims("--all")[0] == 0
    page = Path("reports/claims/README.md").read_text()
    assert "**1 holds, 1 does not hold, 1 cannot be tested here.**" in page


def test_all_says_how_long_before_it_starts(claims: Command, known: Measures) -> None:
    known["third-claim"] = claim("third-claim", lambda bench: HOLDS, small=100.0)
    known["fourth-claim"] = claim("fourth-claim", refuse, full=100.0)
    first = claims("--all")[2].splitlines()[0]
    assert first == "3 claims in small form, about 2 min from nothing; what is recorded is not baked again; 1 has no such form"


def test_a_claim_without_this_form_shows_its_last_answer(claims: Command, known: Measures) -> None:
    known["third-claim"] = claim("third-claim", lambda bench: HOLDS, full=100.0)
    code, out, _ = claims("third-claim")
    assert (code, out.splitlines()[0]) == (0, "third-claim: cannot be tested here")
    assert "It has no small form, and no answer of another is recorded: with --size full it takes about 2 min." in out
    assert claims("third-claim", "--full")[1].splitlines()[0] == "third-claim: holds"
    code, out, _ = claims("third-claim")
    assert (code, out.splitlines()[0]) == (0, "third-claim: holds")
    assert "full form" in out


def test_what_cannot_be_tested_here_replaces_no_answer(claims: Command, known: Measures) -> None:
    claims("first-claim")
    before = answer_file("first-claim").read_bytes()
    known["first-claim"] = claim("first-claim", lambda bench: UNTESTED)
    code, out, err = claims("first-claim")
    assert (code, out.splitlines()[0]) == (0, "first-claim: holds")
    assert "first-claim cannot be tested here, and its last answer stands: It needs a GPU." in err
    assert answer_file("first-claim").read_bytes() == before


def test_a_page_is_made_of_what_is_there(claims: Command, tmp_path: Path) -> None:
    claims("first-claim")
    assert not (tmp_path / "reports").exists()
    assert claims("--page")[:2] == (0, "reports/claims/README.md\n")
    assert "Not measured yet: second-claim." in Path("reports/claims/README.md").read_text()
    claims("second-claim", "--out", "pages")
    folder = tmp_path / "pages" / "claims"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    shutil.rmtree(default_root() / "claims")
    assert claims("--page", "--out", "pages")[0] == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_page_that_is_asked_for_with_json_leaves_json_alone_on_standard_output(claims: Command) -> None:
    claims("first-claim")
    code, out, error = claims("--page", "--format", "json")
    assert code == 0
    assert [(each["name"], each["verdict"]) for each in json.loads(out)] == [("first-claim", "holds"), ("second-claim", None)]
    assert error.strip() == "reports/claims/README.md"


def test_an_interrupt_keeps_what_was_answered(claims: Command, known: Measures) -> None:
    def interrupt(bench: Bench) -> Answer:
        raise KeyboardInterrupt

    known["second-claim"] = claim("second-claim", interrupt)
    code, _, err = claims("--all")
    assert code == 130
    assert err.splitlines()[-1].startswith("interrupted; what was answered is kept")
    assert answer_file("first-claim").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frist-claim"], "bakeoff: frist-claim is no claim; did you mean first-claim?"),
        (["--all", "first-claim"], "bakeoff: --all measures every claim: leave out --all, or the names"),
        (["--full", "--size", "small"], "bakeoff: --full is --size full: leave one out"),
    ],
)
def test_a_mistake_is_one_sentence(claims: Command, arguments: list[str], message: str) -> None:
    assert claims(*arguments) == (2, "", message + "\n")


# The bench.


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreBench:
    """A bench that bakes in this process, with a sweep of two models on a small table."""

    def inprocess(*arguments: object, **options: object) -> object:
        return bake_runs(*arguments, **(options | {"executor": "inprocess"}))  # type: ignore[arg-type]

    monkeypatch.setattr(claims_bench, "bake_runs", inprocess)
    monkeypatch.chdir(tmp_path)
    pool = bakery.write_csv(tmp_path / "pool.csv", bakery.rows(24))
    test = bakery.write_csv(tmp_path / "test.csv", bakery.rows(12, seed=1))
    fixed = dict(text.split("=", 1) for text in bakery.on_table(pool, test))
    grid = {key: {"value": value.strip("'")} for key, value in fixed.items()} | {
        "model": {"values": ["majority", "tfidf"]},
        "seed": {"value": 0},
    }
    folder = tmp_path / "sweeps" / "claims"
    folder.mkdir(parents=True)
    (folder / "tiny.yaml").write_text(yaml.safe_dump({"method": "grid", "parameters": grid}))
    return StoreBench(size="small", store=Store(default_root()))


def test_a_sweep_of_a_claim_is_baked_once_and_resumes(bench: StoreBench) -> None:
    first = bench.bake("tiny")
    assert [each.record.run.model.kind for each in first] == ["majority", "tfidf"]
    assert all((each.folder / "predictions.parquet").is_file() for each in first)
    assert not (first[1].folder / "model").exists()
    before = [(each.folder / "record.json").stat().st_mtime_ns for each in first]
    assert bench.bake("tiny") == first
    assert [(each.folder / "record.json").stat().st_mtime_ns for each in first] == before
    both = bench.bake("tiny", "seed=0,1", "model=tfidf")
    assert [each.record.run.seed for each in both] == [0, 1]
    assert list(bench.records) == [*(each.record.run_id for each in first), both[1].record.run_id]
    assert bench.sweeps == ["sweeps/claims/tiny.yaml", "sweeps/claims/tiny.yaml", "sweeps/claims/tiny.yaml seed=0,1 model=tfidf"]
    assert bench.recorded == 0
    again = StoreBench(size="small", store=bench.store)
    again.bake("tiny", "dataset.path='/home/somebody/pool.csv'", f"dataset.path='{Path.cwd() / 'pool.csv'}'")
    assert again.recorded == 2
    assert again.sweeps == ["sweeps/claims/tiny.yaml dataset.path=pool.csv dataset.path=pool.csv"]


def test_cells_that_do_not_apply_are_left_out(bench: StoreBench) -> None:
    found = bench.bake("tiny", "model=tfidf", "budget.labels=10,99")
    assert [each.record.run.budget.labels for each in found] == [10]
    with pytest.raises(NotMeasured, match=r"budget\.labels=99 is more than the 24 labelled rows"):
        bench.bake("tiny", "budget.labels=99")
    with pytest.raises(NotMeasured, match=r"gone\.yaml is no sweep file"):
        bench.bake("gone")


def test_the_packaged_sweeps_of_claims_are_found_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert config.find_sweep(config.CLAIMS / "needle.yaml").is_file()


def test_a_failed_run_is_not_measured(bench: StoreBench, tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(NotMeasured, match=r"^1 of 1 Runs of sweeps/claims/tiny\.yaml failed, such as [0-9a-f]{12}: "):
        bench.bake("tiny", *TINY["pretrained"], bakery.checkpoint_override(folder))


@pytest.mark.parametrize("kind", ["majority", "tfidf", "bilstm"])
def test_kept_weights_answer_as_the_run_did(bench: StoreBench, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.bake("tiny", *TINY[kind])  # recorded without weights, which are then made again
    (baked,) = bench.bake("tiny", *TINY[kind], keep_weights=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # a record leaves the folders of its data out
    texts = bench.texts(baked.record.run)
    answers = bakery.Baked(record=baked.record, folder=baked.folder).answers
    assert set(texts) == set(answers)
    found = bench.predict(baked, list(texts.values()))
    assert (found.dtype, found.shape) == (np.float32, (12, 2))
    assert found == pytest.approx(np.array([answers[row_id][1] for row_id in texts]), abs=1e-5)
    assert bench.predict(baked, []).shape == (0, 2)


def test_weights_that_were_not_kept_answer_nothing(bench: StoreBench) -> None:
    (baked,) = bench.bake("tiny", "model=tfidf")
    with pytest.raises(NotMeasured, match="keeps no weights"):
        bench.predict(baked, ["good"])
