"""EXEM: from the description of a class its visual exemplar is predicted; the nearest one wins.

Changpinyo, Chao and Sha, "Predicting visual exemplars of unseen classes for zero-shot learning",
ICCV 2017.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.linalg
from sklearn.svm import NuSVR

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.scaled import MeanPredictor
from unseen.model.gaussian import gaussian_kernel, median_square
from unseen.rows.moments import Moments, class_moments
from unseen.rows.scaling import RowScaling
from unseen.support.parameters import (
    POSITIVE,
    Choice,
    Number,
    at_least,
    has_parameters,
    parameter,
)
from unseen.support.work import tell, threads_for
from unseen.training.gaussian import kernel_ridge
from unseen.training.logistic import narrowed

# Components with a variance below this share of the largest are rounding.
_ROUNDING = 1e-6
_LEAST_SPREAD = 1e-3
_TOL = 1e-5


@has_parameters
class EXEM(MeanPredictor):
    """Predicted visual exemplars, and the nearest of them.

        z = M'(x - x̄),      v_c = mean of z over the rows of class c
        ψ_k(s) = Σ_c α_ck exp(-|s - s_c|² / 2w²) + b_k ≈ v_ck         for each component k
        score(x, s) = |z|² - |z - ψ(s)|²

    with the principal components M of the training rows, descriptions s_c of the seen classes, and
    ψ_k found by support vector regression (ν-SVR) on the C pairs (s_c, v_ck), or by kernel ridge
    regression, which is faster and on held-out classes no worse. A seen class has its own exemplar.
    Distances are in units of the spread of rows within their class, component by component ("1NNs"
    in the paper), or plain. |z|² is an addition: it changes no decision, and makes scores of
    different rows comparable, as retrieval needs.

    Parameters
    ----------
    n_components : how many of the components there are at most; 500 is the paper.
    cost : C of the regression, of exemplars in units of their standard deviation; the larger, the
        closer ψ comes to the exemplars of the seen classes. Ridge regression has the penalty 1/2C.
    nu : ν, the least share of the seen classes that ψ is a sum over, and the largest share of them
        that lies outside its tube.
    width : w, in units of the median distance of two seen classes.
    regression : "svr", support vectors as in the paper, or "ridge".
    standardized : distances in units of the spread within classes.

    Attributes
    ----------
    components_, center_ : M (d_t x h) and M'x̄ (h).
    exemplars_ : v_c of the seen classes, C x h.
    spread_ : the mean over the seen classes of the standard deviation of z within them, h.
    weights_, bias_ : α (C x h) and b (h).
    descriptions_ : s_c of the seen classes, C x d_s.
    """

    test_time_parameters = frozenset(("standardized",))

    row_reading = "blocks"

    n_components: int = parameter(500, at_least(1), tries=[100, 500])
    cost: float = parameter(5.0, POSITIVE, tries=[1.0, 2.0, 5.0, 10.0])
    nu: float = parameter(0.5, Number(Real, 0, 1, closed="right"))
    width: float = parameter(1.5, POSITIVE, tries=[1.0, 1.5, 2.0])
    regression: str = parameter("svr", Choice("svr", "ridge"), tries=["svr", "ridge"])
    standardized: bool = parameter(True, "boolean", tries=[True, False])

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self.descriptions_ = self._learn_scaling(X, table)
        with threads_for(float(X.size) * min(X.shape)):
            self.components_, self.center_ = principal(X, self.scaling_, self.n_components)
            found = class_moments(X, labels, table.n_classes, self._project)
        self.exemplars_ = found.means
        spread = np.sqrt(found.variances).mean(axis=0)
        # One row a class tells nothing of the spread: then all components count alike.
        self.spread_ = (
            np.maximum(spread, _LEAST_SPREAD * spread.max()) if spread.any() else spread + 1
        )
        K = self._kernel(self.descriptions_)
        if self.regression == "svr":
            self.weights_, self.bias_ = regress(K, self.exemplars_, self.cost, self.nu)
        else:
            self.weights_ = kernel_ridge(K, self.exemplars_, 0.5 / self.cost)
            self.bias_ = self.exemplars_.mean(axis=0)

    def _kernel(self, S: np.ndarray) -> np.ndarray:
        B = self.descriptions_
        return gaussian_kernel(S, B, 2 * self.width**2 * median_square(B))

    def _project(self, X: np.ndarray) -> np.ndarray:
        Z = self.scaling_(X) @ self.components_.astype(X.dtype, copy=False)
        Z -= self.center_.astype(Z.dtype)
        return Z

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        Z = self._project(X)
        return Z / self.spread_.astype(Z.dtype) if self.standardized else Z

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        k = self._kernel(self.class_scaling_(table.vectors.astype(np.float64)))
        exemplars = k @ self.weights_ + self.bias_
        seen = self._number_if_seen(table)
        exemplars[seen >= 0] = self.exemplars_[seen[seen >= 0]]
        return exemplars / self.spread_ if self.standardized else exemplars

    def _gallery_scores(self, codes: np.ndarray, prepared: np.ndarray) -> np.ndarray:
        scores = 2 * super()._gallery_scores(codes, prepared)
        scores -= np.einsum("ch,ch->c", prepared, prepared).astype(scores.dtype)
        return scores


def principal(
    X: np.ndarray, scaling: RowScaling, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """The first principal components of scaled rows (d_t x h), and their mean in them (h)."""
    rows, left, basis = narrowed(X, scaling)
    found = Moments.of(rows, None, 1, left)
    mean, cov = found.means()[0].astype(X.dtype), found.gram(X.dtype)
    square = float(np.trace(cov))
    cov -= np.outer(mean, mean)
    width = cov.shape[0]
    first = max(width - n_components, 0)
    sizes, M = scipy.linalg.eigh(cov, subset_by_index=[first, width - 1], overwrite_a=True)
    kept = sizes > _ROUNDING * sizes[-1]
    if sizes[-1] <= _ROUNDING * square:
        raise InputError(
            f"all rows are the same (n_features={X.shape[1]}), so nothing can be learned"
        )
    M = M[:, kept][:, ::-1]
    center = mean @ M
    M = M if basis is None else basis @ M
    # The sign of a component is free: the same rows in another order must not change it.
    signs = np.sign(M[np.abs(M).argmax(axis=0), np.arange(M.shape[1])])
    return np.ascontiguousarray(M * signs, X.dtype), (center * signs).astype(np.float64)


def regress(
    K: np.ndarray, targets: np.ndarray, cost: float, nu: float
) -> tuple[np.ndarray, np.ndarray]:
    """α (C x h) and b (h) of ν-SVR with the kernel matrix K, for each column of the targets."""
    weights, bias = np.zeros(targets.shape), targets.mean(axis=0)
    sizes = targets.std(axis=0)
    model = NuSVR(kernel="precomputed", C=cost, nu=nu, tol=_TOL)
    for k in np.flatnonzero(sizes > 0):
        if k % 50 == 0:
            tell(f"component {k + 1} of {sizes.size}")
        target = (targets[:, k] - bias[k]) / sizes[k]
        model.fit(K, target)
        weights[model.support_, k] = model.dual_coef_[0] * sizes[k]
        found = weights[:, k] / sizes[k]
        bias[k] += _intercept(target - K @ found, found, cost) * sizes[k]
    return weights, bias


def _intercept(residuals: np.ndarray, alpha: np.ndarray, cost: float) -> float:
    """b of ν-SVR, the middle of all that are optimal, from the residuals r = v - Kα.

    The upper edge b + ε of the tube lies below r where α > 0 and above it where α < cost, the
    lower edge likewise. Where no α is between its bounds b is not unique, and libsvm takes one that
    rounding decides on.
    """
    least = 1e-6 * cost
    upper = residuals[alpha > least], residuals[alpha < cost - least]
    lower = residuals[alpha > least - cost], residuals[alpha < -least]
    edges = [_middle(above, below) for above, below in (upper, lower)]
    return float(np.mean(edges))


def _middle(above: np.ndarray, below: np.ndarray) -> float:
    """The middle between the least number of some and the largest of others."""
    ends = [*np.sort(above)[:1], *np.sort(below)[-1:]]
    return float(np.mean(ends))
