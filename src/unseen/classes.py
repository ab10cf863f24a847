"""The class table: what is known of each class before a single example of it is seen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen import files
from unseen.errors import InputError, listed, nearest, require


class ClassTable:
    """Side information of classes: one named row a class, the source domain of the paper.

    Row c of `vectors` (C x d_s) describes the class `names[c]`; `attributes` names the columns.
    Labels meet rows by name, never by position. A table never changes after it is made.

    It has no length, shape or array form on purpose: scikit-learn slices fit parameters that have
    one as if they were rows of X.

    Parameters
    ----------
    names : C different names, all strings or all numbers.
    vectors : C x d_s finite numbers.
    attributes : d_s different names of the columns, optional.

    Examples
    --------
    >>> from unseen import ClassTable
    >>> animals = ClassTable.from_dict(
    ...     {"zebra": [1, 1, 0], "tiger": [1, 0, 1]}, attributes=["stripes", "hooves", "claws"]
    ... )
    >>> animals.vector("zebra")
    array([1., 1., 0.])
    """

    __slots__ = ("_index", "attributes", "names", "vectors")

    names: np.ndarray
    vectors: np.ndarray
    attributes: tuple[str, ...] | None

    def __init__(
        self, names: Iterable[Any], vectors: Any, attributes: Iterable[str] | None = None
    ) -> None:
        self.names = as_names(names, "class names")
        self.vectors = _as_vectors(vectors, self.names)
        self.attributes = None if attributes is None else tuple(map(str, attributes))
        _check_attributes(self.attributes, self.vectors.shape[1])
        self._index = {name: row for row, name in enumerate(self.names.tolist())}
        if len(self._index) < self.names.size:
            raise InputError(f"two rows of the class table have one name: {_repeated(self.names)}")

    # -- making one ---------------------------------------------------------------------------

    @classmethod
    def from_dict(
        cls, vectors: Mapping[Any, Any], attributes: Iterable[str] | None = None
    ) -> ClassTable:
        """A table from `{name: vector}`, or from `{name: {attribute: value}}`."""
        first = next(iter(vectors.values()), None)
        if isinstance(first, Mapping):
            attributes = list(first) if attributes is None else list(attributes)
            vectors = {name: _by_attribute(name, v, attributes) for name, v in vectors.items()}
        widths = {np.size(v) for v in vectors.values()}
        if len(widths) > 1:
            raise InputError(f"the class vectors have different widths: {sorted(widths)}")
        return cls(vectors.keys(), [np.ravel(v) for v in vectors.values()], attributes)

    @classmethod
    def from_frame(cls, frame: Any) -> ClassTable:
        """A table from a pandas DataFrame: the index holds the names, the columns the attributes.

        A first column of text is taken for the names instead.
        """
        first = frame.columns[0] if len(frame.columns) else None
        if first is not None and frame[first].dtype.kind not in "biuf":
            frame = frame.set_index(first)
        words = [c for c in frame.columns if frame[c].dtype.kind not in "biuf"]
        if words:
            raise InputError(f"the class table has columns that hold no numbers: {listed(words)}")
        return cls(frame.index.tolist(), frame.to_numpy(dtype=np.float64), frame.columns)

    @classmethod
    def of(cls, classes: Any) -> ClassTable:
        """A table from whatever a user may pass for one: a table, a mapping or a DataFrame."""
        if isinstance(classes, ClassTable):
            return classes
        if isinstance(classes, Mapping):
            return cls.from_dict(classes)
        if hasattr(classes, "columns") and hasattr(classes, "index"):
            return cls.from_frame(classes)
        raise InputError(
            "classes must be a ClassTable, a mapping {name: vector} or a DataFrame with the names "
            f"as index, not {type(classes).__name__}"
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str], key: str | None = None) -> ClassTable:
        """Read a table from a file.

        - `.csv`, `.tsv`, `.parquet`: the first column holds the names, the others the description;
        - `.npz`: arrays `names` (C), `vectors` (C x d_s) and, if wanted, `attributes` (d_s);
        - `.mat`: an `att_splits` file, `allclasses_names` beside `att` (d_s x C); `key` chooses
          another matrix, such as `original_att` (before its columns were scaled to unit length).
        """
        path = files.checked_path(path)
        readers = {".npz": _read_npz, ".mat": _read_att_splits}
        readers |= dict.fromkeys(files.TABLE_SUFFIXES, _read_columns)
        if path.suffix not in readers:
            raise InputError(
                f"{path}: a class table is a file of kind {', '.join(sorted(readers))}, "
                f"not {path.suffix or 'one without a suffix'}"
            )
        try:
            return cls(*readers[path.suffix](path, key))
        except InputError as error:
            raise error if str(path) in str(error) else InputError(f"{path}: {error}") from error

    # -- using it -----------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        return self.names.size

    @property
    def n_attributes(self) -> int:
        return self.vectors.shape[1]

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def vector(self, name: Any) -> np.ndarray:
        """The description of one class."""
        return self.vectors[self.rows([name])[0]]

    def rows(self, names: Any) -> np.ndarray:
        """The row of each name; an unknown name is an error that gives the nearest spelling."""
        names = as_names(names, "class names")
        found, positions = np.unique(names, return_inverse=True)
        missing = [name for name in found.tolist() if name not in self._index]
        if missing:
            raise InputError(self._missing(missing, positions, found))
        table_rows = np.array([self._index[name] for name in found.tolist()], dtype=np.intp)
        return table_rows[positions]

    def _missing(self, missing: list[Any], positions: np.ndarray, found: np.ndarray) -> str:
        first = missing[0]
        if (self.names.dtype.kind == "U") != isinstance(first, str):
            return (
                f"labels and class names are of different kinds: label {first!r} is a "
                f"{type(first).__name__}, the class table has names such as "
                f"{self.names[0].item()!r}; labels are matched by name, so give both in one kind"
            )
        count = int(np.sum(positions == found.tolist().index(first)))
        rows = f"{count} row{'s' if count > 1 else ''}"
        more = f" ({len(missing) - 1} more names are missing)" if len(missing) > 1 else ""
        hint = nearest(first, self.names.tolist())
        return f"class {str(first)!r} has {rows} and no line in the class table{hint}{more}"

    def select(self, names: Iterable[Any]) -> ClassTable:
        """The same description for these classes only, in this order."""
        rows = self.rows(names)
        return ClassTable(self.names[rows], self.vectors[rows], self.attributes)

    def drop(self, names: Iterable[Any]) -> ClassTable:
        """The table without these classes."""
        keep = np.delete(np.arange(self.n_classes), self.rows(names))
        return ClassTable(self.names[keep], self.vectors[keep], self.attributes)

    def subset(self, attributes: Sequence[str | int]) -> ClassTable:
        """The same classes described by these columns only, given by name or by number."""
        columns = [self._column(a) for a in attributes]
        names = None if self.attributes is None else [self.attributes[c] for c in columns]
        return ClassTable(self.names, self.vectors[:, columns], names)

    def _column(self, attribute: str | int) -> int:
        if isinstance(attribute, str):
            known = self.attributes or ()
            if attribute not in known:
                raise InputError(f"no attribute {attribute!r}{nearest(attribute, known)}")
            return known.index(attribute)
        if not -self.n_attributes <= attribute < self.n_attributes:
            raise InputError(f"no column {attribute}: the class table has {self.n_attributes}")
        return attribute

    def join(self, *others: ClassTable) -> ClassTable:
        """Descriptions side by side: the columns of several tables, rows matched by name.

        All tables must describe the same classes; the order is that of the first.
        """
        tables = [self, *(other.select(_same_names(self, other)) for other in others)]
        vectors = np.hstack([t.vectors for t in tables])
        return ClassTable(self.names, vectors, _joined_attributes(tables))

    def merge(self, other: ClassTable) -> ClassTable:
        """More classes under the same columns; a class in both must have one description."""
        if other.n_attributes != self.n_attributes:
            raise InputError(
                f"the new classes are described by {other.n_attributes} columns, the known ones "
                f"by {self.n_attributes}"
            )
        if None not in (self.attributes, other.attributes) and self.attributes != other.attributes:
            other = other.subset(list(self.attributes or ()))
        common = [name for name in other.names.tolist() if name in self]
        for name in common:
            if not np.allclose(self.vector(name), other.vector(name)):
                raise InputError(f"class {name!r} is known already, with another description")
        if len(common) == other.n_classes:
            return self
        other = other.drop(common)
        names = as_names([*self.names.tolist(), *other.names.tolist()], "class names")
        return ClassTable(names, np.vstack([self.vectors, other.vectors]), self.attributes)

    # -- showing and keeping it -----------------------------------------------------------------

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, names as index (needs the extra `data`)."""
        pandas = require("pandas", "data", "a DataFrame")
        return pandas.DataFrame(self.vectors, index=self.names, columns=self.attributes)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table as `.npz` or `.csv`, whole or not at all."""
        import csv

        suffix = Path(path).suffix
        if suffix not in (".npz", ".csv"):
            raise InputError(f"a class table is written as .npz or .csv, not {suffix!r}")
        attributes = self.attributes or tuple(f"a{k}" for k in range(self.n_attributes))
        with files.writing(path) as temporary, temporary.open("wb") as raw:
            if suffix == ".npz":
                np.savez(raw, names=self.names, vectors=self.vectors, attributes=attributes)
                return
            with open(raw.fileno(), "w", encoding="utf-8", newline="", closefd=False) as text:
                lines = csv.writer(text)
                lines.writerow(["name", *attributes])
                for name, vector in zip(self.names.tolist(), self.vectors.tolist(), strict=True):
                    lines.writerow([name, *vector])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ClassTable)
            and np.array_equal(self.names, other.names)
            and np.array_equal(self.vectors, other.vectors)
            and self.attributes == other.attributes
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"ClassTable({self.n_classes} classes x {self.n_attributes} attributes: "
            f"{listed(self.names.tolist(), 3)})"
        )


def as_names(names: Any, what: str) -> np.ndarray:
    """A 1-d array of names of one kind: strings (numpy's own, not objects) or numbers."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{what} must be a list, not {names!r}")
    array = names if isinstance(names, np.ndarray) else np.asarray(_listed(names))
    if array.ndim != 1:
        raise InputError(f"{what} must be a flat list, not of {array.ndim} dimensions")
    if array.dtype.kind == "O":
        array = _uniform(array, what)
    if array.dtype.kind not in "Ubiuf":
        raise InputError(f"{what} must be strings or numbers, not {array.dtype}")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise InputError(f"{what} contain NaN or infinity")
    return array


def _listed(names: Iterable[Any]) -> Any:
    """The names as an array, except that mixed kinds stay objects so that they can be refused."""
    names = list(names)
    kinds = {isinstance(n, str) for n in names}
    return np.array(names, dtype=object) if len(kinds) > 1 else names


def _uniform(array: np.ndarray, what: str) -> np.ndarray:
    if all(isinstance(n, str) for n in array):
        return array.astype(str)
    if all(isinstance(n, (int, float, np.number, bool, np.bool_)) for n in array):
        return np.array(array.tolist())
    odd = next(n for n in array if not isinstance(n, str))
    raise InputError(f"{what} are of mixed kinds: {odd!r} is not a string like the others")


def _as_vectors(vectors: Any, names: np.ndarray) -> np.ndarray:
    try:
        array = np.array(vectors, order="C")
        array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"the class table holds values that are not numbers ({error})") from error
    if names.size == 0:
        raise InputError("the class table is empty: it has no class at all")
    if array.ndim != 2 or array.shape[0] != names.size:
        raise InputError(
            f"the class table needs one vector a class: {names.size} names, vectors of shape "
            f"{array.shape}"
        )
    if array.shape[1] == 0:
        raise InputError("the class table has no columns: nothing describes the classes")
    bad = ~np.isfinite(array)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"the description of class {str(names[row])!r} is not finite in column {column} "
            f"({bad.sum()} such cells in all); fill or drop them first"
        )
    array.flags.writeable = False
    return array


def _check_attributes(attributes: tuple[str, ...] | None, width: int) -> None:
    if attributes is None:
        return
    if len(attributes) != width:
        raise InputError(f"{len(attributes)} attribute names for {width} columns")
    if len(set(attributes)) < width:
        repeated = _repeated(np.array(attributes))
        raise InputError(f"two columns of the class table have one name: {repeated}")


def _repeated(names: np.ndarray) -> str:
    unique, counts = np.unique(names, return_counts=True)
    return listed(unique[counts > 1].tolist())


def _by_attribute(name: Any, values: Mapping[str, Any], attributes: Iterable[str]) -> list[Any]:
    attributes = list(attributes)
    if set(values) != set(attributes):
        odd = sorted(set(values) ^ set(attributes))
        raise InputError(f"class {name!r} is described by other attributes: {listed(odd)}")
    return [values[a] for a in attributes]


def _same_names(table: ClassTable, other: ClassTable) -> np.ndarray:
    odd = set(table.names.tolist()) ^ set(other.names.tolist())
    if odd:
        raise InputError(f"the tables to join describe different classes: {listed(sorted(odd))}")
    return table.names


def _joined_attributes(tables: Sequence[ClassTable]) -> list[str] | None:
    """Column names of joined tables; those that would clash get the number of their table."""
    if any(t.attributes is None for t in tables):
        return None
    names = [a for t in tables for a in t.attributes or ()]
    if len(set(names)) == len(names):
        return names
    return [f"{k}.{a}" for k, t in enumerate(tables) for a in t.attributes or ()]


def _read_columns(path: Path, key: str | None) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    table = files.read_table(path, first_is_text=True)
    return next(iter(table.text.values())), table.numbers, table.columns


def _read_npz(path: Path, key: str | None) -> tuple[np.ndarray, np.ndarray, Any]:
    arrays = files.read_npz(path)
    names = files.pick(arrays, ("names", "class_names"), path, "class names")
    vectors = files.pick(arrays, (key or "vectors",), path, "class vectors")
    return names, vectors, arrays.get("attributes")


def _read_att_splits(path: Path, key: str | None) -> tuple[np.ndarray, np.ndarray, None]:
    key = key or "att"
    content = files.read_mat(path, ["allclasses_names", key])
    names = files.mat_strings(files.pick(content, ("allclasses_names",), path, "class names"))
    vectors = files.pick(content, (key,), path, "class vectors")
    return names, np.asarray(vectors).T, None
