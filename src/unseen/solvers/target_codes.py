"""The target-code block of J: one code a row, Eq. (pd) with or without the pair loss of Eq. (pw).

    min_z  phi p_D(z) + sum_i omega_ij [1 - y_ij (q_i'z + b)]_+,   p_D(z) = l1t/2 |z|^2 + l2t/2 |x_j
    - D z|^2,  Q = Zs W

phi = 1/N in J. Rows are independent and share one Hessian H = phi (l1t I + l2t D'D): without the
loss one Cholesky serves all of them; with it each row is a box-constrained QP in its C duals with
the shared Gram matrix Q H^-1 Q'. X enters only through X D, so rows may come block by block.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from unseen.blocks import row_blocks
from unseen.solvers.ascent import ascend_each_row
from unseen.solvers.hinge import check_pairs, clip_duals, row_losses
from unseen.solvers.solution import finish, relative

SINGULAR = 1e-12


class TargetState(NamedTuple):
    """Warm start: signed duals (N x C) and the incumbent codes (N x h)."""

    duals: np.ndarray | None
    Z: np.ndarray


def fit_inverse(gram, lam1, lam2):
    """(l1 I + l2 gram)^-1 in float64 and whether it is singular (then the pseudo-inverse, i.e.
    codes of least norm).
    """
    H = lam1 * np.eye(len(gram)) + lam2 * np.asarray(gram, np.float64)
    if lam1 > 1e-8 * np.trace(H):
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), np.eye(len(H))), H, False
    values, vectors = np.linalg.eigh(H)
    keep = values > SINGULAR * max(values[-1], 0.0)
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    return inverse, H, not keep.all()


def _fit_values(Z, XD, H, lam2):
    """p_D for every row, without the constant l2t/2 |x_j|^2, in float64."""
    out = np.empty(len(Z))
    for rows in row_blocks(len(Z), 8 * len(H)):
        z = Z[rows].astype(np.float64)
        out[rows] = 0.5 * np.einsum("jh,jh->j", z @ H, z) - lam2 * np.einsum(
            "jh,jh->j", z, XD[rows]
        )
    return out


def ridge_target_codes(XD, gram, *, lam1, lam2):
    """argmin_z l1t/2 |z|^2 + l2t/2 |x_j - D z|^2 for all rows, the initial codes of Alg. 2 (Eq.
    (pd)), one factorisation.

    XD = X D (N x h), gram = D'D (h x h). With l1t = 0 and singular D'D the code of least norm.
    """
    if lam1 < 0 or lam2 < 0 or lam1 + lam2 <= 0:
        raise ValueError(f"need l1t, l2t >= 0 and one of them positive, got {lam1}, {lam2}")
    inverse, H, _ = fit_inverse(gram, lam1, lam2)
    XD = np.asarray(XD)
    Z = XD @ (lam2 * inverse).astype(XD.dtype)
    objective = float(_fit_values(Z, XD, H, lam2).sum())
    return finish(
        "The target codes",
        value=Z,
        n_iter=1,
        history=(),
        optimality=0.0,
        tol=0.0,
        objective=objective,
    )


def _keep_better(Z, primal, state, value_of):
    """Row by row the better of the new codes and the incumbent ones."""
    if state is None or np.shape(state.Z) != Z.shape:
        return primal
    old = np.asarray(state.Z, Z.dtype)
    before = value_of(old)
    worse = before < primal
    np.copyto(Z, old, where=worse[:, None])
    return np.where(worse, before, primal)


def fit_target_codes(
    XD,
    gram,
    Q,
    y,
    *,
    lam1,
    lam2,
    w_pos,
    w_neg,
    row_scale=None,
    loss="hinge",
    bias=0.0,
    fit_weight=None,
    x_sq=None,
    tol=1e-3,
    max_sweeps=1000,
    state=None,
):
    """min_z phi p_D(z) + sum_i omega_ij [1 - y_ij (q_i'z + b)]_+ for every row, the Zt step of
    Algs. 2 and 4.

    XD = X D (N x h), gram = D'D, Q = Zs W (C x h), y: class numbers, -1 for rows of no class (Alg.
    4). fit_weight: phi, 1/N of *all* rows (default 1 / len(XD)); x_sq: |x_j|^2, completes the
    objective. tol: duality gap relative to the loss and the rise of p_D it causes (p_D at its own
    minimum is left out of the denominator, so this is stricter than relative to J). state: of an
    earlier solution; no row gets worse than it was. Returns Solution with the codes (N x h); n_iter
    is the largest number of sweeps any row took.
    """
    XD = np.ascontiguousarray(XD)
    dtype, n_rows, n_classes = XD.dtype, len(XD), len(Q)
    y, scale, squared = check_pairs(y, n_rows, n_classes, w_pos, w_neg, row_scale, loss, dtype)
    phi = 1.0 / max(n_rows, 1) if fit_weight is None else float(fit_weight)
    inverse, H, singular = fit_inverse(gram, lam1, lam2)
    if singular or not phi > 0:
        raise ValueError(
            "with the pair loss the codes need l1t > 0, or l2t > 0 and D of full column rank"
        )
    Q64 = np.asarray(Q, np.float64)
    lift = Q64 @ inverse / phi
    M = np.pad(lift @ Q64.T, ((0, 0), (0, -n_classes % 8))).astype(dtype)
    Z = XD @ (lam2 * inverse).astype(dtype)
    base = phi * _fit_values(Z, XD, H, lam2)
    A = np.zeros((n_rows, n_classes), dtype)
    if state is not None and np.shape(state.duals) == A.shape:
        A[:] = state.duals
        clip_duals(A, y, w_pos, w_neg, scale, squared)
    S0 = Z @ np.asarray(Q, dtype).T + dtype.type(bias)
    n_sweeps, rises = ascend_each_row(A, S0, y, M, w_pos, w_neg, scale, squared, tol, max_sweeps)
    lift = lift.astype(dtype)
    for rows in row_blocks(n_rows, 8 * len(H)):
        Z[rows] += A[rows] @ lift

    def value_of(codes):
        S = codes @ np.asarray(Q, dtype).T + dtype.type(bias)
        return phi * _fit_values(codes, XD, H, lam2) + row_losses(
            S, y, w_pos, w_neg, scale, squared
        )

    primal = _keep_better(Z, value_of(Z), state, value_of)
    gap = float(np.sum(primal - base - rises))
    # Where all pairs keep their margin nothing moves, and the gap is mere rounding of p_D.
    rounding = 4 * float(np.finfo(dtype).eps) * abs(float(base.sum()))
    movable = float(np.sum(primal - base))
    objective = float(primal.sum()) + (
        0.0 if x_sq is None else 0.5 * phi * lam2 * float(np.sum(x_sq))
    )
    optimality = relative(gap, movable) if gap > rounding else 0.0
    return finish(
        "The target-code block (Zt)",
        value=Z,
        n_iter=int(n_sweeps.max(initial=0)),
        history=((int(n_sweeps.max(initial=0)), objective, gap),),
        optimality=optimality,
        tol=tol,
        objective=objective,
        state=TargetState(A, Z),
    )
