"""SAE: a linear code for rows that is the description of their class and gives the row back.

Kodirov, Xiang and Gong, "Semantic autoencoder for zero-shot learning", CVPR 2017.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
import scipy.linalg

from unseen.classes import ClassTable
from unseen.estimators.scaled import ScaledClassifier
from unseen.rows.blocks import unit_rows
from unseen.rows.moments import Moments
from unseen.support.parameters import POSITIVE, Choice, has_parameters, parameter
from unseen.support.work import threads_for
from unseen.training.logistic import narrowed


@has_parameters
class SAE(ScaledClassifier):
    """Semantic autoencoder, in closed form.

        min_W |X - S W|² + λ |X W' - S|²
        S'S W + λ W X'X = (1 + λ) S'X                              (a Sylvester equation)

    with rows X (N x d_t), the description of each row's class S (N x d_s) and W (d_s x d_t), which
    decodes descriptions into rows and, transposed, encodes rows. The score is the cosine of Ws with
    x ("visual"), or of s with W x ("semantic"). Both sides of the equation are symmetric, so the
    eigenvectors of both solve it entry by entry; X is read in blocks, twice.

    Parameters
    ----------
    encoder_weight : λ, for rows and descriptions of mean square length one.
    direction : "visual" compares where the rows are, "semantic" where the descriptions are.

    Attributes
    ----------
    weights_ : W, d_s x d_t.
    """

    test_time_parameters = frozenset(("direction",))
    row_reading = "blocks"

    encoder_weight: float = parameter(1.0, POSITIVE, tries=[0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0])
    _: KW_ONLY
    direction: str = parameter("visual", Choice("visual", "semantic"), tries=["visual", "semantic"])

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        S = self._learn_scaling(X, table, unit_scale=True)
        with threads_for(float(X.size) * min(X.shape)):
            rows, scaling, basis = narrowed(X, self.scaling_)
            moments = Moments.of(rows, labels, table.n_classes, scaling)
            W = solve_autoencoder(moments, S, self.encoder_weight, X.dtype)
        self.weights_ = (W if basis is None else W @ basis.T).astype(X.dtype)

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        X = self.scaling_(X)
        return unit_rows(X if self.direction == "visual" else X @ self._weights(X).T)

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        S = self.class_scaling_(table.vectors)
        return unit_rows(S @ self._weights(S) if self.direction == "visual" else S)

    def _weights(self, like: np.ndarray) -> np.ndarray:
        return self.weights_.astype(like.dtype, copy=False)


def solve_autoencoder(
    moments: Moments, S: np.ndarray, encoder_weight: float, dtype: np.dtype
) -> np.ndarray:
    """W from sums over rows of width d_t and descriptions S (C x d_s), which are brought to a mean
    square length of one over the rows; `dtype` is that of the rows.

    With S'S/N = U α U' and X'X/N = V β V' the equation is W̃_ij = (1 + λ) T̃_ij / (α_i + λ β_j) for
    W̃ = U'WV and T̃ = U'(S'X/N)V. Where α_i = 0 so is T̃_i, and these directions are left out.
    """
    n_rows = moments.counts.sum()
    shares = moments.counts / n_rows
    S = S / (np.sqrt(shares @ np.einsum("cs,cs->c", S, S)) or 1.0)
    _, lengths, U = np.linalg.svd(np.sqrt(shares)[:, None] * S, full_matrices=False)
    U = U[lengths > 1e-6 * lengths[0]].T
    alpha = lengths[: U.shape[1]] ** 2
    target = (S @ U).T @ (moments.sums / n_rows)
    beta, V = scipy.linalg.eigh(
        moments.gram(dtype), driver="evd", overwrite_a=True, check_finite=False
    )
    scale = alpha[:, None] + encoder_weight * np.maximum(beta, 0)
    codes = (1 + encoder_weight) * (target @ V) / scale
    return U @ (codes.astype(V.dtype) @ V.T)
