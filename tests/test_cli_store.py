"""Commands on stores in trouble: exit codes, one sentence, and what is there stays."""

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml

import bakery
from bakeoff import cli
from bakeoff.errors import ConfigError
from bakeoff.store import RECORD, Store, default_root

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bakeoff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """A command in this process, in an empty folder: exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["bakeoff", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    """Overrides that ask about 24 rows, 12 of them tested."""
    return bakery.on_table(
        bakery.write_csv(tmp_path / "pool.csv", bakery.rows(24)), bakery.write_csv(tmp_path / "test.csv", bakery.rows(12))
    )


def sweep_file(folder: Path, seeds: Sequence[int]) -> str:
    grid = {"method": "grid", "description": "Which?", "parameters": {"model": {"values": ["majority"]}, "seed": {"values": list(seeds)}}}
    (folder / "own.yaml").write_text(yaml.safe_dump(grid))
    return str(folder / "own.yaml")


def test_records_lists_the_others_and_names_one_that_cannot_be_read(bakeoff: Call, table: list[str], tmp_path: Path) -> None:
    assert bakeoff("sweep", sweep_file(tmp_path, [0, 1]), *table, "--executor", "inprocess")[0] == 0
    store = Store(default_root())
    bad, good = store.load_all()
    (store.folder(bad.run_id) / RECORD).write_text("half")
    code, out, err = bakeoff("records", "--format", "json")
    assert (code, [row["run_id"] for row in json.loads(out)]) == (0, [good.run_id])
    assert err == f"bakeoff: {bad.run_id}/record.json is no record: it is not whole, or no JSON\n"


def test_a_record_of_a_newer_bakeoff_is_refused_by_run_and_passed_over_by_a_sweep(bakeoff: Call, table: list[str], tmp_path: Path) -> None:
    assert bakeoff("sweep", sweep_file(tmp_path, [0]), *table, "--executor", "inprocess")[0] == 0
    store = Store(default_root())
    (record,) = store.load_all()
    path = store.folder(record.run_id) / RECORD
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 7'))
    before = path.read_bytes()
    why = f"{record.run_id}/record.json is no record: a newer bakeoff wrote it (schema version 7, here 1): upgrade bakeoff to read it"
    code, out, err = bakeoff("run", "model=majority", "seed=0", *table)
    assert (code, out, err) == (2, "", f"bakeoff: {why}\n")
    code, out, err = bakeoff("sweep", sweep_file(tmp_path, [0, 1]), *table, "--executor", "inprocess")
    assert code == 0
    assert next(line for line in err.splitlines() if line.startswith("not applicable")).endswith(why)
    assert len(store.load_all()) == 1  # the other seed
    assert path.read_bytes() == before


def test_a_store_that_cannot_be_written_is_one_sentence(bakeoff: Call, table: list[str], tmp_path: Path) -> None:
    default_root().rmdir()
    default_root().write_text("a file")
    for command in (("sweep", sweep_file(tmp_path, [0])), ("run", "model=majority")):
        code, out, err = bakeoff(*command, *table)
        assert (code, out) == (2, "")
        last = err.splitlines()[-1]
        assert last.startswith(f"bakeoff: nothing can be written to {default_root()} (")
        assert last.endswith("): set BAKEOFF_RUNS to a folder where that is allowed")


def test_the_end_names_every_failed_run_and_its_log(
    bakeoff: Call, table: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("bakeoff.commands.baking.bake_one", broken)
    code, _, err = bakeoff("sweep", sweep_file(tmp_path, [0, 1]), *table, "machine.share_texts=true", "--executor", "inprocess")
    assert code == 1
    failed = Store(default_root()).failures()
    lines = err.splitlines()
    end = lines[lines.index("2 Runs failed, 0 are recorded:") :]
    assert len(end) == 5
    for failure in failed:
        at = end.index(f"failed: {failure['run_id']} RuntimeError: no")
        assert end[at + 1].endswith(f", log: {default_root() / failure['run_id'] / 'failure.json'}")


def test_a_time_limit_is_a_setting_of_the_machine() -> None:
    assert bakery.compose("model=majority").machine.time_limit_seconds is None
    assert bakery.compose("model=majority", "machine.time_limit_minutes=30").machine.time_limit_seconds == 1800
    with pytest.raises(ConfigError, match=r"machine\.time_limit_minutes=-1 should be above 0; null is no limit"):
        bakery.compose("model=majority", "machine.time_limit_minutes=-1")


def test_ctrl_c_before_anything_starts_is_no_success(bakeoff: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("bakeoff.commands.status.status", interrupted)
    code, out, err = bakeoff("status")
    assert (code, out) == (130, "")
    assert "Traceback" not in err


def test_status_and_clean_from_the_command_line(bakeoff: Call, table: list[str], tmp_path: Path) -> None:
    assert bakeoff("sweep", sweep_file(tmp_path, [0]), *table, "--executor", "inprocess")[0] == 0
    code, out, err = bakeoff("status", sweep_file(tmp_path, [0, 1]), *table)
    assert (code, err) == (0, "")
    assert re.fullmatch(r"own: 1 of 2 done, 0 running, 0 failed, 1 to do, about \d+ s of work for one slot\n", out)
    assert bakeoff("status")[1] == f"nothing is being baked in {default_root()}\n"
    assert bakeoff("clean") == (2, "", "bakeoff: nothing to free is named: add --weights, --caches, --assets or --old\n")
    code, out, _ = bakeoff("clean", "--weights", "--caches", "--dry-run")
    assert code == 0
    assert out.splitlines()[-1].endswith("MB in all; every record stays")
