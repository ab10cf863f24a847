"""Algorithm 3: at test time every pair of a class and a row has codes of its own."""

from __future__ import annotations

import numpy as np

from unseen.blocks import row_blocks
from unseen.inference.decision import decision_scores
from unseen.inference.scorer import Candidates, Scorer, Testing, check_fits
from unseen.model.latent import LatentModel
from unseen.solvers.pair_codes import PairCodes


class Algorithm3(Testing):
    """Codes of their own for every pair (Algorithm 3), scored by Eq. (gen_dec).

        F_ij = max over z_s, z_t of log p_B(z_s | x_i) + log p_D(z_t | x_j) + log p_W(+1 | z_s, z_t)

    log p_W weighs what that of a positive pair weighs in J: 1 in Eq. (gen_sim). Decision 2 is F;
    decision 1 leaves out what the best codes of a class alone cost. Seen classes are in no way
    special.

    Parameters
    ----------
    source_fit, target_fit : λ2s and λ2t; None for those of training, as in the paper.
    """

    def __init__(self, source_fit: float | None = None, target_fit: float | None = None) -> None:
        self.source_fit = source_fit
        self.target_fit = target_fit

    def _check_parameters(self) -> None:
        check_fits(self.source_fit, self.target_fit)

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
        self.source_fit = choices.source_fit or model.source_fit
        self.target_fit = choices.target_fit or model.target_fit

    def candidates(self, S: np.ndarray, seen: np.ndarray) -> Candidates:
        model = self.model
        pairs = PairCodes(
            S @ model.B, model.source_gram, model.target_gram, model.W, model.b,
            source_shrink=model.source_shrinkage * self.source_fit, source_fit=self.source_fit,
            target_shrink=model.target_shrinkage * self.target_fit, target_fit=self.target_fit,
            which=model.source_set, loss=model.loss,
        )  # fmt: skip
        # Decision 1 counts by how much p_B rises above its minimum, decision 2 all of it.
        constant = 0.5 * self.source_fit * np.sum(np.square(S, dtype=np.float64), axis=1)
        if self.decision == 1:
            constant = -pairs.own_fit
        return Candidates(self.embed_classes(S), constant, np.zeros(len(S)), seen >= 0, pairs)

    def scores(self, XD: np.ndarray, candidates: Candidates) -> np.ndarray:
        assert candidates.pairs is not None
        assert candidates.fit is not None
        model, n_classes = self.model, candidates.is_seen.size
        scores = np.empty((XD.shape[0], n_classes), dtype=XD.dtype)
        for rows in row_blocks(XD.shape[0], 8 * (XD.shape[1] + 8 * n_classes)):
            signs = np.ones((len(XD[rows]), n_classes), np.int8)
            found = candidates.pairs.solve(XD[rows], signs, model.positive_weight * signs)
            fit = (candidates.fit + found.source + found.target) / model.positive_weight
            scores[rows] = decision_scores(found.scores, model.loss, model.link, fit)
        return scores
