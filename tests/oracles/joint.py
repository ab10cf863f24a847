"""The joint objective J, term by term over every pair, in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Parts(NamedTuple):
    source: float
    target: float
    pairs: float
    penalty: float


def loss_of(margin: float, loss: str) -> float:
    slack = max(0.0, 1.0 - margin)
    return slack * slack if loss == "squared_hinge" else slack


def objective(S: Any, X: Any, pairs: Any, codes: Any, lambdas: Any) -> Parts:
    """J of scaled descriptions S (C x d_s) and scaled rows X (N x d_t), by a loop over pairs."""
    Zs, Zt, B, D, W = (np.asarray(a, dtype=np.float64) for a in codes)
    S, X, w, labels = np.asarray(S, np.float64), np.asarray(X, np.float64), lambdas, pairs.labels
    source = sum(
        0.5 * w.source_shrink * z @ z + 0.5 * w.source_fit * np.sum((x - B @ z) ** 2)
        for x, z in zip(S, Zs, strict=True)
    ) / len(S)
    target = sum(
        0.5 * w.target_shrink * z @ z + 0.5 * w.target_fit * np.sum((x - D @ z) ** 2)
        for x, z in zip(X, Zt, strict=True)
    ) / len(X)
    total = 0.0
    for i, zi in enumerate(Zs):
        for j, zj in enumerate(Zt):
            sign = labels[j][i] if np.ndim(labels) == 2 else (1 if labels[j] == i else -1)
            own = sign > 0
            score = zi @ W @ zj
            omega = (pairs.omega.positive if own else pairs.omega.negative) * abs(float(sign))
            total += omega * loss_of(score if own else -score, pairs.loss)
    penalty = 0.5 * w.similarity * np.sum(W**2)
    return Parts(float(source), float(target), float(total), float(penalty))


def scaled_rows(X: Any, scaling: Any) -> np.ndarray:
    """[(x / |x| - mean) / scale, constant], written out."""
    X = np.asarray(X, dtype=np.float64)
    if scaling.unit_length:
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        X = X / np.where(lengths > 0, lengths, 1)
    if scaling.mean is not None:
        X = X - np.asarray(scaling.mean, dtype=np.float64)
    X = X / scaling.scale
    return np.hstack([X, np.full((len(X), 1), scaling.constant)]) if scaling.constant else X
