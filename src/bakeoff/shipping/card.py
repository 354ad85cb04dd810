"""README.md of a shipped folder: what the model is, how good and how fast, how it was chosen, and where it may fail."""

import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bakeoff import spec
from bakeoff.models.files import VOCABULARY
from bakeoff.record import Record
from bakeoff.shipping.check import Agreement
from bakeoff.shipping.folder import Shipment

_MOST_CLASSES = 200
_LETTERS_A_TEXT = 200
_OF_THE_RUN = "What follows is of the Run, before its model was fitted again."
_SERVED_BY = {"eager": "PyTorch", "onnx": "ONNX Runtime", "onnx_int8": "ONNX Runtime with weights in int8"}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a card says besides the record; sentences without a document's text."""

    score: str
    """With its interval."""
    latency: str
    chosen: tuple[str, ...]
    """Lines of Markdown."""
    scripts: str
    engine_score: str | None
    """What the engine scores, where it answers otherwise than the model that was scored."""


def card(shipment: Shipment, record: Record, agreement: Agreement, facts: Facts) -> str:
    """The Markdown of the card."""
    sections = {
        "How good it is": _quality(shipment, record, agreement, facts),
        "How fast it is": [facts.latency],
        "How it was chosen": [*([_OF_THE_RUN] if shipment.refitted else []), *facts.chosen],
        "What it learned from": _data(shipment, record, facts),
        "Limits": _limits(shipment, record),
        "Classes": [*([_OF_THE_RUN] if shipment.refitted else []), *_classes(record)],
        "Use": _use(shipment),
        "Licence": _licence(shipment.run.model),
    }
    body = [f"## {title}\n\n{_joined(lines)}\n" for title, lines in sections.items()]
    return "\n".join([f"# {shipment.run.model.name}, a text classifier of {len(record.data.classes)} classes\n", _what(shipment), *body])


def _joined(lines: Sequence[str]) -> str:
    """Paragraphs; rows of a list or table stay together."""
    together = ("- ", "|")
    found = ""
    for before, line in zip(["", *lines], lines, strict=False):
        close = before.startswith(together) and line.startswith(together)
        found += ("" if not found else "\n" if close else "\n\n") + line
    return found


def _what(shipment: Shipment) -> str:
    run = shipment.run
    refitted = (
        f" **Unscored; estimate from Run `{run.run_id}`**: its weights were fitted again on all labelled rows, test rows included."
        if shipment.refitted
        else ""
    )
    engine = "numpy" if isinstance(run.model, spec.Majority | spec.Tfidf) else _SERVED_BY[shipment.engine]
    return f"Run `{run.run_id}` of bakeoff, served by {engine}, reading {run.longdoc.label}.{refitted}\n"


def _quality(shipment: Shipment, record: Record, agreement: Agreement, facts: Facts) -> list[str]:
    lines = [facts.score, "The interval is over test rows alone: other labels, or another seed, would make another model."]
    if shipment.refitted:
        lines.insert(0, f"This model is unscored: no labelled row is left to score it. {_OF_THE_RUN}")
    elif facts.engine_score is not None:
        lines.append(facts.engine_score)
    else:
        lines.append(
            f"Before this folder was written, its own `predict.py` answered those {agreement.n:,} rows again: all labels agree, and "
            f"probabilities differ by at most {agreement.max_difference:.1g}."
        )
    test = record.quality.get("test")
    if test is not None:
        lines.append(f"Always answering the largest class would be right on {test.majority_baseline:.1%} of them.")
    return lines + [f"Sign of trouble in training: {each.message}." for each in record.training.diagnostics]


def _data(shipment: Shipment, record: Record, facts: Facts) -> list[str]:
    run, data = shipment.run, record.data
    budget = f"draw {run.budget.draw}, seed {run.seed}"
    labels = f"- {data.n_fit:,} labelled rows to fit and {data.n_val:,} to validate ({budget})"
    if shipment.refitted:
        labels = f"- all {data.n_pool + data.n_test:,} labelled rows of pool and test ({budget}), validation rows among them as before"
    lines = [f"- dataset {run.dataset.name}, fingerprint `{data.revision}`", labels]
    if run.teacher is not None:
        lines.append(f"- taught by {run.teacher.model.name} (Run `{run.teacher.run_id}`) on {data.n_transfer:,} texts")
    if data.length_tokens:
        percentiles = ", ".join(f"{name} {value:,.0f}" for name, value in data.length_tokens.items())
        lines.append(f"- test documents' lengths in the model's tokens: {percentiles}")
    if (shipment.source / VOCABULARY).exists():
        lines.append("- `vocabulary.json` holds words of those texts, names among them if there are any: read it before you pass it on")
    return [*lines, f"- letters of the texts, by script: {facts.scripts}"]


def _limits(shipment: Shipment, record: Record) -> list[str]:
    data = record.data
    longdoc = shipment.run.longdoc
    lines = [f"- What it reads of a long document: {'all of it' if longdoc.max_tokens is None else longdoc.label}."]
    if data.truncated_fraction:
        lines.append(f"- Of {data.truncated_fraction:.1%} of the test documents it left tokens out.")
    lines.append("- Texts of other lengths, languages, scripts or times than those above were not scored.")
    lines.append("- It answers one of its classes whatever the text: there is no answer for a text of none of them.")
    return lines + [f"- Of the data: {finding.message.rstrip('.')}." for finding in data.audit]


def _classes(record: Record) -> list[str]:
    test, classes = record.quality.get("test"), record.data.classes
    if test is None:
        return [", ".join(classes)]
    rows = ["| class | test rows | precision | recall |", "|---|---|---|---|"]
    for name in classes[:_MOST_CLASSES]:
        found = test.classes.get(name)
        cells = ("0", "", "") if found is None else (f"{found.support:,}", _share(found.precision), _share(found.recall))
        rows.append(f"| {' | '.join((name.replace('|', chr(92) + '|'), *cells))} |")
    more = len(classes) - _MOST_CLASSES
    return [*rows, *([f"And {more:,} more: `settings.json` lists all."] if more > 0 else [])]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _use(shipment: Shipment) -> list[str]:
    dataset = shipment.run.dataset
    columns = ["--text", dataset.text or "text", *([] if dataset.text_pair is None else ["--text-pair", dataset.text_pair])]
    return [
        f"```sh\npip install -r requirements.txt\npython predict.py texts.csv {shlex.join(columns)} > labels.csv\n```",
        "```python\nfrom predict import load\n\nload().predict(["
        + ('"a text"' if dataset.text_pair is None else '("a text", "its second text")')
        + "])\n```",
        "For large files, where bakeoff is installed: `bakeoff predict FOLDER FILE --out labels.csv`.",
    ]


def _licence(model: spec.Model) -> list[str]:
    checkpoint = getattr(model, "checkpoint", None)
    if checkpoint is None:
        return ["The weights were learned from the data above alone; what may be done with them is what its owner allows."]
    name = str(checkpoint).rpartition("/")[2] if str(checkpoint).startswith("/") else checkpoint
    return [
        f"The weights or the tokeniser started from the checkpoint {name}: its own licence holds for this folder too. Read it where the "
        "checkpoint was published before you pass the folder on."
    ]


def scripts_of(texts: Iterable[str]) -> str:
    """The scripts of the letters of some texts and their shares, as Unicode names them: "Latin 98%, Greek 2%"."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(_script(letter) for letter in filter(str.isalpha, text[:_LETTERS_A_TEXT]))
    total = sum(counts.values())
    shares = [(name, count / total) for name, count in counts.most_common(5)]
    return ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= 0.005) or "none"


def _script(letter: str) -> str:
    return unicodedata.name(letter, "other").split()[0].capitalize()
