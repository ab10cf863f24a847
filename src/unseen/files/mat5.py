"""MATLAB files of version 5 (also called 6 and 7): arrays of numbers, text, and cells of these.

Written for files of strangers: every size is checked against the bytes that are there before it is
used. What cannot be right raises a ValueError. Numbers come in the type they are stored in.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unseen.errors import InputError
from unseen.files.limits import Names, check_unpacked
from unseen.support.text import words

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_CHAR, _CELL = 4, 1
_NUMBERS = range(6, 16)
_KINDS = {2: "struct", 3: "object", 5: "sparse matrix", 16: "function", 17: "object"}
# Types of stored numbers, and encodings of stored text.
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
_TYPES |= {12: "i8", 13: "u8"}
_TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_COMPLEX = 0x08
# Names are at the start of a variable: eight numbers of eight bytes, and up to 63 letters.
_HEAD = 1024
_DEEPEST = 10
# What an array of its own in each cell takes in memory.
_CELL_BYTES = 192


class _Variable(NamedTuple):
    """One variable of a file: its name, where its bytes are, and whether they are packed."""

    name: str
    start: int
    size: int
    packed: bool


def is_mat5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_HEADER)[126:] in (b"IM", b"MI")


def names_of(path: Path) -> list[str]:
    """The names of the variables of a file."""
    with path.open("rb") as file:
        return [variable.name for variable in _variables(file, _order(file))]


def read(path: Path, names: Collection[str] | None) -> dict[str, Any]:
    """The variables of a file, all or those of `names`."""
    with path.open("rb") as file:
        order = _order(file)
        found = [v for v in _variables(file, order) if names is None or v.name in names]
        return {v.name: _read_variable(file, v, order, path) for v in found}


def _order(file: BinaryIO) -> str:
    """The byte order of a file, as `struct` writes it."""
    mark = file.read(_HEADER)[126:]
    if mark not in (b"IM", b"MI"):
        raise ValueError("no mark of byte order")
    return "<" if mark == b"IM" else ">"


def _variables(file: BinaryIO, order: str) -> Iterator[_Variable]:
    end = os.fstat(file.fileno()).st_size
    place = _HEADER
    while place + 8 <= end:
        file.seek(place)
        kind, size = struct.unpack(order + "II", file.read(8))
        start = place + 8
        if kind not in (_MATRIX, _COMPRESSED) or start + size > end:
            raise ValueError("a variable goes beyond the end of the file")
        head = file.read(min(size, _HEAD))
        if kind == _COMPRESSED:
            head = zlib.decompressobj().decompress(head, _HEAD)[8:]
        name = _Parts(head, order).head().name
        if name:
            yield _Variable(name, start, size, kind == _COMPRESSED)
        place = start + size
    if place < end and place == _HEADER:
        raise ValueError("no variable")


def _read_variable(file: BinaryIO, variable: _Variable, order: str, path: Path) -> Any:
    content = _content(file, variable, order, path)
    names = Names(f"{path}: variable {variable.name!r}", variable.size)
    return _value(content, _Context(order, variable.name, names))


def _content(file: BinaryIO, variable: _Variable, order: str, path: Path) -> memoryview:
    """The bytes of a variable, without its tag."""
    file.seek(variable.start)
    raw = file.read(variable.size)
    if not variable.packed:
        return memoryview(raw)
    unpack = zlib.decompressobj()
    kind, size = struct.unpack(order + "II", unpack.decompress(raw, 8))
    if kind != _MATRIX:
        raise ValueError("no matrix in a packed variable")
    check_unpacked(f"{path}: variable {variable.name!r}", size, variable.size)
    content = unpack.decompress(unpack.unconsumed_tail, size + 8)
    # Only the end of the stream has its checksum.
    if len(content) < size or not unpack.eof:
        raise ValueError("a packed variable is not whole")
    return memoryview(content)[:size]


class _Head(NamedTuple):
    kind: int
    flags: int
    shape: tuple[int, ...]
    name: str


class _Parts:
    """The elements inside a variable, one after another."""

    def __init__(self, content: bytes | memoryview, order: str) -> None:
        self._content, self._order, self._place = memoryview(content), order, 0

    def next(self) -> tuple[int, memoryview]:
        """The type and the bytes of the next element."""
        kind, size = struct.unpack(self._order + "II", self._take(8))
        if kind >> 16:  # a short one has its bytes inside its tag
            kind, size = kind & 0xFFFF, kind >> 16
            if size > 4:
                raise ValueError("a short element is too long")
            self._place -= 4
            return kind, self._take(4)[:size]
        found = self._take(size)
        if kind != _MATRIX:
            self._place += -size % 8
        return kind, found

    def _take(self, size: int) -> memoryview:
        start, self._place = self._place, self._place + size
        if self._place > len(self._content):
            raise ValueError("an element goes beyond its variable")
        return self._content[start : self._place]

    def head(self) -> _Head:
        _, flags = self.next()
        _, shape = self.next()
        _, name = self.next()
        (word,) = struct.unpack(self._order + "I", flags[:4])
        sizes = struct.unpack(f"{self._order}{len(shape) // 4}i", shape[: len(shape) // 4 * 4])
        if len(sizes) < 2 or min(sizes) < 0:
            raise ValueError("no shape")
        return _Head(word & 0xFF, word >> 8 & 0xFF, sizes, bytes(name).decode("ascii"))


class _Context(NamedTuple):
    """What is the same for all arrays inside a variable: byte order, its name, its names so far."""

    order: str
    name: str
    names: Names


def _value(content: memoryview, inside: _Context, depth: int = 0) -> Any:
    parts = _Parts(content, inside.order)
    head = parts.head()
    if head.kind in _NUMBERS and not head.flags & _COMPLEX:
        return _numbers(*parts.next(), head.shape, inside.order)
    if head.kind == _CHAR:
        return _text(*parts.next(), head.shape, inside)
    if head.kind == _CELL and depth < _DEEPEST:
        return _cells(parts, head.shape, inside, depth)
    kind = "matrix of complex numbers" if head.kind in _NUMBERS else _KINDS.get(head.kind)
    if kind is None:
        raise ValueError("an unknown kind of variable")
    raise InputError(f"variable {inside.name!r} is a {kind}, which is not read")


def _numbers(kind: int, raw: memoryview, shape: tuple[int, ...], order: str) -> np.ndarray:
    found = np.frombuffer(raw, order + _TYPES[kind])
    return found.astype(found.dtype.newbyteorder("="), copy=False).reshape(shape, order="F")


def _text(kind: int, raw: memoryview, shape: tuple[int, ...], inside: _Context) -> np.ndarray:
    """The lines of a matrix of letters."""
    encoding = _TEXTS[kind]
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if inside.order == "<" else "-be"
    text = bytes(raw).decode(encoding)
    n_lines, count = math.prod(shape[:-1]), math.prod(shape)
    # MATLAB counts letters beyond the first 65,536 twice.
    if len(text) != count and (n_lines != 1 or len(text.encode("utf-16-le")) != 2 * count):
        raise ValueError("text of another length")
    if not count:
        return np.array([], dtype=str)
    inside.names.count(n_lines, shape[-1])
    lines = [text] if n_lines == 1 else [text[k::n_lines] for k in range(n_lines)]
    return words(lines, "text")


def _cells(parts: _Parts, shape: tuple[int, ...], inside: _Context, depth: int) -> np.ndarray:
    number = math.prod(shape)
    inside.names.count(number, beside=_CELL_BYTES)
    found = []
    for _ in range(number):
        kind, content = parts.next()
        if kind != _MATRIX:
            raise ValueError("a cell is no variable")
        # An empty cell may have no bytes at all.
        empty = np.empty((0, 0))
        found.append(_value(content, inside, depth + 1) if len(content) else empty)
    cells = np.empty(len(found), dtype=object)
    cells[:] = found
    return cells.reshape(shape, order="F")
