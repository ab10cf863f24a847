"""Euclidean projection on the probability simplex, the set of the source codes in Eq. (pb)."""

import numpy as np


def project_simplex(V, total=1.0):
    """argmin_Z |Z - V|^2  s.t.  Z >= 0, rows of Z sum to `total`  (the projection step of Sec.
    "Training", exact).

    V: n x h, projected row by row by sorting (Duchi et al. 2008), O(h log h) a row. Rows are
    shifted by their largest entry first, which changes nothing in exact arithmetic and keeps large
    common offsets from swallowing the digits.
    """
    V = np.asarray(V)
    if V.ndim != 2 or V.shape[1] == 0:
        raise ValueError(f"expected a matrix with at least one column, got shape {V.shape}")
    if not total > 0:
        raise ValueError(f"the simplex needs a positive total, got {total}")
    dtype = V.dtype if V.dtype in (np.float32, np.float64) else np.float64
    shifted = V.astype(np.float64) - V.max(axis=1, keepdims=True)
    ordered = -np.sort(-shifted, axis=1)
    thresholds = (np.cumsum(ordered, axis=1) - total) / np.arange(1, V.shape[1] + 1)
    n_positive = np.count_nonzero(ordered > thresholds, axis=1)
    threshold = np.take_along_axis(thresholds, n_positive[:, None] - 1, axis=1)
    return np.maximum(shifted - threshold, 0.0).astype(dtype)
