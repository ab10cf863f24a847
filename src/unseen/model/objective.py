"""The joint objective J that training minimises, and its parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.model.terms import minus_log_p_B, pair_loss
from unseen.pairs.weights import PairWeights
from unseen.rows.blocks import row_blocks
from unseen.rows.scaling import sum_of_squares


class Weights(NamedTuple):
    """λ1s, λ2s, λ1t, λ2t, λ_W and ω: what stays fixed while J is minimised.

    `bias_scale` κ > 0 lets the scalar b be learned, at the price λ_W/2 (b/κ)²; 0 keeps b at 0.
    """

    source_shrink: float
    source_fit: float
    target_shrink: float
    target_fit: float
    similarity: float
    pairs: PairWeights
    loss: str
    bias_scale: float


class Codes(NamedTuple):
    """Everything that training moves: codes, dictionaries, similarity and bias."""

    Zs: np.ndarray
    Zt: np.ndarray
    B: np.ndarray
    D: np.ndarray
    W: np.ndarray
    b: float


class ObjectiveParts(NamedTuple):
    """J and what it is made of."""

    source: float
    target: float
    pairs: float
    penalty: float

    @property
    def total(self) -> float:
        return self.source + self.target + self.pairs + self.penalty


def joint_objective(
    S: np.ndarray, residual: float, labels: np.ndarray, codes: Codes, weights: Weights
) -> ObjectiveParts:
    """J = 1/C Σ_i p_B(i) + 1/N Σ_j p_D(j) + Σ_ij ω_ij loss(y_ij s_ij) + λ_W/2 (|W|² + (b/κ)²).

    Eq. (obj) of the paper divided by C·N, with ω_ij for the weight of a pair. Of the rows only
    `residual` is needed, Σ_j |x_j - D z_j|².
    """
    w = weights
    source = minus_log_p_B(S, codes.Zs, codes.B, w.source_shrink, w.source_fit).mean()
    codes_square = sum_of_squares(codes.Zt)
    target = 0.5 * (w.target_shrink * codes_square + w.target_fit * residual) / len(labels)
    bias = (codes.b / w.bias_scale) ** 2 if w.bias_scale > 0 else 0.0
    penalty = 0.5 * w.similarity * (sum_of_squares(codes.W) + bias)
    pairs = pair_total(codes, labels, w.pairs, w.loss)
    return ObjectiveParts(float(source), float(target), pairs, float(penalty))


def pair_total(codes: Codes, labels: np.ndarray, weights: PairWeights, loss: str) -> float:
    """Σ_ij ω_ij loss(y_ij s_ij) over class labels or signs, block by block of rows."""
    P = (codes.Zs @ codes.W).T
    total = 0.0
    for rows in row_blocks(len(labels), P.shape[1] * P.itemsize):
        scores = codes.Zt[rows] @ P + codes.Zt.dtype.type(codes.b)
        if labels.ndim == 2:
            total += _sign_losses(scores, labels[rows], weights, loss)
            continue
        own = scores[np.arange(scores.shape[0]), labels[rows]]
        negative = pair_loss(-scores, loss).sum(axis=1, dtype=np.float64) - pair_loss(-own, loss)
        losses = weights.pos * pair_loss(own, loss) + weights.neg * negative
        total += losses.sum() if weights.rows is None else losses @ weights.rows[rows]
    return float(total)


def _sign_losses(scores: np.ndarray, signs: np.ndarray, weights: PairWeights, loss: str) -> float:
    omega = np.where(signs > 0, weights.pos, weights.neg) * np.abs(signs)
    losses = omega * pair_loss(np.where(signs > 0, scores, -scores), loss)
    return float(losses.sum() if weights.rows is None else (losses.sum(axis=1) @ weights.rows))
