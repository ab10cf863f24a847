"""ConSE: the description of a row is the average of those of the classes it is taken for.

Norouzi et al., "Zero-shot learning by convex combination of semantic embeddings", ICLR 2014.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from unseen.classes import ClassTable
from unseen.estimators.scaled import ScaledClassifier
from unseen.rows.blocks import unit_rows
from unseen.support.parameters import POSITIVE, at_least, has_parameters, parameter
from unseen.training.logistic import fit_multinomial


@has_parameters
class ConSE(ScaledClassifier):
    """Convex combination of the descriptions of seen classes.

        f(x) = Σ_{c in top T of x} p(c|x) s_c / Σ_{c in top T of x} p(c|x)
        score(x, s) = f(x)'s / |f(x)| |s|

    with descriptions s_c of the seen classes and p(c|x) of a multinomial logistic regression on
    their rows. Training does not look at the descriptions.

    Parameters
    ----------
    n_top : T, how many of a row's most probable classes are averaged; 10 is the paper.
    penalty : of the logistic regression, in units of the mean square length of the rows.
    row_scaler : how rows are scaled: to length one and then centred, or as the `RowScaler` says.
    class_scaler : how class descriptions are scaled: centred and then to length one, or as the
        `ClassScaler` says; averages of descriptions that are not centred look alike.

    Attributes
    ----------
    weights_, bias_ : the classifiers of the seen classes, d_t x C and C.
    descriptions_ : s_c of the seen classes, C x d_s.
    n_iter_ : steps of the logistic regression.
    """

    test_time_parameters = frozenset(("n_top",))

    row_reading = "rounds"

    n_top: int = parameter(10, at_least(1), tries=[1, 3, 10, 30, 100])
    penalty: float = parameter(1e-4, POSITIVE, tries=[1e-5, 3e-5, 1e-4, 1e-3])

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self.descriptions_ = self._learn_scaling(X, table).astype(X.dtype)
        found = fit_multinomial(X, self.scaling_, labels, table.n_classes, self.penalty)
        self.weights_, self.bias_, self.n_iter_ = found

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        top = keep_largest(softmax(super()._row_codes(X), axis=1), self.n_top)
        return unit_rows(top @ self.descriptions_.astype(X.dtype, copy=False))

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return unit_rows(super()._class_codes(table))


def keep_largest(P: np.ndarray, number: int) -> np.ndarray:
    """P with all but the `number` largest entries of each row set to zero."""
    if number >= P.shape[1]:
        return P
    best = np.argpartition(P, -number, axis=1)[:, -number:]
    kept = np.zeros_like(P)
    np.put_along_axis(kept, best, np.take_along_axis(P, best, axis=1), axis=1)
    return kept
