"""How sure methods are, and how often they are right, on seen classes held out of training.

    UNSEEN_DATA=/path/to/data python -m benchmarks.confidence AWA35 AWA1 "CUB efflite0"

The gap is the expected calibration error: rows in ten bins by the largest probability, the mean
over rows of how far that is from the share of its bin that is right. "plain" is the softmax of
scores as they are, "fitted" the probabilities after `fit`, "calibrated" those after
`calibrate_seen`.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import benchmarks.data  # noqa: F401  (where the data are)
from unseen import open_dataset
from unseen.apps.cli.output import show
from unseen.classes.splits import ClassHoldout
from unseen.estimators import method
from unseen.inference.relative import probabilities

_METHODS = ["gaussian-match", "eszsl", "sae", "sync", "conse", "costa"]
_HELD, _BINS = 0.25, 10


def gap(p: np.ndarray, is_right: np.ndarray) -> float:
    """The expected calibration error."""
    sure = p.max(axis=1)
    bins = np.minimum((_BINS * sure).astype(int), _BINS - 1)
    return float(np.abs(np.bincount(bins, sure - is_right)).sum() / sure.size)


def measure(name: str, data: Any, rows: tuple[np.ndarray, np.ndarray]) -> list[float]:
    """Right, and the three gaps; NaN where `fit` gives no probabilities."""
    (X, y), (train, test) = data.training_set(), rows
    table = data.classes.select(data.seen)
    model = method(name)().fit(X[train], y[train], classes=table.select(np.unique(y[train])))
    model = model.reveal(table.select(np.unique(y[test])))
    scores = model.similarities(X[test])
    is_right = model.classes_[scores.argmax(axis=1)] == y[test]
    plain = probabilities(scores, 1.0)
    fitted = model.predict_proba(X[test]) if model._temperature() else None
    calibrated = model.calibrate_seen(X[train], y[train]).predict_proba(X[test])
    gaps = [np.nan if p is None else gap(p, is_right) for p in (plain, fitted, calibrated)]
    return [float(is_right.mean()), *gaps]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("-m", "--methods", nargs="+", default=_METHODS)
    parser.add_argument("--splits", type=int, default=4)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for title in given.data:
        data, lines = open_dataset(title), []
        X, y = data.training_set()
        splits = list(ClassHoldout(_HELD, given.splits, 0).split(X, y))
        for name in given.methods:
            found = np.mean([measure(name, data, rows) for rows in splits], axis=0)
            lines.append([name, *("" if np.isnan(x) else f"{x:.2f}" for x in found)])
        head = ["method", "right", "gap, plain", "gap, fitted", "gap, calibrated"]
        show(f"{title}, {given.splits} splits", head, lines)


if __name__ == "__main__":
    main()
