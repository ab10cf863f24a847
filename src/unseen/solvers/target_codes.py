"""The target-code block of J: one code a row, Eq. (pd) with or without the pair loss of Eq. (pw).

    min_z  phi p_D(z) + sum_i omega_ij [1 - y_ij (q_i'z + b)]_+,   p_D(z) = l1t/2 |z|^2 + l2t/2 |x_j
    - D z|^2,  Q = Zs W

phi = 1/N in J. Rows are independent and share one Hessian H = phi (l1t I + l2t D'D): without the
loss one Cholesky serves all of them; with it each row is a box-constrained QP in its C duals with
the shared Gram matrix Q H^-1 Q'. X enters only through X D, so rows may come block by block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from unseen.pairs.loss import check_pairs, clip_duals, row_losses, signed_weights
from unseen.rows.blocks import row_blocks
from unseen.solvers.ascent import ascend_each_row
from unseen.solvers.solution import Solution, finish, relative
from unseen.support.threads import in_threads

SINGULAR = 1e-12
BLOCK_BYTES = 2**22
ROWS_PER_THREAD = 64


class TargetState(NamedTuple):
    """Warm start: signed duals (N x C) and the incumbent codes (N x h)."""

    duals: np.ndarray | None
    Z: np.ndarray


class _Products(NamedTuple):
    """What rows are multiplied with, in their own type: z0 = XD ridge, s0 = z0 scores + b, z = z0 +
    a lift.
    """

    ridge: np.ndarray
    scores: np.ndarray
    lift: np.ndarray


class _Rows(NamedTuple):
    """A block solved: duals, sweeps, by how much phi p_D plus loss exceeds the least of phi p_D,
    and how much of it may be too much, a row each.
    """

    duals: np.ndarray
    sweeps: np.ndarray
    rise: np.ndarray
    gap: np.ndarray


def fit_inverse(gram, lam1, lam2):
    """(l1 I + l2 gram)^-1 in float64 and whether it is singular (then the pseudo-inverse, i.e.
    codes of least norm).
    """
    H = lam1 * np.eye(len(gram)) + lam2 * np.asarray(gram, np.float64)
    if lam1 > 1e-8 * np.trace(H):
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), np.eye(len(H))), H, False
    values, vectors = np.linalg.eigh(H)
    keep = values > SINGULAR * max(values[-1], 0.0)
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    return inverse, H, not keep.all()


class TargetSolver:
    """Codes of rows for a fixed model; what depends on the model alone is prepared once.

        min_z  phi p_D(z) + sum_i omega_ij loss(y_ij (q_i'z + b)),   p_D(z) = l1t/2 |z|^2 + l2t/2
        |x_j - D z|^2

    >>> solver = TargetSolver(D.T @ D, Zs @ W, lam1=..., lam2=..., w_pos=..., w_neg=...)
    >>> codes = solver(X @ D, y)

    Parameters
    ----------
    gram, Q : D'D (h x h) and Zs W (C x h).
    lam1, lam2, fit_weight : l1t, l2t and phi, which is 1/N of the training rows in J.
    w_pos, w_neg, loss, bias : the pair loss, see hinge.py, and b.
    tol, max_sweeps : duality gap relative to the loss and the rise of p_D it causes (p_D at its own
        minimum is left out of the denominator, so this is stricter than relative to J), and the
        most sweeps over the duals of a row.
    """

    def __init__(
        self, gram, Q, *, lam1, lam2, w_pos, w_neg, fit_weight=1.0, loss="hinge", bias=0.0,
        tol=1e-3, max_sweeps=1000,
    ):  # fmt: skip
        inverse, self.H, singular = fit_inverse(gram, lam1, lam2)
        if singular or not fit_weight > 0:
            raise ValueError(
                "with the pair loss the codes need l1t > 0, or l2t > 0 and D of full column rank"
            )
        self.phi, self.lam2, self.bias = float(fit_weight), float(lam2), float(bias)
        self.w_pos, self.w_neg, self.loss = float(w_pos), float(w_neg), loss
        self.tol, self.max_sweeps = float(tol), int(max_sweeps)
        self.Q = np.asarray(Q, np.float64)
        self.ridge, self.lift = self.lam2 * inverse, self.Q @ inverse / self.phi
        n_pad = -len(self.Q) % 8
        self.M = np.pad(self.lift @ self.Q.T, ((0, 0), (0, n_pad)))
        # A lower bound on the eigenvalues of H, from the inverse by Gershgorin.
        self.least = max(float(lam1), 1.0 / float(np.abs(inverse).sum(axis=0).max()))
        self._products: dict[np.dtype, _Products] = {}

    def __call__(self, XD: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        """Codes (n x h) of rows given as X D; without labels they belong to no class (Alg. 4)."""
        return self.solve(XD, y).value

    def solve(self, XD, y=None, *, row_scale=None, x_sq=None, state=None) -> Solution:
        """The same with certificate and warm start, see `fit_target_codes`."""
        XD = np.ascontiguousarray(XD)
        n_rows, dtype = len(XD), XD.dtype
        y = np.full(n_rows, -1) if y is None else y
        y, scale, _ = check_pairs(
            y, n_rows, len(self.Q), self.w_pos, self.w_neg, row_scale, self.loss, dtype
        )
        A = np.zeros((n_rows, len(self.Q)), dtype)
        if state is not None and np.shape(state.duals) == A.shape:
            A[:] = state.duals
            clip_duals(A, y, self.w_pos, self.w_neg, scale, self._is_squared)
        old = None if state is None or np.shape(state.Z) != XD.shape else state.Z
        Z, base, rise, gap, n_sweeps = np.empty_like(XD), 0.0, 0.0, 0.0, 0
        for rows in row_blocks(n_rows, 8 * max(len(self.Q), XD.shape[1]), BLOCK_BYTES):
            x, z = XD[rows], Z[rows]
            np.matmul(x, self._for(dtype).ridge, out=z)
            base -= float(np.einsum("jh,jh->j", z, x).sum(dtype=np.float64))
            found = self._ascend(z, A[rows], y[rows], scale[rows])
            if old is not None:
                self._keep_better(x, z, found, np.asarray(old[rows], dtype), y[rows], scale[rows])
            rise, gap = rise + float(found.rise.sum()), gap + float(found.gap.sum())
            n_sweeps = max(n_sweeps, int(found.sweeps.max(initial=0)))
        base *= 0.5 * self.phi * self.lam2
        constant = 0.0 if x_sq is None else 0.5 * self.phi * self.lam2 * float(np.sum(x_sq))
        # Where all pairs keep their margin nothing moves, and the gap is mere rounding.
        rounding = 4 * float(np.finfo(dtype).eps) * abs(base)
        return finish(
            "The target-code block (Zt)",
            value=Z,
            n_iter=n_sweeps,
            history=((n_sweeps, base + rise + constant, gap),),
            optimality=relative(gap, rise) if gap > rounding else 0.0,
            tol=self.tol,
            objective=base + rise + constant,
            state=TargetState(A, Z),
        )

    @property
    def _is_squared(self) -> bool:
        return self.loss == "squared_hinge"

    def _for(self, dtype: np.dtype) -> _Products:
        if dtype not in self._products:
            matrices = self.ridge, self.Q.T, self.lift
            self._products[dtype] = _Products(*(np.ascontiguousarray(m, dtype) for m in matrices))
        return self._products[dtype]

    def _ascend(self, z: np.ndarray, A: np.ndarray, y: np.ndarray, scale: np.ndarray) -> _Rows:
        """Solve a block of rows, whose z0 become their codes; duals in place.

        At z = z0 + lift'a the rise of phi p_D is a'Ma/2, so that the duals alone tell value and
        gap. Rows whose pairs all keep their margin stay where they are.
        """
        squared, n_classes = self._is_squared, A.shape[1]
        S = (z @ self._for(z.dtype).scores).astype(np.float64)
        S += self.bias
        V = signed_weights(y, n_classes, self.w_pos, self.w_neg, scale, A.dtype)
        pulled = ((V > 0) & (S < 1)) | ((V < 0) & (S > -1)) | (A != 0)
        active = np.flatnonzero(pulled.any(axis=1))
        found = _Rows(A, np.zeros(len(A), np.int64), np.zeros(len(A)), np.zeros(len(A)))
        if len(active) == 0:
            return found
        S, V, duals = S[active], V[active], A[active].astype(np.float64)
        sweeps, gap, value = np.zeros(len(active), np.int64), S[:, 0].copy(), S[:, 0].copy()

        def ascend(part: slice) -> None:
            ascend_each_row(
                duals[part], S[part], V[part], self.M, squared, self.tol, self.max_sweeps,
                sweeps[part], gap[part], value[part], np.empty(self.M.shape[1]),
                np.empty(n_classes, np.bool_),
            )  # fmt: skip

        in_threads(ascend, len(active), ROWS_PER_THREAD)
        A[active] = duals
        found.sweeps[active], found.gap[active], found.rise[active] = sweeps, gap, gap + value
        z[active] += A[active] @ self._for(z.dtype).lift
        return found

    def _keep_better(self, x, z, found, old, y, scale) -> None:
        """Row by row the better of the new codes and the incumbent ones.

        phi p_D plus loss bends by phi l or more, l the least eigenvalue of H. So a code better than
        one with a gap is within sqrt(2 gap / (phi l)) of the minimum, as that one is; all others
        need not be valued.
        """
        distance = np.einsum("jh,jh->j", old - z, old - z)
        near = np.flatnonzero(distance * self.phi * self.least <= 8 * np.maximum(found.gap, 0.0))
        if len(near) == 0:
            return
        kept, new = old[near], z[near]
        step = kept.astype(np.float64) - new
        slope = (new + 0.5 * step) @ self.H - self.lam2 * x[near]
        fall = -self.phi * np.einsum("jh,jh->j", step, slope)
        fall += self._losses(new, y[near], scale[near]) - self._losses(kept, y[near], scale[near])
        better = fall > 0
        z[near[better]] = kept[better]
        found.rise[near] -= np.maximum(fall, 0.0)
        found.gap[near] -= np.maximum(fall, 0.0)

    def _losses(self, codes: np.ndarray, y: np.ndarray, scale: np.ndarray) -> np.ndarray:
        S = codes @ self._for(codes.dtype).scores
        S += S.dtype.type(self.bias)
        return row_losses(S, y, self.w_pos, self.w_neg, scale, self._is_squared)


class RidgeSolver:
    """argmin_z l1t/2 |z|^2 + l2t/2 |x_j - D z|^2 for rows given as X D; D'D is inverted once.

    With l1t = 0 and singular D'D the code of least norm.
    """

    def __init__(self, gram: np.ndarray, *, lam1: float, lam2: float) -> None:
        if lam1 < 0 or lam2 < 0 or lam1 + lam2 <= 0:
            raise ValueError(f"need l1t, l2t >= 0 and one of them positive, got {lam1}, {lam2}")
        self._ridge = lam2 * fit_inverse(gram, lam1, lam2)[0]
        self._casts: dict[np.dtype, np.ndarray] = {}

    def __call__(self, XD: np.ndarray) -> np.ndarray:
        if XD.dtype not in self._casts:
            self._casts[XD.dtype] = self._ridge.astype(XD.dtype)
        return XD @ self._casts[XD.dtype]


def ridge_target_codes(XD, gram, *, lam1, lam2):
    """argmin_z l1t/2 |z|^2 + l2t/2 |x_j - D z|^2 for all rows, the initial codes of Alg. 2 (Eq.
    (pd)), one factorisation.

    XD = X D (N x h), gram = D'D (h x h). With l1t = 0 and singular D'D the code of least norm. For
    row after row of one model see `RidgeSolver`.
    """
    XD = np.asarray(XD)
    Z = RidgeSolver(gram, lam1=lam1, lam2=lam2)(XD)
    # At the minimum z'Hz = l2t z'D'x.
    product = float(np.einsum("jh,jh->j", Z, XD).sum(dtype=np.float64))
    return finish(
        "The target codes",
        value=Z,
        n_iter=1,
        history=(),
        optimality=0.0,
        tol=0.0,
        objective=-0.5 * lam2 * product,
    )


def fit_target_codes(
    XD,
    gram,
    Q,
    y,
    *,
    lam1,
    lam2,
    w_pos,
    w_neg,
    row_scale=None,
    loss="hinge",
    bias=0.0,
    fit_weight=None,
    x_sq=None,
    tol=1e-3,
    max_sweeps=1000,
    state=None,
):
    """min_z phi p_D(z) + sum_i omega_ij [1 - y_ij (q_i'z + b)]_+ for every row, the Zt step of
    Algs. 2 and 4.

    XD = X D (N x h), gram = D'D, Q = Zs W (C x h), y: class numbers, -1 for rows of no class (Alg.
    4). fit_weight: phi, 1/N of *all* rows (default 1 / len(XD)); x_sq: |x_j|^2, completes the
    objective. tol: duality gap relative to the loss and the rise of p_D it causes (p_D at its own
    minimum is left out of the denominator, so this is stricter than relative to J). state: of an
    earlier solution; no row gets worse than it was. Returns Solution with the codes (N x h); n_iter
    is the largest number of sweeps any row took. For row after row of one model see `TargetSolver`.
    """
    phi = 1.0 / max(len(XD), 1) if fit_weight is None else fit_weight
    solver = TargetSolver(
        gram, Q, lam1=lam1, lam2=lam2, w_pos=w_pos, w_neg=w_neg, fit_weight=phi, loss=loss,
        bias=bias, tol=tol, max_sweeps=max_sweeps,
    )  # fmt: skip
    return solver.solve(XD, y, row_scale=row_scale, x_sq=x_sq, state=state)
