"""Scores of a row relative to its other candidates: for retrieval, and as probabilities."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

_SHARPNESS = 2.0


def relative_scores(scores: np.ndarray, spread: float | None = None) -> np.ndarray:
    """s_ij - 1/t log Σ_k exp(t s_kj), with t = 2 / standard deviation of all scores; N x C'.

    A row is a good find for a class only if no other candidate explains it better. Within a row
    nothing changes place, so recognition stays as it is; between rows of one class it does.
    `spread` is that standard deviation, where `scores` are only some of the rows.
    """
    spread = float(np.std(scores, dtype=np.float64)) if spread is None else spread
    if spread == 0:
        return scores
    t = scores.dtype.type(_SHARPNESS / spread)
    return scores - logsumexp(t * scores, axis=1, keepdims=True).astype(scores.dtype) / t


def probabilities(scores: np.ndarray, temperature: float) -> np.ndarray:
    """softmax(scores / T) of each row, in the precision of the scores.

    By the steps of SciPy's `log_softmax`, without what it does for any array: a service asks for
    single rows.
    """
    below = scores - scores.max(axis=1, keepdims=True)
    below /= scores.dtype.type(temperature)
    return np.exp(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))
