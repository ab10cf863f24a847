"""What a class table is made of, checked: vectors, and the names of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from unseen.classes.names import as_names
from unseen.errors import InputError, listed


def as_vectors(vectors: Any, names: np.ndarray) -> np.ndarray:
    """The vectors of a class table, C x d_s floats that cannot be written to."""
    try:
        array = np.array(vectors, order="C")
    except ValueError as error:
        raise InputError("the class vectors have different widths") from error
    if array.dtype.kind in "cmM":
        raise InputError(f"the class table holds {array.dtype} values, which are not real numbers")
    try:
        array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"the class table holds values that are not numbers ({error})") from error
    if names.size == 0:
        raise InputError("the class table is empty: it has no class at all")
    if array.ndim != 2 or array.shape[0] != names.size:
        raise InputError(
            f"the class table needs one vector per class: {names.size} names, vectors of shape "
            f"{array.shape}"
        )
    if array.shape[1] == 0:
        raise InputError("the class table has no columns: nothing describes the classes")
    array.flags.writeable = False
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
        raise InputError(
            f"two columns of the class table have one name: {repeated(np.array(names))}"
        )
    return names


def repeated(names: np.ndarray) -> str:
    """Names that occur more than once, in words."""
    unique, counts = np.unique(names, return_counts=True)
    return listed(unique[counts > 1].tolist())


def as_numbers(name: Any, vector: Any) -> np.ndarray:
    """The description of one class as a list of numbers."""
    try:
        return np.ravel(vector)
    except ValueError as error:
        raise InputError(f"the description of class {name!r} is not a list of numbers") from error


def as_mapping(name: Any, vector: Any) -> Any:
    """A pandas Series with an index of words as `{attribute: value}`; anything else as it is."""
    index: Any = getattr(vector, "index", ())
    if not hasattr(vector, "to_dict") or not all(isinstance(word, str) for word in index):
        return vector
    if not index.is_unique:
        raise InputError(f"the description of class {name!r} names an attribute twice")
    return vector.to_dict()


def by_attribute(name: Any, values: Any, attributes: list[Any]) -> list[Any]:
    """The values of `{attribute: value}` in the order of the attributes."""
    if not isinstance(values, Mapping):
        raise InputError(
            f"class {name!r} is described by a {type(values).__name__}, other classes by a mapping "
            "{attribute: value}"
        )
    if set(values) != set(attributes):
        odd = sorted(set(values) ^ set(attributes), key=str)
        raise InputError(f"class {name!r} is described by other attributes: {listed(odd)}")
    return [values[a] for a in attributes]
