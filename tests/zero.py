"""Toy sequence classifiers with chosen labels, for tests of models that read no label."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch

import bakery


def classifier(folder: Path, labels: Sequence[str], *, seed: int = 0, order: Sequence[int] | None = None) -> Path:
    """A BERT of one layer with a head of these labels; `order` says which output of the same weights each label names."""
    from transformers import BertConfig, BertForSequenceClassification

    bakery.checkpoint(folder)
    encoder = BertConfig.from_pretrained(folder)
    encoder.num_labels = len(labels)
    encoder.id2label, encoder.label2id = dict(enumerate(labels)), {name: i for i, name in enumerate(labels)}
    torch.manual_seed(seed)
    model = BertForSequenceClassification(encoder)
    torch.nn.init.normal_(model.classifier.weight, std=1.0)  # outputs that differ, where the usual start gives nearly equal ones
    if order is not None:
        with torch.no_grad():
            model.classifier.weight.copy_(model.classifier.weight[list(order)].clone())
            model.classifier.bias.copy_(model.classifier.bias[list(order)].clone())
    model.save_pretrained(folder)
    return folder


def embedder(folder: Path, *, pooling: dict[str, object] | None = None) -> Path:
    """The toy encoder with the files by which sentence-transformers says how it embeds."""
    bakery.checkpoint(folder)
    kinds = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": i, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps(pooling or {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True})
    )
    return folder


def rewritten(folder: Path, target: Path, **config: object) -> Path:
    """A copy of a checkpoint whose config.json says something else; a null removes a key."""
    shutil.copytree(folder, target)
    file = target / "config.json"
    plain = json.loads(file.read_text()) | config
    file.write_text(json.dumps({key: value for key, value in plain.items() if value is not None}))
    return target
