"""Tokeniser and starting weights of the models that bring their own vocabulary or borrow one, and what is refused first."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import bakery
import factories
import served
from bakeoff import fingerprint, spec
from bakeoff.data import checks, longdoc
from bakeoff.data.tokens import CheckpointTokeniser, WordVocabulary
from bakeoff.errors import DataError, NotApplicable
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.models.files import VOCABULARY
from bakeoff.models.scratch import ScratchClassifier
from bakeoff.probes import weights
from bakeoff.training.assemble import Assembled, assemble

TEXTS = ("good film", "bad film")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bakery.checkpoint(tmp_path_factory.mktemp("toy") / "bert")


def pieces(kind: str, checkpoint: Path, **changes: object) -> spec.Run:
    return served.make_run(kind, checkpoint, vocabulary="word_pieces", **changes)


def assembled(run: spec.Run) -> Assembled:
    torch.manual_seed(0)
    assert isinstance(run.model, spec.Neural)
    return assemble(run, run.model, TEXTS, ["unseen words"], n_classes=2, needs={})


@pytest.mark.parametrize("kind", ["bilstm", "scratch"])
def test_words_are_learned_from_the_labelled_and_unlabelled_texts(kind: str) -> None:
    found = assembled(served.make_run(kind))
    assert isinstance(found.tokeniser, WordVocabulary)
    assert set(found.tokeniser.words) == {"good", "bad", "film", "unseen", "words"}
    assert found.classifier.get_parameter("embedding.weight").shape == (8, 16)
    assert found.share_found is None


@pytest.mark.parametrize("kind", ["bilstm", "scratch"])
def test_word_pieces_are_the_checkpoints_with_its_special_tokens(kind: str, checkpoint: Path) -> None:
    run = pieces(kind, checkpoint)
    found = assembled(run)
    assert isinstance(found.tokeniser, CheckpointTokeniser)
    n_pieces = len(bakery.SPECIALS) + len(bakery.CUES) + 1 + len(bakery.FILLER)
    assert len(found.tokeniser) == n_pieces
    assert found.classifier.get_parameter("embedding.weight").shape == (n_pieces, 16)
    reading = longdoc.read(["good bad", ""], found.tokeniser, run.longdoc)
    assert [ids.tolist() for ids in reading.ids] == [[2, 5, 6, 3], [2, 3]]


def test_a_bilstm_starts_at_the_checkpoints_table_with_a_zero_row_for_padding(checkpoint: Path) -> None:
    found = assembled(pieces("bilstm", checkpoint, embeddings="checkpoint"))
    table = load_file(checkpoint / "model.safetensors")["embeddings.word_embeddings.weight"]
    own = found.classifier.get_parameter("embedding.weight")
    scale = 0.3 / table.square().mean().sqrt()
    assert (own[1:] - scale * table[1:]).abs().max() < 1e-6
    assert own[0].abs().max() == 0
    assert own.requires_grad


def test_a_bilstm_starts_at_the_vectors_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("film" + " 0.5" * 16 + "\nother" + " 1" * 16 + "\n")
    changes = {"embeddings": "vectors", "vectors": str(file), "vectors_fingerprint": fingerprint.of_bytes(file)}
    found = assembled(served.make_run("bilstm", **changes))
    plain = assembled(served.make_run("bilstm"))
    assert found.share_found == 1 / 5
    assert isinstance(found.tokeniser, WordVocabulary)
    row = 3 + found.tokeniser.words.index("film")
    own, random = (each.classifier.get_parameter("embedding.weight") for each in (found, plain))
    assert own[row].tolist() == pytest.approx([0.3] * 16)  # a vector of halves, at the size of random embeddings
    kept = torch.arange(8) != row
    assert torch.equal(own[kept], random[kept])


@pytest.mark.parametrize("kind", ["bilstm", "scratch"])
def test_a_checkpoint_whose_bytes_changed_is_refused(kind: str, tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "bert")
    run = pieces(kind, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"note": "another"}))
    with pytest.raises(DataError, match=r"^model\.checkpoint changed since this Run was composed"):
        assembled(run)


SAVED: list[tuple[str, dict[str, object]]] = [
    ("bilstm", {"directions": "forward", "pooling": "attention"}),
    ("scratch", {}),
    ("scratch", {"causal": True, "pooling": "last", "positions": "learned", "max_positions": 512}),
]


@pytest.mark.parametrize(
    ("vocabulary", "kind", "changes"),
    [
        *[(vocabulary, *each) for vocabulary in ("words", "word_pieces") for each in SAVED],
        ("word_pieces", "bilstm", {"embeddings": "checkpoint"}),
    ],
)
def test_a_saved_model_is_served_with_the_answers_that_it_gave(
    vocabulary: str, kind: str, changes: dict[str, object], checkpoint: Path, tmp_path: Path
) -> None:
    run = served.make_run(kind, **changes) if vocabulary == "words" else pieces(kind, checkpoint, **changes)
    learned = served.trained(run, tmp_path / "model")
    assert (tmp_path / "model" / VOCABULARY).exists() == (vocabulary == "words")
    candidate = weights.load(run, served.prepared(), classes=served.CLASSES, folder=tmp_path / "model")
    assert isinstance(candidate, weights.Neural)
    assert isinstance(candidate.classifier, BiLstmClassifier | ScratchClassifier)
    texts = served.prepared().test.texts
    reading = longdoc.read(texts, candidate.tokeniser, run.longdoc)
    for row, ids in enumerate(reading.ids):
        with torch.inference_mode():
            logits = candidate.classifier(torch.from_numpy(ids.astype(np.int64))[None], torch.tensor([len(ids)]))
        assert logits.softmax(dim=-1)[0].tolist() == pytest.approx(learned.test[row].tolist(), abs=1e-5)


@pytest.fixture
def without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_prepared", lambda dataset: served.prepared())


@pytest.mark.parametrize(("longdoc", "refused"), [("full", True), (33, True), (32, False)])
@pytest.mark.usefixtures("without_data")
def test_a_table_of_positions_must_reach_as_far_as_is_read(longdoc: int | str, refused: bool) -> None:
    reading = factories.FULL if longdoc == "full" else spec.LongDoc(strategy="head", max_tokens=int(longdoc))
    model = dataclasses.replace(factories.MODELS["scratch"], positions="learned", max_positions=32)
    run = dataclasses.replace(factories.make_run(model=model, labels=40), longdoc=reading)
    if not refused:
        checks.check(run)
        return
    with pytest.raises(NotApplicable) as caught:
        checks.check(run)
    assert str(caught.value) == (
        f"longdoc={reading.label} may read more than the model.max_positions=32 of scratch: raise that, use longdoc=head "
        "with longdoc.max_tokens=32 or less, longdoc=windows for whole documents, or positions without a table, such as "
        "model.positions=rotary"
    )


@pytest.mark.parametrize("kind", ["bilstm", "scratch"])
@pytest.mark.usefixtures("without_data")
def test_a_checkpoint_without_a_tokeniser_is_refused_before_anything_starts(kind: str, tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "bert")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"^model\.checkpoint=bert has no tokeniser"):
        checks.check(pieces(kind, folder))


@pytest.mark.usefixtures("without_data")
def test_embeddings_of_another_width_are_refused_before_anything_starts(checkpoint: Path, tmp_path: Path) -> None:
    run = pieces("bilstm", checkpoint, embeddings="checkpoint", embedding_dim=100)
    with pytest.raises(DataError, match=r"model\.embedding_dim=100 is not the width .* set model\.embedding_dim=16$"):
        checks.check(run)
    file = tmp_path / "glove.txt"
    file.write_text("film 0.5 0.5\n")
    changes = {"embeddings": "vectors", "vectors": str(file), "vectors_fingerprint": fingerprint.of_bytes(file)}
    with pytest.raises(DataError, match=r"model\.embedding_dim=16 is not the width .* set model\.embedding_dim=2$"):
        checks.check(served.make_run("bilstm", **changes))
