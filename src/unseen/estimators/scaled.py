"""What methods share that scale both rows and class descriptions."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.base import ZeroShotClassifier
from unseen.rows.scaling import ClassScaler, RowScaler
from unseen.support.parameters import has_parameters, part


@has_parameters
class ScaledClassifier(ZeroShotClassifier):
    """A method that learns how to scale rows and descriptions before anything else.

    Parameters
    ----------
    row_scaler : how rows are scaled: to length one and then centred, or as the `RowScaler` says.
    class_scaler : how class descriptions are scaled: centred and then to length one, or as the
        `ClassScaler` says.
    """

    _: KW_ONLY
    row_scaler: RowScaler | None = part(RowScaler)
    class_scaler: ClassScaler | None = part(ClassScaler)

    def _learn_scaling(
        self, X: np.ndarray, table: ClassTable, unit_scale: bool = False
    ) -> np.ndarray:
        """Learn how to scale rows and descriptions; the scaled descriptions of seen classes."""
        self.scaling_ = self._part("row_scaler").learn(X, unit_scale=unit_scale)
        S = table.vectors.astype(np.float64)
        self.class_scaling_ = self._part("class_scaler").learn(S)
        return self.class_scaling_(S)


@has_parameters
class MeanPredictor(ScaledClassifier):
    """A method that predicts where the rows of a class lie from its description, by a kernel.

    Parameters
    ----------
    row_scaler : how rows are scaled: the square root if none is negative, then to length one, or as
        the `RowScaler` says. Centring changes nothing.
    class_scaler : how class descriptions are scaled: to the power 0.7 and then to length one, or as
        the `ClassScaler` says.
    """

    _: KW_ONLY
    row_scaler: RowScaler | None = part(partial(RowScaler, center=False, power="auto"))
    class_scaler: ClassScaler | None = part(partial(ClassScaler, center=False, power=0.7))
