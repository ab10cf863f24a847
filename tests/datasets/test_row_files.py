"""Rows of a user's own: tables of named columns, labels beside them, rows to predict."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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
from unseen.datasets import examine, read_features, read_rows


@pytest.fixture
def folder(tmp_path) -> Path:
    return make_animals(tmp_path / "animals")


@pytest.mark.parametrize("kind", FEATURES)
def test_features_are_read_alone_to_predict(tmp_path, kind):
    FEATURES[kind](tmp_path)
    file = next(tmp_path.iterdir())
    for given in (tmp_path, file):
        np.testing.assert_array_equal(read_features(given, n_columns=5), X)
    with pytest.raises(InputError, match=f"{file.name} has [59] columns, .* trained on 4"):
        read_features(tmp_path, n_columns=4)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([["a"]]), "must be numbers, not <U1"),
        (np.array([[np.nan]]), "NaN or infinite at row 0, column 0"),
        (np.ones(3), r"not of shape \(3,\)"),
        (np.ones((0, 3)), "empty: 0 rows"),
    ],
)
def test_unusable_features_are_refused_by_name(tmp_path, array, message):
    np.save(tmp_path / "new.npy", array)
    with pytest.raises(InputError, match=f"new.npy: .*{message}"):
        read_features(tmp_path / "new.npy")
    with pytest.raises(InputError, match=r"new.txt: features are a file of kind"):
        read_features(shutil.copy(tmp_path / "new.npy", tmp_path / "new.txt"))


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
    assert check.dataset.feature_names == (*FRAME.columns, "ID")
    (used,) = (line for line in check.odd if "column 'ID' is used as a feature" in line)
    assert used in check.dataset.notes, "'unseen fit' tells it too"
    LABEL_FILES["txt"](beside)
    assert any("labels.txt is used, the labels inside" in line for line in examine(beside).odd)


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
    assert f"column {name!r} names or numbers the rows and is left out" in check.found
    rows = read_rows(folder, 5)
    assert rows.beside[name].tolist() == [str(10**17 + k) for k in range(9)]
    known = read_rows(folder, names=(*FRAME.columns, name))
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
    with pytest.raises(InputError, match=r"not the same as in the features, .* names twice"):
        read_dataset(folder)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_any_column_that_both_files_have_matches_labels(folder, suffix):
    """Its numbers are then no feature, whatever it is called."""
    in_table(folder, FRAME)
    os.remove(folder / "features.csv")
    other, ids = np.array([3, 1, 2, 0, 8, 7, 6, 5, 4]), np.arange(9) + 100
    write_table(FRAME.assign(sample=ids), folder / f"features.{suffix}")
    labels = pd.DataFrame({"label": LABELS, "Sample": ids, "weight": X[:, 0]}).iloc[other]
    write_table(labels, folder / f"labels.{suffix}")
    check = examine(folder)
    assert check.dataset is not None
    check_is_animals(check.dataset)
    assert any(line.endswith("matched with rows by column 'sample'") for line in check.found)
    write_table(labels.assign(Sample=[0, *range(8)]), folder / f"labels.{suffix}")
    write_table(FRAME.assign(sample=[1, *range(8)]), folder / f"features.{suffix}")
    assert examine(folder).dataset is not None, "numbers that are there twice tell no rows"


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


@pytest.mark.parametrize("other", ["id", "image"])
def test_what_both_files_say_of_a_row_must_agree(folder, other):
    in_table(folder, FRAME)
    names = pd.DataFrame({"run": list("abcdefghi"), other: [f"{k}.png" for k in range(9)]})
    pd.concat([names["run"], FRAME, names[[other]]], axis=1).to_csv(
        folder / "features.csv", index=False
    )
    names = names.assign(label=LABELS)
    mixed = names.iloc[[3, 1, 2, 0, 8, 7, 6, 5, 4]]
    mixed.drop(columns="run").to_csv(folder / "labels.csv", index=False)
    assert read_dataset(folder).y.tolist() == LABELS, "matched by what is left"
    if other == "id":
        names.assign(run=list("bacdefghi")).to_csv(folder / "labels.csv", index=False)
        with pytest.raises(InputError, match=r"matched by column '\w+', row 0 .* has .* here"):
            read_dataset(folder)


@pytest.mark.parametrize("value", ["train", 3])
def test_a_constant_column_tells_no_rows(folder, value):
    in_table(folder, FRAME)
    FRAME.assign(split=value)[["split", *FRAME.columns]].to_csv(
        folder / "features.csv", index=False
    )
    labels = pd.DataFrame({"split": value, "label": LABELS})
    labels.to_csv(folder / "labels.csv", index=False)
    check = examine(folder)
    assert check.dataset is not None
    assert check.dataset.y.tolist() == LABELS
    assert any(line.endswith("matched with rows in their order") for line in check.found)


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
    assert any(line.endswith("matched with rows in their order") for line in check.found)
    told = [line for line in check.odd if "labels are taken in their order" in line]
    assert len(told) == (ids is not None and list(ids) != list(range(9)))


def test_lists_under_other_names_and_ids_of_classes_are_told(folder):
    (folder / "unseen.csv").write_text("lion\n")
    (folder / "test_rows.npy").write_text("")
    TABLE.assign(id=range(4)).to_csv(folder / "classes.csv")
    odd = "\n".join(examine(folder).odd)
    assert "unseen.csv is not read; the list is called unseen.txt" in odd
    assert "test_rows.npy is not read" in odd
    assert "column 'id' of the class table is used as an attribute" in odd


def test_labels_without_a_header_are_suspected(folder):
    os.remove(folder / "labels.txt")
    (folder / "labels.csv").write_text("\n".join(LABELS) + "\n")
    with pytest.raises(InputError, match="8 labels; if they are a table, is its first line a head"):
        read_dataset(folder)


def test_one_column_of_labels_may_be_called_as_the_names_of_the_rows(folder):
    in_table(folder, FRAME.assign(name=list("abcdefghi"))[["name", *FRAME.columns]])
    pd.DataFrame({"name": LABELS}).to_csv(folder / "labels.csv", index=False)
    check_is_animals(read_dataset(folder))


def test_a_column_of_labels_under_another_name_is_noticed_beside_ids(folder):
    in_table(folder, FRAME.assign(id=range(9)))
    pd.DataFrame({"id": range(9), "species": LABELS}).to_csv(folder / "labels.csv", index=False)
    with pytest.raises(InputError, match=r"'species' holds .* call the column 'label'"):
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
    with pytest.raises(InputError, match=r"features.csv has 2 columns called '\w+': give each a"):
        read_dataset(folder)


def test_units_that_drown_the_others_are_told(folder):
    in_table(folder, FRAME.assign(label=LABELS, f3=FRAME["f3"] * 1e4))
    (told,) = (line for line in examine(folder).odd if "like units" in line)
    assert told.startswith("column 'f3' spreads ")
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
    assert any("column 'f1' spreads" in line for line in examine(folder).odd)


def test_rows_of_all_classes_are_looked_at(folder):
    """The first class may be large, and all of its rows the same."""
    same = np.zeros((1500, 5))
    np.save(folder / "features.npy", np.concatenate([same, X]))
    (folder / "labels.txt").write_text("\n".join(["tiger"] * 1500 + LABELS))
    assert not any("all training rows" in line for line in examine(folder).odd)


def test_classes_that_nothing_measures_are_told(folder):
    assert not any("nothing to measure" in line for line in examine(folder).odd)
    (folder / "unseen.txt").write_text("horse\n")
    (told,) = (line for line in examine(folder).odd if "nothing to measure" in line)
    assert told.startswith("no rows of 'lion': 'predict' may name it")


def test_a_text_column_that_is_left_out_is_told(folder):
    in_table(folder, pd.concat([pd.Series(list("abcdefghi"), name="id"), FRAME], axis=1))
    check = examine(folder)
    assert "column 'id' names or numbers the rows and is left out" in check.found
    (sentence,) = check.wrong
    assert "no labels file" in sentence
    assert "if column 'id' is the class of each row, call it 'label'" in sentence


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_text_column_may_be_meant_for_the_labels(folder, suffix):
    table = FRAME.assign(species=LABELS)
    in_table(folder, table)
    if suffix == "parquet":
        os.remove(folder / "features.csv")
        table.to_parquet(folder / "features.parquet")
    (sentence,) = examine(folder).wrong
    assert "column 'species' holds" in sentence
    assert sentence.endswith("if it is the class of each row, call the column 'label'")


def test_a_bad_cell_is_the_only_thing_wrong(folder):
    in_table(folder, FRAME.assign(label=LABELS).astype(str).replace(str(X[4, 2]), "?"))
    (sentence,) = examine(folder).wrong
    assert sentence.endswith("line 6: column 'f2' holds '?', a number was expected")


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
