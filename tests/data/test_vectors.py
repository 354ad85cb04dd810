"""Starting embeddings: what a file of vectors may look like, whose words are found, and what is refused."""

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import factories
from bakeoff import spec
from bakeoff.data import vectors
from bakeoff.data.tokens import WordVocabulary
from bakeoff.errors import DataError

VOCABULARY = WordVocabulary(words=("film", "good", "absent", "."))
LINES = "the 0.1 0.2 0.3\ngood 1 -2 3e-1\n. . 9 9 9\nfilm 0.5 0.25 -1\n. 7 8 9\ngood 4 4 4\n"


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / "glove.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        "6 3\n" + LINES,  # word2vec's header
        "\ufeff" + LINES,
        LINES.replace("\n", "\r\n"),
        LINES.replace("\n", " \n\n"),
        LINES.removesuffix("\n"),
        "the\x85word 0.1 0.2 0.3\n" + LINES,  # characters that Python would break a line at
        "at name@example.com 0.1 0.2 0.3\n" + LINES,
    ],
)
def test_the_words_of_a_vocabulary_are_found(text: str, tmp_path: Path) -> None:
    if text.startswith("at name"):
        text = LINES.split("\n")[0] + "\n" + text  # the width is read off the first line, which is one word's
    found = vectors.of_words(write(tmp_path, text), VOCABULARY, width=3)
    assert found.rows.dtype == np.float32
    assert found.rows[3:].tolist() == [
        [0.5, 0.25, -1.0],
        [1.0, -2.0, pytest.approx(0.3)],
        pytest.approx([np.nan] * 3, nan_ok=True),
        [7.0, 8.0, 9.0],
    ]
    assert np.isnan(found.rows[:3]).all()
    assert found.share_found == 0.75


def test_an_empty_vocabulary_finds_nothing(tmp_path: Path) -> None:
    found = vectors.of_words(write(tmp_path, LINES), WordVocabulary(words=()), width=3)
    assert (found.rows.shape, found.share_found) == ((3, 3), 0.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LINES, "model.embedding_dim=4 is not the width of model.vectors=glove.txt: set model.embedding_dim=3"),
        ("", "model.vectors=glove.txt holds no vectors: each line should be a word and its numbers, between spaces"),
        ("word,0.1,0.2\n", "model.vectors=glove.txt holds no vectors: each line should be a word and its numbers, between spaces"),
        ("a nan nan nan nan\n", "model.vectors=glove.txt holds no vectors: each line should be a word and its numbers, between spaces"),
        (
            "caf\xe9 1 2 3 4\n".encode("latin-1"),
            "model.vectors=glove.txt is not UTF-8: save it as UTF-8 text (unpacked, if it is an archive)",
        ),
        ("the 1 2 3 4\ngood 1 2\n", "model.vectors=glove.txt: line 2 is not a word and 4 numbers; get the file again"),
        ("the 1 2 3 4\n\ngood 1 2 x 4\n", "model.vectors=glove.txt: line 3 is not a word and 4 numbers; get the file again"),
        ("the 1 2 3 4\ngood 1 2 inf 4\n", "model.vectors=glove.txt: line 2 is not a word and 4 numbers; get the file again"),
    ],
)
def test_what_is_no_file_of_such_vectors_is_one_sentence(text: str | bytes, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        vectors.of_words(write(tmp_path, text), VOCABULARY, width=4)
    assert str(caught.value) == sentence


def with_vectors(file: Path, fingerprint: str) -> spec.BiLstm:
    return dataclasses.replace(factories.MODELS["bilstm"], embeddings="vectors", vectors=str(file), vectors_fingerprint=fingerprint)


def test_a_file_that_changed_or_went_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, LINES)
    model = with_vectors(file, hashlib.sha256(LINES.encode()).hexdigest())
    assert vectors.verify_file(model) == file
    file.write_text(LINES + "new 1 2 3\n")
    with pytest.raises(DataError, match=r"^model\.vectors=glove\.txt changed since this Run was composed: compose the Run again$"):
        vectors.verify_file(model)
    file.unlink()
    with pytest.raises(DataError, match=r"^model\.vectors=glove\.txt is no file: check the path$"):
        vectors.verify_file(model)


TABLE = torch.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    "name",
    ["embeddings.word_embeddings.weight", "bert.embeddings.word_embeddings.weight", "model.embeddings.tok_embeddings.weight", "wte.weight"],
)
def test_the_table_of_a_checkpoint_is_found_in_float32(name: str, tmp_path: Path) -> None:
    others = {"embeddings.position_embeddings.weight": torch.zeros(5, 3), "encoder.weight": torch.zeros(2, 2)}
    save_file({name: TABLE.bfloat16(), **others}, tmp_path / "model.safetensors")
    rows = vectors.of_word_pieces(tmp_path, width=3)
    assert rows.dtype == np.float32
    assert rows.tolist() == TABLE.tolist()


def test_the_table_is_found_among_parts(tmp_path: Path) -> None:
    save_file({"a.word_embeddings.weight": TABLE}, tmp_path / "model-00002-of-00002.safetensors")
    places = {"a.word_embeddings.weight": "model-00002-of-00002.safetensors", "b.weight": "model-00001-of-00002.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    assert vectors.of_word_pieces(tmp_path, width=3).tolist() == TABLE.tolist()


def test_a_checkpoint_without_a_table_or_with_a_wider_one_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    folder.mkdir()
    sentence = "model.checkpoint=toy has no word-piece table that can be read from its safetensors: set model.embeddings=random"
    with pytest.raises(DataError) as caught:
        vectors.of_word_pieces(folder, width=3)
    assert str(caught.value) == sentence
    (folder / "model.safetensors").write_bytes(b"no safetensors")
    with pytest.raises(DataError) as caught:
        vectors.of_word_pieces(folder, width=3)
    assert str(caught.value) == sentence
    save_file({"a.word_embeddings.weight": TABLE}, folder / "model.safetensors")
    with pytest.raises(DataError) as caught:
        vectors.of_word_pieces(folder, width=100)
    assert str(caught.value) == (
        "model.embedding_dim=100 is not the width of the word-pieces of model.checkpoint=toy: set model.embedding_dim=3"
    )
