"""Animals with Attributes, 1 and 2: the data set's own text files and one file of features."""

from __future__ import annotations

from pathlib import Path

from unseen.classes import ClassTable
from unseen.datasets.att_splits import (
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


def read_awa(folder: Path, features: Path | None = None) -> ZeroShotDataset:
    """Read classes, predicates and features; on the original split if it is there.

    The folder holds classes.txt, predicates.txt and a predicate matrix; labels beside the features
    are numbers of classes.txt. An attribute of -1, unknown, becomes the mean of the attribute.
    """
    data = Published(folder, "Animals with Attributes", features)
    names = read_numbered(data.use("classes.txt"))
    rows, path = data.rows, data.features
    if rows.labels is None:
        raise InputError(f"{path} has no labels: numbers of classes.txt are needed beside it")
    y = label_names(rows.labels, names, path)
    matrix = data.use(*_MATRICES)
    spellings = Spellings(names)
    proposed = proposed_split(data, spellings, y, split_file(data))
    splits = original_split(data, spellings, proposed) | proposed
    vectors = fill_unknown(read_matrix(matrix, names.size), matrix, data.notes)
    table = ClassTable(names, vectors, read_numbered(data.use("predicates.txt")))
    pictures = existing_pictures(folder, rows.image_files)
    return data.dataset(folder.resolve().name, y, table, splits, pictures)
