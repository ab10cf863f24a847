"""The codes of a pair, Eq. (gen_sim) with Eqs. (pb), (pd), (pw): both move, for each pair alone.

    min_{z_s, z_t}  p_B(z_s) + p_D(z_t) + ω_ij loss(y_ij (z_s'W z_t + b))

All pairs share H_s = λ1s I + λ2s B'B, H_t = λ1t I + λ2t D'D and W. The target code has one hinge,
so it follows from the source code in closed form:

    z_t = z_t0 + β H_t^-1 W'z_s,   β = y τ,   τ = min([1 - y s0]_+ / (k + ridge), cap),
    s0 = z_s'W z_t0 + b,   k = z_s'K z_s,   K = W H_t^-1 W'

with (ridge, cap) = (0, ω) for the hinge and (1/(2 ω), infinity) for its square. On the simplex p_B
plus the least over z_t of the rest is minimised by projected gradients and Newton steps, to a local
minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unseen.pairs.loss import is_squared
from unseen.solvers.block import Ridge
from unseen.solvers.pair_kernels import FLATTEST, descend_pairs, face_inverse
from unseen.solvers.simplex import fit_source_codes, quadratic
from unseen.support.work import in_threads

TINY = 1e-13
MOST_KEPT = 2**28


class PairBlock(NamedTuple):
    """Pairs of a block of n rows with all C classes, at their best codes; n x C each.

    beta : the multiplier, y times minus the slope of ω loss at the score.
    scores : s = z_s'W z_t + b.
    source : p_B without the constant λ2s/2 |x_i|².
    target : p_D above its minimum for the row.
    Zs : source codes, n x C x h_s, or None. Target codes follow, see `PairCodes.target_codes`.
    """

    beta: np.ndarray
    scores: np.ndarray
    source: np.ndarray
    target: np.ndarray
    Zs: np.ndarray | None


class PairCodes:
    """Best codes of pairs for fixed dictionaries and similarity, source codes on the simplex.

    Parameters
    ----------
    SB : S B (C x h_s) of the classes.
    source, target : p_B with B'B and p_D with D'D.
    W, b : similarity, h_s x h_t, and bias.
    starts : further source codes (each C x h_s) a pair may start from.
    """

    def __init__(
        self,
        SB: np.ndarray,
        source: Ridge,
        target: Ridge,
        W: np.ndarray,
        b: float = 0.0,
        *,
        loss: str = "hinge",
        starts: Sequence[np.ndarray] = (),
    ) -> None:
        self.squared, self.b, self.target = is_squared(loss), float(b), target
        self.W = np.asarray(W, np.float64)
        fit = quadratic(SB, source, "simplex", need_inverse=True)
        if target.is_singular:
            raise ValueError("codes of pairs need λ1t > 0, or λ2t > 0 and D of full column rank")
        self.own = np.asarray(fit_source_codes(SB, source).value, np.float64)
        self.own_fit = fit.values(self.own)
        self.starts = np.stack([self.own, *(np.asarray(Z, np.float64) for Z in starts)])
        self.K = self.W @ target.inverse @ self.W.T
        self.H, self.R = fit.H + TINY * np.trace(fit.H) * np.eye(len(fit.H)), fit.R
        self.base = 0.5 * np.einsum("uih,uih->ui", self.starts @ self.H, self.starts)
        self.base -= np.einsum("uih,ih->ui", self.starts, self.R)
        self.curved = np.einsum("uih,uih->ui", self.starts @ self.K, self.starts)
        self.size = float(np.abs(self.H).max() + np.abs(self.R).max())
        self._faces: dict[tuple[int, int], np.ndarray] = {}

    def target_codes(self, Zt0: np.ndarray, block: PairBlock) -> np.ndarray:
        """z_t of every pair of a block with codes, n x C x h_t; Zt0 holds `target.codes`."""
        assert block.Zs is not None
        answer = (self.W @ self.target.inverse).astype(Zt0.dtype)
        return Zt0[:, None] + (block.beta[..., None] * block.Zs).astype(Zt0.dtype) @ answer

    def solve(self, XD: np.ndarray, V: np.ndarray, codes: bool = False) -> PairBlock:
        """The best codes of a block of rows, given as X D (n x h_t), with all classes.

        V = y ω, n x C, is 0 for a pair without a label. Each pair starts from the best of its
        starts, where it need not stay.
        """
        XD, V = np.ascontiguousarray(XD, np.float64), np.ascontiguousarray(V, np.float64)
        Y, omega = np.sign(V), np.abs(V)
        F = self.target.codes(XD) @ self.W.T
        scores = F @ self.starts.transpose(0, 2, 1) + self.b
        best = (self.base[:, None] + self._rises(1 - Y * scores, omega)).argmin(axis=0)
        classes = np.arange(V.shape[1])
        s = np.take_along_axis(scores, best[None], axis=0)[0]
        source, beta, target = self.base[best, classes], np.zeros(V.shape), np.zeros(V.shape)
        Zs = self.starts[best, classes] if codes else np.empty((0, 0, 0))
        moving = (best > 0) | ((omega > 0) & (Y * s < 1))
        found = beta, s, source, target, Zs
        groups = [(u, i) for u in range(len(self.starts)) for i in classes]

        def search(part: slice) -> None:
            for u, i in groups[part]:
                rows = np.flatnonzero(moving[:, i] & (best[:, i] == u))
                if len(rows):
                    start, fit = self.starts[u, i], (self.H, self.K, self.R[i], self.size)
                    face = self._face(u, i)
                    descend_pairs(fit, F, start, face, rows, i, self.b, V, self.squared, found)

        in_threads(search, len(groups))
        return PairBlock(beta, s, source, target, Zs if codes else None)

    def _face(self, u: int, i: int) -> np.ndarray:
        """The inverse of H on the face of a start; kept, if there is room for those of all."""
        if (u, i) in self._faces:
            return self._faces[u, i]
        face = face_inverse(self.H, self.starts[u, i])
        if face.nbytes * self.base.size <= MOST_KEPT:
            self._faces[u, i] = face
        return face

    def _rises(self, slack: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """min over z_t of p_D + ω loss above the minimum of p_D, for each start of each pair:
        τ m - τ² (k + ridge) / 2 with slack m = 1 - y s0.
        """
        curvature = np.broadcast_to(self.curved[:, None], slack.shape)
        cap = omega
        if self.squared:
            with np.errstate(divide="ignore"):
                curvature, cap = curvature + np.where(omega > 0, 0.5 / omega, 0.0), np.inf
        tau = np.clip(slack / np.maximum(curvature, FLATTEST), 0.0, np.where(omega > 0, cap, 0.0))
        return tau * slack - 0.5 * tau**2 * curvature
