"""Second-order steps for the similarity block: conjugate gradients on the face of the box that dual
ascent has found.

Coordinate ascent finds quickly which duals sit at a bound and then crawls, the more so the smaller
lambda_W. On the few duals strictly inside their box the dual is a plain quadratic whose product
costs O(n_free h_t + C^2 h_t), far less than an epoch: minimise it by conjugate gradients, go as far
along the projected direction as the dual rises, repeat.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from unseen.pairs.loss import chunks, signed_weights
from unseen.rows.blocks import row_blocks


def movable_pairs(A, S, V, squared):
    """Where in a row block duals are not held at a bound by their gradient: rows and classes."""
    alpha, slack = np.where(V > 0, A, -A), np.where(V > 0, 1 - S, 1 + S)
    held = (V == 0) | ((alpha <= 0) & (slack <= 0))
    if not squared:
        held |= (alpha >= np.abs(V)) & (slack >= 0)
    return np.nonzero(~held)


def all_movable_pairs(Z, y, A, P, b, w_pos, w_neg, scale, squared, limit):
    """`movable_pairs` over row chunks, as row, class, y omega and score; None if there are more
    than `limit`.
    """
    parts, left, n_classes = [], limit, A.shape[1]
    for rows in chunks(len(Z)):
        S = (Z[rows] @ P)[:, :n_classes] + Z.dtype.type(b)
        V = signed_weights(y[rows], n_classes, w_pos, w_neg, scale[rows], A.dtype)
        J, I = movable_pairs(A[rows], S, V, squared)
        left -= len(J)
        if left < 0:
            return None
        parts.append((J + rows.start, I, V[J, I], S[J, I]))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


class Face:
    """The dual restricted to the interior pairs: gradient, product with its Hessian, bounds.

    Pairs are sorted by class.
    """

    def __init__(self, Z, gram, lam, const, J, I, signs, ridge):
        self.Z, self.gram, self.const = Z, (gram / lam).astype(Z.dtype), Z.dtype.type(const)
        self.J, self.I, self.signs, self.ridge, self.n_products = J, I, signs, ridge, 0
        self.starts = np.searchsorted(I, np.arange(len(gram) + 1))

    def product(self, d):
        """(G (x) Zt Zt' / lambda_W + kappa^2/lambda_W + diag ridge) d."""
        shape = len(self.gram), len(self.Z)
        V = csr_array((d, self.J, self.starts), shape=shape) @ self.Z
        T, out = self.gram @ V, np.empty(len(d), self.Z.dtype)
        for p in row_blocks(len(d), self.Z.shape[1] * self.Z.itemsize, 2**18):
            out[p] = np.einsum("ph,ph->p", T[self.I[p]], self.Z[self.J[p]])
        self.n_products += 1
        return out + self.const * d.sum() + self.ridge * d

    def newton_direction(self, g, free, max_iter):
        """Conjugate gradients for the maximiser over `free`; a direction without curvature is
        followed to the bounds.
        """
        d, r = np.zeros_like(g), np.where(free, g, 0).astype(g.dtype)
        p, rr = r.copy(), float(r @ r)
        stop = 1e-10 * rr
        for _ in range(max_iter):
            Kp = np.where(free, self.product(p), 0)
            curvature = float(p @ Kp)
            if curvature <= 1e-14 * rr:
                return d + (1e3 / max(float(np.abs(p).max()), 1e-300)) * p
            step = rr / curvature
            d += g.dtype.type(step) * p
            r -= g.dtype.type(step) * Kp
            new = float(r @ r)
            if new <= stop:
                break
            p, rr = r + g.dtype.type(new / rr) * p, new
        return d

    def gain(self, D, g):
        """Exact step along D, at most 1: (gain of the dual, step D, its product), or a gain of
        zero.
        """
        slope = float(D @ g)
        if not slope > 0:
            return 0.0, None, None
        KD = self.product(D)
        curvature = float(D @ KD)
        theta = min(1.0, slope / curvature) if curvature > 0 else 1.0
        return (
            theta * slope - 0.5 * theta**2 * curvature,
            g.dtype.type(theta) * D,
            g.dtype.type(theta) * KD,
        )

    def best_step(self, a, g, d, lo, hi):
        """Along d to the first bound, or the projection of d, d/4, d/16, ... while that gains
        more.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(d > 0, (hi - a) / d, np.where(d < 0, (lo - a) / d, np.inf))
        best = self.gain(g.dtype.type(min(1.0, float(room.min()))) * d, g)
        t = 1.0
        for _ in range(8):
            candidate = self.gain(np.clip(a + g.dtype.type(t) * d, lo, hi) - a, g)
            if candidate[0] > best[0]:
                best = candidate
            elif best[0] > 0:
                break
            t *= 0.25
        return best

    def ascend(self, a, scores, lo, hi, budget, cg_iter):
        """Alternate directions and steps until `budget` products are spent or little is gained.
        Returns a.
        """
        g = self.signs - scores - self.ridge * a
        largest, strict = 0.0, False
        while self.n_products < budget:
            inside = (a > lo) & (a < hi)
            free = inside if strict else ~(((a <= lo) & (g <= 0)) | ((a >= hi) & (g >= 0)))
            if not free.any():
                break
            gain, D, KD = self.best_step(a, g, self.newton_direction(g, free, cg_iter), lo, hi)
            if gain > 0:
                a, g = np.clip(a + D, lo, hi), g - KD
            largest = max(largest, gain)
            if gain <= 1e-3 * largest:
                if strict:
                    break
                strict = True
        return a


def polish(Z, y, A, P, b, gram, lam, const, w_pos, w_neg, scale, squared, cg_iter=50):
    """Raise the dual of the similarity block over the duals not held at a bound; A changes in
    place, P and b do not.

    Arguments as in `ascend_rows`. Does nothing where too many duals can move for it to be cheaper
    than an epoch.
    """
    n_rows, h = Z.shape
    n_classes, dtype = len(gram), Z.dtype
    found = all_movable_pairs(
        Z, y, A, P, b, w_pos, w_neg, scale, squared, max(1000, n_rows * n_classes // 20)
    )
    if found is None or len(found[0]) == 0:
        return
    by_class = np.argsort(found[1], kind="stable")
    J, I, signed, scores = (column[by_class] for column in found)
    own, caps = signed > 0, np.abs(signed)
    signs = np.where(own, 1, -1).astype(dtype)
    tops = np.full(len(J), np.inf) if squared else caps
    lo, hi = np.where(own, 0, -tops).astype(dtype), np.where(own, tops, 0).astype(dtype)
    ridge = (0.5 / caps if squared else np.zeros(len(J))).astype(dtype)
    face = Face(Z, np.ascontiguousarray(gram[:, :n_classes]), lam, const, J, I, signs, ridge)
    budget = int(
        np.clip(n_rows * n_classes * h / (len(J) * h + n_classes * n_classes * h), 30, 1000)
    )
    A[J, I] = face.ascend(A[J, I], scores, lo, hi, budget, cg_iter)
