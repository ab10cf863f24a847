"""Rows in blocks: everything of size N is visited a block at a time, only small sums are kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.classes.checks import check_unmasked
from unseen.errors import InputError
from unseen.rows.layout import let_go

if TYPE_CHECKING:
    from unseen.rows.scaling import RowScaling

# Numbers of rows and something of theirs (n x h) -> something else of theirs
Push = Callable[[slice, np.ndarray], np.ndarray]
# Arrays that grow with every block of rows.
Sums = tuple[np.ndarray, ...]
# (sums, block of rows, its labels): adds what the block has to the sums, in place.
Take = Callable[[Sums, np.ndarray, Any], None]
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


def add_up(sums: Sums, X: Any, labels: Any, take: Take) -> None:
    """Take in every block of rows X (N x d) with its labels, which may be None.

    Rows on other machines have an `add_up` of their own: it begins with zeros for every block, and
    adds the sums of blocks to each other. `take` must be something that can be sent there.
    """
    elsewhere = getattr(X, "add_up", None)
    if elsewhere is not None:
        elsewhere(sums, labels, take)
        return
    for part in array_blocks(X):
        own = None if labels is None else np.asarray(labels[part], np.intp)
        take(sums, np.asarray(X[part]), own)


def any_block(X: Any, test: Callable[[np.ndarray], bool]) -> bool:
    """Whether a test holds for some block of rows; none is read after the first that passes."""
    elsewhere = getattr(X, "any_block", None)
    if elsewhere is not None:
        return elsewhere(test)
    return any(test(np.asarray(X[rows])) for rows in array_blocks(X))


def is_dask(X: Any) -> bool:
    """Whether these are a Dask collection, which is seen without importing Dask."""
    kinds = type(X).__mro__
    return any(kind.__module__.partition(".")[0] in ("dask", "dask_expr") for kind in kinds)


def float_types(X: Any) -> Any:
    """float32 stays float32; half precision becomes float32, everything else float64."""
    half = getattr(X, "dtype", None) == np.float16
    return np.float32 if half else (np.float64, np.float32)


def as_float64(X: Any) -> np.ndarray:
    """Numbers as float64; longer ones beyond it become infinite without a word of numpy's."""
    with np.errstate(over="ignore"):
        return np.asarray(X).astype(np.float64)


def checked_array(model: Any, X: Any, reset: bool = True) -> np.ndarray:
    """Rows as scikit-learn checks them for a model, in a precision that the library computes in."""
    from sklearn.utils.validation import validate_data

    check_no_path(X)
    given: Any = X
    if type(X) is not np.ndarray:
        check_unmasked(X, "X")
    with np.errstate(over="ignore"):  # beyond float64 is infinite, which is told below
        found: Any = validate_data(
            model, given, reset=reset, dtype=float_types(given), ensure_all_finite=False
        )
    _check_finite(found)
    return found


def check_no_path(X: Any) -> None:
    """An error for the name of a file in place of the rows in it."""
    if isinstance(X, (str, os.PathLike)):
        path = os.fspath(X)
        raise InputError(f"rows are numbers, not the path {path!r}: give open_rows({path!r})")


def _check_finite(X: np.ndarray) -> None:
    """An error that names the first cell that is NaN or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # reads X once and keeps nothing of its size
            return
    for rows in array_blocks(X):
        odd = np.argwhere(~np.isfinite(X[rows]))
        if odd.size:
            row, column = odd[0]
            raise InputError(
                f"X is NaN or infinite in row {rows.start + row}, column {column} "
                "(counted from 0); fill or drop such rows first"
            )


def all_the_same(X: Any) -> bool:
    """Whether no row differs from the first; as a rule the first block tells."""
    first = np.asarray(X[:1])
    return all((np.asarray(X[rows]) == first).all() for rows in array_blocks(X))


def unit_rows(X: np.ndarray) -> np.ndarray:
    """A copy of X whose rows have length one; rows of zeros stay zero."""
    X = X.astype(float_type(X), copy=False)
    lengths, odd = _lengths(X)
    scaled = X / lengths[:, None]
    if odd.size:
        near, _, lengths = _rescaled(X[odd])
        scaled[odd] = near / np.where(lengths > 0, lengths, 1)[:, None]
    return scaled


def row_lengths(X: np.ndarray) -> np.ndarray:
    """|x| of each row."""
    X = X.astype(float_type(X), copy=False)
    lengths, odd = _lengths(X)
    if odd.size:
        _, units, near = _rescaled(X[odd])
        lengths[odd] = units * near
    return lengths


def signed_power(X: np.ndarray, power: float) -> np.ndarray:
    """sign(x) |x|^power of each entry; X itself with a power of one."""
    if power == 1:
        return X
    X = X.astype(float_type(X), copy=False)
    raised = np.sqrt(np.abs(X)) if power == 0.5 else np.abs(X) ** float(power)
    return np.copysign(raised, X, out=raised)


def sum_of_squares(X: np.ndarray) -> float:
    """Σ of the squares of all entries, added up in float64 without a copy of X in it."""
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64))


def _lengths(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|x| of each row, and the numbers of rows whose squares overflow or vanish, with 1 there."""
    with np.errstate(all="ignore"):
        squares = np.einsum("ij,ij->i", X, X)
    least = np.finfo(X.dtype).tiny * 2.0**40
    odd = np.flatnonzero(~((squares > least) & (squares < np.inf)))
    squares[odd] = 1
    return np.sqrt(squares), odd


def _rescaled(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows divided by a power of two near their largest entry, so that squares neither overflow
    nor vanish; that power; and the length of the divided rows."""
    largest = np.abs(X).max(axis=1, initial=0)
    powers = np.frexp(largest)[1] - 1
    near = np.ldexp(X, -powers[:, None])
    return near, np.ldexp(X.dtype.type(1), powers), np.sqrt(np.einsum("ij,ij->i", near, near))


def float_type(X: np.ndarray) -> np.dtype:
    """float32 and float64 stay; half precision and whole numbers become what holds them."""
    return np.result_type(X.dtype, np.float32)


class TrainingRows:
    """Scaled training rows X̃ (N x d_t), touched only a block at a time.

        x̃_j = [(t_j / |t_j| - mean) / scale, constant],  t_j = sign(x_j) |x_j|^power

    Products are taken with the rows as they are and put right afterwards, so no scaled copy of X
    is made and X may be a memory map larger than memory. An engine that keeps its blocks elsewhere
    has only these few methods to give. `index` chooses and orders rows of X; what is summed over
    rows is summed over each of `blocks` and then over these, in float64.
    """

    def __init__(
        self,
        X: np.ndarray,
        scaling: RowScaling,
        index: np.ndarray | None = None,
        blocks: list[slice] | None = None,
    ) -> None:
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
        self.blocks = blocks or [slice(0, self.n_rows)]

    def forget(self) -> None:
        """The end of a training; an engine gives back what it keeps elsewhere."""

    def select(self, rows: np.ndarray) -> TrainingRows:
        """Some of these rows, in the order given."""
        return TrainingRows(self.X, self.scaling, rows if self.index is None else self.index[rows])

    def _blocks(self, within: slice) -> Iterator[tuple[slice, np.ndarray]]:
        size = within.stop - within.start
        for part in row_blocks(size, self.n_columns * self.dtype.itemsize):
            rows = slice(within.start + part.start, within.start + part.stop)
            yield rows, np.asarray(self.X[rows if self.index is None else self.index[rows]])

    def _powered(self, within: slice | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        for rows, X in self._blocks(slice(0, self.n_rows) if within is None else within):
            yield rows, signed_power(X, self.scaling.power)

    def _added(self, one: Callable[..., Any], *given: Any) -> Any:
        """Σ of one(block, *given)."""
        return sum(one(rows, *given) for rows in self.blocks)

    def projections(
        self, D: np.ndarray, within: slice | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """X̃ D of a few rows after the other."""
        D = np.ascontiguousarray(D, dtype=self.dtype)
        shift = self._shift @ D
        for rows, block in self._powered(within):
            Z = block @ D[: block.shape[1]]
            Z *= self._factors[rows, None]
            Z -= shift
            yield rows, Z

    def project(self, D: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """X̃ D, N x h, put into `out` if there is one."""
        if out is None:
            out = np.empty((self.n_rows, D.shape[1]), dtype=self.dtype)
        for within in self.blocks:
            for rows, Z in self.projections(D, within):
                out[rows] = Z
                let_go(out)
        return out

    def gram(self, D: np.ndarray) -> np.ndarray:
        """D' X̃'X̃ D, h x h in float64."""
        return self._added(self._gram, D)

    def _gram(self, within: slice, D: np.ndarray) -> np.ndarray:
        out = np.zeros((D.shape[1], D.shape[1]))
        for _, Z in self.projections(D, within):
            out += Z.T @ Z
        return out

    def cross(self, Z: np.ndarray) -> np.ndarray:
        """X̃' Z, d_t x h, for Z of N rows."""
        return self._added(self._cross, Z).astype(self.dtype)

    def _cross(self, within: slice, Z: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n_columns, Z.shape[1]), dtype=self.dtype)
        total = np.zeros(Z.shape[1])
        for rows, block in self._powered(within):
            out[: block.shape[1]] += block.T @ (Z[rows] * self._factors[rows, None])
            total += Z[rows].sum(axis=0, dtype=np.float64)
            let_go(Z)
        out -= np.outer(self._shift, total).astype(self.dtype)
        return out.astype(np.float64)

    def round_trip(self, D: np.ndarray, push: Push | None = None) -> np.ndarray:
        """X̃' R, d_t x h, for R = push(rows, X̃ D of these rows), or X̃ D itself: one pass over X,
        and nothing of size N x h is kept. What `push` is given and gives may be overwritten."""
        return self._added(self._round_trip, D, push).astype(self.dtype)

    def _round_trip(self, within: slice, D: np.ndarray, push: Push | None) -> np.ndarray:
        out = np.zeros((self.n_columns, D.shape[1]), dtype=self.dtype)
        total = np.zeros(D.shape[1])
        D = np.ascontiguousarray(D, dtype=self.dtype)
        shift = self._shift @ D
        for rows, block in self._powered(within):
            factors = self._factors[rows, None]
            Z = block @ D[: block.shape[1]]
            Z *= factors
            Z -= shift
            Z = Z if push is None else push(rows, Z)
            total += Z.sum(axis=0, dtype=np.float64)
            Z *= factors
            out[: block.shape[1]] += block.T @ Z
        out -= np.outer(self._shift, total).astype(self.dtype)
        return out.astype(np.float64)

    @cached_property
    def total_square(self) -> float:
        """Σ_j |x̃_j|²."""
        return float(self._added(self._square))

    def _square(self, within: slice) -> float:
        return sum(sum_of_squares(self.scaling(block)) for _, block in self._blocks(within))
