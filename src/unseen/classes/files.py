"""Class tables in files: names, vectors, and attributes where there are some."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unseen.files import reading
from unseen.files.tables import TABLE_SUFFIXES, read_table


def _read_columns(path: Path, key: str | None) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    table = read_table(path, first_is_text=True)
    return next(iter(table.text.values())), table.numbers, table.columns


def _read_npz(path: Path, key: str | None) -> tuple[np.ndarray, np.ndarray, Any]:
    arrays = reading.read_npz(path)
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
READERS: dict[str, Callable[[Path, str | None], tuple[Any, ...]]] = {
    ".npz": _read_npz,
    ".mat": _read_att_splits,
    **dict.fromkeys(TABLE_SUFFIXES, _read_columns),
}
