"""Rows too many for memory: which files they lie in, and the labels beside them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from unseen.classes.checks import as_names, check_unmasked
from unseen.datasets.row_files import (
    FEATURE_SUFFIXES,
    IMAGE_COLUMNS,
    LABEL_SUFFIXES,
    ROW_NUMBER_COLUMNS,
    Rows,
    as_strings,
    part,
    read_feature_rows,
    read_labels,
)
from unseen.errors import InputError, counted, listed, require, warn_user
from unseen.files import reading
from unseen.files.tables import LABEL_COLUMNS, TABLE_SUFFIXES
from unseen.files.zarr_store import check_shape, check_zarr
from unseen.rows.parts import (
    ArrayPart,
    NpyPart,
    ParquetPart,
    Part,
    SparsePart,
    ZarrPart,
    is_sparse_file,
    read_sparse,
)
from unseen.rows.store import RowStore

_SHARDS = (".npy", ".parquet", ".npz")
_ZARR_MARKS = ("zarr.json", ".zarray", ".zgroup")
_ARRAYS, _LABELS = ("features", "X"), ("labels", "y")
_BESIDE = (*LABEL_COLUMNS, *ROW_NUMBER_COLUMNS, *IMAGE_COLUMNS)


def open_rows(source: Any, labels: Any = None, column: str | None = None) -> RowStore:
    """Rows on disk as one table that is read block by block, wherever the library takes an array.

    Parameters
    ----------
    source : a file, a pattern such as "shards/*.npy", a folder of such files, or a list of files:
        .npy, .parquet (one column of lists, or one column per feature), .zarr, a sparse matrix that
        `scipy.sparse.save_npz` wrote. Also an array or a sparse matrix. Files are taken in the
        order of their names, in which numbers count as numbers: part-2 comes before part-10.
    labels : the class of each row, or a file of them. Without it they are looked for in the files
        and in labels.txt, labels.npy or labels.csv in their folder. Those of a whole folder are not
        taken for a part of its files.
    column : which column of lists of a .parquet file, where it has several.
    """
    if isinstance(source, RowStore):
        return source if labels is None else _with_labels(source, labels)
    if scipy.sparse.issparse(source):
        return _with_labels(RowStore([SparsePart(source)]), labels)
    if isinstance(source, np.ndarray):
        check_unmasked(source, "the array")
        return _with_labels(RowStore([ArrayPart(source)]), labels)
    if isinstance(source, (str, os.PathLike)):
        files, homes = _files(os.fspath(source))
    else:
        files = _listed_files(source)
        homes = _homes(files)
    return _store(files, homes, labels, column)


def open_features(path: Path) -> RowStore:
    """The features of a user's folder, with labels that are inside them and no others."""
    files, homes = _files(str(path))
    return _store(files, [home for home in homes if home != path.parent])


def rows_alone(source: str) -> RowStore:
    """The rows of a path or a pattern, whatever labels lie beside them."""
    return _store(_files(source)[0], [])


def _store(
    files: list[Path], homes: list[Path], labels: Any = None, column: str | None = None
) -> RowStore:
    """The rows of files, with the labels that are given, inside them, or in the folders that are
    the homes of the files, if any."""
    found = [_opened(path, column) for path in files]
    store = RowStore([each for each, _ in found])
    inside = [names for _, names in found]
    if labels is not None:
        return _with_labels(store, labels)
    known: Any = None
    if all(names is not None for names in inside):
        known = np.concatenate([as_strings(names) for names in inside])
    if known is None and homes:
        known, store.unlabelled = _labels_beside([each for each, _ in found], files, homes)
    return store if known is None else store.with_labels(known)


def _labels_beside(
    parts: list[Part], files: list[Path], homes: list[Path]
) -> tuple[np.ndarray | None, str]:
    """The labels in the homes of all files; or None, and why those that are there are not taken."""
    pieces: dict[int, np.ndarray] = {}
    for home in dict.fromkeys(homes):
        path = part(home, "labels", LABEL_SUFFIXES, required=False)
        if path is None:
            return None, ""
        own = [number for number, other in enumerate(homes) if other == home]
        names = _labels_in(path, RowStore([parts[number] for number in own]))
        ends = np.cumsum([parts[number].shape[0] for number in own])
        if names.size != ends[-1]:
            differ = f"{path} has {names.size:,} labels for {counted(int(ends[-1]), 'row')}"
            if _is_some([files[number] for number in own], home):
                return None, differ
            raise InputError(differ)
        pieces |= dict(zip(own, np.split(names, ends[:-1]), strict=True))
    return np.concatenate([pieces[number] for number in range(len(files))]), ""


def _is_some(files: list[Path], home: Path) -> bool:
    """Whether these are only some of the files of rows in their home; a data set has no others
    than its features."""
    if any(path.stem == "features" or path.parent != home for path in files):
        return False
    return bool({path.name for path in row_files(home)} - {path.name for path in files})


def is_store(source: str | os.PathLike[str]) -> bool:
    """Whether a path means rows that only a store reads: a pattern, a folder of files of rows, a
    Zarr array, a column of lists, a sparse matrix, numbers in half precision."""
    text, path = os.fspath(source), Path(source)
    if not os.path.exists(path):
        return glob.has_magic(text) and bool(glob.glob(text))
    if path.is_dir():
        return is_zarr(path) or store_in(path) is not None or bool(_shards(path))
    if path.suffix == ".parquet":
        return _has_lists(path)
    if path.suffix == ".npy":
        return reading.read_npy(path).dtype == np.float16
    return is_sparse_file(path)


def store_in(folder: Path) -> Path | None:
    """The features of a user's folder if only a store reads them: features.zarr, a folder
    "features", a column of lists, a sparse matrix."""
    for path in (folder / "features.zarr", folder / "features"):
        if path.is_dir() and (is_zarr(path) or _shards(path)):
            others = [p.name for p in folder.glob("features*") if p.stem == "features"]
            if len(others) > 1:
                raise InputError(f"{folder} has {listed(sorted(others))}: keep only one of them")
            return path
    for suffix in (".parquet", ".npz"):
        path = folder / f"features{suffix}"
        if path.is_file() and path.stat().st_size and is_store(path):
            return path
    return None


def _listed_files(source: Any) -> list[Path]:
    is_list = isinstance(source, Iterable) and not hasattr(source, "columns")
    files = list(source) if is_list else []
    if not is_list or not all(isinstance(path, (str, os.PathLike)) for path in files):
        raise InputError(
            "rows are opened from a file, a pattern, a folder, a list of files, an array or a "
            f"sparse matrix, not from {type(source).__name__} objects; np.asarray makes an array"
        )
    return [Path(path) for path in files]


def _homes(files: list[Path]) -> list[Path]:
    """The folders that files lie in, where labels may be."""
    return [path.parent for path in files]


def _files(source: str) -> tuple[list[Path], list[Path]]:
    """The files of rows that a path or a pattern means, and the folder of the labels of each."""
    path = Path(source)
    if not os.path.exists(source):
        found = [Path(name) for name in glob.glob(source)]
        if not glob.has_magic(source):
            raise InputError(f"{source} does not exist")
        found = [p for p in found if not _is_labels(p)]
        if not found:
            raise InputError(f"no file of rows matches {source}")
        found.sort(key=_natural)
        return found, _homes(found)
    if not path.is_dir() or is_zarr(path):
        return [path], [path.parent]
    inside = store_in(path)
    if inside is None and any((path / f"features{s}").exists() for s in FEATURE_SUFFIXES):
        inside = part(path, "features", FEATURE_SUFFIXES)
    if inside is not None:
        files, _ = _files(str(inside))
        return files, [path] * len(files)
    shards = _shards(path)
    if not shards:
        raise InputError(_no_shards(path))
    return shards, _homes(shards)


def _no_shards(folder: Path) -> str:
    kinds = sorted({path.suffix for path in row_files(folder)})
    if len(kinds) > 1:
        return (
            f"{folder} has files of rows of several kinds, {', '.join(kinds)}: choose one of them "
            f"by a pattern such as '{folder / '*'}{kinds[0]}'"
        )
    return f"{folder} has no files of rows: {', '.join(_SHARDS)} are looked for, all of one kind"


def _shards(folder: Path) -> list[Path]:
    """The files of rows in a folder, which are all of one kind."""
    found = [path for path in row_files(folder) if path.suffix in _SHARDS]
    if any((folder / f"classes{s}").exists() for s in (".csv", ".tsv", ".npz", ".mat", ".parquet")):
        return []  # a data set, whose features have a name of their own
    kinds = sorted({p.suffix for p in found})
    if len(kinds) > 1:
        return []
    return sorted(found, key=_natural)


def row_files(folder: Path) -> list[Path]:
    """The files of rows in a folder, of whatever kinds."""
    kinds = (*_SHARDS, ".zarr")
    return [p for p in folder.iterdir() if p.suffix in kinds and not _is_labels(p)]


def _is_labels(path: Path) -> bool:
    return path.stem in ("labels", "classes", "images")


def _natural(path: Path) -> list[Any]:
    """Folders and names with their numbers by size."""
    parts = [re.split(r"(\d+)", name) for name in path.parts]
    return [[(int(x), "") if k % 2 else (-1, x) for k, x in enumerate(part)] for part in parts]


def _opened(path: Path, column: str | None) -> tuple[Part, Any]:
    """One file of rows, and the labels inside it or None."""
    if is_zarr(path):
        return _zarr(path)
    if path.suffix == ".npy":
        return NpyPart(path), None
    if path.suffix == ".parquet":
        found = ParquetPart(path, column, _BESIDE)
        name = next((name for name in LABEL_COLUMNS if name in found.text), None)
        return found, None if name is None else found.words(name)
    if is_sparse_file(path):
        return read_sparse(path), None
    if path.suffix not in FEATURE_SUFFIXES:
        kinds = ", ".join((*FEATURE_SUFFIXES, ".zarr"))
        raise InputError(f"{path}: rows must be in a file of kind {kinds}")
    rows = read_feature_rows(path)
    images = {} if rows.image_paths is None else {"image": rows.image_paths}
    made = ArrayPart(rows.X, str(path), {**rows.beside, **images})
    made.columns = rows.columns
    return made, rows.labels


def is_zarr(path: Path) -> bool:
    """Whether a folder is a Zarr array."""
    return path.is_dir() and any((path / mark).exists() for mark in _ZARR_MARKS)


def _zarr(path: Path) -> tuple[Part, Any]:
    zarr: Any = require("zarr", "stores", f"reading {path}")
    size = check_zarr(path, (*_ARRAYS, *_LABELS))
    with reading.whole(path, ".zarr"):
        # Else a worker in another folder would find nothing there, which Zarr takes for zeros.
        opened = zarr.open(os.path.abspath(path), mode="r")
        if hasattr(opened, "shape"):
            found = {_ARRAYS[0]: opened}
        else:
            found = {name: opened[name] for name in (*_ARRAYS, *_LABELS) if name in opened}
        features, labels = reading.first(found, _ARRAYS), reading.first(found, _LABELS)
        if features is None:
            there = listed(sorted(opened)) or "none"
            raise InputError(
                f"{path} has no array {' or '.join(map(repr, _ARRAYS))}, but {there}: open the one "
                "that holds the rows, as in 'x.zarr/NAME'"
            )
        check_shape(features, path, size, in_blocks=True)
        if labels is not None:
            check_shape(labels, path, size)
            labels = np.asarray(labels[:])
    return ZarrPart(features, str(path)), labels


def _has_lists(path: Path) -> bool:
    parquet: Any = require("pyarrow.parquet", "data", f"reading {path}")
    with reading.whole(reading.checked_path(path), ".parquet"):
        schema = parquet.read_schema(path)
    return any("list<" in str(field.type) for field in schema)


def _with_labels(store: RowStore, labels: Any) -> RowStore:
    """A store with labels that were given, or with those of a file that was named."""
    if labels is None:
        return store
    if isinstance(labels, (str, os.PathLike)):
        return store.with_labels(_labels_in(Path(labels), store))
    numbers = None if isinstance(labels, np.ma.MaskedArray) else np.asarray(labels)
    if numbers is not None and numbers.ndim == 1 and numbers.dtype.kind in "biu":
        return store.with_labels(numbers)
    return store.with_labels(as_names(labels, "labels"))


def _labels_in(path: Path, store: RowStore) -> np.ndarray:
    """The labels in a file, matched with the rows as for a user's folder."""
    rows = rows_beside(store) if path.suffix in TABLE_SUFFIXES else Rows(np.empty((0, 0)))
    found = read_labels(path, rows)
    for odd in found.odd:
        warn_user(odd)
    return found.names


def rows_beside(store: RowStore) -> Rows:
    """What `read_labels` needs to know of rows: the columns that name or number them."""
    beside = {name: as_strings(cells) for name, cells in store.beside().items()}
    images = reading.first(beside, IMAGE_COLUMNS)
    keys = {name: cells for name, cells in beside.items() if name not in IMAGE_COLUMNS}
    return Rows(np.empty((0, 0)), store.labels, images, store.columns, keys)
