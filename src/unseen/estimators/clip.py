"""CLIPZeroShot: the baseline without training, for rows and classes in one space.

Radford et al., "Learning transferable visual models from natural language supervision", ICML 2021.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.base import ZeroShotClassifier
from unseen.rows.blocks import unit_rows
from unseen.support.parameters import has_parameters


@has_parameters
class CLIPZeroShot(ZeroShotClassifier):
    """A row is of the class whose prompt is nearest; nothing is learned.

        score(x, s) = x's / |x| |s|

    with x the vector of a picture and s that of the prompt of a class, both by one joint model such
    as CLIP or SigLIP, whose own scale and bias change no order. `unseen embed` with that model for
    --images and for --text makes such rows and classes; `prompt_table` makes the classes in Python.

    `fit` takes rows and labels as every method does, to tell seen from unseen classes, or a class
    table alone: `CLIPZeroShot().fit(classes=table)`. No row changes a score.
    """

    needs_rows: ClassVar[bool] = False
    needs_calibration: ClassVar[bool] = False
    row_reading = "blocks"

    def fit(self, X: Any = None, y: Any = None, classes: Any = None) -> Self:
        """Keep the classes; without rows all of them are unseen."""
        if X is not None:
            return super().fit(X, y, classes)
        if classes is None:
            raise InputError("CLIPZeroShot needs a class table: fit(classes=table)")
        table = ClassTable.of(classes)
        self._trained_on = None
        self.n_features_in_ = table.n_attributes
        self._set_classes(table, table.names[:0])
        self.training_data_ = {"rows": 0, "columns": table.n_attributes}
        return self

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        if X.shape[1] != table.n_attributes:
            raise InputError(
                f"CLIPZeroShot compares rows with classes as they are, but rows have {X.shape[1]} "
                f"columns and classes {table.n_attributes}: embed both by one joint model "
                "(unseen embed PHOTOS --images NAME --text NAME)"
            )

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return unit_rows(X)

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return unit_rows(table.vectors)
