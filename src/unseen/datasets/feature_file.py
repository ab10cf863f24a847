"""The features of a benchmark data set: one file beside the others, labels by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen.errors import InputError, listed, naming
from unseen.files import reading
from unseen.support.text import words

SUFFIXES = (".npz", ".npy", ".mat")
FEATURE_ARRAYS, LABEL_ARRAYS = ("features", "X"), ("labels", "y")
_IMAGES = ("image_files", "image_paths")
_OTHERS = ("images", "attributes", "attributeLabels_continuous", "labels")
AWA2_FEATURES = "Features/ResNet101/AwA2-features.txt"


class FeatureRows(NamedTuple):
    """Features (N x d), labels and image paths as they are in their file."""

    X: np.ndarray
    labels: Any = None
    image_files: np.ndarray | None = None


def find_features(folder: Path) -> Path:
    """The one file of a folder that holds features rather than labels or class tables."""
    found = [p for p in sorted(folder.iterdir()) if p.suffix in SUFFIXES and _holds_features(p)]
    if (folder / AWA2_FEATURES).exists():
        found.append(folder / AWA2_FEATURES)
    if len(found) > 1:
        names = listed(p.name for p in found)
        raise InputError(f"{folder} has features in {names}: give the path of the one to open")
    if not found:
        kinds = "res101.mat, or features.npz (.npy, .mat) with one row per image"
        raise InputError(f"{folder} has no features: put {kinds}, there")
    return found[0]


def _holds_features(path: Path) -> bool:
    if path.stem.endswith("_splits") or path.stem in _OTHERS:
        return False
    if path.suffix == ".npy" or path.stem in ("features", "res101"):
        return path.stem in ("features", "res101")
    names = reading.known_arrays(path)
    return not names or not names.isdisjoint(FEATURE_ARRAYS)


def read_feature_file(path: Path, sources: reading.Sources) -> FeatureRows:
    """The content of a .npz, .npy, .mat or .txt file, float16 as float32."""
    sources.use_path(path)
    readers = {".npz": _read_npz, ".npy": _read_npy, ".mat": _read_mat, ".txt": _read_awa2}
    if path.suffix not in readers:
        raise InputError(f"{path}: features are a file of kind {', '.join(readers)}")
    rows = readers[path.suffix](path, sources)
    return rows._replace(X=rows.X.astype(np.float32)) if rows.X.dtype == np.float16 else rows


def read_arrays(path: Path) -> FeatureRows:
    """The features, labels and image paths of a .npz or .mat file."""
    read = reading.read_mat if path.suffix == ".mat" else reading.read_npz
    arrays = read(path, [*FEATURE_ARRAYS, *LABEL_ARRAYS, *_IMAGES])
    X = np.asarray(reading.pick(arrays, FEATURE_ARRAYS, path, "features"))
    images = reading.first(arrays, _IMAGES)
    images = None if images is None else reading.mat_strings(images)
    return FeatureRows(X, reading.first(arrays, LABEL_ARRAYS), images)


def _read_npz(path: Path, sources: reading.Sources) -> FeatureRows:
    rows = read_arrays(path)
    mean = reading.read_npz(path, ["mean_projected"]).get("mean_projected")
    if mean is None:
        return rows
    # Stored centred; adding the mean gives the rows as they were measured.
    X = rows.X.astype(np.float32)
    X += np.ravel(mean).astype(np.float32)
    return rows._replace(X=X)


def _read_mat(path: Path, sources: reading.Sources) -> FeatureRows:
    """d x N in MATLAB's order of columns is N x d in that of rows: the transpose is no copy."""
    rows = read_arrays(path)
    X, labels = rows.X, rows.labels
    if X.ndim == 2 and (labels is None or X.shape[1] == np.size(labels)):
        X = X.T
    if labels is not None and X.shape[0] != np.size(labels):
        shape = f"{X.shape[0]} x {X.shape[-1]} features for {np.size(labels)} labels"
        raise InputError(f"{path}: {shape}; one column per image is expected")
    return rows._replace(X=X)


def _read_npy(path: Path, sources: reading.Sources) -> FeatureRows:
    X = reading.read_npy(path)
    for beside in (path.with_name("labels.npy"), path.with_name("labels.txt")):
        if beside.exists():
            read = reading.read_npy if beside.suffix == ".npy" else read_numbers
            return FeatureRows(X, read(sources.use_path(beside)))
    return FeatureRows(X)


def _read_awa2(path: Path, sources: reading.Sources) -> FeatureRows:
    """One line of numbers per image; labels and file names are in two more files."""
    stem = path.name.removesuffix("features.txt")
    labels = read_numbers(sources.use_path(path.with_name(f"{stem}labels.txt")))
    images = path.with_name(f"{stem}filenames.txt")
    names = None
    if images.exists():
        names = words(reading.read_lines(sources.use_path(images)), str(images))
    return FeatureRows(read_matrix(path, labels.size, "labels", np.float32), labels, names)


# -- numbers --------------------------------------------------------------------------------------


def whole_numbers(values: Any, what: str, first: int = 1) -> np.ndarray:
    """Label or row numbers counted from `first`, as integers; many files store them as floats."""
    values = np.ravel(np.asarray(values))
    if values.dtype.kind not in "iuf" or not is_whole(values):
        raise InputError(f"{what} must be whole numbers counted from {first}")
    if values.size and values.min() < first:
        place = int(values.argmin())
        odd = f"{values[place]:g} at place {place} (counted from 0)"
        raise InputError(f"{what} must be counted from {first}, but there is {odd}")
    return values.astype(np.int64)


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers are whole and small enough that a float holds them exactly."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        return False
    exact = 2**53
    return bool(np.all((values == np.round(values)) & (values < exact) & (values > -exact)))


def read_numbers(path: Path) -> np.ndarray:
    """Whole numbers from a text file: the last, or only, one of each line."""
    values = read_matrix(path)
    with naming(path):
        return whole_numbers(values[:, -1], "numbers")


def read_matrix(
    path: Path, n_lines: int | None = None, of: str = "classes", dtype: type = np.float64
) -> np.ndarray:
    """Numbers separated by spaces, with one line for each of `n_lines` classes, say."""
    try:
        matrix = np.loadtxt(path, dtype, ndmin=2, encoding="utf-8-sig")
    except ValueError as error:
        raise InputError(f"{path} is not a table of numbers ({error})") from error
    if n_lines is not None and matrix.shape[0] != n_lines:
        raise InputError(f"{path} has {matrix.shape[0]} lines for {n_lines} {of}")
    return matrix
