"""MATLAB files of version 7.3, which are HDF5 (extra `data`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError, require
from unseen.files.limits import check_unpacked
from unseen.support.text import MOST_LETTERS, words

_MAGIC = b"\x89HDF\r\n\x1a\n"


def is_mat73(path: Path) -> bool:
    """MATLAB writes its name before the HDF5 data, other programs do not."""
    with path.open("rb") as file:
        head = file.read(128)
    return b"MATLAB 7.3" in head or head.startswith(_MAGIC)


def read(path: Path, names: Collection[str] | None) -> dict[str, np.ndarray]:
    """The variables of a file, all or those of `names`."""
    with _opened(path) as file:
        wanted = [k for k in _variables(file) if names is None or k in names]
        return {k: _value(path, file, k) for k in wanted}


def names_of(path: Path) -> list[str]:
    with _opened(path) as file:
        return _variables(file)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    h5py = require("h5py", "data", f"{path} is a MATLAB v7.3 file; reading it")
    with h5py.File(path, "r") as file:
        yield file


def _variables(file: Any) -> list[str]:
    """The variables of a file, without the targets of its references."""
    return [name for name in file if not name.startswith("#")]


def _value(path: Path, file: Any, name: str) -> np.ndarray:
    """An array in MATLAB's axis order; a cell array of strings becomes a 1-d array of strings."""
    import h5py

    # A link may lead into any file of the reader.
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise InputError(f"{path}: variable {name!r} is a link, which is not followed")
    array = _content(path, name, file[name]).T
    if array.dtype != object:
        return array
    cells = (file[reference] for reference in np.ravel(array))
    return words((_letters(path, name, cell) for cell in cells), f"{path}: variable {name!r}")


def _content(path: Path, name: str, node: Any) -> np.ndarray:
    """The numbers of a data set, which must be inside the file."""
    if node.external or node.is_virtual:
        raise InputError(f"{path}: variable {name!r} is stored in other files, which are not read")
    check_unpacked(f"{path}: variable {name!r}", node.nbytes, node.id.get_storage_size())
    return node[()]


def _letters(path: Path, name: str, cell: Any) -> str:
    if cell.attrs.get("MATLAB_empty"):
        return ""
    if cell.size > MOST_LETTERS:
        raise InputError(f"{path}: variable {name!r} holds a text of {cell.size:,} letters")
    letters = np.ravel(_content(path, name, cell))
    if letters.dtype == np.uint16:
        return letters.astype("<u2").tobytes().decode("utf-16-le")
    return "".join(map(chr, letters))
