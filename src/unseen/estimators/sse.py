"""SSE: rows and classes as mixtures of the seen classes (semantic similarity embedding).

Zhang and Saligrama, "Zero-shot learning via semantic similarity embedding", ICCV 2015; the paper
compares with it in all of its tables, as SSE-INT and SSE-ReLU.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.base import ResumableClassifier
from unseen.estimators.scaled import ScaledClassifier
from unseen.rows.blocks import sum_of_squares
from unseen.solvers.block import Ridge
from unseen.solvers.compiled import free_order_kernel
from unseen.solvers.simplex import fit_source_codes
from unseen.storage.checkpoint import Steps
from unseen.support.parameters import NOT_NEGATIVE, POSITIVE, at_least, has_parameters, parameter
from unseen.support.work import in_threads, tell, threads_for
from unseen.training.logistic import Function, lbfgs
from unseen.training.resuming import check_array

_MEMORY = 5  # pairs that L-BFGS keeps
_COLUMNS, _ROWS = 512, 64  # a tile of V and of X that stays in the cache


@has_parameters
class SSE(ScaledClassifier, ResumableClassifier):
    """Rows and classes as mixtures of seen classes; `SSEIntersection` and `SSEReLU` are the two.

        z_u    = argmin over the simplex of γ/2 |z|² + 1/2 |c_u - Σ_s z_s c_s|²
        π_s(x) = <w, φ_s(x)>,      φ_s(x) = min(x, v_s)  or  max(0, x - v_s)
        score  = f(x, u) = Σ_s z_us π_s(x)

        min_w,V 1/C² Σ_i 1/n_i Σ_y≠y_i [1 - f(x_i, y_i) + f(x_i, y)]²_+
                + λ_w/2 |w|² + λ_v/2 |V - V0|²

    with rows x_i of class y_i, which has n_i of them, descriptions c of the classes, C of them
    seen, z_u the mixture of seen classes s that describes class u, and v_s, a row of V, the vector
    of a seen class. w and V are learned in turn, each by L-BFGS while the other stands still, so
    the objective never rises.

    As codes sum to one and min(x, v) = x - max(0, x - v), both transforms reach the same
    classifiers, with w of opposite sign; they start at different V0 and so end apart. Between rows,
    as in retrieval, they also differ by <w, x>. The squared hinge and the margin of one are choices
    made here: a plain hinge, or a margin that grows with the distance of two descriptions, made
    little difference on held-out seen classes.

    Parameters
    ----------
    code_penalty : γ, in units of the largest eigenvalue of the products c_s'c_t of the seen
        classes; with a small one a seen class is described by itself alone.
    weight_penalty : λ_w.
    vector_penalty : λ_v.
    n_rounds : how often w and then V are learned.
    n_steps : steps of L-BFGS for w, and for V, in a round.
    """

    # φ = _sign · max(0, x - v) + a part that is the same for all classes.
    _sign: ClassVar[float]

    code_penalty: float = parameter(0.1, POSITIVE, tries=[0.02, 0.1, 0.5])
    weight_penalty: float = parameter(1e-5, POSITIVE, tries=[1e-6, 1e-5, 1e-4])
    vector_penalty: float = parameter(1e-4, NOT_NEGATIVE)
    _: KW_ONLY
    n_rounds: int = parameter(2, at_least(1))
    n_steps: int = parameter(10, at_least(1))

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        work = X.size * table.n_classes
        with threads_for(work), self._checkpoint(X, labels, table) as checkpoint:
            self.descriptions_ = self._learn_scaling(X, table, unit_scale=True)
            rows = np.ascontiguousarray(self.scaling_(X))
            means = class_means(rows, labels, table.n_classes)
            start = self._first_vectors(means, rows.mean(axis=0)) + 0.5 / np.sqrt(X.shape[1])
            penalties = self.weight_penalty, self.vector_penalty
            codes, start = self._class_codes(table), start.astype(X.dtype)
            training = Margins(rows, labels, codes, self._sign, start, *penalties)
            history = training.alternate(self.n_rounds, self.n_steps, Steps(checkpoint))
        self.history_, self.weights_, self.vectors_ = np.array(history), training.w, training.V

    def _first_vectors(self, means: np.ndarray, center: np.ndarray) -> np.ndarray:
        """V0, but for half a typical entry, from the means of the classes and of all rows."""
        raise TypeError(f"{type(self).__name__} must define _first_vectors")

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        B = self.descriptions_
        gram = B @ B.T
        unit = float(np.linalg.norm(gram, 2)) or 1.0
        SB = self.class_scaling_(table.vectors.astype(np.float64)) @ B.T
        return fit_source_codes(SB, Ridge(gram, self.code_penalty * unit, 1.0)).value

    def _excess(self, X: np.ndarray) -> np.ndarray:
        """Σ_k w_k max(0, x_k - v_sk) of scaled rows for every seen class s."""
        w, V = (np.array(a, dtype=X.dtype) for a in (self.weights_, self.vectors_))
        with threads_for(X.size * V.shape[0]):
            return excess(X, V, w)


class SSEIntersection(SSE):
    """SSE with φ_s(x) = min(x, v_s): as much of a row as its class vector allows.

    V0 holds the means of the classes, raised by half a typical entry of a row, which keeps more of
    the row. Objective and parameters are those of `SSE`. It is for rows of many columns: one that
    is below two class vectors in all of them scores the same for both.
    """

    _sign = -1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        assert tags.classifier_tags is not None
        tags.classifier_tags.poor_score = True  # on the two columns of scikit-learn's checks
        return tags

    def _first_vectors(self, means: np.ndarray, center: np.ndarray) -> np.ndarray:
        return means

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        X = np.ascontiguousarray(self.scaling_(X))
        return (X @ self.weights_.astype(X.dtype))[:, None] - self._excess(X)


class SSEReLU(SSE):
    """SSE with φ_s(x) = max(0, x - v_s): what a row has in excess of its class vector.

    V0 holds the means of the classes mirrored at that of all rows, so that a row exceeds v_s where
    class s is above the others, and raised by half a typical entry of a row. Objective and
    parameters are those of `SSE`.
    """

    _sign = 1.0

    def _first_vectors(self, means: np.ndarray, center: np.ndarray) -> np.ndarray:
        return 2 * center - means

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return self._excess(np.ascontiguousarray(self.scaling_(X)))


class Margins:
    """The objective of SSE on training rows, and its minimisation over w and V in turn.

    X (N x d_t) are scaled rows, Z (C x C) the codes of the seen classes, `start` is V0.
    """

    def __init__(
        self,
        X: np.ndarray,
        labels: np.ndarray,
        Z: np.ndarray,
        sign: float,
        start: np.ndarray,
        weight_penalty: float,
        vector_penalty: float,
    ) -> None:
        self.X, self.Z, self.start = X, Z.astype(X.dtype), start
        self.own = (np.arange(labels.size), labels)
        counts = np.bincount(labels)
        self.row_weights = 1.0 / (counts[labels] * float(counts.size) ** 2)
        self.sign, self.lambda_w, self.lambda_v = sign, weight_penalty, vector_penalty
        self.w, self.V = np.zeros(X.shape[1], X.dtype), np.array(start, order="C")

    def alternate(self, n_rounds: int, n_steps: int, steps: Steps | None = None) -> list[float]:
        """Learn w and V in turn; the objective at the start and after each of them."""
        steps = Steps() if steps is None else steps
        history = steps.run(lambda *_: [self.by_weights(self.w)[0]])[:]
        for n_round in range(1, n_rounds + 1):
            for name, part in (("w", self.by_weights), ("V", self.by_vectors)):
                tell(f"round {n_round} of {n_rounds}: {name}")
                value, found = steps.run(partial(_learn, part, getattr(self, name), n_steps))
                check_array(found, getattr(self, name).shape)  # perhaps from a checkpoint
                # Rounding to float32 may undo a step that was small already.
                if value < history[-1]:
                    setattr(self, name, found)
                history.append(min(value, history[-1]))
        return history

    def by_weights(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient in w, at the present V."""
        w = w.reshape(self.w.shape).astype(self.X.dtype)
        loss, slopes = self._loss(excess(self.X, self.V, w))
        value = loss + self._penalty(w, self.V)
        return value, excess_by_weights(self.X, self.V, slopes) + self.lambda_w * w

    def by_vectors(self, V: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient in V, at the present w."""
        V = V.reshape(self.V.shape).astype(self.X.dtype)
        loss, slopes = self._loss(excess(self.X, V, self.w))
        gradient = -self.w * rows_above(self.X, V, slopes) + self.lambda_v * (V - self.start)
        return loss + self._penalty(self.w, V), gradient

    def _penalty(self, w: np.ndarray, V: np.ndarray) -> float:
        square = sum_of_squares(V - self.start)
        return 0.5 * (self.lambda_w * sum_of_squares(w[None]) + self.lambda_v * square)

    def _loss(self, excesses: np.ndarray) -> tuple[float, np.ndarray]:
        """The first sum of the objective, and its slope in the excess of each row (N x C)."""
        scores = self.sign * (excesses @ self.Z.T)
        slack = np.maximum(1 + scores - scores[self.own][:, None], 0)
        slack[self.own] = 0
        value = float(self.row_weights @ np.einsum("ij,ij->i", slack, slack, dtype=np.float64))
        slack *= (2 * self.sign * self.row_weights[:, None]).astype(slack.dtype)
        slack[self.own] = -slack.sum(axis=1)
        return value, slack @ self.Z


def class_means(X: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """The mean row of each class, C x d_t."""
    members = (labels == np.arange(n_classes)[:, None]).astype(X.dtype)
    return (members @ X) / members.sum(axis=1, keepdims=True)


def _learn(part: Function, start: np.ndarray, n_steps: int, *_: Any) -> list[Any]:
    """The objective after a few steps of L-BFGS from `start`, and where they lead."""
    found = lbfgs(part, start, maxiter=n_steps, maxcor=_MEMORY)
    end = found.x.reshape(start.shape).astype(start.dtype)
    return [part(end)[0], end]


def excess(X: np.ndarray, V: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Σ_k w_k max(0, x_ik - v_sk) for every row i and class s, N x C."""
    out = np.zeros((X.shape[0], V.shape[0]), X.dtype)
    in_threads(lambda rows: _excess(X[rows], V, w, out[rows]), X.shape[0], _ROWS)
    return out


def excess_by_weights(X: np.ndarray, V: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Σ_is g_is max(0, x_ik - v_sk) for every column k: the gradient of Σ g_is excess_is in w."""
    out = np.zeros(X.shape[1], X.dtype)
    in_threads(lambda k: _excess_by_weights(X, V, G, k.start, k.stop, out), X.shape[1], _COLUMNS)
    return out


def rows_above(X: np.ndarray, V: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Σ_i g_is [x_ik > v_sk], C x d_t: minus w_k times it is the gradient of Σ g_is excess_is."""
    out = np.zeros(V.shape, X.dtype)
    in_threads(lambda k: _rows_above(X, V, G, k.start, k.stop, out), X.shape[1], _COLUMNS)
    return out


@free_order_kernel
def _excess(X, V, w, out):
    n_rows, width = X.shape
    zero = X.dtype.type(0)
    for first in range(0, n_rows, _ROWS):
        for low in range(0, width, _COLUMNS):
            high = min(width, low + _COLUMNS)
            weights = w[low:high]
            for i in range(first, min(n_rows, first + _ROWS)):
                x = X[i, low:high]
                for s in range(V.shape[0]):
                    v = V[s, low:high]
                    total = zero
                    for k in range(high - low):
                        total += weights[k] * max(x[k] - v[k], zero)
                    out[i, s] += total


@free_order_kernel
def _excess_by_weights(X, V, G, start, stop, out):
    zero = X.dtype.type(0)
    for low in range(start, stop, _COLUMNS):
        high = min(stop, low + _COLUMNS)
        total = out[low:high]
        for i in range(X.shape[0]):
            x = X[i, low:high]
            for s in range(V.shape[0]):
                v, g = V[s, low:high], G[i, s]
                for k in range(high - low):
                    total[k] += g * max(x[k] - v[k], zero)


@free_order_kernel
def _rows_above(X, V, G, start, stop, out):
    zero = X.dtype.type(0)
    for low in range(start, stop, _COLUMNS):
        high = min(stop, low + _COLUMNS)
        for i in range(X.shape[0]):
            x = X[i, low:high]
            for s in range(V.shape[0]):
                v, total, g = V[s, low:high], out[s, low:high], G[i, s]
                for k in range(high - low):
                    total[k] += g if x[k] > v[k] else zero
