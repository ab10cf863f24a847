"""The similarity block with ranking constraints: rows of a class must outscore all other rows.

    min_{W,b}  (1 - gamma) sum_ij omega_ij [1 - y_ij s_ij]_+^2  +  lambda_W/2 (|W|^2 + (b/kappa)^2)
               +  gamma / C sum_i mean_{j in R_i, k not in R_i} [1 - (s_ij - s_ik)]_+^2

with s_ij = zs_i' W zt_j + b, the suggestion of the paper's section on retrieval. Both losses are
smooth, so quasi-Newton steps serve; sorted scores make all pairs of rows of a class cost N log N.
"""

import numpy as np
from scipy.optimize import minimize

from unseen.solvers.similarity import Similarity
from unseen.solvers.solution import finish, relative


def row_ranking(positive, negative):
    """mean_{j,k} [1 - (p_j - q_k)]_+^2 of two lists of scores, and its gradients in p and in q."""
    p, q = np.asarray(positive, np.float64), np.asarray(negative, np.float64)
    if p.size == 0 or q.size == 0:
        return 0.0, np.zeros_like(p), np.zeros_like(q)
    counts, sums, squares = _above(np.sort(q), p - 1)
    margin = 1 - p
    value = np.sum(counts * margin**2 + 2 * margin * sums + squares) / (p.size * q.size)
    push = 2 * (counts * margin + sums) / (p.size * q.size)
    counts, sums, _ = _above(np.sort(-p), -q - 1)
    pull = 2 * (counts * (1 + q) + sums) / (p.size * q.size)
    return float(value), -push, pull


def _above(ranked, floors):
    """How many of the rising values lie above each floor, their sums and sums of squares."""
    first = np.searchsorted(ranked, floors, side="right")
    sums = np.append(np.cumsum(ranked[::-1])[::-1], 0.0)
    squares = np.append(np.cumsum(ranked[::-1] ** 2)[::-1], 0.0)
    return ranked.size - first, sums[first], squares[first]


def ranking_loss(scores, labels):
    """1/C sum_i of `row_ranking` over the classes, and its gradient in the scores (N x C)."""
    gradient, total = np.zeros_like(scores), 0.0
    n_classes = scores.shape[1]
    for i in range(n_classes):
        own = labels == i
        value, up, down = row_ranking(scores[own, i], scores[~own, i])
        total += value / n_classes
        gradient[own, i], gradient[~own, i] = up / n_classes, down / n_classes
    return total, gradient


def pair_loss(scores, labels, w_pos, w_neg, scale):
    """sum_ij omega_ij [1 - y_ij s_ij]_+^2 by class labels, and its gradient in the scores."""
    own = np.arange(scores.shape[1]) == labels[:, None]
    signs = np.where(own, 1, -1).astype(scores.dtype)
    omega = np.where(own, w_pos, w_neg).astype(scores.dtype) * scale[:, None]
    slack = np.maximum(1 - signs * scores, 0)
    weighted = omega * slack
    return float(np.sum(weighted * slack, dtype=np.float64)), -2 * signs * weighted


def fit_ranking_similarity(
    Zs,
    Zt,
    labels,
    *,
    gamma,
    lam,
    w_pos,
    w_neg,
    row_scale=None,
    bias_scale=1.0,
    start=None,
    tol=1e-3,
    max_iter=300,
):
    """The W step with a share gamma of ranking loss, from `start` (a Similarity) or from zero.

    Zs: C x h_s, Zt: N x h_t, labels: N class numbers; weights as in `fit_similarity`. bias_scale 0
    keeps b at 0. Quasi-Newton steps in the axes of Zs'Zs and Zt'Zt, each scaled by its curvature.
    The certificate is |scaled gradient|^2 / 2, twice the fall that one more Newton step with this
    scaling promises; unlike a duality gap it is no bound.
    """
    scale = np.ones(len(Zt), Zt.dtype) if row_scale is None else np.asarray(row_scale, Zt.dtype)
    kappa = float(bias_scale)
    (a, Us), (c, Ut) = _axes(Zs), _axes(Zt)
    As, At = (Zs @ Us).astype(Zt.dtype), (Zt @ Ut).astype(Zt.dtype)
    steps = 1 / np.sqrt(np.append((np.outer(a, c) + lam).ravel(), kappa**2 + lam))
    shape, history = (len(a), len(c)), []

    def value_of(x):
        at = steps * x
        W, beta = at[:-1].reshape(shape), at[-1]
        scores = At @ (As @ W.astype(Zt.dtype)).T + Zt.dtype.type(kappa * beta)
        ranked, rank_push = ranking_loss(scores, labels)
        paired, pair_push = pair_loss(scores, labels, w_pos, w_neg, scale)
        push = (gamma * rank_push + (1 - gamma) * pair_push).astype(Zt.dtype)
        slopes = np.append((As.T @ (push.T @ At)).ravel(), kappa * push.sum(dtype=np.float64))
        value = gamma * ranked + (1 - gamma) * paired + 0.5 * lam * float(at @ at)
        return value, steps * (slopes + lam * at)

    x = np.zeros(steps.size)
    if start is not None:
        x[:-1] = (Us.T @ start.W @ Ut).ravel()
        x[-1] = start.b / kappa if kappa > 0 else 0.0
        x /= steps
    found = minimize(
        value_of, x, jac=True, method="L-BFGS-B",
        callback=lambda intermediate_result: history.append(float(intermediate_result.fun)),
        options={"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": 0, "ftol": 1e-3 * tol},
    )  # fmt: skip
    at = steps * found.x
    gap = 0.5 * float(found.jac @ found.jac)
    return finish(
        "The similarity block (W) with ranking",
        value=Similarity((Us @ at[:-1].reshape(shape) @ Ut.T).astype(Zt.dtype), kappa * at[-1]),
        n_iter=found.nit,
        history=[(k + 1, value, np.nan) for k, value in enumerate(history)],
        optimality=relative(gap, found.fun),
        tol=tol,
        objective=found.fun,
    )


def _axes(Z):
    """Eigenvalues (at least 0) and eigenvectors of the mean of zz'."""
    Z = np.asarray(Z, np.float64)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    return np.maximum(values, 0), vectors
