"""Estimators that tell how they were used, and grids for them."""

from __future__ import annotations

import random
import time
from typing import Any

from unseen import ESZSL, JLSE, ClassTable
from unseen.inference.embedding import Algorithm4
from unseen.inference.scorer import DataFit
from unseen.training.alternating import Algorithm2

GRID = {"row_penalty": [1e-4, 1e-1], "class_penalty": [1e-3, 1.0]}
# What a fit of JLSE at this size needs; with 2 x 2 settings of test time for each of 2 fits.
SMALL: dict[str, Any] = {"n_target_atoms": 8, "training": Algorithm2(max_iter=1)}
TEST_TIME_GRID = {
    "similarity_penalty": [3e-3, 1e-2],
    "testing": [DataFit(), Algorithm4()],
    "decision": [1, 2],
}


class Spy(ESZSL):
    """ESZSL that keeps the tables it was fitted with."""

    tables: list[ClassTable] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        self.tables.append(classes)
        return super().fit(X, y, classes=classes)


class Uneven(ESZSL):
    """ESZSL whose fits do not end in the order in which they began."""

    def fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        time.sleep(random.random() / 100)
        return super().fit(X, y, classes=classes)


class Counted(JLSE):
    """JLSE that counts its fits."""

    n_fits = 0

    def fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        Counted.n_fits += 1
        return super().fit(X, y, classes=classes)


class Clock:
    """Seconds that pass by fits alone: each takes one."""

    def __init__(self) -> None:
        self.n_before = len(Spy.tables)

    def __call__(self) -> float:
        return float(len(Spy.tables) - self.n_before)
