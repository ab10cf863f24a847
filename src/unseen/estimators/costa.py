"""COSTA: the classifier of an unseen class is a combination of those of seen classes.

Mensink, Gavves and Snoek, "COSTA: co-occurrence statistics for zero-shot classification",
CVPR 2014.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.scaled import ScaledClassifier
from unseen.rows.blocks import unit_rows
from unseen.rows.moments import Moments
from unseen.solvers.penalised import solve_penalised
from unseen.support.parameters import POSITIVE, Choice, has_parameters, parameter
from unseen.support.work import threads_for
from unseen.training.logistic import fit_binary, narrowed


@has_parameters
class COSTA(ScaledClassifier):
    """Classifiers of seen classes, combined by how alike the descriptions are.

        w(s) = Σ_c β_c(s) w_c,        β_c(s) = max(0, cos(s, s_c))^p / length,
        score(x, s) = w(s)'x

    with the classifier w_c of each seen class against all others and its description s_c; the β of
    a class have length one, so that no class is louder than another. The paper takes β from how
    often labels occur together in pictures, which class descriptions stand in for. The biases are
    left out: they tell how frequent a seen class is, which says nothing of an unseen one.

    Parameters
    ----------
    sharpness : p; the larger, the more the nearest seen class counts alone.
    penalty : of the classifiers, in units of the mean square length of the rows.
    classifier : "logistic", logistic regression, which reads the rows in every step; or "ridge",
        (cov + penalty I)^-1 (mean of the class - mean), a closed form in one pass over them, which
        wants a larger penalty, such as 0.01.
    row_scaler : how rows are scaled: to length one and then centred, or as the `RowScaler` says;
        centring is needed, as no class has a bias.
    class_scaler : how class descriptions are scaled: centred, so that half of the seen classes are
        unlike any given one, or as the `ClassScaler` says. Its `unit_length` changes nothing, as a
        cosine does not depend on lengths.

    Attributes
    ----------
    weights_ : the classifiers of the seen classes, d_t x C.
    descriptions_ : s_c of the seen classes, C x d_s, of length one.
    n_iter_ : steps of the logistic regression.
    """

    test_time_parameters = frozenset(("sharpness",))

    @property
    def row_reading(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "blocks" if self.classifier == "ridge" else "rounds"

    sharpness: float = parameter(2.0, POSITIVE, tries=[1.0, 1.5, 2.0, 3.0, 5.0])
    penalty: float = parameter(3e-5, POSITIVE, tries=[1e-5, 3e-5, 1e-4, 1e-3])
    classifier: str = parameter("logistic", Choice("logistic", "ridge"))

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self._learn_scaling(X, table)
        self.class_scaling_ = replace(self.class_scaling_, unit_length=True)  # for the cosine
        self.descriptions_ = self.class_scaling_(table.vectors)
        if self.classifier == "ridge":
            with threads_for(float(X.size) * min(X.shape)):
                rows, scaling, basis = narrowed(X, self.scaling_)
                moments = Moments.of(rows, labels, table.n_classes, scaling)
                weights = ridge_classifiers(moments, self.penalty)
            weights = weights if basis is None else basis @ weights
            self.weights_ = weights.astype(X.dtype)
            return
        one_against_all = np.eye(table.n_classes)
        found = fit_binary(X, self.scaling_, labels, one_against_all, self.penalty)
        self.weights_, self.n_iter_ = found.weights, found.n_iter

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        cosines = self.class_scaling_(table.vectors) @ self.descriptions_.T
        alike = np.maximum(cosines, 0) ** self.sharpness
        # A class that is like no seen one takes a little of each.
        alike[~alike.any(axis=1)] = 1.0
        return unit_rows(alike)


def ridge_classifiers(moments: Moments, penalty: float) -> np.ndarray:
    """(cov + penalty tr(cov) I)^-1 (M - mean)', d x C, for the means M of classes."""
    mean = moments.sums.sum(axis=0) / moments.counts.sum()
    cov = moments.gram()
    cov -= np.outer(mean, mean)
    cov.flat[:: len(cov) + 1] += max(penalty * np.trace(cov), 1e-30)
    return solve_penalised(cov, (moments.means() - mean).T, penalty, "rows")
