"""A bundle: one .npz file with rows, class table and splits, as AWA35 comes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from unseen import files
from unseen.classes import ClassTable
from unseen.datasets.assemble import NO_ROWS, assemble
from unseen.datasets.att_splits import Unknown, fill_unknown
from unseen.datasets.dataset import Split, ZeroShotDataset, check_features
from unseen.datasets.feature_file import stand_in, whole_numbers
from unseen.datasets.labels import names_in_paths
from unseen.datasets.pictures import existing_pictures
from unseen.datasets.sources import Sources
from unseen.datasets.spelling import Spellings
from unseen.errors import InputError, counted, listed, naming

Arrays = Mapping[str, np.ndarray]
_TABLES = {
    "continuous": ("attributes_continuous", "attributes_binary"),
    "binary": ("attributes_binary",),
}
_UNSEEN = "unseen_"
# The split that a bundle opens with must not hang on the order in which its arrays were stored.
_FIRST_SPLITS = ("SS", "PS")


def is_bundle(path: Path) -> bool:
    """Does a file have the class names of a bundle, and descriptions or splits beside them?"""
    if path.suffix != ".npz" or not path.is_file():
        return False
    try:
        names = files.shapes(path)
    except InputError:
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


def read_bundle(
    folder: Path,
    features: Path | None = None,
    outline: bool = False,
    unknown: Unknown = "mean",
    values: Literal["continuous", "binary"] = "continuous",
) -> ZeroShotDataset:
    """Read a bundle, on its split SS if it has one, else on the first that it has.

    Parameters
    ----------
    folder : where the bundle lies, with its pictures in `thumbs` or `images`.
    features : the bundle, if the folder has more than one.
    outline : do not read the features, only what describes them.
    unknown : what becomes of -1, unknown, in the class table: the attribute's mean, or kept.
    values : which class table; where there is no continuous one, the binary one is read.
    """
    path = find_bundle(folder) if features is None else features
    sources, notes = Sources(folder), [f"read from {path}, a data set in one file"]
    sources.use_path(path)
    arrays = _read(path, outline)
    with naming(path):
        X = files.pick(arrays, ("features",), path, "features")
        check_features(X)
        table = _table(arrays, path, _TABLES[values], unknown, notes)
        labels = _class_numbers(arrays, "labels", table, path, X.shape[0])
        images = _strings(arrays, "files", X.shape[0])
        _check_images(images, labels, table)
        splits = _splits(arrays, table, labels, path)
        notes += _near_names(arrays, table, splits) + _other_sources(arrays, table, splits)
    return assemble(
        f"{folder.resolve().name} {path.stem}",
        X.astype(np.float32) if X.dtype == np.float16 else X,
        table.names[labels],
        table,
        splits,
        sources,
        notes,
        outline,
        existing_pictures(folder, images),
    )


def _read(path: Path, outline: bool) -> dict[str, np.ndarray]:
    if not outline:
        return files.read_npz(path)
    shapes = files.shapes(path)
    arrays = files.read_npz(path, [name for name in shapes if name != "features"])
    return arrays | {n: stand_in(shape) for n, shape in shapes.items() if n == "features"}


def _table(
    arrays: Arrays, path: Path, wanted: tuple[str, ...], unknown: Unknown, notes: list[str]
) -> ClassTable:
    names = _strings(arrays, "classes")
    if names is None:
        raise InputError("there is no array 'classes' with the names of the classes")
    vectors = files.pick(dict(arrays), wanted, path, "class table")
    what = next(name for name in wanted if name in arrays)
    if vectors.ndim != 2 or vectors.shape[0] != names.size or vectors.dtype.kind not in "fiub":
        raise InputError(
            f"{what} must be numbers, one row for each of the {counted(names.size, 'class')}, not "
            f"{vectors.dtype} of shape {vectors.shape}"
        )
    if unknown == "mean":
        vectors = fill_unknown(vectors, path, notes)
    return ClassTable(names, vectors, _strings(arrays, "predicates", vectors.shape[1]))


def _strings(arrays: Arrays, name: str, size: int | None = None) -> np.ndarray | None:
    """A list of strings, of this length if one is given; None if the bundle does not have it."""
    if name not in arrays:
        return None
    strings = arrays[name]
    if strings.ndim != 1 or strings.dtype.kind != "U":
        raise InputError(
            f"{name} must be a list of strings, not {strings.dtype} of shape {strings.shape}"
        )
    if size is not None and strings.size != size:
        raise InputError(f"{name} has {counted(strings.size, 'string')}, {size:,} are expected")
    return strings


def _class_numbers(
    arrays: Arrays, name: str, table: ClassTable, path: Path, size: int | None = None
) -> np.ndarray:
    """Rows of `classes`, counted from 0."""
    numbers = whole_numbers(files.pick(dict(arrays), (name,), path, name), name, first=0)
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


def _check_images(images: np.ndarray | None, labels: np.ndarray, table: ClassTable) -> None:
    """A folder that has the name of a class must hold images of that class."""
    if images is None:
        return
    y = table.names[labels]
    named = names_in_paths(images, Spellings(table.names.tolist()))
    # One folder for all images is not the class of that name.
    if np.unique(named[named != ""]).size < 2:
        return
    odd = np.flatnonzero((named != "") & (named != y))
    if odd.size:
        row = int(odd[0])
        raise InputError(
            f"row {row} (counted from 0) is labelled {y[row].item()!r}, but its image "
            f"{images[row]} lies in the folder of {named[row].item()!r}; labels and files do not "
            "belong together"
        )


def _splits(arrays: Arrays, table: ClassTable, labels: np.ndarray, path: Path) -> dict[str, Split]:
    names = [name.removeprefix(_UNSEEN) for name in arrays if name.startswith(_UNSEEN)]
    first = [name for name in _FIRST_SPLITS if name in names]
    splits = {}
    for name in first + [name for name in names if name not in first]:
        numbers = _class_numbers(arrays, _UNSEEN + name, table, path)
        if not numbers.size or np.setdiff1d(labels, numbers).size < 2:
            raise InputError(
                f"{_UNSEEN}{name} must keep one class or more as unseen and leave two with rows to "
                f"train on; it has {numbers.size} of {table.n_classes} classes"
            )
        splits[name] = Split(np.unique(table.names[numbers]), NO_ROWS)
    return splits


# -- what a user should know of the classes -----------------------------------------------------


def _near_names(arrays: Arrays, table: ClassTable, splits: Mapping[str, Split]) -> list[str]:
    """Classes whose images were found under a name that is not quite theirs."""
    match = _strings(arrays, "name_match", table.n_classes)
    found_as = _strings(arrays, "source_classes", table.n_classes)
    if match is None or (match == "exact").all():
        return []
    rows = np.flatnonzero(match != "exact")
    names = [
        f"{table.names[row]} ({match[row] if found_as is None else found_as[row]})" for row in rows
    ]
    return [
        f"{counted(rows.size, 'class')} with images found under a near name: "
        f"{', '.join(names)}; {_where_unseen(table.names[rows], splits)}"
    ]


def _other_sources(arrays: Arrays, table: ClassTable, splits: Mapping[str, Split]) -> list[str]:
    """Classes whose images come from elsewhere than those of most."""
    source = _strings(arrays, "source", table.n_classes)
    if source is None:
        return []
    kinds, counts = np.unique(source, return_counts=True)
    usual = kinds[counts.argmax()]
    notes = []
    for kind in kinds[kinds != usual]:
        names = table.names[source == kind]
        notes.append(
            f"{counted(names.size, 'class')} with images from {kind}, where most have {usual}: "
            f"{', '.join(names)}; {_where_unseen(names, splits)}"
        )
    return notes


def _where_unseen(names: np.ndarray, splits: Mapping[str, Split]) -> str:
    """Which of these classes a split keeps as unseen, where their oddity is measured."""
    found = {split: np.intersect1d(names, unseen) for split, (unseen, _) in splits.items()}
    told = [f"unseen in {split}: {', '.join(some)}" for split, some in found.items() if some.size]
    return "; ".join(told) or "seen in every split"
