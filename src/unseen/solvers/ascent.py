"""Compiled dual ascent for the similarity block: one epoch over a set of rows, W seen only through
P = (Zs W)'.

The scores of row j are z_j'P + b. Changing its duals by d_j adds (Zs Zs' d_j / lambda_W) z_j' to Zs
W, and the vector in brackets is what the scores of the row moved by, divided by |z_j|^2: so neither
Zs nor W is needed inside an epoch. Rows are taken in blocks: the block's scores are one matrix
product, rows of a block see each other through their Gram matrix, and P is updated by one more
product. One thread: two threads on rows of their own with P merged between rounds need steps half
as long to be safe (CoCoA+), which costs as many epochs as it saves time.
"""

import numba as nb
import numpy as np
from numba.extending import overload

from unseen.solvers.compiled import FASTMATH, OVERLOAD, helper
from unseen.solvers.labels import is_class, pair

# Kernels that call each other stay in one file: the cache of numba does not notice a change in
# another. Loops, not array expressions: those take several times as long to compile, most of it for
# the words of errors about shapes.


def _box(label, i, cap_pos, cap_neg, ridge_pos, ridge_neg):
    """(whether y_i = +1, bound of dual i, its ridge) from those of a pair of weight one."""
    box = _box_of_class if np.ndim(label) == 0 else _box_of_signs
    return box(label, i, cap_pos, cap_neg, ridge_pos, ridge_neg)


@overload(_box, jit_options=OVERLOAD)
def _choose_box(label, i, cap_pos, cap_neg, ridge_pos, ridge_neg):
    return _box_of_class if is_class(label) else _box_of_signs


def _box_of_class(label, i, cap_pos, cap_neg, ridge_pos, ridge_neg):
    own = i == label
    return own, (cap_pos if own else cap_neg), (ridge_pos if own else ridge_neg)


def _box_of_signs(label, i, cap_pos, cap_neg, ridge_pos, ridge_neg):
    positive, size = label[i] > 0, np.float64(abs(label[i]))
    if size == 0:  # unknown: no room, not the infinite one of a squared hinge times zero
        return positive, 0.0, 0.0
    return (
        positive,
        size * (cap_pos if positive else cap_neg),
        (ridge_pos if positive else ridge_neg) / size,
    )


def _screen(a, s, label, cap_pos, cap_neg, free):
    """free[i] = 0 where dual i sits at a bound and its gradient keeps it there (branch-free, so it
    vectorises).
    """
    raise NotImplementedError


@overload(_screen, jit_options=OVERLOAD)
def _choose_screen(a, s, label, cap_pos, cap_neg, free):
    return _screen_class if is_class(label) else _screen_signs


def _screen_class(a, s, label, cap_pos, cap_neg, free):
    one, zero = s.dtype.type(1), s.dtype.type(0)
    for i in range(a.shape[0]):
        free[i] = not (((a[i] >= zero) & (s[i] <= -one)) | ((a[i] <= -cap_neg) & (s[i] >= -one)))
    if label >= 0:
        free[label] = not (
            (a[label] <= zero and s[label] >= one) or (a[label] >= cap_pos and s[label] <= one)
        )


def _screen_signs(a, s, label, cap_pos, cap_neg, free):
    one, zero = s.dtype.type(1), s.dtype.type(0)
    for i in range(a.shape[0]):
        positive, cap, _ = _box(label, i, cap_pos, cap_neg, zero, zero)
        alpha, margin = (a[i], s[i]) if positive else (-a[i], -s[i])
        free[i] = not (((alpha <= zero) & (margin >= one)) | ((alpha >= cap) & (margin <= one)))


@helper
def ascend_row(a, s, label, gram, step, const, w_pos, w_neg, squared, free):
    """One sweep of dual coordinate ascent over the C duals of one row, exact in each coordinate.

        max_a  sum_i y_i a_i - a'(step * gram + const) a / 2 [- sum_i a_i^2 / (4 omega_i)]   0 <=
        y_i a_i <= omega_i

    `s` holds the scores of the row and follows `a`; `gram` may have more columns than `a` has
    entries (padding). `free` (C bytes) is work space. Returns the number of duals that moved.
    """
    dtype = s.dtype.type
    zero, one, step, const = dtype(0), dtype(1), dtype(step), dtype(const)
    ridge_pos = dtype(0.5 / w_pos) if squared and w_pos > 0 else zero
    ridge_neg = dtype(0.5 / w_neg) if squared and w_neg > 0 else zero
    cap_pos = dtype(np.inf) if ridge_pos > zero else dtype(w_pos)
    cap_neg = dtype(np.inf) if ridge_neg > zero else dtype(w_neg)
    _screen(a, s, label, cap_pos, cap_neg, free)
    moved = 0
    for i in range(a.shape[0]):
        if not free[i]:
            continue
        positive, cap, ridge = _box(label, i, cap_pos, cap_neg, ridge_pos, ridge_neg)
        cap, ridge = dtype(cap), dtype(ridge)
        lo, hi = (zero, cap) if positive else (-cap, zero)
        g = (one if positive else -one) - s[i] - ridge * a[i]
        curvature = gram[i, i] * step + const + ridge
        if curvature > zero:
            new = min(max(a[i] + g / curvature, lo), hi)
        else:
            new = hi if g > zero else (lo if g < zero else a[i])
        delta = new - a[i]
        if delta != zero:
            a[i] = new
            moved += 1
            f, shift, row = delta * step, delta * const, gram[i]
            for l in range(s.shape[0]):
                s[l] += f * row[l] + shift
    return moved


@helper
def _fenchel_young(alpha, margin, omega, squared):
    """omega loss + conjugate - alpha * margin of one pair, where margin = 1 - y s and 0 <= alpha
    (<= omega).
    """
    m = max(margin, 0 * margin)
    if squared:
        quarter = alpha * alpha / (4 * omega) if omega > 0 else 0 * alpha
        return omega * m * m + quarter - alpha * margin
    return omega * m - alpha * margin


def row_gap(a, s, label, w_pos, w_neg, squared):
    """Fenchel-Young gap of one row, sum_i omega_i loss(y_i s_i) + loss*(-a_i): its share of the
    duality gap, >= 0.
    """
    raise NotImplementedError


@overload(row_gap, jit_options=OVERLOAD)
def _choose_row_gap(a, s, label, w_pos, w_neg, squared):
    return _row_gap_of_class if is_class(label) else _row_gap_of_signs


def _row_gap_of_signs(a, s, label, w_pos, w_neg, squared):
    dtype = s.dtype.type
    one, total = dtype(1), dtype(0)
    for i in range(a.shape[0]):
        positive, omega = pair(label, i, w_pos, w_neg)
        alpha, margin = (a[i], one - s[i]) if positive else (-a[i], one + s[i])
        total += _fenchel_young(alpha, margin, dtype(omega), squared)
    return np.float64(total)


def _row_gap_of_class(a, s, label, w_pos, w_neg, squared):
    dtype = s.dtype.type
    wp, wn, one = dtype(w_pos), dtype(w_neg), dtype(1)
    total = dtype(0)
    for i in range(a.shape[0]):
        total += _fenchel_young(-a[i], one + s[i], wn, squared)
    if label >= 0:
        total += _fenchel_young(a[label], one - s[label], wp, squared)
        total -= _fenchel_young(-a[label], one + s[label], wn, squared)
    return np.float64(total)


@nb.njit(cache=True, fastmath=FASTMATH)
def all_row_gaps(A, S, y, w_pos, w_neg, scale, squared, out):
    """`row_gap` for every row of a block, into `out`."""
    for j in range(A.shape[0]):
        out[j] = row_gap(A[j], S[j], y[j], w_pos * scale[j], w_neg * scale[j], squared)


@helper
def _add_rows(s, weights, E, moved, start, stop):
    """s += sum_q weights[q] E[q] over the rows q of the block that moved."""
    for q in range(start, stop):
        if moved[q]:
            f, e = weights[q], E[q]
            for l in range(s.shape[0]):
                s[l] += f * e[l]


@helper
def _step_row(a, s, label, gram, k, lam, const, w_pos, w_neg, squared, free, start, e):
    """Ascend one row; e = Zs Zs' d / lambda_W for its change d of duals. Returns (sum of d, whether
    it moved).
    """
    dtype = s.dtype.type
    for l in range(s.shape[0]):
        start[l] = s[l]
    before = a.sum() if const > 0 else dtype(0)
    if ascend_row(a, s, label, gram, k / lam, const, w_pos, w_neg, squared, free) == 0:
        return 0.0, False
    change = a.sum() - before if const > 0 else dtype(0)
    inverse = dtype(1) / k if k > 0 else dtype(0)
    shift = dtype(const) * change
    for l in range(s.shape[0]):
        e[l] = (s[l] - start[l] - shift) * inverse
    return np.float64(change), True


@helper
def _ascend_block(
    rows, y, w_pos, w_neg, scale, squared, A, gram, lam, const, S, K, E, sweeps, gaps
):
    """Sweeps of coordinate ascent over the duals of one block of rows, Gauss-Seidel within the
    block.

    S: scores of the block, K: Gram matrix of its rows. On return E holds Zs Zs' d_j / lambda_W for
    each row, gaps[j] the share of row j in the duality gap as it was met. Returns the change of sum
    a.
    """
    m, n_pad = S.shape
    total = 0.0
    seen = np.zeros(m)
    now, before = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    fresh, old = np.zeros((m, n_pad), S.dtype), np.zeros((m, n_pad), S.dtype)
    start, free = np.empty(n_pad, S.dtype), np.empty(A.shape[1], np.bool_)
    for sweep in range(sweeps):
        n_moved = 0
        for r in range(m):
            j, s = rows[r], S[r]
            wp, wn = w_pos * scale[j], w_neg * scale[j]
            _add_rows(s, K[r], fresh, now, 0, r)
            _add_rows(s, K[r], old, before, r + 1, m)
            if const > 0:
                shift = s.dtype.type(const * (total - seen[r]))
                for l in range(n_pad):
                    s[l] += shift
            if sweep == 0:
                gaps[j] = row_gap(A[j], s, y[j], wp, wn, squared)
            change, now[r] = _step_row(
                A[j], s, y[j], gram, K[r, r], lam, const, wp, wn, squared, free, start, fresh[r]
            )
            total += change
            seen[r] = total
            if now[r]:
                n_moved += 1
                for l in range(n_pad):
                    E[r, l] += fresh[r, l]
        if n_moved == 0:
            break
        fresh, old = old, fresh
        now, before = before, now
    return total


@nb.njit(cache=True, nogil=True, fastmath=FASTMATH)
def ascend_rows(
    Z, y, order, A, P, b, gram, lam, kappa_sq, w_pos, w_neg, scale, squared, size, sweeps, gaps
):
    """One epoch of dual coordinate ascent on the W block of J over the rows in `order`, given P and
    b.

        max_a  sum_ij y_ij a_ij - lambda_W/2 |W|^2 - lambda_W/2 (b/kappa)^2,   W = Zs' a Zt /
        lambda_W, b = kappa^2 sum_ij a_ij / lambda_W,   0 <= y_ij a_ij <= omega_ij        (the dual
        of Eq. (pw))

    Z: rows x h_t, A: rows x C duals (in place), P: h_t x C_pad = (Zs W)' (in place), gram: C x
    C_pad = Zs Zs'. kappa_sq = 0 keeps b fixed. gaps[j] receives the share of row j in the duality
    gap as it was met. Works on any block of rows, so a memory-mapped Z is driven block by block.
    Returns b.
    """
    h, n_pad = P.shape
    dtype = Z.dtype.type
    zb, S = np.empty((size, h), Z.dtype), np.empty((size, n_pad), Z.dtype)
    E, dP = np.empty((size, n_pad), Z.dtype), np.empty((h, n_pad), Z.dtype)
    for first in range(0, order.size, size):
        rows = order[first : first + size]
        m = rows.size
        z, s, e = zb[:m], S[:m], E[:m]
        for r in range(m):
            for l in range(h):
                z[r, l] = Z[rows[r], l]
        np.dot(z, P, s)
        shift = dtype(b)
        for r in range(m):
            for l in range(n_pad):
                s[r, l] += shift
                e[r, l] = 0
        K = np.dot(z, z.T)
        total = _ascend_block(
            rows,
            y,
            w_pos,
            w_neg,
            scale,
            squared,
            A,
            gram,
            lam,
            kappa_sq / lam,
            s,
            K,
            e,
            sweeps,
            gaps,
        )
        np.dot(z.T, e, dP)
        for k in range(h):
            for l in range(n_pad):
                P[k, l] += dP[k, l]
        b += kappa_sq / lam * total
    return b


@nb.njit(cache=True, parallel=True, fastmath=FASTMATH)
def ascend_each_row(A, S, y, gram, w_pos, w_neg, scale, squared, tol, max_sweeps):
    """Independent rows, each a box QP in its C duals with one shared Gram matrix: the dual of the
    Zt block of J.

        max_a  sum_i y_i a_i - a's0 - a' gram a / 2,   0 <= y_i a_i <= omega_i          s0: scores
        without the loss

    A: rows x C start and result, S: rows x C scores s0 (not changed). A row stops when its gap is
    below tol times its primal value. Returns (sweeps, dual value) for every row.
    """
    n_rows, n_classes = A.shape
    n_sweeps, values = np.zeros(n_rows, np.int64), np.zeros(n_rows)
    for j in nb.prange(n_rows):
        a, wp, wn = A[j], w_pos * scale[j], w_neg * scale[j]
        s, free = np.zeros(gram.shape[1], S.dtype), np.empty(n_classes, np.bool_)
        for i in range(n_classes):
            s[i] = S[j, i]
        for i in range(n_classes):
            if a[i] != 0:
                for l in range(s.shape[0]):
                    s[l] += a[i] * gram[i, l]
        for sweep in range(max_sweeps):
            moved = ascend_row(a, s, y[j], gram, 1.0, 0.0, wp, wn, squared, free)
            n_sweeps[j] = sweep + 1
            if moved == 0:
                break
            quad = 0.0
            for i in range(n_classes):
                quad += np.float64(a[i]) * (s[i] - S[j, i])
            gap = row_gap(a, s, y[j], wp, wn, squared)
            if gap <= 0.5 * tol * (gap + _linear_part(a, S[j], y[j], wp, wn, squared) - 0.5 * quad):
                break
        quad = 0.0
        for i in range(n_classes):
            if a[i] != 0:
                product = 0.0
                for l in range(n_classes):
                    product += np.float64(gram[i, l]) * a[l]
                quad += a[i] * product
        values[j] = _linear_part(a, S[j], y[j], wp, wn, squared) - 0.5 * quad
    return n_sweeps, values


@helper
def _linear_part(a, s0, label, w_pos, w_neg, squared):
    """sum_i a_i (y_i - s0_i) [- a_i^2 / (4 omega_i)], in float64."""
    total = 0.0
    for i in range(a.shape[0]):
        positive, omega = pair(label, i, w_pos, w_neg)
        total += np.float64(a[i]) * ((1.0 if positive else -1.0) - s0[i])
        if squared and omega > 0:
            total -= np.float64(a[i]) * a[i] / (4.0 * omega)
    return total
