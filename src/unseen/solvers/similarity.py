"""The similarity block of J: the matrix W of Eq. (pw), with the codes of classes and rows fixed.

    min_W  Σ_ij ω_ij loss(y_ij zs_i' W zt_j) + λ_W/2 |W|²

A linear SVM on the features zs_i ⊗ zt_j, which are never formed: dual coordinate ascent by row
with the shared Gram matrix Zs Zs'. The certificate is the true duality gap.

    max_a  Σ_ij y_ij a_ij - λ_W/2 |W|²,   W = Zs' a Zt / λ_W,   0 <= y_ij a_ij <= ω_ij

W is seen only through P = (Zs W)': the scores of row j are z_j'P. Changing its duals by d_j adds
(Zs Zs' d_j / λ_W) z_j' to Zs W, and the vector in brackets is what the scores of the row moved by,
divided by |z_j|²: so neither Zs nor W is needed inside an epoch. Rows are taken in blocks: the
block's scores are one matrix product, rows of a block see each other through their Gram matrix, and
P is updated by one more product. One thread: two threads on rows of their own with P merged between
rounds need steps half as long to be safe (CoCoA+), which costs as many epochs as it saves time.

Ascent finds quickly which duals sit at a bound and then crawls, the more so the smaller λ_W. On the
few duals that can still move the dual is a quadratic whose product costs far less than an epoch:
there L-BFGS takes over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs
from scipy.optimize import minimize
from scipy.sparse import csr_array

from unseen.pairs.loss import Pairs
from unseen.rows.blocks import chunks
from unseen.solvers.ascent import ascend_block, movable
from unseen.solvers.block import EFFORT, Effort, Solution, finish, relative
from unseen.support.work import one_blas_thread, threads_for

BLOCK_ROWS = 24
BLOCKS_PER_CHUNK = 64
SWEEPS = 4
MAX_EPOCHS = 300
EPOCHS_BETWEEN_ALL_ROWS = 5
WORTH = 0.75
EPOCHS_BEFORE_A_CHECK = 2
EPOCHS_BETWEEN_CHECKS = 10
EPOCHS_BEFORE_POLISH = 60


class SimilarityState(NamedTuple):
    """Warm start: signed duals (N x C) and the incumbent."""

    duals: np.ndarray
    W: np.ndarray


def fit_similarity(
    Zs: np.ndarray,
    Zt: np.ndarray,
    pairs: Pairs,
    lambda_W: float,
    effort: Effort = EFFORT,
    state: SimilarityState | None = None,
) -> Solution:
    """The W step of Alg. 2.

    Zs: C x h_s codes of classes, Zt: N x h_t codes of rows. state: of an earlier solution; the
    result is never worse than its incumbent. Returns a Solution with W; n_iter counts epochs (rows
    visited / N, rounded up).
    """
    Zt = np.ascontiguousarray(Zt)
    dtype = Zt.dtype if Zt.dtype in (np.float32, np.float64) else np.float64
    Zt, Zs = Zt.astype(dtype, copy=False), np.ascontiguousarray(Zs, dtype=dtype)
    with threads_for(Zt.size * len(Zs)):
        run = _Run(Zs, Zt, pairs, float(lambda_W))
        if state is not None:
            run.resume(state)
        return run.solve(effort)


class _Run:
    """One solve: duals, the P that follows them, the best primal point and the best lower bound."""

    W: np.ndarray

    def __init__(self, Zs: np.ndarray, Zt: np.ndarray, pairs: Pairs, lambda_W: float) -> None:
        self.Zs, self.Zt, self.pairs, self.lambda_W = Zs, Zt, pairs, lambda_W
        self.A = np.zeros((len(Zt), len(Zs)), Zt.dtype)
        self.history: list[tuple[int, float, float]] = []
        self.row_gaps = np.full(len(Zt), np.inf)
        self.upper, self.lower, self.epochs_since_refresh = np.inf, -np.inf, 0
        pad = -len(Zs) % 8
        codes = Zs.astype(np.float64)
        self.gram = np.pad(codes @ codes.T, ((0, 0), (0, pad)))
        self.P = np.zeros((Zt.shape[1], len(Zs) + pad), Zt.dtype)

    def resume(self, state: SimilarityState) -> None:
        """Begin with the duals and the incumbent of an earlier solution."""
        if np.shape(state.duals) == self.A.shape:
            self.A[:] = state.duals
            self.pairs.clip(self.A)
        self.offer(np.asarray(state.W, self.Zt.dtype))

    def solve(self, effort: Effort) -> Solution:
        """Epochs, a check when the row gaps say that it may succeed, L-BFGS where epochs crawl."""
        tol, max_epochs = effort.tol, effort.limit(MAX_EPOCHS)
        rng = np.random.default_rng(effort.random_state)
        self.check(0)
        ratio, last_check, n_epochs, n_visited = 0.5, 0, 0, 0
        while self.gap > tol and n_epochs < max_epochs:
            rows = self.rows_worth_a_visit()
            with one_blas_thread():
                self.epoch(rng.permutation(rows))
            n_epochs, n_visited = n_epochs + 1, n_visited + len(rows)
            since, estimate = n_epochs - last_check, self.row_gaps.sum()
            due = ratio * estimate <= tol * self.upper and since >= EPOCHS_BEFORE_A_CHECK
            if due or since >= EPOCHS_BETWEEN_CHECKS or n_epochs == max_epochs:
                self.check(n_epochs)
                if self.gap > tol and n_epochs >= EPOCHS_BEFORE_POLISH:
                    self.polish()
                    self.follow()
                found = (self.upper - self.lower) / max(estimate, 1e-300)
                last_check, ratio = n_epochs, np.clip(found, 0.05, 1.0)
        n_iter, state = -(-n_visited // max(len(self.A), 1)), SimilarityState(self.A, self.W)
        what = "The similarity block (W)"
        return finish(what, self.W, self.history, tol, n_iter=n_iter, state=state)

    @property
    def gap(self) -> float:
        return relative(self.upper - self.lower, self.upper)

    def penalty(self, W: np.ndarray) -> float:
        """λ_W/2 |W|² in float64."""
        return 0.5 * self.lambda_W * float(np.sum(np.square(W, dtype=np.float64)))

    def offer(self, W: np.ndarray) -> None:
        """Keep W if it is the best primal point so far; also the share of each row in the gap."""
        P, total = np.ascontiguousarray((self.Zs @ W).T), 0.0
        for rows in chunks(len(self.Zt)):
            pairs, A, S = self.pairs[rows], self.A[rows], self.Zt[rows] @ P
            losses = pairs.row_losses(S)
            total += losses.sum()
            self.row_gaps[rows] = losses - pairs.row_dual_terms(A) + np.einsum("ji,ji->j", A, S)
        value = float(total + self.penalty(W))
        if value < self.upper:
            self.upper, self.W = value, W

    def follow(self) -> np.ndarray:
        """W = Zs' A'Zt / λ_W, and P from it, which also ends rounding drift."""
        W = (self.Zs.T @ (self.A.T @ self.Zt)) / self.Zt.dtype.type(self.lambda_W)
        self.P[:, : len(self.Zs)] = (self.Zs @ W).T
        return W

    def check(self, n_epochs: int) -> None:
        """True primal and dual values at the present duals."""
        W = self.follow()
        self.offer(W)
        self.epochs_since_refresh = 0
        lower = float(self.pairs.row_dual_terms(self.A).sum()) - self.penalty(W)
        self.lower = max(self.lower, lower)
        self.history.append((n_epochs, self.upper, self.upper - self.lower))

    def epoch(self, order: np.ndarray) -> None:
        """Ascent over rows in this order; each notes its share in the gap as it is met."""
        Z, A, P, size = self.Zt, self.A, self.P, BLOCK_ROWS
        gemm: Any = get_blas_funcs("gemm", dtype=P.dtype)
        E, steps = np.empty((size, P.shape[1])), np.empty((2 * size + 1, P.shape[1]))
        flags = np.empty((3, max(size, A.shape[1])), np.bool_)
        fixed = self.gram, self.lambda_W, self.pairs.is_squared, SWEEPS
        for part in chunks(len(order), size * BLOCKS_PER_CHUNK):
            rows = order[part]
            codes, duals, met = Z[rows], A[rows].astype(np.float64), np.empty(len(rows))
            V = self.pairs[rows].signed_omega(A.dtype).astype(np.float64, copy=False)
            for block in chunks(len(rows), size):
                z, e = codes[block], E[: len(codes[block])]
                S, K = (z @ P).astype(np.float64), (z @ z.T).astype(np.float64)
                ascend_block((S, K, duals[block], V[block]), *fixed, met[block], (e, steps, flags))
                # P += z'e in place; BLAS reads rows as columns.
                gemm(1.0, e.T.astype(P.dtype, copy=False), z.T, 1.0, P.T, 0, 1, 1)
            A[rows], self.row_gaps[rows] = duals, met

    def rows_worth_a_visit(self) -> np.ndarray:
        """Rows whose share in the gap was above average when last met; now and then all of them."""
        worth = np.flatnonzero(self.row_gaps > WORTH * self.row_gaps.mean())
        if len(worth) == 0 or self.epochs_since_refresh == EPOCHS_BETWEEN_ALL_ROWS:
            worth, self.epochs_since_refresh = np.arange(len(self.A)), 0
        self.epochs_since_refresh += 1
        return worth

    def polish(self) -> None:
        """Raise the dual over duals not held at a bound, unless an epoch over all is cheaper."""
        Z, A, (n_rows, n_classes), h = self.Zt, self.A, self.A.shape, self.Zt.shape[1]
        squared, places = self.pairs.is_squared, []
        for rows in chunks(n_rows):
            S, V = (Z[rows] @ self.P)[:, :n_classes], self.pairs[rows].signed_omega(A.dtype)
            J, I = np.nonzero(movable(A[rows], S, V, squared))
            places.append((J + rows.start, I, V[J, I].astype(np.float64), S[J, I]))
        J, I, V, scores = (np.concatenate(column) for column in zip(*places, strict=True))
        if not 0 < len(J) <= max(1000, n_rows * n_classes // 20):
            return
        by_class = np.argsort(I, kind="stable")
        J, I, V, scores = J[by_class], I[by_class], V[by_class], scores[by_class]
        starts, size = np.searchsorted(I, np.arange(n_classes + 1)), np.abs(V)
        start, ridge = A[J, I].astype(np.float64), 0.5 / size if squared else 0.0 * size
        slope, unit = np.sign(V) - scores - ridge * start, self.upper - self.lower

        def fall(shares: np.ndarray) -> tuple[float, np.ndarray]:
            """Minus what the dual gains at duals in units of ω, in units of the gap."""
            d = size * shares - start
            T = self.gram[:, :n_classes] @ (csr_array((d, J, starts), shape=A.shape[::-1]) @ Z)
            bent = ridge * d
            for p in chunks(len(d)):
                bent[p] += np.einsum("ph,ph->p", T[I[p]], Z[J[p]]) / self.lambda_W
            return float(d @ (0.5 * bent - slope)) / unit, size * (bent - slope) / unit

        top = np.inf if squared else 1.0
        bounds = np.where(V > 0, 0.0, -top), np.where(V > 0, top, 0.0)
        epoch, product = n_rows * n_classes * h, len(J) * h + n_classes * n_classes * h
        limits: dict[str, Any] = {"jac": True, "bounds": np.column_stack(bounds)}
        limits["options"] = {"maxcor": 20, "gtol": 0.0, "ftol": 1e-9}
        limits["options"]["maxfun"] = int(np.clip(epoch / product, 200, 1000))
        found = minimize(fall, start / size, method="L-BFGS-B", **limits)
        A[J, I] = size * found.x
        self.pairs.clip(A)
