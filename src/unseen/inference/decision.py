"""The two decision functions of the paper."""

from __future__ import annotations

import numpy as np

from unseen.model.terms import log_p_W


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
