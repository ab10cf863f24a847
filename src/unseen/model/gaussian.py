"""The general model with Gaussian terms, in which Eq. (gen_p) is integrated and not bounded.

    p_B(z_s | x_s) = N(z_s; μ(x_s), κ v(x_s))      a Gaussian process over descriptions
    p_D(z_t | x_t) = δ(z_t - A'x̃_t)                directions in which classes differ
    p_W(z_s, z_t)  = N(z_t; z_s, I) / N(z_t; 0, I + β)

    F(x_s, x_t) = log ∫ p_B p_D p_W = log N(z_t; μ, I + κ v) - log N(z_t; 0, I + β)

A match is a row around the mean of its class, with covariance I in these directions; no match is a
row of any class, whose means vary by β. F is the log-likelihood ratio of the two, so zero is Bayes'
threshold at equal odds. Rows are not all equally close to their class: with tails ν both Gaussians
have a common unknown scale u of the row, 1/u ~ Gamma(ν/2, ν/2), integrated as well, which makes
them Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unseen.errors import InputError
from unseen.support.parameters import check_number, check_positive, is_float_array
from unseen.support.registry import register


@register("gaussian posterior")
@dataclass(frozen=True)
class Posterior:
    """Everything that a fitted model knows; C seen classes, h directions.

    projection, origin : A (d x h) and A'x̄, so that z_t = A'x̃ - origin.
    between : β, the variance of class means in each direction, h.
    means, counts : means of the seen classes in these directions (C x h), and their rows (C).
    descriptions, width : scaled descriptions of the seen classes (C x d_s), and 2 w² of the kernel
        k(s, s') = exp(-|s - s'|² / 2 w²).
    weights : (K + noise_d I)^-1 T_d for each direction d, C x h.
    modes, values : K = modes diag(values) modes'.
    noise : of a class mean around the process in each direction, in units of β, h.
    misfit : τ, its part that new classes have as well.
    length, stretch : a predicted mean is too short, since what descriptions do not tell pulls it to
        zero: |μ| becomes |μ| (length / |μ|)^stretch.
    spread : κ; 0 takes the predicted mean for the true one.
    tails : ν, or None for Gaussians.
    gain : what F of a class is lower, on average, because its mean is predicted and not known, but
        at most half of what parts a row from the next class. A class without rows has it added.
    """

    projection: np.ndarray
    origin: np.ndarray
    between: np.ndarray
    means: np.ndarray
    counts: np.ndarray
    descriptions: np.ndarray
    width: float
    weights: np.ndarray
    modes: np.ndarray
    values: np.ndarray
    noise: np.ndarray
    misfit: float
    length: float
    stretch: float
    spread: float
    tails: float | None
    gain: float = 0.0

    def codes(self, X: np.ndarray) -> np.ndarray:
        """z_t of scaled rows, N x h."""
        projected = X @ self.projection.astype(X.dtype, copy=False)
        projected -= self.origin.astype(X.dtype, copy=False)
        return projected

    def kernel(self, S: np.ndarray) -> np.ndarray:
        """k of scaled descriptions with those of the seen classes, n x C."""
        return gaussian_kernel(S, self.descriptions, self.width)

    def predict(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """μ(s) and v(s) of classes known by their scaled descriptions alone, n x h each."""
        k = self.kernel(S)
        shares = (k @ self.modes) ** 2
        known = shares @ (1.0 / (self.values[:, None] + self.noise))
        v = self.between * np.maximum(1.0 + self.misfit - known, 0.0)
        return self.stretched(k @ self.weights), v

    def stretched(self, means: np.ndarray) -> np.ndarray:
        """Predicted means with a part of their lost length given back."""
        lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12 * self.length)
        return means * (self.length / lengths) ** self.stretch

    def class_terms(self, S: np.ndarray, seen: np.ndarray) -> ClassTerms:
        """Classes ready to be scored: scaled descriptions, and numbers of seen classes or -1."""
        mean, v = self.predict(S)
        is_seen = seen >= 0
        mean[is_seen] = self.means[seen[is_seen]]
        v[is_seen] = 1.0 / self.counts[seen[is_seen]][:, None]
        return ClassTerms(mean, 1.0 + self.spread * v, np.where(is_seen, 0.0, self.gain))

    def gallery_codes(self, Z: np.ndarray) -> np.ndarray:
        """What F needs to know of rows: codes (N x h) with two columns more, which are the same for
        all classes: |z|², and what the score of any row takes off that of a class."""
        squares = Z * Z
        background = squares @ (1.0 / (1.0 + self.between)).astype(Z.dtype)
        level = 0.5 * float(np.log1p(self.between).sum())
        other = Z.dtype.type(level) - self.log_density(background)
        return np.column_stack([Z, squares.sum(axis=1), other])

    def gallery_scores(self, codes: np.ndarray, classes: ClassTerms) -> np.ndarray:
        """F of rows with classes, N x n, by what `gallery_codes` made of the rows."""
        if codes.dtype not in classes.ready:
            classes.ready[codes.dtype] = self._factors(classes, codes.dtype)
        pull, inverse, level = classes.ready[codes.dtype]
        # The last column is what a row has for all classes. In its place the product may add what
        # classes have, which for few classes takes longer than to add it to their scores.
        own = codes[:, -1:]
        if pull.shape[1] < codes.shape[1]:
            scores = codes[:, :-1] @ pull[:-1]
            scores += pull[-1]
        else:
            left = codes.copy()
            left[:, -1] = 1.0
            scores = left @ pull
        if self.spread:
            scores += np.square(codes[:, :-2]) @ inverse
        np.maximum(scores, 0.0, out=scores)
        self._log_density(scores)
        if np.ptp(level) > 0:
            scores += level
            scores += own
        else:
            scores += own + level[0]
        return scores

    def _factors(self, classes: ClassTerms, dtype: np.dtype) -> tuple[np.ndarray, ...]:
        """What rows are multiplied by for the squared distances over ν, and what is added."""
        unit, inverse = self.tails or 1.0, 1.0 / classes.variance
        pull = np.pad(-2.0 * classes.mean * inverse, ((0, 0), (0, 2)))
        if not self.spread:
            pull[:, -2] = 1.0
        pull[:, -1] = np.einsum("ih,ih->i", classes.mean, classes.mean * inverse)
        level = classes.gain - 0.5 * np.log(classes.variance).sum(axis=1)
        found = (pull.T / unit, inverse.T / unit, level)
        return tuple(np.ascontiguousarray(part, dtype) for part in found)

    def gallery_vectors(self, codes: np.ndarray) -> np.ndarray:
        """[z, c], whose product with [μ, 1] is the score up to a constant of the class: of
        Gaussians exactly, of Student's t to first order at the usual distance of a row from the
        mean of its class, |z - μ|² = h."""
        return np.column_stack([codes[:, :-2], codes[:, -1] - 0.5 * codes[:, -2]])

    def log_density(self, distances: np.ndarray) -> np.ndarray:
        """log of the density at squared distances, without the determinant and what F has twice."""
        return self._log_density(distances / distances.dtype.type(self.tails or 1.0))

    def _log_density(self, distances: np.ndarray) -> np.ndarray:
        """The same in place, at squared distances over ν, or as they are for Gaussians."""
        half = 0.5
        if self.tails is not None:
            np.log1p(distances, out=distances)
            half *= self.tails + self.between.size
        distances *= -distances.dtype.type(half)
        return distances

    def check(self, n_columns: int, n_descriptors: int, n_classes: int) -> None:
        """An error unless the parts fit together and to such rows and descriptions."""
        h = self.between.size
        shapes = {
            "projection": (n_columns, h),
            "origin": (h,),
            "between": (h,),
            "means": (n_classes, h),
            "counts": (n_classes,),
            "descriptions": (n_classes, n_descriptors),
            "weights": (n_classes, h),
            "modes": (n_classes, n_classes),
            "values": (n_classes,),
            "noise": (h,),
        }
        for name, shape in shapes.items():
            part = getattr(self, name)
            if not is_float_array(part, len(shape)) or part.shape != shape:
                raise InputError(f"the {name} of its Gaussian model does not fit the rest")
        for name in ("width", "length"):
            check_positive(getattr(self, name), name)
        for name in ("misfit", "stretch", "spread"):
            check_number(getattr(self, name), name, 0)
        check_number(self.gain, "gain")
        if self.tails is not None:
            check_positive(self.tails, "tails")


@dataclass(frozen=True)
class ClassTerms:
    """Classes to be scored: their means (n x h), variances of a row around them (n x h), and what
    is added to F of each (n)."""

    mean: np.ndarray
    variance: np.ndarray
    gain: np.ndarray
    # What scores of rows of a precision are computed from.
    ready: dict[Any, tuple[np.ndarray, ...]] = field(default_factory=dict, repr=False)


def gaussian_kernel(S: np.ndarray, others: np.ndarray, width: float) -> np.ndarray:
    """exp(-|s - s'|² / width) for all pairs of rows."""
    return np.exp(-squared_distances(S, others) / width)


def squared_distances(S: np.ndarray, others: np.ndarray) -> np.ndarray:
    """|s - s'|² for all pairs of rows."""
    squares = (np.einsum("id,id->i", A, A) for A in (S, others))
    own, other = squares
    return np.maximum(own[:, None] + other - 2.0 * (S @ others.T), 0.0)


def median_square(S: np.ndarray) -> float:
    """The median of |s - s'|² over pairs of different rows; one if all rows are the same."""
    distances = squared_distances(S, S)[np.triu_indices(len(S), 1)]
    apart = distances[distances > 0]
    return float(np.median(apart)) if apart.size else 1.0
