"""How much each of several models counts, learned from scores of rows whose class is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

# So many held-out classes count as much as the guess that all models are alike.
_PRIOR_CLASSES = 20


class Scored(NamedTuple):
    """Rows of classes that no model was trained on: scores, M x n x C', and the right columns."""

    scores: np.ndarray
    truth: np.ndarray


def mixing_weights(splits: Sequence[Scored]) -> np.ndarray:
    """Weights of M models that sum to one, drawn to equal ones where few classes tell them.

        α = (K α̂ + 20 / M) / (K + 20)

    with α̂ of `best_weights`, and K the number of classes in all splits: a handful of them often
    speaks for one model alone, and the next handful for another.
    """
    best = best_weights(splits)
    n_classes = sum(split.scores.shape[2] for split in splits)
    return (n_classes * best + _PRIOR_CLASSES / best.size) / (n_classes + _PRIOR_CLASSES)


def best_weights(splits: Sequence[Scored]) -> np.ndarray:
    """Weights of M models by which known classes are most likely, v / Σ v.

        min_{v ≥ 0}  - Σ_splits 1/C' Σ_c 1/n_c Σ_{i of class c} log softmax(Σ_m v_m s_mi)_c

    The loss is convex in v. Every class counts alike, and so does every split. The size of v is how
    sharp the softmax is, which changes no ranking: it is learned, and divided out in the end. Where
    no model knows anything all of them count alike.
    """
    n_models = splits[0].scores.shape[0]
    found = minimize(
        _loss,
        np.full(n_models, 1.0 / n_models),
        args=([_balanced(split) for split in splits],),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_models,
    )
    weights = np.maximum(found.x, 0.0)
    total = weights.sum()
    return weights / total if total > 0 else np.full(n_models, 1.0 / n_models)


def _balanced(split: Scored) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, right columns, and the weight of each row."""
    counts = np.bincount(split.truth, minlength=split.scores.shape[2])
    share = 1.0 / (counts[split.truth] * np.count_nonzero(counts))
    return split.scores.astype(np.float64), split.truth, share


def _loss(
    v: np.ndarray, splits: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> tuple[float, np.ndarray]:
    """The loss and its gradient, Σ_i share_i (E_p[s_mi] - s_mi of the right class)."""
    loss, slope = 0.0, np.zeros_like(v)
    for scores, truth, share in splits:
        rows = np.arange(truth.size)
        logs = log_softmax(np.tensordot(v, scores, 1), axis=1)
        loss -= float(share @ logs[rows, truth])
        expected = np.einsum("mic,ic->mi", scores, np.exp(logs))
        slope += (expected - scores[:, rows, truth]) @ share
    return loss / len(splits), slope / len(splits)
