"""The target-code block of J: one code per row, Eq. (pd) with the pair loss of Eq. (pw).

    min_z  φ p_D(z) + Σ_i ω_ij loss(y_ij (q_i'z + b)),   p_D(z) = λ1t/2 |z|² + λ2t/2 |x_j - D z|²

with Q = Zs W and φ = 1/N in J. Rows are independent and share one Hessian φ H, H = λ1t I + λ2t D'D:
without the loss one Cholesky serves all of them (`Ridge.codes`); with it each row is a box-
constrained QP in its C duals with the shared Gram matrix Q H^-1 Q' / φ. X enters only through X D,
so rows may come block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unseen.errors import InputError
from unseen.pairs.loss import Pairs
from unseen.rows.blocks import row_blocks
from unseen.rows.layout import Layout, let_go
from unseen.solvers.ascent import ascend_each_row
from unseen.solvers.block import EFFORT, Effort, Ridge, Solution, finish, relative
from unseen.support.work import in_threads

BLOCK_BYTES = 2**22
ROWS_PER_THREAD = 64
MAX_SWEEPS = 1000


class TargetState(NamedTuple):
    """Warm start: signed duals (N x C) and the incumbent codes (N x h)."""

    duals: np.ndarray | None
    Z: np.ndarray


class Sums(NamedTuple):
    """Of rows together: -z0'X D, rise and gap (see `_Rows`), and the most sweeps of any of them."""

    base: float
    rise: float
    gap: float
    n_sweeps: int


class _Products(NamedTuple):
    """What rows are multiplied with: z0 = XD ridge, s0 = z0 scores + b, z = z0 + a lift."""

    ridge: np.ndarray
    scores: np.ndarray
    lift: np.ndarray


class _Rows(NamedTuple):
    """Of each row: sweeps, by how much φ p_D plus loss exceeds the least of φ p_D, and its gap."""

    sweeps: np.ndarray
    rise: np.ndarray
    gap: np.ndarray


class TargetSolver:
    """Codes of rows for a fixed model; what depends on the model alone is prepared once.

    Parameters
    ----------
    ridge : φ p_D with D'D (h x h); φ is 1/N of the training rows in J.
    Q, bias : Zs W (C x h) and b.
    effort : tol is the duality gap relative to the loss and the rise of p_D it causes (p_D at its
        own minimum is left out of the denominator, so this is stricter than relative to J),
        max_iter the most sweeps over the duals of a row.
    """

    def __init__(
        self, ridge: Ridge, Q: np.ndarray, bias: float = 0.0, effort: Effort = EFFORT
    ) -> None:
        if ridge.is_singular or not ridge.phi > 0:
            raise InputError("codes with a pair loss need λ1t > 0, or D of full column rank")
        self.fit, self.bias, self.effort = ridge, float(bias), effort
        self.Q = np.asarray(Q, np.float64)
        lift = self.Q @ ridge.inverse / ridge.phi
        self.products = _Products(ridge.lambda2 * ridge.inverse, self.Q.T, lift)
        self.M = np.pad(lift @ self.Q.T, ((0, 0), (0, -len(self.Q) % 8)))
        # A lower bound on the eigenvalues of H, from the inverse by Gershgorin.
        largest = float(np.abs(ridge.inverse).sum(axis=0).max())
        self.least = max(float(ridge.lambda1), 1.0 / largest)
        self._kept: dict[np.dtype, _Products] = {}

    def solve(
        self,
        XD: np.ndarray,
        pairs: Pairs,
        state: TargetState | None = None,
        layout: Layout | None = None,
    ) -> Solution:
        """The Zt step of Algs. 2 and 4: codes (n x h) of rows given as X D (n x h).

        state: of an earlier solution; no row gets worse than it was. layout: where codes and duals
        lie. n_iter is the largest number of sweeps any row took; the objective is without
        φ λ2t/2 |x_j|².
        """
        XD = np.ascontiguousarray(XD)
        layout = Layout(len(XD)) if layout is None else layout
        A = layout.zeros((len(XD), len(self.Q)), XD.dtype)
        Z = layout.zeros(XD.shape, XD.dtype)
        duals, old = (None, None) if state is None else state
        duals = duals if duals is not None and duals.shape == A.shape else None
        old = old if old is not None and old.shape == XD.shape else None
        found = []
        for rows in layout.blocks:
            starts = [None if table is None else table[rows] for table in (duals, old)]
            found.append(self.solve_block(XD[rows], pairs[rows], Z[rows], A[rows], *starts))
            let_go(XD, A, Z, duals, old)
        return self.finish(found, XD.dtype, TargetState(A, Z))

    def solve_block(
        self,
        XD: np.ndarray,
        pairs: Pairs,
        Z: np.ndarray,
        A: np.ndarray,
        duals: np.ndarray | None,
        old: np.ndarray | None,
    ) -> Sums:
        """Codes Z and duals A of a block of rows, from duals and codes of an earlier solution."""
        base = rise = gap = 0.0
        n_sweeps = 0
        if duals is not None:
            A[:] = duals
            pairs.clip(A)
        for rows in row_blocks(len(XD), 8 * max(len(self.Q), XD.shape[1]), BLOCK_BYTES):
            x, z, part = XD[rows], Z[rows], pairs[rows]
            np.matmul(x, self._for(XD.dtype).ridge, out=z)
            base -= float(np.einsum("jh,jh->j", z, x).sum(dtype=np.float64))
            found = self._ascend(z, A[rows], part)
            if old is not None:
                self._keep_better(x, z, found, np.asarray(old[rows], XD.dtype), part)
            rise, gap = rise + float(found.rise.sum()), gap + float(found.gap.sum())
            n_sweeps = max(n_sweeps, int(found.sweeps.max(initial=0)))
        return Sums(base, rise, gap, n_sweeps)

    def finish(self, found: Sequence[Sums], dtype: np.dtype, state: TargetState) -> Solution:
        """The Solution that blocks with these sums make up."""
        base, rise, gap, _ = (float(sum(part)) for part in zip(*found, strict=True))
        n_sweeps = max(sums.n_sweeps for sums in found)
        half = 0.5 * self.fit.phi * self.fit.lambda2
        # Where all pairs keep their margin nothing moves, and the gap is mere rounding.
        rounding = 4 * float(np.finfo(dtype).eps) * abs(half * base)
        optimality = relative(gap, rise) if gap > rounding else 0.0
        what, history = "The target-code block (Zt)", [(n_sweeps, half * base + rise, gap)]
        return finish(what, state.Z, history, self.effort.tol, optimality=optimality, state=state)

    def _for(self, dtype: np.dtype) -> _Products:
        """The products in the type of the rows."""
        if dtype not in self._kept:
            matrices = (np.ascontiguousarray(matrix, dtype) for matrix in self.products)
            self._kept[dtype] = _Products(*matrices)
        return self._kept[dtype]

    def _ascend(self, z: np.ndarray, A: np.ndarray, pairs: Pairs) -> _Rows:
        """Solve a block of rows, whose z0 become their codes; duals in place.

        At z = z0 + lift'a the rise of φ p_D is a'Ma/2, so that the duals alone tell value and gap.
        Rows whose pairs all keep their margin stay where they are.
        """
        S = (z @ self._for(z.dtype).scores).astype(np.float64)
        S += self.bias
        V = pairs.signed_omega(A.dtype).astype(np.float64, copy=False)
        pulled = ((V > 0) & (S < 1)) | ((V < 0) & (S > -1)) | (A != 0)
        active = np.flatnonzero(pulled.any(axis=1))
        found = _Rows(np.zeros(len(A), np.int64), np.zeros(len(A)), np.zeros(len(A)))
        if len(active) == 0:
            return found
        S, V, duals = S[active], V[active], A[active].astype(np.float64)
        sweeps, gap, value = np.zeros(len(active), np.int64), S[:, 0].copy(), S[:, 0].copy()
        tol, max_sweeps = float(self.effort.tol), self.effort.limit(MAX_SWEEPS)

        def ascend(part: slice) -> None:
            rows, results = (duals[part], S[part], V[part]), (sweeps[part], gap[part], value[part])
            work = np.empty(self.M.shape[1]), np.empty(A.shape[1], np.bool_)
            ascend_each_row(rows, self.M, pairs.is_squared, tol, max_sweeps, results, work)

        in_threads(ascend, len(active), ROWS_PER_THREAD)
        A[active] = duals
        found.sweeps[active], found.gap[active], found.rise[active] = sweeps, gap, gap + value
        z[active] += A[active] @ self._for(z.dtype).lift
        return found

    def _keep_better(
        self, x: np.ndarray, z: np.ndarray, found: _Rows, old: np.ndarray, pairs: Pairs
    ) -> None:
        """Row by row the better of the new codes and the incumbent ones.

        φ p_D plus loss bends by φ l or more, l the least eigenvalue of H. So a code better than one
        with a gap is within sqrt(2 gap / (φ l)) of the minimum, as that one is; all others need not
        be valued.
        """
        phi, distance = self.fit.phi, np.einsum("jh,jh->j", old - z, old - z)
        near = np.flatnonzero(distance * phi * self.least <= 8 * np.maximum(found.gap, 0.0))
        if len(near) == 0:
            return
        kept, new, pairs = old[near], z[near], pairs[near]
        step = kept.astype(np.float64) - new
        slope = (new + 0.5 * step) @ self.fit.H - self.fit.lambda2 * x[near]
        fall = -phi * np.einsum("jh,jh->j", step, slope)
        fall += self._losses(new, pairs) - self._losses(kept, pairs)
        better = fall > 0
        z[near[better]] = kept[better]
        found.rise[near] -= np.maximum(fall, 0.0)
        found.gap[near] -= np.maximum(fall, 0.0)

    def _losses(self, codes: np.ndarray, pairs: Pairs) -> np.ndarray:
        S = codes @ self._for(codes.dtype).scores
        S += S.dtype.type(self.bias)
        return pairs.row_losses(S)
