"""The layout of Xian et al. (xlsa17): `res101.mat` with features beside `att_splits.mat`."""

from __future__ import annotations

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.att_splits import exact_split, fill_unknown, read_att_splits
from unseen.datasets.class_names import Spellings, read_numbered, settle_labels
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.published import Published, existing_pictures
from unseen.datasets.scenes_and_objects import sun_original


def read_xlsa17(data: Published) -> ZeroShotDataset:
    """Read a folder of the benchmark of Xian et al., on its proposed split.

    The folder holds att_splits.mat and res101.mat, or other features. An attribute of -1, unknown,
    becomes the mean of the attribute.
    """
    folder, path, rows, notes = data.folder, data.features, data.rows, data.notes
    splits = read_att_splits(data.use("att_splits.mat"))
    vectors = fill_unknown(splits.vectors, splits.path, notes)
    names = splits.names
    if names is None:
        names = np.array([str(k + 1) for k in range(vectors.shape[0])])
        notes.append(f"{splits.path.name} has no class names: classes are called by their number")
    spellings = Spellings(names)
    # The data set's own numbering of its classes, where it lies beside the benchmark's files.
    lists = [n for n in ("classes.txt", "CUB_200_2011/classes.txt") if data.has(n)]
    listed = None
    if lists:
        listing = data.use(*lists)
        listed = spellings.match(read_numbered(listing), listing, notes)
    y = settle_labels(rows, spellings, listed, path, notes)
    return data.dataset(
        f"{folder.resolve().name} {path.stem}",
        y,
        ClassTable(names, vectors),
        {"proposed": exact_split(splits, y, notes)} | sun_original(names, notes),
        existing_pictures(folder, rows.image_files),
    )
