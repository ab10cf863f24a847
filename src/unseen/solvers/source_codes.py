"""The source-code block of J: one code per class, Eq. (pb) with or without the loss of Eq. (pw).

    min_z  φ p_B(z) + Σ_j ω_ij loss(y_ij (z'f_j + b)),   p_B(z) = λ1s/2 |z|² + λ2s/2 |x_i - B z|²

with f_j = W zt_j and φ = 1/C in J; z on the simplex (the paper), affine (summing to one) or free.
Classes are independent and share one Hessian. Without the loss: closed form, or an active-set QP.
With it: dual coordinate ascent with N hinges per class. B and S enter only through B'B and S B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.pairs.loss import Pairs
from unseen.rows.blocks import chunks, row_blocks
from unseen.solvers.ascent import ascend_classes, movable
from unseen.solvers.block import EFFORT, Effort, Ridge, Solution, finish, relative
from unseen.solvers.simplex import project_simplex, simplex_qp
from unseen.support.work import in_threads

SETS = ("simplex", "affine", "free")
TOL = 1e-8  # of codes from the data fit alone
SINGULAR = 1e-13
PROXIMAL = 1e-3
INNER_SWEEPS = 30
MAX_ROUNDS = 300
BLOCK_BYTES = 2**25


class SourceState(NamedTuple):
    """Warm start: signed duals (C x N), multipliers of z >= 0 and the incumbent codes (C x h)."""

    duals: np.ndarray | None
    bounds: np.ndarray | None
    Z: np.ndarray


class Quadratic(NamedTuple):
    """φ p_B as z'Hz/2 - r'z; z = offset + inverse (r + lift centre + ...) solves H + lift I on the
    set without z >= 0. inverse = root root'.
    """

    H: np.ndarray
    R: np.ndarray
    inverse: np.ndarray
    root: np.ndarray
    offset: np.ndarray
    lift: float

    def values(self, Z: np.ndarray) -> np.ndarray:
        """φ p_B of codes, one value per class, without λ2s/2 |x_i|²."""
        fit = 0.5 * np.einsum("ih,ih->i", Z @ self.H, Z)
        return fit - np.einsum("ih,ih->i", Z, self.R)


def quadratic(SB: np.ndarray, ridge: Ridge, code_set: str, need_inverse: bool) -> Quadratic:
    """φ p_B of classes given as S B (C x h), on a set of codes."""
    H = ridge.phi * ridge.H
    values, vectors = np.linalg.eigh(H)
    usual = float(np.median(values[values > SINGULAR * values[-1]]))
    lift = PROXIMAL * usual if code_set == "simplex" and values[0] < PROXIMAL * usual else 0.0
    if need_inverse and code_set != "simplex" and values[0] <= SINGULAR * values[-1]:
        raise ValueError("codes with a pair loss need λ1s > 0, or B of full column rank")
    lifted = values + lift
    keep = lifted > SINGULAR * lifted[-1]
    root, offset = vectors[:, keep] / np.sqrt(lifted[keep]), np.zeros(len(H))
    if code_set != "free":
        column = root @ root.sum(axis=0)
        offset = column / column.sum() if column.sum() > 0 else np.full(len(H), 1.0 / len(H))
        across = root.sum(axis=0) / max(np.linalg.norm(root.sum(axis=0)), 1e-300)
        root = root - np.outer(root @ across, across)
    R = ridge.phi * ridge.lambda2 * np.ascontiguousarray(SB, np.float64)
    return Quadratic(H, R, root @ root.T, root, offset, lift)


def fit_source_codes(SB: np.ndarray, ridge: Ridge, code_set: str = "simplex") -> Solution:
    """argmin_z p_B(z) for all classes, the initial codes of Alg. 2 (Eq. (pb)).

    SB = S B (C x h), ridge with B'B. Exact: closed form, or a finite active-set method whose
    certificate is the Frank-Wolfe gap. With λ1s = 0 and singular B'B: least norm (free), or any
    minimiser (simplex, affine). The objective is without λ2s/2 |x_i|².
    """
    fit = quadratic(SB, ridge, code_set, need_inverse=False)
    codes, n_iter, gap = fit.offset + fit.R @ fit.inverse, 1, 0.0
    if code_set == "affine":
        codes = _affine_codes(fit)
    if code_set == "simplex":
        codes = np.zeros_like(fit.R)
        h, scale = len(fit.H), np.abs(fit.H).max() + np.abs(fit.R).max()
        lifted = fit.H + 1e-13 * np.trace(fit.H) * np.eye(h)
        pivots, _ = simplex_qp(lifted, fit.R, codes, 1e-3 * TOL * scale, 20 * h + 100)
        G = codes @ fit.H - fit.R
        gap = float(np.sum(np.einsum("ih,ih->i", G, codes) - G.min(axis=1)))
        n_iter = int(pivots.max(initial=0))
    objective = float(fit.values(codes).sum())
    pulls = 0.5 * float(np.abs(np.einsum("ih,ih->i", codes, fit.R)).sum())
    optimality = relative(gap, max(abs(objective), pulls)) if gap > 0 else 0.0
    codes = codes.astype(np.result_type(SB, np.float32))
    history = [(n_iter, objective, gap)]
    return finish("The source codes", codes, history, TOL, optimality=optimality)


def _affine_codes(fit: Quadratic) -> np.ndarray:
    """Least squares with z'e = 1, through the null space of e', which also serves a singular H."""
    h = len(fit.H)
    centre = np.full(h, 1.0 / h)
    basis = np.linalg.qr(np.column_stack([np.ones(h), np.eye(h)[:, 1:]]))[0][:, 1:]
    inverse = np.linalg.pinv(basis.T @ fit.H @ basis, hermitian=True)
    return centre + ((fit.R - fit.H @ centre) @ basis) @ inverse @ basis.T


class _Problem(NamedTuple):
    """φ p_B and the pairs of some classes; F holds the f_j of all rows."""

    fit: Quadratic
    F: np.ndarray
    pairs: Pairs
    bias: float
    code_set: str

    def of(self, classes: np.ndarray) -> _Problem:
        """The problems of some of the classes alone."""
        fit = self.fit._replace(R=self.fit.R[classes])
        return self._replace(fit=fit, pairs=self.pairs.of_classes(classes))

    def values(self, Z: np.ndarray) -> np.ndarray:
        """φ p_B plus the pair loss at codes of all classes, over row chunks."""
        losses = np.zeros(len(Z))
        codes = np.ascontiguousarray(Z.T, dtype=self.F.dtype)
        for rows in chunks(len(self.F)):
            S = self.F[rows] @ codes
            S += S.dtype.type(self.bias)
            losses += self.pairs[rows].class_losses(S)
        return self.fit.values(Z) + losses

    def codes_from_duals(
        self, A: np.ndarray, pushes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The minimiser of the Lagrangian (plus lift/2 |z - centre|²) as u, z = offset + root u,
        the codes nearest to it, and a lower bound on the minimum for every class.

        pushes: μ + lift centre. Free and affine sets: the value of the dual. Simplex: with the
        duals of the pairs fixed the Lagrangian is convex in z, so its linearisation at any point,
        minimised over the vertices, is a bound; neither lift nor μ loosens it.
        """
        fit, is_simplex = self.fit, self.code_set == "simplex"
        pull = fit.R + (A @ self.F).astype(np.float64)
        U = (pull + pushes) @ fit.root
        Z = fit.offset + U @ fit.root.T
        codes = project_simplex(Z) if is_simplex else Z
        G = codes @ fit.H
        lower = -0.5 * np.einsum("ih,ih->i", G, codes)
        lower += (G - pull).min(axis=1) if is_simplex else np.einsum("ih,ih->i", G - pull, codes)
        lower += self.pairs.class_dual_terms(A)
        if self.bias:
            lower -= self.bias * A.sum(axis=1, dtype=np.float64)
        return U, codes, lower


def fit_source_codes_with_pairs(
    SB: np.ndarray,
    ridge: Ridge,
    F: np.ndarray,
    pairs: Pairs,
    code_set: str = "simplex",
    *,
    bias: float = 0.0,
    s_sq: np.ndarray | float = 0.0,
    effort: Effort = EFFORT,
    state: SourceState | None = None,
) -> Solution:
    """The Zs step of Algs. 2 and 4.

    SB = S B (C x h), ridge with B'B and φ, F = Zt W' (N x h), pairs of these classes with the rows
    (Alg. 4: all negative). s_sq: |x_i|² completes the objective. effort.tol: duality gap of each
    class relative to its objective. On the simplex an ill-conditioned λ1s I + λ2s B'B is met by
    proximal steps around the best codes so far, so λ1s = 0 with singular B'B is allowed there.
    state: of an earlier solution; no class gets worse than it was. Returns a Solution with the
    codes (C x h); n_iter counts full sweeps over the rows.
    """
    # Sorted by class, rows would make the ascent slow.
    order = np.random.default_rng(effort.random_state).permutation(len(F))
    fit = quadratic(SB, ridge, code_set, need_inverse=True)
    problem = _Problem(fit, np.ascontiguousarray(F[order]), pairs[order], float(bias), code_set)
    constant = 0.5 * ridge.phi * ridge.lambda2 * np.asarray(s_sq, np.float64)
    run = _Run(problem, state, order)
    history = run.rounds(constant, effort)
    codes = np.asarray(run.best, F.dtype)
    optimality = relative(run.gaps.sum(), np.abs(run.value + constant).sum())
    state, what = (
        SourceState(run.A[:, np.argsort(order)], run.Mu, codes),
        "The source-code block (Zs)",
    )
    return finish(what, codes, history, effort.tol, optimality=optimality, state=state)


class _Run:
    """One solve: duals of pairs and of z >= 0, best codes and lower bounds."""

    def __init__(self, problem: _Problem, state: SourceState | None, order: np.ndarray) -> None:
        n_classes, h = problem.fit.R.shape
        self.problem, F, fit = problem, problem.F, problem.fit
        self.G = F @ fit.root.astype(F.dtype)
        self.base = (F @ fit.offset.astype(F.dtype)).astype(np.float64) + problem.bias
        self.curvature = np.einsum("jk,jk->j", self.G, self.G).astype(np.float64)
        self.A = np.zeros((n_classes, len(order)), F.dtype)
        self.Mu, self.best = np.zeros((n_classes, h)), np.zeros((n_classes, h))
        self.value, self.lower = np.full(n_classes, np.inf), np.full(n_classes, -np.inf)
        if state is not None and np.shape(state.Z) == (n_classes, h):
            self.best = np.array(state.Z, np.float64)
            self.value = problem.values(self.best)
            if state.duals is not None and np.shape(state.duals) == self.A.shape:
                self.A[:] = state.duals[:, order]
                if problem.code_set == "simplex":
                    self.Mu = np.array(state.bounds, np.float64)
                problem.pairs.clip(self.A.T)

    @property
    def gaps(self) -> np.ndarray:
        return np.maximum(self.value - self.lower, 0.0)

    def rounds(self, constant: np.ndarray, effort: Effort) -> list[tuple[int, float, float]]:
        """Rounds of checks and sweeps over the classes whose gap is still open."""
        max_rounds, history, todo = effort.limit(MAX_ROUNDS), [], np.arange(len(self.A))
        A, Mu, now = self.A, self.Mu, self.problem
        for n_rounds in range(max_rounds + 1):
            U = self.check(now, todo, A, Mu)
            total = float(np.sum(self.value + constant))
            history.append((n_rounds, total, float(self.gaps.sum())))
            # Each class stops by its own gap, so that its code does not depend on its company.
            is_open = (self.gaps > effort.tol * np.abs(self.value + constant))[todo]
            if n_rounds == max_rounds or not is_open.any():
                break
            if not is_open.all():
                self.A[todo], self.Mu[todo] = A, Mu
                todo, U = todo[is_open], U[is_open]
                A, Mu, now = self.A[todo], self.Mu[todo], self.problem.of(todo)
            self.sweep(now.pairs, A, U, Mu, 1000003 * n_rounds)
        self.A[todo], self.Mu[todo] = A, Mu
        return history

    def check(self, now: _Problem, todo: np.ndarray, A: np.ndarray, Mu: np.ndarray) -> np.ndarray:
        """Values and bounds of the classes `todo` from their duals; returns their u."""
        U, codes, lower = now.codes_from_duals(A, Mu + now.fit.lift * self.best[todo])
        value = now.values(codes)
        better = value < self.value[todo]
        self.best[todo[better]] = codes[better]
        self.value[todo] = np.minimum(value, self.value[todo])
        self.lower[todo] = np.maximum(self.lower[todo], lower)
        return U

    def sweep(self, pairs: Pairs, A: np.ndarray, U: np.ndarray, Mu: np.ndarray, seed: int) -> None:
        """One round for the classes of `pairs`: A (classes x N), U and Mu in place.

        A block of rows at a time, in float64. One product tells which duals their gradient holds at
        a bound; the others are swept.
        """
        dtype, widest, problem = A.dtype, max(self.G.shape[1], len(A)), self.problem
        root, squared, nonneg = problem.fit.root, pairs.is_squared, problem.code_set == "simplex"
        bends = np.einsum("hk,hk->h", root, root)
        fit = np.ascontiguousarray(root), problem.fit.offset, bends
        for block in row_blocks(len(self.G), 8 * widest, BLOCK_BYTES):
            V = np.ascontiguousarray(pairs[block].signed_omega(dtype).T)
            S = U.astype(dtype) @ self.G[block].T
            S += self.base[block].astype(dtype)
            free = movable(A[:, block], S, V, squared)
            J = np.nonzero(free)[1]
            starts = np.append(0, np.cumsum(np.count_nonzero(free, axis=1)))
            a, v = A[:, block][free].astype(np.float64), V[free].astype(np.float64)
            G = self.G[block].astype(np.float64, copy=False)
            rows = G, self.base[block], self.curvature[block]

            def ascend(part: slice, J=J, starts=starts, a=a, v=v, rows=rows) -> None:
                duals, codes = (a, v, J, starts[part.start : part.stop + 1]), (U[part], Mu[part])
                ascend_classes(duals, codes, rows, fit, squared, nonneg, INNER_SWEEPS, seed)

            in_threads(ascend, len(A))
            A[:, block][free] = a
