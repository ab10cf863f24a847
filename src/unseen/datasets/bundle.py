"""A bundle: one .npz file with rows, class table and splits, such as AWA35."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.att_splits import fill_unknown
from unseen.datasets.class_names import Spellings, label_names, names_in_paths
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.published import Published, existing_pictures
from unseen.errors import InputError, listed, naming
from unseen.files import reading
from unseen.support.text import checked_words

_TABLES = ("attributes_continuous", "attributes_binary")
_UNSEEN = "unseen_"
# The first split must not depend on the order in which the arrays were stored.
_FIRST_SPLITS = ("SS", "PS")


def is_bundle(path: Path) -> bool:
    """Does a file have the class names of a bundle, and descriptions or splits?"""
    if path.suffix != ".npz" or not path.is_file():
        return False
    names = reading.known_arrays(path)
    if "classes" not in names or "class_names" in names:  # the latter is a user's own data set
        return False
    return any(name.startswith(("attributes_", _UNSEEN)) for name in names)


def find_bundle(folder: Path) -> Path:
    """The one bundle of a folder."""
    found = [path for path in sorted(folder.glob("*.npz")) if is_bundle(path)]
    if len(found) != 1:
        names = listed(path.name for path in found) or "none"
        raise InputError(f"bundles in {folder}: {names}; give the path of the one to open")
    return found[0]


def read_bundle(data: Published) -> ZeroShotDataset:
    """Read a bundle, on its split SS if it has one, else on its first.

    Pictures are in the folder `thumbs` or `images` beside it. The class table is the continuous one
    if there is one, else the binary one. Classes are numbered from 0.
    """
    path, labels = data.features, data.rows.labels
    splits = [name for name in reading.array_names(path) if name.startswith(_UNSEEN)]
    arrays = reading.read_npz(path, [*_TABLES, "classes", "predicates", "files", *splits])
    with naming(path):
        table = _table(arrays, data)
        y = label_names(labels, table.names, path, first=0)
        images = _strings(arrays, "files", y.size)
        if images is not None:
            _check_images(images, y, Spellings(table.names))
        splits = _splits(arrays, y, table.names, path)
    name = f"{data.folder.resolve().name} {path.stem}"
    return data.dataset(name, y, table, splits, existing_pictures(data.folder, images))


def _strings(arrays: dict[str, np.ndarray], name: str, size: int) -> Any:
    """A list of `size` strings; None if there is none."""
    strings = arrays.get(name)
    if strings is not None and (strings.shape != (size,) or strings.dtype.kind != "U"):
        shape = "x".join(map(str, strings.shape))
        raise InputError(f"{name} must be a list of {size:,} strings, not {shape} {strings.dtype}")
    return strings if strings is None else checked_words(strings, name)


def _table(arrays: dict[str, np.ndarray], data: Published) -> ClassTable:
    vectors = reading.pick(arrays, _TABLES, data.features, "class table")
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub":
        kind = f"{vectors.dtype} of shape {vectors.shape}"
        raise InputError(f"the class table must be numbers, one row per class, not {kind}")
    names = _strings(arrays, "classes", vectors.shape[0])
    vectors = fill_unknown(vectors, data.features, data.notes)
    return ClassTable(names, vectors, _strings(arrays, "predicates", vectors.shape[1]))


def _splits(
    arrays: dict[str, np.ndarray], y: np.ndarray, names: np.ndarray, path: Path
) -> dict[str, Split]:
    found = [name.removeprefix(_UNSEEN) for name in arrays if name.startswith(_UNSEEN)]
    first = [name for name in _FIRST_SPLITS if name in found]
    splits = {}
    for name in [*first, *(name for name in found if name not in first)]:
        unseen = np.unique(label_names(arrays[_UNSEEN + name], names, path, _UNSEEN + name, 0))
        if not unseen.size or np.setdiff1d(y, unseen).size < 2:
            raise InputError(
                f"{_UNSEEN}{name} must name at least one class and leave two with rows to train "
                f"on; it has {unseen.size} of {names.size} classes"
            )
        splits[name] = Split(unseen)
    return splits


def _check_images(images: np.ndarray, y: np.ndarray, table: Spellings) -> None:
    """A folder that has the name of a class must hold images of that class."""
    named = names_in_paths(images, table)
    odd = np.flatnonzero((named != "") & (named != y))
    # One folder for all images is not the class of that name.
    if odd.size and np.unique(named[named != ""]).size > 1:
        row = int(odd[0])
        raise InputError(
            f"row {row} (counted from 0) is labelled {y[row].item()!r}, but its image "
            f"{images[row]} is in the folder of {named[row].item()!r}; labels and files do not "
            "belong together"
        )
