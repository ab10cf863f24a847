"""The codes of a pair, Eq. (gen_sim) with Eqs. (pb), (pd), (pw): both move, for each pair alone.

    min_{z_s, z_t}  p_B(z_s) + p_D(z_t) + omega_ij loss(y_ij (z_s'W z_t + b))

All pairs share H_s = l1s I + l2s B'B, H_t = l1t I + l2t D'D and W. The target code has one hinge,
so it follows from the source code in closed form:

    z_t = z_t0 + beta H_t^-1 W'z_s,   beta = y tau,   tau = min([1 - y s0]_+ / (k + ridge), cap),
    s0 = z_s'W z_t0 + b,   k = z_s'K z_s,   K = W H_t^-1 W'

with (ridge, cap) = (0, omega) for the hinge and (1/(2 omega), infinity) for its square. Where
source codes are free or sum to one, the pair problem is a quadratic with one bilinear constraint,
which has no duality gap: in the coordinates that make H_s^-1/2 W H_t^-1/2 diagonal it is a root in
beta alone, and what it gives is the global minimum. On the simplex p_B plus the least over z_t of
the rest is minimised by projected gradients and Newton steps, to a local minimum.
"""

from typing import NamedTuple

import numpy as np

from unseen.pairs.loss import LOSSES
from unseen.solvers.pair_kernels import FLATTEST, best_linear_pairs, best_simplex_pairs
from unseen.solvers.source_codes import _quadratic, fit_source_codes
from unseen.solvers.target_codes import fit_inverse
from unseen.support.threads import in_threads

TINY = 1e-13


class PairBlock(NamedTuple):
    """Pairs of a block of n rows with all C classes, at their best codes; n x C each.

    beta : the multiplier, y times minus the slope of omega loss at the score.
    scores : s = z_s'W z_t + b.
    source : p_B without the constant l2s/2 |x_i|^2.
    target : p_D above its minimum for the row.
    Zs : source codes, n x C x h_s, or None. Target codes follow, see `PairCodes.target_codes`.
    """

    beta: np.ndarray
    scores: np.ndarray
    source: np.ndarray
    target: np.ndarray
    Zs: np.ndarray | None


class PairCodes:
    """Best codes of pairs for fixed dictionaries and similarity.

    Parameters
    ----------
    SB, source_gram : S B (C x h_s) of the classes, B'B.
    target_gram : D'D.
    W, b : similarity, h_s x h_t, and bias.
    source_shrink, source_fit, target_shrink, target_fit : l1s, l2s, l1t, l2t.
    which : where source codes lie: "simplex", "affine" or "free".
    starts : further source codes (each C x h_s) a pair may start from, on the simplex.
    tol, max_rounds : of the Newton steps on the simplex.
    """

    def __init__(
        self, SB, source_gram, target_gram, W, b, *, source_shrink, source_fit, target_shrink,
        target_fit, which="simplex", loss="hinge", starts=(), tol=1e-9, max_rounds=100,
    ):  # fmt: skip
        if loss not in LOSSES:
            raise ValueError(f"loss is one of {LOSSES}, not {loss!r}")
        self.which, self.loss, self.b, self.target_fit = which, loss, float(b), target_fit
        self.tol, self.max_rounds = tol, max_rounds
        self.W = np.asarray(W, np.float64)
        self.fit = _quadratic(
            source_gram, SB, source_shrink, source_fit, 1.0, which, need_inverse=True
        )
        self.Ht_inverse, _, singular = fit_inverse(target_gram, target_shrink, target_fit)
        if singular:
            raise ValueError("codes of pairs need l1t > 0, or l2t > 0 and D of full column rank")
        if which == "simplex":
            own = fit_source_codes(SB, source_gram, lam1=source_shrink, lam2=source_fit).value
            self.own = np.asarray(own, np.float64)
            self.starts = np.stack([self.own, *(np.asarray(Z, np.float64) for Z in starts)])
            self.K = self.W @ self.Ht_inverse @ self.W.T
            self.H = self.fit.H + TINY * np.trace(self.fit.H) * np.eye(len(self.fit.H))
            self.base = 0.5 * np.einsum("uih,uih->ui", self.starts @ self.H, self.starts)
            self.base -= np.einsum("uih,ih->ui", self.starts, self.fit.R)
            self.curved = np.einsum("uih,uih->ui", self.starts @ self.K, self.starts)
            self.size = float(np.abs(self.H).max() + np.abs(self.fit.R).max())
        else:
            self.own = self.fit.offset + self.fit.R @ self.fit.inverse
            self._diagonalise()
        self.own_fit = 0.5 * np.einsum("ih,ih->i", self.own @ self.fit.H, self.own)
        self.own_fit -= np.einsum("ih,ih->i", self.own, self.fit.R)

    def _diagonalise(self):
        """H_s^-1/2 W H_t^-1/2 = U diag(sigma) V', H_s^-1 within the set of the codes."""
        E, L = _root(self.fit.inverse), _root(self.Ht_inverse)
        U, sigma, Vt = np.linalg.svd(E.T @ self.W @ L, full_matrices=False)
        V, pull = Vt.T, L.T @ self.W.T @ self.fit.offset
        q = V.T @ pull
        rest = pull - V @ q
        size = np.linalg.norm(rest)
        if size > TINY * np.linalg.norm(pull):
            # What the offset of affine codes pulls beside W: a direction of its own.
            V, q = np.column_stack([V, rest / size]), np.append(q, size)
            U, sigma = np.pad(U, ((0, 0), (0, 1))), np.append(sigma, 0.0)
        self.sigma, self.q, self.lift = sigma, q, (E @ U).T.copy()
        self.to_rows = self.target_fit * (L @ V)
        self.shift = self.fit.R @ self.lift.T
        self.A = self.shift * sigma + q

    def row_codes(self, XD):
        """z_t0: the codes of rows by p_D alone, from X D."""
        return XD @ (self.target_fit * self.Ht_inverse).astype(XD.dtype)

    def target_codes(self, Zt0, block):
        """z_t of every pair of a block with codes, n x C x h_t."""
        answer = (self.W @ self.Ht_inverse).astype(Zt0.dtype)
        return Zt0[:, None] + (block.beta[..., None] * block.Zs).astype(Zt0.dtype) @ answer

    def solve(self, XD, Y, omega, codes=False):
        """The best codes of a block of rows, given as X D (n x h_t), with all classes.

        Y, omega: n x C, signs, 0 for a pair without a label, and weights of the loss.
        """
        XD, Y = np.ascontiguousarray(XD, np.float64), np.asarray(Y, np.float64)
        omega = np.where(Y != 0, np.asarray(omega, np.float64), 0.0)
        solve = self._solve_simplex if self.which == "simplex" else self._solve_linear
        return solve(XD, Y, omega, codes)

    def _solve_linear(self, XD, Y, omega, codes):
        found = tuple(np.empty(Y.shape) for _ in range(4))
        moves = np.empty((*Y.shape, self.sigma.size) if codes else (0, 0, 0))
        pulls, squared = XD @ self.to_rows, self.loss == "squared_hinge"

        def search(rows: slice) -> None:
            best_linear_pairs(
                self.A, self.shift, pulls[rows], self.sigma, self.q, self.b, Y[rows],
                omega[rows], squared, *(array[rows] for array in found), moves[rows],
            )  # fmt: skip

        in_threads(search, len(Y))
        beta, s, source, target = found
        Zs = self.own + moves @ self.lift if codes else None
        return PairBlock(beta, s, source + self.own_fit, target, Zs)

    def _solve_simplex(self, XD, Y, omega, codes):
        """Each pair from the best of its starts, where it need not stay."""
        F, squared = self.row_codes(XD) @ self.W.T, self.loss == "squared_hinge"
        scores = F @ self.starts.transpose(0, 2, 1) + self.b
        rises = self.base[:, None] + self._rises(1 - Y * scores, omega)
        best = rises.argmin(axis=0)
        classes = np.arange(Y.shape[1])
        s = np.take_along_axis(scores, best[None], axis=0)[0]
        source, beta, target = self.base[best, classes], np.zeros(Y.shape), np.zeros(Y.shape)
        Zs = self.starts[best, classes] if codes else np.empty((0, 0, 0))
        moving = np.nonzero((best > 0) | ((omega > 0) & (Y * s < 1)))
        pairs = np.column_stack([*moving, best[moving]])

        def search(part: slice) -> None:
            best_simplex_pairs(
                self.H, self.K, self.fit.R, F, self.starts, pairs[part], self.b, Y, omega, squared,
                self.size, self.tol, self.max_rounds, beta, s, source, target, Zs,
            )  # fmt: skip

        in_threads(search, len(pairs))
        return PairBlock(beta, s, source, target, Zs if codes else None)

    def _rises(self, slack, omega):
        """min over z_t of p_D + omega loss above the minimum of p_D, for each start of each pair:
        tau m - tau^2 (k + ridge) / 2 with slack m = 1 - y s0.
        """
        curvature = np.broadcast_to(self.curved[:, None], slack.shape)
        cap = omega
        if self.loss == "squared_hinge":
            with np.errstate(divide="ignore"):
                curvature, cap = curvature + np.where(omega > 0, 0.5 / omega, 0.0), np.inf
        tau = np.clip(slack / np.maximum(curvature, FLATTEST), 0.0, np.where(omega > 0, cap, 0.0))
        return tau * slack - 0.5 * tau**2 * curvature


def _root(M):
    """E with E E' = M, for M positive semidefinite; as many columns as its rank."""
    values, vectors = np.linalg.eigh(M)
    keep = values > TINY * max(values[-1], 0.0)
    return vectors[:, keep] * np.sqrt(values[keep])
