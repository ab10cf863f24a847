"""Scores of few rows, without what a single one need not wait for."""

from __future__ import annotations

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators import ZeroShotClassifier
from unseen.rows.blocks import array_blocks


def checked_similarities(model: ZeroShotClassifier, X: np.ndarray, table: ClassTable) -> np.ndarray:
    """`model.similarities` of rows that are known to be finite and of the right width and type.

    For a single row the checks of scikit-learn take as long as the score.
    """
    blocks = (X[rows] for rows in array_blocks(X))
    return np.concatenate(list(model._scores_of(blocks, model._score, table)))
