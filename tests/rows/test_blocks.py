"""Products with scaled rows, a block at a time, against the scaled rows written out."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracles.joint import scaled_rows
from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import RowScaler

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def make_rows(dtype: type, n: int = 23, d: int = 7) -> np.ndarray:
    rng = np.random.default_rng(5)
    X = rng.gamma(1.0, 2.0, (n, d)) * rng.choice([0.1, 1, 30], n)[:, None]
    X[4] = 0
    return X.astype(dtype)


def check(rows: TrainingRows, explicit: np.ndarray, tolerance: float) -> None:
    """All that an algorithm may ask of the rows."""
    rng = np.random.default_rng(6)
    D = rng.standard_normal((rows.n_columns, 3)).astype(rows.dtype)
    Z = rng.standard_normal((rows.n_rows, 3)).astype(rows.dtype)
    pairs = [
        (rows.project(D), explicit @ D.astype(float)),
        (rows.cross(Z), explicit.T @ Z.astype(float)),
        (rows.total_square, np.sum(explicit**2)),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(
            found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max()
        )
    assert explicit.shape == (rows.n_rows, rows.n_columns)
    assert rows.project(D).dtype == rows.cross(Z).dtype == rows.dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("unit_length", "center", "unit_scale"), list(product([False, True], repeat=3))
)
@pytest.mark.parametrize("constant", [0.0, 0.4])
@pytest.mark.parametrize("index", [None, np.array([3, 20, 4, 4, 11, 0])], ids=["all", "some"])
def test_products_equal_those_of_the_scaled_rows(
    dtype: Any, unit_length: bool, center: bool, unit_scale: bool, constant: float, index: Any
) -> None:
    X = make_rows(dtype)
    scaling = RowScaler(unit_length, center).learn(X, unit_scale, constant)
    assert (scaling.constant > 0) == (constant > 0)
    explicit = scaled_rows(X if index is None else X[index], scaling)
    check(TrainingRows(X, scaling, index), explicit, TOLERANCE[dtype])


@pytest.mark.parametrize("block_bytes", [1, 100, 1000])
@pytest.mark.parametrize("index", [None, np.array([3, 20, 4, 4, 11, 0])], ids=["all", "some"])
def test_block_size_does_not_matter(
    block_bytes: int, index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = make_rows(np.float64)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (block_bytes,))
    scaling = RowScaler(True, True).learn(X, True, 0.4)
    explicit = scaled_rows(X if index is None else X[index], scaling)
    check(TrainingRows(X, scaling, index), explicit, 1e-12)


@pytest.mark.parametrize("index", [None, np.array([3, 20, 4, 4, 11, 0])], ids=["all", "some"])
def test_memory_map_and_other_layouts(index: Any, tmp_path: Path) -> None:
    X = make_rows(np.float32)
    np.save(tmp_path / "X.npy", X)
    scaling = RowScaler(True, True).learn(X, True, 0.4)
    explicit = scaled_rows(X if index is None else X[index], scaling)
    forms = (np.load(tmp_path / "X.npy", mmap_mode="r"), np.asfortranarray(X), X[:, ::-1][:, ::-1])
    for form in forms:
        check(TrainingRows(form, scaling, index), explicit, TOLERANCE[np.float32])


@pytest.mark.parametrize("size", [1e-36, 1e-30, 1e30])
def test_unit_length_of_rows_of_extreme_size(size: float) -> None:
    X = (make_rows(np.float32).astype(np.float64) * size).astype(np.float32)
    scaling = RowScaler(True, True).learn(X, True)
    check(TrainingRows(X, scaling), scaled_rows(X, scaling), 1e-4)


@pytest.mark.parametrize("offset", [10.0, 1000.0])
def test_a_large_mean_does_not_drown_the_rows(offset: float) -> None:
    """float32 keeps some 7 digits, of which the mean takes log10(offset)."""
    rng = np.random.default_rng(0)
    X = (offset + rng.standard_normal((400, 50))).astype(np.float32)
    scaling = RowScaler(False, True).learn(X, True)
    check(TrainingRows(X, scaling), scaled_rows(X, scaling), 1e-6 * offset)
