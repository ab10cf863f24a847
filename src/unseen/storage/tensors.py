"""Arrays and JSON in one safetensors file: sealed by checksums, read strictly, within limits.

    8 bytes: length of the header  |  header: JSON  |  the arrays, without a gap between

The header's metadata holds one entry, whose name says what kind of file it is and whose text is
JSON: the content, with the SHA-256 of every array and, last, of itself. A reader takes what this
module writes and nothing else; names of arrays are `array0`, `array1`, ... and never paths.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from unseen import files
from unseen.errors import InputError

MOST_HEADER_BYTES = 32 * 2**20
MOST_ARRAYS = 10_000
MOST_BYTES = 64 * 2**30
_MOST_DIMENSIONS = 32
_MOST_DIGITS = 30
_NAME = re.compile(r"array(0|[1-9]\d{0,5})")
_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip


class DamagedError(ValueError):
    """A file is not what this module writes; the message says where it differs."""


class Arrays(dict[str, np.ndarray]):
    """Arrays on their way into a file, which gives each its name."""

    def add(self, array: np.ndarray) -> str:
        name = f"array{len(self)}"
        self[name] = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        return name


def write(path: str | os.PathLike[str], kind: str, content: dict[str, Any], arrays: Arrays) -> None:
    """Write a file, whole or not at all. What could not be read again is an error."""
    if not all(_is_finite(array) for array in arrays.values()):
        raise InputError(f"cannot write {path}: what was fitted has NaN or infinite numbers")
    digests = {name: digest(array) for name, array in arrays.items()}
    try:
        text = sealed(content | {"arrays": digests})
    except ValueError as error:
        raise InputError(f"cannot write {path}: a value is NaN or infinite") from error
    _check_limits(path, len(text), arrays)
    with files.writing(path) as temporary:
        try:
            save_file(arrays, temporary, metadata={kind: text})
        except SafetensorError as error:  # a full disk, for one
            raise InputError(f"cannot write {path}: {error}") from error


def _check_limits(path: str | os.PathLike[str], n_text: int, arrays: Arrays) -> None:
    n_bytes = sum(array.nbytes for array in arrays.values())
    # The header has about a hundred bytes an array beside the text, in which quotes are escaped.
    if 2 * n_text + 200 * len(arrays) > MOST_HEADER_BYTES or len(arrays) > MOST_ARRAYS:
        raise InputError(f"cannot write {path}: its names and numbers of arrays are too many")
    if n_bytes > MOST_BYTES:
        raise InputError(f"cannot write {path}: {n_bytes:,} bytes are more than {MOST_BYTES:,}")


def read(file: BinaryIO, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The content and the arrays of a file that `write` has written, or a DamagedError."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    length = int.from_bytes(_exactly(file, 8), "little")
    if length > min(MOST_HEADER_BYTES, size - 8):
        raise DamagedError("its header is longer than the file, or than any header may be")
    header = _object(strict_json(_text(_exactly(file, length))), "the header")
    text = _object(header.pop("__metadata__", None), "the metadata").get(kind)
    if not isinstance(text, str):
        raise DamagedError("it is a file of another kind")
    spans = _layout(header, size - 8 - length)
    content = _object(strict_json(text), "the content")
    arrays = {name: _array(file, *spans[name]) for name in spans}
    if text != sealed(content):
        raise DamagedError("its content does not match its checksums")
    if {name: digest(array) for name, array in arrays.items()} != content.get("arrays"):
        raise DamagedError("its arrays do not match their checksums")
    if not all(_is_finite(array) for array in arrays.values()):
        raise DamagedError("it holds NaN or infinite numbers")
    return content, arrays


def kind_of(path: str | os.PathLike[str]) -> list[str]:
    """What kinds of file the metadata of a file name; nothing if there are none."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = strict_json(_text(file.read(min(length, MOST_HEADER_BYTES))))
            return list(_object(_object(header, "").get("__metadata__"), ""))
    except (OSError, DamagedError):
        return []


def sealed(content: dict[str, Any]) -> str:
    """The content as JSON, with the checksum of all its other entries as the last one."""
    others = {k: v for k, v in content.items() if k != "sha256"}
    seal = hashlib.sha256(json.dumps(others, allow_nan=False).encode()).hexdigest()
    return json.dumps(others | {"sha256": seal}, allow_nan=False)


def digest(array: np.ndarray) -> str:
    """The SHA-256 of the type, the shape and the numbers of an array."""
    found = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def strict_json(text: str) -> Any:
    """JSON without repeated keys, NaN, numbers beyond reason or endless nesting."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_refuse,
            parse_float=_finite,
            parse_int=_short,
        )
    except RecursionError:
        raise DamagedError("its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise DamagedError("its JSON cannot be read") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DamagedError("its JSON names a key twice")
    return found


def _refuse(constant: str) -> Any:
    raise DamagedError(f"its JSON holds {constant}")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse("a number that is too large")


def _short(text: str) -> int:
    return int(text) if len(text) <= _MOST_DIGITS else _refuse("a number that is too large")


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DamagedError(f"{what} is not there")
    return value


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise DamagedError("its header is not text") from error


def _exactly(file: BinaryIO, size: int) -> bytes:
    raw = file.read(size)
    if len(raw) < size:
        raise DamagedError("it ends too early")
    return raw


def _layout(
    header: dict[str, Any], n_bytes: int
) -> dict[str, tuple[np.dtype, tuple[int, ...], int]]:
    """Type, shape and size in bytes of each array, in the order in which they lie in the file."""
    if len(header) > MOST_ARRAYS or n_bytes > MOST_BYTES:
        raise DamagedError("it holds more than any such file may")
    spans = {name: _span(name, entry) for name, entry in header.items()}
    order = sorted(spans, key=lambda name: spans[name][2:])
    edges = [0, *(edge for name in order for edge in spans[name][2:]), n_bytes]
    if any(a != b for a, b in list(pairwise(edges))[::2]):
        raise DamagedError("its arrays do not fill it without gaps")
    return {n: (spans[n][0], spans[n][1], spans[n][3] - spans[n][2]) for n in order}


def _span(name: str, entry: Any) -> tuple[np.dtype, tuple[int, ...], int, int]:
    """Type, shape, first byte and the byte after the last one of an array."""
    if not _NAME.fullmatch(name):
        raise DamagedError("an array has a name that is not one of ours")
    entry = _object(entry, "an array")
    kind, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    known = isinstance(kind, str) and kind in _TYPES
    if len(entry) != 3 or not known or not _are_sizes(shape) or not _are_sizes(offsets):
        raise DamagedError("an array is not described as it should be")
    dtype = np.dtype(_TYPES[kind])
    if len(offsets) != 2 or math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise DamagedError("an array has another shape than its numbers")
    return dtype, tuple(shape), offsets[0], offsets[1]


def _are_sizes(values: Any) -> bool:
    return (
        isinstance(values, list)
        and len(values) <= _MOST_DIMENSIONS
        and all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in values)
    )


def _array(file: BinaryIO, dtype: np.dtype, shape: tuple[int, ...], n_bytes: int) -> np.ndarray:
    array = np.empty(n_bytes // dtype.itemsize, dtype)
    # A file may end early after all: it can shrink while it is read.
    if n_bytes and file.readinto(array.view(np.uint8).data) != n_bytes:  # pyright: ignore[reportAttributeAccessIssue]
        raise DamagedError("it ends too early")
    return array.reshape(shape)


def _is_finite(array: np.ndarray) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())
