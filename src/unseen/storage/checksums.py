"""Checksums of training data: by them a model tells what it was trained on."""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

import numpy as np

from unseen.classes import ClassTable
from unseen.classes.checks import as_names
from unseen.rows.blocks import array_blocks
from unseen.storage.tensors import add_array


def data_checksum(X: Any, labels: np.ndarray, table: ClassTable, dtype: Any = None) -> str:
    """The SHA-256 of rows, labels and class table: types, shapes, names and numbers.

    `labels` are names of classes, or a matrix of numbers for pairs; `dtype` is the precision in
    which the rows were used, if not their own.

    X is read in blocks and may be larger than memory; its layout there does not matter.
    """
    dtype = np.dtype(X.dtype if dtype is None else dtype)
    found = hashlib.sha256(f"{dtype.str}{X.shape}".encode())
    for rows in array_blocks(X):
        found.update(np.ascontiguousarray(X[rows], dtype).data)
    if labels.ndim == 2:
        add_array(found, labels)
        labels = labels[:0, 0]
    for names in (labels, table.names, table.attributes or ()):
        found.update(repr(list(map(str, names))).encode())
    if table.groups:
        found.update(repr([tuple(group) for group in table.groups]).encode())
    add_array(found, table.vectors)
    return found.hexdigest()


class TrainedOn:
    """The rows and labels that a model was trained on, for as long as somebody else keeps them.

    Their checksum is computed when it is asked for: a fit that is never saved need not read all
    rows once more.
    """

    def __init__(self, X: Any, y: Any, dtype: np.dtype, table: ClassTable) -> None:
        try:
            self._rows, self._labels = weakref.ref(X), weakref.ref(y)
        except TypeError:  # lists cannot be watched
            self._rows = self._labels = lambda: None
        self._dtype, self._table = dtype, table
        self._found: str | None = None

    def checksum(self) -> str | None:
        """The checksum of the data as they were when it was first asked for; None if they were
        gone by then."""
        X, y = self._rows(), self._labels()
        if self._found is None and X is not None and y is not None:
            labels = as_names(np.asarray(y), "y")
            self._found = data_checksum(np.asarray(X), labels, self._table, self._dtype)
        return self._found
