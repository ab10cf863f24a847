"""Linear classifiers of each class against all others, by the squared hinge, all at once.

    min over W, b of   1/N Σ_j Σ_c [1 - y_jc (w_c'x̃_j + b_c)]²_+ + λ/2 |W|²,     y_jc = ±1

with scaled rows x̃ (N x d_t), W (d_t x C), b (C) without a penalty, and λ in units of the mean
square distance of the rows from their mean. The solver is that of logistic regression.
"""

from __future__ import annotations

import numpy as np

from unseen.rows.blocks import sum_of_squares
from unseen.rows.scaling import RowScaling
from unseen.training.logistic import Linear, fit_linear


def fit_squared_hinge(
    X: np.ndarray, scaling: RowScaling, labels: np.ndarray, n_classes: int, penalty: float
) -> Linear:
    """The classifiers W and b of all classes; `labels` are numbers of classes."""
    shares = np.bincount(labels, minlength=n_classes) / labels.size
    # The best bias at W = 0. There no row is beyond its margin, so the second derivative is 2.
    start = 2 * shares - 1

    def loss(scores: np.ndarray, rows: slice) -> tuple[float, np.ndarray]:
        return squared_hinge_loss(scores, labels[rows])

    return fit_linear(X, scaling, loss, start, 2.0, penalty)


def squared_hinge_loss(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """1/N Σ_jc [1 - y_jc f_jc]²_+ and its gradient; the scores f are overwritten by it."""
    own = (np.arange(labels.size), labels)
    missing = 1 - scores[own]
    scores += 1
    scores[own] = missing
    np.maximum(scores, 0, out=scores)
    value = sum_of_squares(scores) / labels.size
    scores *= 2 / labels.size
    scores[own] *= -1
    return value, scores
