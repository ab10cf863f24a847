"""Pairs written out: labels, weights and products that the solvers never form."""

from __future__ import annotations

import numpy as np

from tests.oracles import qp
from unseen.pairs.loss import Pairs


def explicit_pairs(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Y and ω, C x N, by a loop over pairs."""
    Y, omega = np.zeros((2, pairs.n_classes, len(pairs)))
    for j, label in enumerate(pairs.labels):
        for c in range(pairs.n_classes):
            value = float(label[c]) if np.ndim(label) else (1.0 if label == c else -1.0)
            Y[c, j] = (value > 0) * 1.0 - (value < 0)
            omega[c, j] = (pairs.omega.positive if value > 0 else pairs.omega.negative) * abs(value)
    return Y, omega


def loss_value(margins: np.ndarray, omega: np.ndarray, loss: str) -> float:
    slack = np.maximum(1.0 - margins, 0.0)
    return float(np.sum(omega * (slack**2 if loss == "squared_hinge" else slack)))


def hinge_qp(
    H: np.ndarray,
    r: np.ndarray,
    F: np.ndarray,
    Y: np.ndarray,
    omega: np.ndarray,
    b: float = 0.0,
    loss: str = "hinge",
    code_set: str = "free",
) -> float:
    """The minimum of z'Hz/2 - r'z + Σ_k ω_k loss(y_k (f_k'z + b)), by a general QP solver."""
    z = qp.solve(H, r, F, omega, Y, b, loss, code_set)
    return qp.value(z, H, r, F, omega, Y, b, loss)


def similarity_minimum(Zs: np.ndarray, Zt: np.ndarray, pairs: Pairs, lambda_W: float) -> float:
    """The W block on explicit Kronecker products."""
    Y, omega = explicit_pairs(pairs)
    F = np.einsum("ia,jb->ijab", Zs, Zt).reshape(len(Zs) * len(Zt), -1)
    H, r = lambda_W * np.eye(F.shape[1]), np.zeros(F.shape[1])
    return hinge_qp(H, r, F, Y.ravel(), omega.ravel(), loss=pairs.loss)
