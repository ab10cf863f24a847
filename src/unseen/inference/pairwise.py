"""Algorithm 3: at test time every pair of a class and a row has codes of its own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unseen.inference.decision import decision_scores
from unseen.inference.scorer import Candidates, Scorer, Testing
from unseen.model.latent import LatentModel
from unseen.rows.blocks import row_blocks
from unseen.solvers.pair_codes import PairCodes
from unseen.support.checks import POSITIVE, Constraints
from unseen.support.registry import register


@register("algorithm 3")
class Algorithm3(Testing):
    """Codes of their own for every pair (Algorithm 3), scored by Eq. (gen_dec).

        F_ij = max over z_s, z_t of log p_B(z_s | x_i) + log p_D(z_t | x_j) + log p_W(+1 | z_s, z_t)

    λ are those of Algorithm 2 as the paper prints it, where every pair pulls at a code with weight
    1: in J, which is divided by C N, they are λ^(s) N and λ^(t) C. With the λ of J itself one pair
    would pull as hard as all pairs of a class or a row together; codes would follow it anywhere at
    next to no cost, and what tells classes apart would be log p_B alone. log p_W weighs what that
    of a positive pair weighs in J.

    Decision 2 takes off what the best codes of a class alone cost, as it does without Algorithm 3;
    decision 1 does not. Seen classes are in no way special.

    Parameters
    ----------
    source_fit, target_fit : λ2s and λ2t beside one pair; None for those of training.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "source_fit": [POSITIVE, None],
        "target_fit": [POSITIVE, None],
    }

    def __init__(self, source_fit: float | None = None, target_fit: float | None = None) -> None:
        self.source_fit = source_fit
        self.target_fit = target_fit

    def on(self, model: LatentModel, decision: int) -> Scorer:
        return PairScorer(model, decision, self)


class PairScorer(Scorer):
    """Pairs scored at their own best codes.

    Codes are those of the maximum with the paper's log p_W, which is 0 once the margin is kept: a
    margin that went on to pay would have codes run away together, and F no upper bound. The best
    log p_D of the row is left out: it is the same for all classes.
    """

    def __init__(self, model: LatentModel, decision: int, choices: Algorithm3) -> None:
        super().__init__(model, decision)
        n_rows, n_classes = (1, 1) if model.is_coupled else (len(model.Zt), len(model.Zs))
        # λ2s of decision 2, and λ2s and λ2t against which a pair pulls.
        self.source_fit = choices.source_fit or model.source_fit
        self._source_fit = choices.source_fit or model.source_fit * n_rows
        self._target_fit = choices.target_fit or model.target_fit * n_classes

    def candidates(self, S: np.ndarray, seen: np.ndarray) -> Candidates:
        model, Zs = self.model, self.embed_classes(S)
        pairs = PairCodes(
            S @ model.B, model.source_gram, model.target_gram, model.W, model.b,
            source_shrink=model.source_shrinkage * self._source_fit, source_fit=self._source_fit,
            target_shrink=model.target_shrinkage * self._target_fit, target_fit=self._target_fit,
            which=model.source_set, loss=model.loss,
        )  # fmt: skip
        fit = None if self.decision == 1 else model.source_cost(S, Zs, self.source_fit)
        return Candidates(Zs, fit, np.zeros(len(S)), seen >= 0, pairs)

    def scores(self, XD: np.ndarray, candidates: Candidates) -> np.ndarray:
        assert candidates.pairs is not None
        model, pairs, n_classes = self.model, candidates.pairs, candidates.is_seen.size
        own = 0.0 if candidates.fit is None else candidates.fit
        scores = np.empty((XD.shape[0], n_classes), dtype=XD.dtype)
        for rows in row_blocks(XD.shape[0], 8 * (XD.shape[1] + 8 * n_classes)):
            signs = np.ones((len(XD[rows]), n_classes), np.int8)
            found = pairs.solve(XD[rows], signs, model.positive_weight * signs)
            moves = (found.source - pairs.own_fit + found.target) / model.positive_weight
            scores[rows] = decision_scores(found.scores, model.loss, model.link, own + moves)
        return scores
