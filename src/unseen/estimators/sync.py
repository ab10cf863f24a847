"""SynC: the classifier of a class is put together from those of phantom classes.

Changpinyo, Chao, Gong and Sha, "Synthesized classifiers for zero-shot learning", CVPR 2016.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial

import numpy as np
from scipy.special import softmax

from unseen.classes import ClassTable
from unseen.estimators.scaled import ScaledClassifier
from unseen.model.gaussian import median_square, squared_distances
from unseen.rows.scaling import ClassScaler, RowScaler
from unseen.support.parameters import POSITIVE, has_parameters, parameter, part
from unseen.training.hinge import fit_squared_hinge

# Directions of the similarities below this share of the largest are rounding.
_ROUNDING = 1e-8


@has_parameters
class SynC(ScaledClassifier):
    """Synthesized classifiers, with the one-versus-other loss.

        s_cr = exp(-d(a_c, a_r)) / Σ_q exp(-d(a_c, a_q)),      d(a, b) = |a - b|² / 2σ²
        w_c  = Σ_r s_cr v_r
        min over v_1 … v_C of  1/N Σ_j Σ_c [1 - y_jc (w_c'x_j + b_c)]²_+ + λ/2 Σ_c |w_c|²

    with rows x_j, y_jc = +1 for the class of a row and -1 for others, and base classifiers v_r of C
    phantom classes. The phantoms lie at the descriptions a_r of the seen classes, where the paper
    starts them and mostly leaves them. Then W = S V is any matrix there is: the best W are ordinary
    classifiers of the seen classes, V = S^-1 W, and the classifier of a class described by a is
    Σ_r s_r(a) v_r, which for a seen class is its own. The bias is an addition, for rows that are
    centred.

    Parameters
    ----------
    width : σ, in units of the median distance of two seen classes. A small one mixes the
        classifiers of the nearest seen classes; a larger one draws a smooth curve through all.
    penalty : λ, in units of the mean square distance of the rows from their mean.
    row_scaler : how rows are scaled: the square root if none is negative, then to length one and
        centred, or as the `RowScaler` says.
    class_scaler : how class descriptions are scaled: to the power 0.7 and then to length one, or as
        the `ClassScaler` says.

    Attributes
    ----------
    weights_, bias_ : the classifiers of the seen classes, d_t x C and C.
    descriptions_ : a_r of the seen classes, C x d_s.
    n_iter_ : steps of the solver.
    """

    test_time_parameters = frozenset(("width",))

    row_reading = "rounds"

    width: float = parameter(1.0, POSITIVE, tries=[0.4, 0.7, 1.0, 1.5])
    penalty: float = parameter(1e-2, POSITIVE, tries=[1e-3, 1e-2, 3e-2])
    _: KW_ONLY
    row_scaler: RowScaler | None = part(partial(RowScaler, power="auto"))
    class_scaler: ClassScaler | None = part(partial(ClassScaler, center=False, power=0.7))

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self.descriptions_ = self._learn_scaling(X, table)
        self._kept = {}
        self.weights_, self.bias_, self.n_iter_ = fit_squared_hinge(
            X, self.scaling_, labels, table.n_classes, self.penalty
        )

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        """s(a) S^-1: what the classifier of each class takes of those of the seen ones."""
        B = self.descriptions_
        square = self.width**2 * median_square(B)
        kept: dict[float, np.ndarray] = vars(self).setdefault("_kept", {})
        if square not in kept:
            kept.clear()
            # Two classes with one description share a phantom: then it is the least V there is.
            kept[square] = np.linalg.pinv(similarities(B, B, square), rcond=_ROUNDING)
        S = self.class_scaling_(table.vectors.astype(np.float64))
        return similarities(S, B, square) @ kept[square]


def similarities(S: np.ndarray, phantoms: np.ndarray, square: float) -> np.ndarray:
    """s of descriptions S (n x d_s) with phantoms (C x d_s), n x C, for σ² = `square`."""
    return softmax(-squared_distances(S, phantoms) / (2 * square), axis=1)
