"""Second-order steps for the similarity block: conjugate gradients on the face of the box that dual
ascent has found.

Coordinate ascent finds quickly which duals sit at a bound and then crawls, the more so the smaller
lambda_W. On the few duals strictly inside their box the dual is a plain quadratic whose product
costs O(n_free h_t + C^2 h_t), far less than an epoch: minimise it by conjugate gradients, go as far
along the projected direction as the dual rises, repeat.
"""

import numba as nb
import numpy as np

from unseen.solvers.compiled import FASTMATH
from unseen.solvers.hinge import chunks
from unseen.solvers.labels import pair


@nb.njit(cache=True)
def movable_pairs(A, S, y, w_pos, w_neg, scale, squared, first_row, limit):
    """The duals of a row block not held at a bound by their gradient: row, class, y omega and
    score, at most `limit`.
    """
    J, I = np.empty(limit, np.int64), np.empty(limit, np.int64)
    signed, scores = np.empty(limit), np.empty(limit, S.dtype)
    n = 0
    for j in range(A.shape[0]):
        for i in range(A.shape[1]):
            positive, omega = pair(y[j], i, w_pos, w_neg)
            omega *= scale[j]
            a, g = (A[j, i], 1 - S[j, i]) if positive else (-A[j, i], 1 + S[j, i])
            if (
                omega <= 0
                or (a <= 0 and g <= 0)
                or (not squared and a >= A.dtype.type(omega) and g >= 0)
            ):
                continue
            if n == limit:
                return J, I, signed, scores, n + 1
            J[n], I[n], scores[n] = first_row + j, i, S[j, i]
            signed[n] = omega if positive else -omega
            n += 1
    return J[:n], I[:n], signed[:n], scores[:n], n


def all_movable_pairs(Z, y, A, P, b, w_pos, w_neg, scale, squared, limit):
    """`movable_pairs` over row chunks; None if there are more than `limit`."""
    parts, left = [], limit
    for rows in chunks(len(Z)):
        S = (Z[rows] @ P)[:, : A.shape[1]] + Z.dtype.type(b)
        *part, n = movable_pairs(
            A[rows], S, y[rows], w_pos, w_neg, scale[rows], squared, rows.start, left
        )
        left -= n
        if left < 0:
            return None
        parts.append(part)
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


@nb.njit(cache=True, fastmath=FASTMATH)
def _scatter(Z, J, I, d, V):
    """V[i] = sum of d_p z_j over the pairs p = (i, j)."""
    V[:] = 0
    for p in range(J.size):
        f, z, v = d[p], Z[J[p]], V[I[p]]
        for l in range(z.shape[0]):
            v[l] += f * z[l]


@nb.njit(cache=True, fastmath=FASTMATH)
def _gather(Z, J, I, T, out):
    """out_p = T[i]'z_j for the pairs p = (i, j)."""
    for p in range(J.size):
        z, t, total = Z[J[p]], T[I[p]], Z.dtype.type(0)
        for l in range(z.shape[0]):
            total += t[l] * z[l]
        out[p] = total


class Face:
    """The dual restricted to the interior pairs: gradient, product with its Hessian, bounds."""

    def __init__(self, Z, gram, lam, const, J, I, signs, ridge):
        self.Z, self.gram, self.const, self.J, self.I = (
            Z,
            gram / gram.dtype.type(lam),
            Z.dtype.type(const),
            J,
            I,
        )
        self.signs, self.ridge, self.n_products = signs, ridge, 0
        self.V = np.empty((len(gram), Z.shape[1]), Z.dtype)

    def product(self, d):
        """(G (x) Zt Zt' / lambda_W + kappa^2/lambda_W + diag ridge) d."""
        out = np.empty(len(d), self.Z.dtype)
        _scatter(self.Z, self.J, self.I, d, self.V)
        _gather(self.Z, self.J, self.I, self.gram @ self.V, out)
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
    J, I, signed, scores = found
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
