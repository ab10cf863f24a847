"""The similarity block with a code a pair: the W step of Alg. 1, Eq. (pw) over individual codes.

    min_{W,b}  sum_ij omega_ij loss(y_ij (zs_ij' W zt_ij + b)) + lambda_W/2 (|W|^2 + (b/kappa)^2)

A linear SVM on C N features zs_ij zt_ij', met a block of pairs at a time: dual coordinate ascent,
W = sum_ij a_ij zs_ij zt_ij' / lambda_W, of which only the duals a (N x C) are kept. The certificate
is the duality gap; what is returned is never worse than the incumbent.
"""

from typing import NamedTuple

import numpy as np

from unseen.solvers.compiled import free_order_kernel
from unseen.solvers.similarity import Similarity, SimilarityState
from unseen.solvers.solution import finish, relative

EPOCHS_BETWEEN_CHECKS = 5
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


class PairFeatures(NamedTuple):
    """A block of rows with all classes: codes n x C x h_s and n x C x h_t, signs, weights n x C."""

    rows: slice
    Zs: np.ndarray
    Zt: np.ndarray
    Y: np.ndarray
    omega: np.ndarray


@free_order_kernel
def _ascend_pairs(Zs, Zt, curvatures, V, A, W, b, lam, kappa_sq, squared, order):
    """One visit to each pair of a block, its dual set to its maximum. Zs, Zt: n x h_s and h_t; n
    each: curvatures = (|z_s|^2 |z_t|^2 + kappa^2) / lambda_W, V = y omega and A; A and W in place.
    Returns b.
    """
    for t in range(order.shape[0]):
        q = order[t]
        w = abs(V[q])
        if w == 0.0:
            continue
        z, x = Zs[q], Zt[q]
        s = 0.0
        for k in range(z.shape[0]):
            if z[k] != 0.0:
                part, row = 0.0, W[k]
                for l in range(x.shape[0]):
                    part += row[l] * x[l]
                s += z[k] * part
        ridge, cap = (0.5 / w, np.inf) if squared else (0.0, w)
        lo, hi = (0.0, cap) if V[q] > 0.0 else (-cap, 0.0)
        g = (1.0 if V[q] > 0.0 else -1.0) - s - b - ridge * A[q]
        curvature = curvatures[q] + ridge
        new = hi if g > 0.0 else lo
        if curvature > 0.0:
            new = min(max(A[q] + g / curvature, lo), hi)
        delta = (new - A[q]) / lam
        if delta == 0.0:
            continue
        A[q] = new
        b += kappa_sq * delta
        for k in range(z.shape[0]):
            if z[k] != 0.0:
                f, row = delta * z[k], W[k]
                for l in range(x.shape[0]):
                    row[l] += f * x[l]
    return b


def _visit(block, A, W, b, p, rng):
    """`_ascend_pairs` on a block in float64, whatever its codes are stored in; returns b."""
    duals = A[block.rows].ravel().astype(np.float64)
    V = (np.sign(block.Y) * np.maximum(block.omega, 0.0)).ravel()
    V = V.astype(A.dtype).astype(np.float64)  # so that a dual reaches its bound exactly
    codes = (np.ascontiguousarray(Z, np.float64) for Z in (block.Zs, block.Zt))
    zs, zt = (Z.reshape(-1, Z.shape[-1]) for Z in codes)
    squares = np.einsum("qh,qh->q", zs, zs) * np.einsum("qh,qh->q", zt, zt)
    curvatures, order = (squares + p.kappa_sq) / p.lam, rng.permutation(V.size)
    b = _ascend_pairs(zs, zt, curvatures, V, duals, W, b, p.lam, p.kappa_sq, p.squared, order)
    A[block.rows] = duals.reshape(block.Y.shape)
    return b


def clip_pair_duals(A, Y, omega, squared):
    """Duals within the box of the present signs and weights, in place."""
    cap = np.where(omega > 0, np.inf, 0.0) if squared else omega
    np.copyto(A, np.clip(A, np.where(Y < 0, -cap, 0.0), np.where(Y > 0, cap, 0.0)))


class _Problem(NamedTuple):
    blocks: object
    A: np.ndarray
    lam: float
    kappa_sq: float
    squared: bool


def _penalty(p, W, b):
    square = np.sum(np.square(W, dtype=np.float64))
    square += b * b / p.kappa_sq if p.kappa_sq > 0 else 0.0
    return 0.5 * p.lam * float(square)


def _scores(block, W, b):
    return np.einsum("jih,jih->ji", block.Zs @ W, block.Zt).astype(np.float64) + b


def _primal(p, old, new):
    """The block objective at some points on the way from old to new (W, b), in one pass over the
    pairs: scores are linear in it.
    """
    points = [_between(old, new, share) for share in SHARES]
    values = np.array([_penalty(p, *point) for point in points])
    for block in p.blocks():
        omega = np.where(block.Y != 0, block.omega, 0.0)
        s_old, s_new = _scores(block, *old), _scores(block, *new)
        for k, share in enumerate(SHARES):
            slack = np.maximum(1.0 - block.Y * (s_old + share * (s_new - s_old)), 0.0)
            values[k] += np.vdot(omega, slack**2 if p.squared else slack)
    best = int(np.argmin(values))
    return points[best], float(values[best])


def _between(old, new, share):
    """`share` of the way from old to new (W, b)."""
    if share in (0.0, 1.0):
        return new if share else old
    return old[0] + old[0].dtype.type(share) * (new[0] - old[0]), old[1] + share * (new[1] - old[1])


def _from_duals(p, shape, dtype):
    """(W, b) of the duals, and the part of the dual objective that is theirs alone."""
    W, linear, b = np.zeros(shape), 0.0, 0.0
    for block in p.blocks():
        a = p.A[block.rows].astype(np.float64)
        flat = (block.Zs * a[..., None].astype(dtype)).reshape(-1, shape[0])
        W += flat.T @ block.Zt.reshape(-1, shape[1])
        linear += float(np.abs(a).sum())
        if p.squared:
            linear -= float(np.sum(a * a / (4 * np.where(block.omega > 0, block.omega, np.inf))))
        b += float(a.sum())
    return (W / p.lam).astype(dtype), p.kappa_sq * b / p.lam, linear


def fit_pair_similarity(
    blocks, W, b, duals, *, lam, loss, bias_scale=0.0, tol=1e-3, max_epochs=40, random_state=0
):
    """The W step of Alg. 1 from the incumbent (W, b) and signed duals (N x C).

    blocks: a function that gives the pairs anew, one `PairFeatures` after the other. bias_scale:
    kappa, or 0 for a b that stays 0. Returns Solution with value Similarity(W, b) and, as state,
    the duals.
    """
    dtype, rng = np.asarray(W).dtype, np.random.default_rng(random_state)
    A = np.array(duals, dtype)
    p = _Problem(blocks, A, float(lam), float(bias_scale) ** 2, loss == "squared_hinge")
    for block in blocks():
        clip_pair_duals(A[block.rows], block.Y, block.omega, p.squared)
    best, lower, n_epochs, history = (W, float(b)), -np.inf, 0, []
    while True:
        now, now_b, linear = _from_duals(p, W.shape, dtype)
        lower = max(lower, linear - _penalty(p, now, now_b))
        best, value = _primal(p, best, (now, now_b))
        history.append((n_epochs, float(value), float(value - lower)))
        if value - lower <= tol * value or n_epochs >= max_epochs:
            break
        now, now_b = np.array(now, np.float64, order="C"), float(now_b)
        for _ in range(min(EPOCHS_BETWEEN_CHECKS, max_epochs - n_epochs)):
            for block in blocks():
                now_b = _visit(block, A, now, now_b, p, rng)
            n_epochs += 1
    return finish(
        "The similarity block (W) with a code a pair",
        value=Similarity(*best),
        n_iter=n_epochs,
        history=history,
        optimality=relative(value - lower, value),
        tol=np.inf,  # a step that falls short is taken up again in the next round
        objective=value,
        state=SimilarityState(A, *best),
    )
