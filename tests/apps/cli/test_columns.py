"""Tables of named columns on the command line: names decide where both sides have them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd

import unseen
from tests.common.birds import UNSEEN
from tests.common.command import BY_ESZSL, assert_one_sentence, run_unseen


def test_feature_columns_are_matched_by_name(folder: Path, tmp_path: Path, X: np.ndarray) -> None:
    """A table with its columns in another order gives the same predictions and measures."""
    copy = shutil.copytree(folder, tmp_path / "birds")
    (copy / "features.npy").unlink()
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(12)])
    frame.to_csv(copy / "features.csv", index=False)
    assert run_unseen("fit", copy, *BY_ESZSL, "--out", tmp_path / "m").code == 0
    outcomes = []
    for order in (frame.columns, frame.columns[::-1]):
        frame[order].to_csv(copy / "features.csv", index=False)
        best = run_unseen("predict", tmp_path / "m", copy, "--json")
        measured = run_unseen("evaluate", tmp_path / "m", copy, "--json").json
        assert best.err == ""
        outcomes.append((best.json, measured["per_class_accuracy"]))
    assert outcomes[0] == outcomes[1]
    frame.rename(columns={"f3": "F3"}).to_csv(tmp_path / "new.csv", index=False)
    refused = run_unseen("predict", tmp_path / "m", tmp_path / "new.csv")
    assert_one_sentence(refused, "new.csv has no column 'f3'", "nearest name: 'F3'")
    loaded = unseen.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()


def test_columns_that_tell_which_row_is_which_come_back(
    folder: Path, tmp_path: Path, X: np.ndarray
) -> None:
    """Text, and numbers of rows that the model was not trained on; another column is left out."""
    copy = shutil.copytree(folder, tmp_path / "birds")
    os.remove(copy / "features.npy")
    names = [f"f{k}" for k in range(X.shape[1])]
    pd.DataFrame(X, columns=names).to_csv(copy / "features.csv", index=False)
    assert run_unseen("fit", copy, *BY_ESZSL, "--out", tmp_path / "m").code == 0
    new = pd.DataFrame(X[:4], columns=names)
    plain = tmp_path / "plain.csv"
    new.to_csv(plain, index=False)
    new.insert(0, "photo", [f"p{k}.jpg" for k in range(4)])
    new.rename(columns={"photo": ""}).to_csv(tmp_path / "unnamed.csv", index=False)
    unnamed = run_unseen("predict", tmp_path / "m", tmp_path / "unnamed.csv", "--json").json
    assert unnamed[2]["name"] == "p2.jpg"
    ids = [1234567890123456789 + k for k in range(4)]  # floating point would not keep them
    new.insert(2, "id", ids)
    new.insert(3, "weight", [1.5, 2.5, 3.5, 4.5])
    new["row"] = range(1, 5)
    given = tmp_path / "given.csv"
    new.to_csv(given, index=False)
    found = run_unseen("predict", tmp_path / "m", given, "--json")
    expected = run_unseen("predict", tmp_path / "m", plain, "--json").json
    assert found.err == "Note: the model was not trained on column 'weight': left out\n"
    for line, other in zip(found.json, expected, strict=True):
        k = line["row"]
        assert (line.pop("photo"), line.pop("id"), line.pop("row (given)")) == (
            f"p{k}.jpg", str(ids[k]), str(k + 1)
        )  # fmt: skip
        assert line == other
    first = run_unseen("retrieve", tmp_path / "m", given, "-c", UNSEEN[0], "--json").json[0]
    assert first["photo"] == f"p{first['row']}.jpg"
    del new["f3"]
    new.to_csv(given, index=False)
    assert_one_sentence(run_unseen("predict", tmp_path / "m", given), "has no column 'f3', which")


def test_a_model_without_names_of_columns_says_so(
    folder: Path, model_file: Path, tmp_path: Path, X: np.ndarray
) -> None:
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(12)])
    frame.to_csv(tmp_path / "new.csv", index=False)
    found = run_unseen("predict", model_file, tmp_path / "new.csv", "--json")
    assert found.err.startswith("Note: the model has no column names; the columns of the file are")
    data = shutil.copytree(folder, tmp_path / "birds")
    os.remove(data / "features.npy")
    frame.to_csv(data / "features.csv", index=False)
    assert run_unseen("evaluate", model_file, data, "--json").err == found.err
    plain = run_unseen("predict", model_file, folder / "features.npy", "--json")
    assert plain.err == ""
    assert [line["class"] for line in found.json] == [line["class"] for line in plain.json]
