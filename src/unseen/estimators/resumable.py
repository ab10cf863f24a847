"""Methods whose training can be stopped and resumed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.base import ZeroShotClassifier
from unseen.storage.checkpoint import Checkpoint, data_checksum
from unseen.support.parameters import plain_parameters


class ResumableClassifier(ZeroShotClassifier):
    """A method whose `_fit` keeps its state in `_checkpoint`."""

    _checkpoint_path: str | os.PathLike[str] | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from rows of the seen classes, see `ZeroShotClassifier.fit`.

        `checkpoint` is a file that keeps the state of training. A fit that was interrupted or
        killed resumes from it, to the same result, when it is called again with the same data and
        parameters. The file stays: remove it when the model is saved.
        """
        with self._keeping(checkpoint):
            return super().fit(X, y, classes)

    @contextmanager
    def _keeping(self, path: str | os.PathLike[str] | None) -> Iterator[None]:
        """Keep the state of a fit inside this context in the file `path`."""
        self._checkpoint_path = path
        try:
            yield
        finally:
            del self._checkpoint_path

    def _checkpoint(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> Checkpoint:
        """The file of this fit, which is one of this method, these data and parameters."""
        if self._checkpoint_path is None:
            return Checkpoint(None, {})
        belongs = {"method": type(self).__name__, "data": data_checksum(X, labels, table)}
        return Checkpoint(self._checkpoint_path, belongs | plain_parameters(self))
