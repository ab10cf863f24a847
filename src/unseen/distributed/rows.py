"""Training rows that are a Dask collection: what adds up over rows is added up where they lie."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from dask.base import compute
from dask.delayed import delayed
from scipy.sparse import csr_array
from sklearn.utils.multiclass import check_classification_targets

from unseen.classes.checks import as_names
from unseen.classes.table import names_and_counts, places_among
from unseen.distributed.blocks import as_table, da, in_graph, row_type, stretches, total
from unseen.errors import InputError, naming
from unseen.rows.blocks import Sums, Take
from unseen.support.work import tell


class DaskRows:
    """Rows (N x d) in blocks that a scheduler hands out; only sums over them come back.

    Each block is read anew in every pass, unless the collection is persisted. Sums of blocks are
    float64, added up by a tree of depth two, in an order that depends on the blocks alone: the
    result is the same bit for bit whatever the workers, their number, and what happens to them.
    """

    ndim = 2

    def __init__(self, array: Any) -> None:
        self.array, self.dtype = array, row_type(array)
        self.shape = (int(sum(array.chunks[0])), int(array.shape[1]))
        self.size, self.itemsize = self.shape[0] * self.shape[1], self.dtype.itemsize
        self._firsts = np.cumsum([0, *array.chunks[0][:-1]])

    def add_up(self, sums: Sums, labels: Any, take: Take) -> None:
        """Take in every block; see `unseen.rows.blocks.add_up`."""
        how = _Pass(take, tuple((s.shape, s.dtype) for s in sums), self.dtype, self._firsts)
        with_labels = () if labels is None else (labels[:, None],)
        tell(f"a pass over {self.array.numblocks[0]:,} blocks")
        parts = self._mapped(_sums_of, *with_labels, how=in_graph(how))
        with warnings.catch_warnings():  # Labels that are here make a large graph.
            warnings.filterwarnings("ignore", "Sending large graph")
            found = total(parts).compute()
        for own, more in zip(sums, found, strict=True):
            own += more

    def any_block(self, test: Callable[[np.ndarray], bool]) -> bool:
        """Whether a test holds for some block: the first is looked at before all others."""
        how = in_graph(_Pass(test, (), self.dtype, self._firsts))
        first, *others = self._mapped(_passes, how=how)
        return first.compute() or any(compute(*others))

    def on_workers(self, scaling: Any, pairs: Any, sizes: tuple[int, int], path: Any) -> Any:
        """These rows on the workers of the current client, for an algorithm in rounds."""
        from unseen.distributed.jlse import on_workers

        return on_workers(self, scaling, pairs, sizes, path)

    def checksum(self, labels: Any, n_classes: int) -> bytes:
        """A checksum of rows and labels, numbers of classes: of chunks and of sums over classes."""
        sums = np.zeros((n_classes, self.shape[1])), np.zeros(n_classes)
        self.add_up(sums, labels, _take_classes)
        found = hashlib.sha256(repr(self.array.chunks[0]).encode())
        for part in sums:
            found.update(part.tobytes())
        return found.digest()

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """Some rows, by numbers in order: only the blocks that they lie in are read."""
        return DaskRows(self.array[rows]).in_memory()

    def in_memory(self) -> np.ndarray:
        """All rows as an array."""
        how = in_graph(_Pass(None, (), self.dtype, self._firsts))
        return np.concatenate(compute(*self._mapped(_as_is, how=how)))

    def _mapped(self, function: Any, *more: Any, how: Any) -> list[Any]:
        """One delayed result for each block, in one task with what reads the block."""
        found = da.map_blocks(
            function, self.array, *more, how=how, dtype=object, meta=np.empty((0, 0), object)
        )
        return found.to_delayed().ravel().tolist()


class _Pass(NamedTuple):
    """What is done with each block: sums of these shapes and types, rows of this type, and the
    number of the first row of each block."""

    take: Any
    shapes: tuple[tuple[tuple[int, ...], np.dtype], ...]
    dtype: np.dtype
    firsts: np.ndarray

    def stretches(self, X: Any, number: int) -> Iterator[tuple[slice, np.ndarray]]:
        return stretches(X, self.dtype, number, int(self.firsts[number]))


def _take_classes(sums: Sums, block: np.ndarray, labels: Any) -> None:
    starts = np.arange(len(labels) + 1)
    shape = len(labels), len(sums[0])
    sums[0][:] += csr_array((np.ones(len(labels)), labels, starts), shape=shape).T @ block
    sums[1][:] += np.bincount(labels, minlength=len(sums[1]))


def _sums_of(X: Any, labels: Any = None, *, how: _Pass, block_id: Any) -> Sums:
    sums = tuple(np.zeros(shape, dtype) for shape, dtype in how.shapes)
    own = None if labels is None else np.ravel(labels).astype(np.intp)
    for rows, part in how.stretches(X, block_id[0]):
        how.take(sums, part, None if own is None else own[rows])
    return sums


def _passes(X: Any, *, how: _Pass, block_id: Any) -> bool:
    return any(how.take(part) for _, part in how.stretches(X, block_id[0]))


def _as_is(X: Any, *, how: _Pass, block_id: Any) -> np.ndarray:
    parts = [part for _, part in how.stretches(X, block_id[0])]
    return np.concatenate(parts) if parts else np.empty((0, X.shape[1]), how.dtype)


class DaskLabels(NamedTuple):
    """Labels of rows: an array here, or a Dask array in blocks as those of the rows."""

    given: Any
    chunks: tuple[int, ...]

    def numbers_in(self, names: np.ndarray) -> Any:
        """The place of each label among sorted names, in blocks as those of the rows."""
        if isinstance(self.given, np.ndarray):
            return da.from_array(_numbered(self.given, names), chunks=(self.chunks,), name=False)
        kind = np.min_scalar_type(names.size)
        return self.given.map_blocks(
            _numbered, names=in_graph(names), dtype=kind, meta=np.empty(0, kind)
        )

    def in_memory(self) -> np.ndarray:
        """All labels as an array."""
        return self.given if isinstance(self.given, np.ndarray) else self.given.compute()


def training_rows(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, Any, Any, Any]:
    """Checked rows, their labels, the names among these in order, and the rows of each.

    Rows that are fewer than columns come into memory: a fit takes more memory than they do.
    """
    X = with_lengths(as_table(estimator, X, reset))
    labels, found, counts = labels_beside(X, y)
    rows = DaskRows(X)
    if rows.shape[0] < rows.shape[1]:
        return rows.in_memory(), labels.in_memory(), found, counts
    return rows, labels, found, counts


def labels_beside(X: Any, y: Any) -> tuple[DaskLabels, np.ndarray, np.ndarray]:
    """Labels of rows X, the names among them, and the rows of each; labels that are here are an
    array of checked ones."""
    if y is None:
        raise InputError("fit requires y to be passed, but the target y is None")
    labels, found, counts, lengths = _labels_of(y)
    n_rows, n_labels = int(sum(X.chunks[0])), int(counts.sum())
    if n_rows != n_labels:
        raise InputError(f"{n_rows:,} rows in X but {n_labels:,} labels in y")
    if not n_rows:
        raise InputError("Found array with 0 sample(s): X has no rows")
    chunks = tuple(X.chunks[0])
    if lengths is not None:
        labels = da.Array(labels.dask, labels.name, (lengths,), meta=labels._meta)
        labels = labels if lengths == chunks else labels.rechunk((chunks,))
    return DaskLabels(labels, chunks), found, counts


def with_lengths(X: Any) -> Any:
    """The same collection with the lengths of its blocks, which are computed if unknown."""
    if not any(np.isnan(length) for length in X.chunks[0]):
        return X
    lengths = compute(*(delayed(_length)(block) for block in X.to_delayed().ravel()))
    return da.Array(X.dask, X.name, (lengths, *X.chunks[1:]), meta=X._meta)


def _length(block: Any) -> int:
    return int(block.shape[0])


def _labels_of(y: Any) -> tuple[Any, np.ndarray, np.ndarray, tuple[int, ...] | None]:
    """Labels, the names among them, how often each is there, and the lengths of blocks."""
    if isinstance(y, np.ndarray):
        return (y, *names_and_counts(y), None)
    if hasattr(y, "to_dask_array"):
        with warnings.catch_warnings(action="ignore"):  # that strings become objects
            y = y.to_dask_array()
    if not isinstance(y, da.Array) or y.ndim > 2 or (y.ndim == 2 and y.shape[1] != 1):
        raise InputError("y must be a flat Dask array, or a column of a Dask DataFrame")
    y = (y if y.ndim == 1 else y[:, 0]).map_blocks(
        _checked_labels, dtype=y.dtype, meta=np.empty(0, y.dtype)
    )
    tell("the labels")
    parts = compute(*(delayed(_counted)(block) for block in y.to_delayed().ravel()))
    kinds = {found.dtype.kind == "U" for found, _ in parts if found.size}
    if len(kinds) > 1:
        raise InputError("labels are of mixed kinds: strings in some blocks, numbers in others")
    known = [part for part in parts if part[0].size] or parts
    names, places = np.unique(np.concatenate([n for n, _ in known]), return_inverse=True)
    if names.dtype.kind == "f":
        check_classification_targets(names)
    counts = np.bincount(places, np.concatenate([c for _, c in known])).astype(np.int64)
    return y, names, counts, tuple(int(c.sum()) for _, c in parts)


def _checked_labels(y: Any, block_id: Any = None) -> np.ndarray:
    y = np.asarray(y)
    with naming(f"block {(block_id or [0])[0]} of y"):
        return as_names(y, "labels") if len(y) else y


def _counted(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(labels, return_counts=True)


def _numbered(labels: np.ndarray, names: np.ndarray) -> np.ndarray:
    """In as few bytes as numbers of so many names take, as labels may have a long way to go."""
    own = labels if len(labels) else names[:0]
    return places_among(names, own, np.min_scalar_type(names.size))
