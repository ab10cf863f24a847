"""Dual ascent for the similarity block, W seen only through P = (Zs W)', and for the codes of rows.

The scores of row j are z_j'P + b. Changing its duals by d_j adds (Zs Zs' d_j / lambda_W) z_j' to Zs
W, and the vector in brackets is what the scores of the row moved by, divided by |z_j|^2: so neither
Zs nor W is needed inside an epoch. Rows are taken in blocks: the block's scores are one matrix
product, rows of a block see each other through their Gram matrix, and P is updated by one more
product. One thread: two threads on rows of their own with P merged between rounds need steps half
as long to be safe (CoCoA+), which costs as many epochs as it saves time.

Labels and weights reach the loops as V, V_ij = y_ij omega_ij (`hinge.signed_weights`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from unseen.pairs.loss import chunks, signed_weights
from unseen.solvers.compiled import fused_helper, helper, kernel

BLOCKS_PER_CHUNK = 64

# Kernels that call each other stay in one file: the cache of numba does not notice a change in
# another. Loops, not array expressions: those take several times as long to compile, most of it for
# the words of errors about shapes.


@fused_helper
def _ascend_row(a, s, v, gram, step, const, squared, free):
    """One sweep of dual coordinate ascent over the C duals of one row, exact in each coordinate.

        max_a  sum_i y_i a_i - a'(step * gram + const) a / 2 [- sum_i a_i^2 / (4 omega_i)]   0 <=
        y_i a_i <= omega_i

    `s` holds the scores of the row and follows `a`, but for `const` times the change of its sum;
    `gram` may have more columns than `a` has entries (padding). `free` (C bytes) is work space.
    Returns how many duals moved, and by how much in sum.
    """
    top = np.inf if squared else 1.0
    for i in range(a.shape[0]):
        lo, hi = (0.0 if v[i] >= 0.0 else top * v[i]), (0.0 if v[i] <= 0.0 else top * v[i])
        g = (1.0 if v[i] > 0.0 else -1.0) - s[i]
        free[i] = not (((a[i] <= lo) & (g <= 0.0)) | ((a[i] >= hi) & (g >= 0.0)))
    moved, change = 0, 0.0
    for i in range(a.shape[0]):
        if not free[i]:
            continue
        lo, hi = (0.0 if v[i] >= 0.0 else top * v[i]), (0.0 if v[i] <= 0.0 else top * v[i])
        ridge = 0.5 / abs(v[i]) if squared and v[i] != 0.0 else 0.0
        g = (1.0 if v[i] > 0.0 else -1.0) - s[i] - const * change - ridge * a[i]
        curvature = gram[i, i] * step + const + ridge
        if curvature > 0.0:
            new = min(max(a[i] + g / curvature, lo), hi)
        else:
            new = hi if g > 0.0 else (lo if g < 0.0 else a[i])
        delta = new - a[i]
        if delta != 0.0:
            a[i] = new
            moved += 1
            change += delta
            f, row = delta * step, gram[i]
            for l in range(s.shape[0]):
                s[l] += f * row[l]
    return moved, change


@helper
def _row_gap(a, s, v, squared):
    """Fenchel-Young gap of one row, sum_i omega_i loss(y_i s_i) + loss*(-a_i): its share of the
    duality gap, >= 0.
    """
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
    """s += sum_q weights[q] E[q] over the rows q that moved."""
    for q in range(weights.shape[0]):
        if moved[q]:
            f, e = weights[q], E[q]
            for l in range(s.shape[0]):
                s[l] += f * e[l]


@kernel
def _ascend_block(S, K, A, V, gram, lam, const, squared, sweeps, gaps, E, steps, flags, seen):
    """Sweeps of coordinate ascent over the duals of one block of rows, Gauss-Seidel within the
    block.

    S: scores of the block, K: Gram matrix of its rows. On return E holds Zs Zs' d_j / lambda_W for
    each row, gaps[j] the share of row j in the duality gap as it was met. Work space: steps (2 m +
    1 x C_pad), flags (3 x the larger of m and C), seen (m). Returns the change of sum a.
    """
    m, n_pad = S.shape
    total = 0.0
    before, free = steps[2 * m], flags[2]
    for r in range(m):
        seen[r] = 0.0
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
            shift = const * (total - seen[r])
            for l in range(n_pad):
                s[l] += shift
                before[l] = s[l]
            if sweep == 0:
                gaps[r] = _row_gap(A[r], s, V[r], squared)
            moved, change = _ascend_row(A[r], s, V[r], gram, K[r, r] / lam, const, squared, free)
            now[r] = moved > 0
            n_moved += moved
            total += change
            seen[r] = total
            inverse, shift = (1.0 / K[r, r] if K[r, r] > 0.0 else 0.0), const * change
            if moved > 0:
                for l in range(n_pad):
                    e[l] = (s[l] - before[l]) * inverse
                    E[r, l] += e[l]
                    s[l] += shift
        if n_moved == 0:
            break
    return total


def ascend_rows(
    Z, y, order, A, P, b, gram, lam, kappa_sq, w_pos, w_neg, scale, squared, size, sweeps, gaps
):
    """One epoch of dual coordinate ascent on the W block of J over the rows in `order`, given P and
    b.

        max_a  sum_ij y_ij a_ij - lambda_W/2 |W|^2 - lambda_W/2 (b/kappa)^2,   W = Zs' a Zt /
        lambda_W, b = kappa^2 sum_ij a_ij / lambda_W,   0 <= y_ij a_ij <= omega_ij        (the dual
        of Eq. (pw))

    Z: rows x h_t, A: rows x C duals (in place), P: h_t x C_pad = (Zs W)' (in place, of the type of
    Z), gram: C x C_pad = Zs Zs' in float64. kappa_sq = 0 keeps b fixed. gaps[j] receives the share
    of row j in the duality gap as it was met. Works on any block of rows, so a memory-mapped Z is
    driven block by block. Returns b.
    """
    gemm: Any = get_blas_funcs("gemm", dtype=P.dtype)
    const, n_classes, E = float(kappa_sq) / lam, A.shape[1], np.empty((size, P.shape[1]))
    flags = np.empty((3, max(size, n_classes)), np.bool_)
    space = np.empty((2 * size + 1, P.shape[1])), flags, np.empty(size)
    for part in chunks(len(order), size * BLOCKS_PER_CHUNK):
        rows = order[part]
        codes, duals, met = Z[rows], A[rows].astype(np.float64), np.empty(len(rows))
        V = signed_weights(y[rows], n_classes, w_pos, w_neg, scale[rows], A.dtype)
        for block in chunks(len(rows), size):
            z = codes[block]
            S = (z @ P).astype(np.float64)
            S += b
            K, e = (z @ z.T).astype(np.float64), E[: len(z)]
            total = _ascend_block(
                S,
                K,
                duals[block],
                V[block],
                gram,
                lam,
                const,
                squared,
                sweeps,
                met[block],
                e,
                *space,
            )
            # P += z'e in place; BLAS reads rows as columns.
            gemm(1.0, e.T.astype(P.dtype, copy=False), z.T, 1.0, P.T, 0, 1, 1)
            b += const * total
        A[rows], gaps[rows] = duals, met
    return b


@kernel
def ascend_each_row(A, S, V, gram, squared, tol, max_sweeps, n_sweeps, gaps, values, s, free):
    """Independent rows, each a box QP in its C duals with one shared Gram matrix: the dual of the
    Zt block of J.

        max_a  sum_i y_i a_i - a's0 - a' gram a / 2,   0 <= y_i a_i <= omega_i          s0: scores
        without the loss

    A: rows x C start and result, S: rows x C scores s0 (not changed). A row stops when its gap is
    below tol times its primal value. Out, for every row: sweeps, duality gap and dual value. Work
    space: s (C_pad), free (C).
    """
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
            moved = _ascend_row(a, s, v, gram, 1.0, 0.0, squared, free)[0]
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
