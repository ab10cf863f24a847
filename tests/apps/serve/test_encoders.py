"""Pictures and sentences: the encoder that a model names, and what is said where it is not here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.apps.serve.conftest import asking
from tests.apps.serve.test_faults import huge_png, png, refused
from tests.common.command import BY_ESZSL, assert_one_sentence, run_unseen
from tests.encoders.shapes import NAMES, UNSEEN, attributes, photos, picture
from unseen import ESZSL, ClassTable, InputError, load, read_dataset
from unseen.apps.serve.encoders import encoders_for
from unseen.apps.serve.run import Given, from_file
from unseen.apps.serve.settings import Limits, Settings
from unseen.datasets.embed import embed_folder
from unseen.encoders import ImageEncoder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos/, data/ embedded from them, and a model that names its encoder."""
    folder = tmp_path_factory.mktemp("pictures")
    photos(folder / "photos", 4)
    attributes(folder / "numbers.csv")
    embed_folder(folder / "photos", folder / "data", folder / "numbers.csv", images="basic")
    (folder / "data" / "unseen.txt").write_text("\n".join(UNSEEN))
    fitted = run_unseen("fit", folder / "data", *BY_ESZSL, "--out", folder / "m.unseen")
    assert fitted.code == 0, fitted
    return folder


def given(work: Path) -> Given:
    return Given(work / "m.unseen", str(work / "data"), pictures=work / "photos")


@pytest.fixture(scope="module")
def client(work: Path) -> Iterator[httpx.Client]:
    with asking(from_file(given(work), Settings())) as made:
        yield made


def test_pictures_are_recognised_as_predict_does_it(client: httpx.Client, work: Path):
    pictures = [picture(name, 77 + k) for k, name in enumerate(UNSEEN)]
    files = [("pictures", ("p.png", png(p))) for p in pictures]
    found = client.post("/v1/predict/pictures", files=files).json()
    model = load(work / "m.unseen")
    rows = ImageEncoder("basic").transform(pictures)
    assert np.array_equal(np.array(found["rows"], np.float32), rows)
    assert [line[0] for line in found["names"]] == model.predict(rows).tolist()
    assert sum(line[0] == name for line, name in zip(found["names"], UNSEEN, strict=True)) >= 3
    among = client.post("/v1/predict/pictures?k=2&candidates=all", files=files[:1]).json()
    assert among["names"] == model.top_k(rows[:1], 2, "all").names.tolist()


def test_bad_pictures_are_named_by_number(client: httpx.Client):
    good = png(Image.new("RGB", (9, 9), "red"))
    for bad, word in ((huge_png(9_000, 7_000), "40,000,000"), (good[:40], "picture 1"), (b"", "")):
        files = [("pictures", ("p.png", content)) for content in (good, bad)]
        refused(client.post("/v1/predict/pictures", files=files), 400, "picture 1", word)
    files = [("pictures", ("p.png", good))]
    refused(client.post("/v1/predict/pictures?k=0", files=files), 400, "k must be")
    refused(client.post("/v1/predict/pictures?candidates=x", files=files), 400, "'x'")


def test_thumbnails_lie_in_the_folder_that_was_named(client: httpx.Client, work: Path):
    assert client.get("/v1/gallery/0/thumb").headers["Content-Type"] == "image/jpeg"
    said: list[str] = []
    from_file(replace(given(work), pictures=None), Settings(), said.append)
    assert "--pictures FOLDER" in said[0]


def test_a_gallery_whose_files_are_gone_is_still_searched(work: Path, tmp_path: Path):
    shutil.copytree(work / "data", tmp_path / "data")
    current = from_file(Given(work / "m.unseen", str(tmp_path / "data")), Settings())
    with asking(current) as client:
        before = client.post("/v1/rank", json={"name": UNSEEN[0]}).json()
        shutil.rmtree(tmp_path / "data")
        assert client.post("/v1/rank", json={"name": UNSEEN[0]}).json() == before
        assert client.post("/v1/predict", json={"gallery": [0]}).status_code == 200
        refused(client.get("/v1/gallery/0/thumb"), 404)


def test_an_encoder_that_is_not_here_is_told(work: Path, tmp_path: Path):
    model = load(work / "m.unseen")
    known = model.training_data_["encoder"]["images"]
    model.training_data_["encoder"] = {"images": known | {"name": "nobody/has-this"}}
    model.save(tmp_path / "m.unseen")
    said: list[str] = []
    current = from_file(Given(tmp_path / "m.unseen"), Settings(), said.append)
    assert "pictures cannot be recognised" in said[0]
    with asking(current) as client:
        facts = client.get("/v1/model").json()
        assert not facts["pictures"]
        files = {"pictures": ("p.png", png(Image.new("RGB", (9, 9))))}
        refused(client.post("/v1/predict/pictures", files=files), 400, facts["why_no_pictures"])
    named = from_file(Given(tmp_path / "m.unseen", images="basic"), Settings())
    assert named.served.encoders.pictures is not None
    model.training_data_["encoder"] = {"images": known | {"sha256": "0" * 64}}
    found = encoders_for(model, tmp_path / "m.unseen", "", Limits())
    assert "another hash" in found.why_no_pictures
    with pytest.raises(InputError, match="another hash"):
        encoders_for(model, tmp_path / "m.unseen", "basic", Limits())
    del model.training_data_["encoder"]
    model.save(tmp_path / "none.unseen")
    wrong = run_unseen("serve", tmp_path / "none.unseen", "--images", "basic")
    assert_one_sentence(wrong, "names no encoder")


def test_rows_of_another_encoder_are_refused(work: Path, tmp_path: Path):
    data = tmp_path / "data"
    embed_folder(work / "photos", data, work / "numbers.csv", images="basic")
    facts = (data / "encoder.json").read_text()
    sha = read_dataset(work / "data").encoder["images"]["sha256"]  # pyright: ignore
    (data / "encoder.json").write_text(facts.replace(sha, "0" * 64))
    with pytest.raises(InputError, match="different hashes"):
        from_file(Given(work / "m.unseen", str(data)), Settings())


def test_a_sentence_is_encoded_as_the_classes_were(work: Path, tmp_path: Path):
    texts = {name: f"a {name} on white paper" for name in NAMES}
    lines = ["name,said", *(f"{name},{text}" for name, text in texts.items())]
    (tmp_path / "words.csv").write_text("\n".join(lines))
    embed_folder(work / "photos", tmp_path / "data", tmp_path / "words.csv", images="basic")
    (tmp_path / "data" / "unseen.txt").write_text("\n".join(UNSEEN))
    data = read_dataset(tmp_path / "data")
    table, seen = data.classes, np.array([name for name in NAMES if name not in UNSEEN])
    rows = np.isin(data.y, seen)
    model = ESZSL().fit(data.X[rows], data.y[rows], table)
    model.save(tmp_path / "words.unseen")
    current = from_file(Given(tmp_path / "words.unseen", str(tmp_path / "data")), Settings())
    with asking(current) as client:
        assert client.get("/v1/model").json()["sentences"]
        answer = client.post("/v1/rank", json={"sentence": "some green disc", "k": 8}).json()
        described = table.encode({"described": "some green disc"})
        expected = model.reveal(described).rank("described", data.X, 8)
        assert answer["rows"] == expected.rows.tolist()
        assert answer["vector"] == described.vectors[0].tolist()
        assert answer["labels"].count("green disc") >= 3
        refused(
            client.post("/v1/rank", json={"sentence": "xyzzy"}), 400, "the sentence has no word"
        )
    both = {name: {"said": texts[name], "long": 1.0 * len(name)} for name in NAMES}
    mixed = ESZSL().fit(data.X[rows], data.y[rows], ClassTable.of(both, seen))
    found = encoders_for(mixed, tmp_path, "", Limits())
    assert "more than one text" in found.why_no_sentences
