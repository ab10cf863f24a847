"""Scaling of rows and of class descriptions: learned from training data only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen.blocks import array_blocks


@dataclass(frozen=True)
class RowScaling:
    """x -> (x / |x| - mean) / scale, each part only if asked for.

    `mean` (d_t) is that of the training rows after the first part; `scale` makes the mean square
    length of the training rows one.
    """

    unit_length: bool
    mean: np.ndarray | None
    scale: float = 1.0

    @classmethod
    def fit(
        cls, X: np.ndarray, unit_length: bool, center: bool, unit_scale: bool = False
    ) -> RowScaling:
        """Learn from the training rows X (N x d_t) in one pass over its blocks."""
        if not (center or unit_scale):
            return cls(unit_length, None)
        plain = cls(unit_length, None)
        total, square = np.zeros(X.shape[1]), 0.0
        for rows in array_blocks(X):
            block = plain(X[rows])
            total += block.sum(axis=0, dtype=np.float64)
            square += sum_of_squares(block)
        mean = total / X.shape[0] if center else np.zeros(X.shape[1])
        variance = square / X.shape[0] - float(mean @ mean)
        is_spread = unit_scale and variance > 1e-12 * square / X.shape[0]
        scale = float(np.sqrt(variance)) if is_spread else 1.0
        return cls(unit_length, mean.astype(_float_type(X)) if center else None, scale)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """A scaled copy of a block of rows; a row of zeros keeps its length of zero."""
        scaled = unit_rows(X) if self.unit_length else X.astype(_float_type(X))
        if self.mean is not None:
            scaled -= self.mean.astype(scaled.dtype, copy=False)
        if self.scale != 1.0:
            scaled /= scaled.dtype.type(self.scale)
        return scaled


@dataclass(frozen=True)
class ClassScaling:
    """s -> (s - mean) / |s - mean|, each of the two parts only if asked for.

    `mean` (d_s) is that of the descriptions of the seen classes.
    """

    unit_length: bool
    mean: np.ndarray | None

    @classmethod
    def fit(cls, S: np.ndarray, unit_length: bool, center: bool) -> ClassScaling:
        """Learn the mean of the descriptions S (C x d_s) of the seen classes."""
        return cls(unit_length, S.mean(axis=0) if center else None)

    def __call__(self, S: np.ndarray) -> np.ndarray:
        """Scaled descriptions; one equal to the mean becomes zero."""
        scaled = S if self.mean is None else S - self.mean
        return unit_rows(scaled) if self.unit_length else scaled


def unit_rows(X: np.ndarray) -> np.ndarray:
    """A copy of X whose rows have length one; rows of zeros stay zero."""
    scaled, _, lengths = _scaled_rows(X)
    scaled /= np.where(lengths > 0, lengths, 1)
    return scaled


def row_lengths(X: np.ndarray) -> np.ndarray:
    """|x| of each row."""
    _, largest, lengths = _scaled_rows(X)
    return (largest * lengths)[:, 0]


def sum_of_squares(X: np.ndarray) -> float:
    """Σ of the squares of all entries, added up in float64 without a copy of X in it."""
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64))


def _scaled_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows divided by their largest entry, so that squares neither overflow nor vanish; that
    entry; and the length of the divided rows."""
    X = X.astype(_float_type(X), copy=False)
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0)
    scaled = X / np.where(largest > 0, largest, 1)
    return scaled, largest, np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]


def _float_type(X: np.ndarray) -> np.dtype:
    """float32 and float64 stay; half precision and whole numbers become what holds them."""
    return np.result_type(X.dtype, np.float32)
