"""What a stranger's file may do: be a regular file in its folder, and not swell without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from unseen.errors import InputError

# What unpacks to less than this is harmless; more must not be this many times the packed size.
_HARMLESS = 64 * 2**20
_MOST_TIMES = 100
# What a name takes in memory beside its letters, and what each of these takes.
_NAME_BYTES, _LETTER_BYTES = 64, 4


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether it is a file of bytes: no folder, device or pipe, which may block for ever."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_below(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Whether a path, all links followed, leads to a place inside a folder."""
    try:
        return Path(path).resolve().is_relative_to(Path(folder).resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def check_unpacked(what: str, size: int, packed: int, most_times: int = _MOST_TIMES) -> None:
    """An error if something packed would grow far more than data do."""
    if size > max(_HARMLESS, most_times * packed):
        raise InputError(
            f"{what} unpacks {packed:,} bytes to {size:,}, which no data do; if you trust it, "
            "save it again unpacked"
        )


class Names:
    """What the names in one variable of a file take in memory, counted before they are made.

    A name of one letter is a string of Python of more than 50 bytes, and numpy gives each the room
    of the longest.
    """

    def __init__(self, what: str, packed: int) -> None:
        self._what, self._packed, self._size = what, packed, 0

    def count(self, number: int, longest: int = 0, beside: int = 0) -> None:
        """An error if as many names more, each with `beside` further bytes, are too many."""
        self._size += number * (_NAME_BYTES + _LETTER_BYTES * longest + beside)
        check_unpacked(self._what, self._size, self._packed)
