"""LatEm: several bilinear maps, of which each pair of a row and a class takes the best.

Xian, Akata, Sharma, Nguyen, Hein and Schiele, "Latent embeddings for zero-shot classification",
CVPR 2016.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.bilinear import BilinearRanking
from unseen.model.ranking import Ranking, sum_of_hinges
from unseen.storage.checkpoint import Steps
from unseen.support.parameters import NOT_NEGATIVE, SHARE, at_least, has_parameters, parameter
from unseen.training.minibatch import Problem, Trained, minimise

_PASSES_BETWEEN_PRUNING = 5


@has_parameters
class LatEm(BilinearRanking):
    """Latent embeddings: a piecewise bilinear score.

        min_V 1/N Σ_n Σ_{c≠y_n} [1 + F(x_n, s_c) - F(x_n, s_{y_n})]_+ + λ/2 Σ_k |V_k|²
        score F(x, s) = max_{k<=K} x' V_k s

    with rows x_n of class y_n and descriptions s_c of the seen classes. A map that the scores of
    few rows with their own class come from is dropped on the way. The objective is not convex: the
    maps begin as the best single map (DeViSE's), each with random changes of its own.

    Parameters
    ----------
    n_maps : K at the start.
    least_share : every five passes, maps chosen by less than this share of the rows are dropped.
    spread : size of the random changes with which the maps begin, in units of |V|.

    All others are those of `BilinearRanking`; `max_iter` counts the passes with the single map, and
    again those with all maps. `random_state` is also the seed of the random changes.

    Attributes
    ----------
    weights_ : the maps that are left side by side, d_t x (K d_s).
    n_maps_ : how many there are.
    history_ : the objective of all maps before the first and after each pass.
    n_iter_ : passes over the rows that were made with all maps.
    """

    penalty: float = parameter(1e-3, tries=[3e-4, 1e-3, 3e-3])
    _: KW_ONLY
    n_maps: int = parameter(2, at_least(1), tries=[2, 4, 6])
    least_share: float = parameter(0.05, SHARE)
    spread: float = parameter(0.3, NOT_NEGATIVE)
    max_iter: int = 10

    def _loss(self) -> Ranking:
        return sum_of_hinges

    def _fit_scaled(
        self, X: np.ndarray, labels: np.ndarray, table: ClassTable, steps: Steps
    ) -> None:
        super()._fit_scaled(X, labels, table, steps)
        self.n_maps_ = self.weights_.shape[1] // table.n_attributes

    def _train(self, problem: Problem, steps: Steps) -> Trained:
        single = super()._train(problem, steps)
        shape = (len(single.weights), self.n_maps, single.weights.shape[2])
        noise = np.random.default_rng(self.random_state).standard_normal(shape)
        noise *= self.spread * np.sqrt(np.mean(np.square(single.weights, dtype=np.float64)))
        start = single.weights + noise.astype(single.weights.dtype)
        squares = np.repeat(single.squares, self.n_maps, axis=1)

        def prune(n_passes: int, V: np.ndarray) -> np.ndarray | None:
            if n_passes % _PASSES_BETWEEN_PRUNING or V.shape[1] == 1:
                return None
            shares = problem.shares(V)
            kept = np.flatnonzero(shares >= min(self.least_share, shares.max()))
            return None if kept.size == shares.size else kept

        return minimise(problem, self._schedule(), start, squares, steps=steps, prune=prune)

    def _gallery_scores(self, codes: np.ndarray, prepared: np.ndarray) -> np.ndarray:
        by_map = codes.reshape(len(codes), self.n_maps_, -1) @ prepared.T.astype(codes.dtype)
        return by_map.max(axis=1)

    def _gallery_queries(self, prepared: np.ndarray) -> None:
        """The largest of several products is none."""
