"""SJE: a structured hinge, and several descriptions of the classes at once.

Akata, Reed, Walter, Lee and Schiele, "Evaluation of output embeddings for fine-grained image
classification", CVPR 2015.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from unseen.classes import ClassTable
from unseen.classes.checks import Group
from unseen.errors import InputError, listed
from unseen.estimators.bilinear import BilinearRanking
from unseen.metrics import per_class_accuracy
from unseen.model.ranking import Ranking, worst_hinge
from unseen.storage.checkpoint import Steps
from unseen.support.parameters import Choice, check_number, has_parameters, parameter
from unseen.training.minibatch import FEWEST_CLASSES, hold_out


@has_parameters
class SJE(BilinearRanking):
    """Structured joint embedding: a bilinear score for each description of the classes.

        min_V_k 1/N Σ_n max_{c≠y_n} [1 + x_n' V_k s_kc - x_n' V_k s_ky_n]_+ + λ/2 |V_k|²
        score(x, s) = Σ_k α_k x' V_k s_k,        α_k >= 0, Σ_k α_k = 1

    with rows x_n of class y_n and, for each group k of columns of the class table (see
    `ClassTable.beside`), descriptions s_kc of the seen classes. A table without groups is one
    group. Each V_k is learned by itself, and then their weights α, as in the source.

    Parameters
    ----------
    table_weights : α: "holdout" for those that recognise a fifth of the seen classes, held out,
        best, which costs a second training; "equal"; or a mapping of the names of groups to
        numbers, which are scaled to sum to one. With fewer than four seen classes "holdout" is
        "equal". A description that was itself learned from the seen classes does better on held-out
        ones than it will on unseen ones: give the weights then.

    All others are those of `BilinearRanking`; `class_scaler` works group by group, and
    `random_state` also chooses the held-out classes.

    Attributes
    ----------
    weights_ : the V_k side by side, d_t x d_s.
    table_weights_ : α, by the name of the group.
    history_ : the objective before the first and after each pass, summed over the groups.
    n_iter_ : passes over the rows that were made, the most of any group.
    """

    table_weights: str | Mapping[str, float] = parameter(
        "holdout", Choice("holdout", "equal"), Mapping
    )

    def _loss(self) -> Ranking:
        return worst_hinge

    def _fit_scaled(
        self, X: np.ndarray, labels: np.ndarray, table: ClassTable, steps: Steps
    ) -> None:
        groups = table.groups or (Group("all", 0, table.n_attributes - 1),)
        for group in groups:
            if np.ptp(table.vectors[:, group.columns], axis=0).max() == 0:
                raise InputError(
                    f"the group {group.name!r} of the class table describes every seen class by "
                    "the same vector: leave it out"
                )
        scaled = [self._scaled_classes(table.vectors[:, g.columns]) for g in groups]
        self.class_scalings_ = [scaling for scaling, _ in scaled]
        self.first_columns_ = np.array([g.first for g in groups])
        descriptions = [S for _, S in scaled]
        alphas = self._weights_of(groups, X, labels, descriptions, steps)
        self.table_weights_ = dict(zip([g.name for g in groups], alphas.tolist(), strict=True))
        trained = [self._learn(X, labels, S, steps) for S in descriptions]
        self.weights_ = np.hstack([t.weights[:, 0] for t in trained])
        self.n_iter_ = max(t.n_iter for t in trained)
        # A group that stopped early stays where it was.
        rest = [np.pad(t.history, (0, self.n_iter_ - t.n_iter), mode="edge") for t in trained]
        self.history_ = np.sum(rest, axis=0)

    # -- the weights of the groups --------------------------------------------------------------

    def _weights_of(
        self,
        groups: tuple[Group, ...],
        X: np.ndarray,
        labels: np.ndarray,
        S: list[np.ndarray],
        steps: Steps,
    ) -> np.ndarray:
        names = [g.name for g in groups]
        if isinstance(self.table_weights, Mapping):
            if set(self.table_weights) != set(names):
                raise InputError(
                    f"table_weights names {listed(self.table_weights)}, the groups of columns of "
                    f"the class table are {listed(names)}"
                )
            alphas = np.array([float(self.table_weights[name]) for name in names])
            return alphas / alphas.sum()
        if len(groups) == 1 or self.table_weights == "equal" or len(S[0]) < FEWEST_CLASSES:
            return np.full(len(groups), 1 / len(groups))
        return self._learned_weights(X, labels, S, steps)

    def _learned_weights(
        self, X: np.ndarray, labels: np.ndarray, S: list[np.ndarray], steps: Steps
    ) -> np.ndarray:
        """Those of a grid with which held-out classes are recognised best, the mean of equals."""
        scores, own = [], labels
        for description in S:
            problem, _ = self._problem(X, labels, description)
            kept, held = hold_out(problem, self.random_state)
            V = self._train(kept, steps).weights
            scores.append(np.concatenate([held.scores(V, rows) for rows in held.blocks()]))
            own = held.labels  # the same for every description
        grid = simplex_grid(len(S))
        mixed = (np.tensordot(alphas, scores, axes=1) for alphas in grid)
        accuracies = np.array([per_class_accuracy(own, m.argmax(axis=1)) for m in mixed])
        return grid[accuracies == accuracies.max()].mean(axis=0)

    # -- test time ------------------------------------------------------------------------------

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        parts = np.split(table.vectors, self.first_columns_[1:], axis=1)
        weighted = zip(self.table_weights_.values(), self.class_scalings_, parts, strict=True)
        return np.hstack([alpha * scaling(part) for alpha, scaling, part in weighted])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.table_weights, Mapping):
            for name, value in self.table_weights.items():
                check_number(value, f"table_weights[{name!r}]", 0)
            if not any(self.table_weights.values()):
                raise InputError("table_weights must have a number above zero")


def simplex_grid(n_weights: int, most: int = 300) -> np.ndarray:
    """Weights that sum to one, in equal steps: tenths, or coarser ones to be `most` at most."""
    fits = (n for n in range(10, 1, -1) if math.comb(n + n_weights - 1, n) <= most)
    n_steps = next(fits, 1)
    bars = itertools.combinations(range(n_steps + n_weights - 1), n_weights - 1)
    ends = np.array([[-1, *b, n_steps + n_weights - 1] for b in bars])
    return (np.diff(ends, axis=1) - 1) / n_steps
