"""The files that rows lie in: each gives a stretch of its rows, or single ones, and nothing else.

Nothing stays open or mapped between two reads, so that a part is only a path, and memory holds no
more than what was asked for.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from unseen.errors import InputError, listed, require
from unseen.files import reading
from unseen.files.limits import check_unpacked
from unseen.files.parquet import check_cells, check_text
from unseen.files.tables import LABEL_COLUMNS


class Part:
    """Rows that lie together: `shape` and `dtype` as in their file.

    `is_slow` says that reading costs much more than copying: what reads rows again and again
    should have them in a file of another kind.
    """

    name = ""
    shape: tuple[int, int]
    dtype: np.dtype
    columns: tuple[str, ...] | None = None
    is_slow = False

    def beside(self) -> dict[str, np.ndarray]:
        """The columns of the file that name or number its rows, read anew."""
        return {}

    def fill(self, out: np.ndarray, start: int) -> None:
        """Put the rows from `start` on into `out`, as many as it has."""
        raise NotImplementedError

    def take(self, out: np.ndarray, numbers: np.ndarray) -> None:
        """Put the rows with these numbers, in rising order, into `out`."""
        breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
        bounds = [0, *breaks.tolist(), numbers.size]
        for first, last in pairwise(bounds):
            self.fill(out[first:last], int(numbers[first]))


class ArrayPart(Part):
    """Rows of an array in memory, or of a memory map."""

    def __init__(
        self, array: np.ndarray, name: str = "the array", beside: Mapping[str, Any] | None = None
    ) -> None:
        self.array, self.name, self.dtype = array, name, array.dtype
        self.shape, self._beside = _table_shape(array.shape, name), dict(beside or {})

    def beside(self) -> dict[str, np.ndarray]:
        return self._beside

    def fill(self, out: np.ndarray, start: int) -> None:
        out[:] = self.array[start : start + len(out)]

    def take(self, out: np.ndarray, numbers: np.ndarray) -> None:
        out[:] = self.array[numbers]


class NpyPart(Part):
    """Rows of a .npy file, read rather than mapped: pages of a map would count as memory."""

    def __init__(self, path: Path) -> None:
        mapped: Any = reading.read_npy(path)
        self.name, self.dtype = str(path), mapped.dtype
        self.shape = _table_shape(mapped.shape, self.name)
        self._offset, self._size = int(getattr(mapped, "offset", 0)), os.path.getsize(path)
        self._by_rows = bool(mapped.flags.c_contiguous)

    def fill(self, out: np.ndarray, start: int) -> None:
        with self._open() as file:
            self._fill(file, out, start)

    def take(self, out: np.ndarray, numbers: np.ndarray) -> None:
        breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
        bounds = [0, *breaks.tolist(), numbers.size]
        with self._open() as file:
            if not self._by_rows:
                out[:] = reading.read_npy(self.name)[numbers]
                return
            for first, last in pairwise(bounds):
                self._fill(file, out[first:last], int(numbers[first]))

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            with open(self.name, "rb", buffering=0) as file:
                _check_size(self.name, os.fstat(file.fileno()).st_size, self._size)
                yield file
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}") from error

    def _fill(self, file: Any, out: np.ndarray, start: int) -> None:
        if not self._by_rows:  # one column after the other: only a map reaches rows
            out[:] = reading.read_npy(self.name)[start : start + len(out)]
            return
        as_is = self.dtype == out.dtype and out.flags.c_contiguous
        rows = out if as_is else np.empty(out.shape, self.dtype)
        file.seek(self._offset + start * self.shape[1] * self.dtype.itemsize)
        view: Any = rows.reshape(-1).view(np.uint8).data
        while len(view):
            n_read = file.readinto(view)
            if not n_read:
                raise InputError(f"{self.name} has become shorter; was it written again?")
            view = view[n_read:]
        if not as_is:
            out[:] = rows


class SparsePart(Part):
    """Rows of a sparse matrix (CSR), of which only those asked for become dense."""

    is_slow = True

    def __init__(self, matrix: Any, name: str = "the sparse matrix") -> None:
        self.matrix, self.name = scipy.sparse.csr_array(matrix), name
        self.dtype = np.dtype(self.matrix.dtype)
        self.shape = _table_shape(matrix.shape, name)

    def fill(self, out: np.ndarray, start: int) -> None:
        out[:] = self.matrix[start : start + len(out)].toarray()

    def take(self, out: np.ndarray, numbers: np.ndarray) -> None:
        out[:] = self.matrix[numbers].toarray()


class ParquetPart(Part):
    """Rows of a .parquet file: one column of lists of the same length, or a column per feature.

    Read one row group at a time; the last one is kept, as blocks follow one another.
    """

    is_slow = True

    def __init__(self, path: Path, column: str | None = None, others: tuple[str, ...] = ()) -> None:
        self._size = reading.checked_path(path).stat().st_size
        self._parquet = require("pyarrow.parquet", "data", f"reading {path}")
        self.name = str(path)
        # Arrow has types that numpy has none for, and text that is none.
        with reading.whole(path, ".parquet"):
            check_cells(path, by_groups=True)
            self._open(path, column, others)

    def _open(self, path: Path, column: str | None, others: tuple[str, ...]) -> None:
        with self._parquet.ParquetFile(path) as file:
            schema, facts = file.schema_arrow, file.metadata
            groups = [facts.row_group(k).num_rows for k in range(facts.num_row_groups)]
        self._first = np.concatenate([[0], np.cumsum(groups)]).astype(np.int64)
        others = (*others, *_index_columns(schema))
        self.text = _columns_of(schema, others)
        lists = [field.name for field in schema if _is_list(field.type)]
        self._list = _list_column(self.name, lists, column)
        self._kept: tuple[int, np.ndarray] | None = None
        if self._list is None:
            self.columns = self._numbers(schema, others)
            kinds = [schema.field(name).type.to_pandas_dtype() for name in self.columns]
            self.dtype = np.result_type(*kinds)
            width = len(self.columns)
        else:
            if column is None:
                self._check_alone(schema, others)
            kind = schema.field(self._list).type
            self.dtype = np.dtype(kind.value_type.to_pandas_dtype())
            width = self._group(0).shape[1] if self._first[-1] else 0
        self.shape = _table_shape((int(self._first[-1]), width), self.name)

    def _numbers(self, schema: Any, others: tuple[str, ...]) -> tuple[str, ...]:
        kept = [field for field in schema if field.name.casefold() not in others]
        words = [f.name for f in kept if np.dtype(f.type.to_pandas_dtype()).kind not in "biuf"]
        if words:
            raise InputError(
                f"{self.name}: column {listed(words)} holds no numbers; call the column of classes "
                "'label' and leave others out"
            )
        if not kept:
            raise InputError(f"{self.name} has no columns of features")
        return tuple(field.name for field in kept)

    def _check_alone(self, schema: Any, others: tuple[str, ...]) -> None:
        """An error if columns of numbers, which may be features, would be dropped in silence."""
        kept = [field for field in schema if field.name.casefold() not in others]
        numbers = [field.name for field in kept if _is_number(field.type)]
        if numbers:
            raise InputError(
                f"{self.name} has columns of numbers, {listed(numbers)}, beside the lists of "
                f"column {self._list!r}; put them into the lists, drop them, or call one that "
                "numbers the rows 'id'"
            )

    def fill(self, out: np.ndarray, start: int) -> None:
        done = 0
        while done < len(out):
            at = start + done
            number = int(np.searchsorted(self._first, at, side="right")) - 1
            inside = at - int(self._first[number])
            rows = self._group(number)[inside : inside + len(out) - done]
            out[done : done + len(rows)] = rows
            done += len(rows)

    def _group(self, number: int) -> np.ndarray:
        if self._kept is None or self._kept[0] != number:
            names = list(self.columns or ()) if self._list is None else [self._list]
            _check_size(self.name, reading.checked_path(self.name).stat().st_size, self._size)
            whole = reading.whole(Path(self.name), ".parquet")
            with whole, self._parquet.ParquetFile(self.name) as file:
                table = file.read_row_group(number, columns=names)
                self._kept = number, self._dense(table, int(self._first[number]))
            if len(self._kept[1]) != self._first[number + 1] - self._first[number]:
                raise InputError(f"{self.name} is damaged: it has other rows than it says")
        return self._kept[1]

    def _dense(self, table: Any, first: int) -> np.ndarray:
        if self._list is None:
            for name, cells in zip(table.column_names, table.columns, strict=True):
                _check_filled(self.name, name, cells, first)
            cells = [column.to_numpy(zero_copy_only=False) for column in table.columns]
            return np.column_stack(cells).astype(self.dtype, copy=False)
        column = table.column(0).combine_chunks()
        _check_filled(self.name, table.column_names[0], column, first)
        flat = column.flatten().to_numpy(zero_copy_only=False)
        if flat.size % max(len(column), 1):
            raise InputError(f"{self.name}: the lists of column {self._list!r} differ in length")
        width = flat.size // max(len(column), 1)
        lengths = column.value_lengths() if hasattr(column, "value_lengths") else None
        if lengths is not None and (lengths.to_numpy(zero_copy_only=False) != width).any():
            raise InputError(f"{self.name}: the lists of column {self._list!r} differ in length")
        if width != getattr(self, "shape", (0, width))[1]:  # of an earlier group of rows
            raise InputError(f"{self.name}: the lists of column {self._list!r} differ in length")
        return flat.reshape(len(column), width)

    def beside(self) -> dict[str, np.ndarray]:
        return {name: self.words(name, "") for name in self.text if name not in LABEL_COLUMNS}

    def words(self, name: str, empty: str | None = None) -> np.ndarray:
        """A column of text or numbers beside the features, whole; an empty cell is an error, or
        `empty` if that is given."""
        with reading.whole(Path(self.name), ".parquet"):
            check_text(Path(self.name))
            table = self._parquet.read_table(self.name, columns=[self.text[name]])
            if empty is None:
                _check_filled(self.name, self.text[name], table.column(0), 0)
            cells = table.column(0).to_pylist()
            return np.array([empty if cell is None else cell for cell in cells])

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_kept": None, "_parquet": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._parquet = require("pyarrow.parquet", "data", f"reading {self.name}")


class ZarrPart(Part):
    """Rows of a two-dimensional Zarr array."""

    is_slow = True

    def __init__(self, array: Any, name: str) -> None:
        self.array, self.name, self.dtype = array, name, np.dtype(array.dtype)
        self.shape = _table_shape(array.shape, name)

    def fill(self, out: np.ndarray, start: int) -> None:
        with self._there():
            out[:] = self.array[start : start + len(out)]

    def take(self, out: np.ndarray, numbers: np.ndarray) -> None:
        with self._there():
            out[:] = self.array.oindex[numbers]

    @contextmanager
    def _there(self) -> Iterator[None]:
        """Zarr takes a chunk that is gone for zeros; so an array that is gone must be noticed."""
        folder = Path(self.name, self.array.path)
        with reading.whole(Path(self.name), ".zarr"):
            yield
        if not any((folder / name).exists() for name in ("zarr.json", ".zarray")):
            raise InputError(f"{folder} does not exist any more: it was removed or moved")


# What `scipy.sparse.save_npz` writes of a matrix of any kind.
_OF_SPARSE = {"data", "format", "shape"}


def is_sparse_file(path: str | os.PathLike[str]) -> bool:
    """Whether a .npz file is a sparse matrix of `scipy.sparse.save_npz`."""
    return Path(path).suffix == ".npz" and reading.known_arrays(Path(path)) >= _OF_SPARSE


def read_sparse(path: Path) -> SparsePart:
    """A sparse matrix that `scipy.sparse.save_npz` wrote; only its stored cells are in memory."""
    size = reading.checked_path(path).stat().st_size
    with reading.whole(path, ".npz"):
        with zipfile.ZipFile(path) as archive:
            names = {member.removesuffix(".npy") for member in archive.namelist()}
            reading.check_members(path, archive, names)
        matrix: Any = scipy.sparse.load_npz(path)
        # scipy trusts the places of cells, and would write beyond its arrays.
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        n_rows, n_columns = _table_shape(matrix.shape, str(path))
        check_unpacked(f"{path}: a row of {n_columns:,} columns", n_columns * 8, size)
        check_unpacked(f"{path}: where each of {n_rows:,} rows begins", n_rows * 8, size)
        return SparsePart(matrix, str(path))


def _check_size(path: str, size: int, known: int) -> None:
    """Rows of a file that was written again would be read from the wrong places."""
    if size != known:
        raise InputError(f"{path} has changed since it was opened: open its rows again")


def _columns_of(schema: Any, wanted: tuple[str, ...]) -> dict[str, str]:
    return {name.casefold(): name for name in schema.names if name.casefold() in wanted}


def _index_columns(schema: Any) -> list[str]:
    """The columns, in lower case, that pandas keeps the names of rows in."""
    known = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name.casefold() for name in known if isinstance(name, str)]


def _check_filled(path: str, name: str, cells: Any, first: int) -> None:
    """An error if a cell is empty; `first` is the number of the first row. numpy has no empty cell
    among whole numbers and truth values."""
    if cells.null_count:
        row = first + int(np.argmax(cells.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(
            f"{path}: column {name!r} is empty in row {row} (counted from 0); fill or drop such "
            "rows first"
        )


def _is_number(kind: Any) -> bool:
    return str(kind).startswith(("int", "uint", "float", "halffloat", "double", "bool", "decimal"))


def _is_list(kind: Any) -> bool:
    return str(kind).startswith(("list<", "fixed_size_list<", "large_list<"))


def _list_column(name: str, lists: list[str], column: str | None) -> str | None:
    if column is not None:
        if column not in lists:
            there = listed(lists) or "none"
            raise InputError(f"{name} has no column {column!r} of lists of numbers; it has {there}")
        return column
    if len(lists) > 1:
        raise InputError(f"{name} has lists in the columns {listed(lists)}: say which by `column`")
    return lists[0] if lists else None


def _table_shape(shape: tuple[int, ...], name: str) -> tuple[int, int]:
    if len(shape) != 2:
        raise InputError(f"{name}: rows must be a table of rows and columns, not of shape {shape}")
    return int(shape[0]), int(shape[1])
