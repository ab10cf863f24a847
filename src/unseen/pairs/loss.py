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

from __future__ import annotations

from typing import Any

import numpy as np

LOSSES = ("hinge", "squared_hinge")
ROWS_PER_CHUNK = 1024


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


def chunks(n_rows: int, size: int = ROWS_PER_CHUNK) -> list[slice]:
    """Row slices, so that no C x N array of scores ever exists."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def labels_for(y: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Labels as some of the classes see them: rows of the others belong to none."""
    if len(classes) == n_classes:
        return y
    if y.ndim == 2:
        return y[:, classes]
    place = np.full(n_classes + 1, -1)
    place[classes] = np.arange(len(classes))
    return place[y]


def signed_weights(
    y: np.ndarray, n_classes: int, w_pos: float, w_neg: float, scale: np.ndarray, dtype: Any
) -> np.ndarray:
    """V_ij = y_ij omega_ij of a block of rows (rows x C), in float64 but with the digits of
    `dtype`: a dual stored in it then reaches its bound exactly.
    """
    if y.ndim == 2:
        V = np.where(y > 0, w_pos, w_neg) * y
    else:
        V = np.full((len(y), n_classes), -float(w_neg))
        own = np.flatnonzero(y >= 0)
        V[own, y[own]] = w_pos
    V *= scale[:, None]
    return V if dtype == np.float64 else V.astype(dtype).astype(np.float64)


def class_signed_weights(
    y: np.ndarray, n_classes: int, w_pos: float, w_neg: float, scale: np.ndarray, dtype: Any
) -> np.ndarray:
    """`signed_weights` class by class (C x rows) and in `dtype`."""
    if y.ndim == 2:
        return signed_weights(y, n_classes, w_pos, w_neg, scale, dtype).T.astype(dtype, order="C")
    V = np.empty((n_classes, len(y)), dtype)
    V[:] = -float(w_neg) * scale
    own = np.flatnonzero(y >= 0)
    V[y[own], own] = float(w_pos) * scale[own]
    return V


def _slacks(scores, squared):
    """[1 - y s]_+ (^2) from y s, in place of it."""
    np.subtract(1, scores, out=scores)
    np.maximum(scores, 0, out=scores)
    return np.multiply(scores, scores, out=scores) if squared else scores


def _parts(S, y, w_pos, w_neg, squared):
    """Losses of a block without the scale of its rows, as (L, f, own): f L, and own in addition for
    the pair of each row with its class.
    """
    if y.ndim == 2:
        return _slacks(np.sign(y) * S, squared) * np.abs(np.where(y > 0, w_pos, w_neg) * y), 1, None
    L = _slacks(-S, squared)
    rows, label = np.arange(len(y)), np.maximum(y, 0)
    own = w_pos * _slacks(S[rows, label].astype(np.float64), squared) - w_neg * L[rows, label]
    return L, w_neg, np.where(y >= 0, own, 0.0)


def row_losses(S, y, w_pos, w_neg, scale, squared):
    """sum_i omega_ij loss(y_ij s_ij) for every row j of the score block S (rows x C), in
    float64.
    """
    L, factor, own = _parts(S, y, w_pos, w_neg, squared)
    out = factor * (L @ np.ones(L.shape[1], L.dtype)).astype(np.float64)
    return (out if own is None else out + own) * scale


def add_class_losses(S, y, w_pos, w_neg, scale, squared, out):
    """out[i] += sum_j omega_ij loss(y_ij s_ij) over the rows j of the score block S (rows x C); out
    is float64.
    """
    L, factor, own = _parts(S, y, w_pos, w_neg, squared)
    out += factor * (scale.astype(L.dtype) @ L)
    if own is not None:
        out += np.bincount(np.maximum(y, 0), own * scale, minlength=len(out))


def _bends(A, V):
    """a_ij^2 / (4 omega_ij), 0 where there is no weight."""
    size = 4 * np.abs(V)
    return np.divide(np.square(A, dtype=np.float64), size, out=np.zeros(A.shape), where=size > 0)


def row_dual_terms(A, y, w_pos, w_neg, scale, squared):
    """sum_i alpha_ij (- alpha_ij^2 / (4 omega_ij) for the squared hinge) for every row j, in
    float64.
    """
    out = np.empty(len(A))
    for rows in chunks(len(A)):
        out[rows] = np.abs(A[rows]).sum(axis=1, dtype=np.float64)
        if squared:
            V = signed_weights(y[rows], A.shape[1], w_pos, w_neg, scale[rows], A.dtype)
            out[rows] -= _bends(A[rows], V).sum(axis=1)
    return out


def class_dual_terms(A, y, b, w_pos, w_neg, scale, squared):
    """sum_j alpha_ij - b a_ij (- alpha_ij^2 / (4 omega_ij)) for every class i; A is C x N."""
    out = np.zeros(len(A))
    for rows in chunks(A.shape[1]):
        a = A[:, rows]
        out += np.abs(a).sum(axis=1, dtype=np.float64) - b * a.sum(axis=1, dtype=np.float64)
        if squared:
            V = signed_weights(y[rows], len(A), w_pos, w_neg, scale[rows], A.dtype)
            out -= _bends(a, V.T).sum(axis=1)
    return out


def clip_duals(A, y, w_pos, w_neg, scale, squared):
    """Project warm-start duals, in place, on the box that belongs to the present labels and
    weights.
    """
    for rows in chunks(len(A)):
        V = signed_weights(y[rows], A.shape[1], w_pos, w_neg, scale[rows], A.dtype)
        if squared:
            V[V > 0], V[V < 0] = np.inf, -np.inf
        A[rows] = np.clip(A[rows], np.minimum(V, 0), np.maximum(V, 0))


def clip_class_duals(A, y, w_pos, w_neg, scale, squared):
    """`clip_duals` for duals stored class by class (C x N)."""
    clip_duals(A.T, y, w_pos, w_neg, scale, squared)
