"""The source-code block of J: one code per class, Eq. (pb) with the loss of Eq. (pw).

    min_z  φ p_B(z) + Σ_j ω_ij loss(y_ij (z'f_j + b)),   p_B(z) = λ1s/2 |z|² + λ2s/2 |x_i - B z|²

with f_j = W zt_j and φ = 1/C in J; z on the simplex (the paper), affine (summing to one) or free.
Classes are independent and share one Hessian: dual coordinate ascent with N hinges per class, a
block of rows at a time. B and S enter only through B'B and S B. Without the loss: simplex.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from unseen.pairs.loss import Pairs
from unseen.rows.blocks import chunks, row_blocks
from unseen.rows.layout import Blocks, Layout, let_go
from unseen.solvers.ascent import ascend_classes, movable
from unseen.solvers.block import EFFORT, Effort, Ridge, Solution, finish, relative
from unseen.solvers.simplex import Quadratic, project_simplex, quadratic
from unseen.support.work import in_threads

MAX_ROUNDS = 300
INNER_SWEEPS = 30
BLOCK_BYTES = 2**25


class SourceState(NamedTuple):
    """Warm start: signed duals (C x N), multipliers of z >= 0 and the incumbent codes (C x h)."""

    duals: np.ndarray | None
    bounds: np.ndarray | None
    Z: np.ndarray


def fit_source_codes_with_pairs(
    SB: np.ndarray,
    ridge: Ridge,
    F: Any,
    pairs: Pairs,
    code_set: str = "simplex",
    *,
    bias: float = 0.0,
    s_sq: np.ndarray | float = 0.0,
    effort: Effort = EFFORT,
    state: SourceState | None = None,
    layout: Layout | None = None,
) -> Solution:
    """The Zs step of Algs. 2 and 4.

    SB = S B (C x h), ridge with B'B and φ, F = Zt W' (N x h), an array or a `RowProduct`, pairs of
    these classes with the rows (Alg. 4: all negative). s_sq: |x_i|² completes the objective.
    effort.tol: duality gap of each class relative to its objective. On the simplex an
    ill-conditioned λ1s I + λ2s B'B is met by proximal steps around the best codes so far, so λ1s =
    0 with singular B'B is allowed there. state: of an earlier solution; no class gets worse than it
    was. layout: the blocks in which rows are visited, and where numbers of rows lie. Returns a
    Solution with the codes (C x h); n_iter counts full sweeps over the rows.
    """
    fit = quadratic(SB, ridge, code_set, need_inverse=True)
    layout = Layout(len(F)) if layout is None else layout
    tables = _Tables(F, pairs, fit.root.shape[1], layout, effort.random_state)
    if state is not None and not tables.begin(state.duals):
        state = state._replace(duals=None)
    problem = SourceProblem(fit, float(bias), code_set, F.dtype)
    run = SourceRun(problem, tables.blocks, state)
    constant = 0.5 * ridge.phi * ridge.lambda2 * np.asarray(s_sq, np.float64)
    solution = run.solve(constant, effort)
    return replace(solution, state=solution.state._replace(duals=tables.duals()))


class _Tables:
    """Numbers of rows, in the order in which rows are visited: sorted by class, they would make the
    ascent slow."""

    def __init__(self, F: Any, pairs: Pairs, width: int, layout: Layout, seed: int | None) -> None:
        self.layout = layout
        seeds: list[Any] = [[seed, k] for k in range(layout.n_blocks)]
        seeds = seeds if layout.n_blocks > 1 and seed is not None else [seed] * layout.n_blocks
        self.orders = [
            rows.start + np.random.default_rng(own).permutation(rows.stop - rows.start)
            for rows, own in zip(layout.blocks, seeds, strict=True)
        ]
        (n, h), dtype = F.shape, F.dtype
        features, G = layout.zeros((n, h), dtype), layout.zeros((n, width), dtype)
        self.A, lines = layout.zeros((pairs.n_classes, n), dtype), np.empty((2, n))
        blocks = []
        for rows, order in zip(layout.blocks, self.orders, strict=True):
            features[rows] = F[order]
            parts = features[rows], G[rows], lines[0, rows], lines[1, rows]
            blocks.append(SourceBlock(*parts, pairs[order], self.A[:, rows]))
            let_go(features)
        self.blocks = Blocks(blocks)

    def begin(self, duals: np.ndarray | None) -> bool:
        """Duals (C x N) of an earlier solution, in the order of the rows; whether they fit."""
        if duals is None or np.shape(duals) != self.A.shape:
            return False
        for rows, order in zip(self.layout.blocks, self.orders, strict=True):
            self.A[:, rows] = duals[:, order]
            let_go(duals, self.A)
        return True

    def duals(self) -> np.ndarray:
        """The duals (C x N) in the order of the rows."""
        out = self.layout.zeros(self.A.shape, self.A.dtype)
        for rows, order in zip(self.layout.blocks, self.orders, strict=True):
            out[:, order] = self.A[:, rows]
            let_go(out, self.A)
        return out


class SourceProblem(NamedTuple):
    """φ p_B and the pairs of classes; blocks of rows hold the rest."""

    fit: Quadratic
    bias: float
    code_set: str
    dtype: Any

    @property
    def is_simplex(self) -> bool:
        return self.code_set == "simplex"

    def of(self, classes: np.ndarray) -> SourceProblem:
        """The problems of some of the classes alone."""
        return self._replace(fit=self.fit._replace(R=self.fit.R[classes]))

    def codes_from_duals(
        self, pulls: tuple[np.ndarray, ...], pushes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The minimiser of the Lagrangian (plus lift/2 |z - centre|²) as u, z = offset + root u,
        the codes nearest to it, and a lower bound on the minimum for every class.

        pulls: of `pulled`; pushes: μ + lift centre. Free and affine sets: the value of the dual.
        Simplex: with the duals of the pairs fixed the Lagrangian is convex in z, so its
        linearisation at any point, minimised over the vertices, is a bound; neither lift nor μ
        loosens it.
        """
        fit, (features, terms) = self.fit, pulls
        pull = fit.R + features
        U = (pull + pushes) @ fit.root
        Z = fit.offset + U @ fit.root.T
        codes = project_simplex(Z) if self.is_simplex else Z
        G = codes @ fit.H
        lower = -0.5 * np.einsum("ih,ih->i", G, codes)
        rest = G - pull
        lower += rest.min(axis=1) if self.is_simplex else np.einsum("ih,ih->i", rest, codes)
        return U, codes, lower + terms


class SourceRun:
    """One solve: duals of pairs, which lie in the blocks, and of z >= 0, best codes and bounds."""

    def __init__(self, problem: SourceProblem, blocks: Any, state: SourceState | None) -> None:
        self.problem, self.blocks, shape = problem, blocks, problem.fit.R.shape
        self.Mu, self.best = np.zeros(shape), np.zeros(shape)
        self.value, self.lower = np.full(len(self.Mu), np.inf), np.full(len(self.Mu), -np.inf)
        root, offset, bias = problem.fit.root, problem.fit.offset, problem.bias
        list(blocks.each(SourceBlock.prepare, root.astype(problem.dtype), offset, bias))
        bends = np.einsum("hk,hk->h", root, root)
        self.root = Root(np.ascontiguousarray(root), offset, bends, problem.is_simplex)
        if state is not None and np.shape(state.Z) == shape:
            self.best = np.array(state.Z, np.float64)
            self.value = self.values(problem, self.best, np.arange(len(self.best)))
            if state.duals is not None and problem.is_simplex and state.bounds is not None:
                self.Mu = np.array(state.bounds, np.float64)

    def values(self, now: SourceProblem, Z: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """φ p_B plus the pair loss at codes of these classes."""
        codes = np.ascontiguousarray(Z.T, dtype=now.dtype)
        return now.fit.values(Z) + self.blocks.total(class_losses, codes, now.bias, classes)

    @property
    def gaps(self) -> np.ndarray:
        return np.maximum(self.value - self.lower, 0.0)

    def solve(self, constant: np.ndarray, effort: Effort) -> Solution:
        """The best codes, with multipliers for a warm start."""
        history = self.rounds(constant, effort)
        codes = np.asarray(self.best, self.problem.dtype)
        optimality = relative(self.gaps.sum(), np.abs(self.value + constant).sum())
        state, what = SourceState(None, self.Mu, codes), "The source-code block (Zs)"
        return finish(what, codes, history, effort.tol, optimality=optimality, state=state)

    def rounds(self, constant: np.ndarray, effort: Effort) -> list[tuple[int, float, float]]:
        """Rounds of checks and sweeps over the classes whose gap is still open."""
        max_rounds, history, todo = effort.limit(MAX_ROUNDS), [], np.arange(len(self.Mu))
        now = self.problem
        for n_rounds in range(max_rounds + 1):
            U = self.check(now, todo)
            total = float(np.sum(self.value + constant))
            history.append((n_rounds, total, float(self.gaps.sum())))
            # Each class stops by its own gap, so that its code does not depend on its company.
            is_open = (self.gaps > effort.tol * np.abs(self.value + constant))[todo]
            if n_rounds == max_rounds or not is_open.any():
                break
            if not is_open.all():
                todo, U = todo[is_open], U[is_open]
                now = self.problem.of(todo)
            hand = self.blocks.hand_on(
                sweep, (U, self.Mu[todo]), todo, self.root, 1000003 * n_rounds
            )
            self.Mu[todo] = hand[1]
        return history

    def check(self, now: SourceProblem, todo: np.ndarray) -> np.ndarray:
        """Values and bounds of the classes `todo` from their duals; returns their u."""
        pulls = self.blocks.total(pulled, todo, now.bias)
        U, codes, lower = now.codes_from_duals(
            pulls, self.Mu[todo] + now.fit.lift * self.best[todo]
        )
        value = self.values(now, codes, todo)
        better = value < self.value[todo]
        self.best[todo[better]] = codes[better]
        self.value[todo] = np.minimum(value, self.value[todo])
        self.lower[todo] = np.maximum(self.lower[todo], lower)
        return U


class Root(NamedTuple):
    """Codes are z = offset + E u: E (h x k), offset, |e_k|², and whether z >= 0 holds."""

    E: np.ndarray
    offset: np.ndarray
    bends: np.ndarray
    nonneg: bool


@dataclass
class SourceBlock:
    """Rows of one block in the order they are visited: F = Zt W' (m x h), G = F E (m x k), base =
    F offset + b, curvature = |g_j|², and the duals A (C x m) of their pairs."""

    F: np.ndarray
    G: np.ndarray
    base: np.ndarray
    curvature: np.ndarray
    pairs: Pairs
    A: np.ndarray

    def prepare(self, E: np.ndarray, offset: np.ndarray, bias: float) -> None:
        """Fill in what follows from F, and move duals into the box of their pairs."""
        np.matmul(self.F, E, out=self.G)
        self.base[:] = (self.F @ offset.astype(self.F.dtype)).astype(np.float64) + bias
        self.curvature[:] = np.einsum("jk,jk->j", self.G, self.G)
        self.pairs.clip(self.A.T)


def class_losses(
    block: SourceBlock, codes: np.ndarray, bias: float, classes: np.ndarray
) -> np.ndarray:
    """Σ_j ω_ij loss(y_ij (z_i'f_j + b)) of some classes, with their codes as columns (h x C')."""
    losses, pairs = np.zeros(len(classes)), block.pairs.of_classes(classes)
    for rows in chunks(len(block.F)):
        S = block.F[rows] @ codes
        S += S.dtype.type(bias)
        losses += pairs[rows].class_losses(S)
    return losses


def pulled(block: SourceBlock, classes: np.ndarray, bias: float) -> tuple[np.ndarray, np.ndarray]:
    """Of some classes: A F, and what their duals add to the value of the dual."""
    pairs, A = block.pairs.of_classes(classes), _of(block.A, classes)
    terms = pairs.class_dual_terms(A)
    if bias:
        terms -= bias * A.sum(axis=1, dtype=np.float64)
    return A @ block.F, terms


def sweep(
    block: SourceBlock,
    hand: tuple[np.ndarray, np.ndarray],
    classes: np.ndarray,
    root: Root,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """One round for some classes: the duals of the block, U and Mu (classes x k, h) in place.

    Some rows at a time, in float64. One product tells which duals their gradient holds at a bound;
    the others are swept.
    """
    (U, Mu), dtype, pairs = hand, block.A.dtype, block.pairs.of_classes(classes)
    squared, widest = pairs.is_squared, max(block.G.shape[1], len(classes))
    for few in row_blocks(len(block.G), 8 * widest, BLOCK_BYTES):
        V = np.ascontiguousarray(pairs[few].signed_omega(dtype).T)
        S = U.astype(dtype) @ block.G[few].T
        S += block.base[few].astype(dtype)
        A = _of(block.A[:, few], classes)
        free = movable(A, S, V, squared)
        J = np.nonzero(free)[1]
        starts = np.append(0, np.cumsum(np.count_nonzero(free, axis=1)))
        a, v = A[free].astype(np.float64), V[free].astype(np.float64)
        G = block.G[few].astype(np.float64, copy=False)
        rows = G, block.base[few], block.curvature[few]

        def ascend(part: slice, J=J, starts=starts, a=a, v=v, rows=rows) -> None:
            duals, codes = (a, v, J, starts[part.start : part.stop + 1]), (U[part], Mu[part])
            ascend_classes(duals, codes, rows, root[:3], squared, root.nonneg, INNER_SWEEPS, seed)

        in_threads(ascend, len(A))
        A[free] = a
        if len(classes) < len(block.A):
            block.A[classes, few] = A
    return U, Mu


def _of(A: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The lines of some classes: a copy, unless it is all of them."""
    return A if len(classes) == len(A) else A[classes]
