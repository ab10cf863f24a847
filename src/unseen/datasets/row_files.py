"""Rows from a user's files: features with their labels, pictures and names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from unseen.datasets.bundle import is_bundle
from unseen.datasets.dataset import check_features, check_finite, in_order
from unseen.datasets.feature_file import is_whole, read_arrays
from unseen.datasets.layouts import find_layout, read_layout
from unseen.errors import InputError, counted, listed, naming
from unseen.files import reading
from unseen.files.tables import LABEL_COLUMNS, TABLE_SUFFIXES, is_unique, read_table
from unseen.support.text import checked_words, words

FEATURE_SUFFIXES = (".npy", ".npz", ".mat", *TABLE_SUFFIXES)
LABEL_SUFFIXES = (".txt", ".npy", *TABLE_SUFFIXES)
IMAGE_COLUMNS = ("image", "image_path")
# Columns that name or number the rows: labels are matched by them, and they are no features.
ROW_NUMBER_COLUMNS = ("id", "index", "row")
_SPREADSHEETS = (".xlsx", ".xls", ".ods")
PICTURE_SUFFIXES = (
    ".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm",
)  # fmt: skip


class Rows(NamedTuple):
    """Features (N x d) and what their file or folder has beside them.

    columns : the names of the features.
    beside : columns of text that name or number the rows, by their names.
    unused : names of columns of numbers that the model was not trained on.
    """

    X: Any
    labels: np.ndarray | None = None
    image_paths: np.ndarray | None = None
    columns: tuple[str, ...] | None = None
    beside: Mapping[str, np.ndarray] = MappingProxyType({})
    unused: tuple[str, ...] = ()


def read_rows(
    path: str | os.PathLike[str],
    n_columns: int | None = None,
    names: tuple[str, ...] | None = None,
) -> Rows:
    """Rows to predict, with their labels where the file, or the folder it lies in, has them.

    `n_columns` or `names` are the columns that a model was trained on; a table of named columns is
    put into their order, without those that the model does not know.
    """
    given = file = existing(path)
    layout = find_layout(given) if given.is_dir() or is_bundle(given) else None
    if layout is not None:
        data = read_layout(given, layout)
        rows = Rows(data.X, data.y, data.image_paths)
    else:
        file = part(given, "features", FEATURE_SUFFIXES) if given.is_dir() else given
        rows = read_feature_rows(file, names)
    if names is not None and rows.columns is not None:
        unused = tuple(c for c in rows.columns if c not in names)
        X = in_order(rows.X, rows.columns, names, file)
        rows = rows._replace(X=X, columns=names, unused=unused)
    elif n_columns is not None:
        is_turned = file.suffix == ".mat" and rows.X.shape[0] == n_columns != rows.X.shape[1]
        X = rows.X.T if is_turned else rows.X
        if X.shape[1] != n_columns:
            known = f"the model was trained on {n_columns}"
            raise InputError(f"{file} has {X.shape[1]} columns, but {known}")
        rows = rows._replace(X=X)
    if layout is not None:
        return rows
    with naming(file):
        check_finite(rows.X, rows.columns)
    labels = part(given, "labels", LABEL_SUFFIXES, required=False) if given.is_dir() else None
    if labels is not None:
        rows = rows._replace(labels=read_labels(labels, rows).names)
    return with_images(rows, given)


def with_images(rows: Rows, given: Path) -> Rows:
    """Rows with the pictures that the folder they come from lists, if it is one; an error if
    these, or the labels, are of another number."""
    if given.is_dir() and rows.image_paths is None and (given / "images.txt").exists():
        images = reading.read_lines(given / "images.txt")
        rows = rows._replace(image_paths=np.array([_shown(given / name) for name in images]))
    for what, found in (("labels", rows.labels), ("image paths", rows.image_paths)):
        if found is not None and found.size != rows.X.shape[0]:
            raise InputError(f"{given}: {rows.X.shape[0]} rows but {found.size} {what}")
    return rows


def _shown(path: Path) -> str:
    """A path as a person would write it, without steps up, where that leads to the same file."""
    plain = os.path.normpath(path)
    return plain if os.path.exists(plain) else str(path)


# -- one file -----------------------------------------------------------------------------------


def existing(path: str | os.PathLike[str]) -> Path:
    """The path of a file or folder that exists."""
    if not os.path.exists(path):
        raise InputError(f"{path} does not exist")
    return Path(path)


def part(
    folder: Path, stem: str, suffixes: tuple[str, ...], required: bool = True, hint: str = ""
) -> Any:
    """The one file with this stem in a folder."""
    found = [folder / (stem + s) for s in suffixes if (folder / (stem + s)).exists()]
    if len(found) > 1:
        raise InputError(f"{folder} has {listed(p.name for p in found)}: keep only one of them")
    if not found and required:
        sheet = next((stem + s for s in _SPREADSHEETS if (folder / (stem + s)).exists()), None)
        if sheet is not None:
            raise InputError(f"{folder} has {sheet}, which cannot be read: save it as {stem}.csv")
        if stem == "features" and holds_pictures(folder):
            raise InputError(
                f"{folder} holds pictures and no {stem} file: 'unseen embed {folder} --out DATA' "
                "makes a data set of them"
            )
        names = ", ".join(stem + s for s in suffixes)
        raise InputError(f"{folder} has no {stem} file: one of {names} is needed{hint}")
    return found[0] if found else None


def holds_pictures(folder: Path) -> bool:
    """Whether there are files that look like pictures among the first few thousand."""
    files = (name for _, _, names in os.walk(folder) for name in names)
    return any(name.lower().endswith(PICTURE_SUFFIXES) for name in islice(files, 5000))


def read_feature_rows(path: Path, names: tuple[str, ...] | None = None) -> Rows:
    """Features, with the labels and image paths in the same file.

    A column that numbers the rows is no feature, unless a model was trained on it (`names`).
    """
    rows = _read_file(path, names)
    with naming(path):
        check_features(rows.X)
    return rows


def _read_file(path: Path, names: tuple[str, ...] | None) -> Rows:
    if path.suffix not in FEATURE_SUFFIXES:
        kinds = ", ".join(FEATURE_SUFFIXES)
        raise InputError(f"{path}: features must be in a file of kind {kinds}, not {path.suffix}")
    if path.suffix == ".npy":
        return Rows(reading.read_npy(path))
    if path.suffix in TABLE_SUFFIXES:
        trained_on = {name.casefold() for name in names or ()}
        known = LABEL_COLUMNS + IMAGE_COLUMNS
        # Row numbers are read as text: floating point would not keep all of their digits.
        table = read_table(path, (*known, *(n for n in ROW_NUMBER_COLUMNS if n not in trained_on)))
        labels = reading.first(table.text, LABEL_COLUMNS)
        images = reading.first(table.text, IMAGE_COLUMNS)
        beside = {c: cells for c, cells in table.text.items() if c not in known}
        return Rows(table.numbers, labels, images, table.columns, beside)
    X, labels, images = read_arrays(path)
    labels = None if labels is None else as_strings(labels)
    if path.suffix == ".mat" and labels is not None:
        X = by_rows(X, labels.size)
    return Rows(X, labels, images)


def by_rows(X: np.ndarray, n_rows: int) -> np.ndarray:
    """Features of a .mat file, where an instance is often a column, with one row per instance."""
    return X.T if X.ndim == 2 and X.shape[0] != n_rows == X.shape[1] else X


# -- labels in a file of their own --------------------------------------------------------------


class Labels(NamedTuple):
    """The class of each row, the column that rows were matched by ("" for none: by position), and
    what is odd about that."""

    names: np.ndarray
    by: str = ""
    odd: tuple[str, ...] = ()


def read_labels(path: Path, rows: Rows) -> Labels:
    """The label of each row, matched by a column that names or numbers rows in both files, else by
    position."""
    if path.suffix == ".txt":
        return Labels(words(reading.read_lines(path), str(path)))
    if path.suffix == ".npy":
        array = reading.read_npy(path)
        if array.size not in array.shape:
            raise InputError(f"{path}: labels must be a flat list, not of the shape {array.shape}")
        return Labels(as_strings(array))
    table = read_table(path, text=None).text
    label = _label_column(table, path)
    labels = table.pop(label)
    images = {} if rows.image_paths is None else {"image": rows.image_paths}
    wanted, keys = _keys({**rows.beside, **images}), _keys(table)
    shared = [c for c in keys if c in wanted]
    if shared:
        unique = [c for c in shared if is_unique(keys[c]) and is_unique(wanted[c])]
        column = (unique or shared)[0]
        places = _places(wanted[column], keys[column], f"{path}, column {column!r}")
        left = labels.size - places.size
        odd = (f"{counted(left, 'line')} of {path.name} match no row",) if left else ()
        return Labels(labels[places], column if unique else "", odd)
    others = {c.casefold() for c in (*rows.beside, *(rows.columns or ()))}
    both = next((c for c in table if c in others), None)
    if both is not None:
        raise InputError(
            f"{path}: column {both!r} is in the features too; call it 'id' in both files if it "
            "identifies the rows, else remove it from the labels"
        )
    unused = listed(c for c, cells in keys.items() if _tells(cells))
    lacking = f"{path.name} has column {unused}, which the features lack: matched by position"
    return Labels(labels, odd=(lacking,) if unused else ())


def _label_column(table: Mapping[str, np.ndarray], path: Path) -> str:
    known = [c for c in LABEL_COLUMNS if c in table]
    others = [c for c in table if c not in ("", *IMAGE_COLUMNS, *ROW_NUMBER_COLUMNS)]
    found = known[:1] or (list(table) if len(table) == 1 else others)
    if len(found) != 1:
        hint = "call the one with the class of each row 'label'"
        raise InputError(f"{path} has columns {listed(table)}: {hint}")
    return found[0]


def _keys(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns that name or number rows, under one name each."""
    folded = {c.casefold(): cells for c, cells in columns.items()}
    keys = {"image": reading.first(folded, IMAGE_COLUMNS)}
    keys |= {c: folded.get(c) for c in ROW_NUMBER_COLUMNS}
    return {c: cells for c, cells in keys.items() if cells is not None}


def _places(wanted: np.ndarray, there: np.ndarray, where: str) -> np.ndarray:
    """The positions of the `wanted` in `there`."""
    if np.array_equal(wanted, there):
        return np.arange(there.size)
    if not (is_unique(there) and is_unique(wanted)):
        raise InputError(
            f"{where} differs from that of the features, and rows cannot be matched by it because "
            "it repeats names"
        )
    place = {name: number for number, name in enumerate(there.tolist())}
    missing = next((name for name in wanted.tolist() if name not in place), None)
    if missing is not None:
        raise InputError(f"{where} has no {missing!r}, which the features have")
    return np.array([place[name] for name in wanted.tolist()], dtype=np.intp)


def _tells(cells: np.ndarray) -> bool:
    """Does a column identify rows, rather than just count them?"""
    counts = (np.arange(start, start + cells.size).astype(str) for start in (0, 1))
    return is_unique(cells) and not any(np.array_equal(cells, count) for count in counts)


def as_strings(labels: Any) -> np.ndarray:
    """Names from a file, always strings: a text file cannot tell 3 from "3"."""
    labels = np.ravel(np.asarray(labels))
    if labels.dtype.kind not in "biufUSOM":
        raise InputError(f"names must be strings or numbers, not {labels.dtype}")
    if labels.dtype.kind == "f" and is_whole(labels):
        labels = labels.astype(np.int64)
    if labels.dtype.kind == "S":
        try:
            return checked_words(np.char.decode(labels, "utf-8"), "names")
        except UnicodeDecodeError as error:
            raise InputError(f"names are bytes that are not UTF-8 ({error.reason})") from error
    if labels.dtype.kind == "O":
        return reading.mat_strings(labels)
    return checked_words(labels if labels.dtype.kind == "U" else labels.astype(str), "names")
