"""Features of the Gaussian kernel against scikit-learn's kernel matrix and kernel PCA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from unseen import InputError
from unseen.rows.kernel import KernelFeatures


def rows(n: int = 60, d: int = 5, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def fit(X: np.ndarray, width: float = 1.0) -> KernelFeatures:
    return KernelFeatures.fit(X, width)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_features_are_the_kernel(dtype: Any) -> None:
    X = rows(dtype=dtype)
    kernel = fit(X)
    features = kernel(X)
    assert features.dtype == dtype
    exact = rbf_kernel(X, gamma=0.5 / kernel.width**2)
    np.testing.assert_allclose(features @ features.T, exact, atol=1e-3)
    assert np.mean(np.sum(features**2, axis=1)) == pytest.approx(1, rel=1e-4)


def test_new_rows_lie_where_kernel_pca_puts_them() -> None:
    X, new = rows(), rows(20, seed=1)
    kernel = fit(X)
    pca = KernelPCA(3, kernel="rbf", gamma=0.5 / kernel.width**2).fit(X)
    mean = kernel(X).mean(axis=0)
    directions = np.linalg.svd(kernel(X) - mean, full_matrices=False)[2][:3]
    ours, theirs = (kernel(new) - mean) @ directions.T, pca.transform(new)
    for k in range(3):
        assert abs(np.corrcoef(ours[:, k], theirs[:, k])[0, 1]) > 0.9999


def test_width_is_in_units_of_the_median_distance() -> None:
    X = rows(40)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(40, 1)]
    assert fit(X, 0.5).width == pytest.approx(0.5 * np.median(distances))
    assert fit(3 * X, 0.5).width == pytest.approx(1.5 * np.median(distances))


@pytest.mark.parametrize("X", [np.zeros((8, 3)), np.ones((8, 3)), rows(1)], ids=["0", "1", "one"])
def test_rows_that_are_all_alike_give_finite_features(X: np.ndarray) -> None:
    kernel = fit(X)
    assert np.isfinite(kernel(X)).all()
    assert np.isfinite(kernel(X + 1)).all()


def test_the_gradient_is_the_slope_of_the_features() -> None:
    kernel = fit(rows(30))
    pull = np.random.default_rng(3).standard_normal(kernel.shift.size)
    x = rows(1, seed=2)[0]
    slopes = [
        (kernel((x + step)[None]) - kernel((x - step)[None]))[0] @ pull / 2e-6
        for step in 1e-6 * np.eye(5)
    ]
    np.testing.assert_allclose(kernel.gradient(x, pull), slopes, rtol=1e-5, atol=1e-7)


def test_parts_that_do_not_fit_together_are_refused() -> None:
    kernel = fit(rows(30))
    assert kernel.check(5) == kernel.projection.shape[1]
    for broken in (
        replace(kernel, landmarks=kernel.landmarks[:-1]),
        replace(kernel, landmarks=kernel.landmarks[0]),
        replace(kernel, projection=kernel.projection[:-1]),
        replace(kernel, shift=kernel.shift[:-1]),
        replace(kernel, projection=kernel.projection.astype(int)),
        replace(kernel, landmarks=[[0.0] * 5]),
    ):
        with pytest.raises(InputError, match="kernel do not fit"):
            broken.check(5)
    for width in (0.0, -1.0, "wide", None):
        with pytest.raises(InputError, match="the width of its kernel must be"):
            replace(kernel, width=width).check(5)
    with pytest.raises(InputError, match="kernel do not fit"):
        kernel.check(6)
