"""A user's own data: every kind of file gives the same data set, every slip one clear sentence."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io

from tests.common.animals import (
    ANIMALS,
    ATTRIBUTES,
    CLASS_FILES,
    FEATURES,
    FRAME,
    LABEL_FILES,
    LABELS,
    VECTORS,
    X,
    cells,
    check_is_animals,
    make_animals,
)
from unseen import ClassTable, InputError, read_dataset
from unseen.datasets import examine, read_rows


@pytest.fixture
def folder(tmp_path) -> Path:
    return make_animals(tmp_path / "animals")


# ---------------------------------------------------------------- what can be read


@pytest.mark.parametrize("labels", LABEL_FILES)
@pytest.mark.parametrize("features", FEATURES)
def test_every_combination_of_files_is_the_same_data_set(tmp_path, features, labels):
    """Class tables are read by themselves: each kind takes its turn beside the others."""
    turn = [*FEATURES].index(features) + [*LABEL_FILES].index(labels)
    classes = [*CLASS_FILES.values()][turn % len(CLASS_FILES)]
    for write in (FEATURES[features], LABEL_FILES[labels], classes):
        write(tmp_path)
    check_is_animals(read_dataset(tmp_path))


@pytest.mark.parametrize("column", ["label", "labels", "class"])
@pytest.mark.parametrize("place", [0, 3, 5])
def test_labels_and_images_may_stand_inside_the_feature_table(folder, column, place):
    os.remove(folder / "labels.txt")
    os.remove(folder / "features.npy")
    table = FRAME.copy()
    table.insert(place, column, LABELS)
    table.insert(6, "image", [f"{k}.png" for k in range(9)])
    table.to_csv(folder / "features.csv", index=False, encoding="utf-8-sig")
    data = read_dataset(folder)
    check_is_animals(data)
    assert data.image_paths is not None
    assert data.image_paths[8] == str(folder / "8.png")


@pytest.mark.parametrize(
    ("suffix", "names"), [("npz", LABELS), ("mat", cells(LABELS)), ("npz", None)]
)
def test_labels_may_stand_inside_the_feature_arrays(folder, suffix, names):
    os.remove(folder / "labels.txt")
    os.remove(folder / "features.npy")
    arrays: dict[str, Any] = {"features": X.T if suffix == "mat" else X, "labels": names}
    if names is None:
        arrays = {"X": X, "y": LABELS}
    save = scipy.io.savemat if suffix == "mat" else lambda path, arrays: np.savez(path, **arrays)
    save(folder / f"features.{suffix}", arrays)
    check_is_animals(read_dataset(folder))


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, str])
def test_numbers_are_names_in_every_kind_of_file(tmp_path, kind):
    labels = np.array([3, 1, 2] * 3)
    np.save(tmp_path / "features.npy", X)
    np.save(tmp_path / "labels.npy", labels.astype(kind))
    np.savez(tmp_path / "classes.npz", names=np.arange(1, 5), vectors=VECTORS)
    data = read_dataset(tmp_path)
    assert data.y.tolist() == ["3", "1", "2"] * 3
    assert data.unseen.tolist() == ["4"]


def test_the_lists_beside_the_data(folder, monkeypatch):
    (folder / "unseen.txt").write_bytes("\ufefflion\r\nhorse\r\n\r\n".encode())
    (folder / "test_rows.txt").write_text("0\n3\n")
    (folder / "images.txt").write_text("\n".join(f"pictures/{k}.jpg" for k in range(9)))
    monkeypatch.chdir(folder)
    data = read_dataset(".")
    check_is_animals(data, unseen=["horse", "lion"])
    assert data.name == "animals"
    assert data.seen_test_rows.tolist() == [0, 3]
    assert data.image_paths is not None
    assert Path(data.image_paths[4]) == Path("pictures/4.jpg")
    assert isinstance(data.X, np.memmap)


def test_training_rows_of_a_mapped_file_stay_on_the_disk(folder):
    data = read_dataset(folder)
    rows = data.train_rows
    assert rows.tolist() == list(range(rows[0], rows[-1] + 1))
    X, y = data.training_set()
    assert np.shares_memory(X, data.X)
    assert X.tolist() == data.X[rows].tolist()
    assert y.tolist() == data.y[rows].tolist()
    scattered = replace(data, test_rows=np.array([rows[1]]))
    X, y = scattered.training_set()
    assert not np.shares_memory(X, data.X)
    assert X.tolist() == data.X[scattered.train_rows].tolist()


def archive(path, **changes):
    arrays: dict[str, Any] = {"features": X, "labels": LABELS, "class_names": list(ANIMALS)}
    arrays |= {"class_vectors": VECTORS, "class_attributes": ATTRIBUTES} | changes
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
    return path


def test_one_npz_file_is_a_data_set(tmp_path):
    path = archive(tmp_path / "zoo.npz")
    check_is_animals(read_dataset(path))
    paths = [f"{k}.png" for k in range(9)]
    archive(path, unseen=["tiger"], test_rows=[1, 2], image_paths=paths)
    data = read_dataset(path)
    check_is_animals(data, unseen=["tiger"])
    assert data.name == "zoo"
    assert data.test_rows.tolist() == [1, 2]
    assert data.image_paths is not None
    assert data.image_paths.tolist() == [str(tmp_path / name) for name in paths]
    assert data.classes.attributes == tuple(ATTRIBUTES)


# ---------------------------------------------------------------- what is odd, what is wrong


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("classes.csv", "name,x\nzebra,1\ntiger,2\nhorse,3\nlion,1", "'zebra', 'lion' .* same"),
        ("classes.csv", None, "no rows of unseen classes: .* not evaluate"),
        ("classes.csv", None, "only one unseen class: every prediction"),
        ("unseen.txt", "lion\nlion\n", "only one unseen class"),
    ],
)
def test_what_is_odd_is_told_and_stops_nothing(folder, file, content, message):
    if content is not None:
        (folder / file).write_text(content)
    findings = examine(folder)
    assert not findings.wrong
    assert findings.dataset is not None
    assert pd.Series(findings.odd).str.contains(message, regex=True).sum() == 1


def test_a_spreadsheet_is_noticed(folder):
    os.rename(folder / "classes.csv", folder / "classes.xlsx")
    with pytest.raises(InputError, match=r"classes.xlsx, which cannot be read: save it as"):
        read_dataset(folder)


def test_without_unseen_classes_the_data_are_odd_but_can_be_read(folder):
    (folder / "classes.csv").write_text("name,x\nzebra,1\ntiger,2\nhorse,3")
    (sentence,) = examine(folder).odd
    assert "nothing is zero-shot" in sentence
    assert "unseen.txt" in sentence
    assert read_dataset(folder).unseen.size == 0


def test_what_was_found_is_told_in_numbers(folder):
    found = "\n".join(examine(folder).found)
    assert "features: 9 rows of 5 numbers (float64)" in found
    assert "labels: 9 of 3 classes" in found
    assert "class table: 4 classes described by 3 numbers each" in found


def nan_features():
    return np.where(np.arange(45).reshape(9, 5) == 17, np.nan, X)


# (file that is put in place or, with None, taken away; its content; what the one sentence says)
WRONG = [
    ("features.npy", np.empty((0, 5)), "features.npy: the features are empty: 0 rows"),
    ("features.npy", np.empty((9, 0)), "features.npy: the features are empty: 9 rows of 0"),
    ("features.npy", np.ones(9), "features.npy: features must be a table"),
    ("features.npy", np.full((9, 5), "x"), "features.npy: features must be numbers, not <U1"),
    ("features.npy", np.array([[None]]), "features.npy holds Python objects"),
    ("features.npy", nan_features(), "animals: the features are NaN .* in row 3, column 2"),
    ("features.npy", X[:7], "animals: 7 rows of features but 9 labels"),
    ("features.npy", b"", r"features.npy is empty \(0 bytes\)"),
    ("features.npy", None, "animals has no features file: one of features.npy, features.npz"),
    ("features.csv", b"f\n1", "animals has 'features.npy', 'features.csv': keep only one of them"),
    (
        "labels.npy",
        np.array(LABELS),
        "animals has 'labels.txt', 'labels.npy': keep only one of them",
    ),
    ("labels.txt", None, "animals has no labels file: one of labels.txt"),
    ("labels.txt", b"zebra\n" * 9, "animals: only 'zebra' has rows to train on"),
    ("labels.txt", b"zebra\ntiger\n", "animals: 9 rows of features but 2 labels"),
    ("labels.txt", b"zebra\n\n" * 4 + b"tiger", r"animals: row 1 .* has no label \(4 in all\)"),
    ("labels.txt", b"zebar\ntiger\nzebar\n" * 3, "'zebar' has 6 rows .* nearest name: 'zebra'"),
    ("labels.txt", b"z\xe9bra\n" * 9, "labels.txt is not a UTF-8 text file; save it again as"),
    ("labels.txt", b"0\n1\n2\n" * 3, "labels are numbers such as '0', .* names such as 'zebra'"),
    ("labels.txt", b"class\n" + b"zebra\n" * 9, "10 labels; is the first label, 'class', a"),
    ("classes.csv", None, "animals has no classes file: one of classes.npz"),
    (
        "classes.csv",
        b"name,a\nzebra,1\ntiger,\n",
        "classes.csv: class 'tiger' has no value in column 'a'",
    ),
    (
        "classes.csv",
        b"name,a\nzebra,1\ntiger,nan\n",
        "classes.csv: class 'tiger' has no value in column 'a'",
    ),
    (
        "classes.csv",
        b"name,a\nzebra,1,2\n",
        "line 2: 3 cells where the header has 2; put names that",
    ),
    ("classes.csv", b"name,a\nzebra,1\ntiger,2\n", "'horse' has 3 rows and no line"),
    ("unseen.txt", b"\nlions", "unseen.txt, line 2: class 'lions' has no line .*: 'lion'"),
    ("unseen.txt", b"lion, horse", "unseen.txt, line 1: write one name per line"),
    ("unseen.txt", b"\n \n", "unseen.txt names no class; list classes in it, .* or delete it"),
    ("unseen.txt", b"", r"unseen.txt is empty \(0 bytes\)"),
    ("unseen.txt", b"horse\nzebra\ntiger", "animals: no class has rows to train on"),
    ("test_rows.txt", b"1\n-2", "test_rows.txt: '-2' is not a row number"),
    ("test_rows.txt", b"1\n1.5", "test_rows.txt: '1.5' is not a row number"),
    ("test_rows.txt", "²".encode(), "test_rows.txt: '²' is not a row number"),
    ("test_rows.txt", b"9" * 30, "test_rows.txt: '9+' is not a row number"),
    ("test_rows.txt", b"9", "animals: test rows must be between 0 and 8"),
    ("images.txt", b"a.png\nb.png", "animals: 9 rows but 2 image paths"),
]


@pytest.mark.parametrize(("file", "content", "message"), WRONG)
def test_a_slip_is_one_sentence_that_names_the_place(folder, file, content, message):
    if content is None:
        os.remove(folder / file)
    elif isinstance(content, bytes):
        (folder / file).write_bytes(content)
    else:
        np.save(folder / file, content)
    with pytest.raises(InputError, match=message) as caught:
        read_dataset(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(examine(folder).wrong) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": None}, "has no features: looked for 'features', 'X', found 'class_"),
        ({"labels": None}, "has no labels: looked for 'labels', 'y'"),
        ({"class_vectors": None}, "has no class vectors"),
        ({"class_vectors": VECTORS[:2]}, "one vector per class: 4 names"),
        ({"class_attributes": ["x"]}, "1 attribute names for 3 columns"),
        ({"test_rows": [0.5]}, "row numbers"),
        ({"test_rows": np.ones(9, bool)}, "row numbers counted from 0, not bool"),
        ({"labels": np.array([b"\xff"] * 9)}, "bytes that are not UTF-8"),
        ({"labels": np.array([np.inf] * 9)}, "'inf' has 9 rows and no line"),
    ],
)
def test_a_slip_in_the_one_file(tmp_path, changes, message):
    with pytest.raises(InputError, match=f"zoo.npz.*{message}"):
        read_dataset(archive(tmp_path / "zoo.npz", **changes))


def test_everything_that_is_missing_is_told_at_once(tmp_path):
    (tmp_path / "unseen.txt").write_bytes(b"\xff")
    (tmp_path / "test_rows.txt").write_text("x")
    wrong = examine(tmp_path).wrong
    told = ("features file", "labels file", "classes file", "unseen.txt", "test_rows.txt")
    assert len(wrong) == len(told)
    assert all(part in sentence for part, sentence in zip(told, wrong, strict=True))
    with pytest.raises(InputError, match=r"no features file.*\(and 4 more; 'unseen check"):
        read_dataset(tmp_path)
    np.savez(tmp_path / "zoo.npz")
    assert len(examine(tmp_path / "zoo.npz").wrong) == 3


def test_paths_that_are_no_data_set(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(InputError, match=r"a.csv: a data set is a folder or a .npz file"):
        read_dataset(tmp_path / "a.csv")
    for read in (read_dataset, examine, read_rows):
        for name in ("gone", "x" * 300):
            with pytest.raises(InputError, match="does not exist"):
                read(tmp_path / name)


# ---------------------------------------------------------------- real data


def test_real_birds_from_public_files(tmp_path, data_folder):
    """CUB as a user would lay it out: numbered labels named by the data set's own list."""
    source = data_folder / "CUB"
    arrays = np.load(source / "efflite0.npz")
    lines = (source / "CUB_200_2011" / "classes.txt").read_text().split("\n")
    names = np.array([line.split()[1] for line in lines if line])
    np.save(tmp_path / "features.npy", arrays["features"][:, :16])
    np.save(tmp_path / "labels.npy", names[arrays["labels"].ravel() - 1])
    shutil.copy(source / "att_splits.mat", tmp_path / "classes.mat")
    shutil.copy(source / "ps_testclasses.txt", tmp_path / "unseen.txt")
    data = read_dataset(tmp_path)
    assert data.X.shape == (11_788, 16)
    assert (data.seen.size, data.unseen.size, data.unseen_rows.size) == (150, 50, 2967)
    assert data.classes == ClassTable.read(source / "att_splits.mat")
