"""What a model card says of lengths, scripts, classes and licences."""

import dataclasses
from pathlib import Path

import factories
from bakeoff.record import Diagnostic
from bakeoff.shipping import card
from bakeoff.shipping.check import Agreement
from bakeoff.shipping.folder import Shipment

FACTS = card.Facts(
    score="accuracy 80.0%", latency="p95 3 ms", chosen=("| a | b |", "|---|---|", "| 1 | 2 |"), scripts="Latin 100%", engine_score=None
)
SAME = Agreement(n=200, changed_labels=0, max_difference=2e-7)


def made(model: str, *, facts: card.Facts = FACTS, refitted: bool = False, **changes: object) -> str:
    run = factories.make_run(model=model)
    record = factories.make_record(run, *factories.make_predictions(accuracy=0.8))
    shipment = Shipment(run=run, source=Path("model"), engine="eager", refitted=refitted)
    return card.card(shipment, dataclasses.replace(record, **changes), SAME, facts)  # type: ignore[arg-type]


def test_a_card_tells_what_was_scored_and_read() -> None:
    told = made("pretrained")
    assert told.startswith("# pretrained, a text classifier of 2 classes\n\nRun `")
    assert "served by PyTorch, reading head-256." in told
    assert "answered those 200 rows again: all labels agree, and probabilities differ by at most 2e-07." in told
    assert "- What it reads of a long document: head-256.\n" in told
    assert "- Of 3.1% of the test documents it left tokens out." in told
    assert "- Of the data: 3 pool rows nearly repeat a test row and were left out.\n" in told
    assert "p50 20, p90 41, p95 48, p99 60, max 71" in told
    assert "| negative | 100 | 80.0% | 80.0% |" in told
    assert "| a | b |\n|---|---|\n| 1 | 2 |" in told
    assert "started from the checkpoint minilm-l6: its own licence holds for this folder too" in told


def test_a_model_of_words_has_no_other_licence() -> None:
    told = made("tfidf")
    assert "served by numpy, reading full." in told
    assert "- What it reads of a long document: all of it.\n" in told
    assert "learned from the data above alone" in told


def test_an_engine_that_rounds_has_its_own_figures() -> None:
    told = made("bilstm", facts=dataclasses.replace(FACTS, engine_score="Rounded it scores less."))
    assert "Rounded it scores less." in told
    assert "all labels agree" not in told


def test_a_refitted_model_is_unscored() -> None:
    told = made("tfidf", refitted=True)
    assert "**Unscored; estimate from Run `" in told
    assert told.count("What follows is of the Run, before its model was fitted again.") == 3
    assert "This model is unscored: no labelled row is left to score it." in told
    assert "- all 8,200 labelled rows of pool and test" in told


def test_the_command_of_a_card_names_both_columns() -> None:
    run = factories.make_run(model="tfidf")
    run = dataclasses.replace(run, dataset=dataclasses.replace(run.dataset, text="it's", text_pair="second text"))
    record = factories.make_record(run, *factories.make_predictions(accuracy=0.8))
    told = card.card(Shipment(run=run, source=Path("model"), engine="eager", refitted=False), record, SAME, FACTS)
    assert """python predict.py texts.csv --text 'it'"'"'s' --text-pair 'second text' > labels.csv""" in told


def test_words_of_the_texts_are_told_of(tmp_path: Path) -> None:
    run = factories.make_run(model="tfidf")
    record = factories.make_record(run, *factories.make_predictions(accuracy=0.8))
    shipment = Shipment(run=run, source=tmp_path, engine="eager", refitted=False)
    assert "vocabulary.json" not in card.card(shipment, record, SAME, FACTS)
    (tmp_path / "vocabulary.json").write_text("{}")
    assert "- `vocabulary.json` holds words of those texts" in card.card(shipment, record, SAME, FACTS)


def test_trouble_in_training_is_not_hidden() -> None:
    run = factories.make_run(model="tfidf")
    training = factories.make_record(run, *factories.make_predictions(accuracy=0.8)).training
    doubt = Diagnostic(code="near_chance", message="the model answers hardly better than chance")
    told = made("tfidf", training=dataclasses.replace(training, diagnostics=(doubt,)))
    assert "Sign of trouble in training: the model answers hardly better than chance." in told


def test_scripts_are_counted_by_letters() -> None:
    assert card.scripts_of(["abcd 12!", "αβ", "д"]) == "Latin 57%, Greek 29%, Cyrillic 14%"
    assert card.scripts_of(["123"]) == "none"
