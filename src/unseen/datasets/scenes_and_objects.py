"""SUN Attribute and aPascal / aYahoo: their own files and a file of features.

A class is described by the mean of the attributes of its images.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.att_splits import original_split, proposed_split
from unseen.datasets.class_names import Spellings
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.published import Published, existing_pictures
from unseen.errors import InputError, listed
from unseen.files import reading
from unseen.support.text import words

# The ten unseen scenes of early work (Jayaraman and Grauman, 2014) and of the paper (707 / 10).
ORIGINAL_UNSEEN = (
    "inn_indoor",
    "flea_market_indoor",
    "lab_classroom",
    "outhouse_outdoor",
    "chemical_plant",
    "mineshaft",
    "lake_natural",
    "shoe_shop",
    "art_school",
    "archive",
)
_N_CLASSES = 717


def read_sun(data: Published) -> ZeroShotDataset:
    """Read the scenes; features are in the order of images.mat.

    The folder holds images.mat, attributes.mat and attributeLabels_continuous.mat. The classes of
    testclasses.txt, if there is one, replace the ten unseen ones of the original protocol.
    """
    images = reading.mat_strings(_variable(data.use("images.mat"), "images"))
    attributes = reading.mat_strings(_variable(data.use("attributes.mat"), "attributes"))
    per_image = data.use("attributeLabels_continuous.mat")
    y = np.array([_scene(image) for image in images.tolist()])
    table = _class_means(y, _variable(per_image, "labels_cv"), attributes, per_image)
    names = Spellings(table.names)
    proposed = proposed_split(data, names, y)
    original = original_split(data, names, proposed) or sun_original(table.names, data.notes)
    pictures = existing_pictures(data.folder, images)
    return data.dataset(f"SUN {data.features.stem}", y, table, original | proposed, pictures)


def _variable(path: Path, name: str) -> Any:
    return reading.pick(reading.read_mat(path, [name]), (name,), path, name)


def _scene(image: str) -> str:
    """The class of `a/airport/entrance/sun_x.jpg` is airport_entrance."""
    parts = [part for part in image.replace("\\", "/").split("/") if part]
    if len(parts) < 3:
        raise InputError(f"images.mat: {image!r} is not a path like a/abbey/sun_x.jpg")
    return "_".join(parts[1:-1])


def sun_original(names: np.ndarray, notes: list[str]) -> dict[str, Split]:
    """The original protocol, if these are the names of the 717 scenes."""
    table = Spellings(names)
    found = [table.find(name) for name in ORIGINAL_UNSEEN]
    if names.size != _N_CLASSES or None in found:
        return {}
    notes.append(
        "SUN has two protocols, 'original' with 10 unseen classes and 'proposed' with 72; their "
        "results cannot be compared"
    )
    return {"original": Split(np.array(found, dtype=str))}


# -- aPascal / aYahoo -----------------------------------------------------------------------------

_PARTS = ("apascal_train.txt", "apascal_test.txt", "ayahoo_test.txt")
_BOX = 4


def read_apy(data: Published) -> ZeroShotDataset:
    """Read the objects; aPascal classes are seen, aYahoo classes are unseen.

    The folder holds three lists of objects, attribute_names.txt and class_names.txt; features are
    in the order of the lists, one after another. Rows of apascal_test.txt test seen classes.
    """
    folder = data.folder
    listing = data.use("attribute_names.txt")
    attributes = words(reading.read_lines(listing), str(listing))
    parts = [_objects(data.use(name), attributes.size) for name in _PARTS]
    y = np.concatenate([names for names, _ in parts])
    if data.has("class_names.txt"):
        known = Spellings(reading.read_lines(data.use("class_names.txt")))
        y = known.match(y, folder / _PARTS[0], data.notes)
    per_object = np.vstack([values for _, values in parts])
    table = _class_means(y, per_object, attributes, folder / _PARTS[0])
    n_train, n_test, _ = (names.size for names, _ in parts)
    n_pascal = n_train + n_test
    unseen = np.unique(y[n_pascal:])
    both = np.intersect1d(unseen, y[:n_pascal])
    if both.size:
        names = listed(both.tolist())
        raise InputError(f"{folder / _PARTS[2]}: {names} is not unseen: aPascal has it too")
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
            f"{path}, line {odd}: {len(lines[odd - 1])} words instead of {width} (image, class, "
            f"{_BOX} numbers of the box, {n_attributes} attributes)"
        )
    try:
        values = np.array([line[2 + _BOX :] for line in lines], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"{path} has attributes that are not numbers ({error})") from error
    return words((line[1] for line in lines), str(path)), values


# -- both ----------------------------------------------------------------------------------------


def _class_means(
    y: np.ndarray, per_image: np.ndarray, attributes: np.ndarray, where: Path
) -> ClassTable:
    """A table with one row per class: the mean of the attributes (N x d) of its images."""
    if per_image.shape != (y.size, attributes.size):
        raise InputError(
            f"{where} has attributes of shape {per_image.shape} for {y.size} images and "
            f"{attributes.size} attribute names"
        )
    names, position = np.unique(y, return_inverse=True)
    sums = np.zeros((names.size, attributes.size))
    np.add.at(sums, position, per_image)
    return ClassTable(names, sums / np.bincount(position)[:, None], attributes)
