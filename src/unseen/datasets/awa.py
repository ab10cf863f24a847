"""Animals with Attributes, 1 and 2: the data set's own text files and one file of features."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.assemble import assemble
from unseen.datasets.att_splits import (
    SplitFile,
    Unknown,
    fill_unknown,
    fitted_split,
    original_split,
    proposed_classes,
    read_att_splits,
)
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.feature_file import find_features, read_feature_file, read_matrix
from unseen.datasets.labels import label_names
from unseen.datasets.pictures import existing_pictures
from unseen.datasets.sources import Sources
from unseen.datasets.spelling import Spellings, read_numbered
from unseen.errors import InputError

_MATRICES = ("predicate-matrix-continuous.txt", "predicate-matrix-binary.txt")


def read_awa(
    folder: Path, features: Path | None = None, outline: bool = False, unknown: Unknown = "mean"
) -> ZeroShotDataset:
    """Read classes, predicates and features; on the original split if it is there.

    Parameters
    ----------
    folder : holds classes.txt, predicates.txt and a predicate matrix.
    features : the feature file, if the folder has more than one; labels are numbers of classes.txt.
    outline : do not read the features, only what describes them.
    unknown : what becomes of -1, unknown, in the matrix: the attribute's mean, or kept.
    """
    sources, notes = Sources(folder), [f"read from {folder}, Animals with Attributes"]
    names = read_numbered(sources.use("classes.txt"))
    path = find_features(folder) if features is None else features
    rows = read_feature_file(path, sources, outline)
    if rows.labels is None:
        raise InputError(f"{path} has no labels: numbers of classes.txt are needed beside it")
    y = label_names(rows.labels, names, path)
    matrix = sources.use(*_MATRICES)
    raw = read_matrix(matrix)
    if raw.shape[0] != names.size:
        raise InputError(f"{matrix} has {raw.shape[0]} lines for {names.size} classes")
    splits = _splits(sources, ClassTable(names, raw), y, notes)
    vectors = fill_unknown(raw, matrix, notes) if unknown == "mean" else raw
    return assemble(
        folder.resolve().name,
        rows.X,
        y,
        ClassTable(names, vectors, read_numbered(sources.use("predicates.txt"))),
        splits,
        sources,
        notes,
        outline,
        existing_pictures(folder, rows.image_files),
    )


def _splits(
    sources: Sources, table: ClassTable, y: np.ndarray, notes: list[str]
) -> dict[str, Split]:
    """The original split, of testclasses.txt, and the proposed one, of att_splits.mat."""
    spellings, proposed = Spellings(table.names.tolist()), None
    if sources.has("att_splits.mat"):
        file = read_att_splits(sources.use("att_splits.mat"), notes)
        _compare(file, table, spellings, notes)
        proposed = fitted_split(file, y, proposed_classes(sources, spellings, notes), notes)
    original = original_split(sources, spellings, proposed, notes)
    return original | ({} if proposed is None else {"proposed": proposed})


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
