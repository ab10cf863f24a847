"""The layout of Xian et al.: labels meet classes by name, traps are said, slips are refused."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.datasets.writers import (
    ANIMALS,
    IS_SEEN_TEST,
    IS_UNSEEN,
    LABELS,
    N_ROWS,
    NAMES,
    VECTORS,
    X,
    assert_is_animals,
    feature_content,
    loc,
    noted,
    paths,
    split_content,
    write_mat,
    write_numbered,
    write_xlsa17,
)
from unseen import InputError
from unseen.datasets import open_dataset
from unseen.datasets.scenes_and_objects import ORIGINAL_UNSEEN
from unseen.errors import MissingExtraError


def read_xlsa17(folder):
    return open_dataset(str(folder))


ANY_ORDER = st.permutations(range(5))
IN_TMP = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("version", ["5", "7.3", "plain HDF5"])
def test_every_version_of_matlab_files_gives_one_data_set(tmp_path, version):
    data = open_dataset(str(write_xlsa17(tmp_path / "ZOO", version)))
    assert_is_animals(data)
    assert (data.name, data.split, list(data.splits)) == ("ZOO res101", "proposed", ["proposed"])
    np.testing.assert_array_equal(data.seen_test_rows, np.flatnonzero(IS_SEEN_TEST))
    np.testing.assert_array_equal(data.unseen_rows, np.flatnonzero(IS_UNSEEN))
    assert data.X.flags.c_contiguous
    files = {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (tmp_path / "ZOO").iterdir()
    }
    assert data.sources == files


@IN_TMP
@given(order=ANY_ORDER)
def test_the_order_of_columns_changes_no_row_if_image_paths_name_classes(tmp_path, order):
    data = read_xlsa17(write_xlsa17(tmp_path, splits=split_content(order)))
    assert_is_animals(data)
    assert noted(data, "label numbers do not follow the columns of att") == (order != sorted(order))


@IN_TMP
@given(order=ANY_ORDER)
def test_the_order_of_columns_changes_no_row_if_classes_txt_names_classes(tmp_path, order):
    features = feature_content(image_files=None)
    folder = write_xlsa17(tmp_path, features=features, splits=split_content(order))
    spelled = [name[4:].replace("_", " ").upper() for name in ANIMALS]
    write_numbered(folder / "classes.txt", spelled)
    data = read_xlsa17(folder)
    assert_is_animals(data)
    assert noted(data, "classes.txt spells 5 class names differently, such as 'GRIZZLY BEAR' for")


@IN_TMP
@given(order=ANY_ORDER)
def test_relabelled_rows_keep_their_class_if_image_paths_name_it(tmp_path, order):
    numbers = (np.argsort(order) + 1)[LABELS - 1]
    features = feature_content(labels=numbers[:, None])
    assert_is_animals(read_xlsa17(write_xlsa17(tmp_path, features=features)))


def test_without_any_name_the_order_of_columns_is_assumed_aloud(tmp_path):
    features = feature_content(image_files=[f"/x/{k}.jpg" for k in range(N_ROWS)])
    data = read_xlsa17(write_xlsa17(tmp_path, features=features))
    assert_is_animals(data)
    assert noted(data, "label k is column k of att")


def test_image_paths_that_name_some_classes_must_agree(tmp_path):
    some = [p if name != "004.Rat" else "/x/1.jpg" for p, name in zip(paths(), NAMES, strict=True)]
    folder = write_xlsa17(tmp_path, features=feature_content(image_files=some))
    data = read_xlsa17(folder)
    assert_is_animals(data)
    assert noted(data, "image paths name the classes of 4 of 5 labels")
    write_mat(folder / "att_splits.mat", split_content([1, 0, 2, 3, 4]))
    with pytest.raises(InputError, match=r"images of label 1 are in the folder of '001.Grizzly"):
        read_xlsa17(folder)


def test_one_folder_for_all_images_is_no_class(tmp_path):
    # aPascal has a class "train", and a folder of that name.
    features = feature_content(image_files=[f"/data/rat/{k}.jpg" for k in range(N_ROWS)])
    data = read_xlsa17(write_xlsa17(tmp_path, features=features))
    assert_is_animals(data)
    assert noted(data, "label k is column k")


def test_classes_whose_names_span_folders(tmp_path):
    names = ["temple_south_asia", "temple_east_asia", "south_asia", "abbey", "airport_airport"]
    spelled = dict(zip(ANIMALS, names, strict=True))
    folders = {"temple_south_asia": "t/temple/south_asia", "temple_east_asia": "t/temple/east_asia",
               "south_asia": "s/south_asia", "airport_airport": "a/airport/airport"}  # fmt: skip
    images = [f"/SUN/images/{folders.get(spelled[n], 'a/' + spelled[n])}/x.jpg" for n in NAMES]
    order = [4, 2, 0, 1, 3]
    splits = split_content(order, allclasses_names=[names[k] for k in order])
    features = feature_content(image_files=images)
    data = read_xlsa17(write_xlsa17(tmp_path, features=features, splits=splits))
    assert_is_animals(data, spelled.__getitem__)


def test_flowers_have_no_names_and_only_scaled_descriptions(tmp_path):
    splits = split_content(allclasses_names=None, original_att=None)
    data = read_xlsa17(write_xlsa17(tmp_path, splits=splits))
    assert data.y.tolist() == [str(k) for k in LABELS]
    assert noted(data, "classes are called by their number")
    np.testing.assert_allclose(np.linalg.norm(data.classes.vectors, axis=1), 1)


def test_tuning_lists_that_leak_are_not_used(tmp_path):
    train, seen_test = np.flatnonzero(~IS_UNSEEN), np.flatnonzero(IS_SEEN_TEST)
    splits = split_content(train_loc=loc(train), val_loc=loc(train[:3]))
    data = read_xlsa17(write_xlsa17(tmp_path, splits=splits))
    assert not set(data.train_rows) & set(seen_test)


def test_unknown_values_become_the_mean_of_the_attribute(tmp_path):
    raw = VECTORS.T.copy()
    raw[:2, 3] = -1
    folder = write_xlsa17(tmp_path, splits=split_content(original_att=raw))
    data = read_xlsa17(folder)
    others = np.delete(VECTORS, 3, axis=0)
    rat = data.classes.vector("004.Rat")
    np.testing.assert_allclose(rat, [*others[:, :2].mean(axis=0), *VECTORS[3, 2:]])
    assert noted(data, "2 values of 1 class unknown (-1), replaced by the mean")
    raw[0, 0] = -0.5  # a table with other negative numbers means what it says
    signed = read_xlsa17(write_xlsa17(tmp_path, splits=split_content(original_att=raw)))
    assert signed.classes.vector("004.Rat")[:2].tolist() == [-1, -1]


def test_sun_has_two_protocols(tmp_path):
    names = [*ORIGINAL_UNSEEN, *(f"scene_{k}" for k in range(707))]
    y = np.repeat(np.arange(1, 718), 2)
    rows = np.arange(y.size)
    is_unseen = y > 645
    is_test = ~is_unseen & (rows % 2 == 1)
    splits = {
        "allclasses_names": names, "att": np.random.default_rng(0).random((3, 717)),
        "trainval_loc": loc(rows[~is_unseen & ~is_test]), "test_seen_loc": loc(rows[is_test]),
        "test_unseen_loc": loc(rows[is_unseen]),
    }  # fmt: skip
    features = {"features": np.ones((2, y.size)), "labels": y[:, None]}
    folder = write_xlsa17(tmp_path, features=features, splits=splits)
    data = open_dataset(str(folder))
    assert (data.split, data.unseen.size) == ("proposed", 72)
    assert noted(data, "'original' with 10 unseen classes and 'proposed' with 72")
    original = open_dataset(str(folder), split="original")
    assert original.unseen.tolist() == sorted(ORIGINAL_UNSEEN)
    assert original.facts()["seen classes"] == 707
    assert original.seen_test_rows.size == 0
    assert original.X is not data.X


def test_pictures_are_found_below_the_folder(tmp_path):
    folder = write_xlsa17(tmp_path)
    assert read_xlsa17(folder).image_paths is None
    picture = folder / "images" / NAMES[4] / "4.jpg"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"x")
    found = read_xlsa17(folder).image_paths
    assert found is not None
    assert found.tolist() == [str(picture) if k == 4 else "" for k in range(N_ROWS)]


# ---------------------------------------------------------------- what is refused

both = np.flatnonzero(IS_SEEN_TEST)[:2]
first = np.flatnonzero(IS_UNSEEN)[:1]
with_row = [*np.flatnonzero(~IS_UNSEEN & ~IS_SEEN_TEST), *first]
without = np.flatnonzero(IS_UNSEEN)[1:]
swapped = [*paths()[1:], paths()[0]]

SLIPS = [
    ({"labels": LABELS[:, None] + 1}, {}, r"res101.mat: labels has 6 at place 24 .* the 5 classes"),
    ({"labels": LABELS[:, None] - 1}, {}, r"res101.mat: labels must be counted from 1.* 0 at"),
    ({"labels": LABELS[:, None] + 0.5}, {}, r"res101.mat: labels must be whole numbers"),
    ({"labels": LABELS[:-1, None]}, {}, r"res101.mat: 7 x 30 features for 29 labels"),
    ({"labels": None}, {}, r"res101.mat has no labels"),
    ({"features": None}, {}, r"res101.mat has no features: looked for"),
    ({"features": np.where(X.T > 2, np.nan, X.T)}, {}, "NaN or infinite in row"),
    ({"image_files": swapped}, {}, r"label 1 has images in .* '001.*, label 1 in that of '002"),
    ({"image_files": paths()[:9]}, {}, "30 labels but 9 image paths"),
    ({}, {"att": None, "original_att": None}, r"att_splits.mat has no class vectors"),
    ({}, {"trainval_loc": None}, r"att_splits.mat has no row numbers: looked for 'trainval_loc'"),
    ({}, {"test_unseen_loc": loc([30])}, "row numbers go up to 31, but the features have 30"),
    ({}, {"test_seen_loc": loc([-1])}, "test_seen_loc must be counted from 1"),
    ({}, {"test_seen_loc": np.array([[1.5]])}, "test_seen_loc must be whole numbers"),
    ({}, {"test_seen_loc": loc([2, 2])}, "test_seen_loc repeats a row number"),
    ({}, {"trainval_loc": loc([0, 1, *both])}, "trainval_loc and test_seen_loc must not overlap"),
    ({}, {"trainval_loc": loc(with_row)}, "trainval_loc and test_unseen_loc must not overlap"),
    ({}, {"trainval_loc": loc(with_row), "test_unseen_loc": loc(without)},
     "'002.Ox' is both seen and in test_unseen_loc"),
    ({}, {"allclasses_names": ANIMALS[:4]}, "4 class names but 5 columns of att"),
]  # fmt: skip


@pytest.mark.parametrize(("features", "splits", "message"), SLIPS)
@pytest.mark.parametrize("version", ["5", pytest.param("7.3", marks=pytest.mark.slow)])
def test_a_slip_is_one_sentence_that_names_the_place(tmp_path, features, splits, message, version):
    folder = write_xlsa17(tmp_path, version, feature_content(**features), split_content(**splits))
    with pytest.raises(InputError, match=message) as caught:
        open_dataset(str(folder))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["res101.mat", "att_splits.mat"])
@pytest.mark.parametrize("version", ["5", "7.3"])
def test_broken_files_are_named(tmp_path, file, version):
    folder = write_xlsa17(tmp_path, version)
    whole = (folder / file).read_bytes()
    for content, message in (
        (whole[: len(whole) // 3], f"{file} is not a .mat file, or it is truncated"),
        (b"", f"{file} is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", f"{file} is a Git LFS point"),
        (b"\x00" * 4000, f"{file} is not a .mat file"),
    ):
        (folder / file).write_bytes(content)
        with pytest.raises(InputError, match=message):
            open_dataset(str(folder))


def test_a_list_that_leaves_rows_out_is_noted(tmp_path):
    train = np.flatnonzero(~IS_UNSEEN & ~IS_SEEN_TEST)
    data = read_xlsa17(write_xlsa17(tmp_path, splits=split_content(trainval_loc=loc(train[1:]))))
    assert noted(data, "lists 29 of 30 rows")


def test_missing_files_are_named(tmp_path):
    folder = write_xlsa17(tmp_path)
    (folder / "res101.mat").unlink()
    with pytest.raises(InputError, match=r"has no features: put res101.mat"):
        open_dataset(str(folder))


def test_version_7_3_without_h5py_names_the_extra(tmp_path, monkeypatch):
    folder = write_xlsa17(tmp_path, "7.3")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"res101.mat is a MATLAB v7.3 file.*'data'"):
        open_dataset(str(folder))


def test_classes_txt_and_image_paths_must_agree(tmp_path):
    folder = write_xlsa17(tmp_path)
    write_numbered(folder / "classes.txt", ANIMALS[::-1])
    with pytest.raises(InputError, match=r"number 1 of classes.txt is '005.Zebra'"):
        read_xlsa17(folder)
