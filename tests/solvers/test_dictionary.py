"""The dictionary blocks against least squares and projected gradients; eigenvectors and class atoms
to begin with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning

from tests.oracles.joint import scaled_rows
from tests.solvers.problems import seeds
from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import RowScaler, RowScaling
from unseen.solvers.block import Effort
from unseen.solvers.dictionary import (
    MOST_CLASS_ATOMS,
    fit_source_dictionary,
    fit_target_dictionary,
    initial_source_dictionary,
    initial_target_dictionary,
)


def projected_gradient(M: np.ndarray, T: np.ndarray, D: np.ndarray) -> np.ndarray:
    step = 1.0 / max(np.linalg.eigvalsh(M)[-1], 1e-12)
    V, t = D.copy(), 1.0
    for _ in range(3000):
        new = V - step * (V @ M - T)
        new /= np.maximum(1.0, np.linalg.norm(new, axis=0))
        t_new = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        V, D, t = new + (t - 1) / t_new * (new - D), new, t_new
    return D


def residual(X: np.ndarray, Z: np.ndarray, D: np.ndarray) -> float:
    return 0.5 * float(np.sum((X - Z @ D.T) ** 2))


@pytest.mark.parametrize("seed", seeds(100, quick=20))
def test_source_dictionary_is_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    C, d, h = rng.integers(1, 9, 3)
    S, Z = rng.standard_normal((C, d)), rng.dirichlet(np.ones(h), C)
    if seed % 4 == 0:
        Z[:] = Z[0]
    start = rng.standard_normal((d, h)) * (seed % 2)
    solution = fit_source_dictionary(Z.T @ Z, S.T @ Z, B=start)
    best = np.linalg.lstsq(Z, S, rcond=None)[0].T
    assert residual(S, Z, solution.value) <= residual(S, Z, best) * (1 + 1e-8) + 1e-9
    if not start.any():
        np.testing.assert_allclose(solution.value, best, atol=1e-5)


@pytest.mark.parametrize("seed", seeds(100, quick=20))
def test_target_dictionary_matches_projected_gradient(seed: int) -> None:
    rng = np.random.default_rng(seed)
    N, d, h = rng.integers(1, 12, 3)
    X, Z, D = rng.standard_normal((N, d)), rng.standard_normal((N, h)), rng.standard_normal((d, h))
    D /= np.maximum(1.0, np.linalg.norm(D, axis=0))
    if seed % 4 == 0:
        Z[:, 0] = 0.0
    if seed % 5 == 0:
        X[:] = X[0]
    exact, square = Effort(1e-6, 20000), float(np.sum(X**2))
    solution = fit_target_dictionary(Z.T @ Z, X.T @ Z, D=D, data_sq=square, effort=exact)
    values = [value for _, value, _ in solution.history]
    scale = 0.5 * square
    assert np.all(np.diff(values) <= 1e-12 * scale)
    assert np.all(np.linalg.norm(solution.value, axis=0) <= 1 + 1e-12)
    assert residual(X, Z, solution.value) == pytest.approx(solution.objective, abs=1e-9 * scale)
    reference = residual(X, Z, projected_gradient(Z.T @ Z, X.T @ Z, D))
    assert solution.objective <= reference + 1e-5 * scale
    if seed % 4 == 0:
        np.testing.assert_allclose(solution.value[:, 0], D[:, 0], atol=1e-14)


def test_stopping_short_warns_and_float32_stays() -> None:
    rng = np.random.default_rng(0)
    X, Z = (rng.standard_normal((50, n)).astype(np.float32) for n in (20, 30))
    D = np.eye(20, 30, dtype=np.float32)
    hurried, square = Effort(1e-12, 1), float(np.sum(X**2))
    with pytest.warns(ConvergenceWarning, match="target dictionary"):
        solution = fit_target_dictionary(Z.T @ Z, X.T @ Z, D=D, data_sq=square, effort=hurried)
    assert solution.value.dtype == np.float32
    assert solution.objective < residual(X, Z, D)


# -- where they begin ----------------------------------------------------------------------

PLAIN = RowScaling(False, None)


def decaying(n: int, d: int, dtype: Any, decay: float = 0.95, seed: int = 0) -> np.ndarray:
    """Rows whose k-th principal direction is `decay` times as long as the one before."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return ((rng.standard_normal((n, d)) * decay ** np.arange(d)) @ basis.T + 0.1).astype(dtype)


def top_eigenvectors(X: np.ndarray, h: int) -> np.ndarray:
    return np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :h]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    ("d", "h"), [(20, 6), (20, 20), (600, 40)], ids=["exact", "square", "randomised"]
)
def test_target_atoms_are_the_top_eigenvectors(d: int, h: int, center: bool, dtype: Any) -> None:
    X = decaying(700, d, dtype)
    scaling = RowScaler(True, center).learn(X, True)
    D = initial_target_dictionary(TrainingRows(X, scaling), h, 0)
    assert D.shape == (d, h)
    assert D.dtype == dtype
    np.testing.assert_allclose(D.T @ D, np.eye(h), atol=1e-5 if dtype == np.float32 else 1e-10)
    explicit = scaled_rows(X, scaling)
    for k in {1, h // 2, h}:
        angle = subspace_angles(D[:, :k].astype(float), top_eigenvectors(explicit, k)).max()
        assert angle < 0.02, k
    lengths = np.linalg.norm(explicit @ D, axis=0)
    assert (np.diff(lengths) < 1e-5 * lengths[0]).all(), "largest first"


def test_target_atoms_are_the_same_each_time() -> None:
    rows = TrainingRows(decaying(300, 400, np.float32), PLAIN)
    np.testing.assert_array_equal(
        initial_target_dictionary(rows, 10, 0), initial_target_dictionary(rows, 10, 0)
    )


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = TrainingRows(decaying(300, 300, np.float64), PLAIN)
    whole = initial_target_dictionary(rows, 10, 0)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (50_000,))
    assert subspace_angles(initial_target_dictionary(rows, 10, 0), whole).max() < 1e-6


@pytest.mark.parametrize(("n", "d"), [(5, 30), (5, 300), (30, 4)])
def test_no_more_atoms_than_columns_or_rows(n: int, d: int) -> None:
    rows = TrainingRows(decaying(n, d, np.float64), PLAIN)
    D = initial_target_dictionary(rows, 25, 0)
    assert D.shape == (d, min(n, d, 25))
    np.testing.assert_allclose(D.T @ D, np.eye(D.shape[1]), atol=1e-8)


@pytest.mark.parametrize("d", [10, 300])
@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("center", [False, True])
def test_constant_rows_still_give_orthonormal_atoms(d: int, value: float, center: bool) -> None:
    X = np.full((40, d), value)
    D = initial_target_dictionary(TrainingRows(X, RowScaler(True, center).learn(X, True)), 5, 0)
    np.testing.assert_allclose(D.T @ D, np.eye(5), atol=1e-8)


@pytest.mark.parametrize("d", [30, 300])
def test_rank_deficient_rows(d: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, d))
    D = initial_target_dictionary(TrainingRows(X, PLAIN), 8, 0)
    np.testing.assert_allclose(D.T @ D, np.eye(8), atol=1e-8)
    np.testing.assert_allclose(X @ D[:, :3] @ D[:, :3].T, X, atol=1e-6)


def test_every_class_is_an_atom() -> None:
    S = np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32)
    for n_atoms in (None, 7, 50):
        B = initial_source_dictionary(S, n_atoms, 0)
        np.testing.assert_array_equal(B, S.T)
        assert not np.shares_memory(B, S)


def test_fewer_atoms_than_classes_are_centres_of_groups() -> None:
    """Three tight groups: the centres are their means."""
    rng = np.random.default_rng(0)
    means = np.array([[5.0, 0, 0], [0, 5, 0], [0, 0, 5]])
    S = np.repeat(means, 4, axis=0) + 0.01 * rng.standard_normal((12, 3))
    B = initial_source_dictionary(S, 3, 0)
    expected = S.reshape(3, 4, 3).mean(axis=1)
    order = B.argmax(axis=0)
    np.testing.assert_allclose(B.T, expected[order], atol=1e-10)
    np.testing.assert_array_equal(initial_source_dictionary(S, 3, 0), B)


def test_many_classes_get_two_hundred_atoms() -> None:
    S = np.random.default_rng(0).standard_normal((MOST_CLASS_ATOMS + 7, 5)).astype(np.float32)
    B = initial_source_dictionary(S, None, 0)
    assert B.shape == (5, MOST_CLASS_ATOMS)
    assert B.dtype == np.float32


def test_fewer_different_descriptions_than_atoms() -> None:
    S = np.repeat(np.eye(3), 4, axis=0)
    B = initial_source_dictionary(S, 6, 0)
    assert np.isfinite(B).all()
    assert {tuple(np.round(atom)) for atom in B.T} == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
