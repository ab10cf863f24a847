"""Tables of named columns from .csv, .tsv and .parquet files, split into numbers and text."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError, require
from unseen.files import checked_path, not_utf8

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
# What the column of labels may be called, where a table may hold labels.
LABEL_COLUMNS = ("label", "labels", "class")
# What the column of names may be called; any other word before numbers may itself be a name.
_NAME_HEADERS = ("", "name", "names", "class", "label")


@dataclass(frozen=True)
class Table:
    """A file of named columns, split into its numbers (N x d) and its columns of text."""

    columns: tuple[str, ...]
    numbers: np.ndarray
    text: dict[str, np.ndarray]


def read_table(
    path: str | os.PathLike[str],
    text: tuple[str, ...] = (),
    first_is_text: bool = False,
    row_numbers: tuple[str, ...] = (),
) -> Table:
    """A .csv, .tsv or .parquet file with a header line.

    The columns named in `text`, in upper or lower case, are text; the first column too, if
    `first_is_text` or if it does not hold numbers; and those named in `row_numbers` if they hold
    whole numbers, each once. Every other cell must be a number.
    """
    path = checked_path(path)
    read = _read_parquet if path.suffix == ".parquet" else _read_delimited
    return read(path, text, first_is_text, row_numbers)


def column_names(path: Path) -> list[str]:
    """What the columns of a table are called."""
    path = checked_path(path)
    if path.suffix == ".parquet":
        return [str(column) for column in _parquet_frame(path).columns]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file, delimiter=_delimiter(path)), [])
    except UnicodeDecodeError as error:
        raise InputError(not_utf8(path)) from error
    except csv.Error as error:
        raise InputError(f"{path} is not a table of text cells ({error})") from error
    return [cell.strip() for cell in header]


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix == ".tsv" else ","


def _parquet_frame(path: Path) -> Any:
    """The columns of the file, and its index if it has a name or holds text."""
    pandas = require("pandas", "data", f"reading {path.name}")
    require("pyarrow", "data", f"reading {path.name}")
    try:
        frame = pandas.read_parquet(path)
    except Exception as error:
        raise InputError(
            f"{path} is not a whole .parquet file, it may be truncated ({type(error).__name__})"
        ) from error
    if frame.index.name is not None or _is_words(frame.index):
        frame = frame.reset_index()
    if frame.empty:
        raise InputError(
            f"{path} is an empty table: {frame.shape[0]} rows, {frame.shape[1]} columns"
        )
    return frame


def _read_parquet(
    path: Path, text: tuple[str, ...], first_is_text: bool, row_numbers: tuple[str, ...]
) -> Table:
    frame = _parquet_frame(path)
    numbered = frame.index.to_numpy(str)
    columns = tuple(map(str, frame.columns))
    _check_different(path, columns, text)
    frame.columns = columns
    words = [c for c in columns if c.casefold() in text or (
        c.casefold() in row_numbers and number_rows(frame[c].to_numpy(str))
    )]  # fmt: skip
    if columns[0] not in words and (first_is_text or _is_words(frame[columns[0]])):
        words.insert(0, columns[0])
    numbers = [c for c in columns if c not in words]
    for column in numbers:
        if _is_words(frame[column]):
            raise InputError(
                f"{path}: column {column!r} holds text where numbers are needed"
                + _label_hint(columns, text)
            )
    cells = {
        _key(c, text): frame[c].astype(object).where(frame[c].notna(), "").to_numpy(str)
        for c in words
    }
    # An index that does not merely count tells the rows, as frames that were shuffled keep theirs.
    counts = np.array_equal(numbered, np.arange(len(frame)).astype(str))
    if "index" in row_numbers and "index" not in columns and number_rows(numbered) and not counts:
        cells["index"] = numbered
    return Table(tuple(numbers), frame[numbers].to_numpy(np.float64, na_value=np.nan), cells)


def _is_words(column: Any) -> bool:
    return column.dtype.kind not in "biuf"


def _key(column: str, text: tuple[str, ...]) -> str:
    """A column of text under the name it was asked for by."""
    return column.casefold() if column.casefold() in text else column


def _label_hint(columns: Iterable[str], text: tuple[str, ...]) -> str:
    """The way out for text where numbers belong, if labels may stand in the table but do not."""
    has_labels = any(c.casefold() in LABEL_COLUMNS for c in columns)
    may_hold_labels = "label" in text and not has_labels
    hint = "; if it is the class of each row, call the column 'label'"
    return hint if may_hold_labels else ""


def _read_delimited(
    path: Path, text: tuple[str, ...], first_is_text: bool, row_numbers: tuple[str, ...]
) -> Table:
    delimiter = _delimiter(path)
    header, first = _head(path, delimiter)
    _check_different(path, header, text)
    begins_with_text = first_is_text or not _is_number(first[0])
    words = [
        i for i, c in enumerate(header) if c.casefold() in text or (i == 0 and begins_with_text)
    ]
    maybe = [i for i, c in enumerate(header) if c.casefold() in row_numbers and i not in words]
    cells = _read_words(path, delimiter, header, maybe)
    words = sorted([*words, *(i for i in maybe if number_rows(cells[header[i]]))])
    numbers = [i for i in range(len(header)) if i not in words]
    _check_named(path, header, numbers)
    columns = _read_words(path, delimiter, header, words)
    columns = {_key(c, text): cells for c, cells in columns.items()}
    if begins_with_text and not first_is_text and header[0].casefold() not in text:
        _check_no_number(path, header[0], columns[header[0]])
    return Table(
        columns=tuple(header[i] for i in numbers),
        numbers=_read_numbers(path, delimiter, header, numbers, _label_hint(header, text)),
        text=columns,
    )


def _head(path: Path, delimiter: str) -> tuple[list[str], list[str]]:
    """The header and the first line of values, after checking that every line is as wide."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter)
            header = [cell.strip() for cell in next(lines, [])]
            if len(header) == 1 and ";" in header[0]:
                raise InputError(
                    f"{path}: cells are separated by ';'; save it with commas between cells and "
                    "points in numbers"
                )
            first = None
            for line in filter(None, lines):
                _check_width(path, header, line, lines.line_num)
                first = first or line
    except UnicodeDecodeError as error:
        raise InputError(not_utf8(path)) from error
    except csv.Error as error:
        raise InputError(f"{path} is not a table of text cells ({error})") from error
    if first is None:
        raise InputError(f"{path} has no line after its header")
    if _is_values(header) and _is_number(first[-1]):
        raise InputError(
            f"{path} begins with numbers; its first line must be a header that names the columns"
        )
    return header, first


def _is_values(header: list[str]) -> bool:
    """Is the first line a row of values? Columns may be named by numbers, as pandas does."""
    is_numbered = len(header) > 2 and header == [str(i) for i in range(len(header))]
    if is_numbered or header[0].casefold() in _NAME_HEADERS:
        return False
    return all(_is_number(cell) for cell in header[1:] or header)


def _check_width(path: Path, header: list[str], line: list[str], number: int) -> None:
    if len(line) != len(header):
        cells = f"{len(line)} cell{'' if len(line) == 1 else 's'}"
        quotes = "; a name that holds a comma must stand in double quotes"
        hint = quotes if len(line) > len(header) and path.suffix == ".csv" else ""
        where = f"{path}, line {number}"
        raise InputError(f"{where}: {cells} where the header has {len(header)}{hint}")


def _check_named(path: Path, header: list[str], keep: list[int]) -> None:
    unnamed = next((i for i in keep if not header[i]), None)
    if unnamed is not None:
        hint = "; if it numbers the rows, leave it out (pandas: index=False)" if not unnamed else ""
        raise InputError(f"{path}: column {unnamed + 1} has no name in the header{hint}")


def _check_different(path: Path, header: Iterable[str], text: tuple[str, ...]) -> None:
    """Columns are matched by name, so two of one name cannot be told apart."""
    counts = Counter(_key(column, text) for column in header if column)
    twice = next((column for column, count in counts.items() if count > 1), None)
    if twice is not None:
        raise InputError(
            f"{path} has {counts[twice]} columns called {twice!r}: give each a name of its own"
        )


def number_rows(cells: np.ndarray) -> bool:
    """Whether these are whole numbers, each there once."""
    return all(map(str.isdecimal, cells.tolist())) and is_unique(cells)


def is_numeric(cells: np.ndarray) -> bool:
    """Whether these are all numbers, or empty."""
    return all(map(_is_number, filter(None, cells.tolist())))


def is_unique(cells: np.ndarray) -> bool:
    """Whether no cell is there twice."""
    return np.unique(cells).size == cells.size


def _check_no_number(path: Path, column: str, cells: np.ndarray) -> None:
    """A column that begins with text is text to its end; a number in it betrays a slip."""
    number = next((cell for cell in cells if _is_number(cell)), None)
    if number is not None:
        raise InputError(
            f"{path}: column {column!r} begins with {str(cells[0])!r} and goes on with numbers "
            f"such as {str(number)!r}; a column holds numbers or text, not both"
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_numbers(
    path: Path, delimiter: str, header: list[str], keep: list[int], text_hint: str
) -> np.ndarray:
    if not keep:
        with path.open(encoding="utf-8-sig", newline="") as file:
            n_lines = sum(1 for line in csv.reader(file, delimiter=delimiter) if line) - 1
        return np.empty((n_lines, 0))
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            next(csv.reader(file, delimiter=delimiter))
            return np.loadtxt(
                file, delimiter=delimiter, usecols=keep, ndmin=2, comments=None, quotechar='"'
            )
    except ValueError as error:
        where = _where_not_a_number(path, delimiter, header, keep, text_hint)
        raise InputError(where) from error


def _where_not_a_number(
    path: Path, delimiter: str, header: list[str], keep: list[int], text_hint: str
) -> str:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=delimiter)
        next(lines)
        for number, line in enumerate(filter(None, lines)):
            for i in keep:
                if not _is_number(line[i]):
                    is_empty = not line[i].strip()
                    what = "is empty" if is_empty else f"holds {line[i]!r}"
                    where = f"{path}, line {lines.line_num}: column {header[i]!r}"
                    # Text from its first cell on: a column of text, not a slip.
                    hint = text_hint if number == 0 and not is_empty else ""
                    return f"{where} {what}, a number was expected{hint}"
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
