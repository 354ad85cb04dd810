"""`bakeoff decide` with Runs that are made up: what it asks, in which order, and that it ends in time."""

import dataclasses
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import factories
from bakeoff import cli, config
from bakeoff.commands import (
    decide,
    decide_against,
    decide_audit,
    decide_field,
    decide_latency,
    decide_pace,
    decide_page,
    decide_words,
    decide_work,
)
from bakeoff.deciding.clock import Clock
from bakeoff.deciding.estimates import Pace
from bakeoff.deciding.offers import Offer, floors, trained
from bakeoff.errors import ConfigError, DataError
from bakeoff.report.limits import Limits
from bakeoff.runner.events import Outcome
from bakeoff.spec import Latency, LongDoc, Run
from bakeoff.store import Store

P50_MS = {"tfidf": 0.3, "bilstm": 1.0, "frozen": 8.0, "pretrained": 9.0}
"""Their p95 is twice as much."""
ACCURACY = {"majority": 0.5, "tfidf": 0.8, "zero_shot": 0.6, "frozen": 0.82, "bilstm": 0.75, "pretrained": 0.9, "distilled_bilstm": 0.86}
TAKES = {"majority": 2.0, "tfidf": 6.0, "zero_shot": 6.0, "frozen": 20.0, "bilstm": 20.0, "pretrained": 60.0, "distilled_bilstm": 30.0}
PACES = {
    ("tfidf", None): Pace(seconds_per_fit_row=0.01),
    ("frozen", None): Pace(seconds_per_fit_row=0.04, seconds_per_answer=0.02),
    ("bilstm", None): Pace(seconds_per_step=0.05, seconds_per_answer=0.005),
    ("pretrained", None): Pace(seconds_per_step=0.3, seconds_per_answer=0.02),
}
BEGIN = datetime.fromisoformat("2026-03-01T10:00:00+00:00")


class Bakery:
    """A clock, and a stand-in for `bake_runs` that moves it and writes made-up records."""

    def __init__(self) -> None:
        self.now, self.baked, self.factor = 0.0, list[str](), 1.0
        self.takes, self.p50_ms, self.accuracy = dict(TAKES), dict(P50_MS), dict(ACCURACY)
        self.contended = list[bool]()
        """Of the first sessions."""
        self.after: Any = None

    def __call__(self, runs: Sequence[Run], machine: Any, store: Store, **options: Any) -> Outcome:
        took, failed, baked = [0.0], dict[str, str](), list[str]()
        limit = 60 * machine.time_limit_minutes
        contended = bool(self.contended and isinstance(runs[0].probe, Latency) and self.contended.pop(0))
        for run in runs:
            if isinstance(run.probe, Latency):
                seconds = 10.0
                facts = factories.make_latency_facts(p50_ms=self.p50_ms[run.model.name], ratio=1.0)
                shutil.rmtree(store.folder(run.run_id), ignore_errors=True)
                factories.bake_latency(store, run, dataclasses.replace(facts, contended=contended))
                self.baked.append(f"time {run.model.name}")
            else:
                seconds = self.factor * self.takes[run.model.name]
                if seconds > limit:
                    seconds = limit
                    failed[run.run_id] = "TimeLimit: stopped"
                else:
                    times = {
                        "started_at": BEGIN.isoformat(),
                        "finished_at": (BEGIN + timedelta(seconds=max(0, round(seconds - 1)))).isoformat(),
                    }
                    factories.bake(store, run, accuracy=self.accuracy[run.model.name], rows=1000, **times)
                    baked.append(run.run_id)
                self.baked.append(f"{run.model.name} {run.budget.labels} {run.seed}")
            took.append(seconds)
        self.now += max(took)
        if self.after is not None:
            self.after()
        return Outcome(baked=tuple(baked), present=(), failed=failed, interrupted=False)


@pytest.fixture
def bakery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bakery:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), size=6)) for _ in range(400)]
    rows = [f"{' '.join(rng.choice(words, size=9))},{'good' if i % 2 else 'bad'}" for i in range(600)]
    (tmp_path / "tickets.csv").write_text("\n".join(["body,topic", *rows]) + "\n")
    found = Bakery()
    monkeypatch.setattr(decide_work, "bake_runs", found)
    monkeypatch.setattr(decide_work, "usable_cpus", lambda: 2)
    monkeypatch.setattr(decide_latency, "usable_cpus", lambda: 2)
    monkeypatch.setattr(decide_pace, "paces", lambda runs, **_: {key: PACES[key] for key in runs})
    monkeypatch.setattr(decide_field, "check_run", lambda run, store: None)
    monkeypatch.setattr(decide_audit, "lengths_tokens", lambda run, documents: np.full(len(documents), 20))
    monkeypatch.setattr(decide, "Clock", lambda budget_seconds: Clock(budget_seconds=budget_seconds, now=lambda: found.now))
    monkeypatch.setattr(decide_page.pages, "write_report", lambda sweeps, store, folder, **_: folder / "README.md")
    return found


def call(*, seconds: float, max_p95_ms: float | None = 20.0, **options: Any) -> int:
    field = decide_field.field_of("tickets.csv", {"text": "body", "label": "topic"}, test=None, time=None, name=None)
    limits = Limits(labels="all", max_p95_ms=max_p95_ms, threads=2)
    return decide.decide(field, limits, hours=seconds / 3600, threads=2, **options)


def test_cheapest_first_and_what_is_too_slow_is_timed_and_never_trained(bakery: Bakery, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(seconds=900, max_p95_ms=15.0) == 0
    assert bakery.baked[:4] == ["time tfidf", "time bilstm", "time frozen", "time pretrained"]
    assert bakery.baked[4:6] == ["majority all 0", "zero_shot 0 0"] or bakery.baked[4] == "majority all 0"
    assert not [name for name in bakery.baked if name.startswith("frozen")]  # p95 of 16 ms
    assert "bilstm all 0" in bakery.baked
    assert bakery.baked.index("pretrained all 0") < bakery.baked.index("distilled_bilstm all 0")  # a teacher, though too slow to serve
    said = capsys.readouterr()
    assert "frozen: p95 of 16.0 ms (up to 16.8) is above 15.0 ms" in said.out
    assert "not trained: pretrained: p95 of 18.0 ms" in said.err


def test_it_ends_with_a_recommendation_what_was_not_run_and_how_to_ship_it(bakery: Bakery, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(seconds=1800) == 0
    said = capsys.readouterr().out
    assert "tickets, all 8,000 labels, p95 at most 20 ms on the CPU with 2 threads: ship pretrained" in said
    assert "the other 4 folds: all five would judge on 6" in said
    assert "report: reports/tickets/README.md" in said
    run_id = said.rpartition("bakeoff export ")[2].split()[0]
    record = Store(Path(decide_work.default_root())).load(run_id)
    assert record is not None
    assert (record.run.model.name, record.run.seed) == ("pretrained", 0)
    assert "More labels: from 2" in said
    assert json.loads(Path("reports/tickets/decision.json").read_text())["winner"][0] == run_id


@pytest.mark.parametrize(("seconds", "factor"), [(75.0, 1.0), (300.0, 0.5), (300.0, 4.0)])
def test_it_never_takes_longer_than_it_may(bakery: Bakery, seconds: float, factor: float) -> None:
    bakery.factor = factor
    assert call(seconds=seconds) == 0
    assert bakery.now <= seconds


def test_where_nobody_could_be_timed_scores_alone_are_told(
    bakery: Bakery, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = decide_latency.plan_session((), seconds=0.0)
    monkeypatch.setattr(decide_latency, "plan_session", lambda offers, *, seconds: nothing)
    assert call(seconds=1800) == 0
    said = capsys.readouterr().out
    assert "2 threads: not measured." in said
    assert "By scores alone: tickets, all 8,000 labels: ship pretrained" in " ".join(said.split())
    assert "bakeoff export " in said


def test_the_same_command_goes_on_where_it_stopped(bakery: Bakery, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(seconds=150) == 0
    first, bakery.baked = bakery.baked, []
    assert "pretrained all 1" not in first
    began = bakery.now
    assert call(seconds=1800) == 0
    assert not set(first) & set(bakery.baked)
    assert "pretrained all 1" in bakery.baked
    assert bakery.now - began <= 1800
    bakery.baked = []
    assert call(seconds=1800) == 0
    assert bakery.baked == []
    assert "ship pretrained" in capsys.readouterr().out


def test_too_little_time_for_the_floors_is_one_sentence(bakery: Bakery) -> None:
    with pytest.raises(
        ConfigError, match=r"^--hours 0\.005 \(18 s\) is too little for even the floors, which take about .* in all here: give"
    ):
        call(seconds=18)
    assert bakery.baked == []


def test_a_dry_run_prints_the_plan_and_bakes_nothing(bakery: Bakery, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(seconds=900, dry_run=True) == 0
    said = capsys.readouterr().out
    assert bakery.baked == []
    assert "timed before training: tfidf, bilstm, frozen, pretrained" in said
    assert "floors: what any model has to beat" in said
    assert "pretrained, all labels, seed 0" in said
    assert call(seconds=900, dry_run=True, format="json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["budget_seconds"] == 900
    first = plan["runs"][0]
    assert (first["round"], first["run"], first["estimate_seconds"]) == ("floors", "majority, all labels, seed 0", 0.8)


def test_a_file_that_changes_meanwhile_is_one_sentence(bakery: Bakery, tmp_path: Path) -> None:
    def append() -> None:
        with open(tmp_path / "tickets.csv", "a") as file:
            file.write("one more,good\n")

    bakery.after = append
    with pytest.raises(DataError, match=r"^tickets changed while bakeoff decide was at work: run the same command again"):
        call(seconds=900)


def test_a_wrong_column_is_told_in_the_options_of_the_command(bakery: Bakery) -> None:
    field = decide_field.field_of("tickets.csv", {"text": "bod", "label": "topic"}, test=None, time=None, name=None)
    with pytest.raises(DataError, match="--text bod"):
        decide.decide(field, Limits(), hours=1.0, threads=1)


def test_the_page_of_last_month_stays(bakery: Bakery, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(decide_against, "grown", lambda old, dataset: {})  # made-up answers are to rows of their own
    assert call(seconds=1800) == 0
    old = Path("reports/tickets")
    (old / "README.md").write_text("last month")
    kept = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    with open(tmp_path / "tickets.csv", "a") as file:
        file.write("one more of them,good\n")
    monkeypatch.setattr(decide_page.pages, "write_report", lambda sweeps, store, folder, **_: written(folder))
    capsys.readouterr()
    for _ in range(2):  # the same command again finds last month's decision again
        assert call(seconds=1800, against=old, format="json") == 0
        said = json.loads(capsys.readouterr().out)
        assert said["verdict"] == "keep"
        new = Path(said["report"]).parent
        assert new.name.startswith("tickets-")
        assert new.parent == old.parent
        assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == kept
        assert "## Keep" in (new / "README.md").read_text()
        assert (new / "decision.json").read_text() != (old / "decision.json").read_text()
    assert bakery.baked.count("pretrained all 0") == 2


def written(folder: Path) -> Path:
    (folder / "README.md").write_text("this month")
    return folder / "README.md"


def test_the_sweep_files_beside_the_page_are_what_was_baked(bakery: Bakery) -> None:
    field = decide_field.field_of("tickets.csv", {"text": "body", "label": "topic"}, test=None, time=None, name="my page")
    offers = [*floors(), *trained(), Offer(model="tfidf", seed=1), Offer(model="bilstm", asks="latency", threads=2)]
    sweeps = field.sweeps(offers)
    assert sweeps[0].name == "my page"
    asked = [run.run_id for offer in offers if (run := field.run(offer)) is not None]
    assert sorted(run.run_id for sweep in sweeps for run in sweep.runs) == sorted(asked)
    for sweep in sweeps:
        text = Path(sweep.path).read_text()
        assert "tickets.csv" not in text  # whoever has the file says where it lies
        read = config.load_sweep(Path(sweep.path), field.paths)
        assert [run.run_id for run in read.runs] == [run.run_id for run in sweep.runs]
    assert len(field.sweeps(offers[:1])) == 1
    assert [path.name for path in (field.folder / "plan").glob("*")] == ["my page.yaml"]


def test_a_session_times_what_its_seconds_allow_cheapest_first() -> None:
    offers = tuple(Offer(model=name, asks="latency") for name in ("tfidf", "bilstm", "frozen", "pretrained"))
    found = decide_latency.plan_session(offers, seconds=225.0)
    assert (found.offers, found.left_out, found.seconds) == (offers, (), 225.0)
    assert (found.rules.seconds_per_model, found.rules.samples_p95) == (225.0 / 4 - 8.0, 400)
    short = decide_latency.plan_session(offers, seconds=40.0)
    assert ([offer.model for offer in short.left_out], short.rules.samples_p95) == (["pretrained"], 200)
    assert decide_latency.plan_session(offers, seconds=7200.0).rules.samples_p95 == 1000
    assert decide_latency.plan_session(offers, seconds=5.0).seconds == 0.0


def test_a_sample_is_an_eighth_to_a_quarter_of_the_pool_unless_that_takes_too_long() -> None:
    def rows(seconds_per_row: float) -> int:
        return decide_pace.sample_rows(8000, seconds_per_row=seconds_per_row, seconds=3.0)

    assert [rows(each) for each in (0.0, 0.002, 0.01, 0.04, 1.0)] == [2000, 1500, 1000, 300, 64]
    assert decide_pace.sample_rows(40, seconds_per_row=0.001, seconds=3.0) == 40


def test_other_readings_take_as_many_times_as_long_as_they_read_tokens() -> None:
    lengths, head = np.array([100, 800]), LongDoc(strategy="head", max_tokens=256)
    windows = LongDoc(strategy="windows", max_tokens=None, window_tokens=256, overlap_tokens=64, pool="mean_logits", trained_windows=32)
    assert decide_audit.times_as_long(lengths, LongDoc(strategy="head", max_tokens=512), head) == 612 / 356
    assert decide_audit.times_as_long(lengths, windows, head) == pytest.approx((100 + 800 * 4 / 3) / 356)


def test_the_reference_takes_its_share_of_a_session_that_nobody_asked_it_into() -> None:
    offers = tuple(Offer(model=name, asks="latency") for name in ("frozen", "pretrained"))
    found = decide_latency.plan_session(offers, seconds=90.0)
    assert (found.offers, found.seconds_per_model, found.seconds) == (offers, 90.0 / 3 - 8.0, 90.0)
    short = decide_latency.plan_session(offers, seconds=30.0)
    assert ([offer.model for offer in short.offers], short.seconds) == (["frozen"], 30.0)
    assert decide_latency.plan_session(offers, seconds=20.0).offers == ()


def test_what_this_machine_cannot_serve_with_is_one_sentence(bakery: Bakery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide_latency, "visible_gpus", lambda: 0)
    with pytest.raises(ConfigError, match=r"^--device cuda: there is no GPU here"):
        decide_latency.check_serving(Limits(device="cuda"), 1)
    with pytest.raises(ConfigError, match=r"^--threads 3 is more than the 2 CPUs that bakeoff may use here$"):
        decide_latency.check_serving(Limits(), 3)


def test_a_model_that_is_too_slow_is_no_rival_of_next_month(bakery: Bakery) -> None:
    bakery.p50_ms = {**P50_MS, "pretrained": 40.0}
    assert call(seconds=1800) == 0
    store, plain = Store(Path(decide_work.default_root())), json.loads(Path("reports/tickets/decision.json").read_text())
    names = [store.load(run_ids[0]).run.model.name for run_ids in (plain["winner"], *plain["rivals"])]  # type: ignore[union-attr]
    assert "pretrained all 0" in bakery.baked  # a teacher, with the best score
    assert names == ["distilled_bilstm", "frozen", "tfidf"]


def test_scores_without_latencies_are_compared_next_month_too(bakery: Bakery, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = decide_latency.plan_session((), seconds=0.0)
    monkeypatch.setattr(decide_latency, "plan_session", lambda offers, *, seconds: nothing)
    assert call(seconds=1800) == 0
    winner = json.loads(Path("reports/tickets/decision.json").read_text())["winner"][0]
    record = Store(Path(decide_work.default_root())).load(winner)
    assert record is not None
    assert record.run.model.name == "pretrained"


def test_whom_a_second_session_lets_lead_gets_its_draws(bakery: Bakery) -> None:
    """The first session is disturbed, so everybody is trained; in the second pretrained is too slow."""
    bakery.contended, bakery.p50_ms = [True], {**P50_MS, "pretrained": 40.0}
    assert call(seconds=3600) == 0
    again = bakery.baked.index("time pretrained", 4)
    assert "distilled_bilstm all 4" in bakery.baked[again:]
    assert not [name for name in bakery.baked[again + 1 :] if name.startswith("pretrained 2")]


def test_a_teacher_whose_weights_are_gone_shares_the_time_of_its_student(bakery: Bakery, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(seconds=1800) == 0
    field = decide_field.field_of("tickets.csv", {"text": "body", "label": "topic"}, test=None, time=None, name=None)
    found = decide_work.Decision.begin(field, Limits(), clock=Clock(budget_seconds=900, now=lambda: bakery.now), threads=2)
    student, teacher = Offer(model="distilled_bilstm"), Offer(model="pretrained")
    assert found._lost_needs(student) == [teacher]  # made-up Runs keep no weights
    assert found._seconds_until_done(student) == found.seconds(student) + found.seconds(teacher)


def test_a_model_without_weights_is_not_said_to_be_exported(bakery: Bakery, capsys: pytest.CaptureFixture[str]) -> None:
    bakery.accuracy = {**ACCURACY, "zero_shot": 0.99}
    assert call(seconds=1800, max_p95_ms=None) == 0
    said = capsys.readouterr().out
    assert "ship zero_shot" in said
    assert "bakeoff export" not in said
    assert "zero_shot:" not in said.rpartition("Not run:")[2]


def test_the_bound_of_the_rule_drops_what_is_too_slow_and_a_disturbed_session_drops_nobody(tmp_path: Path) -> None:
    offer = Offer(model="bilstm", asks="latency")
    facts = factories.make_latency_facts(p50_ms=10.0, ratio=1.0)
    record = factories.bake_latency(Store(tmp_path), factories.make_latency_run(model="bilstm"), facts)
    high = facts.intervals["p95_ms"].high
    assert decide_latency.too_slow({offer: record}, Limits(max_p95_ms=high)) == {}
    assert list(decide_latency.too_slow({offer: record}, Limits(max_p95_ms=high - 0.01))) == [("bilstm", None)]
    noisy = dataclasses.replace(record, latency=dataclasses.replace(facts, contended=True))
    assert decide_latency.too_slow({offer: noisy}, Limits(max_p95_ms=1.0)) == {}
    slow = dataclasses.replace(
        record,
        latency=dataclasses.replace(facts, p95_ms=None, intervals={name: one for name, one in facts.intervals.items() if name == "p50_ms"}),
    )
    assert "its median alone" in decide_latency.too_slow({offer: slow}, Limits(max_p95_ms=5.0))[("bilstm", None)]


def test_what_the_last_doubling_bought_is_told_over_shared_draws() -> None:
    said = decide_words._gain({"all": {0: 0.9, 1: 0.92, 2: 0.95}, 1000: {0: 0.89, 1: 0.9}}, leader="tfidf", pool=2000)
    assert said == "from 1,000 to 2,000 labels tfidf gained +1.5 points (2 draws); another doubling rarely buys more than the last one did."
    assert decide_words._gain({"all": {0: 0.9}}, leader="tfidf", pool=2000) is None


@pytest.mark.slow
def test_a_tiny_file_is_decided_in_its_time(tmp_path: Path) -> None:
    praise, blame = (["good", "great", "lovely", "superb", "fine"], ["bad", "awful", "poor", "dreadful", "dull"])
    rng = np.random.default_rng(3)
    filler = ["".join(rng.choice(list("abcdefghijklmnop"), size=6)) for _ in range(300)]
    lines = [
        f"{' '.join(rng.choice(filler, size=7))} {rng.choice(praise if i % 2 else blame)},{'up' if i % 2 else 'down'}" for i in range(500)
    ]
    (tmp_path / "tiny.csv").write_text("\n".join(["body,topic", *lines]) + "\n")
    command = [sys.executable, "-m", "bakeoff.cli", "decide", "tiny.csv", "--text", "body", "--label", "topic", "--hours", "0.04"]
    begun = time.monotonic()
    done = subprocess.run([*command, "--format", "json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert time.monotonic() - begun <= 1.1 * 0.04 * 3600
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {one["candidate"] for one in said["candidates"]} >= {"majority", "tfidf"}
    assert said["report"] == "reports/tiny/README.md"
    assert said["export"].startswith("bakeoff export ")
    assert (tmp_path / "reports" / "tiny" / "index.html").is_file()
    again = subprocess.run(
        [sys.executable, "-m", "bakeoff.cli", "sweep", "reports/tiny/plan/tiny.yaml", "dataset.path=tiny.csv", "--dry-run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "to bake: 0" in again.stdout, again.stderr


def test_the_verb_refuses_hours_that_are_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["bakeoff", "decide", "x.csv", "--hours", "0"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "bakeoff: --hours 0 should be above 0, for example 0.25\n"
