"""The source-code block of J: one code a class, Eq. (pb) with or without the pair loss of Eq. (pw).

    min_z  phi p_B(z) + sum_j omega_ij [1 - y_ij (z'W zt_j + b)]_+,   p_B(z) = l1s/2 |z|^2 + l2s/2
    |x_i - B z|^2

phi = 1/C in J; z on the simplex (the paper), affine (summing to one) or free. Classes are
independent and share one Hessian. Without the loss: closed form, or an active-set QP. With it: dual
coordinate ascent with N hinges a class. B and S enter only through B'B and S B.
"""

from typing import NamedTuple

import numpy as np

from unseen.solvers.hinge import (
    add_class_losses,
    check_pairs,
    chunks,
    class_dual_terms,
    clip_class_duals,
)
from unseen.solvers.simplex import project_simplex
from unseen.solvers.solution import finish, relative
from unseen.solvers.source_kernels import ascend_classes, simplex_qp

SETS = ("simplex", "affine", "free")
SINGULAR = 1e-13
PROXIMAL = 1e-3
INNER_SWEEPS = 30


class SourceState(NamedTuple):
    """Warm start: signed duals (C x N), multipliers of z >= 0 (C x h) and the incumbent codes (C x
    h).
    """

    duals: np.ndarray | None
    bounds: np.ndarray | None
    Z: np.ndarray


class _Fit(NamedTuple):
    """phi p_B as z'Hz/2 - r'z; z = offset + inverse (r + ridge centre + ...) solves H + ridge I on
    the set without z >= 0.
    """

    H: np.ndarray
    R: np.ndarray
    inverse: np.ndarray
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
    inverse = (vectors[:, keep] / lifted[keep]) @ vectors[:, keep].T
    offset = np.zeros(len(H))
    if which != "free":
        column = inverse.sum(axis=1)
        offset = column / column.sum() if column.sum() > 0 else np.full(len(H), 1.0 / len(H))
        inverse = inverse - np.outer(column, column) / max(column.sum(), 1e-300)
    return _Fit(H, phi * lam2 * np.asarray(SB, np.float64), inverse, offset, ridge)


def _fit_values(fit, Z):
    return 0.5 * np.einsum("ih,ih->i", Z @ fit.H, Z) - np.einsum("ih,ih->i", Z, fit.R)


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
    objective = float(_fit_values(fit, codes).sum()) + constant
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


def _codes_from_duals(fit, pairs, A, Mu, centre, which):
    """The minimiser of the Lagrangian (plus ridge/2 |z - centre|^2), and a lower bound on the
    minimum for every class.

    Free and affine sets: the value of the dual. Simplex: with the duals of the pairs fixed the
    Lagrangian is convex in z, so its linearisation at any point, minimised over the vertices, is a
    bound; neither ridge nor mu loosens it.
    """
    pull = fit.R + (A @ pairs.F).astype(np.float64)
    Z = fit.offset + (pull + Mu + fit.ridge * centre) @ fit.inverse
    codes = project_simplex(Z) if which == "simplex" else Z
    G = codes @ fit.H
    lower = -0.5 * np.einsum("ih,ih->i", G, codes)
    lower += (
        (G - pull).min(axis=1) if which == "simplex" else np.einsum("ih,ih->i", G - pull, codes)
    )
    terms = class_dual_terms(
        A, pairs.y, pairs.b, pairs.w_pos, pairs.w_neg, pairs.scale, pairs.squared
    )
    return Z, codes, lower + terms


def _start(fit, pairs, state, n_classes, which, order):
    shape, h = (n_classes, len(pairs.F)), len(fit.H)
    A, Mu = np.zeros(shape, pairs.F.dtype), np.zeros((n_classes, h))
    best, value = None, np.full(n_classes, np.inf)
    if state is not None and np.shape(state.Z) == (n_classes, h):
        best = np.array(state.Z, np.float64)
        value = _fit_values(fit, best) + _losses(pairs, best)
        if np.shape(state.duals) == shape:
            A[:] = state.duals[:, order]
            Mu = np.array(state.bounds, np.float64) if which == "simplex" else Mu
            clip_class_duals(A, pairs.y, pairs.w_pos, pairs.w_neg, pairs.scale, pairs.squared)
    return A, Mu, best, value


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
    max_rounds=100,
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
    F, y, scale = (
        np.ascontiguousarray((Zt @ np.asarray(W, Zt.dtype).T)[order]),
        y[order],
        scale[order],
    )
    phi = 1.0 / max(n_classes, 1) if fit_weight is None else float(fit_weight)
    fit = _quadratic(gram, SB, lam1, lam2, phi, which, need_inverse=True)
    pairs = _Pairs(F, y, float(bias), float(w_pos), float(w_neg), scale, squared)
    constant = 0.0 if s_sq is None else 0.5 * phi * lam2 * np.asarray(s_sq, np.float64)
    A, Mu, best, value = _start(fit, pairs, state, n_classes, which, order)
    inverse = fit.inverse.astype(F.dtype)
    R = F @ inverse
    curvature = np.einsum("jh,jh->j", R, F)
    lower, history = np.full(n_classes, -np.inf), []
    for n_rounds in range(max_rounds + 1):
        Z, codes, dual = _codes_from_duals(fit, pairs, A, Mu, 0.0 if best is None else best, which)
        primal = _fit_values(fit, codes) + _losses(pairs, codes)
        better = primal < value
        best = np.where(better[:, None], codes, codes if best is None else best)
        value, lower = np.minimum(primal, value), np.maximum(lower, dual)
        sizes, gaps = np.abs(value + constant), np.maximum(value - lower, 0.0)
        history.append((n_rounds, float(np.sum(value + constant)), float(gaps.sum())))
        # Each class stops by its own gap, so that its code does not depend on its company.
        todo = np.flatnonzero(gaps > tol * sizes)
        if n_rounds == max_rounds or len(todo) == 0:
            break
        ascend_classes(
            A,
            Mu,
            Z,
            todo,
            F,
            R,
            curvature,
            inverse,
            y,
            pairs.b,
            pairs.w_pos,
            pairs.w_neg,
            scale,
            squared,
            which == "simplex",
            INNER_SWEEPS,
            1000003 * n_rounds,
        )
    codes = np.asarray(best, F.dtype)
    return finish(
        "The source-code block (Zs)",
        value=codes,
        n_iter=n_rounds,
        history=history,
        optimality=relative(gaps.sum(), sizes.sum()),
        tol=tol,
        objective=history[-1][1],
        state=SourceState(A[:, np.argsort(order)], Mu, codes),
    )
