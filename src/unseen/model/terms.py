"""The three terms of the model, -log p_B, -log p_D and -log p_W, with gradients and links.

Rows of Zs and Zt are codes, columns of B and D are atoms, as in S ~ Zs B' and X ~ Zt D'.
"""

from __future__ import annotations

import numpy as np

from unseen.errors import InputError
from unseen.pairs.loss import LOSSES

LINKS = ("saturating", "margin")
# What a score gains beyond its margin: too little to outweigh anything, enough to break ties.
_BEYOND = 1e-3


def minus_log_p_B(
    S: np.ndarray, Zs: np.ndarray, B: np.ndarray, lambda1: float, lambda2: float
) -> np.ndarray:
    """λ1s/2 |z_i|² + λ2s/2 |x_i - B z_i|² for each class (Eq. pb), C values.

    S is C x d_s, Zs C x h_s, B d_s x h_s. The set the codes must lie in (the simplex, in the
    paper) is the solver's business.
    """
    return _dictionary_term(S, Zs, B, lambda1, lambda2)


def minus_log_p_D(
    X: np.ndarray, Zt: np.ndarray, D: np.ndarray, lambda1: float, lambda2: float
) -> np.ndarray:
    """λ1t/2 |z_j|² + λ2t/2 |x_j - D z_j|² for each row (Eq. pd), N values.

    X is N x d_t, Zt N x h_t, D d_t x h_t with atoms in the unit ball.
    """
    return _dictionary_term(X, Zt, D, lambda1, lambda2)


def _dictionary_term(
    X: np.ndarray, Z: np.ndarray, D: np.ndarray, lambda1: float, lambda2: float
) -> np.ndarray:
    residual = X - Z @ D.T
    fit = np.einsum("ij,ij->i", residual, residual, dtype=np.float64)
    return 0.5 * lambda1 * np.einsum("ij,ij->i", Z, Z, dtype=np.float64) + 0.5 * lambda2 * fit


def dictionary_gradient(
    X: np.ndarray, Z: np.ndarray, D: np.ndarray, lambda1: float, lambda2: float
) -> np.ndarray:
    """λ1 z + λ2 D'(D z - x), the gradient of -log p_B or -log p_D in the codes, row by row."""
    return lambda1 * Z + lambda2 * (Z @ D.T - X) @ D


def pair_loss(margin: np.ndarray, loss: str) -> np.ndarray:
    """[1 - m]_+ (Eq. pw) or its square, for m = y_ij s_ij, element by element."""
    slack = np.maximum(1 - margin, 0)
    return slack**2 if _is_squared(loss) else slack


def pair_loss_gradient(margin: np.ndarray, loss: str) -> np.ndarray:
    """d loss / d m: -1 (or -2 (1 - m)) where m < 1, else 0; at m = 1 the hinge takes 0."""
    slack = np.maximum(1 - margin, 0)
    return -2 * slack if _is_squared(loss) else -(slack > 0).astype(slack.dtype)


def pair_loss_prox(margin: np.ndarray, step: float, loss: str) -> np.ndarray:
    """argmin_v (v - m)²/2 + step · loss(v), element by element."""
    if _is_squared(loss):
        return np.where(margin < 1, (margin + 2 * step) / (1 + 2 * step), margin)
    return np.where(margin < 1, np.minimum(margin + step, 1), margin)


def similarity_scores(
    Zs: np.ndarray, Zt: np.ndarray, W: np.ndarray, bias: float = 0.0
) -> np.ndarray:
    """s_ij = z_i' W z_j + b for all pairs, N x C: rows down, classes across."""
    return Zt @ (Zs @ W).T + Zt.dtype.type(bias)


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
    return 2 * scores if _is_squared(loss) else scores


def _is_squared(loss: str) -> bool:
    if loss not in LOSSES:
        raise InputError(f"loss must be one of {LOSSES}, not {loss!r}")
    return loss == "squared_hinge"
