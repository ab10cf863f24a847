"""aPascal / aYahoo: the data set's own text files and one file of features."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from unseen import files
from unseen.datasets.assemble import assemble
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.feature_file import find_features, read_feature_file
from unseen.datasets.means import class_means
from unseen.datasets.sources import Sources
from unseen.datasets.spelling import Spellings
from unseen.errors import InputError, listed

_PARTS = ("apascal_train.txt", "apascal_test.txt", "ayahoo_test.txt")
_BOX = 4


class _Objects(NamedTuple):
    """The lines of one file: class of each object, and its attributes."""

    classes: list[str]
    attributes: np.ndarray


def read_apy(folder: Path, features: Path | None = None, outline: bool = False) -> ZeroShotDataset:
    """Read the objects; aPascal classes are seen, aYahoo classes are unseen.

    A class is described by the mean of its objects' attributes. Rows of apascal_test.txt are kept
    for testing seen classes.

    Parameters
    ----------
    folder : holds the three lists of objects, attribute_names.txt and class_names.txt.
    features : the feature file, in the order of the lines of the three lists, one after another.
    outline : do not read the features, only what describes them.
    """
    sources, notes = Sources(folder), [f"read from {folder}, aPascal / aYahoo"]
    attributes = np.array(files.read_lines(sources.use("attribute_names.txt")))
    parts = [_objects(sources.use(name), attributes.size) for name in _PARTS]
    y = np.array([name for part in parts for name in part.classes])
    if sources.has("class_names.txt"):
        known = Spellings(files.read_lines(sources.use("class_names.txt")))
        y = known.match(y, folder / _PARTS[0], notes)
    per_object = np.vstack([part.attributes for part in parts])
    path = find_features(folder) if features is None else features
    rows = read_feature_file(path, sources, outline)
    n_train, n_test = len(parts[0].classes), len(parts[1].classes)
    split = Split(_unseen(y, n_train + n_test, folder), np.arange(n_train, n_train + n_test))
    notes.append("rows of apascal_test.txt are kept for testing seen classes")
    return assemble(
        f"APY {path.stem}",
        rows.X,
        y,
        class_means(y, per_object, attributes, folder / _PARTS[0]),
        {"original": split},
        sources,
        notes,
        outline,
    )


def _unseen(y: np.ndarray, n_pascal: int, folder: Path) -> np.ndarray:
    unseen = np.unique(y[n_pascal:])
    both = np.intersect1d(unseen, y[:n_pascal])
    if both.size:
        raise InputError(
            f"{folder / _PARTS[2]}: {listed(both.tolist())} is a class of aPascal as well, so it "
            "is not unseen"
        )
    return unseen


def _objects(path: Path, n_attributes: int) -> _Objects:
    """Lines "image class xmin ymin xmax ymax attribute attribute ..."."""
    lines = [line.split() for line in files.read_lines(path)]
    width = 2 + _BOX + n_attributes
    odd = next((k for k, line in enumerate(lines, start=1) if len(line) != width), None)
    if odd is not None:
        raise InputError(
            f"{path}, line {odd}: {len(lines[odd - 1])} words, {width} are expected (image, class, "
            f"{_BOX} numbers of the box, {n_attributes} attributes)"
        )
    try:
        values = np.array([line[2 + _BOX :] for line in lines], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"{path} has attributes that are not numbers ({error})") from error
    return _Objects([line[1] for line in lines], values)
