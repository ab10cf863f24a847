"""Training rows as the algorithms see them: small products, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from unseen.rows.blocks import row_blocks
from unseen.rows.scaling import RowScaling, row_lengths, sum_of_squares


class TrainingRows:
    """Scaled training rows X̃ (N x d_t), touched only a block at a time.

        x̃_j = [(x_j / |x_j| - mean) / scale, constant],       parts of it optional

    Products are taken with the rows as they are and put right afterwards, so no scaled copy of X
    is made and X may be a memory map larger than memory. An engine that keeps its blocks elsewhere
    has only these few methods to give. `index` chooses and orders rows of X.
    """

    def __init__(self, X: np.ndarray, scaling: RowScaling, index: np.ndarray | None = None) -> None:
        self.X, self.scaling, self.index = X, scaling, index
        self.n_rows = X.shape[0] if index is None else index.size
        self.n_columns, self.dtype = X.shape[1] + (scaling.constant > 0), X.dtype
        self._factors = np.full(self.n_rows, 1 / scaling.scale, dtype=self.dtype)
        if scaling.unit_length:
            for rows, block in self._blocks():
                lengths = row_lengths(block)
                self._factors[rows] /= np.where(lengths > 0, lengths, 1)
        shift = np.zeros(X.shape[1]) if scaling.mean is None else scaling.mean / scaling.scale
        # The constant feature is one in which every row is zero before minus the constant goes off.
        constant = [-scaling.constant] if scaling.constant else []
        self._shift = np.append(shift, constant).astype(self.dtype)

    def select(self, rows: np.ndarray) -> TrainingRows:
        """Some of these rows, in the order given."""
        return TrainingRows(self.X, self.scaling, rows if self.index is None else self.index[rows])

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        for rows in row_blocks(self.n_rows, self.n_columns * self.dtype.itemsize):
            yield rows, np.asarray(self.X[rows if self.index is None else self.index[rows]])

    def project(self, D: np.ndarray) -> np.ndarray:
        """X̃ D, N x h."""
        D = np.ascontiguousarray(D, dtype=self.dtype)
        out = np.empty((self.n_rows, D.shape[1]), dtype=self.dtype)
        for rows, block in self._blocks():
            np.matmul(block, D[: block.shape[1]], out=out[rows])
        out *= self._factors[:, None]
        out -= self._shift @ D
        return out

    def cross(self, Z: np.ndarray) -> np.ndarray:
        """X̃' Z, d_t x h, for Z of N rows."""
        out = np.zeros((self.n_columns, Z.shape[1]), dtype=self.dtype)
        for rows, block in self._blocks():
            out[: block.shape[1]] += block.T @ (Z[rows] * self._factors[rows, None])
        out -= np.outer(self._shift, Z.sum(axis=0, dtype=np.float64)).astype(self.dtype)
        return out

    @cached_property
    def total_square(self) -> float:
        """Σ_j |x̃_j|²."""
        return sum(sum_of_squares(self.scaling(block)) for _, block in self._blocks())
