"""The labels of a user's rows: in a file of their own, and which row each is of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen import files
from unseen.errors import InputError
from unseen.files.tables import (
    LABEL_COLUMNS,
    TABLE_SUFFIXES,
    column_names,
    is_numeric,
    is_unique,
    number_rows,
    read_table,
)

LABEL_SUFFIXES = (".txt", ".npy", ".csv", ".tsv", ".parquet")
IMAGE_COLUMNS = ("image", "image_path")
ROW_NUMBER_COLUMNS = ("id", "index", "row")


class Labels(NamedTuple):
    """The name of the class of each row.

    by : the column that rows were matched by; "" if they were taken in their order.
    left : how many names match no row.
    unused : columns that identify rows, but that the features lack.
    """

    names: np.ndarray
    by: str = ""
    left: int = 0
    unused: tuple[str, ...] = ()


def key_columns(path: Path | None, features: Path) -> tuple[str, ...]:
    """The columns of a table of labels that tell the rows, and that the table of features has too.

    Whole numbers under a name of their own count only where no text, `id`, `index` or `row` does.
    """
    if path is None or not {path.suffix, features.suffix} <= set(TABLE_SUFFIXES):
        return ()
    try:
        keys = _read_label_table(path)[1]
        shared = {name.casefold() for name in column_names(features)} & set(keys)
    except InputError:  # reported when that file itself is read
        return ()
    sure = [c for c in shared if c in ROW_NUMBER_COLUMNS or not is_numeric(keys[c])]
    return tuple(sorted(sure or shared))


def read_labels(
    path: Path, beside: Mapping[str, np.ndarray], image_paths: np.ndarray | None = None
) -> Labels:
    """Labels in the order of the rows.

    Where their table and the columns `beside` the features tell the rows by the same column,
    labels are matched by it; where both have pictures, by those.
    """
    if path.suffix == ".txt":
        return Labels(np.array(files.read_lines(path)))
    if path.suffix == ".npy":
        return Labels(as_strings(files.read_npy(path)))
    labels, keys, images = _read_label_table(path)
    wanted = {c.casefold(): cells for c, cells in beside.items()}
    shared = [c for c in keys if c in wanted]
    unique = [c for c in shared if is_unique(keys[c]) and is_unique(wanted[c])]
    if shared:
        column = (unique or shared)[0]
        places = _places(wanted[column], keys[column], f"{path}, column {column!r}")
        _check_agree({c: (wanted[c], keys[c][places]) for c in shared}, path, column)
        return Labels(labels[places], column if unique else "", labels.size - places.size)
    if image_paths is not None and images is not None and _same_names(image_paths, images):
        return Labels(labels[_places(image_paths, images, str(path))], "image")
    return Labels(labels, unused=tuple(c for c, cells in keys.items() if _tells(cells)))


def _read_label_table(
    path: Path,
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray | None]:
    """Labels, the columns beside them that hold names or numbers of rows, and pictures."""
    names = tuple(name.casefold() for name in column_names(path))
    table = read_table(path, names, row_numbers=ROW_NUMBER_COLUMNS).text
    label = next((c for c in LABEL_COLUMNS if c in table), next(iter(table)))
    others = {c: cells for c, cells in table.items() if c not in (label, "", *IMAGE_COLUMNS)}
    words = [c for c, cells in others.items() if not is_numeric(cells)]
    if label not in LABEL_COLUMNS and words:
        raise InputError(
            f"{path}: column {words[0]!r} holds {str(others[words[0]][0])!r}, a number was "
            "expected; if it is the class of each row, call the column 'label'"
        )
    numbers = [c for c, cells in others.items() if c in ROW_NUMBER_COLUMNS or number_rows(cells)]
    images = next((table[c] for c in IMAGE_COLUMNS if c in table), None)
    return table[label], {c: others[c] for c in others if c in words or c in numbers}, images


def _places(wanted: np.ndarray, there: np.ndarray, where: str) -> np.ndarray:
    """At which places of `there` the `wanted` stand."""
    if np.array_equal(wanted, there):
        return np.arange(there.size)
    if not (is_unique(there) and is_unique(wanted)):
        raise InputError(
            f"{where} is not the same as in the features, and rows cannot be matched by it, for it "
            "holds some names twice"
        )
    place = {name: number for number, name in enumerate(there.tolist())}
    missing = next((name for name in wanted.tolist() if name not in place), None)
    if missing is not None:
        raise InputError(f"{where} has no {missing!r}, which the features have")
    return np.array([place[name] for name in wanted.tolist()], dtype=np.intp)


def _check_agree(columns: dict[str, tuple[np.ndarray, np.ndarray]], path: Path, by: str) -> None:
    """What else both files say of a row must be the same."""
    for column, (wanted, found) in columns.items():
        if not np.array_equal(wanted, found):
            row = int(np.flatnonzero(wanted != found)[0])
            raise InputError(
                f"{path}: matched by column {by!r}, row {row} (counted from 0) has "
                f"{str(wanted[row])!r} in column {column!r} of the features and "
                f"{str(found[row])!r} here"
            )


def _same_names(one: np.ndarray, other: np.ndarray) -> bool:
    return is_unique(one) and np.array_equal(np.sort(one), np.sort(other))


def _tells(cells: np.ndarray) -> bool:
    """Whether a column names rows, other than by counting them from the first on."""
    counts = (np.arange(start, start + cells.size).astype(str) for start in (0, 1))
    return is_unique(cells) and not any(np.array_equal(cells, count) for count in counts)


def as_strings(labels: Any) -> np.ndarray:
    """Names from a file, always strings: a text file cannot tell 3 from "3"."""
    labels = np.ravel(np.asarray(labels))
    if labels.dtype.kind == "f" and np.all(np.isfinite(labels) & (labels == np.round(labels))):
        labels = labels.astype(np.int64)
    if labels.dtype.kind == "S":
        try:
            return np.char.decode(labels, "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"names are bytes that are not UTF-8 ({error.reason})") from error
    return files.mat_strings(labels) if labels.dtype.kind == "O" else labels.astype(str)
