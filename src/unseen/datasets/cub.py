"""Caltech-UCSD Birds 200-2011: the data set's own text files and one file of features."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets import class_names
from unseen.datasets.att_splits import fill_unknown, proposed_split
from unseen.datasets.class_names import Spellings, read_numbered
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.feature_file import read_matrix, read_numbers
from unseen.datasets.published import Published, existing_pictures
from unseen.errors import InputError

# Feature files in circulation that order the images within each class differently.
_OTHER_ORDER = ("vgg_fc7",)


def read_cub(data: Published) -> ZeroShotDataset:
    """Read the birds; features are in the order of images.txt.

    The folder holds classes.txt, images.txt and image_class_labels.txt, or the folder CUB_200_2011
    with them; att_splits.mat beside them brings the proposed split.
    """
    folder = data.folder
    text = "CUB_200_2011/" if data.has("CUB_200_2011/classes.txt") else ""
    classes = data.use(f"{text}classes.txt")
    listed = read_numbered(classes)
    table = _table(data, text, listed)
    spellings = Spellings(table.names)
    names = spellings.match(listed, classes, data.notes)
    class_names.note_order(table.names, names, "classes.txt", data.notes)
    y = _labels(data, text, names)
    listing = data.use(f"{text}images.txt")
    images = read_numbered(listing)
    _check_images(images, y, spellings, listing)
    same_images = data.features.stem not in _OTHER_ORDER
    pictures = None
    if same_images:
        found = (existing_pictures(place, images) for place in (folder / text, folder))
        pictures = next((paths for paths in found if paths is not None), None)
    else:
        data.notes.append(
            f"{data.features.name} orders the images within each class differently than images.txt:"
            " it has no image paths, and must not be joined with other files image by image"
        )
    splits = proposed_split(data, spellings, y, same_images)
    return data.dataset(f"CUB {data.features.stem}", y, table, splits, pictures)


def _table(data: Published, text: str, listed: np.ndarray) -> ClassTable:
    """Percentages of the split file if there is one, else those of the data set's own table."""
    file = data.split_file
    if file is not None and file.names is not None:
        names, vectors = file.names, fill_unknown(file.vectors, file.path, data.notes)
    else:
        path = data.use(f"{text}attributes/class_attribute_labels_continuous.txt")
        names, vectors = listed, read_matrix(path, listed.size)
    places = (f"{text}attributes/attributes.txt", f"{text}attributes.txt", "attributes.txt")
    attributes = read_numbered(data.use(*places)) if any(map(data.has, places)) else None
    return ClassTable(names, vectors, attributes)


def _labels(data: Published, text: str, names: np.ndarray) -> np.ndarray:
    path = data.use(f"{text}image_class_labels.txt")
    labels, given = read_numbers(path), data.rows.labels
    if given is not None and not np.array_equal(np.ravel(given), labels):
        why = f"its labels are not those of {path.name}; rows must be in the order of images.txt"
        raise InputError(f"{data.features}: {why}")
    return class_names.label_names(labels, names, path)


def _check_images(images: np.ndarray, y: np.ndarray, table: Spellings, where: Path) -> None:
    """The folder of an image is its class, which proves that the two lists belong together."""
    if images.size != y.size:
        raise InputError(f"{where} has {images.size} images for {y.size} labels")
    odd = np.flatnonzero(class_names.names_in_paths(images, table) != y)
    if odd.size:
        image, name = images[odd[0]], y[odd[0]].item()
        raise InputError(f"{where}: image {odd[0] + 1}, {image}, is not in the folder of {name!r}")
