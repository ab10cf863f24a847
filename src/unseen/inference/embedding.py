"""Algorithm 4: test-time embedding that knows that nothing unseen matches anything seen.

A class that is revealed at test time has no training row, and a row of such a class belongs to no
seen class: all their pairs with training data are negative.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from unseen.inference.scorer import Scorer, Testing
from unseen.model.latent import LatentModel
from unseen.pairs.loss import Pairs
from unseen.solvers.block import Effort
from unseen.solvers.source_codes import fit_source_codes_with_pairs
from unseen.solvers.target_codes import TargetSolver
from unseen.support.parameters import NOT_NEGATIVE, POSITIVE, has_parameters, parameter
from unseen.support.registry import register
from unseen.support.work import threads_for

# Rows from which quantiles of scores are taken.
SAMPLE = 3000
_LEVEL = 0.98


@register("algorithm 4")
@has_parameters
class Algorithm4(Testing):
    """Test-time estimation of codes (Algorithm 4).

        z_i' <- argmax log p_B(z | x_i') + Σ_j log p_W(-1 | z, z_j)        over training rows j
        z_j' <- argmax log p_D(z | x_j') + Σ_i log p_W(-1 | z_i, z)        over seen classes i

    Pairs weigh what a negative pair weighs in J. Rows meet the seen classes, where these are among
    the candidates, with the code of the data fit: of them the premise does not hold.

    Parameters
    ----------
    source_fit, target_fit : λ2s and λ2t; None for those of training, as in the paper. λ1s/λ2s and
        λ1t/λ2t are always those of training. Decision 2 counts -log p_B with this λ2s.
    offset : how much of its level on the training rows a new class loses; 0 in the paper.
    tol : duality gap at which a code counts as found.
    """

    source_fit: float | None = parameter(None, POSITIVE, None)
    target_fit: float | None = parameter(None, POSITIVE, None)
    offset: float = parameter(0.0, NOT_NEGATIVE)
    tol: float = parameter(1e-4, POSITIVE)

    def on(self, model: LatentModel, decision: int) -> Scorer:
        return AwayScorer(model, decision, self)


class AwayScorer(Scorer):
    """Codes of Algorithm 4 for what is unseen."""

    def __init__(self, model: LatentModel, decision: int, choices: Algorithm4) -> None:
        super().__init__(model, decision)
        self.source_fit = choices.source_fit or model.source_fit
        self.target_fit = choices.target_fit or model.target_fit
        self._offset, self._effort = choices.offset, Effort(choices.tol)

    def _pairs(self, n_rows: int, n_classes: int, n_training: int) -> Pairs:
        """Pairs none of which match, with the ω of a negative pair in J over so many rows."""
        omega = self.model.negative_weight / (self.model.Zs.shape[0] * n_training)
        return Pairs.negative(n_rows, n_classes, omega, self.model.loss)

    def embed_classes(self, S: np.ndarray) -> np.ndarray:
        model = self.model
        ridge = model.source_ridge(self.source_fit, 1.0 / len(model.Zs))
        squares = np.square(S, dtype=np.float64)
        options: dict[str, Any] = {"bias": model.away_bias, "effort": self._effort}
        options["s_sq"] = squares.sum(axis=1)
        with threads_for(model.n_rows * model.W.shape[1] * len(S)):
            SB, F = S @ model.B, model.away_pulls()
            # Rows that stand for all have the weight of all.
            pairs = self._pairs(len(F), len(S), len(F))
            found = fit_source_codes_with_pairs(SB, ridge, F, pairs, model.source_set, **options)
        return found.value

    @cached_property
    def _rows(self) -> TargetSolver:
        model = self.model
        ridge = model.target_ridge(self.target_fit, 1.0 / model.n_rows)
        return TargetSolver(ridge, model.Zs @ model.W, model.away_bias, self._effort)

    def embed_rows(self, XD: np.ndarray, seen: bool = False) -> np.ndarray:
        if seen:
            return self.model.embed_rows(XD)
        n_classes = len(self.model.Zs)
        with threads_for(XD.size * n_classes):
            pairs = self._pairs(len(XD), n_classes, self.model.n_rows)
            return self._rows.solve(XD, pairs).value

    def gallery_codes(self, XD: np.ndarray) -> np.ndarray:
        return np.hstack([self.embed_rows(XD, seen=seen) for seen in (False, True)])

    def _half(self, seen: bool) -> slice:
        width = self.model.W.shape[1]
        return slice(width, 2 * width) if seen else slice(0, width)

    def offsets(self, Zs: np.ndarray) -> np.ndarray:
        return self._offset * class_levels(self.model, Zs) if self._offset else super().offsets(Zs)


def class_levels(model: LatentModel, Zs: np.ndarray) -> np.ndarray:
    """The 98 % quantile over training rows j of z_i' W z_j + b for each new class i, C' values.

    No training row is of a class that is revealed at test time, so one that scores high on many of
    them scores high on everything. The hinges of Algorithm 4 press such a class down, and bend its
    code in doing so. Taking a part of this level off its scores does the same by one number per
    class: the code stays where its description puts it, and no ranking within a class changes.
    """
    pulls = model.away_pulls()
    scores = pulls[:: max(1, len(pulls) // SAMPLE)] @ Zs.T
    return np.quantile(scores, _LEVEL, axis=0) + scores.dtype.type(model.b)
