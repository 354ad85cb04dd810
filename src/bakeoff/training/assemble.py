"""A neural Model to what can be trained: its tokeniser, and its module with the weights that it starts from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from bakeoff.data import checkpoint
from bakeoff.data.tokens import CheckpointTokeniser, WordVocabulary
from bakeoff.models.build import build
from bakeoff.spec import Neural, Pretrained, Run


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """A classifier that no label has touched yet, and what turns texts into its ids."""

    classifier: nn.Module
    tokeniser: CheckpointTokeniser | WordVocabulary


def assemble(
    run: Run, model: Neural, fit_texts: Sequence[str], unlabelled: Sequence[str], *, n_classes: int, needs: Mapping[str, Path]
) -> Assembled:
    """The tokeniser (a vocabulary is learned from `fit_texts` and `unlabelled`) and the module of a neural model.

    `needs["start"]`, where `run.start` asks for one, is the folder of a pretraining Run's saved model.
    """
    tokeniser: CheckpointTokeniser | WordVocabulary
    folder, vocabulary_size = None, 0
    if isinstance(model, Pretrained):
        folder = checkpoint.resolve(model.checkpoint, model.revision)
        checkpoint.verify(model)
        tokeniser = CheckpointTokeniser(folder)
    else:
        tokeniser = WordVocabulary.learn([*fit_texts, *unlabelled], min_count=model.min_count, max_size=model.max_vocabulary)
        vocabulary_size = len(tokeniser)
    classifier = build(model, n_classes=n_classes, vocabulary_size=vocabulary_size, pad_id=tokeniser.pad_id, folder=folder)
    return Assembled(classifier=classifier, tokeniser=tokeniser)
