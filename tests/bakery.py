"""Small tables, a toy checkpoint and Runs on them that bake in tenths of a second, for tests above single rooms."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

from bakeoff.config import Composer, Job, quoted
from bakeoff.provenance import provenance
from bakeoff.record import Record
from bakeoff.store import Store, default_root

Row = tuple[str, object]

CUES = ("good", "bad", "odd", "dull", "grand")
"""The word that tells a class, in the order of the classes."""
FILLER = [first + vowel + last for first in "bdfgklmnprst" for vowel in "aeiou" for last in "lmnrst"]
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
POSITIONS = 64
"""What the toy checkpoint reads at most."""

QUICK = ("model.training.epochs=2", "model.training.min_steps=4", "model.training.learning_rate=1e-2")
TINY: dict[str, tuple[str, ...]] = {
    "majority": ("model=majority",),
    "tfidf": ("model=tfidf", "model.cv_folds=2"),
    "frozen": ("model=frozen", "model.cv_folds=2", "longdoc.max_tokens=32"),
    "bilstm": ("model=bilstm", "model.embedding_dim=8", "model.hidden_dim=8", "model.min_count=1", *QUICK),
    "scratch": (
        "model=scratch",
        *("model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=32", "model.dropout=0", "model.min_count=1"),
        *("model.norm=after", *QUICK),
    ),
    "pretrained": ("model=pretrained", "longdoc.max_tokens=32", *QUICK),
}
"""Model that learns from labels → overrides that make it tiny; those of `ON_A_CHECKPOINT` also need `checkpoint_override`."""
ON_A_CHECKPOINT = ("frozen", "pretrained")


@dataclass(frozen=True, kw_only=True)
class Baked:
    """A Run that was baked, and where."""

    record: Record
    folder: Path

    @property
    def predictions(self) -> bytes:
        """The bytes of `predictions.parquet`."""
        return (self.folder / "predictions.parquet").read_bytes()

    @property
    def answers(self) -> dict[str, tuple[int, tuple[float, ...]]]:
        """Row id → predicted class index and probabilities."""
        table = parquet.read_table(self.folder / "predictions.parquet").to_pydict()
        rows = zip(table["row_id"], table["predicted"], table["probabilities"], strict=True)
        return {row_id: (predicted, tuple(probabilities)) for row_id, predicted, probabilities in rows}


def rows(count: int, *, labels: Sequence[object] = ("neg", "pos"), words: int = 9, seed: int = 0) -> list[Row]:
    """Texts of random words with one cue for their class, classes in turn; no two are near-duplicates."""
    random = np.random.default_rng(seed)
    made = []
    for i in range(count):
        filler = random.choice(FILLER, size=words, replace=False).tolist()
        made.append((" ".join([*filler[:3], CUES[i % len(labels)], *filler[3:]]), labels[i % len(labels)]))
    return made


def write_csv(path: Path, table: Iterable[Row]) -> Path:
    """A CSV file with the columns text and label."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(table)
    return path


def checkpoint(folder: Path, *, words: Sequence[str] = (*CUES, "hi", *FILLER), stored_limit: int | None = None, seed: int = 0) -> Path:
    """A BERT of one layer with a word-piece tokeniser over `words`, whose file may store truncation and padding."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    ids = {word: i for i, word in enumerate((*SPECIALS, *words))}
    tokeniser = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokeniser.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokeniser.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pair, specials = "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    tokeniser.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair=pair, special_tokens=specials)
    if stored_limit is not None:
        tokeniser.enable_truncation(stored_limit)
        tokeniser.enable_padding(length=stored_limit)
    folder.mkdir(parents=True)
    tokeniser.save(str(folder / "tokenizer.json"))
    names = {f"{name.strip('[]').lower()}_token": name for name in SPECIALS}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **names}))
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(ids),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=POSITIONS,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def checkpoint_override(folder: Path) -> str:
    """The override that names a checkpoint."""
    return f"model.checkpoint={quoted(str(folder))}"


def on_table(pool: Path, test: Path | None = None) -> list[str]:
    """Overrides that ask about a table of one's own, with W&B out of the way."""
    official = [] if test is None else [f"dataset.test_path={quoted(str(test))}"]
    columns = ["dataset.text=text", "dataset.label=label"]
    return ["dataset=csv", f"dataset.path={quoted(str(pool))}", *official, *columns, "machine.wandb=disabled"]


def compose(*overrides: str) -> Job:
    """What `bakeoff run` would bake."""
    return Composer().job(overrides)


def bake(job: Job) -> Baked:
    """Bake a Run in this process and keep its record."""
    from bakeoff.bake import bake as answer

    store = Store(default_root())
    folder = store.folder(job.run.run_id)
    record = answer(job.run, folder, lambda notice: None, store.write_record, machine=job.machine, code=provenance())
    return Baked(record=record, folder=folder)
