"""Passes over rows: what a pass wants of them adds up block by block, wherever the blocks lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unseen.rows.blocks import array_blocks

# Arrays that grow with every block of rows.
Sums = tuple[np.ndarray, ...]
# (sums, block of rows, its labels): adds what the block has to the sums, in place.
Take = Callable[[Sums, np.ndarray, Any], None]


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
        take(sums, np.asarray(X[part]), None if labels is None else labels[part])


def any_block(X: Any, test: Callable[[np.ndarray], bool]) -> bool:
    """Whether a test holds for some block of rows; none is read after the first that passes."""
    elsewhere = getattr(X, "any_block", None)
    if elsewhere is not None:
        return elsewhere(test)
    return any(test(np.asarray(X[rows])) for rows in array_blocks(X))
