"""Animals with Attributes: its text files with every kind of feature file."""

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
    VECTORS,
    X,
    assert_is_animals,
    cells,
    loc,
    noted,
    paths,
    plain,
    split_content,
    write_awa,
    write_mat,
    write_matrix,
    write_text,
)
from unseen import InputError
from unseen.datasets import open_dataset
from unseen.datasets.att_splits import every_fifth

PLAIN = [plain(name) for name in ANIMALS]


def deep(folder):
    return folder / "Features" / "ResNet101"


def write_awa2(folder):
    write_matrix(deep(folder) / "AwA2-features.txt", X)
    write_text(deep(folder) / "AwA2-labels.txt", LABELS)
    write_text(deep(folder) / "AwA2-filenames.txt", [f"{k}.jpg" for k in range(N_ROWS)])


def write_npy(folder, kind):
    np.save(folder / "features.npy", X)
    if kind == "npy":
        np.save(folder / "labels.npy", LABELS)
    else:
        write_text(folder / "labels.txt", LABELS)


FEATURES = {
    "npz": lambda f: np.savez(f / "vgg.npz", features=X, labels=LABELS),
    "centred": lambda f: np.savez(
        f / "pca.npz", features=X - X.mean(0), labels=LABELS, mean_projected=X.mean(0)
    ),
    "npy": lambda f: write_npy(f, "npy"),
    "npy with text": lambda f: write_npy(f, "txt"),
    "mat": lambda f: write_mat(f / "vgg.mat", {"features": X.T, "labels": LABELS[:, None]}),
    "mat by rows": lambda f: write_mat(f / "vgg.mat", {"features": X, "labels": LABELS}),
    "text": write_awa2,
}


@pytest.mark.parametrize("kind", FEATURES)
def test_every_kind_of_feature_file_gives_one_data_set(tmp_path, kind):
    folder = write_awa(tmp_path / "AWA2")
    (folder / "features.npz").unlink()
    FEATURES[kind](folder)
    data = open_dataset(str(folder))
    np.testing.assert_allclose(data.X, X, atol=0.01 if kind == "text" else 1e-6)
    assert data.y.tolist() == [plain(n) for n in NAMES]
    assert data.classes.attributes == tuple(ATTRIBUTES)
    assert (data.split, data.unseen.tolist()) == ("original", sorted(map(plain, UNSEEN)))
    assert data.seen_test_rows.size == 0
    assert set(data.sources) > {"classes.txt", "predicates.txt", "testclasses.txt"}


@IN_TMP
@given(st.permutations(range(5)), st.permutations(range(5)))
def test_the_numbering_of_classes_changes_no_row(tmp_path, order, columns):
    folder = write_awa(tmp_path / "A", order)
    write_mat(folder / "att_splits.mat", split_content(columns))
    data = open_dataset(str(folder))
    assert_is_animals(data, plain)


@IN_TMP
@given(order=st.permutations(range(5)))
def test_the_order_of_lines_does_not_count_but_their_numbers_do(tmp_path, order):
    folder = write_awa(tmp_path / "A")
    write_text(folder / "classes.txt", [f"  {k + 1} {PLAIN[k]}" for k in order])
    assert_is_animals(open_dataset(str(folder)), plain)


def test_original_and_proposed_splits_stand_side_by_side(tmp_path):
    folder = write_awa(tmp_path / "A")
    write_mat(folder / "att_splits.mat", split_content())
    write_text(folder / "testclasses.txt", ["rat", "zebra"])
    write_text(folder / "trainclasses.txt", ["grizzly bear", "ox", "killer whale"])
    write_text(folder / "ps_testclasses.txt", ["Ox", "Zebra"])
    data = open_dataset(str(folder))
    assert (data.split, data.unseen.tolist()) == ("original", ["rat", "zebra"])
    assert data.seen_test_rows.size == 0
    proposed = open_dataset(str(folder), split="proposed")
    assert (proposed.split, proposed.unseen.tolist()) == ("proposed", ["ox", "zebra"])
    # Rows are in the order of the file, by whose count test rows are the third of each class.
    np.testing.assert_array_equal(proposed.seen_test_rows, np.flatnonzero(IS_SEEN_TEST))
    with pytest.raises(InputError, match=r"no split 'propsed'; nearest name: 'proposed'; it has"):
        open_dataset(str(folder), split="propsed")
    (folder / "trainclasses.txt").unlink()
    write_text(folder / "testclasses.txt", ["ox", "zebra"])  # the same classes under both names
    assert list(open_dataset(str(folder)).splits) == ["proposed"]


def uneven(folder, features_order, file_order, n_extra=0):
    """Classes of 5 to 9 rows, in one order in the features and in another in the split file."""
    write_awa(folder)
    sizes = dict(zip(PLAIN, range(5, 10), strict=True))
    y = np.repeat(features_order, [sizes[n] for n in features_order])
    listed = np.repeat(file_order, [sizes[n] for n in file_order])
    numbers = np.array([PLAIN.index(n) + 1 for n in y] + [1] * n_extra)
    np.savez(folder / "features.npz", features=np.ones((numbers.size, 2)), labels=numbers)
    is_unseen = np.isin(listed, ["ox", "zebra"])
    starts = np.concatenate([[0], np.flatnonzero(listed[1:] != listed[:-1]) + 1])
    is_first = np.isin(np.arange(listed.size), starts) & ~is_unseen
    write_mat(folder / "att_splits.mat", split_content(
        trainval_loc=loc(np.flatnonzero(~is_unseen & ~is_first)),
        test_seen_loc=loc(np.flatnonzero(is_first)),
        test_unseen_loc=loc(np.flatnonzero(is_unseen)),
    ))  # fmt: skip
    write_text(folder / "testclasses.txt", ["rat", "zebra"])
    return open_dataset(str(folder))


def test_image_numbers_in_alphabetical_order_of_class_are_mapped(tmp_path):
    data = uneven(tmp_path / "A", PLAIN[::-1], sorted(PLAIN)).with_split("proposed")
    assert noted(data, "numbers images in alphabetical order of class")
    assert data.unseen.tolist() == ["ox", "zebra"]
    # The file keeps the first image of each seen class: so must the features.
    seen = ("rat", "killer+whale", "grizzly+bear")
    expected = [int(np.flatnonzero(data.y == n)[0]) for n in seen]
    assert data.seen_test_rows.tolist() == sorted(expected)


def test_image_numbers_that_do_not_fit_need_a_list_of_names(tmp_path):
    data = uneven(tmp_path / "A", PLAIN, sorted(PLAIN), n_extra=1)
    assert list(data.splits) == ["original"]
    assert noted(data, "do not tell which classes of the features are unseen")
    write_text(tmp_path / "A" / "ps_testclasses.txt", ["Ox", "zebra"])
    proposed = open_dataset(str(tmp_path / "A"), split="proposed")
    assert noted(proposed, "images of the features differ in number")
    assert proposed.unseen.tolist() == ["ox", "zebra"]
    np.testing.assert_array_equal(proposed.seen_test_rows, every_fifth(proposed.y, proposed.unseen))


def test_classes_of_one_size_fit_in_two_orders_which_is_no_answer(tmp_path):
    folder = write_awa(tmp_path / "A", range(5))
    order = [4, 3, 2, 1, 0]
    y = np.repeat(order, 6)
    np.savez(folder / "features.npz", features=X, labels=y + 1)
    write_mat(folder / "att_splits.mat", split_content())
    data = open_dataset(str(folder))
    assert list(data.splits) == ["original"]
    write_text(folder / "ps_testclasses.txt", [PLAIN[3], PLAIN[0]])  # in the order of the rows
    assert open_dataset(str(folder), split="proposed").unseen.tolist() == ["grizzly+bear", "rat"]
    write_text(folder / "ps_testclasses.txt", [PLAIN[2], PLAIN[0]])
    with pytest.raises(InputError, match=r"and ps_testclasses.txt differ in"):
        open_dataset(str(folder))


def test_every_fifth_row_of_seen_classes_by_hand():
    y = np.array(["a"] * 6 + ["b"] * 4 + ["a"] * 5 + ["c"] * 10)
    assert every_fifth(y, np.array(["c"])).tolist() == [4, 13]


def test_unknown_predicates_become_means_aloud(tmp_path):
    matrix = VECTORS.copy()
    matrix[0, :3] = -1
    data = open_dataset(str(write_awa(tmp_path / "A", matrix=matrix)))
    means = VECTORS[1:, :3].mean(axis=0)
    np.testing.assert_allclose(data.classes.vector("grizzly+bear")[:3], means)
    assert noted(data, "predicate-matrix-continuous.txt: 3 values of 1 class unknown (-1)")
    matrix[:, 1] = -1  # nobody knows: nothing to take a mean of
    data = open_dataset(str(write_awa(tmp_path / "A", matrix=matrix)))
    assert data.classes.vectors[:, 1].tolist() == [0] * 5


def test_the_binary_matrix_is_read_if_it_is_the_only_one(tmp_path):
    folder = write_awa(tmp_path / "A")
    (folder / "predicate-matrix-continuous.txt").unlink()
    write_matrix(folder / "predicate-matrix-binary.txt", VECTORS > 40)
    assert set(open_dataset(str(folder)).classes.vectors.ravel()) == {0, 1}


def text(name, *lines):
    return lambda f: write_text(f / name, lines)


SLIPS = [
    (text("classes.txt", "1 ox", "1 rat"), r"classes.txt, line 2: number 1 appears twice"),
    (text("classes.txt", "1 ox", "3 rat"), r"classes.txt: .* from 1 to 2, 2 is missing"),
    (text("classes.txt", "1 ox", "rat"), r"classes.txt, line 2: 'rat' is not a number and a name"),
    (text("classes.txt", "1 ox", "2 rat"), r"features.npz: labels has 5 at .* 2 classes are"),
    (text("predicate-matrix-continuous.txt", "1 2 3 4"), "has 1 lines for 5 classes"),
    (text("predicate-matrix-continuous.txt", "1 2", "3"), r"continuous.txt is not a table of num"),
    (text("predicates.txt", "1 furry"), "1 attribute names for 4 columns"),
    (text("testclasses.txt", "oxx"), r"testclasses.txt: class 'oxx' is not in .*: 'ox'"),
    (text("trainclasses.txt", "ox"), r"trainclasses.txt: class 'ox' is in testclasses.txt as"),
    (lambda f: np.savez(f / "features.npz", features=X), r"features.npz has no labels"),
    (lambda f: np.savez(f / "features.npz", labels=LABELS), r"features.npz has no features"),
    (lambda f: np.savez(f / "b.npz", features=X), r"features in 'b.npz', 'features.npz': give the"),
    (lambda f: (f / "features.npz").unlink(), "has no features: put res101.mat"),
    (lambda f: (f / "features.npz").write_bytes(b"version https://git-lfs"), "Git LFS pointer"),
    (lambda f: (f / "classes.txt").unlink(), r"has no classes.txt, which is needed"),
    (lambda f: (f / "predicate-matrix-continuous.txt").unlink(), r"no predicate-.* or predicate-"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "message"), SLIPS)
def test_a_slip_is_one_sentence_that_names_the_place(tmp_path, spoil, message):
    folder = write_awa(tmp_path / "A")
    spoil(folder)
    with pytest.raises(InputError, match=message) as caught:
        open_dataset(str(folder))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: write_matrix(f / "AwA2-features.txt", X[:-1]), "has 29 lines for 30 labels"),
        (lambda f: write_matrix(f / "AwA2-features.txt", [*X, X[0]]), "has 31 lines for 30 labels"),
        (
            lambda f: write_text(f / "AwA2-features.txt", ["1 2 x"] * 30),
            "is not a table of numbers",
        ),
        (lambda f: (f / "AwA2-labels.txt").unlink(), r"has no .*AwA2-labels.txt, which is needed"),
    ],
)
def test_slips_in_features_of_text(tmp_path, spoil, message):
    folder = write_awa(tmp_path / "A")
    (folder / "features.npz").unlink()
    write_awa2(folder)
    spoil(deep(folder))
    with pytest.raises(InputError, match=message):
        open_dataset(str(folder))


def test_features_of_text_open_by_their_own_path_and_take_float32(tmp_path):
    folder = write_awa(tmp_path / "A")
    write_awa2(folder)
    with pytest.raises(InputError, match=r"'features.npz', 'AwA2-features.txt': give the path"):
        open_dataset(str(folder))
    data = open_dataset(str(deep(folder) / "AwA2-features.txt"))
    assert data.X.dtype == np.float32
    assert data.y.tolist() == [plain(n) for n in NAMES]
    assert "Features/ResNet101/AwA2-labels.txt" in data.sources


def test_half_precision_is_read_as_single(tmp_path):
    folder = write_awa(tmp_path / "A")
    half = X.astype(np.float16)
    np.savez(folder / "features.npz", features=half, labels=LABELS)
    data = open_dataset(str(folder))
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X, half)


def test_matlab_features_beside_the_text_files_are_read_with_their_split_file(tmp_path):
    folder = write_awa(tmp_path / "A")
    (folder / "features.npz").unlink()
    write_mat(folder / "att_splits.mat", split_content([3, 1, 0, 2, 4]))
    content = {"features": X.T, "labels": LABELS[:, None], "image_files": cells(paths())}
    write_mat(folder / "res101.mat", content)
    data = open_dataset(str(folder))
    assert_is_animals(data)
    assert noted(data, "the layout of Xian et al.")
