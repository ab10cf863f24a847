"""Arrays and JSON in one safetensors file, sealed by checksums.

The metadata in the header has one entry. Its name is the kind of the file, its text is JSON: the
content, with the SHA-256 of every array and, last, of itself. Only what this module writes is read;
arrays are called `array0`, `array1`, ..., never paths.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from unseen.errors import InputError
from unseen.files.limits import is_regular
from unseen.files.writing import writing
from unseen.rows.layout import let_go
from unseen.storage import streams

# safetensors reads headers of up to 100 MB, in which quotes of the text are escaped.
MOST_TEXT = 16 * 2**20
# A header of that size may describe a million empty arrays, which take a minute to read.
MOST_ARRAYS = 10_000
# A sparse file takes no room on a disk, but all of it in memory.
MOST_BYTES = 64 * 2**30
_LONGEST_EMPTY = 1_000_000
_NAME = re.compile(r"array(0|[1-9]\d{0,5})")


class DamagedError(ValueError):
    """A file is not what this module writes; the message says why."""


class Arrays(dict[str, np.ndarray]):
    """The arrays of a file by name; one that is added twice is stored once."""

    def add(self, array: np.ndarray) -> str:
        array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        for name, other in self.items():
            if other is array:
                return name
        name = f"array{len(self)}"
        self[name] = array
        return name


def write(path: str | os.PathLike[str], kind: str, content: dict[str, Any], arrays: Arrays) -> None:
    """Write a file, whole or not at all; it is an error if it could not be read again."""
    try:
        text = sealed(content | {"arrays": {name: digest(a) for name, a in arrays.items()}})
        _check_size(len(text), len(arrays), sum(array.nbytes for array in arrays.values()))
        _check_numbers(arrays)
        with writing(path) as temporary:
            streams.save(arrays, temporary, {kind: text})
    except (DamagedError, SafetensorError) as error:  # a full disk, for one
        raise InputError(f"cannot write {path}: {error}") from error


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The content and the arrays of a file that `write` has written, or a DamagedError."""
    if not is_regular(path):
        raise DamagedError("it is no file, or a device or a pipe")
    try:
        with safe_open(path, framework="np") as file:
            text, names = (file.metadata() or {}).get(kind), file.keys()
            if text is None:
                raise DamagedError("it is a file of another kind")
            _check_size(len(text), len(names), os.path.getsize(path))
            if not all(map(_NAME.fullmatch, names)):
                raise DamagedError("an array has an unknown name")
            _check_empty(file.get_slice(name).get_shape() for name in names)
            if streams.is_large(path):
                arrays = streams.mapped(path)
            else:
                arrays = {name: file.get_tensor(name) for name in names}
        content = json.loads(text)
        is_sealed = text == sealed(content)
    except DamagedError:
        raise
    except (SafetensorError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError("it cannot be read as safetensors and JSON") from error
    if not is_sealed:
        raise DamagedError("its content does not match its checksums")
    if {name: digest(array) for name, array in arrays.items()} != content.get("arrays"):
        raise DamagedError("its arrays do not match their checksums")
    _check_numbers(arrays)
    return content, arrays


def kind_of(path: str | os.PathLike[str]) -> list[str]:
    """The kinds of file that the metadata of a file name."""
    if not is_regular(path):
        return []
    try:
        with safe_open(path, framework="np") as file:
            return list(file.metadata() or {})
    except (OSError, SafetensorError):
        return []


def sealed(content: dict[str, Any]) -> str:
    """The content as JSON, with the checksum of all its entries as the last one."""
    others = {k: v for k, v in content.items() if k != "sha256"}
    try:
        seal = hashlib.sha256(json.dumps(others, allow_nan=False).encode()).hexdigest()
    except ValueError as error:
        raise DamagedError("it holds NaN or infinite numbers") from error
    return json.dumps(others | {"sha256": seal})


def digest(array: np.ndarray) -> str:
    """The SHA-256 of an array."""
    found = hashlib.sha256()
    add_array(found, array)
    return found.hexdigest()


def add_array(found: Any, array: np.ndarray) -> None:
    """Add the type, the shape and the numbers of an array to a checksum."""
    found.update(f"{array.dtype.str}{array.shape}".encode())
    found.update(np.ascontiguousarray(array).data)
    let_go(array)


def _check_size(n_text: int, n_arrays: int, n_bytes: int) -> None:
    if n_text > MOST_TEXT or n_arrays > MOST_ARRAYS or n_bytes > MOST_BYTES:
        sizes = f"{n_bytes:,} bytes in {n_arrays:,} arrays and {n_text:,} letters"
        raise DamagedError(f"{sizes} are more than such a file may hold")


def _check_empty(shapes: Iterable[list[int]]) -> None:
    """An array without a number takes no room in a file, whatever its shape says."""
    if any(0 in shape and max(shape) > _LONGEST_EMPTY for shape in shapes):
        raise DamagedError("an array without numbers has an endless shape")


def _check_numbers(arrays: dict[str, np.ndarray]) -> None:
    for array in arrays.values():
        if array.dtype.kind not in "fiub":
            raise DamagedError(f"it holds an array of type {array.dtype}")
        if array.dtype.kind == "f" and not streams.is_finite(array):
            raise DamagedError("it holds NaN or infinite numbers")
