"""The three terms of the model, -log p_B, -log p_D and -log p_W, and the joint objective J that
training minimises.

Rows of Zs and Zt are codes, columns of B and D are atoms, as in S ~ Zs B' and X ~ Zt D'.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unseen.errors import InputError
from unseen.pairs.loss import Pairs, is_squared, pair_loss
from unseen.rows.blocks import array_blocks, row_blocks, sum_of_squares
from unseen.rows.layout import let_go

LINKS = ("saturating", "margin")
# What a score gains beyond its margin: too little to outweigh anything, enough to break ties.
_BEYOND = 1e-3


def minus_log_p(
    X: np.ndarray, Z: np.ndarray, atoms: np.ndarray, lambda1: float, lambda2: float
) -> np.ndarray:
    """λ1/2 |z|² + λ2/2 |x - A z|² of each vector: -log p_B (Eq. pb) for A = B, -log p_D (Eq. pd)
    for A = D.

    The last axis of X and Z is a vector, atoms is d x h. The sets that codes and atoms must lie in
    are the solver's business.
    """
    residual = X - Z @ atoms.T
    fit = np.einsum("...h,...h->...", residual, residual, dtype=np.float64)
    size = np.einsum("...h,...h->...", Z, Z, dtype=np.float64)
    return 0.5 * lambda1 * size + 0.5 * lambda2 * fit


def log_p_W(scores: np.ndarray, loss: str, link: str = "margin") -> np.ndarray:
    """log p_W(+1) of each pair from its score s.

    "saturating" is the paper's -[1 - s]_+ (or minus its square), which is 0 for every s >= 1. Ties
    are broken by the margin: what s exceeds it by counts for a thousandth. "margin" ranks by the
    margin itself: the same slope at s = 0 without the knee, s for the hinge and 2 s for its square.
    """
    if link == "saturating":
        return scores.dtype.type(_BEYOND) * np.maximum(scores - 1, 0) - pair_loss(scores, loss)
    if link != "margin":
        raise InputError(f"link must be one of {LINKS}, not {link!r}")
    return 2 * scores if is_squared(loss) else scores


class Lambdas(NamedTuple):
    """λ1s, λ2s, λ1t, λ2t and λ_W: what stays fixed while J is minimised."""

    source_shrink: float
    source_fit: float
    target_shrink: float
    target_fit: float
    similarity: float


class Codes(NamedTuple):
    """Everything that training moves: codes, dictionaries and similarity."""

    Zs: np.ndarray
    Zt: np.ndarray
    B: np.ndarray
    D: np.ndarray
    W: np.ndarray


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
    S: np.ndarray, residual: float, pairs: Pairs, codes: Codes, lambdas: Lambdas
) -> ObjectiveParts:
    """J = 1/C Σ_i p_B(i) + 1/N Σ_j p_D(j) + Σ_ij ω_ij loss(y_ij s_ij) + λ_W/2 |W|².

    Eq. (obj) of the paper divided by C·N, with ω_ij for the weight of a pair. Of the rows only
    `residual` is needed, Σ_j |x_j - D z_j|².
    """
    square = 0.0
    for rows in array_blocks(codes.Zt):
        square += sum_of_squares(codes.Zt[rows])
        let_go(codes.Zt)
    terms = RowTerms(residual, square, pair_total(codes, pairs))
    return objective_parts(S, terms, len(pairs), codes, lambdas)


class RowTerms(NamedTuple):
    """All that J needs to know of rows: Σ_j |x_j - D z_j|², Σ_j |z_j|² and the pair loss."""

    residual: float
    square: float
    loss: float


def objective_parts(
    S: np.ndarray, terms: RowTerms, n_rows: int, codes: Codes, lambdas: Lambdas
) -> ObjectiveParts:
    """J from the terms of its rows; their codes are not looked at."""
    w = lambdas
    source = minus_log_p(S, codes.Zs, codes.B, w.source_shrink, w.source_fit).mean()
    target = 0.5 * (w.target_shrink * terms.square + w.target_fit * terms.residual) / n_rows
    penalty = 0.5 * w.similarity * sum_of_squares(codes.W)
    return ObjectiveParts(float(source), float(target), terms.loss, float(penalty))


def pair_total(codes: Codes, pairs: Pairs) -> float:
    """Σ_ij ω_ij loss(y_ij s_ij), block by block of rows."""
    return pair_loss_of(codes.Zt, pairs, (codes.Zs @ codes.W).T)


def pair_loss_of(Zt: np.ndarray, pairs: Pairs, P: np.ndarray) -> float:
    """The same of rows with codes Zt, with P = (Zs W)'."""
    total = 0.0
    for rows in row_blocks(len(pairs), P.shape[1] * P.itemsize):
        total += pairs[rows].total_loss(Zt[rows] @ P)
        let_go(Zt)
    return total


def row_terms(Zt: np.ndarray, XD: np.ndarray, pairs: Pairs, gram: np.ndarray, P: Any) -> RowTerms:
    """The terms of rows given as X D, with D'D, but for Σ_j |x_j|²: no look at the rows.

    Σ_j |x_j - D z_j|² = Σ_j |x_j|² - 2 z_j'D'x_j + z_j'D'D z_j
    """
    residual = square = 0.0
    for rows in array_blocks(Zt):
        Z = Zt[rows]
        square += sum_of_squares(Z)
        residual += float(np.vdot((Z.T @ Z).astype(np.float64), gram))
        residual -= 2 * float(np.einsum("jh,jh->", Z, XD[rows], dtype=np.float64))
        let_go(Zt, XD)
    return RowTerms(residual, square, pair_loss_of(Zt, pairs, P))
