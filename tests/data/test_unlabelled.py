"""Unlabelled text of one's own: read from any of its formats, and never a text that judges."""

import csv
import dataclasses
from pathlib import Path

import pytest

import bakery
from bakeoff import fingerprint, spec
from bakeoff.data import budget, checks, dataset, unlabelled
from bakeoff.errors import DataError

TEXTS = ["a first text", "", 'a "second", text', "   ", "a third"]


def budget_of(path: Path) -> spec.Budget:
    return spec.Budget(
        labels="all",
        draw=0,
        order="stratified",
        unlabelled="file",
        unlabelled_path=str(path),
        unlabelled_fingerprint=fingerprint.of_texts(path) if path.exists() else "0" * 64,
    )


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    """Overrides that ask about a table of 400 rows, of which 300 are validated against."""
    return [*bakery.on_table(bakery.write_csv(tmp_path / "table.csv", bakery.rows(400))), "budget.labels=300"]


def asked(table: list[str], path: Path) -> spec.Run:
    return bakery.compose(*table, "model=bilstm", "budget.unlabelled=file", f"budget.unlabelled_path={bakery.quoted(str(path))}").run


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("own.txt", 'a first text\n\na "second", text\r\n   \na third'),
        ("own.csv", 'n,text\n1,a first text\n2,\n3,"a ""second"", text"\n4,   \n5,a third\n'),
        ("own.tsv", 'text\tn\na first text\t1\n"a ""second"", text"\t2\na third\t3\n'),
        ("own.jsonl", '{"text": "a first text"}\n\n{"text": "a \\"second\\", text", "n": 3}\n{"text": ""}\n{"text": "a third"}\n'),
    ],
)
def test_every_format_gives_the_same_texts(tmp_path: Path, table: list[str], name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    run = asked(table, tmp_path / name)
    assert unlabelled.lines(run.budget, run.dataset) == [text for text in TEXTS if text.strip()]


def test_texts_of_any_length_are_read_and_the_limit_is_given_back(tmp_path: Path, table: list[str]) -> None:
    limit, long = csv.field_size_limit(), "word " * 40_000
    (tmp_path / "own.csv").write_text(f"text,n\n{long},1\nshort,2,\n")
    run = asked(table, tmp_path / "own.csv")
    assert unlabelled.lines(run.budget, run.dataset) == [long, "short"]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("own.pdf", "text", r"own.pdf should end in .txt \(a text a line\), .csv, .tsv or .jsonl \(a column called text\)"),
        ("own.txt", " \n", "own.txt holds no text: give a file with at least one"),
        ("own.csv", "txt,n\na,1\n", r"own.csv has no column text \(it has 2\): its first line must name the columns$"),
        ("own.csv", "a CANARY,b\n", r"own.csv has no column text \(it has 2\): its first line must name the columns$"),
        (
            "own.csv",
            "n,text\n1,fine\n2,cut, here\n",
            r"own.csv has more cells in the row that ends in line 3 than the 2 in its header: quote texts that hold a separator$",
        ),
        ("own.csv", 'text\n"a\n', "own.csv has a broken quote"),
        ("own.jsonl", '{"text": "a"}\n{"text": null}\n', "own.jsonl has no text under text in line 2"),
        ("own.jsonl", "a text\n", "own.jsonl is not valid JSON in line 1"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_before_anything_starts(
    tmp_path: Path, table: list[str], name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=f"^budget.unlabelled_path={message}"):
        checks.check(asked(table, tmp_path / name))


def test_a_file_that_is_missing_or_has_changed_is_refused(tmp_path: Path, table: list[str]) -> None:
    path = tmp_path / "own.txt"
    with pytest.raises(DataError, match=r"budget.unlabelled_path=own.txt is no file"):
        asked(table, path)
    path.write_text("one\n")
    run = asked(table, path)
    path.write_text("two\n")
    with pytest.raises(DataError, match=r"budget.unlabelled_path=own.txt changed since this Run was composed"):
        unlabelled.lines(run.budget, run.dataset)


def test_the_bytes_are_part_of_the_question_and_the_path_is_not(tmp_path: Path, table: list[str]) -> None:
    ids = []
    for name, content in (("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "two\n")):
        (tmp_path / name).write_text(content)
        ids.append(asked(table, tmp_path / name).run_id)
    assert ids[0] == ids[1] != ids[2]


def test_the_ending_is_part_of_the_question_since_it_says_how_the_bytes_are_read(tmp_path: Path, table: list[str]) -> None:
    content = "text\none\ntwo\n"
    for name in ("own.txt", "own.csv", "OWN.TXT"):
        (tmp_path / name).write_text(content)
    lines, cells, capitals = (asked(table, tmp_path / name) for name in ("own.txt", "own.csv", "OWN.TXT"))
    assert lines.run_id == capitals.run_id != cells.run_id
    assert unlabelled.lines(lines.budget, lines.dataset) == ["text", "one", "two"]
    assert unlabelled.lines(cells.budget, cells.dataset) == ["one", "two"]
    renamed = dataclasses.replace(lines.budget, unlabelled_path=str(tmp_path / "own.csv"))
    with pytest.raises(DataError, match=r"budget.unlabelled_path=own.csv changed since this Run was composed"):
        unlabelled.lines(renamed, lines.dataset)


def test_texts_that_judge_are_left_out_and_counted(tmp_path: Path, table: list[str]) -> None:
    """Exact and near repeats of test and validation rows go; those of fitted rows stay."""
    path = tmp_path / "own.txt"
    path.write_text("a text of my own\n")
    run = asked(table, path)
    prepared = dataset.prepare(run.dataset)
    spent = budget.spend(prepared.pool, run.budget, validation=True)
    fitted, validated = prepared.pool.take(spent.fit).texts, prepared.pool.take(spent.validation).texts
    test = prepared.test.texts
    content = ["a text of my own", fitted[0], test[0], f"{test[1].upper()} again", validated[0], f"  {validated[1]} "]
    path.write_text("\n".join(content) + "\n")
    found = unlabelled.read(asked(table, path).budget, run.dataset, prepared, spent)
    assert found.documents == ("a text of my own", fitted[0])
    assert found.left_out == 4


def test_the_pool_gives_its_unlabelled_rest(table: list[str]) -> None:
    run = bakery.compose(*table, "model=bilstm", "budget.unlabelled=pool").run
    prepared = dataset.prepare(run.dataset)
    spent = budget.spend(prepared.pool, run.budget, validation=True)
    found = unlabelled.read(run.budget, run.dataset, prepared, spent)
    assert set(found.documents) == set(prepared.pool.texts) - {prepared.pool.texts[i] for i in (*spent.fit, *spent.validation)}
    assert found.left_out == 0
    nothing = dataclasses.replace(run.budget, unlabelled="none")
    assert unlabelled.read(nothing, run.dataset, prepared, spent).documents == ()


def test_rows_of_the_pool_that_repeat_a_validation_row_are_left_out_and_counted(tmp_path: Path) -> None:
    """Every text stands twice, but for a last word, so that some copies of validation rows are among the unlabelled."""
    twice = [(f"{text} {more}", label) for more in ("", "more") for text, label in bakery.rows(300)]
    test = bakery.write_csv(tmp_path / "test.csv", bakery.rows(20, seed=1))
    overrides = [*bakery.on_table(bakery.write_csv(tmp_path / "pool.csv", twice), test), "budget.labels=300", "budget.unlabelled=pool"]
    run = bakery.compose(*overrides, "model=bilstm").run
    prepared = dataset.prepare(run.dataset)
    spent = budget.spend(prepared.pool, run.budget, validation=run.keeps_validation)
    clusters = prepared.pool.clusters
    judging = set(clusters[spent.validation].tolist())
    kept = [i for i in spent.unlabelled.tolist() if clusters[i] not in judging]
    assert 0 < len(kept) < len(spent.unlabelled) == 300
    found = unlabelled.read(run.budget, run.dataset, prepared, spent)
    assert found.documents == tuple(prepared.pool.texts[i] for i in kept)
    assert found.left_out == 300 - len(kept)
    linear = bakery.compose(*overrides, "model=tfidf").run  # which validates on nothing
    spent = budget.spend(prepared.pool, linear.budget, validation=linear.keeps_validation)
    assert len(unlabelled.read(linear.budget, linear.dataset, prepared, spent).documents) == 300


def test_single_texts_beside_pairs_are_refused(tmp_path: Path, table: list[str]) -> None:
    path = tmp_path / "own.txt"
    path.write_text("one\n")
    run = asked(table, path)
    with pytest.raises(ValueError, match=r"budget.unlabelled=file holds single texts, but dataset.text_pair=other asks about pairs"):
        dataclasses.replace(run, dataset=dataclasses.replace(run.dataset, text_pair="other"))


def test_a_baked_run_reads_the_file_and_says_what_it_left_out(tmp_path: Path, table: list[str]) -> None:
    path = tmp_path / "own.txt"
    path.write_text("unheardof words\nunheardof again\n")
    prepared = dataset.prepare(asked(table, path).dataset)
    path.write_text(f"unheardof words\nunheardof again\n{prepared.test.texts[0]}\n")
    baked = bakery.bake(
        bakery.compose(
            *table, "model=tfidf", "model.cv_folds=2", "model.min_count=2", "machine.keep_weights=all",
            "budget.unlabelled=file", f"budget.unlabelled_path={bakery.quoted(str(path))}",
        )
    )  # fmt: skip
    assert [finding.count for finding in baked.record.data.audit if finding.code == "unlabelled_left_out"] == [1]
    assert '"unheardof"' in (baked.folder / "model" / "vocabulary.json").read_text()
    assert str(tmp_path) not in (baked.folder / "record.json").read_text()
