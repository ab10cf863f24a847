"""Animals with Attributes, 1 and 2: the data set's own text files and one file of features."""

from __future__ import annotations

from unseen.classes import ClassTable
from unseen.datasets.att_splits import fill_unknown, original_split, proposed_split
from unseen.datasets.class_names import Spellings, label_names, read_numbered
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.feature_file import read_matrix
from unseen.datasets.published import Published, existing_pictures


def read_awa(data: Published) -> ZeroShotDataset:
    """Read classes, predicates and features; on the original split if it is there.

    The folder holds classes.txt, predicates.txt and a predicate matrix; labels beside the features
    are numbers of classes.txt. An attribute of -1, unknown, becomes the mean of the attribute.
    """
    names = read_numbered(data.use("classes.txt"))
    y = label_names(data.rows.labels, names, data.features)
    spellings = Spellings(names)
    proposed = proposed_split(data, spellings, y)
    splits = original_split(data, spellings, proposed) | proposed
    matrix = data.use("predicate-matrix-continuous.txt", "predicate-matrix-binary.txt")
    vectors = fill_unknown(read_matrix(matrix, names.size), matrix, data.notes)
    table = ClassTable(names, vectors, read_numbered(data.use("predicates.txt")))
    pictures = existing_pictures(data.folder, data.rows.image_files)
    return data.dataset(data.folder.resolve().name, y, table, splits, pictures)
