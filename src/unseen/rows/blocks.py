"""Rows in blocks: everything of size N is visited a block at a time, only small sums are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.classes.checks import check_unmasked

if TYPE_CHECKING:
    from unseen.rows.scaling import RowScaling

# Numbers of rows and something of theirs (n x h) -> something else of theirs
Push = Callable[[slice, np.ndarray], np.ndarray]
BLOCK_BYTES = 8 * 2**20
ROWS_PER_CHUNK = 1024


def chunks(n_rows: int, size: int = ROWS_PER_CHUNK) -> Iterator[slice]:
    """Slices that cover `n_rows` rows, `size` rows each."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def row_blocks(n_rows: int, row_bytes: int, block_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Slices that cover `n_rows` rows, each of about `block_bytes` bytes."""
    return chunks(n_rows, max(1, block_bytes // max(1, row_bytes)))


def array_blocks(X: Any) -> Iterator[slice]:
    """Slices over the rows of an array or a store."""
    return row_blocks(X.shape[0], X.shape[1] * X.itemsize)


def float_types(X: Any) -> Any:
    """float32 stays float32; half precision becomes float32, everything else float64."""
    half = getattr(X, "dtype", None) == np.float16
    return np.float32 if half else (np.float64, np.float32)


def checked_array(model: Any, X: Any, reset: bool = True) -> np.ndarray:
    """Rows as scikit-learn checks them for a model, in a precision that the library computes in."""
    from sklearn.utils.validation import validate_data

    given: Any = X
    if isinstance(X, np.ma.MaskedArray):
        check_unmasked(X, "X")
    found: Any = validate_data(model, given, reset=reset, dtype=float_types(given))
    return found


def all_the_same(X: Any) -> bool:
    """Whether no row differs from the first; as a rule the first block tells."""
    first = np.asarray(X[:1])
    return all((np.asarray(X[rows]) == first).all() for rows in array_blocks(X))


def unit_rows(X: np.ndarray) -> np.ndarray:
    """A copy of X whose rows have length one; rows of zeros stay zero."""
    scaled, _, lengths = _scaled(X)
    scaled /= np.where(lengths > 0, lengths, 1)
    return scaled


def row_lengths(X: np.ndarray) -> np.ndarray:
    """|x| of each row."""
    _, largest, lengths = _scaled(X)
    return (largest * lengths)[:, 0]


def signed_power(X: np.ndarray, power: float) -> np.ndarray:
    """sign(x) |x|^power of each entry; X itself with a power of one."""
    if power == 1:
        return X
    X = X.astype(float_type(X), copy=False)
    raised = np.sqrt(np.abs(X)) if power == 0.5 else np.abs(X) ** power
    return np.copysign(raised, X, out=raised)


def sum_of_squares(X: np.ndarray) -> float:
    """Σ of the squares of all entries, added up in float64 without a copy of X in it."""
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64))


def _scaled(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows divided by their largest entry, so that squares neither overflow nor vanish; that
    entry; and the length of the divided rows."""
    X = X.astype(float_type(X), copy=False)
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0)
    scaled = X / np.where(largest > 0, largest, 1)
    return scaled, largest, np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]


def float_type(X: np.ndarray) -> np.dtype:
    """float32 and float64 stay; half precision and whole numbers become what holds them."""
    return np.result_type(X.dtype, np.float32)


class TrainingRows:
    """Scaled training rows X̃ (N x d_t), touched only a block at a time.

        x̃_j = [(t_j / |t_j| - mean) / scale, constant],  t_j = sign(x_j) |x_j|^power

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
            for rows, block in self._powered():
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

    def _powered(self) -> Iterator[tuple[slice, np.ndarray]]:
        return ((rows, signed_power(X, self.scaling.power)) for rows, X in self._blocks())

    def project(self, D: np.ndarray) -> np.ndarray:
        """X̃ D, N x h."""
        D = np.ascontiguousarray(D, dtype=self.dtype)
        out = np.empty((self.n_rows, D.shape[1]), dtype=self.dtype)
        for rows, block in self._powered():
            np.matmul(block, D[: block.shape[1]], out=out[rows])
        out *= self._factors[:, None]
        out -= self._shift @ D
        return out

    def cross(self, Z: np.ndarray) -> np.ndarray:
        """X̃' Z, d_t x h, for Z of N rows."""
        out = np.zeros((self.n_columns, Z.shape[1]), dtype=self.dtype)
        for rows, block in self._powered():
            out[: block.shape[1]] += block.T @ (Z[rows] * self._factors[rows, None])
        out -= np.outer(self._shift, Z.sum(axis=0, dtype=np.float64)).astype(self.dtype)
        return out

    def round_trip(self, D: np.ndarray, push: Push) -> np.ndarray:
        """X̃' R, d_t x h, for R = push(rows, X̃ D of these rows): one pass over X, and nothing of
        size N x h is kept. What `push` is given and gives may be overwritten."""
        D = np.ascontiguousarray(D, dtype=self.dtype)
        out = np.zeros((self.n_columns, D.shape[1]), dtype=self.dtype)
        shift, total = self._shift @ D, np.zeros(D.shape[1])
        for rows, block in self._powered():
            factors = self._factors[rows, None]
            Z = block @ D[: block.shape[1]]
            Z *= factors
            Z -= shift
            Z = push(rows, Z)
            total += Z.sum(axis=0, dtype=np.float64)
            Z *= factors
            out[: block.shape[1]] += block.T @ Z
        out -= np.outer(self._shift, total).astype(self.dtype)
        return out

    @cached_property
    def total_square(self) -> float:
        """Σ_j |x̃_j|²."""
        return sum(sum_of_squares(self.scaling(block)) for _, block in self._blocks())
