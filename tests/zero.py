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


def bart(folder: Path, labels: Sequence[str], *, seed: int = 0) -> Path:
    """A BART of one layer each way with a head of these labels, which reads the state of the last [SEP]."""
    from transformers import BartConfig, BartForSequenceClassification

    bakery.checkpoint(folder)
    (folder / "model.safetensors").unlink()
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    sizes = {
        f"{part}_{name}": value
        for part in ("encoder", "decoder")
        for name, value in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 32))
    }
    config = BartConfig(
        vocab_size=len(words),
        d_model=16,
        max_position_embeddings=bakery.POSITIONS,
        pad_token_id=words["[PAD]"],
        bos_token_id=words["[CLS]"],
        eos_token_id=words["[SEP]"],
        decoder_start_token_id=words["[SEP]"],
        forced_eos_token_id=words["[SEP]"],
        id2label=dict(enumerate(labels)),
        label2id={name: i for i, name in enumerate(labels)},
        **sizes,
    )
    torch.manual_seed(seed)
    model = BartForSequenceClassification(config)
    torch.nn.init.normal_(model.classification_head.out_proj.weight, std=1.0)
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


def without_pairs(folder: Path) -> Path:
    """The checkpoint, its tokeniser left with no way to write a pair."""
    from tokenizers import Tokenizer, processors

    file, settings = str(folder / "tokenizer.json"), folder / "tokenizer_config.json"
    tokeniser = Tokenizer.from_file(file)
    tokeniser.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokeniser.save(file)
    settings.write_text(settings.read_text().replace("BertTokenizer", "PreTrainedTokenizerFast"))  # which adds no template of its own
    return folder


def rewritten(folder: Path, target: Path, **config: object) -> Path:
    """A copy of a checkpoint whose config.json says something else; a null removes a key."""
    shutil.copytree(folder, target)
    file = target / "config.json"
    plain = json.loads(file.read_text()) | config
    file.write_text(json.dumps({key: value for key, value in plain.items() if value is not None}))
    return target
