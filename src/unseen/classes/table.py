"""The class table: what is known about each class before any example of it is seen."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen.classes import checks, given
from unseen.classes.checks import Group, as_names
from unseen.classes.learning import learn_recipe
from unseen.classes.recipe import Given, Recipe
from unseen.errors import InputError, counted, listed, naming, nearest, require

# Labels are looked at so many at a time.
STRETCH = 65_536


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
    recipe : how the columns were made, if from texts or with missing values: what `encode` makes
        more classes by. Tables with the same vectors are equal whatever it is.

    Examples
    --------
    >>> from unseen import ClassTable
    >>> animals = ClassTable.from_dict(
    ...     {"zebra": [1, 1, 0], "tiger": [1, 0, 1]}, attributes=["stripes", "hooves", "claws"]
    ... )
    >>> animals.vector("zebra")
    array([1., 1., 0.])
    """

    __slots__ = ("_index", "attributes", "groups", "names", "recipe", "vectors")

    names: np.ndarray
    vectors: np.ndarray
    attributes: tuple[str, ...] | None
    groups: tuple[Group, ...] | None
    recipe: Recipe | None
    _index: dict[Any, int]

    def __init__(
        self,
        names: Iterable[Any],
        vectors: Any,
        attributes: Iterable[str] | None = None,
        groups: Iterable[Any] | None = None,
        recipe: Recipe | None = None,
    ) -> None:
        checked = as_names(names, "class names").copy()
        numbers = checks.as_vectors(vectors, checked)
        words = checks.as_attributes(attributes, numbers.shape[1])
        checks.check_finite(numbers, checked, words)
        checks.check_different(checked)
        if recipe is not None:
            if not isinstance(recipe, Recipe):
                raise InputError("recipe must be the recipe of a class table")
            recipe.check(numbers.shape[1])
        self._keep(checked, numbers, words, checks.as_groups(groups, numbers.shape[1]), recipe)

    def _keep(
        self,
        names: np.ndarray,
        vectors: np.ndarray,
        attributes: tuple[str, ...] | None,
        groups: tuple[Group, ...] | None,
        recipe: Recipe | None,
    ) -> None:
        """Keep checked parts; the arrays must not be shared."""
        names.flags.writeable = vectors.flags.writeable = False
        index = {name: row for row, name in enumerate(names.tolist())}
        parts = (index, attributes, groups, names, recipe, vectors)
        for name, part in zip(self.__slots__, parts, strict=True):
            super().__setattr__(name, part)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a class table cannot be changed; make a new one")

    def __reduce__(self) -> tuple[type[ClassTable], tuple[Any, ...]]:
        return ClassTable, (self.names, self.vectors, self.attributes, self.groups, self.recipe)

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
    def from_frame(cls, frame: Any, encoder: Any = "tfidf", missing: str = "error") -> ClassTable:
        """A table from a pandas DataFrame: the index holds the names, the columns the attributes.

        If the first column is text and the index only counts, it holds the names instead. Columns
        that are only numbered (a RangeIndex) give attributes without names. `encoder` and `missing`
        are as in `read`.
        """
        return cls._made(given.of_frame(frame), encoder, missing)

    @classmethod
    def from_text(
        cls,
        names: Iterable[Any],
        texts: Iterable[str] | None = None,
        encoder: Any = "tfidf",
        seen: Collection[Any] | None = None,
    ) -> ClassTable:
        """A table from `{name: text}`, or from names and as many texts.

        Parameters
        ----------
        encoder : "tfidf", the name or the folder of a sentence encoder, or a `TextEncoder`.
        seen : the classes that TF-IDF learns its words from; None for all of them.

        >>> birds = ClassTable.from_text(
        ...     {"eagle": "large, with a bill", "gull": "large, white", "wren": "white bill"}
        ... )
        >>> birds.attributes
        ('bill', 'large', 'white')
        >>> birds.encode({"swan": "a white, large bird"}).vector("swan") > 0
        array([False,  True,  True])
        """
        if texts is None:
            if not isinstance(names, Mapping):
                raise InputError("from_text takes a mapping {name: text}, or names and texts")
            names, texts = list(names), names.values()
        return cls._made(given.of_texts(names, texts), encoder, seen=seen)

    @classmethod
    def _made(
        cls, found: Given, encoder: Any, missing: str = "error", seen: Any = None
    ) -> ClassTable:
        return cls.of_given(found, learn_recipe(found, encoder, missing, seen).recipe)

    @classmethod
    def of_given(cls, found: Given, recipe: Recipe | None) -> ClassTable:
        """A table of descriptions as they were given, by a recipe; None for numbers as they are."""
        if recipe is None:
            return cls(found.names, found.numbers, found.columns)
        return cls(found.names, *recipe.make(found), recipe)

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
        attributes = checks.joined_attributes({k: part.attributes for k, part in parts.items()})
        groups = checks.side_by_side({name: part.n_attributes for name, part in parts.items()})
        return cls(names, vectors, attributes, groups)

    @classmethod
    def of(cls, classes: Any, seen: Collection[Any] | None = None) -> ClassTable:
        """A table from a table, a mapping or a DataFrame; words are learned from `seen` ones."""
        if isinstance(classes, ClassTable):
            return classes
        if given.holds_texts(classes):
            return cls._made(given.of_mapping(classes), "tfidf", seen=seen)
        if isinstance(classes, Mapping):
            return cls.from_dict(classes)
        if hasattr(classes, "columns") and hasattr(classes, "index"):
            return cls._made(given.of_frame(classes), "tfidf", seen=seen)
        if isinstance(classes, (str, os.PathLike)):
            raise InputError(f"classes is a path; use ClassTable.read({str(classes)!r}) instead")
        raise InputError(
            "classes must be a ClassTable, a mapping {name: vector} or a DataFrame with the names "
            f"as index, not {type(classes).__name__}"
        )

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        key: str | None = None,
        *,
        encoder: Any = "tfidf",
        missing: str = "error",
        seen: Collection[Any] | None = None,
        like: ClassTable | None = None,
    ) -> ClassTable:
        """Read a table from a file.

        - `.csv`, `.tsv`, `.parquet`: the first column holds the names, the others the description:
          numbers, or text in any number of columns. Numbers and each column of text become
          descriptions side by side, as by `beside`;
        - `.npz`: arrays `names` (C), `vectors` (C x d_s) and optionally `attributes` (d_s);
        - `.mat`: an `att_splits` file, `allclasses_names` beside `att` (d_s x C); `key` chooses
          another matrix, such as `original_att` (before its columns were scaled to unit length).

        Parameters
        ----------
        encoder : what makes numbers of texts, see `from_text`. Nothing is fetched for a name.
        missing : what stands for an empty cell or NaN: "error" for none, "mean" for the mean of the
            seen classes, "column" for the same with a further column that is one there. With the
            last two -1 is missing too, if no other number is negative and not all are 0 or 1.
        seen : the classes to learn words and means from; None for all.
        like : a table with the same columns; what it has learned is used instead of all this.
        """
        found = given.read_given(Path(path), key)
        with naming(path):
            if like is None:
                return cls._made(found, encoder, missing, seen)
            return like._encoded(found)

    def encode(self, classes: Any) -> ClassTable:
        """More classes described by the same columns, texts by the words this table has learned.

        Parameters
        ----------
        classes : a mapping of names to texts if one column of text is all there is, else to
            mappings of columns to numbers and texts; also a DataFrame, or what `of` takes.
        """
        if hasattr(classes, "columns") and hasattr(classes, "index"):
            return self._encoded(given.of_frame(classes))
        if given.holds_texts(classes):
            return self._encoded(given.of_mapping(classes, self.recipe))
        return ClassTable.of(classes)

    def _encoded(self, found: Given) -> ClassTable:
        if found.texts and self.recipe is None:
            raise InputError(
                f"the new classes have text in column {listed(found.texts)}, but the known ones "
                "are described by numbers alone"
            )
        return ClassTable.of_given(found, self.recipe)

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
        found, counts = names_and_counts(names)
        self.check_known(found, counts)
        table_rows = np.array([self._index[name] for name in found.tolist()], dtype=np.intp)
        return table_rows[places_among(found, names)]

    def check_known(self, found: np.ndarray, counts: np.ndarray) -> None:
        """An error unless every label has a line; `counts` are the rows of each."""
        missing = [name for name in found.tolist() if name not in self]
        if missing:
            raise InputError(checks.told_missing(missing, found, counts, self.names))

    def doubts(self, seen: Any) -> Iterator[str]:
        """Why classes cannot be told apart, or nothing be learned of them from the seen ones."""
        alike = self._alike()
        if 0 < len(alike) < self.n_classes - 1:  # all of them the same is an error of its own
            name, other = (self.names[k].item() for k in alike[0])
            more = f", and {counted(len(alike) - 1, 'more pair')}" if len(alike) > 1 else ""
            yield (
                f"{name!r} and {other!r} have the same description{more}: no row can tell them "
                "apart"
            )
        is_seen = np.isin(self.names, seen)
        used = (self.vectors[is_seen] != 0).any(axis=0)
        is_strange = ~is_seen & (self.vectors[:, used] == 0).all(axis=1)
        if (self.vectors < 0).any():  # nothing but zeros is then a class like others, the mean one
            is_strange &= (self.vectors != 0).any(axis=1)
        strange = self.names[is_strange].tolist()
        if strange:
            yield (
                f"the description of {listed(strange)} has nothing in common with that of any seen "
                "class (no column in which both are other than zero): what is said of "
                f"{'it' if len(strange) == 1 else 'them'} is guessed"
            )

    def _alike(self) -> list[tuple[int, int]]:
        """Pairs of classes with equal vectors: each with the first that has it."""
        first: dict[bytes, int] = {}
        found = [first.setdefault((v + 0.0).tobytes(), k) for k, v in enumerate(self.vectors)]
        return [(k, other) for other, k in enumerate(found) if k != other]

    def select(self, names: Iterable[Any]) -> ClassTable:
        """The same description for these classes only, in this order."""
        rows = self.rows(names)
        if rows.size == 0 or np.unique(rows).size < rows.size:
            return ClassTable(self.names[rows], self.vectors[rows])  # which says what is wrong
        table = object.__new__(ClassTable)
        table._keep(self.names[rows], self.vectors[rows], self.attributes, self.groups, self.recipe)
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
        return ClassTable(
            self.names, self.vectors[:, columns], other.attributes, other.groups, other.recipe
        )

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
        return ClassTable(names, vectors, self.attributes, self.groups, self.recipe)

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


# -- labels of many rows, looked at in stretches: a sorted copy of all would take as much again --


def names_and_counts(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The names among labels in order, and how many labels have each."""
    if labels.size <= STRETCH:
        return np.unique(labels, return_counts=True)
    parts = (labels[k : k + STRETCH] for k in range(0, labels.size, STRETCH))
    found, counts = zip(*(np.unique(part, return_counts=True) for part in parts), strict=True)
    names, places = np.unique(np.concatenate(found), return_inverse=True)
    return names, np.bincount(places, np.concatenate(counts)).astype(np.int64)


def places_among(names: np.ndarray, labels: np.ndarray, dtype: Any = np.intp) -> np.ndarray:
    """The place of each label among sorted names."""
    places = np.empty(labels.size, dtype)
    for k in range(0, labels.size, STRETCH):
        places[k : k + STRETCH] = np.searchsorted(names, labels[k : k + STRETCH])
    return places
