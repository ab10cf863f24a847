"""The layout of Xian et al. (xlsa17): `res101.mat` with features beside `att_splits.mat`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.assemble import assemble
from unseen.datasets.att_splits import Unknown, exact_split, fill_unknown, read_att_splits
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.feature_file import find_features, read_feature_file
from unseen.datasets.labels import names_in_paths, settle_labels
from unseen.datasets.pictures import existing_pictures
from unseen.datasets.sources import Sources
from unseen.datasets.spelling import Spellings, read_numbered
from unseen.datasets.sun import sun_original
from unseen.errors import InputError


def read_xlsa17(
    folder: Path, features: Path | None = None, outline: bool = False, unknown: Unknown = "mean"
) -> ZeroShotDataset:
    """Read a folder of the benchmark of Xian et al., on its proposed split.

    Parameters
    ----------
    folder : holds att_splits.mat and, unless `features` names another file, res101.mat.
    outline : do not read the features, only what describes them.
    unknown : what becomes of -1, unknown, in the class table: the attribute's mean, or kept.
    """
    sources, notes = Sources(folder), [f"read from {folder}, the layout of Xian et al."]
    path = find_features(folder) if features is None else features
    rows = read_feature_file(path, sources, outline)
    if rows.labels is None:
        raise InputError(f"{path} has no labels: a vector 'labels' counted from 1 is needed")
    splits = read_att_splits(sources.use("att_splits.mat"), notes)
    vectors = splits.vectors
    if unknown == "mean":
        vectors = fill_unknown(vectors, splits.path, notes)
    names = splits.names
    if names is None:
        names = np.array([str(k + 1) for k in range(vectors.shape[0])])
        notes.append(f"{splits.path.name} has no class names: classes are called by their number")
    table = Spellings(names.tolist())
    in_paths = None if rows.image_files is None else names_in_paths(rows.image_files, table)
    listed = _class_list(sources, table, notes)
    y = settle_labels(rows.labels, in_paths, names, listed, path, notes)
    return assemble(
        f"{folder.resolve().name} {path.stem}",
        rows.X,
        y,
        ClassTable(names, vectors),
        {"proposed": exact_split(splits, y, notes)} | sun_original(names, notes),
        sources,
        notes,
        outline,
        existing_pictures(folder, rows.image_files),
    )


def _class_list(sources: Sources, table: Spellings, notes: list[str]) -> np.ndarray | None:
    """The data set's own numbering of its classes, where it lies beside the benchmark's files."""
    for name in ("classes.txt", "CUB_200_2011/classes.txt"):
        if sources.has(name):
            path = sources.use(name)
            return table.match(read_numbered(path), path, notes)
    return None
