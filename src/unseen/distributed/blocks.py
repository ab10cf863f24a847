"""Blocks of a Dask collection: one kind of table for all of them, and each block checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import dask.array as dask_array
import numpy as np
import scipy.sparse
from dask.delayed import Delayed, delayed

from unseen.classes.checks import check_unmasked
from unseen.errors import InputError, listed, nearest
from unseen.rows.blocks import array_blocks

# Its hints of types are few, and some are wrong.
da: Any = dask_array
_ARRAY: Any = dask_array.Array
_DELAYED: Any = Delayed


def as_table(estimator: Any, X: Any, reset: bool) -> Any:
    """Rows as a Dask array whose blocks have all columns, those of training unless `reset`."""
    names = None
    # A delayed value claims to have every attribute.
    if hasattr(X, "columns") and not isinstance(X, _DELAYED):
        names = [str(name) for name in X.columns]
        known = None if reset else vars(estimator).get("feature_names_in_")
        if known is not None:
            X, names = X[_in_order(X, [str(name) for name in known])], None
        X = X.to_dask_array()
    if not isinstance(X, _ARRAY):
        raise InputError(
            f"X is a Dask {type(X).__name__}: give a Dask array or DataFrame; da.from_delayed and "
            "da.stack make an array of delayed parts"
        )
    _check_shape(X)
    if reset:
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
    elif X.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _in_order(X: Any, wanted: list[str]) -> list[Any]:
    known = {str(name): name for name in X.columns}
    missing = [name for name in wanted if name not in known]
    if missing:
        hint = nearest(missing[0], known)
        raise InputError(f"X has no column {missing[0]!r}{hint}; it has {listed(known)}")
    return [known[name] for name in wanted]


def _check_shape(X: Any) -> None:
    if X.ndim != 2:
        raise InputError(
            f"Expected 2D array, got a Dask array of {X.ndim} dimensions: rows down, columns across"
        )
    if X.dtype.kind not in "fiub":
        raise InputError(
            f"X is a Dask array of {X.dtype}: rows must be numbers; X.astype('float32') makes "
            "them so, if they are"
        )
    if np.isnan(X.shape[1]) or X.shape[1] == 0:
        raise InputError("the number of columns of X is not known, or zero")


def row_type(X: Any) -> np.dtype:
    """float32 where blocks hold half or single precision, else float64."""
    is_single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
    return np.dtype(np.float32 if is_single else np.float64)


def stretches(
    block: Any, dtype: np.dtype, number: int, first: int | None = None
) -> Iterator[tuple[slice, np.ndarray]]:
    """A block in stretches of a few MB, as arrays of this precision; an error where it is NaN or
    infinite says where. `first` is the number of its first row, if that is known.
    """
    if scipy.sparse.issparse(block):
        block = block.toarray()
    elif hasattr(block, "todense"):
        block = block.todense()
    check_unmasked(block, f"block {number} of X")
    block = np.asarray(block)
    for rows in array_blocks(block):
        part = block[rows].astype(dtype, copy=False)
        with np.errstate(all="ignore"):
            is_finite = np.isfinite(part.sum()) or np.isfinite(part).all()
        if not is_finite:
            _refuse(part, number, rows.start, first)
        yield rows, part


def _refuse(part: np.ndarray, number: int, start: int, first: int | None) -> None:
    row, column = np.argwhere(~np.isfinite(part))[0].tolist()
    row += start
    whole = "" if first is None else f", row {first + row:,} of all"
    raise InputError(
        f"X is NaN or infinite in block {number}, row {row}{whole}, column {column} (counted from "
        "0); fill or drop such rows first"
    )


def in_graph(value: Any) -> Any:
    """A value that stands in a graph once, whatever the number of blocks that use it."""
    return delayed(_given, pure=False)(Kept(value))


class Kept:
    """Hides a value from Dask, which would look for collections inside."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _given(kept: Kept) -> Any:
    return kept.value


def total(parts: Sequence[Any]) -> Any:
    """The total of delayed parts, by a tree of depth two: of about √n of them, and of those."""
    merged = delayed(_merged, pure=False)
    size = max(2, int(np.ceil(np.sqrt(len(parts)))))
    while len(parts) > 1:
        groups = [parts[k : k + size] for k in range(0, len(parts), size)]
        parts = [merged(group) if len(group) > 1 else group[0] for group in groups]
    return parts[0]


def _merged(parts: list[Any]) -> Any:
    """Parts added to each other, in their order, so that the last bits are always the same."""
    first, *others = parts
    if hasattr(first, "merged"):
        for other in others:
            first = first.merged(other)
        return first
    sums = tuple(np.array(part) for part in first)
    for other in others:
        for own, more in zip(sums, other, strict=True):
            own += more
    return sums
