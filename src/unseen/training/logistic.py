"""Linear classifiers with probabilities: logistic regression, all classes or attributes at once.

    min over W, b of   1/N Σ_j loss(W' x̃_j + b, y_j) + λ/2 |W|²

with scaled rows x̃ (N x d_t), W (d_t x K), b (K) without a penalty, and λ in units of the mean
square distance of the rows from their mean. Solved by L-BFGS in coordinates in which the Hessian at
the start is close to the identity, so that some dozens of products with X are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.special
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from unseen.errors import warn_user
from unseen.rows.blocks import TrainingRows, array_blocks, sum_of_squares
from unseen.rows.scaling import RowScaling
from unseen.support.work import threads_for

# scores of some rows (n x K, overwritten) and which rows -> mean loss of these, and its derivative
Loss = Callable[[np.ndarray, slice], tuple[float, np.ndarray]]
# A point, flat and in float64 -> the value there, and the gradient in any shape and float type
Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
# Pairs of steps that L-BFGS keeps; each costs twice the size of W in float64.
_MEMORY = 6
# Gradient, as a share of the first one, at which the problem counts as solved. Sums in float32
# cannot be trusted much below that.
_TOL = {4: 1e-4, 8: 1e-8}
_MAX_ITER = 500


class Linear(NamedTuple):
    """Classifiers x̃ -> W'x̃ + b: W (d_t x K), b (K), and the number of steps it took."""

    weights: np.ndarray
    bias: np.ndarray
    n_iter: int


def fit_multinomial(
    X: np.ndarray, scaling: RowScaling, labels: np.ndarray, n_classes: int, penalty: float
) -> Linear:
    """Classifiers of classes that compete for rows: log p(c|x) = w_c'x̃ + b_c - log Σ_k exp(...)."""
    shares = np.bincount(labels, minlength=n_classes) / labels.size
    start = np.log(shares) - np.log(shares).mean()

    def loss(scores: np.ndarray, rows: slice) -> tuple[float, np.ndarray]:
        return multinomial_loss(scores, labels[rows])

    return fit_linear(X, scaling, loss, start, _curvature(shares), penalty)


def fit_binary(
    X: np.ndarray, scaling: RowScaling, labels: np.ndarray, targets: np.ndarray, penalty: float
) -> Linear:
    """K classifiers that know nothing of each other: log p(1|x) - log p(0|x) = w_k'x̃ + b_k.

    `targets` (C x K) holds 0 or 1 for each class, and all rows of a class share its line.
    """
    targets = targets.astype(X.dtype)
    counts = np.bincount(labels, minlength=targets.shape[0])
    # Where all rows agree the best bias is infinite: half a row of the other kind keeps it finite.
    shares = np.clip(counts @ targets, 0.5, labels.size - 0.5) / labels.size
    start = scipy.special.logit(shares)

    def loss(scores: np.ndarray, rows: slice) -> tuple[float, np.ndarray]:
        return binary_loss(scores, targets[labels[rows]])

    return fit_linear(X, scaling, loss, start, _curvature(shares), penalty)


def multinomial_loss(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """1/N Σ_j (log Σ_c exp f_jc - f_j,y_j) and its gradient; the scores f are overwritten by it."""
    each = np.arange(labels.size)
    own = scores[each, labels].astype(np.float64)
    highest = scores.max(axis=1, keepdims=True)
    scores -= highest
    np.exp(scores, out=scores)
    total = scores.sum(axis=1, keepdims=True)
    value = np.mean(np.log(total[:, 0].astype(np.float64)) + highest[:, 0] - own)
    scores /= total
    scores[each, labels] -= 1
    scores /= labels.size
    return float(value), scores


def binary_loss(scores: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    """1/N Σ_jk (log(1 + exp f_jk) - t_jk f_jk) and its gradient; the scores f are overwritten."""
    value = -np.einsum("jk,jk->", targets, scores, dtype=np.float64)
    value += np.maximum(scores, 0).sum(dtype=np.float64)
    value += np.log1p(np.exp(-np.abs(scores))).sum(dtype=np.float64)
    scipy.special.expit(scores, out=scores)
    scores -= targets
    scores /= scores.shape[0]
    return float(value / scores.shape[0]), scores


def lbfgs(function: Function, start: np.ndarray, **options: Any) -> Any:
    """What scipy's L-BFGS-B finds from `start`, an array of any shape."""

    def flat(point: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(point)
        return value, gradient.ravel().astype(np.float64)

    return minimize(flat, start.ravel(), jac=True, method="L-BFGS-B", options=options)


def _curvature(shares: np.ndarray) -> float:
    """The mean second derivative of a logistic loss where the probabilities are `shares`."""
    return float(np.mean(shares * (1 - shares)))


def fit_linear(
    X: np.ndarray,
    scaling: RowScaling,
    loss: Loss,
    start: np.ndarray,
    curvature: float,
    penalty: float,
) -> Linear:
    """Classifiers for any convex loss, from W = 0 and the bias `start`.

    `curvature` is the mean second derivative of the loss by a score there.
    """
    with threads_for(float(X.size) * start.size):
        rows, basis = narrow_rows(X, scaling)
        found = _Problem(rows, loss, curvature, penalty, start.size).solve(start)
    return found if basis is None else found._replace(weights=basis @ found.weights)


def narrow_rows(X: np.ndarray, scaling: RowScaling) -> tuple[TrainingRows, np.ndarray | None]:
    """Rows with no more columns than there are rows, and what leads back.

    With N < d_t the rows are given in an orthonormal basis (d_t x N) of their span: under a penalty
    |W|² the best W lies in it. Otherwise they stay as they are, and the basis is None.
    """
    X, scaling, basis = narrowed(X, scaling)
    return TrainingRows(X, scaling), basis


def narrowed(X: Any, scaling: RowScaling) -> tuple[Any, RowScaling, np.ndarray | None]:
    """The same as rows and the scaling that they still need."""
    if X.shape[0] >= X.shape[1]:
        return X, scaling, None
    factors: Any = scipy.linalg.qr(scaling(X[:]).T, mode="economic", overwrite_a=True)
    basis, R = factors
    return np.ascontiguousarray(R.T), RowScaling(False, None), basis


def moments(rows: TrainingRows) -> tuple[np.ndarray, np.ndarray]:
    """The mean (d_t) of rows and X̃'X̃/N (d_t x d_t), in one pass over their blocks."""
    total = np.zeros(rows.n_columns)
    gram = np.zeros((rows.n_columns, rows.n_columns), dtype=rows.dtype)
    for part in array_blocks(rows.X):
        block = rows.scaling(np.asarray(rows.X[part]))
        total += block.sum(axis=0, dtype=np.float64)
        gram += block.T @ block
    gram /= rows.n_rows
    return (total / rows.n_rows).astype(rows.dtype), gram


class _Problem:
    """The objective over (V, v) with W = L'^-1 V and b = v/√c - W'm, where LL' = c·cov + λ I.

    c is the mean second derivative of the loss at the start, so the Hessian there is near to I.
    """

    def __init__(
        self, rows: TrainingRows, loss: Loss, curvature: float, penalty: float, n_outputs: int
    ) -> None:
        self.rows, self.loss = rows, loss
        self.shape = (rows.n_columns + 1, n_outputs)
        self.mean, gram = moments(rows)
        gram -= np.outer(self.mean, self.mean)
        spread = float(np.trace(gram, dtype=np.float64))
        spread = spread if spread > 0 else 1.0
        self.penalty, self.root = penalty * spread, np.sqrt(curvature)
        gram *= rows.dtype.type(curvature)
        # What is lost to rounding must not make the matrix indefinite.
        lost = 10 * np.finfo(rows.dtype).eps * curvature * spread
        gram.flat[:: rows.n_columns + 1] += max(self.penalty, lost)
        self.factor = scipy.linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, start: np.ndarray) -> Linear:
        """From W = 0 and the bias `start`, until the gradient is a small share of the first one."""
        v = np.zeros(self.shape)
        v[-1] = start * self.root
        tol = _TOL[self.rows.dtype.itemsize] * float(np.abs(self.value_and_gradient(v)[1]).max())
        limits = {"maxiter": _MAX_ITER, "gtol": tol, "ftol": np.finfo(self.rows.dtype).eps}
        found = lbfgs(self.value_and_gradient, v, maxcor=_MEMORY, **limits)
        if found.nit >= _MAX_ITER:
            warn_user(
                f"training of the classifiers stopped after {_MAX_ITER} steps before it had "
                "converged; a larger penalty makes the problem easier",
                ConvergenceWarning,
            )
        W, bias = self._weights(found.x)
        return Linear(W, (bias - self.mean @ W).astype(W.dtype), int(found.nit))

    def value_and_gradient(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient by (V, v)."""
        W, bias = self._weights(flat)
        value, sums = self.penalty / 2 * sum_of_squares(W), np.zeros(bias.size)

        def residual(rows: slice, scores: np.ndarray) -> np.ndarray:
            nonlocal value, sums
            scores += bias - self.mean @ W
            share = len(scores) / self.rows.n_rows
            mean, by_scores = self.loss(scores, rows)
            by_scores *= by_scores.dtype.type(share)
            value, sums = value + share * mean, sums + by_scores.sum(axis=0, dtype=np.float64)
            return by_scores

        by_weights = self.rows.round_trip(W, residual)
        by_weights += W * W.dtype.type(self.penalty)
        by_weights -= np.outer(self.mean, sums).astype(W.dtype)
        gradient = np.empty(self.shape, self.rows.dtype)
        gradient[:-1] = self._solve(by_weights, transposed=False)
        gradient[-1] = sums / self.root
        return value, gradient

    def _weights(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W, and the bias of rows whose mean is taken off."""
        v = flat.reshape(self.shape)
        bias = (v[-1] / self.root).astype(self.rows.dtype)
        return self._solve(v[:-1].astype(self.rows.dtype), transposed=True), bias

    def _solve(self, target: np.ndarray, transposed: bool) -> np.ndarray:
        """L^-1 or L'^-1 times a matrix that may be overwritten."""
        options = {"lower": True, "overwrite_b": True, "check_finite": False}
        return scipy.linalg.solve_triangular(self.factor, target, int(transposed), **options)
