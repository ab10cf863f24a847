"""The features of a benchmark data set: one file beside the others, labels by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen import files
from unseen.datasets.dataset import check_features
from unseen.datasets.sources import Sources
from unseen.errors import InputError, listed, naming

SUFFIXES = (".npz", ".npy", ".mat")
_X, _LABELS = ("features", "X"), ("labels", "y")
_IMAGES = ("image_files", "image_paths")
_OTHERS = ("images", "attributes", "attributeLabels_continuous", "labels")
AWA2_FEATURES = "Features/ResNet101/AwA2-features.txt"


class FeatureRows(NamedTuple):
    """Features (N x d), label numbers and image paths as their file has them."""

    X: np.ndarray
    labels: np.ndarray | None = None
    image_files: np.ndarray | None = None


def find_features(folder: Path) -> Path:
    """The one file of a folder that holds features; labels and class tables are passed over."""
    found = [p for p in sorted(folder.iterdir()) if p.suffix in SUFFIXES and _holds_features(p)]
    if (folder / AWA2_FEATURES).exists():
        found.append(folder / AWA2_FEATURES)
    if len(found) > 1:
        raise InputError(
            f"{folder} has features in {listed(p.name for p in found)}: give the path of the one "
            "to open"
        )
    if not found:
        raise InputError(
            f"{folder} has no features: put res101.mat there, or features.npz (.npy, .mat) with "
            "one row per image"
        )
    return found[0]


def _holds_features(path: Path) -> bool:
    if path.stem.endswith("_splits") or path.stem in _OTHERS:
        return False
    if path.suffix == ".npy" or path.stem in ("features", "res101"):
        return path.stem in ("features", "res101")
    try:
        return not files.array_names(path).isdisjoint(_X)
    except InputError:  # reported when it is read
        return True


def read_feature_file(path: Path, sources: Sources) -> FeatureRows:
    """Features from a .npz, .npy, .mat or .txt file, float16 as float32, and what it has beside."""
    sources.use_path(path)
    readers = {".npz": _read_arrays, ".npy": _read_npy, ".mat": _read_arrays, ".txt": _read_awa2}
    if path.suffix not in readers:
        raise InputError(f"{path}: features are a file of kind {', '.join(readers)}")
    rows = readers[path.suffix](path, sources)
    with naming(path):
        check_features(rows.X)
        labels = None if rows.labels is None else whole_numbers(rows.labels, "labels")
    if rows.X.dtype == np.float16:
        rows = rows._replace(X=rows.X.astype(np.float32))
    return rows._replace(labels=labels)


def whole_numbers(values: Any, what: str, first: int = 1) -> np.ndarray:
    """Label or row numbers counted from `first`, often stored as floating point, as integers."""
    values = np.ravel(np.asarray(values))
    is_number = values.dtype.kind in "iuf" and np.all(np.isfinite(values))
    if not is_number or not np.all(values == np.round(values)):
        raise InputError(f"{what} must be whole numbers counted from {first}")
    if values.size and values.min() < first:
        place = int(values.argmin())
        raise InputError(
            f"{what} must be counted from {first}, but there is {values[place]:g} at place {place} "
            "(counted from 0)"
        )
    return values.astype(np.int64)


def _read_arrays(path: Path, sources: Sources) -> FeatureRows:
    """MATLAB stores d x N by columns, which is N x d by rows: the transpose is no copy."""
    is_mat = path.suffix == ".mat"
    read = files.read_mat if is_mat else files.read_npz
    arrays: dict[str, Any] = read(path, [*_X, *_LABELS, *_IMAGES, "mean_projected"])
    X, labels = files.pick(arrays, _X, path, "features"), _any(arrays, _LABELS)
    images, mean = _any(arrays, _IMAGES), arrays.get("mean_projected")
    if is_mat and X.ndim == 2 and (labels is None or X.shape[1] == np.size(labels)):
        X = X.T
    if is_mat and labels is not None and X.shape[0] != np.size(labels):
        raise InputError(
            f"{path}: features of shape {X.shape[0]} x {X.shape[-1]} for {np.size(labels)} labels; "
            "one column per image is expected"
        )
    if mean is not None:
        # Stored centred; the mean goes back on, so that the rows are as they were measured.
        X = X.astype(np.float32)
        X += np.ravel(mean).astype(np.float32)
    return FeatureRows(X, labels, None if images is None else files.mat_strings(images))


def _read_npy(path: Path, sources: Sources) -> FeatureRows:
    X = files.read_npy(path)
    labels = None
    for name in ("labels.npy", "labels.txt"):
        beside = path.with_name(name)
        if beside.exists():
            sources.use_path(beside)
            labels = files.read_npy(beside) if beside.suffix == ".npy" else read_numbers(beside)
            break
    return FeatureRows(X, labels)


def _read_awa2(path: Path, sources: Sources) -> FeatureRows:
    """A line of numbers per image, with the labels and the file names in two more files."""
    folder, stem = path.parent, path.name.removesuffix("features.txt")
    labels = read_numbers(sources.use_path(folder / f"{stem}labels.txt"))
    images = folder / f"{stem}filenames.txt"
    names = files.read_lines(sources.use_path(images)) if images.exists() else None
    X = _read_lines(path, labels.size)
    return FeatureRows(X, labels, None if names is None else np.array(names))


def _width(path: Path) -> int:
    with path.open(encoding="utf-8") as file:
        return len(file.readline().split())


def _read_lines(path: Path, n_rows: int) -> np.ndarray:
    try:
        X = np.loadtxt(path, dtype=np.float32, ndmin=2, max_rows=n_rows + 1, encoding="utf-8")
    except ValueError as error:
        raise InputError(
            f"{path}: its lines are not {_width(path)} numbers each; it may be truncated ({error})"
        ) from error
    if X.shape[0] > n_rows:
        raise InputError(f"{path} has more lines than the {n_rows} labels beside it")
    if X.shape[0] < n_rows:
        raise InputError(f"{path} has {X.shape[0]} lines for {n_rows} labels; it may be truncated")
    return X


def read_numbers(path: Path) -> np.ndarray:
    """Whole numbers from a text file, one per line; of two on a line the second is meant."""
    values = read_matrix(path)
    with naming(path):
        return whole_numbers(values[:, -1], "numbers")


def read_matrix(path: Path, n_lines: int | None = None, of: str = "classes") -> np.ndarray:
    """A table of numbers separated by space; `n_lines` of classes, or of images, are expected."""
    try:
        matrix = np.loadtxt(files.read_lines(path), ndmin=2)
    except ValueError as error:
        raise InputError(f"{path} is not a table of numbers ({error})") from error
    if n_lines is not None and matrix.shape[0] != n_lines:
        raise InputError(f"{path} has {matrix.shape[0]} lines for {n_lines} {of}")
    return matrix


def _any(arrays: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((arrays[n] for n in names if n in arrays), None)
