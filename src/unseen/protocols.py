"""How a fitted model is tested: recognition, retrieval and the generalised setting."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unseen import metrics
from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import InputError, listed
from unseen.estimators.base import ZeroShotClassifier
from unseen.inference.relative import relative_scores


@dataclass(frozen=True)
class ClassResult:
    """How one unseen class fared: share of its rows recognised, and average precision."""

    name: str
    rows: int
    accuracy: float
    average_precision: float


@dataclass(frozen=True)
class GeneralizedResult:
    """Per-class accuracies when seen and unseen classes compete, and their harmonic mean."""

    seen: float
    unseen: float
    harmonic_mean: float
    ausuc: float


@dataclass(frozen=True)
class Evaluation:
    """Results on the unseen classes of a data set; shares between 0 and 1.

    `mean_average_precision` ranks rows by their scores, as the paper does; the relative one by
    their scores against the other unseen classes, as `rank(..., against="unseen")` does.
    """

    per_class_accuracy: float
    per_image_accuracy: float
    mean_average_precision: float
    relative_mean_average_precision: float
    chance: float
    rows: int
    seconds: float
    by_class: tuple[ClassResult, ...]
    generalized: GeneralizedResult | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def evaluate(model: ZeroShotClassifier, data: ZeroShotDataset) -> Evaluation:
    """Test a model on the unseen classes of a data set that took no part in its training.

    The candidates are the unseen classes that have rows, described by the data set's own table.
    The generalised part is there if the data set keeps rows of seen classes for testing.
    """
    X, y = data.unseen_set()
    names = np.unique(y)
    leaked = np.intersect1d(names, model.seen_classes_)
    if leaked.size:
        raise InputError(
            f"the model was trained on {listed(leaked.tolist())}, which the data set keeps as "
            "unseen: the result would mean nothing; train a new model on the rows of this data "
            "set's seen classes alone, as 'unseen fit' and fit(*data.training_set()) do"
        )
    table = data.classes.select(names)
    start = time.perf_counter()
    scores = model.similarities(X, table)
    seconds = time.perf_counter() - start
    predicted = names[scores.argmax(axis=1)]
    accuracy = metrics.accuracies_by_class(y, predicted)
    precision = metrics.average_precision_by_class(y, scores, names)
    return Evaluation(
        per_class_accuracy=metrics.per_class_accuracy(y, predicted),
        per_image_accuracy=metrics.per_image_accuracy(y, predicted),
        mean_average_precision=metrics.mean_average_precision(y, scores, names),
        relative_mean_average_precision=metrics.mean_average_precision(
            y, relative_scores(scores), names
        ),
        chance=1 / names.size,
        rows=y.size,
        seconds=seconds,
        by_class=tuple(
            ClassResult(str(n), int(np.sum(y == n)), accuracy[n], precision[n])
            for n in names.tolist()
        ),
        generalized=_generalized(model, data),
    )


def _generalized(model: ZeroShotClassifier, data: ZeroShotDataset) -> GeneralizedResult | None:
    if data.seen_test_rows.size == 0:
        return None
    rows = np.concatenate([data.seen_test_rows, data.unseen_rows])
    seen = np.asarray(model.seen_classes_)
    _check_seen(seen, data)
    table = data.classes.select(np.concatenate([seen, np.unique(data.y[data.unseen_rows])]))
    scores = model.similarities(data.X[rows], table)
    found = metrics.generalized_accuracy(data.y[rows], table.names[scores.argmax(axis=1)], seen)
    curve = metrics.seen_unseen_curve(data.y[rows], scores, table.names, seen)
    return GeneralizedResult(found.seen, found.unseen, found.harmonic_mean, curve.ausuc)


def _check_seen(seen: np.ndarray, data: ZeroShotDataset) -> None:
    """The seen classes of model and data set must agree, or the two sides mean nothing."""
    strange = np.setdiff1d(data.y[data.seen_test_rows], seen)
    if strange.size:
        raise InputError(
            f"the data set keeps test rows of {listed(strange.tolist())}, which is neither unseen "
            "nor a class that the model was trained on"
        )
    missing = [name for name in seen.tolist() if name not in data.classes]
    if missing:
        raise InputError(
            f"the model was trained on {listed(missing)}, which the class table of the data set "
            "does not describe: seen and unseen classes cannot compete"
        )
