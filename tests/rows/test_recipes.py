"""Row stores as Dask arrays."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen import InputError, open_rows

dask = pytest.importorskip("dask")
X = np.arange(600.0).reshape(120, 5).astype(np.float32)


def in_files(folder: Path) -> Any:
    for k, part in enumerate(np.array_split(X, 3)):
        np.save(folder / f"part-{k}.npy", part)
    np.save(folder / "labels.npy", np.array([f"class {k % 4}" for k in range(120)]))
    return open_rows(folder)


@pytest.mark.parametrize("size", [1, 50, 120, 1000, None])
def test_the_same_rows_in_blocks(size: int | None, tmp_path: Path) -> None:
    store = in_files(tmp_path)
    found = store.to_dask(size)
    assert (found.shape, found.dtype) == (X.shape, X.dtype)
    assert found.chunks[0][0] == min(size or 120, 120)
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), X)
    numbers = np.random.default_rng(0).permutation(120)[:70]
    chosen = store.select(numbers).to_dask(size)
    np.testing.assert_array_equal(chosen.compute(scheduler="synchronous"), X[numbers])
    assert store.shape == (120, 5)


def test_only_paths_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_files(tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    lazy = open_rows(tmp_path.name).to_dask(50)
    assert len(pickle.dumps(dict(lazy.__dask_graph__()))) < X.nbytes + 2000
    os.chdir("/")
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), X)


def test_a_row_that_is_no_number_is_named_by_its_file(tmp_path: Path) -> None:
    in_files(tmp_path)
    rows = X[:40].copy()
    rows[7, 2] = np.nan
    np.save(tmp_path / "part-1.npy", rows)
    with pytest.raises(InputError, match=r"part-1.npy is NaN or infinite in row 7, column 2"):
        open_rows(tmp_path).to_dask(50).compute(scheduler="synchronous")
    with pytest.raises(ValueError, match="block_rows"):
        open_rows(tmp_path).to_dask(0)
