"""A method, and a part of it, as somebody else would write them in a module of their own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.base import ZeroShotClassifier
from unseen.rows.scaling import RowScaler
from unseen.support.parameters import Part


class Softer(RowScaler):
    """A part of the method."""


class MeanRows(ZeroShotClassifier):
    """Descriptions are mapped to the mean row of their class, by least squares."""

    _parts: ClassVar[dict[str, Part]] = {"row_scaler": Part(RowScaler)}

    def __init__(self, ridge: float = 0.1, row_scaler: RowScaler | None = None) -> None:
        self.ridge = ridge
        self.row_scaler = row_scaler

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        means = np.stack([X[labels == k].mean(axis=0) for k in range(table.n_classes)])
        S = table.vectors
        self.map_ = np.linalg.solve(S.T @ S + self.ridge * np.eye(S.shape[1]), S.T @ means)

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return X

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return table.vectors @ self.map_
