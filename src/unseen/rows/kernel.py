"""Features of a Gaussian kernel: vectors that a straight line cannot part, made so that it can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.linalg
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from unseen.errors import InputError
from unseen.rows.blocks import sum_of_squares
from unseen.support.parameters import check_number, is_float_array
from unseen.support.registry import register

_SAMPLE = 1000
_SMALLEST_EIGENVALUE = 1e-5


@register("row kernel")
@dataclass(frozen=True)
class KernelFeatures:
    """φ(x) = k(x, landmarks) M - shift, so that φ(x)'φ(y) is close to k(x, y) (Nyström).

        k(x, y) = exp(-|x - y|² / 2 width²)

    `landmarks` (n x d) are the training vectors; M (n x m) holds the leading eigenvectors of their
    kernel matrix over the roots of its eigenvalues, scaled so that the mean square length of the
    training vectors is one. `shift` (m) is zero but in model files of the first format.

    scikit-learn's `Nystroem` would replace four lines of `fit`, and has no gradient, which
    explanations need.
    """

    landmarks: np.ndarray
    width: float
    projection: np.ndarray
    shift: np.ndarray

    @classmethod
    def fit(cls, X: np.ndarray, width: float) -> Self:
        """Learn from training vectors X (n x d); `width` is in units of their median distance."""
        distances = euclidean_distances(X[:_SAMPLE])[np.triu_indices(min(len(X), _SAMPLE), 1)]
        middle = float(np.median(distances)) if distances.size else 0.0
        width *= middle if middle > 0 else 1.0
        gram = rbf_kernel(X, gamma=0.5 / width / width)
        values, vectors = scipy.linalg.eigh(gram.astype(np.float64), check_finite=False)
        kept = values > _SMALLEST_EIGENVALUE * values[-1]
        M = np.ascontiguousarray((vectors[:, kept] / np.sqrt(values[kept]))[:, ::-1], X.dtype)
        size = X.dtype.type(np.sqrt(sum_of_squares(gram @ M) / len(X)))
        return cls(X, width, M / size, np.zeros(M.shape[1], X.dtype))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """φ of a block of scaled vectors, n x m."""
        projection, shift = (a.astype(X.dtype, copy=False) for a in (self.projection, self.shift))
        return self._near(X) @ projection - shift

    def _near(self, X: np.ndarray) -> np.ndarray:
        landmarks = self.landmarks.astype(X.dtype, copy=False)
        if not np.isfinite(X).all():
            raise InputError("scaled vectors are not numbers: those of the model make no sense")
        return rbf_kernel(X, landmarks, gamma=0.5 / self.width / self.width)

    def gradient(self, x: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """∂ φ(x)'pull / ∂x at one scaled vector."""
        near = self._near(x[None])[0] * (self.projection @ pull)
        return (near @ self.landmarks - near.sum() * x) / self.width / self.width

    def check(self, n_columns: int) -> int:
        """How many features there are; an error unless the parts fit together and to such rows."""
        check_number(self.width, "the width of its kernel", 1e-30, 1e30)
        tables = is_float_array(self.landmarks, 2) and is_float_array(self.projection, 2)
        if tables and is_float_array(self.shift, 1):
            n, m = self.projection.shape
            if self.landmarks.shape == (n, n_columns) and self.shift.shape in ((m,), (1,)):
                return m
        raise InputError("the parts of its kernel do not fit together")
