"""Second-order steps for the similarity block: conjugate gradients on the face of the box that dual
ascent has found.

Coordinate ascent finds quickly which duals sit at a bound and then crawls, the more so the smaller
λ_W. On the few duals strictly inside their box the dual is a plain quadratic whose product
costs O(n_free h_t + C^2 h_t), far less than an epoch: minimise it by conjugate gradients, go as far
along the projected direction as the dual rises, repeat.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from unseen.pairs.loss import Pairs
from unseen.rows.blocks import chunks, row_blocks

CG_STEPS = 50


def _movable(
    Z: np.ndarray, pairs: Pairs, A: np.ndarray, P: np.ndarray, limit: int
) -> list[np.ndarray] | None:
    """The pairs whose duals are not held at a bound by their gradient, as row, class, y ω and
    score; None if there are more than `limit`.
    """
    parts, left, n_classes = [], limit, A.shape[1]
    for rows in chunks(len(Z)):
        S = (Z[rows] @ P)[:, :n_classes]
        V = pairs[rows].signed_omega(A.dtype).astype(np.float64, copy=False)
        alpha, slack = np.where(V > 0, A[rows], -A[rows]), np.where(V > 0, 1 - S, 1 + S)
        held = (V == 0) | ((alpha <= 0) & (slack <= 0))
        if not pairs.is_squared:
            held |= (alpha >= np.abs(V)) & (slack >= 0)
        J, I = np.nonzero(~held)
        left -= len(J)
        if left < 0:
            return None
        parts.append((J + rows.start, I, V[J, I], S[J, I]))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


class Face:
    """The dual restricted to the interior pairs: gradient, product with its Hessian, bounds.

    Pairs are sorted by class.
    """

    def __init__(
        self,
        Z: np.ndarray,
        gram: np.ndarray,
        places: tuple[np.ndarray, np.ndarray],
        signed: np.ndarray,
        squared: bool,
    ) -> None:
        dtype, own, omega = Z.dtype, signed > 0, np.abs(signed)
        self.Z, self.gram, self.n_products = Z, np.ascontiguousarray(gram).astype(dtype), 0
        self.J, self.I = places
        self.starts = np.searchsorted(self.I, np.arange(len(gram) + 1))
        self.signs = np.where(own, 1, -1).astype(dtype)
        top = np.full(len(omega), np.inf) if squared else omega
        self.lo = np.where(own, 0, -top).astype(dtype)
        self.hi = np.where(own, top, 0).astype(dtype)
        self.ridge = (0.5 / omega if squared else np.zeros(len(omega))).astype(dtype)

    def product(self, d: np.ndarray) -> np.ndarray:
        """(Zs Zs' ⊗ Zt Zt' / λ_W + diag ridge) d."""
        shape = len(self.gram), len(self.Z)
        V = csr_array((d, self.J, self.starts), shape=shape) @ self.Z
        T, out = self.gram @ V, np.empty(len(d), self.Z.dtype)
        for p in row_blocks(len(d), self.Z.shape[1] * self.Z.itemsize, 2**18):
            out[p] = np.einsum("ph,ph->p", T[self.I[p]], self.Z[self.J[p]])
        self.n_products += 1
        return out + self.ridge * d

    def newton_direction(self, g: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Conjugate gradients for the maximiser over `free`; a direction without curvature is
        followed to the bounds.
        """
        d, r = np.zeros_like(g), np.where(free, g, 0).astype(g.dtype)
        p, rr = r.copy(), float(r @ r)
        stop = 1e-10 * rr
        for _ in range(CG_STEPS):
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

    def gain(self, D: np.ndarray, g: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Exact step along D, at most 1: (gain of the dual, step D, its product), or a gain of
        zero.
        """
        slope = float(D @ g)
        if not slope > 0:
            return 0.0, D, D
        KD = self.product(D)
        curvature = float(D @ KD)
        theta = min(1.0, slope / curvature) if curvature > 0 else 1.0
        return (
            theta * slope - 0.5 * theta**2 * curvature,
            g.dtype.type(theta) * D,
            g.dtype.type(theta) * KD,
        )

    def best_step(
        self, a: np.ndarray, g: np.ndarray, d: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Along d to the first bound, or the projection of d, d/4, d/16, ... while that gains
        more.
        """
        lo, hi = self.lo, self.hi
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

    def ascend(self, a: np.ndarray, scores: np.ndarray, budget: int) -> np.ndarray:
        """The duals after directions and steps in turn, until `budget` products are spent or
        little is gained.
        """
        lo, hi = self.lo, self.hi
        g = self.signs - scores - self.ridge * a
        largest, strict = 0.0, False
        while self.n_products < budget:
            inside = (a > lo) & (a < hi)
            free = inside if strict else ~(((a <= lo) & (g <= 0)) | ((a >= hi) & (g >= 0)))
            if not free.any():
                break
            gain, D, KD = self.best_step(a, g, self.newton_direction(g, free))
            if gain > 0:
                a, g = np.clip(a + D, lo, hi), g - KD
            largest = max(largest, gain)
            if gain <= 1e-3 * largest:
                if strict:
                    break
                strict = True
        return a


def polish(
    Z: np.ndarray, pairs: Pairs, A: np.ndarray, P: np.ndarray, gram: np.ndarray, lambda_W: float
) -> None:
    """Raise the dual of the similarity block over the duals not held at a bound; A changes in
    place, P does not.

    Arguments as in `ascend_rows`. Does nothing where too many duals can move for it to be cheaper
    than an epoch.
    """
    (n_rows, h), n_classes = Z.shape, len(gram)
    found = _movable(Z, pairs, A, P, max(1000, n_rows * n_classes // 20))
    if found is None or len(found[0]) == 0:
        return
    by_class = np.argsort(found[1], kind="stable")
    J, I, signed, scores = (column[by_class] for column in found)
    face = Face(Z, gram[:, :n_classes] / lambda_W, (J, I), signed, pairs.is_squared)
    budget = int(
        np.clip(n_rows * n_classes * h / (len(J) * h + n_classes * n_classes * h), 30, 1000)
    )
    A[J, I] = face.ascend(A[J, I], scores, budget)
