"""Random divisions of a data set by class, for a benchmark that many divisions take part in."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from unseen.apps.report.provenance import sources
from unseen.classes.splits import ClassHoldout, n_held_out
from unseen.datasets import ZeroShotDataset
from unseen.errors import InputError, counted
from unseen.rows.store import chosen_rows

# Of the classes, at least two.
SHARE = 0.2


def taking_part(data: ZeroShotDataset, inside: str) -> np.ndarray:
    """The classes among which a division is drawn, sorted.

    inside : "all", or "seen" for the classes that no division of the data set keeps as unseen,
        neither one that comes with it nor the one in use.
    """
    names = np.unique(data.y)
    if inside == "seen":
        kept_back = [data.unseen, *(split.unseen for split in data.splits.values())]
        names = np.setdiff1d(names, np.concatenate(kept_back))
    if names.size < 4:
        among = "classes" if inside == "all" else "classes that no split keeps as unseen"
        way_out = "" if inside == "all" else ", or take all classes by --inside all"
        raise InputError(
            f"data set {data.name!r} has rows of {names.size} {among}, too few to divide: two are "
            f"held out and two are trained on; leave it out{way_out}"
        )
    return names


def n_divisions(data: ZeroShotDataset, inside: str) -> int:
    """How many divisions there are to draw from."""
    n_classes = taking_part(data, inside).size
    return math.comb(n_classes, n_held_out(SHARE, n_classes))


def drawn(data: ZeroShotDataset, inside: str, number: int) -> ZeroShotDataset:
    """The data of one random division: rows and descriptions of the classes that take part, a
    fifth of them unseen.

    A number gives the same division of the same classes whenever it is asked for, so data sets
    that share their classes share their divisions. No two of the first `n_divisions` are alike.
    """
    names = taking_part(data, inside)
    *_, (_, held_out) = ClassHoldout(SHARE, number + 1, 0).split(names, names)
    rows = np.flatnonzero(np.isin(data.y, names))
    return _of_rows(data, rows, classes=data.classes.select(names), unseen=names[held_out])


def capped(data: ZeroShotDataset, most_rows: int, seed: int) -> ZeroShotDataset:
    """The data with at most so many rows of each class, which are chosen at random."""
    if most_rows < 2:
        raise InputError(f"{counted(most_rows, 'row')} of each class are too few; take at least 2")
    _, numbers, counts = np.unique(data.y, return_inverse=True, return_counts=True)
    if counts.max() <= most_rows:
        return data
    shuffled = np.random.default_rng(seed).permutation(data.y.size)
    by_class = shuffled[np.argsort(numbers[shuffled], kind="stable")]
    place_in_class = np.arange(data.y.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return _of_rows(data, np.sort(by_class[place_in_class < most_rows]))


def _of_rows(data: ZeroShotDataset, rows: np.ndarray, **changes: Any) -> ZeroShotDataset:
    """The data with these rows alone, which are known by the checksums of all.

    What numbers rows is dropped: the splits that come with the data and the rows kept for testing.
    """
    fewer = {
        "X": data.X if rows.size == data.y.size else chosen_rows(data.X, rows),
        "y": data.y[rows],
    }
    fewer |= {"test_rows": rows[:0], "images": None, "image_paths": None, "splits": {}}
    return replace(data, **fewer, sources=sources(data), **changes)
