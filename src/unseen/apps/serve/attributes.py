"""What a person needs to move attributes: groups, ranges, which tell most, which are opposites."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from unseen.classes import ClassTable

# "has_bill_shape::dagger", "colour: red", "size=large".
_PREFIX = re.compile(r"\s*(.+?)\s*(?:::|:|=)\s*(.+)")


def described_attributes(table: ClassTable) -> list[dict[str, Any]]:
    """One entry per column: its name, group, range, how much it tells, and its opposite.

    An attribute tells much if it parts the classes evenly: its standard deviation in units of its
    range. Two columns whose sum is the same for all classes are opposites: one moves the other.
    """
    vectors = table.vectors.astype(np.float64)
    low, high = vectors.min(axis=0), vectors.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    telling = (vectors / spread).std(axis=0)
    opposite = _opposites(vectors)
    names = table.attributes or [f"column {k}" for k in range(table.n_attributes)]
    return [
        {
            "name": name,
            "group": _group(table, k, name),
            "label": _label(name),
            "low": float(low[k]),
            "high": float(high[k]),
            "mean": float(vectors[:, k].mean()),
            "telling": float(telling[k]),
            "opposite": opposite[k],
        }
        for k, name in enumerate(names)
    ]


def _opposites(vectors: np.ndarray) -> list[int | None]:
    """For each column another that is a constant minus it, if there is one."""
    centred = np.round(vectors - vectors.mean(axis=0), 9) + 0.0
    places: dict[bytes, list[int]] = {}
    for k, column in enumerate(centred.T):
        if column.any():
            places.setdefault(column.tobytes(), []).append(k)
    found: list[int | None] = [None] * vectors.shape[1]
    for k, column in enumerate(centred.T):
        partners = places.get((-column + 0.0).tobytes(), []) if column.any() else []
        own = places.get(column.tobytes(), [])
        if k in own and len(partners) == len(own):
            found[k] = partners[own.index(k)]
    return found


def _group(table: ClassTable, column: int, name: str) -> str:
    match = _PREFIX.fullmatch(name)
    if match:
        return match[1].removeprefix("has_").replace("_", " ")
    for group in table.groups or ():
        if group.columns.start <= column < group.columns.stop:
            return group.name
    return "attributes"


def _label(name: str) -> str:
    match = _PREFIX.fullmatch(name)
    return (match[2] if match else name).replace("_", " ")
