"""Independent solutions: everything explicit (Y, omega, Kronecker products), solved by a general QP
solver.
"""

import clarabel
import numpy as np
from scipy import sparse


def explicit_pairs(y, n_classes, w_pos, w_neg, scale=None):
    """Y and omega, C x N, by brute force."""
    Y, omega = -np.ones((n_classes, len(y))), np.full((n_classes, len(y)), float(w_neg))
    for j, c in enumerate(y):
        if c >= 0:
            Y[c, j], omega[c, j] = 1.0, w_pos
    return Y, omega * (1.0 if scale is None else np.asarray(scale)[None, :])


def loss_value(margins, omega, loss):
    slack = np.maximum(1.0 - margins, 0.0)
    return float(np.sum(omega * (slack**2 if loss == "squared_hinge" else slack)))


def hinge_qp(H, r, F, Y, omega, b=0.0, loss="hinge", which="free"):
    """min z'Hz/2 - r'z + sum_k omega_k loss(y_k (f_k'z + b)), z free / affine / simplex, by
    clarabel. Returns the minimum.
    """
    n, m = len(r), len(Y)
    squared = loss == "squared_hinge"
    P = sparse.block_diag(
        [sparse.csc_matrix(H), sparse.diags(2.0 * omega if squared else np.zeros(m))], format="csc"
    )
    q = np.concatenate([-r, np.zeros(m) if squared else omega])
    blocks, rhs, cones = [], [], []
    if which != "free":
        blocks.append(
            sparse.hstack([sparse.csc_matrix(np.ones((1, n))), sparse.csc_matrix((1, m))])
        )
        rhs.append([1.0])
        cones.append(clarabel.ZeroConeT(1))
    inequalities = [
        sparse.hstack([sparse.csc_matrix(-Y[:, None] * F), -sparse.eye(m)]),
        sparse.hstack([sparse.csc_matrix((m, n)), -sparse.eye(m)]),
    ]
    bounds = [-1.0 + Y * b, np.zeros(m)]
    if which == "simplex":
        inequalities.append(sparse.hstack([-sparse.eye(n), sparse.csc_matrix((n, m))]))
        bounds.append(np.zeros(n))
    cones.append(clarabel.NonnegativeConeT(sum(len(v) for v in bounds)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sparse.triu(P, format="csc"),
        q,
        sparse.vstack(blocks + inequalities, format="csc"),
        np.concatenate(rhs + bounds),
        cones,
        settings,
    )
    solution = solver.solve()
    assert "Solved" in str(solution.status), solution.status
    return solution.obj_val


def similarity_minimum(Zs, Zt, y, lam, w_pos, w_neg, scale=None, loss="hinge", b=0.0, kappa=None):
    """The W block on explicit Kronecker products; kappa: learn b as a constant feature."""
    Y, omega = explicit_pairs(y, len(Zs), w_pos, w_neg, scale)
    F = np.einsum("ia,jb->ijab", Zs, Zt).reshape(len(Zs) * len(Zt), -1)
    if kappa is not None:
        F, b = np.column_stack([F, np.full(len(F), kappa)]), 0.0
    return hinge_qp(
        lam * np.eye(F.shape[1]), np.zeros(F.shape[1]), F, Y.ravel(), omega.ravel(), b, loss
    )


def joint_value(S, X, y, Zs, Zt, B, D, W, b, p):
    """J of section 3 of the design, term by term."""
    C, N = len(S), len(X)
    source = 0.5 * p["l1s"] * np.sum(Zs**2) + 0.5 * p["l2s"] * np.sum((S - Zs @ B.T) ** 2)
    target = 0.5 * p["l1t"] * np.sum(Zt**2) + 0.5 * p["l2t"] * np.sum((X - Zt @ D.T) ** 2)
    Y, omega = explicit_pairs(y, C, p["w_pos"], p["w_neg"], p.get("scale"))
    loss = loss_value(Y * (Zs @ W @ Zt.T + b), omega, p["loss"])
    bias = 0.0 if p.get("kappa") is None else (b / p["kappa"]) ** 2
    return source / C + target / N + loss + 0.5 * p["lam"] * (np.sum(W**2) + bias)
