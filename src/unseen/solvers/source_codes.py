"""The source-code block of J: one code a class, Eq. (pb) with or without the pair loss of Eq. (pw).

    min_z  phi p_B(z) + sum_j omega_ij [1 - y_ij (z'W zt_j + b)]_+,   p_B(z) = l1s/2 |z|^2 + l2s/2
    |x_i - B z|^2

phi = 1/C in J; z on the simplex (the paper), affine (summing to one) or free. Classes are
independent and share one Hessian. Without the loss: closed form, or an active-set QP. With it: dual
coordinate ascent with N hinges a class. B and S enter only through B'B and S B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.pairs.loss import (
    add_class_losses,
    check_pairs,
    chunks,
    class_dual_terms,
    class_signed_weights,
    clip_class_duals,
    labels_for,
)
from unseen.rows.blocks import row_blocks
from unseen.solvers.simplex import project_simplex
from unseen.solvers.solution import finish, relative
from unseen.solvers.source_kernels import ascend_classes, simplex_qp
from unseen.support.threads import in_threads

SETS = ("simplex", "affine", "free")
SINGULAR = 1e-13
PROXIMAL = 1e-3
INNER_SWEEPS = 30
BLOCK_BYTES = 2**25


class SourceState(NamedTuple):
    """Warm start: signed duals (C x N), multipliers of z >= 0 (C x h) and the incumbent codes (C x
    h).
    """

    duals: np.ndarray | None
    bounds: np.ndarray | None
    Z: np.ndarray


class _Fit(NamedTuple):
    """phi p_B as z'Hz/2 - r'z; z = offset + inverse (r + ridge centre + ...) solves H + ridge I on
    the set without z >= 0. inverse = root root'.
    """

    H: np.ndarray
    R: np.ndarray
    inverse: np.ndarray
    root: np.ndarray
    offset: np.ndarray
    ridge: float


def _quadratic(gram, SB, lam1, lam2, phi, which, need_inverse):
    if lam1 < 0 or lam2 < 0 or lam1 + lam2 <= 0:
        raise ValueError(f"need l1s, l2s >= 0 and one of them positive, got {lam1}, {lam2}")
    if which not in SETS:
        raise ValueError(f"the set of the source codes is one of {SETS}, not {which!r}")
    H = phi * (lam1 * np.eye(len(gram)) + lam2 * np.asarray(gram, np.float64))
    values, vectors = np.linalg.eigh(H)
    usual = float(np.median(values[values > SINGULAR * values[-1]]))
    ridge = PROXIMAL * usual if which == "simplex" and values[0] < PROXIMAL * usual else 0.0
    if need_inverse and which != "simplex" and values[0] <= SINGULAR * values[-1]:
        raise ValueError(
            f"codes that are {which} need l1s > 0, or l2s > 0 and B of full column rank, with the "
            "pair loss"
        )
    lifted = values + ridge
    keep = lifted > SINGULAR * lifted[-1]
    root, offset = vectors[:, keep] / np.sqrt(lifted[keep]), np.zeros(len(H))
    if which != "free":
        column = root @ root.sum(axis=0)
        offset = column / column.sum() if column.sum() > 0 else np.full(len(H), 1.0 / len(H))
        across = root.sum(axis=0) / max(np.linalg.norm(root.sum(axis=0)), 1e-300)
        root = root - np.outer(root @ across, across)
    R = phi * lam2 * np.ascontiguousarray(SB, np.float64)
    return _Fit(H, R, root @ root.T, root, offset, ridge)


def _fit_values(H, R, Z):
    return 0.5 * np.einsum("ih,ih->i", Z @ H, Z) - np.einsum("ih,ih->i", Z, R)


def fit_source_codes(SB, gram, *, lam1, lam2, which="simplex", s_sq=None, tol=1e-8, Z=None):
    """argmin_z l1s/2 |z|^2 + l2s/2 |x_i - B z|^2 for all classes, the initial codes of Alg. 2 (Eq.
    (pb)).

    SB = S B (C x h), gram = B'B; which: simplex, affine or free; s_sq: |x_i|^2 completes the
    objective; Z: warm start (simplex). Exact: closed form, or a finite active-set method whose
    certificate is the Frank-Wolfe gap. With l1s = 0 and singular B'B: least norm (free), or any
    minimiser (simplex, affine).
    """
    fit = _quadratic(gram, SB, lam1, lam2, 1.0, which, need_inverse=False)
    dtype = np.result_type(SB, np.float32)
    codes, n_iter, gap = fit.offset + fit.R @ fit.inverse, 1, 0.0
    if which == "affine":
        codes = _affine_codes(fit)
    if which == "simplex":
        codes = np.zeros_like(fit.R) if Z is None else project_simplex(np.asarray(Z, np.float64))
        lifted = fit.H + 1e-13 * np.trace(fit.H) * np.eye(len(gram))
        scale = np.abs(fit.H).max() + np.abs(fit.R).max()
        pivots, _ = simplex_qp(lifted, fit.R, codes, 1e-3 * tol * scale, 20 * len(gram) + 100)
        G = codes @ fit.H - fit.R
        gap, n_iter = (
            float(np.sum(np.einsum("ih,ih->i", G, codes) - G.min(axis=1))),
            int(pivots.max(initial=0)),
        )
    constant = 0.0 if s_sq is None else 0.5 * lam2 * float(np.sum(s_sq))
    objective = float(_fit_values(fit.H, fit.R, codes).sum()) + constant
    size = max(
        abs(objective), constant, 0.5 * float(np.abs(np.einsum("ih,ih->i", codes, fit.R)).sum())
    )
    return finish(
        "The source codes",
        value=codes.astype(dtype),
        n_iter=n_iter,
        history=((n_iter, objective, gap),),
        optimality=relative(gap, size) if gap > 0 else 0.0,
        tol=tol,
        objective=objective,
    )


def _affine_codes(fit):
    """Equality-constrained least squares through the null space of e', which also serves a singular
    H.
    """
    h = len(fit.H)
    centre = np.full(h, 1.0 / h)
    basis = np.linalg.qr(np.column_stack([np.ones(h), np.eye(h)[:, 1:]]))[0][:, 1:]
    reduced = basis.T @ fit.H @ basis
    return (
        centre
        + ((fit.R - fit.H @ centre) @ basis) @ np.linalg.pinv(reduced, hermitian=True) @ basis.T
    )


class _Pairs(NamedTuple):
    F: np.ndarray
    y: np.ndarray
    b: float
    w_pos: float
    w_neg: float
    scale: np.ndarray
    squared: bool

    def of(self, classes: np.ndarray, n_classes: int) -> _Pairs:
        """The pairs of some classes alone."""
        return self._replace(y=labels_for(self.y, classes, n_classes))


def _losses(pairs, Z):
    """sum_j omega_ij loss for every class, over row chunks."""
    out = np.zeros(len(Z))
    codes = np.ascontiguousarray(Z.T, dtype=pairs.F.dtype)
    for rows in chunks(len(pairs.F)):
        S = pairs.F[rows] @ codes
        S += S.dtype.type(pairs.b)
        add_class_losses(
            S, pairs.y[rows], pairs.w_pos, pairs.w_neg, pairs.scale[rows], pairs.squared, out
        )
    return out


def _codes_from_duals(fit, pairs, A, pushes, which):
    """The minimiser of the Lagrangian (plus ridge/2 |z - centre|^2) as u, z = offset + root u, the
    codes nearest to it, and a lower bound on the minimum for every class.

    pushes: mu + ridge centre. Free and affine sets: the value of the dual. Simplex: with the duals
    of the pairs fixed the Lagrangian is convex in z, so its linearisation at any point, minimised
    over the vertices, is a bound; neither ridge nor mu loosens it.
    """
    pull = fit.R + (A @ pairs.F).astype(np.float64)
    U = (pull + pushes) @ fit.root
    Z = fit.offset + U @ fit.root.T
    codes = project_simplex(Z) if which == "simplex" else Z
    G = codes @ fit.H
    lower = -0.5 * np.einsum("ih,ih->i", G, codes)
    lower += (
        (G - pull).min(axis=1) if which == "simplex" else np.einsum("ih,ih->i", G - pull, codes)
    )
    terms = class_dual_terms(
        A, pairs.y, pairs.b, pairs.w_pos, pairs.w_neg, pairs.scale, pairs.squared
    )
    return U, codes, lower + terms


def _start(fit, pairs, state, n_classes, which, order):
    shape, h = (n_classes, len(pairs.F)), len(fit.H)
    A, Mu = np.zeros(shape, pairs.F.dtype), np.zeros((n_classes, h))
    best, value = np.zeros((n_classes, h)), np.full(n_classes, np.inf)
    if state is not None and np.shape(state.Z) == (n_classes, h):
        best = np.array(state.Z, np.float64)
        value = _fit_values(fit.H, fit.R, best) + _losses(pairs, best)
        if np.shape(state.duals) == shape:
            A[:] = state.duals[:, order]
            Mu = np.array(state.bounds, np.float64) if which == "simplex" else Mu
            clip_class_duals(A, pairs.y, pairs.w_pos, pairs.w_neg, pairs.scale, pairs.squared)
    return A, Mu, best, value


class _Ascent:
    """Sweeps over the duals, a block of rows at a time in float64."""

    def __init__(self, fit: _Fit, pairs: _Pairs, nonneg: bool) -> None:
        dtype = pairs.F.dtype
        self.pairs, self.nonneg = pairs, nonneg
        self.G = pairs.F @ fit.root.astype(dtype)
        self.base = (pairs.F @ fit.offset.astype(dtype)).astype(np.float64) + pairs.b
        self.curvature = np.einsum("jk,jk->j", self.G, self.G).astype(np.float64)
        self.root, self.offset = np.ascontiguousarray(fit.root), fit.offset
        self.bends = np.einsum("hk,hk->h", fit.root, fit.root)

    def sweep(self, A: np.ndarray, U: np.ndarray, Mu: np.ndarray, y: np.ndarray, seed: int) -> None:
        """One round for some classes: A (classes x N), U and Mu in place; y as they see it.

        One product tells which duals their gradient holds at a bound; the others are swept.
        """
        p, dtype = self.pairs, A.dtype
        widest = max(self.G.shape[1], len(A))
        for rows in row_blocks(len(self.G), 8 * widest, BLOCK_BYTES):
            V = class_signed_weights(y[rows], len(A), p.w_pos, p.w_neg, p.scale[rows], dtype)
            S = U.astype(dtype) @ self.G[rows].T
            S += self.base[rows].astype(dtype)
            free = _movable(A[:, rows], S, V, p.squared)
            J = np.nonzero(free)[1]
            starts = np.append(0, np.cumsum(np.count_nonzero(free, axis=1)))
            a, v = A[:, rows][free].astype(np.float64), V[free].astype(np.float64)
            G = self.G[rows].astype(np.float64, copy=False)

            def ascend(part: slice, rows=rows, J=J, starts=starts, a=a, v=v, G=G) -> None:
                ascend_classes(
                    a, v, J, starts[part.start : part.stop + 1], U[part], Mu[part], G,
                    self.base[rows], self.curvature[rows], self.root, self.offset, self.bends,
                    p.squared, self.nonneg, INNER_SWEEPS, seed,
                )  # fmt: skip

            in_threads(ascend, len(A))
            A[:, rows][free] = a


def _movable(A, S, V, squared):
    """Where duals are not held at a bound by their gradient."""
    g = np.copysign(1, V)
    g -= S
    top = V if not squared else np.where(V == 0, V, np.copysign(np.inf, V))
    free = (np.minimum(top, 0) < A) | (g > 0)
    free &= (np.maximum(top, 0) > A) | (g < 0)
    return free


def _ascend(fit, pairs, A, Mu, best, value, constant, which, tol, max_rounds):
    """Rounds of checks and sweeps over the classes whose gap is still open; A, Mu, best codes and
    their values in place. Returns history, sizes of the objectives and gaps.
    """
    ascent, n_classes = _Ascent(fit, pairs, which == "simplex"), len(A)
    lower, history, todo = np.full(n_classes, -np.inf), [], np.arange(n_classes)
    duals, bounds, now = A, Mu, pairs
    for n_rounds in range(max_rounds + 1):
        own = fit._replace(R=fit.R[todo])
        U, codes, dual = _codes_from_duals(own, now, duals, bounds + fit.ridge * best[todo], which)
        primal = _fit_values(fit.H, own.R, codes) + _losses(now, codes)
        better = primal < value[todo]
        best[todo[better]] = codes[better]
        value[todo] = np.minimum(primal, value[todo])
        lower[todo] = np.maximum(lower[todo], dual)
        sizes, gaps = np.abs(value + constant), np.maximum(value - lower, 0.0)
        history.append((n_rounds, float(np.sum(value + constant)), float(gaps.sum())))
        # Each class stops by its own gap, so that its code does not depend on its company.
        is_open = (gaps > tol * sizes)[todo]
        if n_rounds == max_rounds or not is_open.any():
            break
        if not is_open.all():
            A[todo], Mu[todo] = duals, bounds
            todo, U = todo[is_open], U[is_open]
            duals, bounds, now = A[todo], Mu[todo], pairs.of(todo, n_classes)
        ascent.sweep(duals, U, bounds, now.y, 1000003 * n_rounds)
    A[todo], Mu[todo] = duals, bounds
    return history, sizes, gaps


def fit_source_codes_with_pairs(
    SB,
    gram,
    W,
    Zt,
    y,
    *,
    lam1,
    lam2,
    w_pos,
    w_neg,
    which="simplex",
    row_scale=None,
    loss="hinge",
    bias=0.0,
    fit_weight=None,
    s_sq=None,
    tol=1e-3,
    max_rounds=300,
    state=None,
    random_state=0,
):
    """min_z phi p_B(z) + sum_j omega_ij [1 - y_ij (z'W zt_j + b)]_+ for every class, the Zs step of
    Algs. 2 and 4.

    SB = S B (C x h), gram = B'B, W: h x h_t, Zt: N x h_t, y: class number of each row, -1 where it
    is none of these classes (Alg. 4: all -1). fit_weight: phi, default 1/C; s_sq: |x_i|^2 completes
    the objective. tol: duality gap of each class relative to its objective. On the simplex an
    ill-conditioned l1s I + l2s B'B is met by proximal steps around the best codes so far, so l1s =
    0 with singular B'B is allowed there. state: of an earlier solution; no class gets worse than it
    was. Returns Solution with the codes (C x h); n_iter counts full sweeps over the rows.
    """
    Zt, n_classes = np.asarray(Zt), len(SB)
    y, scale, squared = check_pairs(y, len(Zt), n_classes, w_pos, w_neg, row_scale, loss, Zt.dtype)
    order = np.random.default_rng(random_state).permutation(len(Zt))
    F = np.ascontiguousarray((Zt @ np.asarray(W, Zt.dtype).T)[order])
    y, scale = y[order], scale[order]
    phi = 1.0 / max(n_classes, 1) if fit_weight is None else float(fit_weight)
    fit = _quadratic(gram, SB, lam1, lam2, phi, which, need_inverse=True)
    pairs = _Pairs(F, y, float(bias), float(w_pos), float(w_neg), scale, squared)
    constant = 0.0 if s_sq is None else 0.5 * phi * lam2 * np.asarray(s_sq, np.float64)
    A, Mu, best, value = _start(fit, pairs, state, n_classes, which, order)
    history, sizes, gaps = _ascend(fit, pairs, A, Mu, best, value, constant, which, tol, max_rounds)
    codes = np.asarray(best, F.dtype)
    return finish(
        "The source-code block (Zs)",
        value=codes,
        n_iter=history[-1][0],
        history=history,
        optimality=relative(gaps.sum(), sizes.sum()),
        tol=tol,
        objective=history[-1][1],
        state=SourceState(A[:, np.argsort(order)], Mu, codes),
    )
