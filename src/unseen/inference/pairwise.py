"""Algorithm 3: at test time every pair of a class and a row has codes of its own."""

from __future__ import annotations

import numpy as np

from unseen.inference.scorer import Candidates, Scorer, Testing, decision_scores
from unseen.model.latent import LatentModel
from unseen.pairs.loss import is_squared
from unseen.rows.blocks import row_blocks
from unseen.solvers.block import Ridge
from unseen.solvers.pair_codes import PairBlock, PairCodes
from unseen.solvers.simplex import quadratic
from unseen.support.parameters import POSITIVE, has_parameters, parameter
from unseen.support.registry import register

_NEAR_POLE = 1 - 1e-9
_HALVINGS = 60


@register("algorithm 3")
@has_parameters
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

    source_fit: float | None = parameter(None, POSITIVE, None)
    target_fit: float | None = parameter(None, POSITIVE, None)

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
        n_rows, n_classes = (1, 1) if model.is_coupled else (model.n_rows, len(model.Zs))
        # λ2s of decision 2, and λ2s and λ2t against which a pair pulls.
        self.source_fit = choices.source_fit or model.source_fit
        self._source_fit = choices.source_fit or model.source_fit * n_rows
        self._target_fit = choices.target_fit or model.target_fit * n_classes

    def candidates(self, S: np.ndarray, seen: np.ndarray) -> Candidates:
        model, Zs = self.model, self.embed_classes(S)
        source = model.source_ridge(self._source_fit)
        target = model.target_ridge(self._target_fit)
        if model.source_set == "simplex":
            pairs = PairCodes(S @ model.B, source, target, model.W, model.b, loss=model.loss)
        else:
            pairs = LinearPairs(model, S @ model.B, source, target)
        fit = None if self.decision == 1 else model.source_cost(S, Zs, self.source_fit)
        return Candidates(Zs, fit, np.zeros(len(S)), seen >= 0, pairs)

    def scores(self, XD: np.ndarray, candidates: Candidates) -> np.ndarray:
        model, pairs, n_classes = self.model, candidates.pairs, candidates.is_seen.size
        own = 0.0 if candidates.fit is None else candidates.fit
        scores = np.empty((XD.shape[0], n_classes), dtype=XD.dtype)
        for rows in row_blocks(XD.shape[0], 8 * n_classes * XD.shape[1]):
            omega = np.full((len(XD[rows]), n_classes), float(model.positive_weight))
            found = pairs.solve(XD[rows], omega)
            moves = (found.source - pairs.own_fit + found.target) / model.positive_weight
            scores[rows] = decision_scores(found.scores, model.loss, model.link, own + moves)
        return scores

    def gallery_codes(self, XD: np.ndarray) -> np.ndarray:
        return XD

    def gallery_scores(self, codes: np.ndarray, candidates: Candidates) -> np.ndarray:
        return self.scores(codes, candidates)

    def gallery_queries(self, candidates: Candidates) -> None:
        """Each pair has codes of its own."""


class LinearPairs:
    """`PairCodes` of matching pairs where source codes are affine or free, as in model files of the
    first format: a global minimum, since such a pair problem has no duality gap.

    In the coordinates that make H_s^-1/2 W H_t^-1/2 diagonal, with entries σ, the score is
    s = Σ_k (σ_k a_k + q_k) c_k + b, p_B and p_D are |a - a_i|²/2 and |c - c_j|²/2 above their
    minima, and the best codes with multiplier τ are

        c = (c_j + τ A_i) / (1 - τ² σ²),   a = a_i + τ σ c,   A_i = σ a_i + q

    where s rises with τ, so that its best value is a root.
    """

    def __init__(self, model: LatentModel, SB: np.ndarray, source: Ridge, target: Ridge) -> None:
        fit = quadratic(SB, source, model.source_set, need_inverse=True)
        self.own_fit = fit.values(fit.offset + fit.R @ fit.inverse)
        self.b, self.squared = model.b, is_squared(model.loss)
        W, (E, L) = model.W.astype(np.float64), map(_factor, (fit.inverse, target.inverse))
        U, sigma, Vt = np.linalg.svd(E.T @ W @ L, full_matrices=False)
        pull = L.T @ W.T @ fit.offset
        # The offset of affine codes also pulls beside W, in a direction of its own.
        rest = pull - Vt.T @ (Vt @ pull)
        size = np.linalg.norm(rest)
        V = np.column_stack([Vt.T, rest / size if size > 0 else rest])
        self.sigma, self.q = np.append(sigma, 0.0), np.append(Vt @ pull, size)
        self.to_rows = target.lambda2 * (L @ V)
        self.A = np.pad(fit.R @ E @ U, ((0, 0), (0, 1))) * self.sigma + self.q
        self.pole = _NEAR_POLE / sigma[0] if sigma.size and sigma[0] > 0 else np.inf

    def solve(self, XD: np.ndarray, omega: np.ndarray) -> PairBlock:
        """The best codes of a block of rows, given as X D, with all classes; omega: n x C."""
        c = (XD.astype(np.float64) @ self.to_rows)[:, None]
        ridge, cap = (0.5 / omega, np.inf) if self.squared else (0.0, omega)
        missing = np.maximum(1 - self._scores(c, np.zeros(omega.shape)), 0.0)
        high = np.minimum(np.minimum(cap, self.pole), missing / ridge if self.squared else np.inf)
        low, high = np.zeros(omega.shape), np.where(missing > 0, high, 0.0)
        for _ in range(_HALVINGS):
            tau = 0.5 * (low + high)
            is_low = ridge * tau + self._scores(c, tau) < 1
            low, high = np.where(is_low, tau, low), np.where(is_low, high, tau)
        moved = self._codes(c, tau)
        source = 0.5 * tau**2 * np.sum((self.sigma * moved) ** 2, axis=-1)
        target = 0.5 * np.sum((moved - c) ** 2, axis=-1)
        return PairBlock(tau, self._scores(c, tau), self.own_fit + source, target, None)

    def _codes(self, c: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return (c + tau[..., None] * self.A) / (1 - (tau[..., None] * self.sigma) ** 2)

    def _scores(self, c: np.ndarray, tau: np.ndarray) -> np.ndarray:
        codes = self._codes(c, tau)
        return np.sum((self.A + tau[..., None] * self.sigma**2 * codes) * codes, axis=-1) + self.b


def _factor(M: np.ndarray) -> np.ndarray:
    """E with E E' = M, for M positive semidefinite; as many columns as its rank."""
    values, vectors = np.linalg.eigh(M)
    keep = values > 1e-13 * max(values[-1], 0.0)
    return vectors[:, keep] * np.sqrt(values[keep])
