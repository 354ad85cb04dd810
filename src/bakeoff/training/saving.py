"""What a served model needs, in a folder of its own: arrays as safetensors, vocabulary or tokeniser, names, settings."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import save_file as save_tensors
from torch import nn

from bakeoff.data.tokens import CheckpointTokeniser, WordVocabulary
from bakeoff.models.files import SETTINGS, VOCABULARY, WEIGHTS
from bakeoff.models.linear import MajorityClassifier, TfidfClassifier
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier
from bakeoff.spec import Run, to_plain


def save_linear(folder: Path, run: Run, classes: tuple[str, ...], classifier: MajorityClassifier | TfidfClassifier) -> None:
    """Weights (and IDF) as float64 arrays, the vocabulary as n-gram → column."""
    _settings(folder, run, classes)
    if isinstance(classifier, MajorityClassifier):
        save_arrays({"shares": classifier.shares}, folder / WEIGHTS)
        return
    arrays = {"coefficients": classifier.coefficients, "intercepts": classifier.intercepts}
    if classifier.coefficients.shape[1]:
        arrays["idf"] = classifier.vectoriser.idf_
        vocabulary = {word: int(column) for word, column in classifier.vectoriser.vocabulary_.items()}
        _json(folder / VOCABULARY, vocabulary)
    save_arrays({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / WEIGHTS)


def save_neural(
    folder: Path, run: Run, classes: tuple[str, ...], classifier: nn.Module, tokeniser: CheckpointTokeniser | WordVocabulary
) -> None:
    """Weights as they were scored; the encoder's config and tokeniser, or the list of words."""
    _settings(folder, run, classes)
    save_tensors({name: tensor.contiguous().cpu() for name, tensor in classifier.state_dict().items()}, folder / WEIGHTS)
    if isinstance(classifier, PretrainedClassifier | FrozenClassifier):
        classifier.encoder.config.save_pretrained(folder)
    if isinstance(tokeniser, WordVocabulary):
        _json(folder / VOCABULARY, list(tokeniser.words))
    else:
        tokeniser.save(folder)


def _settings(folder: Path, run: Run, classes: tuple[str, ...]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    plain = to_plain(run)
    kept = {"run_id": run.run_id, "classes": list(classes), "model": plain["model"], "longdoc": plain["longdoc"]}
    _json(folder / SETTINGS, kept)


def _json(file: Path, plain: Any) -> None:
    file.write_text(json.dumps(plain, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
