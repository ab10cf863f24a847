"""Reading arrays from users' files.

A file that cannot be used gives an error of one sentence that names it. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError, MissingExtraError, listed, naming
from unseen.files import mat5, mat73
from unseen.files.limits import check_unpacked, is_regular
from unseen.support.text import words

_LFS_POINTER = b"version https://git-lfs"
_NPY_MAGIC = b"\x93NUMPY"


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path of a file that exists, is not empty, and is not a placeholder for another file."""
    path = Path(path)
    # os.path answers where methods of Path raise, for example if a name is too long.
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder, not a file")
    if not os.path.exists(path):
        raise InputError(f"{path} does not exist")
    if not is_regular(path):
        raise InputError(f"{path} is a device or a pipe, not a file; save its content as a file")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} cannot be read: permission denied")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes); copy or download it again")
    with path.open("rb") as file:
        if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
            raise InputError(f"{path} is a Git LFS pointer, not the data; run 'git lfs pull' there")
    return path


def not_utf8(path: Path) -> str:
    return f"{path} is not a UTF-8 text file; save it again as UTF-8 (Excel: 'CSV UTF-8')"


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The stripped lines of a text file, without empty ones at the end."""
    path = checked_path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip().split("\n")
    except UnicodeDecodeError as error:
        raise InputError(not_utf8(path)) from error
    return [line.strip() for line in lines]


def read_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """A .npy array, memory-mapped so that it may be larger than memory."""
    path = checked_path(path)
    with whole(path, ".npy"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{path} is named .npy but holds several arrays; rename it to .npz")
    _check_items(str(path), array)
    return array


def read_npz(path: str | os.PathLike[str], names: Iterable[str]) -> dict[str, np.ndarray]:
    """The arrays of a .npz file that are among `names`; the others are not unpacked."""
    path, names = checked_path(path), set(names)
    if _is_npy(path):
        raise InputError(f"{path} is named .npz but holds one array; rename it to .npy")
    # numpy does not close a broken file that it has opened itself.
    with whole(path, ".npz"), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        check_members(path, archive.zip, names)
        arrays = {name: archive[name] for name in archive.files if name in names}
    odd = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if odd:
        raise InputError(f"{path} is a zip file that holds more than arrays: {listed(odd)}")
    for name, array in arrays.items():
        _check_items(f"{path}: array {name!r}", array)
    return arrays


def _check_items(what: str, array: np.ndarray) -> None:
    """An error if items have no bytes: a file without any may have them without end."""
    if array.size and not array.dtype.itemsize:
        raise InputError(
            f"{what} has {array.size:,} items of no width ({array.dtype.str}), which hold nothing; "
            "save names as strings of at least one letter, or numbers"
        )


def check_members(path: Path, archive: zipfile.ZipFile, names: Collection[str]) -> None:
    """An error if one of these arrays of a .npz file would grow far more than data do."""
    for member in archive.infolist():
        if (name := member.filename.removesuffix(".npy")) in names:
            packed = min(member.compress_size, path.stat().st_size)
            check_unpacked(f"{path}: array {name!r}", member.file_size, packed)


def _is_npy(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_NPY_MAGIC)) == _NPY_MAGIC


@contextmanager
def whole(path: Path, kind: str) -> Iterator[None]:
    """Turn any error of a library that reads a file into one sentence."""
    try:
        yield
    except (InputError, MissingExtraError):
        raise
    except Exception as error:
        # numpy takes any unknown file for a pickle, so its word alone proves nothing.
        objects = "pickle" in str(error) or "Python objects" in str(error)
        if objects and (_is_npy(path) or zipfile.is_zipfile(path)):
            raise InputError(
                f"{path} holds Python objects (pickle), which are not loaded because they can run "
                "code; save names as strings (dtype 'U'), not as dtype=object"
            ) from error
        name = type(error).__name__
        raise InputError(f"{path} is not a {kind} file, or it is truncated ({name})") from error


def read_mat(path: str | os.PathLike[str], names: list[str] | None = None) -> dict[str, Any]:
    """Variables of a MATLAB file; v7.3 needs h5py (extra `data`)."""
    path = checked_path(path)
    with naming(path), whole(path, ".mat"):
        found = (mat73 if mat73.is_mat73(path) else mat5).read(path, names)
    return {k: v for k, v in found.items() if not k.startswith("__")}


def array_names(path: str | os.PathLike[str]) -> set[str]:
    """The names of the arrays in a .npz or .mat file, which are not read."""
    path = checked_path(path)
    if path.suffix == ".npz":
        with whole(path, ".npz"), zipfile.ZipFile(path) as archive:
            return {member.removesuffix(".npy") for member in archive.namelist()}
    with naming(path), whole(path, ".mat"):
        return set((mat73 if mat73.is_mat73(path) else mat5).names_of(path))


def known_arrays(path: Path) -> set[str]:
    """The same, but empty for a broken file, which is reported when it is read."""
    try:
        return array_names(path)
    except InputError:
        return set()


def sha256(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file."""
    with checked_path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def mat_strings(cells: Any) -> np.ndarray:
    """Names from a MATLAB cell array of strings, whatever its nesting."""
    out = [str(np.ravel(c)[0]).strip() if np.size(c) else "" for c in np.ravel(np.asarray(cells))]
    return words(out, "names")


def first(arrays: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first array of `names` that is there, or None."""
    return next((arrays[name] for name in names if name in arrays), None)


def pick(arrays: Mapping[str, Any], names: tuple[str, ...], path: Path, what: str) -> Any:
    """The first array of `names` that is there, or an error listing what the file holds."""
    found = first(arrays, names)
    if found is None:
        there = listed(sorted(known_arrays(path) or arrays)) or "nothing of use"
        raise InputError(f"{path} has no {what}: looked for {listed(names)}, found {there}")
    return found


class Sources:
    """A folder whose files are read one by one; those that were used are remembered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._used: dict[str, Path] = {}

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def use(self, *names: str) -> Path:
        """The first of these files that exists; it counts as a source from now on."""
        name = next((n for n in names if self.has(n)), None)
        if name is None:
            raise InputError(f"{self.folder} has no {' or '.join(names)}, which is needed")
        self._used[name] = checked_path(self.folder / name)
        return self._used[name]

    def use_path(self, path: Path) -> Path:
        """The same for a file given by its path."""
        return self.use(path.relative_to(self.folder).as_posix())

    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file that was used, by its path inside the folder."""
        return {name: sha256(path) for name, path in sorted(self._used.items())}
