"""GFZSL: each class is a Gaussian whose mean and variances are told by its description.

Verma and Rai, "A simple exponential family framework for zero-shot learning", ECML 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.scaled import MeanPredictor
from unseen.model.gaussian import gaussian_kernel, median_square
from unseen.rows.moments import ClassMoments, class_moments
from unseen.support.parameters import POSITIVE, Choice, has_parameters, parameter
from unseen.support.work import threads_for
from unseen.training.gaussian import kernel_ridge

# The least variance within classes of a column, as a share of the average over columns.
_LEAST_VARIANCE = 1e-4
# Variances below this share of what they come from are rounding.
_ROUNDING = 1e-12


class _Classes(NamedTuple):
    """Means and variances of candidates, n x d_t each."""

    means: np.ndarray
    variances: np.ndarray


@has_parameters
class GFZSL(MeanPredictor):
    """The generative framework for zero-shot learning with Gaussians, in closed form.

        p(x | c)   = N(x; μ_c, diag σ²_c)
        μ(s)       = μ̄ + k(s)' (K + λ_μ I)^-1 (M - μ̄)
        log σ²(s)  = ρ̄ + k(s)' (K + λ_ρ I)^-1 (P - ρ̄)
        score(x,s) = log N(x; μ(s), diag σ²(s)) - log N(x; x̄, diag σ²)

    with the means and log-variances of the seen classes in the rows of M and P, their averages μ̄
    and ρ̄, and the kernel K of their descriptions: s't, or exp(-|s - t|² / 2w²). A seen class has
    its own mean and variances. The last term of the score, a Gaussian of all rows, is an addition:
    it changes no decision, and makes scores of different rows comparable, as retrieval needs. The
    transductive part of the paper, which looks at test rows, is not here.

    Parameters
    ----------
    mean_penalty, variance_penalty : λ_μ and λ_ρ, in units of the average of the diagonal of K.
    kernel : "rbf" or "linear".
    width : w of "rbf", in units of the median distance of two seen classes.
    prior_rows : variances of a seen class are estimated as if it had so many rows more, with the
        variances that all classes have on average.

    Attributes
    ----------
    center_, spread_ : mean of the rows, and their standard deviation within classes, d_t. In what
        follows a row is (x - center_) / spread_.
    means_, log_variances_ : of the seen classes, C x d_t.
    mean_weights_, variance_weights_ : (K + λ I)^-1 times these minus their averages, C x d_t.
    background_ : variance of all rows, d_t.
    descriptions_ : of the seen classes, C x d_s.
    """

    row_reading = "blocks"

    mean_penalty: float = parameter(0.1, POSITIVE, tries=[0.03, 0.1, 0.3])
    variance_penalty: float = parameter(10.0, POSITIVE, tries=[1.0, 10.0, 100.0])
    kernel: str = parameter("rbf", Choice("rbf", "linear"))
    width: float = parameter(1.5, POSITIVE, tries=[1.0, 1.5, 2.0])
    prior_rows: float = parameter(100.0, POSITIVE)

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self.descriptions_ = self._learn_scaling(X, table)
        with threads_for(X.size):
            self._learn_classes(class_moments(X, labels, table.n_classes, self.scaling_))
        K = self._kernel(self.descriptions_)
        self.mean_weights_ = kernel_ridge(K, self.means_, self.mean_penalty)
        self.variance_weights_ = kernel_ridge(K, self.log_variances_, self.variance_penalty)

    def _learn_classes(self, found: ClassMoments) -> None:
        """Means and log-variances of the seen classes, in units of the spread within classes."""
        shares = found.counts / found.counts.sum()
        self.center_ = shares @ found.means
        apart = found.means - self.center_
        between, within = shares @ apart**2, shares @ found.variances
        level = within.mean()
        if level <= _ROUNDING * between.mean():
            # One row per class, or rows that equal each other: nothing is known of the spread.
            level, within = between.mean(), np.zeros_like(within)
        if level <= _ROUNDING * np.mean(found.means**2):
            raise InputError(
                f"all rows are the same (n_features={within.size}), so nothing can be learned"
            )
        # Columns that hardly vary get a little noise, the same for all classes.
        noise = np.maximum(_LEAST_VARIANCE * level - within, 0.0)
        within = within + noise
        self.spread_ = np.sqrt(within)
        self.means_ = apart / self.spread_
        counts, prior = found.counts[:, None], self.prior_rows
        variances = (counts * (found.variances + noise) / within + prior) / (counts + prior)
        self.log_variances_ = np.log(variances)
        self.background_ = shares @ (variances + self.means_**2)

    def _kernel(self, S: np.ndarray) -> np.ndarray:
        B = self.descriptions_
        if self.kernel == "linear":
            return S @ B.T
        return gaussian_kernel(S, B, 2 * self.width**2 * median_square(B))

    def _prepare(self, table: ClassTable) -> _Classes:
        k = self._kernel(self.class_scaling_(table.vectors.astype(np.float64)))
        means = self.means_.mean(axis=0) + k @ self.mean_weights_
        logs = self.log_variances_.mean(axis=0) + k @ self.variance_weights_
        seen = self._number_if_seen(table)
        means[seen >= 0] = self.means_[seen[seen >= 0]]
        logs[seen >= 0] = self.log_variances_[seen[seen >= 0]]
        return _Classes(means, np.exp(logs))

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        Z = self.scaling_(X)
        Z -= self.center_.astype(Z.dtype)
        Z /= self.spread_.astype(Z.dtype)
        return Z

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return self._prepare(table).means

    def _gallery_scores(self, codes: np.ndarray, prepared: _Classes) -> np.ndarray:
        means, variances = prepared
        level = means**2 / variances + np.log(variances / self.background_)
        dtype = codes.dtype
        scores = codes @ (means / variances).T.astype(dtype)
        scores -= (0.5 * level.sum(axis=1)).astype(dtype)
        spread = (0.5 / variances - 0.5 / self.background_).T.astype(dtype)
        scores -= np.square(codes) @ spread
        return scores

    def _gallery_queries(self, prepared: _Classes) -> None:
        """Squares of codes count too."""
