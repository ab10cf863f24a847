"""What a class table is made of, checked: names, vectors, names and groups of the columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from unseen.errors import InputError, counted, listed, nearest
from unseen.support.text import checked_words
from unseen.support.text import words as as_words


def as_names(names: Any, what: str) -> np.ndarray:
    """A 1-d array of names of one kind: strings (numpy's own, not objects) or numbers."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        is_short = isinstance(names, (str, int, float)) or names is None
        shown = repr(names)[:200] if is_short else f"a {type(names).__name__}"
        raise InputError(f"{what} must be a list, not {shown}")
    check_unmasked(names, what)
    array: Any = names
    if not isinstance(names, np.ndarray) or names.dtype.kind in "OT":
        array = _uniform(list(names), what)
    elif names.dtype.kind == "U":
        array = checked_words(names, what)
    if array.ndim != 1:
        raise InputError(f"{what} must be a flat list, not of {array.ndim} dimensions")
    if array.dtype.kind not in "Ubiuf":
        raise InputError(f"{what} must be strings or numbers, not {array.dtype}")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise InputError(f"{what} contain NaN or infinity")
    return array


def names_of_rows(names: Any, what: str = "labels") -> np.ndarray:
    """`as_names` of a list, an array, or a column of pandas as numpy has it."""
    is_known = isinstance(names, (list, tuple, np.ndarray))
    return as_names(names if is_known else np.asarray(names), what)


def _uniform(names: list[Any], what: str) -> np.ndarray:
    """The names as an array; numpy would turn numbers among strings into strings."""
    check_one_kind(names, what)
    if names and isinstance(names[0], str):
        return as_words(names, what)
    try:
        array = np.asarray(names)
    except ValueError as error:
        raise InputError(f"{what} must be a flat list of strings or numbers") from error
    if array.dtype.kind == "O":
        odd = [name for name in names if not isinstance(name, (int, float))]
        if not odd:
            raise InputError(f"{what} hold a whole number of more than 64 bits; write it as text")
        raise InputError(f"{what} must be strings or numbers, not {odd[0]!r}")
    return array


def check_one_kind(names: Sequence[Any], what: str) -> None:
    """An error if strings or truth values are mixed with others: numpy would turn numbers among
    strings into strings, and truth values among numbers into numbers."""
    kinds = set(map(type, names))  # of a million names there are hardly more than two
    for kind, word in ((str, "a string"), ((bool, np.bool_), "a truth value")):
        if len({issubclass(found, kind) for found in kinds}) < 2:
            continue
        odd = next(name for name in names if not isinstance(name, kind))
        if not isinstance(odd, (int, float, np.number, np.bool_)):
            raise InputError(f"{what} must be strings or numbers, not {odd!r}")
        name = next(name for name in names if isinstance(name, kind))
        raise InputError(f"{what} are of mixed kinds: {name!r} is {word}, {odd!r} is not")


def check_unmasked(array: Any, what: str) -> None:
    """An error if some cells of an array, of a list of arrays or of a list of lists are masked:
    numpy would use what is behind the mask."""
    number = _n_masked(array)
    if number:
        has = "have" if what.endswith("s") else "has"
        cells = counted(number, "masked cell")
        raise InputError(f"{what} {has} {cells}: fill or drop them first")


def _n_masked(value: Any, depth: int = 2) -> int:
    if isinstance(value, np.ma.MaskedArray):
        return int(np.ma.count_masked(value))
    if depth and isinstance(value, (list, tuple)):
        kinds = set(map(type, value))  # one look at each of a million numbers is enough
        if any(issubclass(kind, (np.ma.MaskedArray, list, tuple)) for kind in kinds):
            return sum(_n_masked(one, depth - 1) for one in value)
    return 0


# -- vectors --------------------------------------------------------------------------------------


def as_vectors(vectors: Any, names: np.ndarray) -> np.ndarray:
    """The vectors of a class table as C x d_s floats, copied."""
    check_unmasked(vectors, "the class table")
    try:
        array = np.array(vectors, order="C")
    except ValueError as error:
        raise InputError("the class vectors have different widths") from error
    if array.dtype.kind in "cmM":
        raise InputError(f"the class table holds {array.dtype} values, which are not real numbers")
    try:
        with np.errstate(over="ignore"):  # beyond float64 is infinite, which is told later
            array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"the class table holds values that are not numbers ({error})") from error
    if names.size == 0:
        raise InputError("the class table is empty: it has no class at all")
    if array.ndim != 2 or array.shape[0] != names.size:
        sizes = f"{names.size} names, vectors of shape {array.shape}"
        raise InputError(f"the class table needs one vector per class: {sizes}")
    if array.shape[1] == 0:
        raise InputError("the class table has no columns: nothing describes the classes")
    return array


def check_finite(
    vectors: np.ndarray, names: np.ndarray, attributes: tuple[str, ...] | None
) -> None:
    """An error naming the first class and column that is NaN or infinite."""
    bad = ~np.isfinite(vectors)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        where = column if attributes is None else repr(attributes[column])
        raise InputError(
            f"the description of class {str(names[row])!r} is NaN or infinite in column {where} "
            f"({bad.sum()} such cells in all); fill or drop them first"
        )


def as_attributes(attributes: Iterable[Any] | None, width: int) -> tuple[str, ...] | None:
    """Names of the columns, one each, or None."""
    if attributes is None:
        return None
    names = tuple(map(str, as_names(attributes, "attribute names").tolist()))
    if len(names) != width:
        raise InputError(f"{len(names)} attribute names for {width} columns")
    if len(set(names)) < width:
        raise InputError(f"columns of the class table share a name: {repeated(np.array(names))}")
    return names


def check_different(names: np.ndarray) -> None:
    """An error if two classes share a name, or one has none."""
    if np.unique(names).size < names.size:
        raise InputError(f"rows of the class table share a name: {repeated(names)}")
    if names.dtype.kind == "U" and (names == "").any():
        row = int(np.argmax(names == ""))
        raise InputError(f"row {row} (counted from 0) of the class table has no name")


def repeated(names: np.ndarray) -> str:
    """The names that occur more than once, for a message."""
    unique, counts = np.unique(names, return_counts=True)
    return listed(unique[counts > 1].tolist())


def told_missing(
    missing: list[Any], found: np.ndarray, counts: np.ndarray, known: np.ndarray
) -> str:
    """What to say of labels that are not among the `known` names of a class table.

    found, counts : all names among the labels, and how many rows have each.
    """
    first, example = missing[0], known[0].item()
    if _kind(first) != _kind(example):
        return (
            f"labels and class names are of different kinds: label {first!r} is a "
            f"{type(first).__name__}, the class table has names such as {example!r}; labels are "
            "matched by name, so use one kind for both"
        )
    is_numbered = [str(name).isdecimal() for name in known]
    if not any(is_numbered) and all(str(label).isdecimal() for label in found):
        return (
            f"labels are numbers such as {str(first)!r}, the class table has names such as "
            f"{example!r}; labels are matched by name, so write names instead of numbers"
        )
    count = int(counts[found.tolist().index(first)])
    rows = f"{count} rows and " if count > 1 else ""
    more = f" ({len(missing)} names are missing)" if len(missing) > 1 else ""
    hint = nearest(first, known.tolist())
    return f"class {listed([first])} has {rows}no line in the class table{hint}{more}"


def _kind(name: Any) -> type:
    """Names of one kind can be the same: strings, truth values or numbers."""
    return next((kind for kind in (str, bool) if isinstance(name, kind)), float)


def as_numbers(name: Any, vector: Any) -> np.ndarray:
    """The description of one class as a list of numbers."""
    check_unmasked(vector, f"the description of class {name!r}")
    try:
        return np.ravel(vector)
    except ValueError as error:
        raise InputError(f"the description of class {name!r} is not a list of numbers") from error


def by_attribute(name: Any, values: Any, attributes: list[Any]) -> list[Any]:
    """The values of `{attribute: value}` in the order of the attributes."""
    if not hasattr(values, "keys"):
        raise InputError(
            f"class {name!r} is described by a {type(values).__name__}, others by a mapping "
            "{attribute: value}"
        )
    keys = list(values.keys())
    if len(set(keys)) < len(keys):
        raise InputError(f"the description of class {name!r} names an attribute twice")
    if set(keys) != set(attributes):
        odd = sorted(set(keys) ^ set(attributes), key=str)
        raise InputError(f"class {name!r} is described by other attributes: {listed(odd)}")
    return [values[a] for a in attributes]


# -- groups of columns ----------------------------------------------------------------------------


class Group(NamedTuple):
    """A name and the numbers of the first and the last column."""

    name: str
    first: int
    last: int

    @property
    def columns(self) -> slice:
        return slice(self.first, self.last + 1)


def side_by_side(widths: Mapping[str, int]) -> tuple[Group, ...]:
    """Groups of these names and widths, one after another."""
    ends = accumulate(widths.values())
    return tuple(
        Group(n, end - w, end - 1) for (n, w), end in zip(widths.items(), ends, strict=True)
    )


def joined_attributes(parts: Mapping[str, Sequence[str] | None]) -> list[str] | None:
    """Names of the columns of several descriptions side by side: the name of the description is put
    before them if two share one. None unless all have names."""
    if any(names is None for names in parts.values()):
        return None
    found = [name for names in parts.values() for name in names or ()]
    if len(set(found)) < len(found):
        return [f"{part}.{name}" for part, names in parts.items() for name in names or ()]
    return found


def as_groups(groups: Iterable[Any] | None, width: int) -> tuple[Group, ...] | None:
    """Checked groups (name, first column, last column) that cover all columns in their order."""
    if groups is None:
        return None
    try:
        found = tuple(Group(str(name), int(first), int(last)) for name, first, last in groups)
    except (TypeError, ValueError) as error:
        raise InputError("a group of columns is a name with its first and last column") from error
    names = [g.name for g in found]
    if len(set(names)) < len(names) or "" in names:
        raise InputError(f"groups of columns need different names, not {names}")
    ends = [-1, *(g.last for g in found)]
    follow = all(g.first == end + 1 for g, end in zip(found, ends[:-1], strict=True))
    if not follow or ends[-1] != width - 1 or any(g.first > g.last for g in found):
        raise InputError(
            f"groups must cover the {width} columns one after another, without gaps: {list(found)}"
        )
    return found
