"""aPascal / aYahoo: the data set's own text files and one file of features."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.datasets.class_names import Spellings
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.published import Published, class_means
from unseen.errors import InputError, listed
from unseen.files import reading

_PARTS = ("apascal_train.txt", "apascal_test.txt", "ayahoo_test.txt")
_BOX = 4


def read_apy(data: Published) -> ZeroShotDataset:
    """Read the objects; aPascal classes are seen, aYahoo classes are unseen.

    The folder holds three lists of objects, attribute_names.txt and class_names.txt; features are
    in the order of the lines of the three lists, one after another. A class is described by the
    mean of its objects' attributes. Rows of apascal_test.txt are kept for testing seen classes.
    """
    folder = data.folder
    attributes = np.array(reading.read_lines(data.use("attribute_names.txt")))
    parts = [_objects(data.use(name), attributes.size) for name in _PARTS]
    y = np.concatenate([names for names, _ in parts])
    if data.has("class_names.txt"):
        known = Spellings(reading.read_lines(data.use("class_names.txt")))
        y = known.match(y, folder / _PARTS[0], data.notes)
    per_object = np.vstack([values for _, values in parts])
    table = class_means(y, per_object, attributes, folder / _PARTS[0])
    n_train, n_test, _ = (names.size for names, _ in parts)
    n_pascal = n_train + n_test
    unseen = np.unique(y[n_pascal:])
    both = np.intersect1d(unseen, y[:n_pascal])
    if both.size:
        raise InputError(
            f"{folder / _PARTS[2]}: {listed(both.tolist())} is a class of aPascal as well, so it "
            "is not unseen"
        )
    data.notes.append("rows of apascal_test.txt are kept for testing seen classes")
    splits = {"original": Split(unseen, np.arange(n_train, n_pascal))}
    return data.dataset(f"APY {data.features.stem}", y, table, splits)


def _objects(path: Path, n_attributes: int) -> tuple[np.ndarray, np.ndarray]:
    """Class and attributes of each object, from lines "image class xmin ymin xmax ymax a a ..."."""
    lines = [line.split() for line in reading.read_lines(path)]
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
    return np.array([line[1] for line in lines]), values
