"""Features of a Gaussian kernel: rows that a straight line cannot part, made so that it can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.linalg

from unseen.errors import InputError
from unseen.rows.blocks import row_blocks
from unseen.rows.scaling import sum_of_squares
from unseen.support.checks import check_number, is_float_array
from unseen.support.registry import register

_SAMPLE = 1000
_SMALLEST_EIGENVALUE = 1e-5


@register("row kernel")
@dataclass(frozen=True)
class KernelFeatures:
    """φ(x) = k(x, landmarks) M - shift, so that φ(x)'φ(y) is close to k(x, y) (Nyström).

        k(x, y) = exp(-|x - y|² / 2 width²)

    `landmarks` (n x d_t) are some of the training rows; M (n x m) holds the leading eigenvectors of
    their kernel matrix over the roots of its eigenvalues. `shift` (m) takes off the mean of the
    training rows; M is scaled so that their mean square length is one.
    """

    landmarks: np.ndarray
    width: float
    projection: np.ndarray
    shift: np.ndarray

    @classmethod
    def fit(
        cls,
        X: np.ndarray,
        scaling: Callable[[np.ndarray], np.ndarray],
        *,
        width: float,
        n_landmarks: int,
        n_features: int,
        center: bool = True,
        random_state: int | None = 0,
    ) -> tuple[Self, np.ndarray]:
        """The kernel learned from training rows X (N x d_t), and φ of them (N x m).

        `scaling` is applied to rows first; `width` is in units of the median distance of two rows.
        X is read once, in blocks.
        """
        rng = np.random.default_rng(random_state)
        chosen = np.sort(rng.permutation(X.shape[0])[:n_landmarks])
        landmarks = scaling(np.asarray(X[chosen]))
        sample = landmarks[rng.permutation(chosen.size)[:_SAMPLE]]
        distances = _square_distances(sample, sample)[np.triu_indices(len(sample), 1)]
        middle = float(np.sqrt(np.median(distances))) if distances.size else 0.0
        width *= middle if middle > 0 else 1.0
        plain = cls(landmarks, width, _whitening(_gauss(landmarks, landmarks, width), n_features),
                    np.zeros(1, landmarks.dtype))  # fmt: skip
        features = np.empty((X.shape[0], plain.projection.shape[1]), landmarks.dtype)
        for rows in row_blocks(X.shape[0], max(X.shape[1], n_landmarks) * landmarks.itemsize):
            features[rows] = plain(scaling(np.asarray(X[rows])))
        shift = features.mean(axis=0, dtype=np.float64) * center
        features -= shift.astype(features.dtype)
        size = np.sqrt(sum_of_squares(features) / X.shape[0])
        size = features.dtype.type(size if size > 0 else 1.0)
        features /= size
        kernel = cls(landmarks, width, plain.projection / size, shift.astype(features.dtype) / size)
        return kernel, features

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """φ of a block of scaled rows, n x m."""
        landmarks = self.landmarks.astype(X.dtype, copy=False)
        features = _gauss(X, landmarks, self.width) @ self.projection.astype(X.dtype, copy=False)
        features -= self.shift.astype(X.dtype, copy=False)
        return features

    def gradient(self, x: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """∂ φ(x)'pull / ∂x at one scaled row."""
        near = _gauss(x[None], self.landmarks, self.width)[0] * (self.projection @ pull)
        return (near @ self.landmarks - near.sum() * x) / self.width / self.width

    def check(self, n_columns: int) -> int:
        """How many features there are; an error unless the parts fit together and to such rows."""
        check_number(self.width, "the width of its kernel", 1e-30, 1e30)
        tables = is_float_array(self.landmarks, 2) and is_float_array(self.projection, 2)
        fits = tables and is_float_array(self.shift, 1)
        if fits:
            n, m = self.projection.shape
            fits = self.landmarks.shape == (n, n_columns) and self.shift.shape in ((m,), (1,))
        if not fits:
            raise InputError("the parts of its kernel do not fit together")
        return self.projection.shape[1]


def _gauss(X: np.ndarray, Y: np.ndarray, width: float) -> np.ndarray:
    values = _square_distances(X, Y)
    values *= X.dtype.type(-0.5 / width / width)
    return np.exp(values, out=values)


def _square_distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """|x - y|² of all pairs, by one matrix product."""
    values = X @ (-2 * Y).T
    values += np.einsum("ij,ij->i", X, X)[:, None]
    values += np.einsum("ij,ij->i", Y, Y)
    return np.maximum(values, 0, out=values)


def _whitening(gram: np.ndarray, n_features: int) -> np.ndarray:
    """The leading eigenvectors of a kernel matrix over the roots of their eigenvalues, n x m."""
    values, vectors = scipy.linalg.eigh(
        gram.astype(np.float64), overwrite_a=True, check_finite=False
    )
    values, vectors = values[::-1][:n_features], vectors[:, ::-1][:, :n_features]
    kept = values > _SMALLEST_EIGENVALUE * values[0]
    return np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept]), dtype=gram.dtype)
