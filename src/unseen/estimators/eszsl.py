"""ESZSL: a bilinear similarity between rows and descriptions, in closed form.

Romera-Paredes and Torr, "An embarrassingly simple approach to zero-shot learning", ICML 2015;
the paper compares with it in its recognition table.
"""

from __future__ import annotations

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.scaled import ScaledClassifier
from unseen.rows.moments import Moments
from unseen.solvers.penalised import solve_penalised
from unseen.support.parameters import POSITIVE, has_parameters, parameter
from unseen.training.logistic import narrowed


@has_parameters
class ESZSL(ScaledClassifier):
    """Closed-form bilinear zero-shot classifier.

        min_V |X V S' - Y|² + γ |V S'|² + λ |X V|² + γ λ |V|²
        V = (X'X + γ I)^-1 X' Y S (S'S + λ I)^-1,        score(x, s) = x' V s

    with rows X (N x d_t), descriptions S of the seen classes (C x d_s) and Y (N x C) holding +1
    at a row's class and -1 elsewhere. Y is never formed, and X is read once, in blocks.

    Parameters
    ----------
    row_penalty : γ, in units of the trace of X'X, so that a value means the same for any N.
    class_penalty : λ, in units of the trace of S'S.
    """

    row_reading = "blocks"

    row_penalty: float = parameter(1e-3, POSITIVE, tries=[1e-4, 3e-4, 1e-3, 3e-3, 1e-2])
    class_penalty: float = parameter(1e-2, POSITIVE, tries=[1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0])

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        S = self._learn_scaling(X, table)
        # S (S'S + λ I)^-1 = (SS' + λ I)^-1 S, C x d_s: the smaller system when d_s is large.
        target = _solve(S @ S.T, self.class_penalty, S)
        rows, scaling, basis = narrowed(X, self.scaling_)
        moments = Moments.of(rows, labels, table.n_classes, scaling)
        weights = _row_side(moments, target, self.row_penalty)
        self.weights_ = (weights if basis is None else basis @ weights).astype(X.dtype)


def _row_side(moments: Moments, target: np.ndarray, penalty: float) -> np.ndarray:
    """(X'X + γ I)^-1 X' Y T, from X'X and the sums of classes; both sides over N."""
    sums = moments.sums / moments.counts.sum()
    signed = 2 * sums - sums.sum(axis=0)
    return _solve(moments.gram(), penalty, signed.T @ target)


def _solve(gram: np.ndarray, penalty: float, target: np.ndarray) -> np.ndarray:
    """(gram + penalty · trace · I)^-1 target; gram is overwritten."""
    gram.flat[:: gram.shape[0] + 1] += penalty * (np.trace(gram) or 1.0)
    # By columns, as LAPACK reads it: a symmetric matrix is its transpose, and is not copied.
    return solve_penalised(gram.T, target, penalty, "data")
