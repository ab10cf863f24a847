"""The two decision functions of the paper."""

from __future__ import annotations

import numpy as np

from unseen.inference.embedding import SAMPLE
from unseen.model.objective import Codes
from unseen.model.terms import log_p_W, similarity_scores


def class_levels(codes: Codes, Zs: np.ndarray, share: float = 0.98) -> np.ndarray:
    """quantile_share over training rows j of z_i' W z_j + b for each new class i, C' values.

    No training row is of a class that is revealed at test time, so a class that scores high on
    many of them is one that scores high on everything. Taking a part of this level off its scores
    keeps such classes from swallowing the rows of others; it changes no ranking within a class.
    """
    sample = codes.Zt[:: max(1, codes.Zt.shape[0] // SAMPLE)]
    return np.quantile(similarity_scores(Zs, sample, codes.W, codes.b), share, axis=0)


def decision_scores(
    scores: np.ndarray, loss: str, link: str = "margin", fit: np.ndarray | None = None
) -> np.ndarray:
    """Decision 1: log p_W(+1 | z_i, z_j). Decision 2: log p_B(z_i | x_i) + log p_W(+1 | z_i, z_j).

    `scores` (N x C') hold s_ij, `fit` (C') holds -log p_B of each class and makes it decision 2.
    With link "margin" the result is in units of s, so that decision 1 is s itself.
    """
    values = log_p_W(scores, loss, link)
    if fit is not None:
        values = values - fit.astype(values.dtype)
    return values / 2 if loss == "squared_hinge" and link == "margin" else values
