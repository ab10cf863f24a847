"""The published files themselves, where they are on this machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io

from tests.datasets.writers import noted, write_mat
from unseen import ClassTable, read_dataset
from unseen.datasets import open_dataset
from unseen.datasets.att_splits import read_att_splits
from unseen.datasets.scenes_and_objects import ORIGINAL_UNSEEN, sun_original


@pytest.fixture(scope="module", autouse=True)
def _names_find_the_data(data_folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNSEEN_DATA", str(data_folder))
        yield


def lines(path):
    return path.read_text().split("\n")[:-1]


def words(path):
    return np.array([line.split()[1] for line in lines(path)])


@pytest.mark.parametrize(
    ("name", "width"), [pytest.param("vgg_fc7", 4096, marks=pytest.mark.slow), ("efflite0", 1280)]
)
def test_birds(data_folder, name, width):
    folder = data_folder / "CUB"
    data = open_dataset(f"CUB {name}")
    stored = np.load(folder / f"{name}.npz")
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X, stored["features"])
    y = words(folder / "CUB_200_2011" / "classes.txt")[stored["labels"].ravel() - 1]
    np.testing.assert_array_equal(data.y, y)
    table = ClassTable.read(folder / "att_splits.mat", key="original_att")
    np.testing.assert_array_equal(data.classes.vectors, table.vectors)
    np.testing.assert_array_equal(data.classes.names, table.names)
    # The data set's own table, met by name, has the same numbers.
    own = np.loadtxt(folder / "CUB_200_2011/attributes/class_attribute_labels_continuous.txt")
    names = words(folder / "CUB_200_2011" / "classes.txt")
    np.testing.assert_allclose(data.classes.vectors[data.classes.rows(names)], own, atol=1e-8)
    assert data.classes.attributes is not None
    assert data.classes.attributes[0] == "has_bill_shape::curved_(up_or_down)"
    assert data.unseen.tolist() == sorted(lines(folder / "ps_testclasses.txt"))
    assert data.facts()["features"] == width
    assert noted(data, "label 1 is '001.Black_footed_Albatross' (classes.txt), column 1 is '002.La")
    assert data.X.shape[1] == width


def test_rows_of_efflite0_are_those_of_the_split_file_and_have_pictures(data_folder):
    data = read_dataset(data_folder / "CUB" / "efflite0.npz")
    content = scipy.io.loadmat(data_folder / "CUB" / "att_splits.mat")
    rows = {k: content[k].ravel().astype(int) - 1 for k in content if k.endswith("_loc")}
    np.testing.assert_array_equal(data.seen_test_rows, np.sort(rows["test_seen_loc"]))
    np.testing.assert_array_equal(data.train_rows, np.sort(rows["trainval_loc"]))
    np.testing.assert_array_equal(data.unseen_rows, np.sort(rows["test_unseen_loc"]))
    assert data.image_paths is not None
    has_picture = data.image_paths != ""
    np.testing.assert_array_equal(np.flatnonzero(has_picture), data.unseen_rows)
    folders = [path.split("/")[-2] for path in data.image_paths[has_picture]]
    assert folders == data.y[has_picture].tolist()


def test_rows_of_vgg_fc7_have_a_partition_of_their_own(data_folder):
    data = read_dataset(data_folder / "CUB" / "vgg_fc7.npz")
    assert data.image_paths is None
    counts = {n: np.sum(data.y == n) // 5 for n in data.seen.tolist()}
    found = {n: np.sum(data.y[data.seen_test_rows] == n) for n in data.seen.tolist()}
    assert found == counts
    assert noted(data, "every fifth row of a seen class is kept for testing instead")


def test_animals(data_folder):
    folder = data_folder / "AWA1"
    data = open_dataset("AWA1")
    stored = np.load(folder / "descriptors_pca384.npz")
    rows = stored["features"].astype(np.float32) + stored["mean_projected"]
    assert data.X.tobytes() == rows.tobytes()
    names = words(folder / "classes.txt")
    np.testing.assert_array_equal(data.y, names[stored["labels"].ravel() - 1])
    assert (data.split, data.unseen.tolist()) == (
        "original",
        sorted(lines(folder / "testclasses.txt")),
    )
    published = np.loadtxt(folder / "predicate-matrix-continuous.txt")
    known = published != -1
    np.testing.assert_array_equal(data.classes.vectors[known], published[known])
    assert (data.classes.vectors >= 0).all()
    assert noted(data, f"{(~known).sum()} values of 1 class unknown")
    proposed = data.with_split("proposed")
    assert proposed.unseen.tolist() == sorted(lines(folder / "ps_testclasses.txt"))
    assert proposed.seen_test_rows.size == 4958
    assert proposed.train_rows.size == 19832
    assert noted(data, "alphabetical order of class")
    # As many test images of a class as the split file has between the bounds of its block.
    loc = scipy.io.loadmat(folder / "att_splits.mat")["test_seen_loc"].ravel().astype(int) - 1
    blocks = np.sort(data.y)
    expected = dict(zip(*np.unique(blocks[loc], return_counts=True), strict=True))
    y = data.y[proposed.seen_test_rows]
    assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == expected


@pytest.fixture(scope="module")
def awa35(data_folder):
    if not (data_folder / "AWA35" / "efflite0.npz").is_file():
        pytest.skip(f"no AWA35/efflite0.npz in {data_folder}")
    return data_folder / "AWA35"


@pytest.fixture(scope="module")
def photographs(awa35):
    return open_dataset("AWA35")


def test_other_photographs_of_animals(awa35, photographs):
    data = photographs
    stored = np.load(awa35 / "efflite0.npz")
    assert (data.name, data.X.dtype) == ("AWA35 efflite0", np.float32)
    np.testing.assert_array_equal(data.X, stored["features"])
    names, counts = np.unique(data.y, return_counts=True)
    assert names.tolist() == sorted(data.classes.names)
    assert counts.tolist() == [60] * 35
    # The folder of a photograph is the name that it was found under.
    found_as = dict(zip(stored["classes"], stored["source_classes"], strict=True))
    folders = [path.split("/")[-2] for path in stored["files"]]
    assert folders == [found_as[name] for name in data.y]


def test_one_of_the_other_photographs_is_there_under_two_names(photographs):
    """As docs/datasets.md says."""
    data = photographs
    assert np.unique(data.X, axis=0).shape[0] == data.y.size - 1
    np.testing.assert_array_equal(data.X[1336], data.X[1813])
    assert data.y[[1336, 1813]].tolist() == ["rat", "mouse"]


def test_other_photographs_have_attributes_and_splits_of_the_animals(data_folder, photographs):
    """Both come by name from the files of AWA1, whose classes are in another order."""
    data, animals = photographs, data_folder / "AWA1"
    if not (animals / "classes.txt").is_file():
        pytest.skip(f"no AWA1 in {data_folder}")
    rows = {name: row for row, name in enumerate(words(animals / "classes.txt"))}
    matrix = np.loadtxt(animals / "predicate-matrix-continuous.txt")
    published = matrix[[rows[name] for name in data.classes.names]]
    known = published != -1
    np.testing.assert_allclose(data.classes.vectors[known], published[known], rtol=1e-6)
    assert (data.classes.vectors >= 0).all()
    assert data.classes.attributes == tuple(words(animals / "predicates.txt"))
    assert (data.split, list(data.splits)) == ("SS", ["SS", "PS"])
    for split, file, n in (("SS", "testclasses.txt", 9), ("PS", "ps_testclasses.txt", 6)):
        unseen = data.with_split(split).unseen
        assert unseen.tolist() == sorted(set(lines(animals / file)) & set(data.classes.names))
        assert unseen.size == n


def test_other_photographs_are_shown_for_unseen_classes_alone(awa35, photographs):
    data = photographs
    if not (awa35 / "thumbs").is_dir():
        pytest.skip(f"no pictures in {awa35}")
    assert data.image_paths is not None
    shown = np.flatnonzero(data.image_paths != "")
    proposed = data.with_split("PS")
    np.testing.assert_array_equal(shown, np.union1d(data.unseen_rows, proposed.unseen_rows))
    assert all(path.startswith(str(awa35 / "thumbs")) for path in data.image_paths[shown])


@pytest.mark.parametrize(
    ("name", "classes", "attributes", "rows"),
    [("CUB", 200, 312, 11788), ("AWA1", 50, 85, 30475), ("AWA2", 50, 85, 37322),
     ("SUN", 717, 102, 14340), ("APY", 32, 64, 15339)],
)  # fmt: skip
def test_split_files(data_folder, name, classes, attributes, rows):
    found = read_att_splits(data_folder / name / "att_splits.mat")
    assert found.vectors.shape == (classes, attributes)
    assert found.n_rows == rows
    assert not np.allclose(np.linalg.norm(found.vectors, axis=1), 1), "raw, not scaled"


def test_features_beside_a_real_split_file_whose_columns_are_not_in_label_order(
    data_folder, tmp_path
):
    """The birds as Xian et al. lay them out: labels of classes.txt, image paths with names."""
    text = data_folder / "CUB" / "CUB_200_2011"
    names, images = words(text / "classes.txt"), words(text / "images.txt")
    labels = words(text / "image_class_labels.txt").astype(int)
    content = {"features": np.ones((3, labels.size)), "labels": labels[:, None]}
    files = [f"/BS/work/CUB_200_2011/images/{image}" for image in images]
    write_mat(tmp_path / "res101.mat", content | {"image_files": files})
    (tmp_path / "att_splits.mat").symlink_to(data_folder / "CUB" / "att_splits.mat")
    data = open_dataset(str(tmp_path))
    np.testing.assert_array_equal(data.y, names[labels - 1])
    assert data.unseen.tolist() == sorted(lines(data_folder / "CUB" / "ps_testclasses.txt"))
    assert noted(data, "label numbers do not follow the columns of att")


def test_scenes_have_two_protocols(data_folder):
    notes: list[str] = []
    names = read_att_splits(data_folder / "SUN" / "att_splits.mat").names
    assert names is not None
    assert sun_original(names, notes)["original"].unseen.tolist() == list(ORIGINAL_UNSEEN)
    assert len(lines(data_folder / "SUN" / "ps_testclasses.txt")) == 72
    assert "SUN has two protocols" in notes[-1]
