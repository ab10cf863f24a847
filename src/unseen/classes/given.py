"""Descriptions of classes as users give them: files, frames, mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unseen.classes.checks import (
    as_attributes,
    as_names,
    as_vectors,
    by_attribute,
    check_different,
    check_unmasked,
)
from unseen.classes.recipe import Given, Recipe
from unseen.errors import InputError, listed, naming
from unseen.files import reading
from unseen.files.tables import TABLE_SUFFIXES, read_table, text_columns

_NO_TEXT: dict[str, np.ndarray] = {}
# The name of the one column of text that has none.
TEXT = "text"


def read_given(path: Path, key: str | None = None) -> Given:
    """Descriptions from a file; `key` is the name of its matrix."""
    path = reading.checked_path(path)
    if path.suffix not in _READERS:
        kinds = ", ".join(sorted(_READERS))
        raise InputError(f"{path}: a class table must be a file of kind {kinds}")
    with naming(path):
        given = _READERS[path.suffix](path, key)
        check_different(as_names(given.names, "class names"))
        return given


def _read_columns(path: Path, key: str | None) -> Given:
    table = read_table(path, text_columns(path), first_is_text=True, prose=True)
    (_, names), *texts = table.text.items()
    return Given(names, table.columns, table.numbers, dict(texts))


def _read_npz(path: Path, key: str | None) -> Given:
    wanted = ["names", "class_names", key or "vectors", "attributes"]
    arrays = reading.read_npz(path, wanted)
    names = reading.pick(arrays, ("names", "class_names"), path, "class names")
    vectors = reading.pick(arrays, (key or "vectors",), path, "class vectors")
    return of_arrays(names, vectors, arrays.get("attributes"))


def _read_att_splits(path: Path, key: str | None) -> Given:
    key = key or "att"
    content = reading.read_mat(path, ["allclasses_names", key])
    names = reading.mat_strings(reading.pick(content, ("allclasses_names",), path, "class names"))
    vectors = reading.pick(content, (key,), path, "class vectors")
    return of_arrays(names, np.asarray(vectors).T, None)


def of_arrays(names: Any, vectors: Any, attributes: Any) -> Given:
    """Names, a matrix of numbers, and names of its columns or None."""
    names = as_names(names, "class names")
    numbers = as_vectors(vectors, names)
    return Given(names, as_attributes(attributes, numbers.shape[1]), numbers, _NO_TEXT)


_READERS: dict[str, Callable[[Path, str | None], Given]] = {
    ".npz": _read_npz,
    ".mat": _read_att_splits,
    **dict.fromkeys(TABLE_SUFFIXES, _read_columns),
}


def of_frame(frame: Any) -> Given:
    """Descriptions from a pandas DataFrame: the index holds the names, or a first column of text if
    the index only counts."""
    names, is_text = (
        frame.index.tolist(),
        [_is_text(frame.iloc[:, k]) for k in range(frame.shape[1])],
    )
    counts = type(frame.index).__name__ == "RangeIndex"
    if is_text and is_text[0] and (counts or not any(is_text[1:])):
        names, frame, is_text = frame.iloc[:, 0].tolist(), frame.iloc[:, 1:], is_text[1:]
    odd = [
        c
        for k, c in enumerate(frame.columns)
        if not is_text[k] and frame.dtypes.iloc[k].kind not in "biuf"
    ]
    if odd:
        raise InputError(
            f"the class table has columns that hold neither numbers nor text: {listed(odd)}"
        )
    texts = {
        str(frame.columns[k]): _cells(frame.iloc[:, k]) for k, word in enumerate(is_text) if word
    }
    numbers = frame.loc[:, [not word for word in is_text]]
    numbered = type(frame.columns).__name__ == "RangeIndex"
    columns = None if numbered else tuple(map(str, numbers.columns))
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return Given(as_names(names, "class names"), columns, values, texts)


def _is_text(column: Any) -> bool:
    known = column[column.notna()]
    is_words = column.dtype.kind not in "biuf"
    return is_words and len(known) > 0 and all(isinstance(cell, str) for cell in known)


def _cells(column: Any) -> np.ndarray:
    return np.array([c.strip() if isinstance(c, str) else "" for c in column], dtype=object)


def of_texts(names: Any, texts: Any) -> Given:
    """Names with one text each."""
    names = as_names(names, "class names")
    texts = list(texts)
    if names.size != len(texts):
        raise InputError(f"{names.size} names of classes but {len(texts)} texts")
    for name, text in zip(names.tolist(), texts, strict=True):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"class {str(name)!r} is described by a {kind}, others by a text")
    cells = np.array([text.strip() for text in texts], dtype=object)
    return Given(names, (), np.empty((names.size, 0)), {TEXT: cells})


def holds_texts(classes: Any) -> bool:
    """Is it a mapping in which a class is described by text?"""
    values = classes.values() if isinstance(classes, Mapping) else ()
    return any(isinstance(v, str) or _holds_text(v) for v in values)


def _holds_text(value: Any) -> bool:
    return isinstance(value, Mapping) and any(isinstance(v, str) for v in value.values())


def of_mapping(classes: Mapping[Any, Any], recipe: Recipe | None = None) -> Given:
    """Names with a text each, or `{column: number or text}`; where a recipe has one column of text
    alone, a text needs no name."""
    nested = next((v for v in classes.values() if hasattr(v, "keys")), None)
    if nested is None:
        given = of_texts(list(classes), classes.values())
        known = None if recipe is None or recipe.numbers is not None else recipe.text_columns
        if known is not None and len(known) == 1:
            return given._replace(texts={known[0]: given.texts[TEXT]})
        return given
    columns = [str(c) for c in nested]
    rows = [by_attribute(name, v, list(nested)) for name, v in classes.items()]
    cells = dict(zip(columns, zip(*rows, strict=True), strict=True))
    words = [c for c in columns if any(isinstance(cell, str) for cell in cells[c])]
    names = as_names(list(classes), "class names")
    for column in words:
        for name, cell in zip(names.tolist(), cells[column], strict=True):
            if cell is not None and not isinstance(cell, str):
                raise InputError(f"class {name!r} has {cell!r} in column {column!r} of text")
    texts = {c: np.array([(x or "").strip() for x in cells[c]], dtype=object) for c in words}
    numbers = [c for c in columns if c not in words]
    rows = [[cells[c][k] for c in numbers] for k in range(names.size)]
    check_unmasked(rows, "the class table")
    values = np.array(rows, dtype=np.float64).reshape(names.size, len(numbers))
    return Given(names, tuple(numbers), values, texts)
