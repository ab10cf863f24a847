"""One code by a general-purpose interior-point solver (clarabel).

min_z  z'Hz/2 - r'z + Σ_k ω_k loss(1 - y_k (f_k'z + b)),      z free, affine or on the simplex
"""

from __future__ import annotations

from typing import Any

import clarabel as _clarabel
import numpy as np
from scipy import sparse

clarabel: Any = _clarabel  # compiled, and without type stubs


def solve(
    H: np.ndarray,
    r: np.ndarray,
    F: np.ndarray,
    omega: np.ndarray,
    y: np.ndarray,
    bias: float = 0.0,
    loss: str = "hinge",
    which: str = "free",
) -> np.ndarray:
    """The minimiser z (h). F is K x h, omega and y (±1) hold K numbers.

    With slacks t: min z'Hz/2 - r'z + ω't (or ω't²) under t >= 0, t_k >= 1 - y_k (f_k'z + b).
    """
    h, n_pairs = len(r), len(F)
    squared = loss == "squared_hinge"
    P = sparse.block_diag([H, sparse.diags(2 * omega if squared else 0 * omega)])
    q = np.concatenate([-r, 0 * omega if squared else omega])
    none, eye = np.zeros((n_pairs, h)), np.eye(n_pairs)
    # clarabel: A v + s = b with s in the cones, equalities (zero cone) first.
    lines = [np.hstack([none, -eye]), np.hstack([-y[:, None] * F, -eye])]
    right = [np.zeros(n_pairs), -(1 - y * bias)]
    cones: list = []
    if which != "free":
        lines.insert(0, np.hstack([np.ones((1, h)), np.zeros((1, n_pairs))]))
        right.insert(0, np.ones(1))
        cones.append(clarabel.ZeroConeT(1))
    if which == "simplex":
        lines.append(np.hstack([-np.eye(h), np.zeros((h, n_pairs))]))
        right.append(np.zeros(h))
    cones.append(clarabel.NonnegativeConeT(sum(map(len, right)) - (which != "free")))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    A = sparse.csc_matrix(np.vstack(lines))
    upper = sparse.csc_matrix(sparse.triu(P))
    solution = clarabel.DefaultSolver(upper, q, A, np.concatenate(right), cones, settings).solve()
    assert "Solved" in str(solution.status), solution.status
    return np.array(solution.x[:h])


def value(
    z: np.ndarray,
    H: np.ndarray,
    r: np.ndarray,
    F: np.ndarray,
    omega: np.ndarray,
    y: np.ndarray,
    bias: float = 0.0,
    loss: str = "hinge",
) -> float:
    """The objective at z."""
    slack = np.maximum(0, 1 - y * (F @ z + bias))
    return float(0.5 * z @ H @ z - r @ z + omega @ (slack**2 if loss == "squared_hinge" else slack))
