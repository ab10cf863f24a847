"""How descriptions of classes, in numbers and in words, become the vectors of a class table.

A recipe is learned once, from seen classes where they are known, and kept with the table: a class
that comes later is described by the same columns, and its texts by the same words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unseen.classes import checks
from unseen.classes.checks import Group
from unseen.encoders.text import TextEncoding
from unseen.errors import InputError, counted, listed
from unseen.support.parameters import check_positive, is_float_array
from unseen.support.registry import register

_WAYS_OUT = (
    "fill them in, or say missing='mean' (--missing mean) for the mean of the seen classes, or "
    "'column' for a column that marks them too"
)


class Given(NamedTuple):
    """Descriptions as they were given: numbers (C x n, NaN where missing), and columns of text by
    their names ("" where missing)."""

    names: np.ndarray
    columns: tuple[str, ...] | None
    numbers: np.ndarray
    texts: dict[str, np.ndarray]


class SaysNothingError(InputError):
    """A text in which an encoder finds nothing; `why` follows the name of the text."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text} {why}")
        self.why = why


class Made(NamedTuple):
    """The parts of a class table."""

    vectors: np.ndarray
    attributes: list[str] | tuple[str, ...] | None
    groups: tuple[Group, ...] | None


@register("description")
@dataclass(frozen=True, eq=False)
class Description:
    """One part of a recipe: columns of numbers, or one column of text.

    columns : names of the columns of numbers, or of the one of text; None if numbers have no names.
    width : how many numbers it is, without those that mark missing ones.
    encoding : what makes numbers of texts; None for numbers.
    fill : what stands for missing numbers, the mean of the seen classes; None if none may miss.
    marked : the numbers that have a further column, one where they were missing.
    scale : what all is divided by. Beside others each part has it so that the mean square distance
        of seen classes from their mean is one, and none drowns the others.
    """

    columns: list[str] | None
    width: int
    encoding: TextEncoding | None = None
    fill: np.ndarray | None = None
    marked: tuple[int, ...] | list[int] = ()
    scale: float = 1.0

    def attributes(self) -> list[str] | None:
        """The names of all columns, those that mark missing values last."""
        if self.columns is None:
            return None
        names = self.columns
        if self.encoding is not None:
            numbered = [f"{names[0]} {k}" for k in range(1, self.width + 1)]
            names = self.encoding.columns() or numbered
            return [*names, *(f"{self.columns[0]} missing" for _ in self.marked)]
        return [*names, *(f"{names[k]} missing" for k in self.marked)]

    def vectors(self, values: np.ndarray, names: np.ndarray) -> np.ndarray:
        """Numbers without gaps (C x width), and beside them what marks the gaps."""
        gaps = np.isnan(values)
        if self.fill is None:
            if gaps.any():
                raise InputError(told_missing(gaps, names, self.columns, self.encoding is not None))
            filled = values
        else:
            filled = np.where(gaps, self.fill.astype(values.dtype), values)
            filled = np.hstack([filled, gaps[:, list(self.marked)].astype(values.dtype)])
        return filled if self.scale == 1.0 else filled / values.dtype.type(self.scale)

    def check(self) -> int:
        """How many columns it makes; an error unless its parts fit together."""
        columns, names = self.columns, self.columns or []
        n_names = 1 if self.encoding is not None else self.width
        is_named = isinstance(columns, list) and all(isinstance(name, str) for name in names)
        if columns is None and self.encoding is None:
            is_named, n_names = True, 0
        if type(self.width) is not int or self.width < 1 or not is_named or len(names) != n_names:
            raise InputError("what it says of the columns of its class table makes no sense")
        if self.encoding is not None:
            if not isinstance(self.encoding, TextEncoding):
                raise InputError("what it says of the texts of its classes makes no sense")
            self.encoding.check()
            if self.encoding.width != self.width:
                raise InputError("the encoder of its texts is of another width")
        check_positive(self.scale, "the scale of a description")
        marked, fill = list(self.marked), self.fill
        fits = fill is None or (is_float_array(fill, 1) and fill.shape == (self.width,))
        if not fits or (marked and fill is None):
            raise InputError("what stands for its missing values does not fit its class table")
        if not all(type(k) is int and 0 <= k < self.width for k in marked):
            raise InputError("what marks its missing values does not fit its class table")
        return self.width + len(marked)


@register("recipe")
@dataclass(frozen=True, eq=False)
class Recipe:
    """The parts of a class table by name, side by side; whether -1 stands for a missing number."""

    parts: dict[str, Description]
    minus_one: bool = False

    @property
    def text_columns(self) -> list[str]:
        return [name for name, part in self.parts.items() if part.encoding is not None]

    @property
    def numbers(self) -> Description | None:
        return next((part for part in self.parts.values() if part.encoding is None), None)

    def make(self, given: Given) -> Made:
        """The parts of a class table from descriptions of the same columns."""
        given = self._in_order(given)
        odd = sorted(set(given.texts) ^ set(self.text_columns))
        if odd:
            raise InputError(
                f"the classes are described by text in {listed(self.text_columns)}, but by text in "
                f"{listed(given.texts) or 'no column'} here; what is different: {listed(odd)}"
            )
        blocks = {
            name: part.vectors(self._values(part, name, given), given.names)
            for name, part in self.parts.items()
        }
        attributes = checks.joined_attributes(
            {name: part.attributes() for name, part in self.parts.items()}
        )
        widths = {name: block.shape[1] for name, block in blocks.items()}
        groups = checks.side_by_side(widths) if len(blocks) > 1 else None
        return Made(np.hstack(list(blocks.values())), attributes, groups)

    def _values(self, part: Description, name: str, given: Given) -> np.ndarray:
        if part.encoding is not None:
            return encoded(part.encoding, given.names, given.texts[name], name)
        return with_gaps(given.numbers) if self.minus_one else given.numbers

    def _in_order(self, given: Given) -> Given:
        """The numbers in the order of the recipe, by name where both have names."""
        known, here = self.numbers and self.numbers.columns, given.columns
        width = self.numbers.width if self.numbers else 0
        if known is None or here is None:
            if given.numbers.shape[1] != width:
                raise InputError(f"{given.numbers.shape[1]} columns of numbers instead of {width}")
            return given
        lacking = [name for name in known if name not in here]
        more = [name for name in here if name not in known]
        if lacking or more:
            words = f"missing: {listed(lacking)}" if lacking else f"unknown: {listed(more)}"
            raise InputError(f"the new classes have other columns of numbers; {words}")
        numbers = given.numbers[:, [here.index(name) for name in known]]
        return given._replace(columns=tuple(known), numbers=numbers)

    def check(self, n_columns: int) -> None:
        """An error unless its parts, which may come from a file, make so many columns."""
        is_whole = isinstance(self.parts, dict) and isinstance(self.minus_one, bool)
        if not is_whole or not all(isinstance(p, Description) for p in self.parts.values()):
            raise InputError("what it says of its class table makes no sense")
        widths = [part.check() for part in self.parts.values()]
        numbers = [part for part in self.parts.values() if part.encoding is None]
        if sum(widths) != n_columns or len(numbers) > 1:
            raise InputError("what it says of its class table does not fit its columns")


def with_gaps(numbers: np.ndarray) -> np.ndarray:
    return np.where(numbers == -1, np.nan, numbers)


def encoded(
    encoding: TextEncoding, names: np.ndarray, texts: np.ndarray, column: str
) -> np.ndarray:
    """Texts as numbers, NaN where there is none; an error names a class whose text says nothing."""
    vectors = np.full((names.size, encoding.width), np.nan, dtype=np.float32)
    is_there = texts != ""
    if is_there.any():
        vectors[is_there] = encoding(texts[is_there].tolist())
    nothing = names[is_there & ~vectors.any(axis=1)].tolist()
    if nothing:
        text = f"the text of class {nothing[0]!r} in column {column!r}"
        if len(nothing) > 1:
            text = f"the text of each of the classes {listed(nothing)} in column {column!r}"
        raise SaysNothingError(text, encoding.why_nothing())
    return vectors


def told_missing(
    gaps: np.ndarray, names: np.ndarray, columns: list[str] | tuple[str, ...] | None, is_text: bool
) -> str:
    """The first class and column without a value, how many there are, and the ways out."""
    row, column = np.argwhere(gaps)[0]
    if is_text and columns:
        n_cells = int(gaps.any(axis=1).sum())
        what, where = "no text", repr(columns[0])
    else:
        n_cells, what = int(gaps.sum()), "no value"
        where = str(column) if columns is None else repr(columns[column])
    cells = f"{counted(n_cells, 'such cell')} in all"
    return f"class {str(names[row])!r} has {what} in column {where} ({cells}); {_WAYS_OUT}"
