"""DAP and IAP: which attributes does a row have, and which class has these?

Lampert, Nickisch and Harmeling, "Attribute-based classification for zero-shot visual object
categorization", PAMI 2014; first at CVPR 2009.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
from scipy.special import log_expit, softmax

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.base import ZeroShotClassifier
from unseen.rows.scaling import RowScaler
from unseen.support.parameters import POSITIVE, Choice, has_parameters, parameter, part
from unseen.training.logistic import Linear, fit_binary, fit_multinomial

# A share of the prior in the p(a|x) of IAP, so that no attribute is ever certain.
_DOUBT = 1e-3


@has_parameters
class DAP(ZeroShotClassifier):
    """Direct attribute prediction: one classifier per attribute, and the class that fits.

        score(x, z) = Σ_m log p(a_m = a_m^z | x) - log p(a_m = a_m^z)

    with the attributes a^z of class z and p(a_m|x) of a logistic regression on the rows of seen
    classes, all attributes at once. Attributes that are not 0 or 1 are made so as in the paper: 1
    above their mean over the seen classes. An attribute that all seen classes or none have then is
    left out, as there is nothing to learn it from. So there is no scaling of class descriptions.

    Parameters
    ----------
    penalty : of the logistic regression, in units of the mean square length of the rows.
    prior : p(a_m): "classes" for the share of the seen classes that have it (the paper), "half" for
        one half.
    row_scaler : how rows are scaled: to length one and then centred, or as the `RowScaler` says.

    Attributes
    ----------
    weights_, bias_ : the classifiers of the attributes, d_t x M and M.
    threshold_ : above which an attribute counts as 1, d_s.
    attributes_, shares_ : the columns that are used, M, and the share of seen classes that have
        them.
    n_iter_ : steps of the logistic regression.
    """

    test_time_parameters = frozenset(("prior",))

    row_reading = "rounds"

    penalty: float = parameter(1e-4, POSITIVE, tries=[1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3])
    _: KW_ONLY
    prior: str = parameter("classes", Choice("classes", "half"))
    row_scaler: RowScaler | None = part(RowScaler)

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self.scaling_ = self._part("row_scaler").learn(X)
        self.threshold_ = table.vectors.mean(axis=0, dtype=np.float64)
        shares = (table.vectors > self.threshold_).mean(axis=0)
        self.attributes_ = np.flatnonzero((shares > 0) & (shares < 1))
        if self.attributes_.size == 0:
            raise InputError("no attribute of the class table tells one seen class from another")
        self.shares_ = shares[self.attributes_]
        found = self._classifiers(X, labels, self._binary(table))
        self.weights_, self.bias_, self.n_iter_ = found

    def _classifiers(self, X: np.ndarray, labels: np.ndarray, binary: np.ndarray) -> Linear:
        return fit_binary(X, self.scaling_, labels, binary, self.penalty)

    def _log_probabilities(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p(a=1|x) and log p(a=0|x) by the scores W'x̃ + b of the classifiers."""
        return log_expit(scores), log_expit(-scores)

    def _binary(self, table: ClassTable) -> np.ndarray:
        """Attributes above their mean over the seen classes, C' x M, as 0 and 1."""
        kept = self.attributes_
        return (table.vectors[:, kept] > self.threshold_[kept]).astype(np.float64)

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        """What each attribute adds to the score of a class that has it; last, that of having none.

        Both are log p(a|x) / p(a), so that the inner product with (a^z, 1) is the score.
        """
        have, lack = self._log_probabilities(super()._row_codes(X))
        prior = self.shares_ if self.prior == "classes" else np.full(self.shares_.size, 0.5)
        have -= np.log(prior).astype(X.dtype)
        lack -= np.log1p(-prior).astype(X.dtype)
        none = lack.sum(axis=1, keepdims=True)
        have -= lack
        return np.hstack([have, none])

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return np.hstack([self._binary(table), np.ones((table.n_classes, 1))])


class IAP(DAP):
    """Indirect attribute prediction: a row has the attributes of the seen classes it is taken for.

        p(a_m = 1 | x) = Σ_c p(c|x) a_m^c

    with the attributes a^c of the seen classes and p(c|x) of a multinomial logistic regression on
    their rows. The score, the parameters and all else are those of `DAP`.

    Attributes
    ----------
    weights_, bias_ : the classifiers of the seen classes, d_t x C and C.
    binary_ : a^c of the seen classes, C x M.
    """

    def _classifiers(self, X: np.ndarray, labels: np.ndarray, binary: np.ndarray) -> Linear:
        self.binary_ = binary.astype(X.dtype)
        return fit_multinomial(X, self.scaling_, labels, len(binary), self.penalty)

    def _log_probabilities(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        P = softmax(scores, axis=1)
        has = self.binary_.astype(P.dtype, copy=False)
        shares = self.shares_.astype(P.dtype)
        # Two products rather than 1 - p, in which a small probability would be lost to rounding.
        return _log_mixed(P @ has, shares), _log_mixed(P @ (1 - has), 1 - shares)


def _log_mixed(p: np.ndarray, prior: np.ndarray) -> np.ndarray:
    p *= p.dtype.type(1 - _DOUBT)
    p += p.dtype.type(_DOUBT) * prior
    return np.log(p, out=p)
