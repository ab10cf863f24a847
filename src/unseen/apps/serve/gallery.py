"""Rows that many classes are compared with, one after the other: a gallery to search in."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.base import Ranking, ZeroShotClassifier
from unseen.rows.blocks import array_blocks


def checked_similarities(model: ZeroShotClassifier, X: np.ndarray, table: ClassTable) -> np.ndarray:
    """`model.similarities` of rows that are known to be finite and of the right width and type.

    For a single row the checks of scikit-learn take as long as the score.
    """
    blocks = (X[rows] for rows in array_blocks(X))
    return np.concatenate(list(model._scores_of(blocks, model._score, table)))


class Gallery:
    """Rows embedded once by a model; later calls with that model give what its own would.

    Rows are embedded in the same blocks as by `similarities`, so that scores agree to the last bit.
    """

    def __init__(self, model: ZeroShotClassifier, X: Any) -> None:
        self._blocks = [model._gallery_codes(block) for block in model._row_blocks(X)]
        self.n_rows = len(X)

    def similarities(self, model: ZeroShotClassifier, candidates: Any = None) -> np.ndarray:
        """`model.similarities` of the rows, N x C'."""
        table = model._candidates(candidates)
        scores = model._scores_of(self._blocks, model._gallery_scores, table)
        return np.concatenate(list(scores))

    def rank(
        self, model: ZeroShotClassifier, wanted: Any, k: int | None = None, against: Any = None
    ) -> Ranking:
        """`model.rank` of the rows; `wanted` is a list of one name, or a class table of one row."""
        return model._rank(lambda table: self.similarities(model, table), wanted, k, against)
