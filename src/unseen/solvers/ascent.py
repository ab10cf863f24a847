"""Dual coordinate ascent, compiled: the loops of the similarity block, of the codes of rows, and of
the codes of classes.

Labels and weights reach the loops as V, V_ij = y_ij ω_ij (`Pairs.signed_omega`); each dual has the
box of Eq. (pw), 0 <= y_i a_i <= ω_i, open above for the squared hinge, whose dual has the term
- a_i² / 4 ω_i instead. The loops have the loss in them, since a step is exact in one coordinate.
"""

from __future__ import annotations

import numpy as np

from unseen.solvers.compiled import free_order_kernel, fused_helper, helper, kernel

ENOUGH = 1e-3


def movable(A: np.ndarray, S: np.ndarray, V: np.ndarray, squared: bool) -> np.ndarray:
    """Where duals A are not held at a bound by their gradient; S holds the scores."""
    g = np.copysign(1, V)
    g -= S
    top = V if not squared else np.where(V == 0, V, np.copysign(np.inf, V))
    free = (np.minimum(top, 0) < A) | (g > 0)
    free &= (np.maximum(top, 0) > A) | (g < 0)
    return free


# Kernels that call each other stay in one file: the cache of numba does not notice a change in
# another. Loops, not array expressions: those take several times as long to compile, most of it for
# the words of errors about shapes.


@fused_helper
def _ascend_row(a, s, v, gram, step, squared, free):
    """One sweep of dual coordinate ascent over the C duals of one row, exact in each coordinate.

        max_a  Σ_i y_i a_i - step a' gram a / 2 [- Σ_i a_i² / 4 ω_i]        0 <= y_i a_i <= ω_i

    `s` holds the scores of the row and follows `a`; `gram` may have more columns than `a` has
    entries (padding). `free` (C bytes) is work space. Returns how many duals moved.
    """
    top = np.inf if squared else 1.0
    for i in range(a.shape[0]):
        lo, hi = (0.0 if v[i] >= 0.0 else top * v[i]), (0.0 if v[i] <= 0.0 else top * v[i])
        g = (1.0 if v[i] > 0.0 else -1.0) - s[i]
        free[i] = not (((a[i] <= lo) & (g <= 0.0)) | ((a[i] >= hi) & (g >= 0.0)))
    moved = 0
    for i in range(a.shape[0]):
        if not free[i]:
            continue
        lo, hi = (0.0 if v[i] >= 0.0 else top * v[i]), (0.0 if v[i] <= 0.0 else top * v[i])
        ridge = 0.5 / abs(v[i]) if squared and v[i] != 0.0 else 0.0
        g = (1.0 if v[i] > 0.0 else -1.0) - s[i] - ridge * a[i]
        curvature = gram[i, i] * step + ridge
        if curvature > 0.0:
            new = min(max(a[i] + g / curvature, lo), hi)
        else:
            new = hi if g > 0.0 else (lo if g < 0.0 else a[i])
        delta = new - a[i]
        if delta != 0.0:
            a[i] = new
            moved += 1
            f, row = delta * step, gram[i]
            for l in range(s.shape[0]):
                s[l] += f * row[l]
    return moved


@helper
def _row_gap(a, s, v, squared):
    """Σ_i ω_i loss(y_i s_i) + loss*(-a_i) >= 0 of one row: its share of the duality gap."""
    total = 0.0
    for i in range(a.shape[0]):
        omega, alpha = abs(v[i]), abs(a[i])
        margin = 1.0 - s[i] if v[i] > 0.0 else 1.0 + s[i]
        slack = max(margin, 0.0)
        if squared:
            quarter = alpha * alpha / (4.0 * omega) if omega > 0.0 else 0.0
            total += omega * slack * slack + quarter - alpha * margin
        else:
            total += omega * slack - alpha * margin
    return total


@fused_helper
def _add_rows(s, weights, E, moved):
    """s += Σ_q weights[q] E[q] over the rows q that moved."""
    for q in range(weights.shape[0]):
        if moved[q]:
            f, e = weights[q], E[q]
            for l in range(s.shape[0]):
                s[l] += f * e[l]


@kernel
def ascend_block(block, gram, lambda_W, squared, sweeps, gaps, work):
    """Sweeps of coordinate ascent over the duals of one block of m rows, Gauss-Seidel within it.

    block: scores S (m x C_pad), the Gram matrix K of its rows, duals A and V (m x C).
    work: E, which on return holds Zs Zs' d_j / λ_W for each row, steps (2 m + 1 x C_pad) and flags
    (3 x the larger of m and C).
    gaps[j] receives the share of row j in the duality gap as it was met.
    """
    S, K, A, V = block
    E, steps, flags = work
    m, n_pad = S.shape
    before, free = steps[2 * m], flags[2]
    for r in range(m):
        flags[0, r] = flags[1, r] = False
        for l in range(n_pad):
            E[r, l] = 0.0
    for sweep in range(sweeps):
        n_moved = 0
        now, old = flags[sweep % 2], flags[1 - sweep % 2]
        fresh, stale = steps[sweep % 2 * m :], steps[(1 - sweep % 2) * m :]
        for r in range(m):
            s, e = S[r], fresh[r]
            _add_rows(s, K[r, :r], fresh, now)
            _add_rows(s, K[r, r + 1 :], stale[r + 1 :], old[r + 1 :])
            for l in range(n_pad):
                before[l] = s[l]
            if sweep == 0:
                gaps[r] = _row_gap(A[r], s, V[r], squared)
            moved = _ascend_row(A[r], s, V[r], gram, K[r, r] / lambda_W, squared, free)
            now[r] = moved > 0
            n_moved += moved
            inverse = 1.0 / K[r, r] if K[r, r] > 0.0 else 0.0
            if moved > 0:
                for l in range(n_pad):
                    e[l] = (s[l] - before[l]) * inverse
                    E[r, l] += e[l]
        if n_moved == 0:
            break


@kernel
def ascend_each_row(rows, gram, squared, tol, max_sweeps, found, work):
    """Independent rows, each a box QP in its C duals with one shared Gram matrix: the dual of the
    Zt block of J.

        max_a  Σ_i y_i a_i - a's0 - a' gram a / 2,   0 <= y_i a_i <= ω_i,   s0: scores without the
        loss

    rows: duals A (n x C, start and result), scores s0 (n x C, not changed) and V. A row stops when
    its gap is below tol times its primal value. found, for every row: sweeps, duality gap and dual
    value. work: s (C_pad) and free (C).
    """
    A, S, V = rows
    n_sweeps, gaps, values = found
    s, free = work
    n_rows, n_classes = A.shape
    for j in range(n_rows):
        a, s0, v = A[j], S[j], V[j]
        for l in range(s.shape[0]):
            s[l] = s0[l] if l < n_classes else 0.0
        for i in range(n_classes):
            if a[i] != 0.0:
                f, row = a[i], gram[i]
                for l in range(s.shape[0]):
                    s[l] += f * row[l]
        n_sweeps[j] = 0
        while n_sweeps[j] < max_sweeps:
            moved = _ascend_row(a, s, v, gram, 1.0, squared, free)
            n_sweeps[j] += 1
            gaps[j], values[j] = _row_gap(a, s, v, squared), 0.0
            for i in range(n_classes):
                if a[i] != 0.0:
                    bend = a[i] / (4.0 * abs(v[i])) if squared else 0.0
                    values[j] += a[i] * (
                        (1.0 if v[i] > 0.0 else -1.0) - 0.5 * (s0[i] + s[i]) - bend
                    )
            if moved == 0 or gaps[j] <= 0.5 * tol * (gaps[j] + values[j]):
                break


@free_order_kernel
def ascend_classes(duals, codes, rows, fit, squared, nonneg, inner, seed):
    """One sweep over some duals of each of some classes, then `inner` more over those not stuck at
    a bound: the dual of the Zs block of J.

    The code of a class is z = offset + E u, u = E'(r + F'a + μ).

    duals: a, V and their rows J, those of class c from starts[c] to starts[c + 1].
    codes: U (classes x k) and Mu (classes x h), the multipliers of z >= 0.
    rows: G = F E (n x k), base = F offset + b and curvature = |g_j|².
    fit: E (h x k), offset and bends = |e_k|², for the bounds z >= 0, which hold if `nonneg`.

    a, U and Mu change in place.
    """
    a, v, J, starts = duals
    U, Mu = codes
    G, base, curvature = rows
    E, offset, bends = fit
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
