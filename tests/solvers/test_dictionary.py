"""The dictionary blocks against least squares and projected gradients."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.solvers.problems import seeds
from unseen.solvers.block import Effort
from unseen.solvers.dictionary import fit_source_dictionary, fit_target_dictionary


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
