"""Algorithm 3: at test time every pair of a class and a row has codes of its own."""

from __future__ import annotations

import numpy as np

from unseen.blocks import row_blocks
from unseen.inference.decision import decision_scores
from unseen.inference.latent import Candidates, Latent, TestTime
from unseen.model.objective import Codes
from unseen.solvers.pair_codes import PairCodes


class PairwiseLatent(Latent):
    """A trained model whose pairs are scored by Eq. (gen_dec).

        F_ij = max over z_s, z_t of log p_B(z_s | x_i) + log p_D(z_t | x_j) + log p_W(+1 | z_s, z_t)

    Codes are those of the maximum with the paper's log p_W, which is 0 once the margin is kept: a
    margin that went on to pay would have codes run away together, and F no upper bound. With link
    "saturating" the score is this F. With "margin" it is read off at the same codes with log p_W
    the margin itself, so that pairs that need not move are told apart by how well they match, not
    by log p_B alone. The best log p_D of the row is left out: it is the same for all classes.

    λ2s and λ2t are those of test time, beside a pair of weight 1.
    """

    def candidates(self, S: np.ndarray, seen: np.ndarray) -> Candidates:
        """Classes by their descriptions; `seen` ones are in no way special to Algorithm 3."""
        choices, codes = self.choices, self.codes
        fit, target_fit = choices.source_fit, choices.target_fit
        pairs = PairCodes(
            S @ codes.B, codes.B.T @ codes.B, self._gram, codes.W, codes.b,
            source_shrink=choices.source_shrinkage * fit, source_fit=fit,
            target_shrink=choices.target_shrinkage * target_fit, target_fit=target_fit,
            which=choices.source_set, loss=choices.loss,
        )  # fmt: skip
        # Decision 1 counts by how much p_B rises above its minimum, decision 2 all of it.
        constant = 0.5 * fit * np.sum(np.square(S, dtype=np.float64), axis=1)
        if choices.decision == 1:
            constant = -pairs.own_fit
        return Candidates(self.embed_classes(S), constant, np.zeros(len(S)), seen >= 0, pairs)

    def scores(self, XD: np.ndarray, candidates: Candidates) -> np.ndarray:
        """Scores of all candidates, N x C', a block of pairs at a time."""
        assert candidates.pairs is not None
        assert candidates.fit is not None
        n_classes = candidates.is_seen.size
        scores = np.empty((XD.shape[0], n_classes), dtype=XD.dtype)
        for rows in row_blocks(XD.shape[0], 8 * (XD.shape[1] + 8 * n_classes)):
            weights = np.ones((len(XD[rows]), n_classes))
            found = candidates.pairs.solve(XD[rows], weights.astype(np.int8), weights)
            fit = candidates.fit + found.source + found.target
            scores[rows] = decision_scores(found.scores, self.choices.loss, self.choices.link, fit)
        return scores


def latent_of(codes: Codes, choices: TestTime) -> Latent:
    """The model at test time, with codes by instance or by pair as chosen."""
    return (PairwiseLatent if choices.inference == "pairwise" else Latent)(codes, choices)
