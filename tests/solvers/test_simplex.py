"""Projection on the simplex against bisection, and the compiled one against it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unseen.solvers.simplex import project_simplex


def by_bisection(v: np.ndarray) -> np.ndarray:
    lo, hi = v.min() - 1, v.max()
    for _ in range(100):
        mid = 0.5 * (lo + hi)
        lo, hi = (mid, hi) if np.maximum(v - mid, 0).sum() > 1 else (lo, mid)
    return np.maximum(v - hi, 0)


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
        elements=st.floats(-1e3, 1e3),
    )
)
def test_matches_bisection(V: np.ndarray) -> None:
    Z = project_simplex(V)
    assert np.all(Z >= 0)
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(Z, np.array([by_bisection(v) for v in V]), atol=1e-9)


def test_points_of_the_simplex_stay_and_offsets_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    V = rng.dirichlet(np.ones(7), size=20)
    np.testing.assert_allclose(project_simplex(V), V, atol=1e-12)
    np.testing.assert_allclose(project_simplex(V + 1e6), V, atol=1e-8)
    np.testing.assert_allclose(project_simplex(np.ones((2, 4))), 0.25)


def test_float32_stays_float32() -> None:
    assert project_simplex(np.zeros((3, 2), np.float32)).dtype == np.float32
