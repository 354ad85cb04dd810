"""The command line of a shipped `predict.py`."""

import argparse
import csv
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from bakeoff.data.tokens import Document
from bakeoff.shipping.parts.classifier import Classifier

CHUNK_ROWS = 4096


def main(load: Callable[..., Classifier]) -> None:
    """Read a CSV file (or JSON lines, by its suffix), and print row, label and probability as CSV."""
    parser = argparse.ArgumentParser(description="Texts to labels, as CSV on standard output.")
    parser.add_argument("file", type=Path, help="CSV or TSV with a header, or JSON lines (by its ending: .csv, .tsv, .jsonl)")
    parser.add_argument("--text", required=True, help="column of the texts")
    parser.add_argument("--text-pair", help="column of the second texts, for a model of pairs")
    parser.add_argument("--encoding", default="utf-8-sig")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    classifier, suffix = load(threads=asked.threads), asked.file.suffix.lower()
    if classifier.pairs != (asked.text_pair is not None):
        parser.error("the model reads two texts a row: name the second with --text-pair" if classifier.pairs else "leave --text-pair out")
    columns = [asked.text, *([asked.text_pair] if asked.text_pair else [])]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["row", "label", "probability"])
    row = 0
    with open(asked.file, encoding=asked.encoding, newline="") as lines:
        documents = documents_of(lines, columns, separator={".jsonl": None, ".ndjson": None, ".tsv": "\t"}.get(suffix, ","))
        while chunk := list(itertools.islice(documents, CHUNK_ROWS)):
            for found in classifier.probabilities(chunk):
                row += 1
                writer.writerow([row, classifier.classes[found.argmax()], f"{found.max():.6f}"])


def documents_of(lines: TextIO, columns: list[str], *, separator: str | None) -> Iterator[Document]:
    """The text of each row, or its pair of texts; JSON lines have no separator."""
    csv.field_size_limit(sys.maxsize)
    rows: Iterator[dict[str, Any]] = (
        (json.loads(line) for line in lines if line.strip())
        if separator is None
        else csv.DictReader(lines, delimiter=separator, strict=True)
    )
    for values in rows:
        if missing := [column for column in columns if not isinstance(values.get(column), str)]:
            sys.exit(f"there is no text in column {missing[0]} of a row: check the names of the columns")
        texts = [values[column].replace("\r\n", "\n").replace("\r", "\n") for column in columns]
        yield texts[0] if len(texts) == 1 else (texts[0], texts[1])
