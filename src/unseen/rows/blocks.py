"""Rows in blocks: everything of size N is visited a block at a time, only small sums are kept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

BLOCK_BYTES = 8 * 2**20
ROWS_PER_CHUNK = 1024


def chunks(n_rows: int, size: int = ROWS_PER_CHUNK) -> Iterator[slice]:
    """Slices that cover `n_rows` rows, `size` rows each."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def row_blocks(n_rows: int, row_bytes: int, block_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Slices that cover `n_rows` rows, each of about `block_bytes` bytes."""
    return chunks(n_rows, max(1, block_bytes // max(1, row_bytes)))


def array_blocks(X: np.ndarray) -> Iterator[slice]:
    """Slices over the rows of an array."""
    return row_blocks(X.shape[0], X.shape[1] * X.itemsize)
