"""Caltech-UCSD Birds: its text files, with and without the split file of Xian et al."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datasets.test_xlsa17 import IN_TMP
from tests.datasets.writers import (
    ANIMALS,
    ATTRIBUTES,
    IS_SEEN_TEST,
    LABELS,
    N_ROWS,
    NAMES,
    UNSEEN,
    X,
    assert_is_animals,
    noted,
    paths,
    split_content,
    write_cub,
    write_mat,
    write_numbered,
)
from unseen import InputError
from unseen.datasets import open_dataset
from unseen.datasets.att_splits import every_fifth


@IN_TMP
@given(st.permutations(range(5)), st.permutations(range(5)))
def test_the_order_of_classes_changes_no_row(tmp_path, order, columns):
    folder = write_cub(tmp_path / "CUB", order)
    write_mat(folder / "att_splits.mat", split_content(columns))
    data = open_dataset(str(folder))
    assert_is_animals(data)
    assert noted(data, "label numbers do not follow the columns of att") == (order != columns)
    np.testing.assert_array_equal(data.seen_test_rows, np.flatnonzero(IS_SEEN_TEST))


def test_without_the_split_file_the_own_table_describes_and_nothing_is_unseen(tmp_path):
    folder = write_cub(tmp_path / "CUB")
    data = open_dataset(str(folder))
    assert noted(data, "no class is unseen")
    assert (data.unseen.size, data.splits, data.split) == (0, {}, "")
    assert_is_animals(data.with_unseen(UNSEEN))
    assert data.classes.attributes == tuple(ATTRIBUTES)
    with pytest.raises(InputError, match="no split 'proposed'; it has no named split"):
        data.with_split("proposed")


def test_files_may_lie_in_the_folder_itself(tmp_path):
    folder = write_cub(tmp_path / "CUB")
    (folder / "features.npz").rename(folder / "CUB_200_2011" / "deep.npz")
    write_mat(folder / "CUB_200_2011" / "att_splits.mat", split_content())
    data = open_dataset(str(folder / "CUB_200_2011"))
    assert_is_animals(data)
    assert data.name == "CUB deep"


def test_features_without_labels_are_in_the_order_of_images(tmp_path):
    folder = write_cub(tmp_path / "CUB")
    (folder / "features.npz").unlink()
    np.save(folder / "features.npy", X)
    assert_is_animals(open_dataset(str(folder)).with_unseen(UNSEEN))


@pytest.mark.parametrize("name", ["vgg_fc7", "efflite0"])
def test_features_in_another_order_of_images_get_no_pictures_and_own_test_rows(tmp_path, name):
    folder = write_cub(tmp_path / "CUB")
    (folder / "features.npz").rename(folder / f"{name}.npz")
    write_mat(folder / "att_splits.mat", split_content())
    picture = folder / "thumbs" / NAMES[7] / "7.jpg"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"x")
    data = open_dataset(str(folder / f"{name}.npz"))
    assert_is_animals(data)
    if name == "efflite0":
        assert data.image_paths is not None
        assert data.image_paths.tolist() == [str(picture) if k == 7 else "" for k in range(N_ROWS)]
        np.testing.assert_array_equal(data.seen_test_rows, np.flatnonzero(IS_SEEN_TEST))
        return
    assert data.image_paths is None
    assert noted(data, "orders the images within each class differently")
    assert noted(data, "test_seen_loc does not apply; every fifth row")
    np.testing.assert_array_equal(data.seen_test_rows, every_fifth(data.y, data.unseen))


def numbered(name, lines):
    return lambda f: write_numbered(f / "CUB_200_2011" / name, lines)


def remove(name):
    return lambda f: (f / "CUB_200_2011" / name).unlink()


swapped = [*paths(root="")[6:], *paths(root="")[:6]]
SLIPS = [
    (lambda f: np.savez(f / "features.npz", features=X, labels=LABELS[::-1]),
     r"features.npz: its labels are not those of image_class_labels.txt; rows must be in the ord"),
    (lambda f: np.savez(f / "features.npz", features=X[:9]), "9 rows of features but 30 labels"),
    (numbered("images.txt", paths()[:9]), r"images.txt has 9 images for 30 labels"),
    (numbered("images.txt", swapped), r"image 1, 002.Ox/6.jpg, is not in .* '001.Griz"),
    (numbered("classes.txt", ANIMALS[:4]), r"class_attribute_labels_.* has 5 lines for 4 classes"),
    (numbered("classes.txt", [*ANIMALS[:4], "Zebu"]), r"image 25, 005.Z.* is not in .* 'Zebu'"),
    (remove("images.txt"), r"has no CUB_200_2011/images.txt, which is needed"),
    (remove("attributes/class_attribute_labels_continuous.txt"), "has no CUB_200_2011/attributes/"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "message"), SLIPS)
def test_a_slip_is_one_sentence_that_names_the_place(tmp_path, spoil, message):
    folder = write_cub(tmp_path / "CUB")
    spoil(folder)
    with pytest.raises(InputError, match=message) as caught:
        open_dataset(str(folder))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_class_that_the_split_file_does_not_describe(tmp_path):
    folder = write_cub(tmp_path / "CUB")
    names = [*ANIMALS[:4], "005.Zebu"]
    write_mat(folder / "att_splits.mat", split_content(allclasses_names=names))
    with pytest.raises(InputError, match=r"'005.Zebra' is not in .* nearest name: '005.Zebu'"):
        open_dataset(str(folder))
