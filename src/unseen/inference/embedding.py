"""Embedding at test time: by the data fit alone ("init."), or by Algorithm 4.

Algorithm 4 uses that a class that is revealed at test time has no training row, and that a row of
such a class belongs to no seen class: all its pairs with training data are negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.model.objective import Codes
from unseen.model.terms import similarity_scores
from unseen.pair_labels import is_negative
from unseen.solvers.source_codes import fit_source_codes, fit_source_codes_with_pairs
from unseen.solvers.target_codes import fit_target_codes, ridge_target_codes

# Rows from which quantiles of scores are taken.
SAMPLE = 3000


class Away(NamedTuple):
    """How Algorithm 4 pushes unseen classes and rows away from the training data.

    source_fit, target_fit : λ2s and λ2t at test time, against a hinge of the weight of training.
    weight : ω of a negative pair in training.
    bias : the b of its hinges; see `margin_bias`.
    offset : how much of its level an unseen class loses; see `class_levels`.
    """

    source_fit: float
    target_fit: float
    weight: float
    bias: float
    offset: float
    loss: str
    tol: float


def margin_bias(codes: Codes, labels: np.ndarray, share: float | None) -> float:
    """b such that only the share of negative training pairs that score highest break their margin.

        b = -1 - quantile_share of { z_i' W z_j : y_ij = -1 }

    If most negative pairs were inside the margin, the hinges of Algorithm 4 would pull every code
    the same way and all classes would collapse into one; so only rows that look like the class may
    push. Without a share it is the b of training, as the paper has it.
    """
    if share is None:
        return codes.b
    sample = slice(None, None, max(1, len(labels) // SAMPLE))
    scores = codes.Zt[sample] @ (codes.Zs @ codes.W).T
    negative = is_negative(labels[sample], scores.shape[1])
    return float(-1 - np.quantile(scores[negative], share)) if negative.any() else codes.b


def embed_classes(
    S: np.ndarray, codes: Codes, shrinkage: float, source_set: str, away: Away | None
) -> np.ndarray:
    """z_i' <- argmax log p_B(z | x_i') [+ Σ_j log p_W(-1 | z, z_j)], C' x h_s.

    The bracket is Algorithm 4; without `away` it is left out. `shrinkage` is λ1s/λ2s.
    """
    SB, gram = S @ codes.B, codes.B.T @ codes.B
    if away is None:
        fitted = fit_source_codes(SB, gram, lam1=shrinkage, lam2=1.0, which=source_set)
        return fitted.value
    n_rows, n_seen = codes.Zt.shape[0], codes.Zs.shape[0]
    fitted = fit_source_codes_with_pairs(
        SB,
        gram,
        codes.W,
        codes.Zt,
        np.full(n_rows, -1),
        lam1=shrinkage * away.source_fit,
        lam2=away.source_fit,
        w_pos=away.weight,
        w_neg=away.weight,
        which=source_set,
        loss=away.loss,
        bias=away.bias,
        fit_weight=1.0 / n_seen,
        s_sq=np.sum(np.square(S, dtype=np.float64), axis=1),
        tol=away.tol,
    )
    return fitted.value


def class_levels(codes: Codes, Zs: np.ndarray, share: float = 0.98) -> np.ndarray:
    """quantile_share over training rows j of z_i' W z_j + b for each new class i, C' values.

    No training row is of a class that is revealed at test time, so one that scores high on many of
    them scores high on everything. The hinges of Algorithm 4 press such a class down, and bend its
    code in doing so. Taking a part of this level off its scores does the same by one number a
    class: the code stays where its description puts it, and no ranking within a class changes.
    """
    sample = codes.Zt[:: max(1, codes.Zt.shape[0] // SAMPLE)]
    return np.quantile(similarity_scores(Zs, sample, codes.W, codes.b), share, axis=0)


def embed_rows(
    XD: np.ndarray,
    codes: Codes,
    shrinkage: float,
    away: Away | None,
    gram: np.ndarray | None = None,
) -> np.ndarray:
    """z_j' <- argmax log p_D(z | x_j') [+ Σ_i log p_W(-1 | z_i, z)], N' x h_t.

    The rows come as X D. The bracket is Algorithm 4; `shrinkage` is λ1t/λ2t; `gram` is D'D, to
    be given where it is at hand already.
    """
    gram = codes.D.T.astype(np.float64) @ codes.D if gram is None else gram
    if away is None:
        return ridge_target_codes(XD, gram, lam1=shrinkage, lam2=1.0).value
    fitted = fit_target_codes(
        XD,
        gram,
        codes.Zs @ codes.W,
        np.full(XD.shape[0], -1),
        lam1=shrinkage * away.target_fit,
        lam2=away.target_fit,
        w_pos=away.weight,
        w_neg=away.weight,
        loss=away.loss,
        bias=away.bias,
        fit_weight=1.0 / codes.Zt.shape[0],
        tol=away.tol,
    )
    return fitted.value
