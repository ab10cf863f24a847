"""Pairs written out: labels, weights and products that the solvers never form."""

import numpy as np

from tests.oracles import qp


def explicit_pairs(y, n_classes, w_pos, w_neg, scale=None):
    """Y and omega, C x N, by brute force; y: class numbers or N x C signs times weights."""
    if np.ndim(y) == 2:
        Y, omega = np.zeros((n_classes, len(y))), np.zeros((n_classes, len(y)))
        for j, line in enumerate(y):
            for c, value in enumerate(line):
                Y[c, j] = (value > 0) * 1.0 - (value < 0)
                omega[c, j] = (w_pos if value > 0 else w_neg) * abs(float(value))
        return Y, omega * (1.0 if scale is None else np.asarray(scale)[None, :])
    Y, omega = -np.ones((n_classes, len(y))), np.full((n_classes, len(y)), float(w_neg))
    for j, c in enumerate(y):
        if c >= 0:
            Y[c, j], omega[c, j] = 1.0, w_pos
    return Y, omega * (1.0 if scale is None else np.asarray(scale)[None, :])


def loss_value(margins, omega, loss):
    slack = np.maximum(1.0 - margins, 0.0)
    return float(np.sum(omega * (slack**2 if loss == "squared_hinge" else slack)))


def hinge_qp(H, r, F, Y, omega, b=0.0, loss="hinge", which="free"):
    """The minimum of z'Hz/2 - r'z + sum_k omega_k loss(y_k (f_k'z + b)), by a general QP solver."""
    z = qp.solve(H, r, F, omega, Y, b, loss, which)
    return qp.value(z, H, r, F, omega, Y, b, loss)


def similarity_minimum(Zs, Zt, y, lam, w_pos, w_neg, scale=None, loss="hinge", b=0.0, kappa=None):
    """The W block on explicit Kronecker products; kappa: learn b as a constant feature."""
    Y, omega = explicit_pairs(y, len(Zs), w_pos, w_neg, scale)
    F = np.einsum("ia,jb->ijab", Zs, Zt).reshape(len(Zs) * len(Zt), -1)
    if kappa is not None:
        F, b = np.column_stack([F, np.full(len(F), kappa)]), 0.0
    return hinge_qp(
        lam * np.eye(F.shape[1]), np.zeros(F.shape[1]), F, Y.ravel(), omega.ravel(), b, loss
    )
