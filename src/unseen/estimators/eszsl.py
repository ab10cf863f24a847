"""ESZSL: a bilinear similarity between rows and descriptions, in closed form.

Romera-Paredes and Torr, "An embarrassingly simple approach to zero-shot learning", ICML 2015;
the paper compares with it in its recognition table.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.base import SCALERS, ZeroShotClassifier
from unseen.rows.blocks import array_blocks
from unseen.rows.scaling import ClassScaler, RowScaler, RowScaling
from unseen.support.checks import POSITIVE, Constraints


class ESZSL(ZeroShotClassifier):
    """Closed-form bilinear zero-shot classifier.

        min_V |X V S' - Y|² + γ |V S'|² + λ |X V|² + γ λ |V|²
        V = (X'X + γ I)^-1 X' Y S (S'S + λ I)^-1,        score(x, s) = x' V s

    with rows X (N x d_t), descriptions S of the seen classes (C x d_s) and Y (N x C) holding +1
    at a row's class and -1 elsewhere. Y is never formed, and X is read once, in blocks.

    Parameters
    ----------
    row_penalty : γ, in units of the trace of X'X, so that a value means the same for any N.
    class_penalty : λ, in units of the trace of S'S.
    row_scaler : how rows are scaled: to length one and then centred, or as the `RowScaler` says.
    class_scaler : how class descriptions are scaled: centred and then to length one, or as the
        `ClassScaler` says.
    """

    _parts = SCALERS
    _parameter_constraints: ClassVar[Constraints] = {
        "row_penalty": [POSITIVE],
        "class_penalty": [POSITIVE],
    }

    def __init__(
        self,
        row_penalty: float = 1e-3,
        class_penalty: float = 1e-2,
        *,
        row_scaler: RowScaler | None = None,
        class_scaler: ClassScaler | None = None,
    ) -> None:
        self.row_penalty = row_penalty
        self.class_penalty = class_penalty
        self.row_scaler = row_scaler
        self.class_scaler = class_scaler

    @classmethod
    def default_grid(cls) -> dict[str, list[Any]]:
        return {
            "row_penalty": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2],
            "class_penalty": [1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0],
        }

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self.scaling_ = self._part("row_scaler").learn(X)
        S = table.vectors.astype(np.float64)
        self.class_scaling_ = self._part("class_scaler").learn(S)
        S = self.class_scaling_(S)
        target = _class_side(S, self.class_penalty)
        solve = _wide_rows if X.shape[0] < X.shape[1] else _tall_rows
        weights = solve(X, self.scaling_, labels, target, self.row_penalty)
        self.weights_ = weights.astype(X.dtype)

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return self.scaling_(X) @ self.weights_.astype(X.dtype, copy=False)

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return self.class_scaling_(table.vectors)


def _class_side(S: np.ndarray, penalty: float) -> np.ndarray:
    """S (S'S + λ I)^-1 = (SS' + λ I)^-1 S, C x d_s: the smaller system when d_s is large."""
    return _solve(S @ S.T, penalty, S)


def _tall_rows(
    X: np.ndarray, scaling: RowScaling, labels: np.ndarray, target: np.ndarray, penalty: float
) -> np.ndarray:
    """(X'X + γ I)^-1 X' Y T for d_t <= N, from X'X and the class sums of one pass over X."""
    n_classes, d_t = target.shape[0], X.shape[1]
    gram = np.zeros((d_t, d_t), dtype=X.dtype)
    sums = np.zeros((n_classes, d_t), dtype=np.float64)
    for rows in array_blocks(X):
        block = scaling(X[rows])
        gram += block.T @ block
        sums += _members(labels[rows], n_classes) @ block
    signed = 2 * sums - sums.sum(axis=0)
    gram = gram.astype(np.float64)
    return _solve(gram, penalty, signed.T @ target)


def _wide_rows(
    X: np.ndarray, scaling: RowScaling, labels: np.ndarray, target: np.ndarray, penalty: float
) -> np.ndarray:
    """X' (XX' + γ I)^-1 Y T, the same matrix by its other form, for N < d_t."""
    X = scaling(X)
    signed = 2 * target[labels] - target.sum(axis=0)
    return X.T @ _solve((X @ X.T).astype(np.float64), penalty, signed)


def _members(labels: np.ndarray, n_classes: int) -> scipy.sparse.csr_array:
    """The C x n indicator matrix of labels, so that `_members(labels, C) @ X` sums by class."""
    ones = np.ones(labels.size)
    return scipy.sparse.csr_array(
        (ones, (labels, np.arange(labels.size))), shape=(n_classes, labels.size)
    )


def _solve(gram: np.ndarray, penalty: float, target: np.ndarray) -> np.ndarray:
    """(gram + penalty · trace · I)^-1 target; gram is overwritten."""
    try:
        # By columns, as LAPACK reads it: a symmetric matrix is its transpose, and is not copied.
        factor = scipy.linalg.cho_factor(_ridge(gram, penalty).T, overwrite_a=True)
    except np.linalg.LinAlgError as error:
        raise InputError(
            f"the penalty {penalty:g} is too small for these data: the system is singular"
        ) from error
    return scipy.linalg.cho_solve(factor, target)


def _ridge(gram: np.ndarray, penalty: float) -> np.ndarray:
    """Add `penalty` times the trace to the diagonal, in place."""
    trace = np.trace(gram)
    gram.flat[:: gram.shape[0] + 1] += penalty * (trace if trace > 0 else 1.0)
    return gram
