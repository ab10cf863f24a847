"""SUN Attribute and aPascal / aYahoo: classes are described by the mean of their images."""

from __future__ import annotations

import numpy as np
import pytest

from tests.datasets.writers import loc, noted, write_mat, write_text
from unseen import InputError
from unseen.datasets import open_dataset
from unseen.datasets.scenes_and_objects import ORIGINAL_UNSEEN

SCENES = ["abbey", "airport/airport", "airport/entrance", "bar"]
SPELLED = ["abbey", "airport_airport", "airport_entrance", "bar"]
COUNTS = [3, 4, 5, 6]
IMAGES = [
    f"{scene[0]}/{scene}/sun_{k}.jpg"
    for scene, count in zip(SCENES, COUNTS, strict=True)
    for k in range(count)
]
SCENE_ROWS = np.random.default_rng(3).standard_normal((18, 6))
PER_IMAGE = np.random.default_rng(4).random((18, 3))


def write_sun(folder, images=IMAGES, per_image=PER_IMAGE, attributes=("open", "wet", "warm")):
    folder.mkdir(exist_ok=True)
    write_mat(folder / "images.mat", {"images": list(images)})
    write_mat(folder / "attributes.mat", {"attributes": list(attributes)})
    write_mat(folder / "attributeLabels_continuous.mat", {"labels_cv": per_image})
    np.save(folder / "features.npy", SCENE_ROWS)
    return folder


def test_scenes_are_named_by_their_folders_and_described_by_means(tmp_path):
    folder = write_sun(tmp_path / "SUN")
    write_text(folder / "testclasses.txt", ["airport/entrance"])
    data = open_dataset(str(folder))
    np.testing.assert_array_equal(data.X, SCENE_ROWS)
    assert data.y.tolist() == np.repeat(SPELLED, COUNTS).tolist()
    np.testing.assert_allclose(data.classes.vector("airport_airport"), PER_IMAGE[3:7].mean(axis=0))
    assert data.classes.attributes == ("open", "wet", "warm")
    assert (data.split, data.unseen.tolist()) == ("original", ["airport_entrance"])
    assert noted(data, "'airport/entrance' for 'airport_entrance'")


def test_scenes_on_both_protocols(tmp_path):
    names = sorted([*ORIGINAL_UNSEEN, *(f"scene_{k:03d}" for k in range(707))])
    images = [f"{name[0]}/{name}/{k}.jpg" for name in names for k in range(2)]
    folder = tmp_path / "SUN"
    write_sun(folder, images, np.random.default_rng(0).random((1434, 3)))
    np.save(folder / "features.npy", np.ones((1434, 2)))
    rows = np.arange(1434)
    is_unseen, is_test = rows < 144, (rows >= 144) & (rows % 2 == 0)
    write_mat(folder / "att_splits.mat", {
        "allclasses_names": names, "att": np.ones((3, 717)),
        "trainval_loc": loc(rows[~is_unseen & ~is_test]), "test_seen_loc": loc(rows[is_test]),
        "test_unseen_loc": loc(rows[is_unseen]),
    })  # fmt: skip
    data = open_dataset(str(folder))
    assert (data.split, data.facts()["seen classes"], data.unseen.size) == ("original", 707, 10)
    proposed = data.with_split("proposed")
    assert (proposed.facts()["seen classes"], proposed.unseen.size) == (645, 72)
    assert proposed.seen_test_rows.tolist() == rows[is_test].tolist()
    assert noted(data, "SUN has two protocols")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": ["abbey.jpg"] * 18}, r"'abbey.jpg' is not a path like a/abbey/sun_x.jpg"),
        ({"per_image": PER_IMAGE[:9]}, r"attributes of shape \(9, 3\) for 18 images and 3"),
        ({"attributes": ["open"]}, r"attributeLabels_continuous.mat has attributes of shape"),
        ({"images": IMAGES[:9], "per_image": PER_IMAGE[:9]}, "18 rows of features but 9 labels"),
    ],
)
def test_slips_in_scenes(tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        open_dataset(str(write_sun(tmp_path / "SUN", **changes)))
    assert str(tmp_path) in str(caught.value)


# ---------------------------------------------------------------- aPascal / aYahoo

OBJECTS = {
    "apascal_train.txt": [("a.jpg", "dog", 1, 0), ("b.jpg", "cat", 0, 1), ("b.jpg", "dog", 0, 0)],
    "apascal_test.txt": [("c.jpg", "cat", 1, 1)],
    "ayahoo_test.txt": [("d.jpg", "zebra", 1, 1), ("e.jpg", "zebra", 0, 1), ("f.jpg", "mug", 0, 0)],
}


def write_apy(folder, **changes):
    folder.mkdir()
    for file, objects in (OBJECTS | changes).items():
        write_text(folder / file, (f"{i} {c} 1 2 30 40 {a} {b}" for i, c, a, b in objects))
    write_text(folder / "attribute_names.txt", ["Tail", "has Head"])
    write_text(folder / "class_names.txt", ["cat", "dog", "mug", "zebra"])
    np.save(folder / "features.npy", np.arange(14.0).reshape(7, 2))
    return folder


def test_objects_of_apascal_are_seen_those_of_ayahoo_unseen(tmp_path):
    data = open_dataset(str(write_apy(tmp_path / "APY")))
    assert data.y.tolist() == ["dog", "cat", "dog", "cat", "zebra", "zebra", "mug"]
    assert data.unseen.tolist() == ["mug", "zebra"]
    assert data.seen_test_rows.tolist() == [3]
    assert data.classes.vector("zebra").tolist() == [0.5, 1]
    assert data.classes.vector("cat").tolist() == [0.5, 1]
    assert data.classes.attributes == ("Tail", "has Head")
    assert (data.name, data.split) == ("APY features", "original")
    assert noted(data, "apascal_test.txt are kept for testing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ayahoo_test.txt": [("d.jpg", "dog", 1, 1)]}, "'dog' is not unseen: aPascal has it too"),
        ({"apascal_test.txt": [("c.jpg", "cat x", 1, 1)]}, r"line 1: 9 words instead of 8"),
        ({"apascal_test.txt": [("c.jpg", "cat", 1, "x")]}, r"attributes that are not numbers"),
        ({"apascal_test.txt": [("c.jpg", "cart", 1, 1)]}, "'cart' is not in .*: 'cat'"),
        ({"apascal_test.txt": [("c.jpg", "cat", 1, 1)] * 2}, "7 rows of features but 8 labels"),
    ],
)  # fmt: skip
def test_slips_in_objects(tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        open_dataset(str(write_apy(tmp_path / "APY", **changes)))
    assert str(tmp_path) in str(caught.value)
