"""Groups of columns of a class table: several descriptions of the same classes side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from unseen.errors import InputError


class Group(NamedTuple):
    """A name and the numbers of the first and the last column."""

    name: str
    first: int
    last: int

    @property
    def columns(self) -> slice:
        return slice(self.first, self.last + 1)


def side_by_side(names: Iterable[str], widths: Iterable[int]) -> tuple[Group, ...]:
    """Groups of these names and widths, one after another."""
    groups, first = [], 0
    for name, width in zip(names, widths, strict=True):
        groups.append(Group(name, first, first + width - 1))
        first += width
    return tuple(groups)


def as_groups(groups: Iterable[Any] | None, width: int) -> tuple[Group, ...] | None:
    """Checked groups (name, first column, last column) that cover all columns in their order."""
    if groups is None:
        return None
    try:
        found = tuple(Group(str(name), int(first), int(last)) for name, first, last in groups)
    except (TypeError, ValueError) as error:
        raise InputError("a group of columns is a name, its first and its last column") from error
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


def chosen(groups: tuple[Group, ...] | None, columns: Sequence[int]) -> tuple[Group, ...] | None:
    """The groups after a choice of columns; None where columns of different groups are mixed."""
    if groups is None:
        return None
    owners = [g.name for c in columns for g in groups if g.first <= c <= g.last]
    runs = [(name, len(list(run))) for name, run in groupby(owners)]
    names = [name for name, _ in runs]
    return side_by_side(names, [n for _, n in runs]) if len(set(names)) == len(names) else None


def joined(parts: Sequence[tuple[Group, ...] | None]) -> tuple[Group, ...] | None:
    """The groups of tables side by side; None if one has none, or if a name comes twice."""
    if any(groups is None for groups in parts):
        return None
    every = [g for groups in parts for g in groups or ()]
    names = [g.name for g in every]
    if len(set(names)) < len(names):
        return None
    return side_by_side(names, [g.last - g.first + 1 for g in every])
