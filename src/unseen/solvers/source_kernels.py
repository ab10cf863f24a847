"""Compiled loops of the source-code block: a primal active-set QP on the simplex, and dual ascent
with N hinges a class.
"""

import numba as nb
import numpy as np

from unseen.solvers.compiled import FASTMATH, exact_helper, helper
from unseen.solvers.labels import pair

# Loops rather than array expressions, as in ascent.py.
ENOUGH = 1e-3


@helper
def _dot(p, z):
    total = z.dtype.type(0)
    for l in range(z.shape[0]):
        total += p[l] * z[l]
    return total


@helper
def _cholesky(M):
    """M = LL' (positive definite), L in place of the lower half."""
    for i in range(M.shape[0]):
        for j in range(i + 1):
            total = M[i, j]
            for k in range(j):
                total -= M[i, k] * M[j, k]
            if i == j:  # what is lost to rounding must not make it indefinite
                M[i, i] = np.sqrt(max(total, 1e-15 * M[i, i]))
            else:
                M[i, j] = total / M[j, j]


@helper
def _solve(L, x):
    """(LL')^-1 x, in place."""
    m = x.shape[0]
    for i in range(m):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    for i in range(m - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@exact_helper
def _equality_solution(H, r, support, m, x):
    """argmin z'Hz/2 - r'z over the first m coordinates in `support`, summing to one (H positive
    definite there), into x.
    """
    L, ones = np.empty((m, m)), np.empty(m)
    for p in range(m):
        x[p], ones[p] = r[support[p]], 1.0
        for q in range(p + 1):
            L[p, q] = H[support[p], support[q]]
    _cholesky(L)
    _solve(L, x[:m])
    _solve(L, ones)
    total, unit = 0.0, 0.0
    for p in range(m):
        total += x[p]
        unit += ones[p]
    for p in range(m):
        x[p] += (1.0 - total) / unit * ones[p]


@exact_helper
def _restore(H, r, z, inside, support, target):
    """Minimise over the present support, leaving coordinates at zero as they turn negative; z stays
    feasible. `support` and `target` are work space.
    """
    while True:
        m = 0
        for k in range(z.shape[0]):
            if inside[k]:
                support[m] = k
                m += 1
        _equality_solution(H, r, support, m, target)
        step, worst = 1.0, -1
        for p in range(m):
            k = support[p]
            if target[p] <= 0.0:
                t = z[k] / (z[k] - target[p]) if z[k] > target[p] else 0.0
                if t <= step:
                    step, worst = t, p
        for p in range(m):
            z[support[p]] += step * (target[p] - z[support[p]])
        if worst < 0 or m == 1:
            return
        z[support[worst]] = 0.0
        inside[support[worst]] = False


@exact_helper
def _begin(H, r, z, inside):
    """The support of z; where it has none, the best vertex."""
    best, lowest, is_empty = 0, np.inf, True
    for k in range(z.shape[0]):
        inside[k] = z[k] > 0
        is_empty = is_empty and not inside[k]
        if 0.5 * H[k, k] - r[k] < lowest:
            best, lowest = k, 0.5 * H[k, k] - r[k]
    if is_empty:
        inside[best] = True
        for k in range(z.shape[0]):
            z[k] = 1.0 if k == best else 0.0


@nb.njit(cache=True)
def simplex_qp(H, R, Z, tol, max_pivots):
    """min z'Hz/2 - r_i'z on the simplex for every row r_i of R: primal active set (Lawson-Hanson
    with a sum constraint).

    Z: C x h feasible start and result. Returns (pivots, Frank-Wolfe gap g'z - min g >=
    suboptimality) for every row.
    """
    n, h = R.shape
    pivots, gaps = np.zeros(n, np.int64), np.zeros(n)
    inside, support, target = np.empty(h, np.bool_), np.empty(h, np.int64), np.empty(h)
    for i in range(n):
        z, r = Z[i], R[i]
        _begin(H, r, z, inside)
        for pivot in range(max_pivots + 1):
            _restore(H, r, z, inside, support, target)
            best, lowest, product, total = 0, np.inf, 0.0, 0.0
            for k in range(h):
                g = _dot(H[k], z) - r[k]
                if g < lowest:
                    best, lowest = k, g
                product += g * z[k]
                total += z[k]
            gaps[i], pivots[i] = max(product / total - lowest, 0.0), pivot
            if gaps[i] <= tol or inside[best]:
                break
            inside[best] = True
        total = 0.0
        for k in range(h):
            total += z[k]
        for k in range(h):
            z[k] /= total
    return pivots, gaps


@helper
def _sweep_pairs(rows, n, a, z, F, R, curvature, labels, c, b, w_pos, w_neg, scale, squared, keep):
    """Coordinate ascent over the duals of class c for the first n `rows`; lists those not stuck at
    a bound in `keep`.

    Returns (how many are listed, by how much the dual rose).
    """
    kept, gain = 0, 0.0
    for q in range(n):
        j = rows[q]
        positive, omega = pair(labels[j], c, w_pos, w_neg)
        omega *= scale[j]
        ridge = 0.5 / omega if squared and omega > 0 else 0.0
        cap = np.inf if ridge > 0 else omega
        lo, hi = (0.0, cap) if positive else (-cap, 0.0)
        g = (1.0 if positive else -1.0) - _dot(F[j], z) - b - ridge * a[j]
        if (a[j] <= lo and g <= 0) or (a[j] >= hi and g >= 0):
            continue
        keep[kept] = j
        kept += 1
        h = curvature[j] + ridge
        new = min(max(a[j] + g / h, lo), hi) if h > 0 else (hi if g > 0 else lo)
        delta = a.dtype.type(new) - a[j]
        if delta != 0:
            a[j] += delta
            gain += delta * (g - 0.5 * h * delta)
            d, row = z.dtype.type(delta), R[j]
            for l in range(z.shape[0]):
                z[l] += d * row[l]
    return kept, gain


@exact_helper
def _shuffle(rows, n, seed):
    """Shuffle the first n entries, the same way on every machine and thread."""
    state = np.uint64(seed)
    for q in range(n - 1, 0, -1):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        k = np.int64((state >> np.uint64(33)) % np.uint64(q + 1))
        rows[q], rows[k] = rows[k], rows[q]


@helper
def _sweep_bounds(mu, z, Hinv):
    """Coordinate ascent over the multipliers mu >= 0 of z >= 0."""
    for k in range(z.shape[0]):
        if Hinv[k, k] > 0 and (z[k] < 0 or mu[k] > 0):
            new = max(mu[k] - z[k] / Hinv[k, k], 0.0)
            delta = new - mu[k]
            if delta != 0:
                mu[k] = new
                for l in range(z.shape[0]):
                    z[l] += delta * Hinv[k, l]


@nb.njit(cache=True, parallel=True, fastmath=FASTMATH)
def ascend_classes(
    A,
    Mu,
    Z,
    todo,
    F,
    R,
    curvature,
    Hinv,
    labels,
    b,
    w_pos,
    w_neg,
    scale,
    squared,
    nonneg,
    inner,
    seed,
):
    """One full sweep over the N duals of each class in `todo`, then `inner` sweeps over those not
    stuck at a bound.

    A: C x N duals, Mu: C x h multipliers of z >= 0, Z: C x h codes z = z0 + Hinv (F'a + mu); all
    three in place. F = Zt W' (N x h), R = F Hinv, curvature = diag(F Hinv F'). Rows should stand in
    random order: sorted by class it is slow.
    """
    n_rows = F.shape[0]
    for t in nb.prange(todo.size):
        c = todo[t]
        rows, z = np.empty(n_rows, np.int64), np.empty(Z.shape[1], F.dtype)
        for j in range(n_rows):
            rows[j] = j
        for k in range(z.shape[0]):
            z[k] = Z[c, k]
        n, whole = _sweep_pairs(
            rows, n_rows, A[c], z, F, R, curvature, labels, c, b, w_pos, w_neg, scale, squared, rows
        )
        _shuffle(rows, n, seed)
        for _ in range(inner):
            if nonneg:
                _sweep_bounds(Mu[c], z, Hinv)
            n, gain = _sweep_pairs(
                rows, n, A[c], z, F, R, curvature, labels, c, b, w_pos, w_neg, scale, squared, rows
            )
            if gain <= ENOUGH * whole:
                break
        if nonneg:
            _sweep_bounds(Mu[c], z, Hinv)
        for k in range(z.shape[0]):
            Z[c, k] = z[k]
