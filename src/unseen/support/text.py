"""Text from strangers: names of a bounded length, and what a terminal or a page may show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from unseen.errors import InputError

# numpy gives each cell of an array of strings the room of the longest one.
MOST_LETTERS = 1000
# An array of less is harmless; more must not be this many times the letters in it.
_HARMLESS = 64 * 2**20
_MOST_TIMES = 100
# Characters that move a cursor, colour a terminal, turn the direction of what follows, stand for
# half a letter, or have no place in XML.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_HALF = re.compile("[\ud800-\udfff]")
_LAST_LETTER = 0x10FFFF


def words(cells: Iterable[str], what: str) -> np.ndarray:
    """Strings as an array of numpy's own; one that is too long or that it cannot hold is an error.

    >>> words(["zebra", "tiger"], "class names")
    array(['zebra', 'tiger'], dtype='<U5')
    """
    cells = list(cells)
    for place, cell in enumerate(cells):
        shown = f"{what}: {cell[:40]!r}, number {place} (counted from 0),"
        if len(cell) > MOST_LETTERS:
            raise InputError(
                f"{shown} has {len(cell):,} letters; at most {MOST_LETTERS:,} are taken"
            )
        if "\x00" in cell:  # numpy drops it at the end
            raise InputError(f"{shown} holds the character NUL; take it out")
        if not cell.isascii() and _HALF.search(cell):
            raise InputError(f"{shown} is not valid Unicode")
    _check_width(cells, what)
    return np.array(cells, dtype=str)


def _check_width(cells: list[str], what: str) -> None:
    """An error if a few long strings would give very many short ones their room."""
    longest = max(cells, key=len, default="")
    size = 4 * len(longest) * len(cells)
    if size > max(_HARMLESS, _MOST_TIMES * sum(map(len, cells))):
        raise InputError(
            f"{what}: {longest[:40]!r} has {len(longest):,} letters, far more than most of the "
            f"{len(cells):,}, which would all take as much room, {size:,} bytes; shorten it"
        )


def checked_words(array: np.ndarray, what: str) -> np.ndarray:
    """An array of numpy's strings whose cells are valid, at most MOST_LETTERS long."""
    array = np.asarray(array, array.dtype.newbyteorder("="))
    if array.dtype.itemsize and array.size:
        codes = np.ravel(array).view(np.uint32)
        if codes.max() > _LAST_LETTER:
            raise InputError(f"{what}: they hold numbers that are no letters")
        if ((codes >= 0xD800) & (codes <= 0xDFFF)).any():
            raise InputError(f"{what}: they are not valid Unicode")
    if array.dtype.itemsize > 4 * MOST_LETTERS:
        return words(np.ravel(array).tolist(), what).reshape(array.shape)
    return array


def visible(text: Any) -> str:
    """Text without characters that a terminal obeys or that an SVG file may not hold, which are
    written as in Python.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], str(text))
