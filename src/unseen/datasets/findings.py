"""What there is to tell of a data set: what was found, what is odd, and what makes it unusable."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import InputError, counted, listed, naming

# Rows that show the units of columns, and how much more than is usual one of them may vary.
_LOOKED_AT = 1000
_DROWNS = 100.0


@dataclass
class Findings:
    """What `examine` found: what is there, what is odd, and what makes the data unusable."""

    found: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    dataset: ZeroShotDataset | None = None

    def add(self, dataset: ZeroShotDataset) -> None:
        """A data set that could be read: its first note says where it comes from."""
        self.dataset = dataset
        self.found += dataset.notes[:1]
        self.odd += dataset.notes[1:]

    def attempt(self, path: Path, step: Callable[[], Any]) -> Any:
        """The result of a step, or None if something is wrong, which is noted."""
        try:
            with naming(path):
                return step()
        except InputError as error:
            self.wrong.append(str(error))


def oddities(data: ZeroShotDataset) -> list[str]:
    """What its user will want to know about a data set that can be used."""
    odd = []
    if data.unseen.size and data.unseen_rows.size == 0:
        odd.append("no rows of unseen classes: the data can train a model but not evaluate it")
    if data.unseen.size == 1:
        odd.append("only one unseen class: every prediction is right, so accuracy says nothing")
    odd += _scales(data)
    vectors, counts = np.unique(data.classes.vectors, axis=0, return_counts=True)
    if len(vectors) < data.classes.n_classes:
        twin = vectors[counts.argmax()]
        twins = data.classes.names[(data.classes.vectors == twin).all(axis=1)]
        odd.append(f"{listed(twins.tolist())} have the same description and cannot be told apart")
    if data.unseen.size == 0:
        odd.append(
            "every class has training rows, so nothing is zero-shot yet: list classes to keep out "
            "of training in unseen.txt, add classes without rows to the table, or give them to "
            "'predict' with --classes"
        )
    return odd


def _scales(data: ZeroShotDataset) -> list[str]:
    """Rows that are all the same, and columns in units that drown the others."""
    rows = data.train_rows
    X = data.X[rows[:: -(-rows.size // _LOOKED_AT)]].astype(np.float64)
    varies = np.ptp(X, axis=0) > 0
    if not varies.any():
        return ["all training rows are the same: nothing can be learned from them"]
    size = np.where(varies, np.abs(X).max(axis=0), 1.0)  # squares of huge numbers are infinite
    spread = np.where(varies, (X / size).std(axis=0) * size, 0.0)
    largest, usual = int(spread.argmax()), float(np.median(spread[varies]))
    if data.feature_names is None or spread[largest] < _DROWNS * usual:
        return []
    return [
        f"column {data.feature_names[largest]!r} varies {spread[largest] / usual:,.3g} times as "
        "much as a typical one and will dominate: use like units, for instance by dividing each "
        "column by its standard deviation over the training rows"
    ]


def missing_pictures(data: ZeroShotDataset) -> list[str]:
    """What is to be said, where pictures are looked at, of those that cannot be shown."""
    paths = [] if data.image_paths is None else data.image_paths.tolist()
    missing = [path for path in paths if path and not os.path.isfile(path)]
    hidden, told = paths.count(""), []
    if hidden:
        told.append(
            f"{counted(hidden, 'row')} of {len(paths):,} without a picture to show: none is named, "
            "or it lies outside the folder of the data; if its folder is yours, name it "
            "(--pictures FOLDER)"
        )
    if missing:
        are = "is not there" if len(missing) == 1 else "are not there"
        count = f"{len(missing):,} of {counted(len(paths), 'picture')}"
        told.append(f"{count} {are}: {listed(missing, 3)}")
    return told
