"""Data to tune on, and the scores of settings on one split of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from unseen.classes import ClassTable
from unseen.classes.checks import names_of_rows
from unseen.errors import InputError
from unseen.estimators.base import ZeroShotClassifier, check_here, labels_of
from unseen.evaluation.tuning.results import Outcome
from unseen.evaluation.tuning.settings import with_parameters
from unseen.metrics import mean_average_precision, per_class_accuracy
from unseen.rows.store import chosen_rows
from unseen.support.work import listening


class TrainingData(NamedTuple):
    """Rows, their labels, and the table of all classes."""

    X: Any
    labels: np.ndarray
    table: ClassTable

    @classmethod
    def of(cls, X: Any, y: Any, classes: Any) -> TrainingData:
        """Checked: every label has a line of the table."""
        check_here(X)
        y = labels_of(X, y)
        if y is None:
            raise InputError("y is None: the class of every row is needed")
        labels = names_of_rows(y)
        table = ClassTable.of(classes, np.unique(labels))
        table.rows(labels)
        if len(X) != labels.size:
            raise InputError(f"{len(X)} rows in X but {labels.size} labels in y")
        return cls(X, labels, table)

    def split(self, rows: list[tuple[np.ndarray, np.ndarray]]) -> Iterator[Split]:
        """Each part by the numbers of its rows, with the lines of the seen classes alone."""
        X, labels, seen = self.X, self.labels, self.table.select(np.unique(self.labels))
        for a, b in rows:
            yield Split(chosen_rows(X, a), labels[a], chosen_rows(X, b), labels[b], seen)


class Split(NamedTuple):
    """Rows to train on and rows of the held-out classes; the table has the classes of both."""

    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    table: ClassTable


def score_settings(
    estimator: ZeroShotClassifier, settings: list[dict[str, Any]], split: Split, scoring: str
) -> list[Outcome]:
    """Score settings that differ in parameters of test time alone, with one fit for all of them.

    An error becomes the outcome of its setting, so that the others are still scored.
    """
    outcomes: list[Outcome] = []
    model, fit_seconds = None, 0.0
    for parameters in settings:
        begin, shared = time.perf_counter(), fit_seconds
        score, error = None, None
        try:
            wanted = with_parameters(estimator, parameters)
            if model is None:
                with listening(lambda step: None):  # the search reports its own steps
                    model = wanted.fit(split.X_train, split.y_train, classes=split.table)
                fit_seconds = time.perf_counter() - begin
            else:
                # All of them, as the model may have some left from the setting before.
                values = wanted.get_params()
                model.set_params(**{name: values[name] for name in model.test_time_parameters})
                model._check_parameters()
            score = _score(model, split, scoring)
        except (ValueError, TypeError, ArithmeticError) as caught:
            error = f"{type(caught).__name__}: {caught}"
        outcomes.append(Outcome(score, shared + time.perf_counter() - begin, error))
    return outcomes


def _score(model: ZeroShotClassifier, split: Split, scoring: str) -> float:
    if scoring == "per_class_accuracy":
        return per_class_accuracy(split.y_test, model.predict(split.X_test))
    scores = model.similarities(split.X_test)
    return mean_average_precision(split.y_test, scores, model.classes_)
