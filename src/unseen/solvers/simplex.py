"""The simplex, the set of the source codes in Eq. (pb): projection, quadratic programs, and the
codes of classes by their descriptions alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.errors import InputError
from unseen.solvers.block import Ridge, Solution, finish, relative
from unseen.solvers.compiled import helper, kernel

SETS = ("simplex", "affine", "free")
TOL = 1e-8  # of codes from the data fit alone
SINGULAR = 1e-13
PROXIMAL = 1e-3

# Loops rather than array expressions, as in ascent.py. Along rows and without sums, so that those
# that must keep their order fill whole registers too.


def project_simplex(V: np.ndarray) -> np.ndarray:
    """argmin_Z |Z - V|² over Z >= 0 whose rows sum to one, the projection step of the paper, exact.

    V: n x h, projected row by row by sorting (Duchi et al. 2008), O(h log h) each. Rows are shifted
    by their largest entry first, which changes nothing in exact arithmetic and keeps large common
    offsets from swallowing the digits.
    """
    V = np.asarray(V)
    dtype = V.dtype if V.dtype in (np.float32, np.float64) else np.float64
    shifted = V.astype(np.float64) - V.max(axis=1, keepdims=True)
    ordered = -np.sort(-shifted, axis=1)
    thresholds = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, V.shape[1] + 1)
    n_positive = np.count_nonzero(ordered > thresholds, axis=1)
    threshold = np.take_along_axis(thresholds, n_positive[:, None] - 1, axis=1)
    return np.maximum(shifted - threshold, 0.0).astype(dtype)


@helper
def _equality_solution(H, r, support, x):
    """argmin z'Hz/2 - r'z over the coordinates in `support`, summing to one (H positive definite
    there), into x; by elimination in U with r and a column of ones beside it."""
    m = support.shape[0]
    U = np.empty((m, m + 2))
    for p in range(m):
        row, source = U[p], H[support[p]]
        for q in range(p, m):
            row[q] = source[support[q]]
        row[m], row[m + 1] = r[support[p]], 1.0
    for p in range(m):
        # What is lost to rounding must not make it indefinite.
        row, top = U[p], H[support[p], support[p]]
        row[p] = max(row[p], 1e-15 * top)
        for i in range(p + 1, m):
            f, other = row[i] / row[p], U[i]
            for q in range(i, m + 2):
                other[q] -= f * row[q]
    total, unit = 0.0, 0.0
    for p in range(m - 1, -1, -1):
        row = U[p]
        f, g = row[m], row[m + 1]
        for q in range(p + 1, m):
            f -= row[q] * x[q]
            g -= row[q] * U[q, m + 1]
        x[p], row[m + 1] = f / row[p], g / row[p]
        total += x[p]
        unit += row[m + 1]
    for p in range(m):
        x[p] += (1.0 - total) / unit * U[p, m + 1]


@kernel
def simplex_qp(H, R, Z, tol, max_pivots):
    """min z'Hz/2 - r_i'z on the simplex for every row r_i of R: primal active set (Lawson-Hanson
    with a sum constraint).

    Z: C x h feasible start and result; from zeros the best vertex is the start. Returns (pivots,
    Frank-Wolfe gap g'z - min g >= suboptimality) for every row.
    """
    n, h = R.shape
    pivots, gaps = np.zeros(n, np.int64), np.zeros(n)
    inside, support = np.empty(h, np.bool_), np.empty(h, np.int64)
    target, g = np.empty(h), np.empty(h)
    for i in range(n):
        z, r = Z[i], R[i]
        best, lowest, total = 0, np.inf, 0.0
        for k in range(h):
            total += z[k]
            if 0.5 * H[k, k] - r[k] < lowest:
                best, lowest = k, 0.5 * H[k, k] - r[k]
        if total <= 0.0:
            z[best] = 1.0
        for k in range(h):
            inside[k] = z[k] > 0.0
        while True:
            # Minimise over the support; coordinates that turn negative leave it at zero.
            m = 0
            for k in range(h):
                if inside[k]:
                    support[m] = k
                    m += 1
            _equality_solution(H, r, support[:m], target)
            step, worst = 1.0, -1
            for p in range(m):
                k = support[p]
                if target[p] <= 0.0:
                    t = z[k] / (z[k] - target[p]) if z[k] > target[p] else 0.0
                    if t <= step:
                        step, worst = t, k
            for p in range(m):
                k = support[p]
                z[k] += step * (target[p] - z[k])
            if worst >= 0 and m > 1:
                z[worst], inside[worst] = 0.0, False
                continue
            for l in range(h):
                g[l] = -r[l]
            for k in range(h):
                if z[k] != 0.0:
                    f, row = z[k], H[k]
                    for l in range(h):
                        g[l] += f * row[l]
            best, lowest, product, total = 0, np.inf, 0.0, 0.0
            for k in range(h):
                if g[k] < lowest:
                    best, lowest = k, g[k]
                product += g[k] * z[k]
                total += z[k]
            gaps[i] = max(product / total - lowest, 0.0)
            if gaps[i] <= tol or inside[best] or pivots[i] == max_pivots:
                break
            inside[best] = True
            pivots[i] += 1
        for k in range(h):
            z[k] /= total
    return pivots, gaps


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
        raise InputError("codes with a pair loss need λ1s > 0, or B of full column rank")
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
        lift = max(0.0, 1e-13 * np.trace(fit.H) - ridge.phi * ridge.lambda1)
        lifted = fit.H + lift * np.eye(h)
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
