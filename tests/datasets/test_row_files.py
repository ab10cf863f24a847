"""Rows of a user's own: tables of named columns, labels beside them, rows to predict."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from tests.common.animals import (
    FEATURES,
    FRAME,
    LABEL_FILES,
    LABELS,
    TABLE,
    X,
    check_is_animals,
    make_animals,
)
from unseen import InputError, read_dataset
from unseen.datasets import examine, read_rows


@pytest.fixture
def folder(tmp_path) -> Path:
    return make_animals(tmp_path / "animals")


@pytest.mark.parametrize("kind", FEATURES)
def test_features_are_read_alone_to_predict(tmp_path, kind):
    FEATURES[kind](tmp_path)
    file = next(tmp_path.iterdir())
    for given in (tmp_path, file):
        np.testing.assert_array_equal(read_rows(given, n_columns=5).X, X)
    with pytest.raises(InputError, match=f"{file.name} has [59] columns, .* trained on 4"):
        read_rows(tmp_path, n_columns=4)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([["a"]]), "must be numbers, not <U1"),
        (np.array([[np.nan]]), "NaN or infinite in row 0, column 0"),
        (np.ones(3), r"not of shape \(3,\)"),
        (np.ones((0, 3)), "empty: 0 rows"),
    ],
)
def test_unusable_features_are_refused_by_name(tmp_path, array, message):
    np.save(tmp_path / "new.npy", array)
    with pytest.raises(InputError, match=f"new.npy: .*{message}"):
        read_rows(tmp_path / "new.npy")
    with pytest.raises(InputError, match=r"new.txt: features must be in a file of kind"):
        read_rows(shutil.copy(tmp_path / "new.npy", tmp_path / "new.txt"))


def in_table(folder, table):
    """The labels and features in one table."""
    os.remove(folder / "labels.txt")
    os.remove(folder / "features.npy")
    table.to_csv(folder / "features.csv", index=False)
    return folder


def test_what_is_odd_in_a_feature_table(folder):
    beside = in_table(folder, FRAME.assign(Label=LABELS, ID=[0, 1, 2] * 3))
    check = examine(beside)
    assert check.dataset is not None
    assert check.dataset.y.tolist() == LABELS, "the label column may be in capitals"
    assert check.dataset.feature_names == tuple(FRAME.columns)
    (told,) = (line for line in check.odd if "column 'id' is left out" in line)
    assert told in check.dataset.notes, "'unseen fit' tells it too"
    LABEL_FILES["txt"](beside)
    assert any("labels.txt overrides the labels" in line for line in examine(beside).odd)


def test_labels_beside_a_store_are_not_told_to_be_in_it(folder):
    X = np.load(folder / "features.npy")
    os.remove(folder / "features.npy")
    scipy.sparse.save_npz(folder / "features.npz", scipy.sparse.csr_array(X))
    LABEL_FILES["txt"](folder)
    check = examine(folder)
    assert check.dataset is not None
    assert not any("overrides" in line for line in check.odd)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("name", ["id", "Index", "ROW"])
def test_a_column_that_numbers_the_rows_is_no_feature(folder, name, suffix):
    table = FRAME.assign(label=LABELS, **{name: np.arange(9) + 10**17})
    in_table(folder, table)
    if suffix != "csv":
        os.remove(folder / "features.csv")
        write_table(table, folder / f"features.{suffix}")
    check = examine(folder)
    assert check.dataset is not None
    check_is_animals(check.dataset)
    name, found = name.casefold(), check.found
    assert f"column {name!r} names or numbers the rows and is left out" in found
    rows = read_rows(folder, 5)
    assert rows.beside[name].tolist() == [str(10**17 + k) for k in range(9)]
    known = read_rows(folder, names=(*FRAME.columns, next(c for c in table if c.lower() == name)))
    assert known.X.shape == (9, 6), "a model that was trained on it gets it"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("ids", [range(10, 19), list("abcdefghi")])
def test_labels_in_another_order_are_matched_by_their_column(folder, ids, suffix):
    os.remove(folder / "labels.txt")
    os.remove(folder / "features.npy")
    FRAME.assign(Id=ids)[["Id", *FRAME.columns]].to_csv(folder / "features.csv", index=False)
    other = np.array([3, 1, 2, 0, 8, 7, 6, 5, 4])
    names = pd.DataFrame({"species": LABELS, "label": LABELS, "id": ids}).iloc[other]
    write_table(names[["label", "id"]], folder / f"labels.{suffix}")
    check_is_animals(read_dataset(folder))
    labels = read_rows(folder).labels
    assert labels is not None
    assert labels.tolist() == LABELS
    assert not any("match no row" in line for line in examine(folder).odd)
    table = FRAME.assign(Id=ids)[["Id", *FRAME.columns]]
    table.iloc[:8].to_csv(folder / "features.csv", index=False)
    assert "1 line of" in next(line for line in examine(folder).odd if "match no row" in line)
    table.to_csv(folder / "features.csv", index=False)
    write_table(names[["label", "id"]].iloc[:-1], folder / f"labels.{suffix}")
    with pytest.raises(InputError, match=f"labels.{suffix}, column 'id' has no '(14|e)', which"):
        read_dataset(folder)
    write_table(names[["label", "id"]].assign(id=ids[0]), folder / f"labels.{suffix}")
    with pytest.raises(InputError, match=r"differs from that of the features, .* repeats names"):
        read_dataset(folder)


@pytest.mark.parametrize("values", [np.arange(9) + 100, list("abcdefghi"), 9 * ["train"]])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_another_column_that_both_files_have_is_refused(folder, suffix, values):
    """It may tell the rows, or be a feature: the user knows."""
    in_table(folder, FRAME)
    os.remove(folder / "features.csv")
    table = FRAME.assign(sample=values)[["sample", *FRAME.columns]]
    write_table(table, folder / f"features.{suffix}")
    labels = pd.DataFrame({"label": LABELS, "Sample": values, "weight": X[:, 0]})
    write_table(labels, folder / f"labels.{suffix}")
    (sentence,) = examine(folder).wrong
    assert "column 'sample' is in the features too; call it 'id' in both files" in sentence
    write_table(labels.drop(columns="Sample"), folder / f"labels.{suffix}")
    assert read_dataset(folder).y.tolist() == LABELS


def test_the_column_that_tells_rows_best_matches_labels(folder):
    """A column of few values does not, but must agree; nor does a number that is a feature."""
    in_table(folder, FRAME)
    ids, sex = [f"x{k}" for k in range(9)], list("ffmmfmfff")
    table = FRAME.assign(id=ids, weight=range(9))[["id", *FRAME.columns, "weight"]]
    table.assign(sex=[ord(s) for s in sex]).to_csv(folder / "features.csv", index=False)
    mixed = [3, 1, 2, 0, 8, 7, 6, 5, 4]
    labels = pd.DataFrame({"sex": [ord(s) for s in sex], "weight": range(9), "id": ids})
    labels = labels.assign(label=LABELS).iloc[mixed]
    labels.to_csv(folder / "labels.csv", index=False)
    data = read_dataset(folder)
    assert data.y.tolist() == LABELS
    assert data.feature_names == (*FRAME.columns, "weight", "sex")


@pytest.mark.parametrize(("one", "other"), [("image", "image_path"), ("Image", "image")])
def test_labels_are_matched_by_pictures(folder, one, other):
    in_table(folder, FRAME)
    names = pd.DataFrame({other: [f"{k}.png" for k in range(9)], "label": LABELS})
    FRAME.assign(**{one: names[other]}).to_csv(folder / "features.csv", index=False)
    names.iloc[[3, 1, 2, 0, 8, 7, 6, 5, 4]].to_csv(folder / "labels.csv", index=False)
    assert read_dataset(folder).y.tolist() == LABELS
    names.assign(**{other: "a.png"}).to_csv(folder / "labels.csv", index=False)
    with pytest.raises(InputError, match="'image' differs from that of the features"):
        read_dataset(folder)


def test_an_index_is_no_feature_and_no_name(folder):
    """Of a shuffled frame, or of two that were put together."""
    in_table(folder, FRAME)
    os.remove(folder / "features.csv")
    LABEL_FILES["txt"](folder)
    for frame in (FRAME.set_axis([4, 4, 4, 0, 1, 2, 0, 1, 2]), FRAME.set_axis(range(9, 18))):
        frame.to_parquet(folder / "features.parquet")
        check_is_animals(read_dataset(folder))
    table = TABLE.reset_index(names="name").iloc[::-1]
    table.to_parquet(folder / "classes.parquet")
    os.remove(folder / "classes.csv")
    check_is_animals(read_dataset(folder))


def test_labels_that_are_no_file_are_one_sentence(folder):
    in_table(folder, FRAME)
    (folder / "labels.csv").mkdir()
    assert len(examine(folder).wrong) == 1
    (folder / "labels.csv").rmdir()
    (folder / "labels.csv").touch()
    with pytest.raises(InputError, match=r"labels.csv is empty \(0 bytes\)"):
        read_dataset(folder)


def test_a_parquet_index_out_of_order_matches_labels(folder):
    in_table(folder, FRAME)
    os.remove(folder / "features.csv")
    FRAME.iloc[::-1].to_parquet(folder / "features.parquet")
    mixed = [3, 1, 2, 0, 8, 7, 6, 5, 4]
    pd.DataFrame({"label": LABELS}).iloc[mixed].to_parquet(folder / "labels.parquet")
    data = read_dataset(folder)
    np.testing.assert_array_equal(data.X, X[::-1])
    assert data.y.tolist() == LABELS[::-1]


@pytest.mark.parametrize("ids", [[3, 1, 2, 0, 8, 7, 6, 5, 4], list("abcdefghi"), range(9), None])
def test_labels_that_tell_rows_in_vain_are_told(folder, ids):
    """The features have no such column; only numbers that count from the first row say nothing."""
    os.remove(folder / "labels.txt")
    labels = pd.DataFrame({"label": LABELS})
    labels = labels if ids is None else labels.assign(id=ids)
    labels.to_csv(folder / "labels.csv", index=False)
    check = examine(folder)
    assert any(line.endswith("matched by position") for line in check.found)
    told = [line for line in check.odd if "which the features lack" in line]
    assert len(told) == (ids is not None and list(ids) != list(range(9)))


def test_lists_under_other_names_and_ids_of_classes_are_told(folder):
    (folder / "unseen.csv").write_text("lion\n")
    (folder / "test_rows.npy").write_text("")
    TABLE.assign(id=range(4)).to_csv(folder / "classes.csv")
    odd = "\n".join(examine(folder).odd)
    assert "unseen.csv is ignored; the list must be called unseen.txt" in odd
    assert "test_rows.npy is ignored" in odd
    assert "column 'id' of the class table counts as an attribute" in odd


def test_labels_without_a_header_are_suspected(folder):
    os.remove(folder / "labels.txt")
    (folder / "labels.csv").write_text("\n".join(LABELS) + "\n")
    with pytest.raises(InputError, match="8 labels; was the first label taken for a head"):
        read_dataset(folder)


def test_one_column_of_labels_may_be_called_as_the_names_of_the_rows(folder):
    in_table(folder, FRAME.assign(name=list("abcdefghi"))[["name", *FRAME.columns]])
    pd.DataFrame({"name": LABELS}).to_csv(folder / "labels.csv", index=False)
    check_is_animals(read_dataset(folder))


def test_a_column_of_labels_under_another_name_is_found_if_it_is_the_only_one(folder):
    in_table(folder, FRAME.assign(id=range(9)))
    labels = pd.DataFrame({"id": range(9), "species": LABELS})
    labels[::-1].to_csv(folder / "labels.csv", index=False)
    assert read_dataset(folder).y.tolist() == LABELS
    labels.assign(weight=1.0).to_csv(folder / "labels.csv", index=False)
    with pytest.raises(InputError, match="call the one with the class of each row 'label'"):
        read_dataset(folder)


def write_table(table, path):
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize("columns", ["f0,f1,f1", "Label,label,f1", "f0,f0,label"])
def test_two_columns_of_one_name_are_refused(folder, columns):
    in_table(folder, FRAME)
    (folder / "features.csv").write_text(f"{columns}\n" + "1,2,3\n" * 9)
    with pytest.raises(InputError, match=r"features.csv has 2 columns called '\w+': rename them"):
        read_dataset(folder)


def test_units_that_drown_the_others_are_told(folder):
    in_table(folder, FRAME.assign(label=LABELS, f3=FRAME["f3"] * 1e4))
    (told,) = (line for line in examine(folder).odd if "like units" in line)
    assert told.startswith("column 'f3' varies ")
    in_table_again = FRAME.assign(label=LABELS, f3=FRAME["f3"] * 10, f4=0.0)
    in_table_again.to_csv(folder / "features.csv", index=False)
    assert not any("like units" in line for line in examine(folder).odd)
    for value in (0.0, 0.1):
        (FRAME * 0 + value).assign(label=LABELS).to_csv(folder / "features.csv", index=False)
        assert any("all training rows are the same" in line for line in examine(folder).odd)
    few = FRAME.assign(label=LABELS, **{f"c{k}": 0.1 for k in range(7)})
    few.to_csv(folder / "features.csv", index=False)
    assert not any("like units" in line for line in examine(folder).odd), "constants have no unit"
    FRAME.assign(label=LABELS, f1=FRAME["f1"] * 1e200).to_csv(folder / "features.csv", index=False)
    assert any("column 'f1' varies" in line for line in examine(folder).odd)


def test_rows_of_all_classes_are_looked_at(folder):
    """The first class may be large, and all of its rows the same."""
    same = np.zeros((1500, 5))
    np.save(folder / "features.npy", np.concatenate([same, X]))
    (folder / "labels.txt").write_text("\n".join(["tiger"] * 1500 + LABELS))
    assert not any("all training rows" in line for line in examine(folder).odd)


def test_a_text_column_that_is_left_out_is_told(folder):
    in_table(folder, pd.concat([pd.Series(list("abcdefghi"), name="id"), FRAME], axis=1))
    check = examine(folder)
    assert "column 'id' names or numbers the rows and is left out" in check.found
    (sentence,) = check.wrong
    assert "no labels file" in sentence
    assert "if column 'id' holds the class of each row, call it 'label'" in sentence


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_text_column_may_be_meant_for_the_labels(folder, suffix):
    table = FRAME.assign(species=LABELS)
    in_table(folder, table)
    if suffix == "parquet":
        os.remove(folder / "features.csv")
        table.to_parquet(folder / "features.parquet")
    (sentence,) = examine(folder).wrong
    assert "column 'species' holds" in sentence
    assert sentence.endswith("if it holds the class of each row, call the column 'label'")


def test_a_bad_cell_is_the_only_thing_wrong(folder):
    in_table(folder, FRAME.assign(label=LABELS).astype(str).replace(str(X[4, 2]), "?"))
    (sentence,) = examine(folder).wrong
    assert sentence.endswith("line 6: column 'f2' holds '?' instead of a number")


def test_rows_to_predict_come_with_their_labels(folder):
    rows = read_rows(folder, 5)
    assert rows.labels is not None
    assert rows.labels.tolist() == LABELS
    assert read_rows(folder / "features.npy").labels is None
    (folder / "labels.txt").write_text("zebra")
    with pytest.raises(InputError, match="9 rows but 1 labels"):
        read_rows(folder)
    np.savez(folder / "new.npz", features=np.zeros((4, 5)), image_paths=["a", "b"])
    with pytest.raises(InputError, match="4 rows but 2 image paths"):
        read_rows(folder / "new.npz")
