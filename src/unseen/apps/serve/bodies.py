"""Rows in the body of a request: .npy without a copy and without pickle, or csv."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable

import numpy as np
from numpy.lib import format as npy

from unseen.datasets.dataset import check_features, check_finite, in_order
from unseen.errors import InputError

JSON, NPY, CSV = "application/json", "application/x-npy", "text/csv"
_HEADERS: dict[tuple[int, int], Callable] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}


def read_npy(content: bytes) -> np.ndarray:
    """The array that a .npy body holds: a view of the bytes that arrived."""
    stream = io.BytesIO(content)
    try:
        version = npy.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError("version")
        shape, is_fortran, dtype = _HEADERS[version](stream, max_header_size=10_000)
    except Exception:  # whatever numpy makes of a stranger's bytes
        raise InputError("the body is not a .npy file: its header cannot be read") from None
    if dtype.hasobject:
        raise InputError(
            "the body holds Python objects (pickle), which are not loaded because they can run code"
        )
    if dtype.kind not in "fiub" or not dtype.itemsize:
        raise InputError(f"rows must be numbers, not {str(dtype)[:50]}")
    start = stream.tell()
    if any(type(size) is not int or size < 0 for size in shape):
        raise InputError("the body is not a .npy file: its shape makes no sense")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != len(content) - start:
        raise InputError(
            f"the .npy body announces {wanted:,} bytes of numbers and has "
            f"{len(content) - start:,}: it is truncated or damaged"
        )
    array = np.frombuffer(content, dtype, math.prod(shape), start)
    return array.reshape(shape, order="F" if is_fortran else "C")


def read_csv(content: bytes, columns: tuple[str, ...] | None = None) -> np.ndarray:
    """Rows of a csv body. A first line that holds names puts columns into the model's order."""
    try:
        lines = [line for line in csv.reader(io.StringIO(content.decode("utf-8-sig"))) if line]
    except UnicodeDecodeError:
        raise InputError("the csv body is not UTF-8 text") from None
    except csv.Error as error:
        raise InputError(f"the csv body cannot be read: {error}") from None
    names = None if not lines or all(map(_is_number, lines[0])) else tuple(lines.pop(0))
    if not lines:
        raise InputError("the csv body has no rows")
    for number, line in enumerate(lines):
        if len(line) != len(lines[0]) or (names is not None and len(line) != len(names)):
            raise InputError(f"row {number} (counted from 0) has {len(line)} cells, unlike others")
        wrong = next((cell for cell in line if not _is_number(cell)), None)
        if wrong is not None:
            raise InputError(f"row {number} (counted from 0) holds {wrong[:30]!r}, not a number")
    return in_order(np.array(lines, dtype=np.float64), names, columns, "the csv body")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def as_rows(values: list[list[float]], what: str = "row") -> np.ndarray:
    """Lists of numbers as an array; lists of different lengths are an error."""
    widths = {len(value) for value in values}
    if len(widths) > 1:
        odd = next(k for k, value in enumerate(values) if len(value) != len(values[0]))
        raise InputError(
            f"{what} {odd} has {len(values[odd])} numbers, {what} 0 has {len(values[0])}"
        )
    return np.array(values, dtype=np.float64)


def checked_rows(X: np.ndarray, width: int, most: int) -> np.ndarray:
    """Rows that a model can take; one row may come as a vector."""
    X = X[None] if X.ndim == 1 else X
    check_features(X)
    if X.shape[0] > most:
        raise InputError(f"{X.shape[0]:,} rows are more than the {most:,} of one request")
    if X.shape[1] != width:
        raise InputError(f"rows have {X.shape[1]} numbers, the model was trained on {width}")
    check_finite(X)
    return as_floats(X)


def as_floats(X: np.ndarray) -> np.ndarray:
    """Rows in the type in which `predict` takes them: float32 and float64 as they are."""
    kept = X.dtype in (np.dtype(np.float32), np.dtype(np.float64))
    half = X.dtype == np.float16
    return X if kept else X.astype(np.float32 if half else np.float64)
