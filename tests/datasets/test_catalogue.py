"""Data sets by name and by path, and the command that lists them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tests.common.command import run_unseen
from tests.datasets.writers import (
    NAMES,
    UNSEEN,
    X,
    assert_is_animals,
    split_content,
    write_awa,
    write_cub,
    write_mat,
    write_xlsa17,
)
from unseen import InputError
from unseen.datasets import CATALOGUE, data_folder, examine, open_dataset, read_rows
from unseen.datasets.catalogue import entries
from unseen.datasets.class_names import Spellings, canonical


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A data folder with birds in two kinds of features, and animals; not all in one place."""
    birds = write_cub(tmp_path / "CUB")
    write_mat(birds / "att_splits.mat", split_content([2, 0, 1, 3, 4]))
    shutil.copy(birds / "features.npz", birds / "vgg_fc7.npz")
    (birds / "features.npz").rename(birds / "efflite0.npz")
    write_awa(tmp_path / "Animals_with_Attributes")
    write_xlsa17(tmp_path / "xlsa17" / "data" / "APY")
    (tmp_path / "SUN").mkdir()
    write_mat(tmp_path / "SUN" / "att_splits.mat", split_content())
    monkeypatch.setenv("UNSEEN_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["CUB vgg_fc7", "cub/VGG_FC7", "Cub efflite0", "CUB/efflite0"])
def test_names_open_in_any_case_and_with_either_separator(root, name):
    data = open_dataset(name)
    assert_is_animals(data)
    assert data.name.casefold() == name.replace("/", " ").casefold()


def test_other_names_of_folders_and_other_places_are_looked_at(root):
    assert open_dataset("awa1").split == "original"
    assert open_dataset("APY", split="proposed").name == "APY res101"
    assert data_folder() == root.resolve()


def test_a_name_that_cannot_be_opened_says_what_to_do(root, monkeypatch):
    for name, message in (
        ("CUB", "features in 'efflite0.npz', 'vgg_fc7.npz': give the path of the one to open"),
        ("CUB res101", r"not below .*; put it into a folder CUB with res101.npz, .npy or .mat"),
        ("FLO", r"data set 'FLO' \(Oxford Flowers 102\) is not below"),
        ("SUN", "SUN has no features: put res101.mat"),
        ("BIRDS", "BIRDS does not exist; 'digits', 'shapes', 'synthetic' come with unseen"),
        ("awa1.csv", r"awa1.csv does not exist"),
    ):
        with pytest.raises(InputError, match=message):
            open_dataset(name)
    with pytest.raises(InputError, match=r"no split 'own'; it has 'proposed'"):
        open_dataset("APY", split="own")
    monkeypatch.setenv("UNSEEN_DATA", str(root / "gone"))
    with pytest.raises(InputError, match=r"UNSEEN_DATA names .*gone, which is not a folder"):
        open_dataset("FLO")
    with pytest.raises(InputError, match="'digits' has no split 'x'; it has no named split"):
        open_dataset("digits", split="x")


def test_a_folder_of_the_users_own_stays_their_own(root, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    np.save(own / "features.npy", X)
    (own / "labels.txt").write_text("\n".join(NAMES))
    shutil.copy(root / "SUN" / "att_splits.mat", own / "classes.mat")
    shutil.copy(root / "SUN" / "att_splits.mat", own / "att_splits.mat")
    (own / "unseen.txt").write_text("\n".join(UNSEEN))
    data = open_dataset(str(own))
    assert (data.name, data.splits) == ("own", {})
    assert set(data.sources) == {"features.npy", "labels.txt", "classes.mat", "unseen.txt"}


def test_an_archive_beside_other_data_is_a_data_set_by_itself(root):
    path = root / "CUB" / "zoo.npz"
    table = {"class_names": ["a", "b", "c"], "class_vectors": np.eye(3)}
    np.savez(path, features=X[:4], labels=["a", "a", "b", "b"], **table)
    data = open_dataset(str(path))
    assert (data.name, data.unseen.tolist(), set(data.sources)) == ("zoo", ["c"], {"zoo.npz"})


def test_rows_to_predict_come_from_published_folders_too(root):
    rows = read_rows(root / "xlsa17" / "data" / "APY", 7)
    np.testing.assert_array_equal(rows.X, X)
    assert rows.labels is not None
    assert rows.labels.tolist() == NAMES.tolist()
    with pytest.raises(InputError, match="has 7 columns, but the model was trained on 8"):
        read_rows(root / "xlsa17" / "data" / "APY", 8)


def test_check_says_the_notes_aloud(root):
    findings = examine(root / "CUB" / "efflite0.npz")
    assert not findings.wrong
    assert "Caltech-UCSD Birds" in findings.found[0]
    assert any("do not follow the columns of att" in line for line in findings.odd)
    for name in ("CUB efflite0", root / "CUB" / "efflite0.npz"):
        outcome = run_unseen("check", name)
        assert outcome.code == 0
        assert "do not follow the columns of att" in outcome.out
    assert "unseen fit 'CUB efflite0' --out" in run_unseen("check", "CUB efflite0").out
    assert run_unseen("check", root / "CUB").code == 1


def test_the_list_knows_what_is_there_and_where_to_get_the_rest(root):
    found = run_unseen("datasets", "--json").json
    assert set(found) == {"digits", "shapes", "synthetic", *(entry.name for entry in entries())}
    birds = found["CUB vgg_fc7"]
    assert birds["features"] == birds["path"] == str(root / "CUB" / "vgg_fc7.npz")
    assert birds["paper"] == {
        "instances": 11788, "attributes": 312, "values": "binary", "seen": 150, "unseen": 50,
    }  # fmt: skip
    assert (found["FLO"]["features"], found["FLO"]["path"]) == (None, None)
    assert "no features" in found["SUN"]["problem"]
    text = run_unseen("datasets").out
    assert "11,788; 312 binary; 150 / 50" in text
    assert "CUB/vgg_fc7.npz" in text
    for benchmark in CATALOGUE:
        assert (benchmark.home or benchmark.get) in text


def test_the_list_survives_broken_files(root):
    (root / "CUB" / "vgg_fc7.npz").write_bytes(b"no zip")
    found = run_unseen("datasets", "--json").json
    assert "vgg_fc7.npz is not a .npz file" in found["CUB vgg_fc7"]["problem"]
    assert found["CUB efflite0"]["features"]
    assert "cannot be read, see below" in run_unseen("datasets").out


def test_data_are_looked_for_in_the_cache_where_no_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("UNSEEN_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".cache" / "unseen"
    assert data_folder() == folder
    with pytest.raises(InputError, match=r"cache/unseen; put it .* AWA2 there, or set UNSEEN_DATA"):
        open_dataset("AWA2")
    assert f"looked for in {folder}" in " ".join(run_unseen("datasets").out.split())
    write_xlsa17(folder / "AWA2")
    assert open_dataset("AWA2").split == "proposed"


# ---------------------------------------------------------------- spelling


@pytest.mark.parametrize(
    "spelled",
    ["028.Brown_Creeper", "Brown Creeper", "brown+creeper", "BROWN-CREEPER", "28 Brown/creeper"],
)
def test_one_class_under_many_spellings(spelled):
    assert canonical(spelled) == "brown creeper"
    assert Spellings(["028.Brown_Creeper", "Wren"]).find(spelled) == "028.Brown_Creeper"


def test_names_that_differ_in_signs_alone_are_met_exactly(tmp_path):
    table = Spellings(["a+b", "a_b", "12", "c"])
    assert [table.find(n) for n in ("a+b", "a_b", "a b", "12", "13", "C", "")] == [
        "a+b", "a_b", None, "12", None, "c", None,
    ]  # fmt: skip
    notes = []
    assert table.match(["c", "12"], tmp_path, notes).tolist() == ["c", "12"]
    assert not notes
