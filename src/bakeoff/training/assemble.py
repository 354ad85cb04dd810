"""A neural Model to what can be trained: its tokeniser, and its module with the weights that it starts from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import nn

from bakeoff.data import checkpoint, vectors
from bakeoff.data.masking import with_mask
from bakeoff.data.tokens import CheckpointTokeniser, Document, WordVocabulary
from bakeoff.models import encoders
from bakeoff.models.build import build
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.spec import BiLstm, Neural, Pretrain, Pretrained, Run, Scratch
from bakeoff.training import starting


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """A classifier that no label has touched yet, and what turns texts into its ids."""

    classifier: nn.Module
    tokeniser: CheckpointTokeniser | WordVocabulary
    share_found: float | None = None
    """Share of the vocabulary that has a vector in the file of `model.vectors`; None where there is none."""


def assemble(
    run: Run, model: Neural, fit_texts: Sequence[Document], unlabelled: Sequence[Document], *, n_classes: int, needs: Mapping[str, Path]
) -> Assembled:
    """The tokeniser (a vocabulary is learned from `fit_texts` and `unlabelled`) and the module of a neural model.

    `needs["start"]`, where `run.start` asks for one, is the folder of a pretraining Run's saved model. Raises DataError for
    a checkpoint or a file of vectors that is not what the Run was composed with, or is not as wide as the embeddings.
    """
    folder, start = checkpoint_folder(model), needs.get("start")
    tokeniser: CheckpointTokeniser | WordVocabulary
    if folder is not None:
        tokeniser = CheckpointTokeniser(folder)
    elif start is not None:
        tokeniser = starting.vocabulary_of(start)
    else:
        assert not isinstance(model, Pretrained)
        texts, pairs = [*fit_texts, *unlabelled], run.dataset.text_pair is not None
        tokeniser = WordVocabulary.learn(texts, min_count=model.min_count, max_size=model.max_vocabulary, pairs=pairs)
        if isinstance(run.probe, Pretrain):
            tokeniser = with_mask(tokeniser)
    embeddings, share_found = _embeddings(model, tokeniser, folder) if isinstance(model, BiLstm) else (None, None)
    classifier = build(
        model,
        n_classes=n_classes,
        vocabulary_size=len(tokeniser) if embeddings is None else len(embeddings),
        pad_id=tokeniser.pad_id,
        folder=folder,
        embeddings=embeddings,
        longdoc=run.longdoc,
        frame=tokeniser,
    )
    if isinstance(classifier, PretrainedClassifier) and run.dataset.text_pair is not None and tokeniser.pair is not None:
        encoders.tell_segments(classifier.encoder, tokeniser.pair.separator_id)
    if start is not None:
        assert isinstance(model, Scratch | Pretrained), "a BiLSTM has no start"
        starting.start_from(classifier, start, model)
    return Assembled(classifier=classifier, tokeniser=tokeniser, share_found=share_found)


def checkpoint_folder(model: Neural) -> Path | None:
    """The folder of the checkpoint that a model reads with or starts from; None for one that needs none."""
    if model.checkpoint is None:
        return None
    folder = checkpoint.resolve(model.checkpoint, model.revision)
    checkpoint.verify(model)
    return folder


def _embeddings(
    model: BiLstm, tokeniser: CheckpointTokeniser | WordVocabulary, folder: Path | None
) -> tuple[npt.NDArray[np.float32] | None, float | None]:
    """What embeddings start from, shape (vocabulary, embedding), NaN for at random; and the share of words with a vector."""
    if model.embeddings == "checkpoint":
        assert folder is not None
        return vectors.of_word_pieces(folder, width=model.embedding_dim), None
    if model.embeddings == "vectors":
        assert isinstance(tokeniser, WordVocabulary)
        found = vectors.of_words(vectors.verify_file(model), tokeniser, width=model.embedding_dim)
        return found.rows, found.share_found
    return None, None
