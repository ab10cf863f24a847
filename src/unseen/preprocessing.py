"""Scaling of rows and of class descriptions: learned from training data only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen.blocks import array_blocks


@dataclass(frozen=True)
class RowScaling:
    """x -> x / |x| - mean, each of the two parts only if asked for.

    `mean` (d_t) is that of the training rows after the first part.
    """

    unit_length: bool
    mean: np.ndarray | None

    @classmethod
    def fit(cls, X: np.ndarray, unit_length: bool, center: bool) -> RowScaling:
        """Learn the mean of the training rows X (N x d_t) in one pass over its blocks."""
        if not center:
            return cls(unit_length, None)
        plain = cls(unit_length, None)
        total = np.zeros(X.shape[1])
        for rows in array_blocks(X):
            total += plain(X[rows]).sum(axis=0, dtype=np.float64)
        return cls(unit_length, (total / X.shape[0]).astype(_float_type(X)))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """A scaled copy of a block of rows; a row of zeros keeps its length of zero."""
        scaled = unit_rows(X) if self.unit_length else X.astype(_float_type(X))
        if self.mean is not None:
            scaled -= self.mean.astype(scaled.dtype, copy=False)
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
    X = X.astype(_float_type(X), copy=False)
    # Divide by the largest entry first, so that squares neither overflow nor vanish.
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0)
    scaled = X / np.where(largest > 0, largest, 1)
    norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    scaled /= np.where(norms > 0, norms, 1)
    return scaled


def _float_type(X: np.ndarray) -> np.dtype:
    """float32 and float64 stay; half precision and whole numbers become what holds them."""
    return np.result_type(X.dtype, np.float32)
