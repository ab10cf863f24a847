"""Features of the Gaussian kernel against scikit-learn's kernel matrix and kernel PCA."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

from unseen import InputError
from unseen.rows.kernel import KernelFeatures
from unseen.rows.scaling import RowScaling

PLAIN = RowScaling(False, None)


def rows(n: int = 60, d: int = 5, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def fit(X: np.ndarray, **options: Any) -> tuple[KernelFeatures, np.ndarray]:
    settings = {"width": 1.0, "n_landmarks": 1000, "n_features": 1000, **options}
    return KernelFeatures.fit(X, settings.pop("scaling", PLAIN), **settings)


def test_with_every_row_a_landmark_products_are_the_centred_kernel() -> None:
    X = rows()
    kernel, features = fit(X)
    exact = rbf_kernel(X, gamma=0.5 / kernel.width**2)
    centred = KernelCenterer().fit_transform(exact)
    np.testing.assert_allclose(features @ features.T, centred / np.trace(centred) * 60, atol=1e-3)
    assert np.mean(np.sum(features**2, axis=1)) == pytest.approx(1)


def test_new_rows_lie_where_kernel_pca_puts_them() -> None:
    X, new = rows(), rows(20, seed=1)
    kernel, features = fit(X)
    pca = KernelPCA(3, kernel="rbf", gamma=0.5 / kernel.width**2).fit(X)
    ours = kernel(new) @ np.linalg.svd(features, full_matrices=False)[2][:3].T
    theirs = pca.transform(new)
    for k in range(3):
        assert abs(np.corrcoef(ours[:, k], theirs[:, k])[0, 1]) > 0.9999


def test_width_is_in_units_of_the_median_distance() -> None:
    X = rows(40)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(40, 1)]
    assert fit(X, width=0.5)[0].width == pytest.approx(0.5 * np.median(distances))
    assert fit(3 * X, width=0.5)[0].width == pytest.approx(1.5 * np.median(distances))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("center", [False, True])
def test_training_rows_get_the_same_features_again(dtype: Any, center: bool) -> None:
    X = rows(50, dtype=dtype)
    kernel, features = fit(X, n_landmarks=20, n_features=12, center=center)
    assert features.dtype == dtype
    assert kernel.landmarks.shape == (20, 5)
    assert features.shape == (50, 12)
    np.testing.assert_allclose(kernel(X), features, atol=1e-4 if dtype == np.float32 else 1e-12)
    mean = np.abs(features.mean(axis=0)).max()
    assert mean < 1e-6 if center else mean > 1e-2


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X = rows(50)
    _, whole = fit(X, n_landmarks=30)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (2000,))
    np.testing.assert_allclose(fit(X, n_landmarks=30)[1], whole, atol=1e-10)


def test_scaling_comes_first() -> None:
    X = rows(50) * np.linspace(1, 9, 50)[:, None]
    scaling = RowScaling.fit(X, True, True, True)
    np.testing.assert_allclose(fit(X, scaling=scaling)[1], fit(scaling(X))[1], atol=1e-10)


def test_rows_may_be_a_memory_map(tmp_path: Path) -> None:
    X = rows(50, dtype=np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(fit(mapped)[1], fit(X)[1])


@pytest.mark.parametrize("X", [np.zeros((8, 3)), np.ones((8, 3)), rows(1)], ids=["0", "1", "one"])
def test_rows_that_are_all_alike_give_finite_features(X: np.ndarray) -> None:
    kernel, features = fit(X)
    assert np.isfinite(features).all()
    assert np.isfinite(kernel(X + 1)).all()


def test_the_same_seed_gives_the_same_landmarks() -> None:
    X = rows(200)
    first, again = (fit(X, n_landmarks=20, random_state=3)[0] for _ in range(2))
    np.testing.assert_array_equal(first.landmarks, again.landmarks)
    assert not np.array_equal(fit(X, n_landmarks=20, random_state=4)[0].landmarks, first.landmarks)


@pytest.mark.parametrize("center", [False, True])
def test_the_gradient_is_the_slope_of_the_features(center: bool) -> None:
    kernel, _ = fit(rows(30), n_features=8, center=center)
    x, pull = rows(1, seed=2)[0], np.random.default_rng(3).standard_normal(8)
    slopes = [
        (kernel((x + step)[None]) - kernel((x - step)[None]))[0] @ pull / 2e-6
        for step in 1e-6 * np.eye(5)
    ]
    np.testing.assert_allclose(kernel.gradient(x, pull), slopes, rtol=1e-5, atol=1e-7)


def test_parts_that_do_not_fit_together_are_refused() -> None:
    kernel, _ = fit(rows(30), n_features=8)
    assert kernel.check(5) == 8
    plain, _ = fit(rows(30), n_features=8, center=False)
    assert plain.check(5) == 8
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
