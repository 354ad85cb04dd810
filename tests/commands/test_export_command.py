"""`bakeoff export`: whole or not at all, and only what answers as it was scored."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import bakery
import factories
from bakeoff.commands import card_facts, saved_runs
from bakeoff.commands import export as command
from bakeoff.commands.baking import bake_runs
from bakeoff.errors import BakeoffError, DataError, NotApplicable
from bakeoff.shipping import check
from bakeoff.spec import Quality
from bakeoff.store import Store, default_root


def baked(tmp_path: Path, *overrides: str, rows: int = 200) -> bakery.Baked:
    """A Run on a table of its own, with its weights kept."""
    file = tmp_path / "tickets.csv"
    if not file.exists():
        bakery.write_csv(file, bakery.rows(rows))
    return bakery.bake(bakery.compose(*bakery.on_table(file), "machine.keep_weights=all", *overrides))


def tfidf(tmp_path: Path, *overrides: str) -> bakery.Baked:
    return baked(tmp_path, *bakery.TINY["tfidf"], "budget.labels=60", *overrides)


def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the folder's model answer here, which spares a process."""
    from bakeoff.shipping import served

    def answers(folder: Path, documents: object, *, threads: int) -> np.ndarray:
        found: np.ndarray = served.load(folder, threads=threads).classifier.probabilities(documents)  # type: ignore[arg-type]
        return found

    monkeypatch.setattr(check, "answers", answers)


def test_a_run_is_exported_and_answers_by_itself(tmp_path: Path) -> None:
    made, folder = tfidf(tmp_path), tmp_path / "to" / "model"
    said = command.export(made.record.run_id[:6], folder, engine="eager", refit=False)
    accuracy = made.record.quality["test"].accuracy
    assert f"accuracy {accuracy:.1%} (95% interval " in said
    assert sorted(path.name for path in folder.iterdir()) == [
        *("README.md", "model.safetensors", "predict.py", "requirements.txt", "settings.json", "vocabulary.json")
    ]
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    card = (folder / "README.md").read_text()
    assert f"accuracy {accuracy:.1%}" in card
    assert made.record.data.revision in card
    assert "all labels agree, and probabilities differ by at most 0." in card
    assert "Not measured on any machine" in card
    assert "Latin 100%" in card
    assert str(tmp_path) not in card


def test_a_folder_that_answers_otherwise_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, folder = tfidf(tmp_path), tmp_path / "model"

    def off(where: Path, documents: list[str], *, threads: int) -> np.ndarray:
        rows = list(made.answers.values())
        found = np.asarray([probabilities for _, probabilities in rows], dtype=np.float32)
        found[0] += (2e-5, -2e-5)
        return found

    monkeypatch.setattr(check, "answers", off)
    with pytest.raises(BakeoffError, match=r"was not exported: its folder labels 0 of \d+ test rows otherwise .* differ by up to 2e-05"):
        command.export(made.record.run_id, folder, engine="eager", refit=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tickets.csv"]


def test_a_child_that_imports_bakeoff_is_caught(tmp_path: Path) -> None:
    (tmp_path / "predict.py").write_text("import bakeoff\n")
    with pytest.raises(BakeoffError, match=r"does not answer by itself \(ModuleNotFoundError\)"):
        check.answers(tmp_path, ["a secret text"], threads=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["predict.py"]


def test_weights_that_are_gone_are_baked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    in_this_process(monkeypatch)
    made = tfidf(tmp_path)
    record = (made.folder / "record.json").read_bytes()
    shutil.rmtree(made.folder / "model")
    command.export(made.record.run_id, tmp_path / "model", engine="eager", refit=False)
    assert "are gone and are baked again; its record stays" in capsys.readouterr().err
    assert (made.folder / "record.json").read_bytes() == record
    assert (made.folder / "model" / "model.safetensors").exists()


def test_a_refitted_model_learned_from_the_test_rows_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(monkeypatch)
    made, folder = tfidf(tmp_path), tmp_path / "model"
    said = command.export(made.record.run_id, folder, engine="eager", refit=True)
    assert said.endswith("Unscored, since it was fitted on all labelled rows.")
    card = (folder / "README.md").read_text()
    assert f"**Unscored; estimate from Run `{made.record.run_id}`**" in card
    assert "- all 200 labelled rows of pool and test" in card
    assert json.loads((folder / "settings.json").read_text())["refitted"] is True
    scored = json.loads((made.folder / "model" / "vocabulary.json").read_text())
    assert set(scored) < set(json.loads((folder / "vocabulary.json").read_text()))


def test_a_latency_of_the_same_architecture_stands_in_the_card(tmp_path: Path) -> None:
    saved = saved_runs.saved_run(Store(default_root()), tfidf(tmp_path).record.run_id)
    timed = dataclasses.replace(saved.run, probe=dataclasses.replace(command._latency(saved.run, "eager"), machine="Example CPU, 2 CPUs"))
    record = dataclasses.replace(
        saved.record,
        run=timed,
        run_id=timed.run_id,
        latency=factories.make_latency_facts(p50_ms=1.5),
    )
    told = card_facts._latency(saved.run, [record], "eager")
    assert told.startswith("p95 3 ms a document, one at a time, eager with 1 CPU thread, on Example CPU, 2 CPUs (Run ")
    assert card_facts._latency(saved.run, [record], "onnx").startswith("Not measured on any machine; where the data is, `bakeoff run ")
    other = dataclasses.replace(saved.run, longdoc=factories.HEAD)
    assert card_facts._latency(other, [record], "eager").startswith("Not measured")


def test_rivals_stand_in_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(monkeypatch)
    made = tfidf(tmp_path)
    floor = baked(tmp_path, "model=majority", "budget.labels=60")
    command.export(made.record.run_id, tmp_path / "model", engine="eager", refit=False)
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"| tfidf (this one) | full | 1 | {made.record.quality['test'].accuracy:.1%} |" in card
    assert f"| majority | full | 1 | {floor.record.quality['test'].accuracy:.1%} |" in card


def test_an_empty_folder_is_taken_and_no_other(tmp_path: Path) -> None:
    command.refuse_target(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    command.refuse_target(tmp_path / "empty")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for taken in (tmp_path / "full", tmp_path / "full" / "file"):
        with pytest.raises(DataError, match="exists already and is not an empty folder: name a new one"):
            command.refuse_target(taken)


def test_the_folder_that_one_is_in_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for target in (Path("."), Path(".."), tmp_path / "empty"):
        with pytest.raises(DataError, match="is, or holds, the folder that you are in: name a new one below it"):
            command.refuse_target(target)
    command.refuse_target(Path("new"))
    Path("link").symlink_to("nowhere")
    with pytest.raises(DataError, match="link exists already"):
        command.refuse_target(Path("link"))


def test_a_place_where_nothing_can_be_written_is_told(tmp_path: Path) -> None:
    made = tfidf(tmp_path)
    with pytest.raises(DataError, match=r"model cannot be written \(File exists\): name a folder where you may write"):
        command.export(made.record.run_id, tmp_path / "tickets.csv" / "model", engine="eager", refit=False)


def test_the_command_that_times_a_model_reads_the_same_data_in_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bakery.write_csv(tmp_path / "tickets.csv", bakery.rows(60))
    bakery.write_csv(tmp_path / "new.csv", bakery.rows(20, seed=3))
    monkeypatch.chdir(tmp_path)
    columns = ("dataset.text=text", "dataset.label=label", "dataset.encoding=cp1252")
    for reading in ("select_textrank", "windows_max_embeddings", "tail_128", "extended", "head_tail"):
        asked = ("dataset=csv", "dataset.path=tickets.csv", "dataset.test_path=new.csv", *columns, "model=pretrained", f"longdoc={reading}")
        run = bakery.compose(*asked, "machine.wandb=disabled").run
        timed = bakery.compose(*card_facts.to_time(run, "eager")).run
        assert (timed.dataset.fingerprint, timed.dataset.encoding) == (run.dataset.fingerprint, "cp1252")
        assert (timed.longdoc, timed.model) == (run.longdoc, run.model)


def test_answers_of_another_shape_agree_with_nothing() -> None:
    with pytest.raises(BakeoffError, match=r"answers in shape \(1, 2\), but what was scored is of shape \(3, 2\)"):
        check.compare(np.full((1, 2), 0.5, dtype=np.float32), np.full((3, 2), 0.5, dtype=np.float32))
    nothing = check.compare(np.full((2, 2), np.nan, dtype=np.float32), np.full((2, 2), 0.5, dtype=np.float32))
    assert not nothing.is_same


def test_an_unknown_run_is_told_where_to_look(tmp_path: Path) -> None:
    made = tfidf(tmp_path)
    store = Store(default_root())
    assert saved_runs.saved_run(store, made.record.run_id[:4]).run.run_id == made.record.run_id
    with pytest.raises(DataError, match=r"there is no Run zz in .*: `bakeoff records` lists what there is"):
        saved_runs.saved_run(store, "zz")
    with pytest.raises(DataError, match="there is no Run "):
        saved_runs.saved_run(store, "../*")
    other = made.record.run_id[:11] + ("0" if made.record.run_id[11] != "0" else "1")
    (store.root / other).mkdir()
    with pytest.raises(DataError, match=f"2 Runs begin with {made.record.run_id[:11]}"):
        saved_runs.saved_run(store, made.record.run_id[:11])
    with pytest.raises(DataError, match=f"Run {other} is not finished"):
        saved_runs.saved_run(store, other)


def test_what_cannot_be_shipped_is_refused_in_one_sentence(tmp_path: Path) -> None:
    saved = saved_runs.saved_run(Store(default_root()), tfidf(tmp_path).record.run_id)
    command.refuse_run(saved, "eager")
    with pytest.raises(NotApplicable, match=r"^tfidf has no forward pass of PyTorch's: set --engine eager$"):
        command.refuse_run(saved, "onnx")
    diverged = dataclasses.replace(saved, record=dataclasses.replace(saved.record, status="diverged"))
    with pytest.raises(NotApplicable, match="diverged and answered nothing"):
        command.refuse_run(diverged, "eager")
    timed = dataclasses.replace(saved, run=dataclasses.replace(saved.run, probe=command._latency(saved.run, "eager")))
    with pytest.raises(NotApplicable, match="timed tfidf and scored nothing: export its quality Run"):
        command.refuse_run(timed, "eager")
    trial = dataclasses.replace(saved, run=dataclasses.replace(saved.run, probe=Quality(threads=1, scores="validation")))
    with pytest.raises(NotApplicable, match="answered no test row"):
        command.refuse_run(trial, "eager")


def test_a_student_whose_teacher_lost_its_weights_too_is_baked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(monkeypatch)
    file = bakery.write_csv(tmp_path / "tickets.csv", bakery.rows(60))
    plain = yaml.safe_load((Path(__file__).parents[2] / "conf" / "model" / "bilstm.yaml").read_text())
    quick = plain["training"] | {"epochs": 2, "min_steps": 4, "learning_rate": 1e-2}
    tutor = plain | {"name": "tutor", "embedding_dim": 8, "hidden_dim": 6, "min_count": 1, "training": quick}
    (tmp_path / "conf" / "model").mkdir(parents=True)
    (tmp_path / "conf" / "model" / "tutor.yaml").write_text(yaml.safe_dump(tutor))
    monkeypatch.chdir(tmp_path)
    taught = (*bakery.TINY["bilstm"], "model.distillation.transfer_epochs=2", "model.teacher=tutor", "budget.labels=20")
    job, store = bakery.compose(*bakery.on_table(file), *taught), Store(default_root())
    assert not bake_runs([job.run], job.machine, store, executor="inprocess").failed
    assert job.run.teacher is not None
    for run_id in (job.run.run_id, job.run.teacher.run_id):
        shutil.rmtree(store.folder(run_id) / "model", ignore_errors=True)
    command.export(job.run.run_id, tmp_path / "model", engine="eager", refit=False)
    assert (store.folder(job.run.teacher.run_id) / "model").is_dir()
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"- taught by tutor (Run `{job.run.teacher.run_id}`) on " in card
    command.export(job.run.run_id, tmp_path / "again", engine="eager", refit=True)
    assert "Unscored" in (tmp_path / "again" / "README.md").read_text()
