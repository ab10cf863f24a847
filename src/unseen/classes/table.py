"""The class table: what is known about each class before any example of it is seen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen.classes import checks
from unseen.classes.checks import Group, as_names
from unseen.errors import InputError, listed, naming, nearest, require
from unseen.files import reading
from unseen.files.tables import TABLE_SUFFIXES, read_table


class ClassTable:
    """Side information of classes: one named row per class, the source domain of the paper.

    Row c of `vectors` (C x d_s) describes the class `names[c]`; `attributes` names the columns.
    Labels are matched by name, never by position. A table never changes.

    It has no length, shape or array form on purpose: scikit-learn would slice it like rows of X.

    Parameters
    ----------
    names : C different names, all strings or all numbers.
    vectors : C x d_s finite numbers.
    attributes : d_s different names of the columns, optional.
    groups : (name, first column, last column) of each description if there are several side by
        side, see `beside`. A method that does not know groups uses all columns.

    Examples
    --------
    >>> from unseen import ClassTable
    >>> animals = ClassTable.from_dict(
    ...     {"zebra": [1, 1, 0], "tiger": [1, 0, 1]}, attributes=["stripes", "hooves", "claws"]
    ... )
    >>> animals.vector("zebra")
    array([1., 1., 0.])
    """

    __slots__ = ("_index", "attributes", "groups", "names", "vectors")

    names: np.ndarray
    vectors: np.ndarray
    attributes: tuple[str, ...] | None
    groups: tuple[Group, ...] | None
    _index: dict[Any, int]

    def __init__(
        self,
        names: Iterable[Any],
        vectors: Any,
        attributes: Iterable[str] | None = None,
        groups: Iterable[Any] | None = None,
    ) -> None:
        checked = as_names(names, "class names").copy()
        numbers = checks.as_vectors(vectors, checked)
        words = checks.as_attributes(attributes, numbers.shape[1])
        checks.check_finite(numbers, checked, words)
        checks.check_different(checked)
        self._keep(checked, numbers, words, checks.as_groups(groups, numbers.shape[1]))

    def _keep(
        self,
        names: np.ndarray,
        vectors: np.ndarray,
        attributes: tuple[str, ...] | None,
        groups: tuple[Group, ...] | None,
    ) -> None:
        """Keep checked parts; the arrays must not be shared."""
        names.flags.writeable = vectors.flags.writeable = False
        index = {name: row for row, name in enumerate(names.tolist())}
        parts = (index, attributes, groups, names, vectors)
        for name, part in zip(self.__slots__, parts, strict=True):
            super().__setattr__(name, part)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a class table cannot be changed; make a new one")

    def __reduce__(self) -> tuple[type[ClassTable], tuple[Any, ...]]:
        return ClassTable, (self.names, self.vectors, self.attributes, self.groups)

    # -- making one ---------------------------------------------------------------------------

    @classmethod
    def from_dict(
        cls, vectors: Mapping[Any, Any], attributes: Iterable[str] | None = None
    ) -> ClassTable:
        """A table from `{name: vector}`, or from `{name: {attribute: value}}` or pandas Series."""
        nested = next((v for v in vectors.values() if hasattr(v, "keys")), None)
        if nested is not None:
            attributes = list(nested.keys()) if attributes is None else list(attributes)
            vectors = {
                name: checks.by_attribute(name, v, attributes) for name, v in vectors.items()
            }
        rows = {name: checks.as_numbers(name, vector) for name, vector in vectors.items()}
        widths = {row.size: name for name, row in rows.items()}
        if len(widths) > 1:
            shown = ", ".join(f"{name!r} has {width}" for width, name in sorted(widths.items())[:2])
            raise InputError(f"the class vectors have different widths: {shown}")
        return cls(rows, list(rows.values()), attributes)

    @classmethod
    def from_frame(cls, frame: Any) -> ClassTable:
        """A table from a pandas DataFrame: the index holds the names, the columns the attributes.

        If the first column is text, it holds the names instead. Columns that are only numbered
        (a RangeIndex) give attributes without names.
        """
        names = frame.index.tolist()
        is_words = [dtype.kind not in "biuf" for dtype in frame.dtypes]
        if is_words and is_words[0]:
            names, frame, is_words = frame.iloc[:, 0].tolist(), frame.iloc[:, 1:], is_words[1:]
        if any(is_words):
            words = listed(frame.columns[is_words])
            raise InputError(f"the class table has columns that do not hold numbers: {words}")
        numbered = type(frame.columns).__name__ == "RangeIndex"
        attributes = None if numbered else frame.columns.tolist()
        return cls(names, frame.to_numpy(dtype=np.float64, na_value=np.nan), attributes)

    @classmethod
    def beside(cls, tables: Mapping[str, Any]) -> ClassTable:
        """Several descriptions of the same classes side by side, by name.

        Rows are matched by name and in the order of the first table. `groups` tells which columns
        belong to which description, whose name is put before attributes that share one.

        >>> looks = ClassTable.from_dict({"zebra": [1, 0], "tiger": [1, 1]})
        >>> sounds = ClassTable.from_dict({"tiger": [0.9], "zebra": [0.2]})
        >>> both = ClassTable.beside({"looks": looks, "sounds": sounds})
        >>> both.vector("zebra"), both.groups[1].columns
        (array([1. , 0. , 0.2]), slice(2, 3, None))
        """
        if not isinstance(tables, Mapping) or not tables:
            raise InputError("beside takes a mapping of names to class tables, at least one")
        parts = {str(name): cls.of(table) for name, table in tables.items()}
        names = next(iter(parts.values())).names
        for part in parts.values():
            odd = set(names.tolist()) ^ set(part.names.tolist())
            if odd:
                words = listed(sorted(odd, key=str))
                raise InputError(f"the tables put side by side describe different classes: {words}")
        vectors = np.hstack([part.select(names).vectors for part in parts.values()])
        attributes = [a for part in parts.values() for a in part.attributes or ()]
        if len(set(attributes)) < len(attributes):
            attributes = [f"{k}.{a}" for k, part in parts.items() for a in part.attributes or ()]
        has_names = len(attributes) == vectors.shape[1]
        groups = checks.side_by_side({name: part.n_attributes for name, part in parts.items()})
        return cls(names, vectors, attributes if has_names else None, groups)

    @classmethod
    def of(cls, classes: Any) -> ClassTable:
        """A table from a table, a mapping or a DataFrame."""
        if isinstance(classes, ClassTable):
            return classes
        if isinstance(classes, Mapping):
            return cls.from_dict(classes)
        if hasattr(classes, "columns") and hasattr(classes, "index"):
            return cls.from_frame(classes)
        if isinstance(classes, (str, os.PathLike)):
            raise InputError(f"classes is a path; use ClassTable.read({str(classes)!r}) instead")
        raise InputError(
            "classes must be a ClassTable, a mapping {name: vector} or a DataFrame with the names "
            f"as index, not {type(classes).__name__}"
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str], key: str | None = None) -> ClassTable:
        """Read a table from a file.

        - `.csv`, `.tsv`, `.parquet`: the first column holds the names, the others the description;
        - `.npz`: arrays `names` (C), `vectors` (C x d_s) and optionally `attributes` (d_s);
        - `.mat`: an `att_splits` file, `allclasses_names` beside `att` (d_s x C); `key` chooses
          another matrix, such as `original_att` (before its columns were scaled to unit length).
        """
        path = reading.checked_path(path)
        if path.suffix not in _READERS:
            kinds = ", ".join(sorted(_READERS))
            raise InputError(f"{path}: a class table must be a file of kind {kinds}")
        with naming(path):
            return cls(*_READERS[path.suffix](path, key))

    # -- using it -----------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        return self.names.size

    @property
    def n_attributes(self) -> int:
        return self.vectors.shape[1]

    def __contains__(self, name: object) -> bool:
        # To Python True is 1.
        is_bool = isinstance(name, (bool, np.bool_))
        return name in self._index and is_bool == (self.names.dtype.kind == "b")

    def vector(self, name: Any) -> np.ndarray:
        """The description of one class."""
        return self.vectors[self.rows([name])[0]]

    def rows(self, names: Any) -> np.ndarray:
        """The row of each name; an error for an unknown name gives the nearest spelling."""
        if not isinstance(names, np.ndarray) or names.ndim != 1 or names.dtype.kind not in "Ubiuf":
            names = as_names(names, "class names")
        found, positions = np.unique(names, return_inverse=True)
        missing = [name for name in found.tolist() if name not in self]
        if missing:
            raise InputError(self._missing(missing, positions, found))
        table_rows = np.array([self._index[name] for name in found.tolist()], dtype=np.intp)
        return table_rows[positions]

    def _missing(self, missing: list[Any], positions: np.ndarray, found: np.ndarray) -> str:
        first = missing[0]
        if _kind(first) != _kind(self.names[0].item()):
            return (
                f"labels and class names are of different kinds: label {first!r} is a "
                f"{type(first).__name__}, the class table has names such as "
                f"{self.names[0].item()!r}; labels are matched by name, so use one kind for both"
            )
        is_numbered = [str(name).isdecimal() for name in self.names]
        if not any(is_numbered) and all(str(label).isdecimal() for label in found):
            return (
                f"labels are numbers such as {str(first)!r}, the class table has names such as "
                f"{self.names[0].item()!r}; labels are matched by name, so write names instead of "
                "numbers"
            )
        count = int(np.sum(positions == found.tolist().index(first)))
        rows = f"{count} rows and " if count > 1 else ""
        more = f" ({len(missing)} names are missing)" if len(missing) > 1 else ""
        hint = nearest(first, self.names.tolist())
        return f"class {str(first)!r} has {rows}no line in the class table{hint}{more}"

    def select(self, names: Iterable[Any]) -> ClassTable:
        """The same description for these classes only, in this order."""
        rows = self.rows(names)
        if rows.size == 0 or np.unique(rows).size < rows.size:
            return ClassTable(self.names[rows], self.vectors[rows])  # which says what is wrong
        table = object.__new__(ClassTable)
        table._keep(self.names[rows], self.vectors[rows], self.attributes, self.groups)
        return table

    def drop(self, names: Iterable[Any]) -> ClassTable:
        """The table without these classes."""
        return self.select(np.delete(self.names, self.rows(names)))

    def subset(self, attributes: Sequence[str | int]) -> ClassTable:
        """The same classes described by these columns only (names or numbers), without groups."""
        columns = [self._column(a) for a in attributes]
        names = self.attributes and [self.attributes[c] for c in columns]
        return ClassTable(self.names, self.vectors[:, columns], names)

    def _column(self, attribute: str | int) -> int:
        if isinstance(attribute, str):
            known = self.attributes or ()
            if not known:
                raise InputError(f"no attribute {attribute!r}: the columns have no names")
            if attribute not in known:
                raise InputError(f"no attribute {attribute!r}{nearest(attribute, known)}")
            return known.index(attribute)
        if not -self.n_attributes <= attribute < self.n_attributes:
            raise InputError(f"no column {attribute}: the class table has {self.n_attributes}")
        return attribute % self.n_attributes

    def with_columns_of(self, other: ClassTable) -> ClassTable:
        """This table with its columns in the order of another, which must have the same ones; they
        are matched by name if both have names."""
        if self.n_attributes != other.n_attributes:
            missing = set(other.attributes or ()) - set(self.attributes or other.attributes or ())
            of_them = [name for name in other.attributes or () if name in missing]
            raise InputError(
                f"the new classes are described by {self.n_attributes} columns, the known ones by "
                f"{other.n_attributes}" + (f"; missing: {listed(of_them)}" if of_them else "")
            )
        if None in (self.attributes, other.attributes) or self.attributes == other.attributes:
            return self
        columns = [self._column(a) for a in other.attributes or ()]
        return ClassTable(self.names, self.vectors[:, columns], other.attributes, other.groups)

    def merge(self, other: ClassTable) -> ClassTable:
        """More classes with the same columns; a class in both must have the same description."""
        other = other.with_columns_of(self)
        common = [name for name in other.names.tolist() if name in self]
        for name in common:
            if not np.allclose(self.vector(name), other.vector(name)):
                raise InputError(f"class {name!r} is known already, with a different description")
        if len(common) == other.n_classes:
            return self
        other = other.drop(common)
        names = as_names([*self.names.tolist(), *other.names.tolist()], "class names")
        vectors = np.vstack([self.vectors, other.vectors])
        return ClassTable(names, vectors, self.attributes, self.groups)

    # -- showing it -----------------------------------------------------------------------------

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, names as index (needs the extra `data`)."""
        pandas = require("pandas", "data", "a DataFrame")
        return pandas.DataFrame(self.vectors, index=self.names, columns=self.attributes)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ClassTable)
            and np.array_equal(self.names, other.names)
            and np.array_equal(self.vectors, other.vectors)
            and self.attributes == other.attributes
            and self.groups == other.groups
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"ClassTable({self.n_classes} classes x {self.n_attributes} attributes: "
            f"{listed(self.names.tolist(), 3)})"
        )


def _kind(name: Any) -> type:
    """Names of one kind can be the same: strings, truth values or numbers."""
    return next((kind for kind in (str, bool) if isinstance(name, kind)), float)


# -- files ----------------------------------------------------------------------------------------


def _read_columns(path: Path, key: str | None) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    table = read_table(path, first_is_text=True)
    return next(iter(table.text.values())), table.numbers, table.columns


def _read_npz(path: Path, key: str | None) -> tuple[np.ndarray, np.ndarray, Any]:
    wanted = ["names", "class_names", key or "vectors", "attributes"]
    arrays = reading.read_npz(path, wanted)
    names = reading.pick(arrays, ("names", "class_names"), path, "class names")
    vectors = reading.pick(arrays, (key or "vectors",), path, "class vectors")
    return names, vectors, arrays.get("attributes")


def _read_att_splits(path: Path, key: str | None) -> tuple[np.ndarray, np.ndarray, None]:
    key = key or "att"
    content = reading.read_mat(path, ["allclasses_names", key])
    names = reading.mat_strings(reading.pick(content, ("allclasses_names",), path, "class names"))
    vectors = reading.pick(content, (key,), path, "class vectors")
    return names, np.asarray(vectors).T, None


# The parts of a `ClassTable` from a path and the name of its matrix, by the kind of file.
_READERS: dict[str, Callable[[Path, str | None], tuple[Any, ...]]] = {
    ".npz": _read_npz,
    ".mat": _read_att_splits,
    **dict.fromkeys(TABLE_SUFFIXES, _read_columns),
}
