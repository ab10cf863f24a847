"""The pair loss of J, -log p_W of Eq. (pw): weights by label, values over row blocks, and its
box-constrained dual.

    sum_ij omega_ij [1 - y_ij s_ij]_+        loss = "hinge"
    sum_ij omega_ij [1 - y_ij s_ij]_+^2      loss = "squared_hinge"

Row j has y_ij = +1 at i = y[j] and -1 elsewhere; y[j] = -1 means that row j belongs to none of the
classes. omega_ij = row_scale[j] * (w_pos where y_ij = +1, w_neg elsewhere), so neither Y nor omega
is ever stored. Instead of class numbers y may be an N x C matrix of any signs, int8 or float: 0 is
a pair of unknown label, whose omega is 0, and |y_ij| multiplies omega_ij. Duals are stored with
their sign, a_ij = y_ij alpha_ij, one row an instance.
"""

import numba as nb
import numpy as np
from numba.extending import overload

from unseen.solvers.compiled import FASTMATH, OVERLOAD
from unseen.solvers.labels import is_class, pair

LOSSES = ("hinge", "squared_hinge")
ROWS_PER_CHUNK = 4096


def check_pairs(y, n_rows, n_classes, w_pos, w_neg, row_scale, loss, dtype):
    """Validate labels and weights once; returns (y as int64 or a matrix of signs, row_scale as an
    array, squared flag).
    """
    y = (
        _check_signs(y, n_rows, n_classes, dtype)
        if np.ndim(y) == 2
        else _check_classes(y, n_rows, n_classes)
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


def _check_classes(y, n_rows, n_classes):
    y = np.ascontiguousarray(y, dtype=np.int64)
    if y.shape != (n_rows,):
        raise ValueError(f"labels have shape {y.shape}, expected ({n_rows},)")
    if n_rows and (y.min() < -1 or y.max() >= n_classes):
        raise ValueError(
            f"labels must lie in -1..{n_classes - 1} (-1: no class), got {y.min()}..{y.max()}"
        )
    return y


def _check_signs(y, n_rows, n_classes, dtype):
    y = np.asarray(y)
    y = np.ascontiguousarray(y, dtype=np.int8 if y.dtype == np.int8 else dtype)
    if y.shape != (n_rows, n_classes):
        raise ValueError(f"signs have shape {y.shape}, expected ({n_rows}, {n_classes})")
    if not np.isfinite(y).all():
        raise ValueError("signs must be finite: +1, -1, 0 for unknown, or these times a weight")
    return y


def chunks(n_rows, size=ROWS_PER_CHUNK):
    """Row slices, so that no C x N array of scores ever exists."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@nb.njit(cache=True, fastmath=FASTMATH)
def row_losses(S, y, w_pos, w_neg, scale, squared):
    """sum_i omega_ij loss(y_ij s_ij) for every row j of the score block S (rows x C), in
    float64.
    """
    out = np.zeros(S.shape[0])
    for j in range(S.shape[0]):
        out[j] = _row_loss(S[j], y[j], w_pos, w_neg, squared) * scale[j]
    return out


def _row_loss(s, label, w_pos, w_neg, squared):
    raise NotImplementedError


@overload(_row_loss, jit_options=OVERLOAD)
def _choose_row_loss(s, label, w_pos, w_neg, squared):
    return _row_loss_of_class if is_class(label) else _row_loss_of_signs


def _row_loss_of_class(s, label, w_pos, w_neg, squared):
    zero, one = s.dtype.type(0), s.dtype.type(1)
    total = zero
    for i in range(s.shape[0]):
        m = max(s[i] + one, zero)
        total += m * m if squared else m
    loss = w_neg * total
    if label >= 0:
        m, p = max(s[label] + one, zero), max(one - s[label], zero)
        loss += w_pos * (p * p if squared else p) - w_neg * (m * m if squared else m)
    return loss


def _row_loss_of_signs(s, label, w_pos, w_neg, squared):
    zero, one = s.dtype.type(0), s.dtype.type(1)
    total = 0.0
    for i in range(s.shape[0]):
        positive, omega = pair(label, i, w_pos, w_neg)
        m = max(one - (s[i] if positive else -s[i]), zero)
        total += omega * (m * m if squared else m)
    return total


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
            omega = pair(y[j], i, w_pos, w_neg)[1] * scale[j]
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
            positive, omega = pair(y[j], i, w_pos, w_neg)
            cap = A.dtype.type(omega * scale[j])
            if squared and cap > 0:
                cap = A.dtype.type(np.inf)
            A[j, i] = min(max(A[j, i], 0), cap) if positive else max(min(A[j, i], 0), -cap)


def clip_class_duals(A, y, w_pos, w_neg, scale, squared):
    """`clip_duals` for duals stored class by class (C x N)."""
    clip_duals(A.T, y, w_pos, w_neg, scale, squared)


@nb.njit(cache=True, fastmath=FASTMATH)
def add_class_losses(S, y, w_pos, w_neg, scale, squared, out):
    """out[i] += sum_j omega_ij loss(y_ij s_ij) over the rows j of the score block S (rows x C); out
    is float64.
    """
    for j in range(S.shape[0]):
        _add_losses(S[j], y[j], w_pos * scale[j], w_neg * scale[j], squared, out)


def _add_losses(s, label, w_pos, w_neg, squared, out):
    raise NotImplementedError


@overload(_add_losses, jit_options=OVERLOAD)
def _choose_add_losses(s, label, w_pos, w_neg, squared, out):
    return _add_losses_of_class if is_class(label) else _add_losses_of_signs


def _add_losses_of_class(s, label, w_pos, w_neg, squared, out):
    for i in range(s.shape[0]):
        m = max(s[i] + 1, 0)
        out[i] += w_neg * (m * m if squared else m)
    if label >= 0:
        m, p = max(s[label] + 1, 0), max(1 - s[label], 0)
        out[label] += w_pos * (p * p if squared else p) - w_neg * (m * m if squared else m)


def _add_losses_of_signs(s, label, w_pos, w_neg, squared, out):
    for i in range(s.shape[0]):
        positive, omega = pair(label, i, w_pos, w_neg)
        m = max(1 - (s[i] if positive else -s[i]), 0)
        out[i] += omega * (m * m if squared else m)


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
                omega = pair(y[j], i, w_pos, w_neg)[1] * scale[j]
                if squared and omega > 0:
                    total -= a * a / (4.0 * omega)
        out[i] = total
    return out
