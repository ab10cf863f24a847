"""IAP: a row has the attributes of the seen classes it is taken for.

Lampert, Nickisch and Harmeling, "Attribute-based classification for zero-shot visual object
categorization", PAMI 2014; first at CVPR 2009.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from unseen.estimators.dap import AttributePrediction
from unseen.storage.checkpoint import Steps
from unseen.training.logistic import fit_multinomial

# A share of the prior in p(a|x), so that no attribute is ever certain.
_DOUBT = 1e-3


class IAP(AttributePrediction):
    """Indirect attribute prediction: attributes of rows by way of the seen classes.

        p(a_m = 1 | x) = Σ_c p(c|x) a_m^c
        score(x, z) = Σ_m log p(a_m = a_m^z | x) - log p(a_m = a_m^z)

    with the attributes a^c of the seen classes and p(c|x) of a multinomial logistic regression on
    their rows. Attributes become 0 or 1 as in DAP: 1 above their mean over the seen classes.
    Parameters and more attributes are those of `AttributePrediction`.

    Attributes after `fit`
    ----------------------
    weights_, bias_ : the classifiers of the seen classes, d_t x C and C.
    binary_ : a^c of the seen classes, C x M.
    """

    def _fit_attributes(
        self, X: np.ndarray, labels: np.ndarray, binary: np.ndarray, steps: Steps
    ) -> None:
        self.binary_ = binary.astype(X.dtype)
        self.weights_, self.bias_, self.n_iter_ = fit_multinomial(
            X, self.scaling_, labels, binary.shape[0], self.penalty, steps=steps
        )

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
