"""MATLAB files of version 7.3, which are HDF5 (extra `data`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError, require
from unseen.files.limits import Names, check_unpacked
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
    node = file[name]
    if node.dtype != object:
        return _content(path, name, node).T
    if h5py.check_ref_dtype(node.dtype) is not h5py.Reference:
        raise InputError(f"{path}: variable {name!r} is no cell array of texts and is not read")
    return _texts(path, name, file)


def _texts(path: Path, name: str, file: Any) -> np.ndarray:
    """The texts of a cell array, flat; a cell that many refer to is read once, counts for each."""
    node, what = file[name], f"{path}: variable {name!r}"
    counted = Names(what, path.stat().st_size)
    counted.count(node.size)  # the references themselves
    _, first, places = np.unique(_addresses(path, name, node), True, True)
    references = np.ravel(node[()].T)[first]
    cells = [file[reference] for reference in references]
    longest = max((_n_letters(path, name, cell) for cell in cells), default=0)
    counted.count(node.size, longest)
    texts = [_letters(path, name, cell) for cell in cells]
    return words((texts[place] for place in np.ravel(places)), what)


def _addresses(path: Path, name: str, node: Any) -> np.ndarray:
    """Where in the file each reference leads, flat, in MATLAB's order."""
    import h5py

    _check_inside(path, name, node)
    addresses = np.empty(node.shape, np.uint64)
    node.id.read(h5py.h5s.ALL, h5py.h5s.ALL, addresses, mtype=h5py.h5t.STD_REF_OBJ)
    return np.ravel(addresses.T)


def _content(path: Path, name: str, node: Any) -> np.ndarray:
    """The numbers of a data set, which must be inside the file."""
    _check_inside(path, name, node)
    return node[()]


def _check_inside(path: Path, name: str, node: Any) -> None:
    if node.external or node.is_virtual:
        raise InputError(f"{path}: variable {name!r} is stored in other files, which are not read")
    check_unpacked(f"{path}: variable {name!r}", node.nbytes, node.id.get_storage_size())


def _n_letters(path: Path, name: str, cell: Any) -> int:
    if cell.attrs.get("MATLAB_empty"):
        return 0
    if cell.size > MOST_LETTERS:
        raise InputError(f"{path}: variable {name!r} holds a text of {cell.size:,} letters")
    return cell.size


def _letters(path: Path, name: str, cell: Any) -> str:
    if not _n_letters(path, name, cell):
        return ""
    letters = np.ravel(_content(path, name, cell))
    if letters.dtype == np.uint16:
        return letters.astype("<u2").tobytes().decode("utf-16-le")
    return "".join(map(chr, letters))
