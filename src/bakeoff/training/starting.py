"""A model that starts from what masked language modelling learned: the saved encoder, under a fresh head."""

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import nn

from bakeoff.data.tokens import WordVocabulary
from bakeoff.errors import ConfigError
from bakeoff.models import encoders
from bakeoff.models.files import VOCABULARY, WEIGHTS
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.spec import Pretrained, Scratch

FRESH = ("head.", "windows.")
"""How the names of a classification head's weights begin, and of what pools windows; no start has them."""


def vocabulary_of(folder: Path) -> WordVocabulary:
    """The words that a pretraining Run learned, the mask among them."""
    return WordVocabulary(words=tuple(json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))))


def start_from(classifier: nn.Module, folder: Path, model: Scratch | Pretrained) -> None:
    """Take over every weight of the pretraining Run saved in `folder`; the classification head and what pools windows stay.

    Layers that `model.reinitialised_layers` names start afresh nonetheless. Raises ConfigError when the two are not of one shape.
    """
    saved = load_file(str(folder / WEIGHTS))
    own = {name: tensor for name, tensor in classifier.state_dict().items() if not name.startswith(FRESH)}
    for name in sorted(saved.keys() | own.keys()):
        theirs, ours = (list(side[name].shape) if name in side else "absent" for side in (saved, own))
        if theirs != ours:
            raise ConfigError(
                f"model.start={model.start} cannot be the start of {model.name}: {name} is {theirs} there and {ours} here, "
                "so give both the same width, layers and vocabulary"
            )
    classifier.load_state_dict(saved, strict=False)
    if isinstance(classifier, PretrainedClassifier) and isinstance(model, Pretrained):
        encoders.reinitialise_top(classifier.encoder, model.reinitialised_layers)
