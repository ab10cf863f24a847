"""The similarity block of J: the matrix W of Eq. (pw), with the codes of classes and rows fixed.

    min_{W,b}  sum_ij omega_ij [1 - y_ij (zs_i' W zt_j + b)]_+  +  lambda_W/2 |W|^2  (+ lambda_W/2
    (b/kappa)^2)

A linear SVM on the features zs_i (x) zt_j, which are never formed: dual coordinate ascent by row
with the shared Gram matrix Zs Zs' (ascent.py). The certificate is the true duality gap of this
problem, W, b and their penalties included.
"""

from typing import NamedTuple

import numpy as np

from unseen.pairs.loss import (
    check_pairs,
    chunks,
    clip_duals,
    row_dual_terms,
    row_losses,
)
from unseen.solvers.ascent import ascend_rows
from unseen.solvers.face import polish
from unseen.solvers.solution import finish, relative
from unseen.support.threads import one_blas_thread, threads_for

BLOCK_ROWS = 24
SWEEPS = 4
EPOCHS_BETWEEN_ALL_ROWS = 5
WORTH = 0.75
EPOCHS_BEFORE_A_CHECK = 2
EPOCHS_BETWEEN_CHECKS = 10
EPOCHS_BEFORE_POLISH = 60


class Similarity(NamedTuple):
    """The bilinear kernel s_ij = zs_i' W zt_j + b."""

    W: np.ndarray
    b: float


class SimilarityState(NamedTuple):
    """Warm start: signed duals (N x C) and the incumbent."""

    duals: np.ndarray
    W: np.ndarray
    b: float


class _Problem(NamedTuple):
    Zs: np.ndarray
    Zt: np.ndarray
    y: np.ndarray
    lam: float
    kappa_sq: float
    fixed_b: float
    w_pos: float
    w_neg: float
    scale: np.ndarray
    squared: bool


def dual_product(Z, A):
    """A'Z (C x h_t) of one block of rows: W = Zs' (sum over blocks) / lambda_W."""
    return A.T @ Z


def block_loss(Z, y, P, b, w_pos, w_neg, scale, squared, A=None, gaps=None):
    """sum_ij omega_ij loss(y_ij (z_j'P_i + b)) over one block of rows; P = (Zs W)' is h_t x C.

    With duals A of the block, gaps[j] receives the share of row j in the duality gap.
    """
    total = 0.0
    for rows in chunks(len(Z)):
        S = Z[rows] @ P
        S += S.dtype.type(b)
        losses = row_losses(S, y[rows], w_pos, w_neg, scale[rows], squared)
        total += losses.sum()
        if A is not None and gaps is not None:
            terms = row_dual_terms(A[rows], y[rows], w_pos, w_neg, scale[rows], squared)
            gaps[rows] = losses - terms + np.einsum("ji,ji->j", A[rows], S)
    return total


def penalty(problem, W, b):
    """lambda_W/2 (|W|^2 + (b/kappa)^2), in float64."""
    square = np.sum(np.square(W, dtype=np.float64))
    if problem.kappa_sq > 0:
        square += b * b / problem.kappa_sq
    return 0.5 * problem.lam * float(square)


def primal_value(problem, W, b, A=None, gaps=None):
    """The block objective at (W, b); with duals A also the share of each row in the gap."""
    P = np.ascontiguousarray((problem.Zs @ W).T)
    loss = block_loss(
        problem.Zt,
        problem.y,
        P,
        b,
        problem.w_pos,
        problem.w_neg,
        problem.scale,
        problem.squared,
        A,
        gaps,
    )
    return loss + penalty(problem, W, b)


def primal_from_duals(problem, A):
    """W = Zs' A'Zt / lambda_W and b = kappa^2 sum A / lambda_W, the minimiser of the Lagrangian."""
    W = (problem.Zs.T @ dual_product(problem.Zt, A)) / problem.Zt.dtype.type(problem.lam)
    if problem.kappa_sq > 0:
        return W, problem.kappa_sq * float(A.sum(dtype=np.float64)) / problem.lam
    return W, problem.fixed_b


def dual_value(problem, A, W, b):
    """Value of the dual at A, with (W, b) from `primal_from_duals`: a lower bound on the block
    objective.
    """
    terms = row_dual_terms(
        A, problem.y, problem.w_pos, problem.w_neg, problem.scale, problem.squared
    ).sum()
    if problem.kappa_sq == 0 and b != 0:
        terms -= b * float(A.sum(dtype=np.float64))
    return float(terms) - penalty(problem, W, b)


class _Run:
    """The moving parts of one solve: duals, P and b that follow them, best primal point and best
    lower bound.
    """

    def __init__(self, problem, A, incumbent, rng):
        self.problem, self.A, self.rng, self.history = problem, A, rng, []
        self.row_gaps = np.full(len(A), np.inf)
        self.primal, self.dual, self.best = np.inf, -np.inf, None
        n_classes, pad = len(problem.Zs), -len(problem.Zs) % 8
        Zs = problem.Zs.astype(np.float64)
        self.gram = np.pad(Zs @ Zs.T, ((0, 0), (0, pad)))
        self.P = np.zeros((problem.Zt.shape[1], n_classes + pad), A.dtype)
        if incumbent is not None:
            self.offer(np.asarray(incumbent.W, A.dtype), float(incumbent.b))

    def offer(self, W, b, A=None):
        """Keep (W, b) if it is the best primal point so far."""
        value = primal_value(self.problem, W, b, A, self.row_gaps)
        if value < self.primal:
            self.primal, self.best = value, (W, b)

    def follow(self):
        """Rebuild P and b from the duals, which also ends rounding drift. Returns W."""
        W, self.b = primal_from_duals(self.problem, self.A)
        self.P[:, : len(self.problem.Zs)] = (self.problem.Zs @ W).T
        return W

    def check(self, n_epochs):
        """True primal and dual values at the present duals, and the share of each row in the
        gap.
        """
        W = self.follow()
        self.offer(W, self.b, self.A)
        self.epochs_since_refresh = 0
        self.dual = max(self.dual, dual_value(self.problem, self.A, W, self.b))
        self.history.append((n_epochs, self.primal, self.primal - self.dual))

    @property
    def gap(self):
        return relative(self.primal - self.dual, self.primal)

    def epoch(self, rows, size, sweeps):
        """One epoch over `rows` in a random order."""
        p = self.problem
        with one_blas_thread():
            self.b = ascend_rows(
                p.Zt,
                p.y,
                self.rng.permutation(rows),
                self.A,
                self.P,
                self.b,
                self.gram,
                p.lam,
                p.kappa_sq,
                p.w_pos,
                p.w_neg,
                p.scale,
                p.squared,
                size,
                sweeps,
                self.row_gaps,
            )

    def polish(self):
        """Second-order steps on the duals inside their box."""
        p = self.problem
        polish(
            p.Zt,
            p.y,
            self.A,
            self.P,
            self.b,
            self.gram,
            p.lam,
            p.kappa_sq / p.lam,
            p.w_pos,
            p.w_neg,
            p.scale,
            p.squared,
        )
        self.follow()

    def rows_worth_a_visit(self):
        """The rows whose share in the gap, when last met, was above the average; all of them now
        and then.
        """
        worth = np.flatnonzero(self.row_gaps > WORTH * self.row_gaps.mean())
        if len(worth) == 0 or self.epochs_since_refresh == EPOCHS_BETWEEN_ALL_ROWS:
            worth, self.epochs_since_refresh = np.arange(len(self.A)), 0
        self.epochs_since_refresh += 1
        return worth


def _prepare(Zs, Zt, y, lam, w_pos, w_neg, row_scale, loss, bias, fit_bias, bias_scale):
    Zt = np.ascontiguousarray(Zt)
    dtype = Zt.dtype if Zt.dtype in (np.float32, np.float64) else np.float64
    Zt, Zs = Zt.astype(dtype, copy=False), np.ascontiguousarray(Zs, dtype=dtype)
    if not lam > 0:
        raise ValueError(
            f"lambda_W must be positive, got {lam}: without it the minimum need not exist"
        )
    y, scale, squared = check_pairs(y, len(Zt), len(Zs), w_pos, w_neg, row_scale, loss, dtype)
    kappa_sq = float(bias_scale) ** 2 if fit_bias else 0.0
    return _Problem(
        Zs, Zt, y, float(lam), kappa_sq, float(bias), float(w_pos), float(w_neg), scale, squared
    )


def _start_duals(problem, state):
    shape = (len(problem.Zt), len(problem.Zs))
    if state is None or np.shape(state.duals) != shape:
        return np.zeros(shape, problem.Zt.dtype)
    A = np.array(state.duals, problem.Zt.dtype)
    clip_duals(A, problem.y, problem.w_pos, problem.w_neg, problem.scale, problem.squared)
    return A


def fit_similarity(
    Zs,
    Zt,
    y,
    *,
    lam,
    w_pos,
    w_neg,
    row_scale=None,
    loss="hinge",
    bias=0.0,
    fit_bias=False,
    bias_scale=1.0,
    tol=1e-3,
    max_epochs=300,
    state=None,
    random_state=0,
    size=BLOCK_ROWS,
    sweeps=SWEEPS,
):
    """min_{W,b} sum_ij omega_ij [1 - y_ij (zs_i'W zt_j + b)]_+ + lambda_W/2 |W|^2, the W step of
    Alg. 2 with Eq. (pw).

    Zs: C x h_s codes of classes, Zt: N x h_t codes of rows, y: N class numbers (-1: no class). lam
    is lambda_W. w_pos, w_neg, row_scale: the pair weights, see hinge.py. bias is a fixed b;
    fit_bias learns b as an extra constant feature kappa = bias_scale, whose penalty lambda_W/2
    (b/kappa)^2 then belongs to the objective and the certificate. tol: relative duality gap. state:
    of an earlier solution; the result is never worse than its incumbent.

    Returns Solution with value Similarity(W, b); n_iter counts epochs (rows visited / N, rounded
    up).
    """
    problem = _prepare(Zs, Zt, y, lam, w_pos, w_neg, row_scale, loss, bias, fit_bias, bias_scale)
    with threads_for(problem.Zt.size * len(problem.Zs)):
        return _ascend(
            problem, state, tol, max_epochs, size, sweeps, np.random.default_rng(random_state)
        )


def _ascend(problem, state, tol, max_epochs, size, sweeps, rng):
    """Epochs, a check when the row gaps say that it may succeed, second-order steps where epochs do
    not get there.
    """
    run = _Run(problem, _start_duals(problem, state), state, rng)
    run.check(0)
    ratio, last_check, n_epochs, n_visited = 0.5, 0, 0, 0
    while run.gap > tol and n_epochs < max_epochs:
        rows = run.rows_worth_a_visit()
        run.epoch(rows, size, sweeps)
        n_epochs, n_visited = n_epochs + 1, n_visited + len(rows)
        estimate = run.row_gaps.sum()
        due = (
            ratio * estimate <= tol * run.primal and n_epochs - last_check >= EPOCHS_BEFORE_A_CHECK
        )
        if due or n_epochs - last_check >= EPOCHS_BETWEEN_CHECKS or n_epochs == max_epochs:
            run.check(n_epochs)
            if run.gap > tol and n_epochs >= EPOCHS_BEFORE_POLISH:
                run.polish()
            last_check, ratio = (
                n_epochs,
                np.clip((run.primal - run.dual) / max(estimate, 1e-300), 0.05, 1.0),
            )
    assert run.best is not None
    W, b = run.best
    return finish(
        "The similarity block (W)",
        value=Similarity(W, b),
        n_iter=-(-n_visited // max(len(run.A), 1)),
        tol=tol,
        history=run.history,
        optimality=run.gap,
        objective=run.primal,
        state=SimilarityState(run.A, W, b),
    )
