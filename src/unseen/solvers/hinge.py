"""The pair loss of J, -log p_W of Eq. (pw): weights by class label, values over row blocks, and its
box-constrained dual.

    sum_ij omega_ij [1 - y_ij s_ij]_+        loss = "hinge"
    sum_ij omega_ij [1 - y_ij s_ij]_+^2      loss = "squared_hinge"

Row j has y_ij = +1 at i = y[j] and -1 elsewhere; y[j] = -1 means that row j belongs to none of the
classes. omega_ij = row_scale[j] * (w_pos where y_ij = +1, w_neg elsewhere), so neither Y nor omega
is ever stored. Duals are stored with their sign, a_ij = y_ij alpha_ij, one row an instance.
"""

import numba as nb
import numpy as np

# No "nnan"/"ninf": a NaN in the data must stay visible.
FASTMATH = {"reassoc", "contract", "nsz"}
LOSSES = ("hinge", "squared_hinge")
ROWS_PER_CHUNK = 4096


def check_pairs(y, n_rows, n_classes, w_pos, w_neg, row_scale, loss, dtype):
    """Validate labels and weights once; returns (y as int64, row_scale as an array, squared
    flag).
    """
    y = np.ascontiguousarray(y, dtype=np.int64)
    if y.shape != (n_rows,):
        raise ValueError(f"labels have shape {y.shape}, expected ({n_rows},)")
    if n_rows and (y.min() < -1 or y.max() >= n_classes):
        raise ValueError(
            f"labels must lie in -1..{n_classes - 1} (-1: no class), got {y.min()}..{y.max()}"
        )
    if loss not in LOSSES:
        raise ValueError(f"loss is one of {LOSSES}, not {loss!r}")
    if min(w_pos, w_neg) < 0:
        raise ValueError(f"pair weights must not be negative, got w_pos={w_pos}, w_neg={w_neg}")
    scale = (
        np.ones(n_rows, dtype)
        if row_scale is None
        else np.ascontiguousarray(row_scale, dtype=dtype)
    )
    if scale.shape != (n_rows,) or (n_rows and scale.min() < 0):
        raise ValueError(f"row_scale must hold {n_rows} weights >= 0")
    return y, scale, loss == "squared_hinge"


def chunks(n_rows, size=ROWS_PER_CHUNK):
    """Row slices, so that no C x N array of scores ever exists."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@nb.njit(cache=True, fastmath=FASTMATH)
def row_losses(S, y, w_pos, w_neg, scale, squared):
    """sum_i omega_ij loss(y_ij s_ij) for every row j of the score block S (rows x C), in
    float64.
    """
    n_rows, n_classes = S.shape
    zero, one = S.dtype.type(0), S.dtype.type(1)
    out = np.zeros(n_rows)
    for j in range(n_rows):
        s, total = S[j], zero
        for i in range(n_classes):
            m = max(s[i] + one, zero)
            total += m * m if squared else m
        out[j] = w_neg * total
        if y[j] >= 0:
            m, p = max(s[y[j]] + one, zero), max(one - s[y[j]], zero)
            out[j] += w_pos * (p * p if squared else p) - w_neg * (m * m if squared else m)
        out[j] *= scale[j]
    return out


@nb.njit(cache=True, fastmath=FASTMATH)
def row_dual_terms(A, y, w_pos, w_neg, scale, squared):
    """sum_i alpha_ij (- alpha_ij^2 / (4 omega_ij) for the squared hinge) for every row j, in
    float64.
    """
    n_rows, n_classes = A.shape
    out = np.zeros(n_rows)
    for j in range(n_rows):
        total = 0.0
        for i in range(n_classes):
            alpha = abs(np.float64(A[j, i]))
            total += alpha
            omega = (w_pos if i == y[j] else w_neg) * scale[j]
            if squared and omega > 0:
                total -= alpha * alpha / (4.0 * omega)
        out[j] = total
    return out


@nb.njit(cache=True)
def clip_duals(A, y, w_pos, w_neg, scale, squared):
    """Project warm-start duals, in place, on the box that belongs to the present labels and
    weights.
    """
    for j in range(A.shape[0]):
        for i in range(A.shape[1]):
            own = i == y[j]
            cap = A.dtype.type((w_pos if own else w_neg) * scale[j])
            if squared and cap > 0:
                cap = A.dtype.type(np.inf)
            A[j, i] = min(max(A[j, i], 0), cap) if own else max(min(A[j, i], 0), -cap)


def clip_class_duals(A, y, w_pos, w_neg, scale, squared):
    """`clip_duals` for duals stored class by class (C x N)."""
    clip_duals(A.T, y, w_pos, w_neg, scale, squared)


@nb.njit(cache=True, fastmath=FASTMATH)
def add_class_losses(S, y, w_pos, w_neg, scale, squared, out):
    """out[i] += sum_j omega_ij loss(y_ij s_ij) over the rows j of the score block S (rows x C); out
    is float64.
    """
    for j in range(S.shape[0]):
        wn = w_neg * scale[j]
        for i in range(S.shape[1]):
            m = max(S[j, i] + 1, 0)
            out[i] += wn * (m * m if squared else m)
        c = y[j]
        if c >= 0:
            m, p = max(S[j, c] + 1, 0), max(1 - S[j, c], 0)
            out[c] += w_pos * scale[j] * (p * p if squared else p) - wn * (m * m if squared else m)


@nb.njit(cache=True)
def class_dual_terms(A, y, b, w_pos, w_neg, scale, squared):
    """sum_j alpha_ij - b a_ij (- alpha_ij^2 / (4 omega_ij)) for every class i; A is C x N."""
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            a = np.float64(A[i, j])
            if a != 0:
                total += abs(a) - b * a
                omega = (w_pos if i == y[j] else w_neg) * scale[j]
                if squared and omega > 0:
                    total -= a * a / (4.0 * omega)
        out[i] = total
    return out
