"""The simplex, the set of the source codes in Eq. (pb): projection, and quadratic programs."""

from __future__ import annotations

import numpy as np

from unseen.solvers.compiled import helper, kernel

# Loops rather than array expressions, as in ascent.py. Along rows and without sums, so that those
# that must keep their order fill whole registers too.


def project_simplex(V: np.ndarray) -> np.ndarray:
    """argmin_Z |Z - V|² over Z >= 0 whose rows sum to one, the projection step of the paper, exact.

    V: n x h, projected row by row by sorting (Duchi et al. 2008), O(h log h) each. Rows are shifted
    by their largest entry first, which changes nothing in exact arithmetic and keeps large common
    offsets from swallowing the digits.
    """
    V = np.asarray(V)
    dtype = V.dtype if V.dtype in (np.float32, np.float64) else np.float64
    shifted = V.astype(np.float64) - V.max(axis=1, keepdims=True)
    ordered = -np.sort(-shifted, axis=1)
    thresholds = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, V.shape[1] + 1)
    n_positive = np.count_nonzero(ordered > thresholds, axis=1)
    threshold = np.take_along_axis(thresholds, n_positive[:, None] - 1, axis=1)
    return np.maximum(shifted - threshold, 0.0).astype(dtype)


@helper
def _equality_solution(H, r, support, x):
    """argmin z'Hz/2 - r'z over the coordinates in `support`, summing to one (H positive definite
    there), into x; by elimination in U with r and a column of ones beside it."""
    m = support.shape[0]
    U = np.empty((m, m + 2))
    for p in range(m):
        row, source = U[p], H[support[p]]
        for q in range(p, m):
            row[q] = source[support[q]]
        row[m], row[m + 1] = r[support[p]], 1.0
    for p in range(m):
        # What is lost to rounding must not make it indefinite.
        row, top = U[p], H[support[p], support[p]]
        row[p] = max(row[p], 1e-15 * top)
        for i in range(p + 1, m):
            f, other = row[i] / row[p], U[i]
            for q in range(i, m + 2):
                other[q] -= f * row[q]
    total, unit = 0.0, 0.0
    for p in range(m - 1, -1, -1):
        row = U[p]
        f, g = row[m], row[m + 1]
        for q in range(p + 1, m):
            f -= row[q] * x[q]
            g -= row[q] * U[q, m + 1]
        x[p], row[m + 1] = f / row[p], g / row[p]
        total += x[p]
        unit += row[m + 1]
    for p in range(m):
        x[p] += (1.0 - total) / unit * U[p, m + 1]


@kernel
def simplex_qp(H, R, Z, tol, max_pivots):
    """min z'Hz/2 - r_i'z on the simplex for every row r_i of R: primal active set (Lawson-Hanson
    with a sum constraint).

    Z: C x h feasible start and result; from zeros the best vertex is the start. Returns (pivots,
    Frank-Wolfe gap g'z - min g >= suboptimality) for every row.
    """
    n, h = R.shape
    pivots, gaps = np.zeros(n, np.int64), np.zeros(n)
    inside, support = np.empty(h, np.bool_), np.empty(h, np.int64)
    target, g = np.empty(h), np.empty(h)
    for i in range(n):
        z, r = Z[i], R[i]
        best, lowest, total = 0, np.inf, 0.0
        for k in range(h):
            total += z[k]
            if 0.5 * H[k, k] - r[k] < lowest:
                best, lowest = k, 0.5 * H[k, k] - r[k]
        if total <= 0.0:
            z[best] = 1.0
        for k in range(h):
            inside[k] = z[k] > 0.0
        while True:
            # Minimise over the support; coordinates that turn negative leave it at zero.
            m = 0
            for k in range(h):
                if inside[k]:
                    support[m] = k
                    m += 1
            _equality_solution(H, r, support[:m], target)
            step, worst = 1.0, -1
            for p in range(m):
                k = support[p]
                if target[p] <= 0.0:
                    t = z[k] / (z[k] - target[p]) if z[k] > target[p] else 0.0
                    if t <= step:
                        step, worst = t, k
            for p in range(m):
                k = support[p]
                z[k] += step * (target[p] - z[k])
            if worst >= 0 and m > 1:
                z[worst], inside[worst] = 0.0, False
                continue
            for l in range(h):
                g[l] = -r[l]
            for k in range(h):
                if z[k] != 0.0:
                    f, row = z[k], H[k]
                    for l in range(h):
                        g[l] += f * row[l]
            best, lowest, product, total = 0, np.inf, 0.0, 0.0
            for k in range(h):
                if g[k] < lowest:
                    best, lowest = k, g[k]
                product += g[k] * z[k]
                total += z[k]
            gaps[i] = max(product / total - lowest, 0.0)
            if gaps[i] <= tol or inside[best] or pivots[i] == max_pivots:
                break
            inside[best] = True
            pivots[i] += 1
        for k in range(h):
            z[k] /= total
    return pivots, gaps
