"""Checksums of training data: by them a model tells what it was trained on."""

from __future__ import annotations

import hashlib

import numpy as np

from unseen.blocks import array_blocks
from unseen.classes import ClassTable


def data_checksum(X: np.ndarray, labels: np.ndarray, table: ClassTable) -> str:
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
