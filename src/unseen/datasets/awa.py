"""Animals with Attributes, 1 and 2: the data set's own text files and one file of features."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.att_splits import (
    SplitFile,
    Unknown,
    fill_unknown,
    original_split,
    proposed_split,
    split_file,
)
from unseen.datasets.class_names import Spellings, label_names, read_numbered
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.feature_file import read_matrix
from unseen.datasets.published import Published, existing_pictures
from unseen.errors import InputError

_MATRICES = ("predicate-matrix-continuous.txt", "predicate-matrix-binary.txt")


def read_awa(
    folder: Path, features: Path | None = None, unknown: Unknown = "mean"
) -> ZeroShotDataset:
    """Read classes, predicates and features; on the original split if it is there.

    The folder holds classes.txt, predicates.txt and a predicate matrix; labels beside the features
    are numbers of classes.txt. `unknown` says what becomes of -1, unknown, in the matrix: the
    attribute's mean, or kept.
    """
    data = Published(folder, "Animals with Attributes", features)
    names = read_numbered(data.use("classes.txt"))
    rows, path = data.rows, data.features
    if rows.labels is None:
        raise InputError(f"{path} has no labels: numbers of classes.txt are needed beside it")
    y = label_names(rows.labels, names, path)
    matrix = data.use(*_MATRICES)
    raw = read_matrix(matrix, names.size)
    spellings, file = Spellings(names), split_file(data)
    if file is not None:
        _compare(file, ClassTable(names, raw), spellings, data.notes)
    proposed = proposed_split(data, spellings, y, file)
    splits = original_split(data, spellings, proposed) | proposed
    vectors = fill_unknown(raw, matrix, data.notes, unknown)
    table = ClassTable(names, vectors, read_numbered(data.use("predicates.txt")))
    pictures = existing_pictures(folder, rows.image_files)
    return data.dataset(folder.resolve().name, y, table, splits, pictures)


def _compare(file: SplitFile, table: ClassTable, spellings: Spellings, notes: list[str]) -> None:
    """Say whether the split file has the classes in the same order and with the same values."""
    if file.names is None:
        return
    names = spellings.match(file.names, file.path, notes)
    if not np.array_equal(names, table.names):
        notes.append(
            f"{file.path.name} has its classes in another order than classes.txt: matched by name"
        )
    own = table.vectors[table.rows(names)]
    if file.vectors.shape != own.shape or not np.allclose(file.vectors, own, atol=1e-3):
        notes.append(f"{file.path.name} has other values than the predicate matrix, which is used")
