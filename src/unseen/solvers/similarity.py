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
there L-BFGS takes over. A product with d takes a sum over blocks of rows, T = Zs Zs' Σ d_ij z_j'
(C x h), and then t_i'z_j / λ_W of each dual: blocks exchange T alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs
from scipy.optimize import minimize
from scipy.sparse import csr_array

from unseen.pairs.loss import Pairs
from unseen.rows.blocks import chunks
from unseen.rows.layout import Blocks, Layout
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
# Beyond so many duals L-BFGS would take more memory than blocks of rows do.
MOST_DUALS = 2**19


class SimilarityState(NamedTuple):
    """Warm start: signed duals (N x C) and the incumbent."""

    duals: np.ndarray
    W: np.ndarray


@dataclass
class SimilarityBlock:
    """Rows of one block: codes Z (m x h), duals A (m x C), and the share of each row in the gap."""

    Z: np.ndarray
    pairs: Pairs
    A: np.ndarray
    gaps: np.ndarray
    free: Any = None

    def begin(self, duals: np.ndarray | None) -> None:
        """Begin with duals of an earlier solution."""
        if duals is not None:
            self.A[:] = duals
            self.pairs.clip(self.A)


def fit_similarity(
    Zs: np.ndarray,
    Zt: np.ndarray,
    pairs: Pairs,
    lambda_W: float,
    effort: Effort = EFFORT,
    state: SimilarityState | None = None,
    layout: Layout | None = None,
) -> Solution:
    """The W step of Alg. 2.

    Zs: C x h_s codes of classes, Zt: N x h_t codes of rows. state: of an earlier solution; the
    result is never worse than its incumbent. layout: the blocks in which rows are visited, and
    where duals lie. Returns a Solution with W; n_iter counts epochs (rows visited / N, rounded up).
    """
    Zt = np.ascontiguousarray(Zt)
    dtype = Zt.dtype if Zt.dtype in (np.float32, np.float64) else np.float64
    Zt, Zs = Zt.astype(dtype, copy=False), np.ascontiguousarray(Zs, dtype=dtype)
    layout = Layout(len(Zt)) if layout is None else layout
    A, gaps = layout.zeros((len(Zt), len(Zs)), dtype), np.full(len(Zt), np.inf)
    parts = [SimilarityBlock(Zt[r], pairs[r], A[r], gaps[r]) for r in layout.blocks]
    blocks = Blocks(parts, layout.n_groups)
    with threads_for(Zt.size * len(Zs)):
        if state is not None and np.shape(state.duals) == A.shape:
            list(blocks.each(SimilarityBlock.begin, parts=[state.duals[r] for r in layout.blocks]))
        run = SimilarityRun(Zs, blocks, Zt.shape, float(lambda_W), pairs.is_squared)
        solution = run.solve(effort, None if state is None else state.W)
    return replace(solution, state=SimilarityState(A, solution.value))


def _pulled(block: SimilarityBlock) -> tuple[np.ndarray, float]:
    """A'Z, and what duals add to the value of the dual."""
    return block.A.T @ block.Z, float(block.pairs.row_dual_terms(block.A).sum())


def _losses(block: SimilarityBlock, P: np.ndarray) -> tuple[float, float, float]:
    """The pair loss at scores Z P; also the shares of rows in the gap: their sum, the largest."""
    total = 0.0
    for rows in chunks(len(block.Z)):
        pairs, A, S = block.pairs[rows], block.A[rows], block.Z[rows] @ P
        losses = pairs.row_losses(S)
        total += losses.sum()
        block.gaps[rows] = losses - pairs.row_dual_terms(A) + np.einsum("ji,ji->j", A, S)
    return (float(total), *_shares(block))


def _shares(block: SimilarityBlock) -> tuple[float, float]:
    return float(block.gaps.sum()), float(block.gaps.max(initial=-np.inf))


class _Hand(NamedTuple):
    """What is handed from block to block in an epoch; also how many rows were visited, and the
    shares of all rows in the gap: their sum, the largest."""

    P: np.ndarray
    rng: np.random.Generator
    n_visited: int = 0
    shares: float = 0.0
    largest: float = -np.inf


def _ascend(
    block: SimilarityBlock, hand: _Hand, least: float, gram: np.ndarray, lambda_W: float
) -> _Hand:
    """Ascent over the rows of a block whose share in the gap is above `least`; each notes its share
    as it is met."""
    P, Z, A, size = hand.P, block.Z, block.A, BLOCK_ROWS
    order = hand.rng.permutation(np.flatnonzero(block.gaps > least))
    gemm: Any = get_blas_funcs("gemm", dtype=P.dtype)
    E, steps = np.empty((size, P.shape[1])), np.empty((2 * size + 1, P.shape[1]))
    flags = np.empty((3, max(size, A.shape[1])), np.bool_)
    fixed = gram, lambda_W, block.pairs.is_squared, SWEEPS
    for part in chunks(len(order), size * BLOCKS_PER_CHUNK):
        rows = order[part]
        codes, duals, met = Z[rows], A[rows].astype(np.float64), np.empty(len(rows))
        V = block.pairs[rows].signed_omega(A.dtype).astype(np.float64, copy=False)
        for few in chunks(len(rows), size):
            z, e = codes[few], E[: len(codes[few])]
            S, K = (z @ P).astype(np.float64), (z @ z.T).astype(np.float64)
            ascend_block((S, K, duals[few], V[few]), *fixed, met[few], (e, steps, flags))
            # P += z'e in place; BLAS reads rows as columns.
            gemm(1.0, e.T.astype(P.dtype, copy=False), z.T, 1.0, P.T, 0, 1, 1)
        A[rows], block.gaps[rows] = duals, met
    shares, largest = _shares(block)
    shares, largest = hand.shares + shares, max(hand.largest, largest)
    return _Hand(P, hand.rng, hand.n_visited + len(order), shares, largest)


class SimilarityRun:
    """One solve: P, which follows the duals of the blocks, the best primal point and the best
    lower bound. shape: N and h_t."""

    W: np.ndarray

    def __init__(
        self, Zs: np.ndarray, blocks: Any, shape: tuple[int, ...], lambda_W: float, squared: bool
    ) -> None:
        self.Zs, self.blocks, self.lambda_W, self.squared = Zs, blocks, lambda_W, squared
        self.n_rows, h = shape
        self.history: list[tuple[int, float, float]] = []
        self.upper, self.lower, self.epochs_since_refresh = np.inf, -np.inf, 0
        pad = -len(Zs) % 8
        codes = Zs.astype(np.float64)
        self.gram = np.pad(codes @ codes.T, ((0, 0), (0, pad)))
        self.P = np.zeros((h, len(Zs) + pad), Zs.dtype)

    def solve(self, effort: Effort, incumbent: np.ndarray | None = None) -> Solution:
        """Epochs, a check when the row gaps say that it may succeed, L-BFGS where epochs crawl."""
        tol, max_epochs = effort.tol, effort.limit(MAX_EPOCHS)
        rng = np.random.default_rng(effort.random_state)
        if incumbent is not None:
            self.offer(np.asarray(incumbent, self.Zs.dtype))
        self.check(0)
        ratio, last_check, n_epochs, n_visited = 0.5, 0, 0, 0
        while self.gap > tol and n_epochs < max_epochs:
            visited, rng = self.epoch(self.least_share(), rng)
            n_epochs, n_visited = n_epochs + 1, n_visited + visited
            since, estimate = n_epochs - last_check, self.shares
            due = ratio * estimate <= tol * self.upper and since >= EPOCHS_BEFORE_A_CHECK
            if due or since >= EPOCHS_BETWEEN_CHECKS or n_epochs == max_epochs:
                self.check(n_epochs)
                if self.gap > tol and n_epochs >= EPOCHS_BEFORE_POLISH:
                    polish(self)
                    self.follow()
                found = (self.upper - self.lower) / max(estimate, 1e-300)
                last_check, ratio = n_epochs, np.clip(found, 0.05, 1.0)
        n_iter, what = -(-n_visited // max(self.n_rows, 1)), "The similarity block (W)"
        return finish(what, self.W, self.history, tol, n_iter=n_iter)

    @property
    def gap(self) -> float:
        return relative(self.upper - self.lower, self.upper)

    def penalty(self, W: np.ndarray) -> float:
        """λ_W/2 |W|² in float64."""
        return 0.5 * self.lambda_W * float(np.sum(np.square(W, dtype=np.float64)))

    def offer(self, W: np.ndarray) -> None:
        """Keep W if it is the best primal point so far; also the share of each row in the gap."""
        P = np.ascontiguousarray((self.Zs @ W).T)
        losses, shares, largest = zip(*self.blocks.each(_losses, P), strict=True)
        self.shares, self.largest = float(sum(shares)), max(largest)
        value = float(sum(losses)) + self.penalty(W)
        if value < self.upper:
            self.upper, self.W = value, W

    def follow(self) -> tuple[np.ndarray, float]:
        """W = Zs' A'Zt / λ_W, and P from it, which also ends rounding drift; and the dual there."""
        pulled, terms = self.blocks.total(_pulled)
        dtype = self.Zs.dtype
        W = (self.Zs.T @ pulled.astype(dtype)) / dtype.type(self.lambda_W)
        self.P[:, : len(self.Zs)] = (self.Zs @ W).T
        return W, terms - self.penalty(W)

    def check(self, n_epochs: int) -> None:
        """True primal and dual values at the present duals."""
        W, lower = self.follow()
        self.offer(W)
        self.epochs_since_refresh = 0
        self.lower = max(self.lower, lower)
        self.history.append((n_epochs, self.upper, self.upper - self.lower))

    def epoch(self, least: float, rng: np.random.Generator) -> tuple[int, np.random.Generator]:
        """Ascent from block to block, in random order; how many rows were visited."""
        order = self.blocks.shuffled(rng)
        with one_blas_thread():
            hand = self.blocks.hand_on(
                _ascend, _Hand(self.P, rng), least, self.gram, self.lambda_W, order=order
            )
        self.P, self.shares, self.largest = hand.P, hand.shares, hand.largest
        return hand.n_visited, hand.rng

    def least_share(self) -> float:
        """Rows are worth a visit whose share in the gap was above average when last met; now and
        then all of them are."""
        least = WORTH * self.shares / max(self.n_rows, 1)
        if not self.largest > least or self.epochs_since_refresh == EPOCHS_BETWEEN_ALL_ROWS:
            least, self.epochs_since_refresh = -np.inf, 0
        self.epochs_since_refresh += 1
        return least


# -- the end: L-BFGS on the few duals that can still move -----------------------------------------


class _Free(NamedTuple):
    """Duals of a block that are not held at a bound, by class: rows, classes, y ω and scores."""

    J: np.ndarray
    I: np.ndarray
    V: np.ndarray
    scores: np.ndarray


def _find(block: SimilarityBlock, P: np.ndarray) -> int:
    """Note the duals of a block that can move; how many there are."""
    n_classes, places = block.A.shape[1], []
    for rows in chunks(len(block.Z)):
        S, V = (block.Z[rows] @ P)[:, :n_classes], block.pairs[rows].signed_omega(block.A.dtype)
        J, I = np.nonzero(movable(block.A[rows], S, V, block.pairs.is_squared))
        places.append((J + rows.start, I, V[J, I].astype(np.float64), S[J, I]))
    found = [np.concatenate(column) for column in zip(*places, strict=True)]
    by_class = np.argsort(found[1], kind="stable")
    block.free = _Free(*(column[by_class] for column in found))
    return len(by_class)


def _facts(block: SimilarityBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y ω, scores and values of the duals that can move."""
    J, I, V, scores = block.free
    return V, scores, block.A[J, I].astype(np.float64)


def _spread(block: SimilarityBlock, d: np.ndarray) -> np.ndarray:
    """Σ d_ij z_j' of every class, C x h."""
    J, I, *_ = block.free
    n_rows, n_classes = block.A.shape
    starts = np.searchsorted(I, np.arange(n_classes + 1))
    return csr_array((d, J, starts), shape=(n_classes, n_rows)) @ block.Z


def _bent(block: SimilarityBlock, T: np.ndarray) -> np.ndarray:
    """t_i'z_j of every dual."""
    J, I, *_ = block.free
    found = np.empty(len(J))
    for p in chunks(len(J)):
        found[p] = np.einsum("ph,ph->p", T[I[p]], block.Z[J[p]])
    return found


def _set(block: SimilarityBlock, values: np.ndarray | None) -> None:
    """New values of the duals that can move, or an end without any."""
    if values is not None:
        block.A[block.free.J, block.free.I] = values
        block.pairs.clip(block.A)
    block.free = None


def polish(run: SimilarityRun) -> None:
    """Raise the dual of a `SimilarityRun` over duals not held at a bound, unless an epoch over all
    is cheaper."""
    blocks, n_classes, (h, _) = run.blocks, len(run.Zs), run.P.shape
    counts = list(blocks.each(_find, run.P))
    n, most = sum(counts), max(1000, run.n_rows * n_classes // 20)
    if not 0 < n <= min(most, MOST_DUALS):
        list(blocks.each(_set, None))
        return
    ends = np.cumsum(counts)[:-1]
    facts = zip(*blocks.each(_facts), strict=True)
    V, scores, start = (np.concatenate(column) for column in facts)
    size = np.abs(V)
    ridge = 0.5 / size if run.squared else 0.0 * size
    slope, unit = np.sign(V) - scores - ridge * start, run.upper - run.lower

    def fall(shares: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus what the dual gains at duals in units of ω, in units of the gap."""
        d = size * shares - start
        T = run.gram[:, :n_classes] @ blocks.total(_spread, parts=np.split(d, ends))
        bent = ridge * d + np.concatenate(list(blocks.each(_bent, T))) / run.lambda_W
        return float(d @ (0.5 * bent - slope)) / unit, size * (bent - slope) / unit

    top = np.inf if run.squared else 1.0
    bounds = np.where(V > 0, 0.0, -top), np.where(V > 0, top, 0.0)
    epoch, product = run.n_rows * n_classes * h, n * h + n_classes * n_classes * h
    limits: dict[str, Any] = {"jac": True, "bounds": np.column_stack(bounds)}
    limits["options"] = {"maxcor": 20, "gtol": 0.0, "ftol": 1e-9}
    limits["options"]["maxfun"] = int(np.clip(epoch / product, 200, 1000))
    found = minimize(fall, start / size, method="L-BFGS-B", **limits)
    list(blocks.each(_set, parts=np.split(size * found.x, ends)))
