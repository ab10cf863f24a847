"""Tables of named columns from .csv, .tsv and .parquet files, split into numbers and text."""

from __future__ import annotations

import csv
import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError, counted, require
from unseen.files.parquet import check_cells, check_text
from unseen.files.reading import checked_path, not_utf8, whole
from unseen.support.text import words as as_array

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
# Names of the column of labels.
LABEL_COLUMNS = ("label", "labels", "class")
# Headers of the column of names; any other word before numbers may itself be a name.
_NAME_HEADERS = ("", "name", "names", "class", "label")
# Cells in which nothing is known, in lower case.
_GAPS = ("", "nan", "na", "n/a")
# More cost memory and minutes before anything else of a file is known.
_MOST_COLUMNS = 1_000_000
# Two letters make a word; "1,5" is a slip in a number.
_WORD = re.compile(r"[^\W\d_]{2}")
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Table:
    """A file of named columns, split into its numbers (N x d) and its columns of text."""

    columns: tuple[str, ...]
    numbers: np.ndarray
    text: dict[str, np.ndarray]


# The columns of a table that are text; None if all of them are.
Text = tuple[str, ...] | None


def read_table(
    path: str | os.PathLike[str], text: Text = (), first_is_text: bool = False, prose: bool = False
) -> Table:
    """A .csv, .tsv or .parquet file with a header line.

    The columns named in `text`, in upper or lower case, are text, and so is the first one if
    `first_is_text` or if it does not hold numbers. All other cells must be numbers, or NaN. With
    `prose`, text after the first column may be of any length (an array of objects), and an empty
    cell of numbers is NaN.
    """
    path = checked_path(path)
    if path.suffix == ".parquet":
        with whole(path, ".parquet"):  # text that is not UTF-8 is met where it is looked at
            return _read_parquet(path, text, first_is_text, prose)
    return _read_delimited(path, text, first_is_text, prose)


def text_columns(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The columns after the first that hold words and not one number, in lower case."""
    path = checked_path(path)
    if path.suffix == ".parquet":
        frame = _parquet_frame(path)
        kinds = {str(c): frame[c] for c in frame.columns[1:]}
        with whole(path, ".parquet"):
            return tuple(n.casefold() for n, column in kinds.items() if _holds_strings(column))
    with _lines(path) as lines:
        header, first = _head(path, lines)
        numbers, words = [False] * len(header), [False] * len(header)
        for line in chain([first], filter(None, lines)):
            for k, cell in enumerate(line[: len(header)]):
                if cell.strip().casefold() not in _GAPS:
                    numbers[k] |= _is_number(cell)
                    words[k] |= bool(_WORD.search(cell))
    columns = list(zip(header, numbers, words, strict=True))[1:]
    return tuple(c.casefold() for c, number, word in columns if word and not number)


# -- text cells ---------------------------------------------------------------------------------
# The csv module rather than pandas, which is an extra, and which does not say where a cell is not a
# number or a line has too few cells.


@contextmanager
def _lines(path: Path) -> Iterator[Any]:
    """The lines of a text file, each a list of cells."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            line = file.readline()
            _check_number(path, 1 + max(line.count(mark) for mark in ",;\t"))
            file.seek(0)
            if path.suffix == ".tsv":
                yield csv.reader(file, delimiter="\t")
                return
            first = next(csv.reader(file), [])
            file.seek(0)
            yield _Semicolons(file) if len(first) == 1 and ";" in first[0] else csv.reader(file)
    except UnicodeDecodeError as error:
        raise InputError(not_utf8(path)) from error
    except csv.Error as error:
        raise InputError(f"{path} is not a table of text cells ({error})") from error


def _check_number(path: Path, number: int) -> None:
    if number > _MOST_COLUMNS:
        raise InputError(
            f"{path} has {number:,} columns in its header; at most {_MOST_COLUMNS:,} are taken, "
            "and a .npy file may have more"
        )


class _Semicolons:
    """Lines of a file as spreadsheets write it where 1,5 is a number and cells are separated by
    ';'."""

    def __init__(self, file: Any) -> None:
        self._lines = csv.reader(file, delimiter=";")

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        cells = next(self._lines)
        return [c.replace(",", ".") if _DECIMAL_COMMA.fullmatch(c.strip()) else c for c in cells]

    @property
    def line_num(self) -> int:
        return self._lines.line_num


def _read_delimited(path: Path, text: Text, first_is_text: bool, prose: bool) -> Table:
    number = _number_or_gap if prose else float
    with _lines(path) as lines:
        header, first = _head(path, lines)
        begins_with_text = first_is_text or not _is_number(first[0])
        words = [
            i for i, c in enumerate(header) if _is_text(c, text) or (not i and begins_with_text)
        ]
        numbers = [i for i in range(len(header)) if i not in words]
        _check_names(path, header, numbers, text)
        values, cells = array("d"), []
        for line in chain([first], filter(None, lines)):
            _check_width(path, header, line, lines.line_num)
            try:
                values.extend([number(line[i]) for i in numbers])
            except ValueError:
                column, cell = next(
                    (header[i], line[i]) for i in numbers if not _is_number(line[i], number)
                )
                what = f"holds {cell!r}" if cell.strip() else "is empty"
                # Text in the first cell already: a column of text, not a slip.
                hint = "" if cells or not cell.strip() else _label_hint(header, text)
                place = f"{path}, line {lines.line_num}: column {column!r}"
                raise InputError(f"{place} {what} instead of a number{hint}") from None
            cells.append([line[i].strip() for i in words])
    columns = {
        i: _texts([line[k] for line in cells], f"{path}, column {header[i]!r}", prose and i > 0)
        for k, i in enumerate(words)
    }
    if begins_with_text and not first_is_text and not _is_text(header[0], text):
        _check_no_number(path, header[0], columns[0])
    return Table(
        columns=tuple(header[i] for i in numbers),
        numbers=np.asarray(values).reshape(len(cells), len(numbers)),
        text={_key(header[i], text): found for i, found in columns.items()},
    )


def _head(path: Path, lines: Any) -> tuple[list[str], list[str]]:
    """The header and the first line of values."""
    header = [cell.strip() for cell in next(lines, [])]
    _check_number(path, len(header))
    first = next(filter(None, lines), None)
    if first is None:
        raise InputError(f"{path} has no line after its header")
    _check_width(path, header, first, lines.line_num)
    if _is_values(header) and _is_number(first[-1]):
        raise InputError(f"{path} begins with numbers; its first line must name the columns")
    return header, first


def _is_values(header: list[str]) -> bool:
    """Is the first line a row of values? pandas may name columns by numbers."""
    is_numbered = len(header) > 2 and header == [str(i) for i in range(len(header))]
    if is_numbered or header[0].casefold() in _NAME_HEADERS:
        return False
    return all(map(_is_number, header[1:] or header))


def _check_width(path: Path, header: list[str], line: list[str], number: int) -> None:
    if len(line) != len(header):
        quotes = "; put names that hold a comma in double quotes"
        hint = quotes if len(line) > len(header) and path.suffix == ".csv" else ""
        cells = counted(len(line), "cell")
        raise InputError(f"{path}, line {number}: {cells} where the header has {len(header)}{hint}")


def _check_no_number(path: Path, column: str, cells: np.ndarray) -> None:
    """A number in a column that begins with text is a slip."""
    number = next((cell for cell in cells if _is_number(cell)), None)
    if number is not None:
        both = f"text such as {str(cells[0])!r} and numbers such as {str(number)!r}"
        raise InputError(f"{path}: column {column!r} holds {both}; it must be one or the other")


def _is_number(cell: str, number: Callable[[str], float] = float) -> bool:
    try:
        number(cell)
    except ValueError:
        return False
    return True


def _number_or_gap(cell: str) -> float:
    return math.nan if cell.strip().casefold() in _GAPS else float(cell)


# -- typed cells --------------------------------------------------------------------------------


def _parquet_frame(path: Path) -> Any:
    """The columns of the file, and its index if it has a name or holds text."""
    pandas = require("pandas", "data", f"reading {path.name}")
    require("pyarrow", "data", f"reading {path.name}")
    with whole(path, ".parquet"):
        check_cells(path)
        check_text(path)
        frame = pandas.read_parquet(path)
    if frame.index.name is not None or _holds_words(frame.index):
        frame = frame.reset_index()
    if frame.empty:
        raise InputError(f"{path} is an empty table of {len(frame)} rows")
    return frame


def _read_parquet(path: Path, text: Text, first_is_text: bool, prose: bool) -> Table:
    frame = _parquet_frame(path)
    header = frame.columns = [str(column) for column in frame.columns]
    _check_names(path, header, [], text)
    begins_with_text = first_is_text or _holds_words(frame[header[0]])
    words = [c for i, c in enumerate(header) if _is_text(c, text) or (not i and begins_with_text)]
    numbers = [c for c in header if c not in words]
    odd = next((c for c in numbers if _holds_words(frame[c])), None)
    if odd is not None:
        hint = _label_hint(header, text)
        raise InputError(f"{path}: column {odd!r} holds text instead of numbers{hint}")
    found = {_key(c, text): _cells(path, c, frame[c], prose and c != header[0]) for c in words}
    # An index that is not a plain count identifies the rows: shuffled frames keep theirs.
    index = frame.index.to_numpy(str)
    counts = np.array_equal(index, np.arange(len(frame)).astype(str))
    if _is_text("index", text) and "index" not in header and is_unique(index) and not counts:
        found["index"] = index
    return Table(tuple(numbers), frame[numbers].to_numpy(np.float64, na_value=np.nan), found)


def _cells(path: Path, name: str, column: Any, prose: bool) -> np.ndarray:
    try:
        cells = column.astype(object).where(column.notna(), "")
        return _texts([str(c) for c in cells], f"{path}, column {name!r}", prose)
    except InputError:
        raise
    except Exception as error:  # pandas and pyarrow each have their own for text that is none
        raise InputError(f"{path}: column {name!r} holds text that is not UTF-8") from error


def _holds_words(column: Any) -> bool:
    return column.dtype.kind not in "biuf"


def _holds_strings(column: Any) -> bool:
    """Is it a column of strings and nothing else? Cells may be missing."""
    known = column[column.notna()]
    return _holds_words(column) and len(known) > 0 and all(isinstance(c, str) for c in known)


# -- both ---------------------------------------------------------------------------------------


def _texts(cells: list[str], what: str, prose: bool) -> np.ndarray:
    """An array of numpy's strings, or of objects, in which a long text takes room for itself."""
    return np.array(cells, dtype=object) if prose else as_array(cells, what)


def _is_text(column: str, text: Text) -> bool:
    return text is None or column.casefold() in text


def _key(column: str, text: Text) -> str:
    """The name by which a column of text was asked for."""
    return column.casefold() if _is_text(column, text) else column


def _label_hint(columns: list[str], text: Text) -> str:
    """A hint for text instead of numbers, if the table may hold labels but has none."""
    has_labels = any(c.casefold() in LABEL_COLUMNS for c in columns)
    if has_labels or not _is_text("label", text):
        return ""
    return "; if it holds the class of each row, call the column 'label'"


def _check_names(path: Path, header: list[str], numbers: list[int], text: Text) -> None:
    """Columns are matched by name, so each must have a name of its own."""
    counts = Counter(_key(column, text) for column in header if column)
    twice = next((column for column, count in counts.items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{path} has {counts[twice]} columns called {twice!r}: rename them")
    unnamed = next((i for i in numbers if not header[i]), None)
    if unnamed is not None:
        hint = "; if it numbers the rows, leave it out (pandas: index=False)" if not unnamed else ""
        raise InputError(f"{path}: column {unnamed + 1} has no name in the header{hint}")


def is_unique(cells: np.ndarray) -> bool:
    """Whether no cell is repeated."""
    return np.unique(cells).size == cells.size
