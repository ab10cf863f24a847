"""Mini-batches of rows against all seen classes at once: the engine of the ranking methods.

    J(V) = 1/N Σ_n loss(F(x_n, ·), y_n) + λ/2 Σ_k |V_k|²,        F(x, s) = max_k x' V_k s

with K maps V_k (d x r each; one map for a plain bilinear score), kept as one array d x K x r.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from unseen.classes.splits import ClassHoldout
from unseen.model.ranking import Ranking
from unseen.rows.blocks import array_blocks, row_blocks, sum_of_squares
from unseen.rows.scaling import RowScaling
from unseen.storage.checkpoint import Note, Steps
from unseen.support.work import tell

# AdaGrad moves no weight by more than the rate in a step; this share of the radius that holds the
# minimiser is near the best on problems of all sizes.
_RATE = 0.12
_FEWEST_BATCHES = 10
FEWEST_CLASSES = 4  # of which two can be held out


@dataclass(frozen=True)
class Problem:
    """The rows, the classes, the loss and the penalty of J.

    X : rows as they are (N x d); only mini-batches of them are ever scaled.
    index, labels : the rows of X that take part, and the class of each, a row of S.
    S : scaled descriptions, C x r.
    """

    X: np.ndarray
    scaling: RowScaling
    index: np.ndarray
    labels: np.ndarray
    S: np.ndarray
    loss: Ranking
    penalty: float

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        scaling: RowScaling,
        labels: np.ndarray,
        S: np.ndarray,
        loss: Ranking,
        penalty: float,
    ) -> Problem:
        """The problem with its rows in an order of their own, whatever order they come in."""
        index = own_order(X, scaling, labels)
        return cls(X, scaling, index, labels[index], S.astype(X.dtype), loss, penalty)

    def rows(self, numbers: np.ndarray | slice) -> np.ndarray:
        """Some of the rows, scaled."""
        return self.scaling(self.X[self.index[numbers]])

    def blocks(self) -> list[slice]:
        return list(row_blocks(self.index.size, self.X.shape[1] * self.X.itemsize))

    def scores(self, V: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
        """F of some of the rows with all classes, n x C."""
        return map_scores(self.rows(rows), V, self.S).max(axis=1)

    def objective(self, V: np.ndarray) -> float:
        """J, in one pass over the rows."""
        total = 0.0
        for rows in self.blocks():
            losses = self.loss(self.scores(V, rows), self.labels[rows]).values
            total += float(losses.sum(dtype=np.float64))
        return total / self.index.size + 0.5 * self.penalty * sum_of_squares(V.reshape(len(V), -1))

    def gradient(self, V: np.ndarray, numbers: np.ndarray | slice) -> np.ndarray:
        """The gradient of J with the mean taken over these rows alone, d x K x r."""
        X = self.rows(numbers)
        by_map = map_scores(X, V, self.S)
        push = self.loss(by_map.max(axis=1), self.labels[numbers]).gradient / X.dtype.type(len(X))
        if V.shape[1] == 1:
            pull = push @ self.S
        else:  # a score belongs to the map that gave it
            best = by_map.argmax(axis=1)[:, None] == np.arange(V.shape[1])[:, None]
            pull = (best * push[:, None]) @ self.S
        gradient = (X.T @ pull.reshape(len(X), -1)).reshape(V.shape)
        gradient += V.dtype.type(self.penalty) * V
        return gradient

    def shares(self, V: np.ndarray) -> np.ndarray:
        """The share of rows whose own class gets its score from each map, K numbers."""
        chosen = np.zeros(V.shape[1])
        for rows in self.blocks():
            by_map = map_scores(self.rows(rows), V, self.S)
            own = by_map[np.arange(len(by_map)), :, self.labels[rows]]
            chosen += np.bincount(own.argmax(axis=1), minlength=V.shape[1])
        return chosen / self.index.size

    def radius(self) -> float:
        """√(2 J(0) / λ): no |V| beyond it can have a J below J(0)."""
        zero = self.loss(np.zeros((1, len(self.S))), np.zeros(1, dtype=np.intp)).values[0]
        return float(np.sqrt(2 * zero / self.penalty))

    def zeros(self) -> np.ndarray:
        """One map of zeros, from which a convex problem may begin."""
        return np.zeros((self.X.shape[1], 1, self.S.shape[1]), dtype=self.X.dtype)


def own_order(X: np.ndarray, scaling: RowScaling, labels: np.ndarray) -> np.ndarray:
    """Row numbers by class and place, so that the order rows come in does not matter."""
    direction = np.random.default_rng(0).standard_normal(X.shape[1]).astype(X.dtype)
    place = np.concatenate([scaling(X[rows]) @ direction for rows in array_blocks(X)])
    return np.lexsort((place, labels))


def map_scores(X: np.ndarray, V: np.ndarray, S: np.ndarray) -> np.ndarray:
    """x' V_k s of scaled rows with all maps and classes, n x K x C."""
    codes = X @ V.reshape(V.shape[0], -1)
    return codes.reshape(len(X), *V.shape[1:]) @ S.T


@dataclass(frozen=True)
class Schedule:
    """How long to train.

    max_iter : passes over the rows.
    tol : stop when a pass lowers J by less than this share; 0 makes all passes.
    batch_size : rows per step; fewer where a pass would have less than ten steps.
    random_state : seed of the order of the rows, which is new in every pass.
    """

    max_iter: int = 20
    tol: float = 1e-3
    batch_size: int = 128
    random_state: int = 0


class Trained(NamedTuple):
    """Averaged weights (d x K x r), the squares of AdaGrad to continue with, and J before the first
    and after each pass."""

    weights: np.ndarray
    squares: np.ndarray
    history: np.ndarray

    @property
    def n_iter(self) -> int:
        """The number of passes."""
        return len(self.history) - 1


class _Descent:
    """AdaGrad, and the mean of its weights in which step t counts t times."""

    def __init__(self, start: np.ndarray, squares: np.ndarray | None, rate: float) -> None:
        self.weights, self.average = start.copy(), start.copy()
        self.squares = np.zeros_like(start) if squares is None else squares.copy()
        self.rate, self.n_steps = start.dtype.type(rate), 0

    def step(self, gradient: np.ndarray) -> None:
        self.n_steps += 1
        self.squares += gradient * gradient
        gradient *= self.rate
        length = np.sqrt(self.squares)
        np.divide(gradient, length, out=gradient, where=length > 0)
        self.weights -= gradient
        np.subtract(self.weights, self.average, out=length)
        length *= length.dtype.type(2 / (self.n_steps + 1))
        self.average += length

    def keep(self, maps: np.ndarray) -> None:
        self._set(*(a[:, maps] for a in (self.weights, self.average, self.squares)))

    def state(self) -> list[Any]:
        return [self.weights.copy(), self.average.copy(), self.squares.copy(), self.n_steps]

    def restore(self, *state: Any) -> None:
        self._set(*state[:3])
        self.n_steps = state[3]

    def _set(self, *arrays: np.ndarray) -> None:
        self.weights, self.average, self.squares = (np.array(a, order="C") for a in arrays)


Prune = Callable[[int, np.ndarray], np.ndarray | None]


def minimise(
    problem: Problem,
    schedule: Schedule,
    start: np.ndarray | None = None,
    squares: np.ndarray | None = None,
    *,
    steps: Steps | None = None,
    prune: Prune | None = None,
) -> Trained:
    """Lower J by mini-batches from `start`, or from one map of zeros; `squares` are those of the
    training that led to `start`, so that the first steps are not larger than its last.

    After each pass `prune(n_passes, V)` says which maps to keep, None for all of them, and the
    state is noted; this is one of `steps`.
    """
    start = problem.zeros() if start is None else start
    descent = _Descent(start, squares, _RATE * problem.radius() / np.sqrt(start[:, 0].size))

    def train(found: list[Any] | None, note: Note | None) -> list[Any]:
        rng = np.random.default_rng(schedule.random_state)
        history, is_flat = [], False
        if found is None:
            history.append(problem.objective(start))
        else:
            history, is_flat = found[:2]
            descent.restore(*found[2:])
        for n_passes in range(1, schedule.max_iter + 1):
            if is_flat:
                break
            batches = _batches(rng, problem.index.size, schedule.batch_size)
            if n_passes < len(history):
                continue  # made before the fit was stopped
            tell(f"pass {n_passes} of at most {schedule.max_iter}")
            for numbers in batches:
                descent.step(problem.gradient(descent.weights, numbers))
            kept = prune(n_passes, descent.average) if prune else None
            if kept is not None:
                descent.keep(kept)
            history.append(problem.objective(descent.average))
            stalls = schedule.tol > 0 and history[-2] - history[-1] < schedule.tol * history[-2]
            is_flat = n_passes > 1 and kept is None and stalls
            if note is not None:
                note([history[:], is_flat, *descent.state()])
        return [descent.average, descent.squares, np.array(history)]

    return Trained(*(Steps() if steps is None else steps).run(train))


def _batches(rng: np.random.Generator, n_rows: int, batch_size: int) -> list[np.ndarray]:
    """Row numbers in random order, in batches of equal size."""
    n_batches = max(-(-n_rows // batch_size), _FEWEST_BATCHES)
    return np.array_split(rng.permutation(n_rows), min(n_batches, n_rows))


def hold_out(problem: Problem, random_state: int) -> tuple[Problem, Problem]:
    """The problem without a fifth of its classes, and that of those classes alone."""
    parts = next(ClassHoldout(0.2, 1, random_state).split(problem.labels, problem.labels))
    return _part(problem, parts[0]), _part(problem, parts[1])


def _part(problem: Problem, rows: np.ndarray) -> Problem:
    classes, labels = np.unique(problem.labels[rows], return_inverse=True)
    return replace(problem, index=problem.index[rows], labels=labels, S=problem.S[classes])
