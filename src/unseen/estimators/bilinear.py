"""What ALE, SJE, DeViSE and LatEm share: bilinear maps learned from a ranking loss."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.base import ResumableClassifier
from unseen.estimators.scaled import ScaledClassifier
from unseen.model.ranking import Ranking
from unseen.rows.scaling import ClassScaling
from unseen.storage.checkpoint import Steps
from unseen.support.parameters import NOT_NEGATIVE, POSITIVE, at_least, has_parameters, parameter
from unseen.support.work import threads_for
from unseen.training.minibatch import Problem, Schedule, Trained, minimise


@has_parameters
class BilinearRanking(ScaledClassifier, ResumableClassifier):
    """A score x' V s, with V learned from a ranking loss by mini-batches.

        min_V 1/N Σ_n loss(x_n' V S', y_n) + λ/2 |V|²

    A method gives `_loss`. Its parameters are these, and perhaps some of its own.

    Parameters
    ----------
    penalty : λ, in units in which rows and descriptions have a mean square length of one.
    max_iter : passes over the rows.
    tol : stop when a pass lowers the objective by less than this share; 0 makes all passes.
    batch_size : rows per step.
    random_state : seed of the order in which rows are visited.

    Attributes
    ----------
    weights_ : V, d_t x d_s.
    history_ : the objective before the first and after each pass.
    n_iter_ : passes over the rows that were made.
    """

    row_reading = "rounds"

    penalty: float = parameter(2e-4, POSITIVE, tries=[2e-5, 6e-5, 2e-4, 6e-4, 2e-3])
    _: KW_ONLY
    max_iter: int = parameter(20, at_least(1))
    tol: float = parameter(1e-3, NOT_NEGATIVE)
    batch_size: int = parameter(128, at_least(1))
    random_state: int = parameter(0, at_least(0), None)

    def _loss(self) -> Ranking:
        raise TypeError(f"{type(self).__name__} must define _loss")

    # -- training -------------------------------------------------------------------------------

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        work = X.shape[0] * X.shape[1] * table.n_classes
        with threads_for(work), self._checkpoint(X, labels, table) as checkpoint:
            # A mean square length of one is what the penalty and the steps are counted in.
            self.scaling_ = self._part("row_scaler").learn(X, unit_scale=True)
            self._fit_scaled(X, labels, table, Steps(checkpoint))

    def _fit_scaled(
        self, X: np.ndarray, labels: np.ndarray, table: ClassTable, steps: Steps
    ) -> None:
        self.class_scaling_, S = self._scaled_classes(table.vectors)
        trained = self._learn(X, labels, S, steps)
        self.weights_ = trained.weights.reshape(X.shape[1], -1)
        self.history_, self.n_iter_ = trained.history, trained.n_iter

    def _scaled_classes(self, vectors: np.ndarray) -> tuple[ClassScaling, np.ndarray]:
        S = vectors.astype(np.float64)
        scaling = self._part("class_scaler").learn(S)
        return scaling, scaling(S)

    def _learn(self, X: np.ndarray, labels: np.ndarray, S: np.ndarray, steps: Steps) -> Trained:
        """Train on scaled descriptions S (C x d_s); the maps come back in its columns."""
        problem, axes = self._problem(X, labels, S)
        trained = self._train(problem, steps)
        return trained._replace(weights=trained.weights @ axes.astype(X.dtype))

    def _problem(
        self, X: np.ndarray, labels: np.ndarray, S: np.ndarray
    ) -> tuple[Problem, np.ndarray]:
        """The problem in coordinates of the span of S, r <= C of them, and the way back, r x d_s.

        V never leaves that span, and in it the products are smaller where d_s > C.
        """
        _, lengths, axes = np.linalg.svd(S, full_matrices=False)
        axes = axes[lengths > 1e-6 * lengths[0]]
        axes /= np.sqrt(np.mean(np.sum(S**2, axis=1)))
        problem = Problem.of(X, self.scaling_, labels, S @ axes.T, self._loss(), self.penalty)
        return problem, axes

    def _schedule(self) -> Schedule:
        return Schedule(self.max_iter, self.tol, self.batch_size, self.random_state)

    def _train(self, problem: Problem, steps: Steps) -> Trained:
        return minimise(problem, self._schedule(), steps=steps)
