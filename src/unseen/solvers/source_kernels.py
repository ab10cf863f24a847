"""Compiled loops of the source-code block: a primal active-set QP on the simplex, and dual ascent
with N hinges a class.
"""

from __future__ import annotations

import numpy as np

from unseen.solvers.compiled import free_order_kernel, helper, kernel

# Loops rather than array expressions, as in ascent.py. Along rows and without sums, so that those
# that must keep their order fill whole registers too.
ENOUGH = 1e-3


@helper
def _equality_solution(H, r, support, x):
    """argmin z'Hz/2 - r'z over the coordinates in `support`, summing to one (H positive definite
    there), into x; by elimination in U with r and a column of ones beside it.
    """
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


@free_order_kernel
def ascend_classes(
    a, v, J, starts, U, Mu, G, base, curvature, E, offset, bends, squared, nonneg, inner, seed
):
    """One sweep over some duals of each of some classes, then `inner` more over those not stuck at
    a bound.

    The code of a class is z = offset + E u, u = E'(r + F'a + mu): G = F E (n x k), base = F offset
    + b, curvature = |g_j|^2 for rows, E (h x k), offset and bends = |e_k|^2 for the bounds z >= 0.
    a, v, J: duals, y omega and rows, those of class c from starts[c] to starts[c + 1]; U: classes x
    k, Mu: classes x h multipliers of z >= 0; a, U and Mu in place. Rows should stand in random
    order: sorted by class it is slow.
    """
    width = G.shape[1]
    places = np.empty(G.shape[0], np.int64)
    for c in range(U.shape[0]):
        u, mu = U[c], Mu[c]
        n, whole = starts[c + 1] - starts[c], 0.0
        for q in range(n):
            places[q] = starts[c] + q
        for sweep in range(inner + 1):
            kept, gain = 0, 0.0
            for q in range(n):
                j = places[q]
                x = G[J[j]]
                s = base[J[j]]
                for l in range(width):
                    s += x[l] * u[l]
                omega = abs(v[j])
                ridge = 0.5 / omega if squared and omega > 0.0 else 0.0
                cap = np.inf if ridge > 0.0 else omega
                lo, hi = (0.0, cap) if v[j] > 0.0 else (-cap, 0.0)
                g = (1.0 if v[j] > 0.0 else -1.0) - s - ridge * a[j]
                if (a[j] <= lo and g <= 0.0) or (a[j] >= hi and g >= 0.0):
                    continue
                places[kept] = j
                kept += 1
                bend = curvature[J[j]] + ridge
                new = hi if g > 0.0 else lo
                if bend > 0.0:
                    new = min(max(a[j] + g / bend, lo), hi)
                delta = new - a[j]
                if delta != 0.0:
                    a[j] = new
                    gain += delta * (g - 0.5 * bend * delta)
                    for l in range(width):
                        u[l] += delta * x[l]
            n = kept
            if sweep == 0:
                whole = gain
                # The same order on every machine and thread.
                state = np.uint64(seed)
                for q in range(n - 1, 0, -1):
                    state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                    k = np.int64((state >> np.uint64(33)) % np.uint64(q + 1))
                    places[q], places[k] = places[k], places[q]
            if nonneg:
                for k in range(E.shape[0]):
                    x, z = E[k], offset[k]
                    for l in range(width):
                        z += x[l] * u[l]
                    if bends[k] > 0.0 and (z < 0.0 or mu[k] > 0.0):
                        delta = max(mu[k] - z / bends[k], 0.0) - mu[k]
                        mu[k] += delta
                        for l in range(width):
                            u[l] += delta * x[l]
            if sweep > 0 and gain <= ENOUGH * whole:
                break
