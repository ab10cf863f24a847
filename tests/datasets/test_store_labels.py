"""Labels of rows on disk: matched by what names the rows, and none that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen import InputError, open_rows, read_dataset


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).random((57, 4), dtype=np.float32)


@pytest.fixture
def known(tmp_path: Path, X: np.ndarray) -> Any:
    """Rows with the numbers 0, 1, ... as `id`, and labels of the same rows in another order."""
    y = np.array([f"class {k % 5}" for k in range(len(X))])
    order = np.random.default_rng(0).permutation(len(X))
    lines = [f"{k},{y[k]}" for k in order]
    (tmp_path / "labels.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    return y


@pytest.mark.parametrize("kind", ["columns", "lists", "shards", "csv"])
def test_labels_beside_meet_rows_by_their_ids(
    tmp_path: Path, X: np.ndarray, known: np.ndarray, kind: str
):
    """By position nearly all of them would be wrong."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    if kind == "lists":
        frame = pandas.DataFrame({"f": list(X)})
    frame.insert(0, "id", np.arange(len(X)))
    if kind == "shards":
        (tmp_path / "features").mkdir()
        frame[:20].to_parquet(tmp_path / "features" / "part-1.parquet", index=False)
        frame[20:].to_parquet(tmp_path / "features" / "part-2.parquet", index=False)
        opened = open_rows(tmp_path / "features", tmp_path / "labels.csv")
    elif kind == "csv":
        frame.to_csv(tmp_path / "features.csv", index=False)
        opened = open_rows(tmp_path / "features.csv")
    else:
        frame.to_parquet(tmp_path / "features.parquet", index=False)
        opened = open_rows(tmp_path / "features.parquet")
    assert opened.labels is not None
    np.testing.assert_array_equal(opened.labels, known)
    (tmp_path / "classes.csv").write_text(
        "name,a\n" + "".join(f"class {k},{k}\n" for k in range(6))
    )
    np.testing.assert_array_equal(read_dataset(tmp_path).y, known)


@pytest.mark.filterwarnings("default")
def test_labels_with_ids_that_rows_lack_are_told(tmp_path: Path, X: np.ndarray, known: Any):
    np.save(tmp_path / "part.npy", X)
    with pytest.warns(UserWarning, match="has column 'id', which the features lack: matched by"):
        open_rows(tmp_path)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda y: np.ma.masked_array(y, y == 0), "masked"),
        (lambda y: [None, *y[1:]], "None"),
        (lambda y: np.where(y == 0, np.nan, y), "NaN|nan"),
        (lambda y: y[:, None] * [1, 1], "flat list"),
    ],
)
def test_labels_that_are_none_are_refused_as_with_an_array(
    X: np.ndarray, labels: Any, message: str
):
    y = np.arange(len(X)) % 5
    with pytest.raises(InputError, match=message):
        open_rows(X, labels(y))


def test_masked_rows_are_refused_as_with_an_array(X: np.ndarray):
    with pytest.raises(InputError, match="masked cells"):
        open_rows(np.ma.masked_array(X, X > 0.5))


def test_a_file_of_labels_is_a_flat_list(tmp_path: Path, X: np.ndarray):
    np.save(tmp_path / "part.npy", X)
    np.save(tmp_path / "labels.npy", np.zeros((len(X), 2), int))
    with pytest.raises(InputError, match="labels must be a flat list, not of the shape"):
        open_rows(tmp_path)


def test_one_kind_of_features_is_enough(tmp_path: Path, X: np.ndarray):
    """One of two would be taken in silence."""
    (tmp_path / "features").mkdir()
    for path in (tmp_path / "features" / "part.npy", tmp_path / "features.npy"):
        np.save(path, X)
    with pytest.raises(InputError, match=r"has 'features', 'features\.npy': keep only one"):
        open_rows(tmp_path)


def test_arrays_of_a_zarr_group_with_another_name_are_told(tmp_path: Path, X: np.ndarray):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
    create = getattr(group, "create_array", None) or group.create_dataset  # zarr 3, zarr 2
    create("emb", shape=X.shape, chunks=X.shape, dtype="f4")[:] = X
    with pytest.raises(InputError, match="no array 'features' or 'X', but 'emb': open the one"):
        open_rows(tmp_path / "x.zarr")
    np.testing.assert_array_equal(open_rows(tmp_path / "x.zarr" / "emb")[:], X)
