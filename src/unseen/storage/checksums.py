"""Checksums of training data: by them a model tells what it was trained on."""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

import numpy as np

from unseen.classes import ClassTable
from unseen.classes.names import as_names
from unseen.rows.blocks import array_blocks


def data_checksum(X: Any, labels: np.ndarray, table: ClassTable) -> str:
    """The SHA-256 of rows, labels and class table: types, shapes, names and numbers.

    `labels` are names of classes, or a matrix of numbers for pairs.

    X is read in blocks and may be larger than memory; its layout there does not matter.
    """
    found = hashlib.sha256(f"{X.dtype.str}{X.shape}".encode())
    for rows in array_blocks(X):
        found.update(np.ascontiguousarray(X[rows]).data)
    if labels.ndim == 2:
        found.update(f"{labels.dtype.str}{labels.shape}".encode())
        found.update(np.ascontiguousarray(labels).data)
        labels = labels[:0, 0]
    for names in (labels, table.names, table.attributes or ()):
        found.update(repr(list(map(str, names))).encode())
    if table.groups:
        found.update(repr([tuple(group) for group in table.groups]).encode())
    found.update(f"{table.vectors.dtype.str}{table.vectors.shape}".encode())
    found.update(np.ascontiguousarray(table.vectors).data)
    return found.hexdigest()


class TrainedOn:
    """The rows and labels that a model was trained on, for as long as somebody else keeps them.

    Their checksum is made when it is asked for: reading all rows once more is work that a fit which
    is never saved need not do.
    """

    def __init__(self, X: Any, y: Any, dtype: np.dtype, table: ClassTable) -> None:
        try:
            self._rows, self._labels = weakref.ref(X), weakref.ref(y)
        except TypeError:  # lists cannot be watched
            self._rows = self._labels = None
        self._dtype, self._table = dtype, table
        self._found: str | None = None

    def checksum(self) -> str | None:
        """The checksum of the data as they were when it was first asked for; None if they were
        gone by then."""
        X = None if self._rows is None else self._rows()
        y = None if self._labels is None else self._labels()
        if self._found is None and X is not None and y is not None:
            labels = as_names(np.asarray(y), "y")
            self._found = data_checksum(_Converted(X, self._dtype), labels, self._table)
        return self._found


class _Converted:
    """Rows in the precision they were trained in, a block at a time."""

    def __init__(self, X: Any, dtype: np.dtype) -> None:
        self._X, self.dtype = np.asarray(X), dtype
        self.shape, self.itemsize = self._X.shape, dtype.itemsize

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._X[rows].astype(self.dtype, copy=False)
