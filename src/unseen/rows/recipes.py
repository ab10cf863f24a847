"""A row store as a Dask array: each block is a recipe, files and a stretch, that workers read."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np

from unseen.errors import require
from unseen.rows.parts import Part

# A block has about so many bytes, and so many times as many rows as columns: sums over a block
# take half of the square of its columns.
_BLOCK_BYTES = 64 * 2**20
_ROWS_PER_COLUMN = 8


def dask_array(store: Any, block_rows: int | None) -> Any:
    """The rows of a store as a Dask array; see `RowStore.to_dask`."""
    da: Any = require("dask.array", "dask", "a Dask array of rows")
    delayed: Any = require("dask.delayed", "dask", "a Dask array of rows").delayed
    n_rows, n_columns = store.shape
    if block_rows is None:
        fitting = _BLOCK_BYTES // (n_columns * store.itemsize)
        block_rows = max(1, fitting, _ROWS_PER_COLUMN * n_columns)
    firsts = range(0, n_rows, block_rows)
    lengths = tuple(min(block_rows, n_rows - first) for first in firsts)
    shape = {"chunks": (lengths, (n_columns,)), "meta": np.empty((0, n_columns), store.dtype)}
    recipe = delayed(_as_is, pure=False)(_Recipe(store))
    if store._index is None:
        return da.map_blocks(_stretch, store=recipe, size=block_rows, **shape)
    # Rows that were selected: each block is sent the numbers of its own.
    few = store._index.size == 0 or store._index.max() <= np.iinfo(np.int32).max
    numbers = store._index.astype(np.int32 if few else np.int64)
    numbers = da.from_array(numbers[:, None], chunks=(lengths, (1,)), name=False)
    return da.map_blocks(_chosen, numbers, store=recipe, **shape)


class _Recipe:
    """A store that other processes can read, whatever folder they work in."""

    def __init__(self, store: Any) -> None:
        self.store = store.with_labels(None)
        self.store._index = None
        self.store.shape = (int(self.store._first[-1]), store.shape[1])
        self.store._parts = tuple(_anywhere(part) for part in store._parts)


def _anywhere(part: Part) -> Part:
    if not os.path.exists(part.name):
        return part
    found = copy.copy(part)
    found.name = os.path.abspath(part.name)
    return found


def _as_is(recipe: _Recipe) -> Any:
    return recipe.store


def _chosen(numbers: np.ndarray, store: Any) -> np.ndarray:
    return store[numbers[:, 0]]


def _stretch(store: Any, size: int, block_id: Any) -> np.ndarray:
    return store[block_id[0] * size : (block_id[0] + 1) * size]
