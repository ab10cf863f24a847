"""A bundle: one .npz file with rows, class table and splits, as AWA35 comes."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from unseen import files
from unseen.classes import ClassTable
from unseen.datasets.att_splits import fill_unknown
from unseen.datasets.class_names import Spellings, names_in_paths
from unseen.datasets.dataset import Split, ZeroShotDataset, check_features
from unseen.datasets.feature_file import FeatureRows, whole_numbers
from unseen.datasets.published import NO_ROWS, Published, existing_pictures
from unseen.errors import InputError, counted, listed, naming

_TABLES = ("attributes_continuous", "attributes_binary")
_UNSEEN = "unseen_"
# The split that a bundle opens with must not hang on the order in which its arrays were stored.
_FIRST_SPLITS = ("SS", "PS")


def is_bundle(path: Path) -> bool:
    """Does a file have the class names of a bundle, and descriptions or splits beside them?"""
    if path.suffix != ".npz" or not path.is_file():
        return False
    try:
        names = files.array_names(path)
    except InputError:  # reported when it is read
        return False
    if "classes" not in names or "class_names" in names:  # the latter are a user's own archive
        return False
    return any(name.startswith(("attributes_", _UNSEEN)) for name in names)


def find_bundle(folder: Path) -> Path:
    """The one bundle of a folder."""
    found = [path for path in sorted(folder.glob("*.npz")) if is_bundle(path)]
    if len(found) != 1:
        names = listed(path.name for path in found) or "none"
        raise InputError(f"{folder} has the bundles {names}: give the path of the one to open")
    return found[0]


def read_bundle(folder: Path, features: Path | None = None) -> ZeroShotDataset:
    """Read a bundle, on its split SS if it has one, else on the first that it has.

    The folder holds the bundle, with its pictures in `thumbs` or `images`. Where there is no
    continuous class table, the binary one is read.
    """
    path = find_bundle(folder) if features is None else features
    bundle = _Bundle(folder, path)
    with naming(path):
        n_rows = bundle.rows.X.shape[0]
        table = bundle.table()
        labels = bundle.class_numbers("labels", table, n_rows)
        y = table.names[labels]
        images = bundle.strings("files", n_rows)
        if images is not None:
            _check_images(images, y, Spellings(table.names))
        splits = bundle.splits(table, labels)
    name = f"{folder.resolve().name} {path.stem}"
    return bundle.dataset(name, y, table, splits, existing_pictures(folder, images))


class _Bundle(Published):
    """The arrays of a bundle, each checked when it is asked for."""

    def __init__(self, folder: Path, path: Path) -> None:
        super().__init__(folder, "a data set in one file", path)
        self.notes = [f"read from {path}, a data set in one file"]
        self.use_path(path)
        self.arrays = files.read_npz(path)

    @cached_property
    def rows(self) -> FeatureRows:
        X = self.array("features")
        check_features(X)
        return FeatureRows(X.astype(np.float32) if X.dtype == np.float16 else X)

    def array(self, *names: str, what: str = "") -> np.ndarray:
        return files.pick(self.arrays, names, self.features, what or names[0])

    def strings(self, name: str, size: int | None = None) -> np.ndarray | None:
        """A list of strings, of this length if one is given; None if there is none."""
        strings = self.arrays.get(name)
        if strings is None:
            return None
        if strings.ndim != 1 or strings.dtype.kind != "U":
            raise InputError(
                f"{name} must be a list of strings, not {strings.dtype} of shape {strings.shape}"
            )
        if size is not None and strings.size != size:
            raise InputError(f"{name} has {counted(strings.size, 'string')}, {size:,} are expected")
        return strings

    def table(self) -> ClassTable:
        names = self.strings("classes")
        if names is None:
            raise InputError("there is no array 'classes' with the names of the classes")
        vectors = self.array(*_TABLES, what="class table")
        if vectors.ndim != 2 or vectors.shape[0] != names.size or vectors.dtype.kind not in "fiub":
            what = next(name for name in _TABLES if name in self.arrays)
            raise InputError(
                f"{what} must be numbers, one row for each of the {counted(names.size, 'class')}, "
                f"not {vectors.dtype} of shape {vectors.shape}"
            )
        vectors = fill_unknown(vectors, self.features, self.notes)
        return ClassTable(names, vectors, self.strings("predicates", vectors.shape[1]))

    def class_numbers(self, name: str, table: ClassTable, size: int | None = None) -> np.ndarray:
        """Rows of `classes`, counted from 0."""
        numbers = whole_numbers(self.array(name), name, first=0)
        if size is not None and numbers.size != size:
            raise InputError(f"{size:,} rows of features but {counted(numbers.size, 'label')}")
        n = table.n_classes
        if numbers.size and numbers.max() >= n:
            from_one = numbers.max() == n and numbers.min() > 0
            raise InputError(
                f"{name} has {numbers.max()} at place {numbers.argmax()}, but the {n} classes are "
                f"numbered from 0 to {n - 1}" + ("; are these counted from 1?" if from_one else "")
            )
        return numbers

    def splits(self, table: ClassTable, labels: np.ndarray) -> dict[str, Split]:
        names = [name.removeprefix(_UNSEEN) for name in self.arrays if name.startswith(_UNSEEN)]
        # The sort is stable: the others stay as they are stored.
        order = {name: place for place, name in enumerate(_FIRST_SPLITS)}
        splits = {}
        for name in sorted(names, key=lambda name: order.get(name, len(order))):
            numbers = self.class_numbers(_UNSEEN + name, table)
            if not numbers.size or np.setdiff1d(labels, numbers).size < 2:
                raise InputError(
                    f"{_UNSEEN}{name} must keep one class or more as unseen and leave two with "
                    f"rows to train on; it has {numbers.size} of {table.n_classes} classes"
                )
            splits[name] = Split(np.unique(table.names[numbers]), NO_ROWS)
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
            f"{images[row]} lies in the folder of {named[row].item()!r}; labels and files do not "
            "belong together"
        )
