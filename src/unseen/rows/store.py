"""Rows that need not fit in memory: one table over one file or many, read where it is asked for."""

from __future__ import annotations

import hashlib
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from unseen.classes.checks import check_unmasked
from unseen.errors import InputError, listed, nearest
from unseen.rows.blocks import array_blocks
from unseen.rows.parts import NpyPart, Part
from unseen.rows.recipes import dask_array
from unseen.support.memory import free_memory
from unseen.support.parameters import at_least, check_values

# A store is read into memory whole only if it takes no more than this share of what is free.
MEMORY_SHARE = 0.5
_SAMPLE = 1000


class RowStore:
    """Rows on disk (N x d) that are used like an array; made by `unseen.open_rows`. Read-only.

    store[a:b], store[numbers] and store[mask] read rows into an array, float32 where the files hold
    half or single precision and float64 otherwise. Numbers that are NaN or infinite are an error
    that names file and row. Methods read a store block by block.

    Attributes
    ----------
    shape, dtype : as of the array that it stands for.
    labels : the name or number of the class of each row, or None.
    columns : names of the columns, or None.
    paths : the files, in the order of the rows.
    """

    ndim = 2
    # Why labels that lie beside the rows are not theirs, for those who need labels.
    unlabelled = ""

    def __init__(
        self, parts: Sequence[Part], labels: np.ndarray | None = None, index: Any = None
    ) -> None:
        if not parts:
            raise InputError("a row store needs at least one file")
        # A file without rows may not even know its columns.
        parts = [part for part in parts if part.shape[0]] or parts
        _check_alike(parts)
        self._parts = tuple(parts)
        self._first = np.concatenate([[0], np.cumsum([part.shape[0] for part in parts])])
        self._index: np.ndarray | None = index
        self._order: np.ndarray | None = None
        self.columns = parts[0].columns
        n_rows = int(self._first[-1]) if index is None else len(index)
        self.shape = (n_rows, parts[0].shape[1])
        if not n_rows or not self.shape[1]:
            raise InputError(f"{parts[0].name}: there are {n_rows} rows of {self.shape[1]} columns")
        single = all(part.dtype.kind == "f" and part.dtype.itemsize <= 4 for part in parts)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and self.labels.shape != (n_rows,):
            raise InputError(_of_labels(n_rows, self.name, self.labels))

    # -- what an array has ----------------------------------------------------------------------

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"RowStore({self.name}: {self.shape[0]:,} x {self.shape[1]:,} {self.dtype})"

    def __getitem__(self, rows: Any) -> np.ndarray:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            if step == 1:
                return self._stretch(start, max(start, stop))
            return self._take(np.arange(start, stop, step))
        if isinstance(rows, tuple):
            raise InputError("a row store gives whole rows: take columns of what it gives")
        numbers = self._numbers(rows)
        found = self._take(np.atleast_1d(numbers).ravel())
        return found[0] if numbers.ndim == 0 else found

    def __iter__(self) -> Iterator[np.ndarray]:
        return (row for rows in array_blocks(self) for row in self[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.in_memory().astype(self.dtype if dtype is None else dtype, copy=False)

    # -- other views of the same rows -----------------------------------------------------------

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(part.name for part in self._parts)

    @property
    def name(self) -> str:
        more = len(self._parts) - 1
        return self._parts[0].name + (f" and {more} more" if more else "")

    @property
    def stored(self) -> tuple[str, ...]:
        """The kinds of numbers in the files."""
        return tuple(sorted({str(part.dtype) for part in self._parts}))

    @property
    def is_slow(self) -> bool:
        """Whether reading costs much more than copying."""
        return any(part.is_slow for part in self._parts)

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Stretches of the store with their rows, a few MB each."""
        return ((rows, self[rows]) for rows in array_blocks(self))

    def beside(self) -> dict[str, np.ndarray]:
        """The columns that name or number the rows in all files, read anew."""
        found = [part.beside() for part in self._parts]
        names = [name for name in found[0] if all(name in other for other in found)]
        whole = {name: np.concatenate([each[name] for each in found]) for name in names}
        index = slice(None) if self._index is None else self._index
        return {name: cells[index] for name, cells in whole.items()}

    def select(self, rows: Any) -> RowStore:
        """Some of the rows, by numbers in the order given, a slice or a mask; none is read yet."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        rows = self._checked(np.ravel(self._numbers(rows)))
        labels = None if self.labels is None else self.labels[rows]
        index = rows if self._index is None else self._index[rows]
        return self._like(RowStore(self._parts, labels, index))

    def with_labels(self, labels: Any) -> RowStore:
        """The same rows with these labels."""
        return self._like(RowStore(self._parts, labels, self._index))

    def with_columns(self, names: Sequence[str]) -> RowStore:
        """The same rows with these columns, in this order."""
        known = {name: place for place, name in enumerate(self.columns or ())}
        missing = [name for name in names if name not in known]
        if missing:
            hint = nearest(missing[0], known)
            raise InputError(
                f"{self.name} has no column {missing[0]!r}{hint}; it has {listed(known)}"
            )
        found = self._like(RowStore(self._parts, self.labels, self._index))
        places = np.array([known[name] for name in names])
        found._order = places if self._order is None else self._order[places]
        found.columns, found.shape = tuple(names), (self.shape[0], len(names))
        return found

    def in_memory(self) -> np.ndarray:
        """All rows as an array, if they take no more than half of the memory that is free."""
        free = free_memory()
        if free is not None and self.nbytes > MEMORY_SHARE * free:
            raise InputError(
                f"{self.name} takes {self.nbytes / 1e9:.1f} GB as an array, and only "
                f"{free / 1e9:.1f} GB of memory are free, half of which may be used for it"
            )
        return self[:]

    def spooled(self) -> RowStore:
        """The same rows where reading them again and again is fast: a slow format is copied once
        to a .npy file in the folder of temporary files (`TMPDIR`), which goes with the store."""
        if not self.is_slow:
            return self
        folder = tempfile.mkdtemp(prefix="unseen-rows-")
        path = Path(folder) / "rows.npy"
        try:
            out = np.lib.format.open_memmap(path, "w+", self.dtype, self.shape)
            for rows, block in self.blocks():
                out[rows] = block
            out.flush()
            del out
            made = RowStore([NpyPart(path)], self.labels)
        except BaseException as error:
            _remove(folder)
            if isinstance(error, OSError):
                raise InputError(
                    f"{self.name} is to be copied to {folder}, which takes "
                    f"{self.nbytes / 1e9:.1f} GB: {error.strerror or error}; TMPDIR names another "
                    "folder"
                ) from error
            raise
        made.columns = self.columns
        weakref.finalize(made, _remove, folder)
        return made

    def to_dask(self, block_rows: int | None = None) -> Any:
        """A Dask array (extra `dask`) whose blocks are read from the files by whoever needs them.

        Workers must see the files under the same paths. The labels stay here: `store.labels`.
        block_rows : rows of a block; None for what 64 MB hold, and at least 8 times the columns.
        """
        check_values({"block_rows": [at_least(1), None]}, {"block_rows": block_rows})
        return dask_array(self, block_rows)

    def fingerprint(self) -> str:
        """A SHA-256 of the shape and of a thousand rows spread over the store, as reading all of
        them may take long."""
        found = hashlib.sha256(f"{self.dtype.str}{self.shape}".encode())
        numbers = np.unique(np.linspace(0, self.shape[0] - 1, _SAMPLE).astype(np.int64))
        found.update(np.ascontiguousarray(self[numbers]).data)
        return found.hexdigest()

    def check(self) -> None:
        """Read every row once: an error if one is NaN or infinite, or a file is damaged."""
        for _ in self.blocks():
            pass

    # -- reading --------------------------------------------------------------------------------

    def _like(self, other: RowStore) -> RowStore:
        other._order, other.columns, other.shape = (
            self._order,
            self.columns,
            (other.shape[0], self.shape[1]),
        )
        other.unlabelled = self.unlabelled
        return other

    def _numbers(self, rows: Any) -> np.ndarray:
        """The numbers of rows that are chosen by them, or by a mask."""
        numbers = np.asarray(rows)
        if numbers.dtype == bool:
            if numbers.shape != self.shape[:1]:
                raise InputError(f"a mask of {numbers.size} rows for a store of {self.shape[0]}")
            return np.flatnonzero(numbers)
        if not numbers.size:
            return numbers.astype(np.int64)
        if numbers.dtype.kind not in "iu":
            raise InputError(f"rows are chosen by numbers, a slice or a mask, not {rows!r}")
        return numbers

    def _checked(self, rows: np.ndarray) -> np.ndarray:
        if rows.size and not -self.shape[0] <= rows.min() <= rows.max() < self.shape[0]:
            raise InputError(f"row numbers are between 0 and {self.shape[0] - 1}")
        return np.where(rows < 0, rows + self.shape[0], rows).astype(np.int64)

    def _stretch(self, start: int, stop: int) -> np.ndarray:
        if self._index is not None:
            return self._read(self._index[start:stop])
        out = np.empty((stop - start, self._parts[0].shape[1]), self.dtype)
        for number, part in enumerate(self._parts):
            first, last = int(self._first[number]), int(self._first[number + 1])
            low, high = max(start, first), min(stop, last)
            if low < high:
                with np.errstate(over="ignore"):  # beyond float64 is infinite, which is told below
                    part.fill(out[low - start : high - start], low - first)
        self._check_finite(out, lambda row: start + row)
        return out if self._order is None else out[:, self._order]

    def _take(self, rows: np.ndarray) -> np.ndarray:
        rows = self._checked(rows)
        return self._read(rows if self._index is None else self._index[rows])

    def _read(self, numbers: np.ndarray) -> np.ndarray:
        """The rows with these numbers in the files."""
        order = None
        if numbers.size > 1 and (np.diff(numbers) < 0).any():
            order = np.argsort(numbers, kind="stable")
            numbers = numbers[order]
        out = np.empty((numbers.size, self._parts[0].shape[1]), self.dtype)
        bounds = np.searchsorted(numbers, self._first)
        for number, part in enumerate(self._parts):
            low, high = int(bounds[number]), int(bounds[number + 1])
            if low < high:
                with np.errstate(over="ignore"):
                    part.take(out[low:high], numbers[low:high] - self._first[number])
        self._check_finite(out, lambda row: int(numbers[row]))
        if order is not None:
            sorted_rows, out = out, np.empty_like(out)
            out[order] = sorted_rows
        return out if self._order is None else out[:, self._order]

    def _check_finite(self, block: np.ndarray, number: Any) -> None:
        with np.errstate(all="ignore"):
            if np.isfinite(block.sum()) or np.isfinite(block).all():
                return
        row, column = np.argwhere(~np.isfinite(block))[0]
        at = number(int(row))
        part = int(np.searchsorted(self._first, at, side="right")) - 1
        raise InputError(
            f"{self._parts[part].name} is NaN or infinite in row {at - int(self._first[part])}, "
            f"column {column} (counted from 0); fill or drop such rows first"
        )


def store_for(estimator: Any, X: RowStore, reset: bool) -> RowStore:
    """A store as an estimator takes it, by the columns of training unless `reset`; each block is
    checked when it is read."""
    if reset:
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        if X.columns is not None:
            estimator.feature_names_in_ = np.array(X.columns, dtype=object)
        return X
    names = vars(estimator).get("feature_names_in_")
    if names is not None and X.columns is not None:
        X = X.with_columns([str(name) for name in names])
    if X.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    return X


def store_or_array(X: Any) -> Any:
    """A store as it is, other rows as an array."""
    check_unmasked(X, "X")
    return X if isinstance(X, RowStore) else np.asarray(X)


def chosen_rows(X: Any, rows: np.ndarray) -> Any:
    """Some of the rows, of whatever kind these are; of a store none is read yet."""
    return X.select(rows) if isinstance(X, RowStore) else _safe_indexing(X, rows)


def _of_labels(n_rows: int, name: str, labels: np.ndarray) -> str:
    if labels.ndim != 1:
        return f"the labels of {name} must be a flat list, not of {labels.ndim} dimensions"
    return f"{n_rows:,} rows in {name} but {len(labels):,} labels"


def _check_alike(parts: Sequence[Part]) -> None:
    first = parts[0]
    for part in parts:
        if part.dtype.kind not in "fiub":
            raise InputError(f"{part.name}: features must be numbers, not {part.dtype}")
        if part.shape[1] != first.shape[1]:
            raise InputError(
                f"{part.name} has {part.shape[1]} columns, {first.name} has {first.shape[1]}: all "
                "files of a row store need the same columns"
            )
        if part.columns != first.columns:
            raise InputError(f"{part.name} and {first.name} name their columns differently")


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
