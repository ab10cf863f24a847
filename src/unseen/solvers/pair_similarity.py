"""The similarity block with one code per pair: the W step of Alg. 1, Eq. (pw) over codes of pairs.

    min_W  Σ_ij ω_ij loss(y_ij zs_ij' W zt_ij) + λ_W/2 |W|²

A linear SVM on C N features zs_ij zt_ij', met a block of pairs at a time: dual coordinate ascent,
W = Σ_ij a_ij zs_ij zt_ij' / λ_W, of which only the duals a (N x C) are kept. The certificate is the
duality gap; what is returned is never worse than the incumbent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from unseen.pairs.loss import Pairs
from unseen.rows.blocks import sum_of_squares
from unseen.solvers.block import EFFORT, Effort, Solution, finish
from unseen.solvers.compiled import free_order_kernel
from unseen.solvers.similarity import SimilarityState

MAX_EPOCHS = 40
EPOCHS_BETWEEN_CHECKS = 5
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


class PairFeatures(NamedTuple):
    """Codes of a block of rows with all classes: n x C x h_s and n x C x h_t."""

    rows: slice
    Zs: np.ndarray
    Zt: np.ndarray


Blocks = Callable[[], Iterable[PairFeatures]]


@free_order_kernel
def _ascend_pairs(codes, curvatures, V, A, W, lambda_W, squared, order):
    """One visit to each pair of a block, its dual set to its maximum: the pair loss of Eq. (pw) is
    the box of the dual, or its ridge. codes: n x h_s and n x h_t; n each: curvatures =
    |z_s|² |z_t|² / λ_W, V = y ω and A; A and W in place.
    """
    Zs, Zt = codes
    for t in range(order.shape[0]):
        q = order[t]
        w = abs(V[q])
        if w == 0.0:
            continue
        z, x = Zs[q], Zt[q]
        s = 0.0
        for k in range(z.shape[0]):
            if z[k] != 0.0:
                part, row = 0.0, W[k]
                for l in range(x.shape[0]):
                    part += row[l] * x[l]
                s += z[k] * part
        ridge, cap = (0.5 / w, np.inf) if squared else (0.0, w)
        lo, hi = (0.0, cap) if V[q] > 0.0 else (-cap, 0.0)
        g = (1.0 if V[q] > 0.0 else -1.0) - s - ridge * A[q]
        curvature = curvatures[q] + ridge
        new = hi if g > 0.0 else lo
        if curvature > 0.0:
            new = min(max(A[q] + g / curvature, lo), hi)
        delta = (new - A[q]) / lambda_W
        if delta == 0.0:
            continue
        A[q] = new
        for k in range(z.shape[0]):
            if z[k] != 0.0:
                f, row = delta * z[k], W[k]
                for l in range(x.shape[0]):
                    row[l] += f * x[l]


class _Problem(NamedTuple):
    """The pairs, their codes, their duals and λ_W."""

    blocks: Blocks
    pairs: Pairs
    A: np.ndarray
    lambda_W: float

    def penalty(self, W: np.ndarray) -> float:
        return 0.5 * self.lambda_W * sum_of_squares(W)

    def visit(self, block: PairFeatures, W: np.ndarray, rng: np.random.Generator) -> None:
        """`_ascend_pairs` on a block in float64, whatever its codes are stored in."""
        A, pairs = self.A, self.pairs[block.rows]
        duals = A[block.rows].ravel().astype(np.float64)
        # In the digits of the duals, so that a dual reaches its bound exactly.
        V = pairs.signed_omega(A.dtype).ravel().astype(np.float64, copy=False)
        codes = (np.ascontiguousarray(Z, np.float64) for Z in (block.Zs, block.Zt))
        codes = zs, zt = tuple(Z.reshape(-1, Z.shape[-1]) for Z in codes)
        bends = np.einsum("qh,qh->q", zs, zs) * np.einsum("qh,qh->q", zt, zt) / self.lambda_W
        order, squared = rng.permutation(V.size), pairs.is_squared
        _ascend_pairs(codes, bends, V, duals, W, self.lambda_W, squared, order)
        A[block.rows] = duals.reshape(len(pairs), -1)

    def best_between(self, old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, float]:
        """The best of some points from old to new, and its value: scores are linear in W."""
        points = [new if s == 1.0 else old + old.dtype.type(s) * (new - old) for s in SHARES]
        values = np.array([self.penalty(point) for point in points])
        for block in self.blocks():
            s_old, s_new = (
                np.einsum("jih,jih->ji", block.Zs @ W, block.Zt).astype(np.float64)
                for W in (old, new)
            )
            pairs = self.pairs[block.rows]
            for k, share in enumerate(SHARES):
                values[k] += pairs.row_losses(s_old + share * (s_new - s_old)).sum()
        best = int(np.argmin(values))
        return points[best], float(values[best])

    def from_duals(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[np.ndarray, float]:
        """W of the duals, and the value of the dual there."""
        W = np.zeros(shape)
        for block in self.blocks():
            a = self.A[block.rows].astype(dtype)
            flat = (block.Zs * a[..., None]).reshape(-1, shape[0])
            W += flat.T @ block.Zt.reshape(-1, shape[1])
        W = (W / self.lambda_W).astype(dtype)
        return W, float(self.pairs.row_dual_terms(self.A).sum()) - self.penalty(W)


def fit_pair_similarity(
    blocks: Blocks, pairs: Pairs, lambda_W: float, state: SimilarityState, effort: Effort = EFFORT
) -> Solution:
    """The W step of Alg. 1 from signed duals (N x C) and the incumbent W.

    blocks: a function that gives the codes anew, one `PairFeatures` after the other. Returns a
    Solution with W and, as state, the duals and W.
    """
    best, rng = state.W, np.random.default_rng(effort.random_state)
    dtype, max_epochs = best.dtype, effort.limit(MAX_EPOCHS)
    p = _Problem(blocks, pairs, np.array(state.duals, dtype), float(lambda_W))
    pairs.clip(p.A)
    lower, n_epochs, history = -np.inf, 0, []
    while True:
        now, dual = p.from_duals(best.shape, dtype)
        lower = max(lower, dual)
        best, value = p.best_between(best, now)
        history.append((n_epochs, value, value - lower))
        if value - lower <= effort.tol * value or n_epochs >= max_epochs:
            break
        W = np.array(now, np.float64, order="C")
        for _ in range(min(EPOCHS_BETWEEN_CHECKS, max_epochs - n_epochs)):
            for block in blocks():
                p.visit(block, W, rng)
            n_epochs += 1
    # A step that falls short is taken up again in the next round, so there is no warning.
    return finish("The W step", best, history, np.inf, state=SimilarityState(p.A, best))
