"""Reading arrays and tables from files that users bring, and writing files whole or not at all.

Every reader answers a file it cannot use with one sentence naming the file. No reader unpickles.
"""

from __future__ import annotations

import csv
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError, listed, require

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
_LFS_POINTER = b"version https://git-lfs"


@dataclass(frozen=True)
class Table:
    """A file of named columns, split into its numbers (N x d) and its columns of text."""

    columns: tuple[str, ...]
    numbers: np.ndarray
    text: dict[str, np.ndarray]


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path of a file that exists, is not empty, and is not a placeholder for another file."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder, a file was expected")
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} cannot be read: permission denied")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes); copy or download it again")
    with path.open("rb") as file:
        if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
            raise InputError(
                f"{path} is a Git LFS pointer, not the data; run 'git lfs pull' where it came from"
            )
    return path


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a text file without surrounding space; empty lines at the end are dropped."""
    path = checked_path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip().split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a UTF-8 text file ({error.reason})") from error
    return [line.strip() for line in lines]


def read_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """A .npy array, memory-mapped so that it may be larger than memory."""
    path = checked_path(path)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:
        raise InputError(_broken(path, ".npy", error)) from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} is named .npy but holds several arrays; rename it to .npz")
    return array


def read_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """All arrays of a .npz file by name."""
    path = checked_path(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:
        raise InputError(_broken(path, ".npz", error)) from error


def _broken(path: Path, kind: str, error: Exception) -> str:
    if "pickle" in str(error) and (kind == ".npy" or zipfile.is_zipfile(path)):
        return (
            f"{path} holds Python objects (pickle), which are refused because loading them can run "
            "code; save names as strings (dtype 'U'), not as dtype=object"
        )
    return f"{path} is not a whole {kind} file, it may be truncated ({type(error).__name__})"


def read_mat(path: str | os.PathLike[str], names: list[str] | None = None) -> dict[str, Any]:
    """Variables of a MATLAB file, v5 by scipy, v7.3 by h5py (extra `data`)."""
    import scipy.io

    path = checked_path(path)
    with path.open("rb") as file:
        is_hdf5 = b"MATLAB 7.3" in file.read(128)
    if is_hdf5:
        return _read_mat73(path, names)
    try:
        content = scipy.io.loadmat(path, variable_names=names)
    except Exception as error:
        raise InputError(
            f"{path} is not a whole .mat file, it may be truncated ({type(error).__name__})"
        ) from error
    return {k: v for k, v in content.items() if not k.startswith("__")}


def _read_mat73(path: Path, names: list[str] | None) -> dict[str, Any]:
    h5py = require("h5py", "data", f"{path} is a MATLAB v7.3 file; reading it")
    try:
        with h5py.File(path, "r") as file:
            wanted = [k for k in file if not k.startswith("#") and (names is None or k in names)]
            return {k: _mat73_value(file, file[k]) for k in wanted}
    except OSError as error:
        raise InputError(f"{path} is not a whole .mat file, it may be truncated") from error


def _mat73_value(file: Any, node: Any) -> np.ndarray:
    """An array in MATLAB's axis order; a cell array of strings becomes a 1-d array of strings."""
    array = node[()].T
    if array.dtype != object:
        return array
    return np.array(["".join(map(chr, np.ravel(file[ref][()]))) for ref in np.ravel(array)])


def mat_strings(cells: Any) -> np.ndarray:
    """Names from a MATLAB cell array of strings, whatever its nesting."""
    out = [str(np.ravel(c)[0]) if np.size(c) else "" for c in np.ravel(np.asarray(cells))]
    return np.array(out, dtype=str)


def read_table(
    path: str | os.PathLike[str], text: tuple[str, ...] = (), first_is_text: bool = False
) -> Table:
    """A .csv, .tsv or .parquet file with a header line.

    The columns named in `text` are text; the first column too, if `first_is_text` or if it does
    not hold numbers. Every other cell must be a number.
    """
    path = checked_path(path)
    read = _read_parquet if path.suffix == ".parquet" else _read_delimited
    return read(path, text, first_is_text)


def _read_parquet(path: Path, text: tuple[str, ...], first_is_text: bool) -> Table:
    pandas = require("pandas", "data", f"reading {path.name}")
    require("pyarrow", "data", f"reading {path.name}")
    try:
        frame = pandas.read_parquet(path)
    except Exception as error:
        raise InputError(
            f"{path} is not a whole .parquet file, it may be truncated ({type(error).__name__})"
        ) from error
    columns = tuple(map(str, frame.columns))
    frame.columns = columns
    words = [c for c in columns if c in text]
    if first_is_text or _is_words(frame[columns[0]]):
        words.insert(0, columns[0])
    numbers = [c for c in columns if c not in words]
    for column in numbers:
        if _is_words(frame[column]):
            raise InputError(f"{path}: column {column!r} holds text where numbers are needed")
    return Table(
        columns=tuple(numbers),
        numbers=frame[numbers].to_numpy(dtype=np.float64),
        text={c: frame[c].to_numpy().astype(str) for c in words},
    )


def _is_words(column: Any) -> bool:
    return column.dtype.kind not in "biuf"


def _read_delimited(path: Path, text: tuple[str, ...], first_is_text: bool) -> Table:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    header, first = _head(path, delimiter)
    first_is_text = first_is_text or not _is_number(first[0])
    words = [i for i, c in enumerate(header) if c in text or (i == 0 and first_is_text)]
    numbers = [i for i in range(len(header)) if i not in words]
    return Table(
        columns=tuple(header[i] for i in numbers),
        numbers=_read_numbers(path, delimiter, header, numbers),
        text=_read_words(path, delimiter, header, words),
    )


def _head(path: Path, delimiter: str) -> tuple[list[str], list[str]]:
    """The header and the first line of values, after checking that every line is as wide."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter)
            header = [cell.strip() for cell in next(lines, [])]
            first = next(lines, None)
            if first is None:
                raise InputError(f"{path} has no line after its header")
            _check_width(path, header, first, 2)
            for number, line in enumerate(lines, start=3):
                if line:
                    _check_width(path, header, line, number)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a UTF-8 text file ({error.reason})") from error
    except csv.Error as error:
        raise InputError(f"{path} is not a table of text cells ({error})") from error
    if all(_is_number(cell) for cell in header[1:]) and len(header) > 1 and _is_number(first[-1]):
        raise InputError(
            f"{path} begins with numbers; its first line must be a header that names the columns"
        )
    return header, first


def _check_width(path: Path, header: list[str], line: list[str], number: int) -> None:
    if len(line) != len(header):
        raise InputError(
            f"{path}, line {number}: {len(line)} cells where the header has {len(header)}"
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_numbers(path: Path, delimiter: str, header: list[str], keep: list[int]) -> np.ndarray:
    if not keep:
        with path.open(encoding="utf-8-sig", newline="") as file:
            n_lines = sum(1 for line in csv.reader(file, delimiter=delimiter) if line) - 1
        return np.empty((n_lines, 0))
    try:
        return np.loadtxt(
            path, delimiter=delimiter, usecols=keep, skiprows=1, ndmin=2, comments=None,
            quotechar='"', encoding="utf-8-sig",
        )  # fmt: skip
    except ValueError as error:
        raise InputError(_where_not_a_number(path, delimiter, header, keep)) from error


def _where_not_a_number(path: Path, delimiter: str, header: list[str], keep: list[int]) -> str:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=delimiter)
        next(lines)
        for number, line in enumerate(lines, start=2):
            for i in keep if line else ():
                if not _is_number(line[i]):
                    what = "is empty" if not line[i].strip() else f"holds {line[i]!r}"
                    return (
                        f"{path}, line {number}: column {header[i]!r} {what}, a number was expected"
                    )
    return f"{path} holds cells that are not numbers"


def _read_words(
    path: Path, delimiter: str, header: list[str], keep: list[int]
) -> dict[str, np.ndarray]:
    if not keep:
        return {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=delimiter)
        next(lines)
        cells = [[line[i].strip() for i in keep] for line in lines if line]
    return {header[i]: np.array([c[k] for c in cells], dtype=str) for k, i in enumerate(keep)}


def pick(arrays: dict[str, Any], names: tuple[str, ...], path: Path, what: str) -> Any:
    """The first array of `names` that is there, or an error listing what the file holds."""
    for name in names:
        if name in arrays:
            return arrays[name]
    raise InputError(
        f"{path} has no {what}: looked for {listed(names)}, found {listed(sorted(arrays))}"
    )


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary sibling to write to; on success it becomes `path`, on error it goes.

    A reader sees the old file or the new one, never a part.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
