"""Retrieval with ranking constraints, as the paper suggests, against the pair loss alone.

    python -m benchmarks.ranking

CUB (EfficientNet-Lite0): a quarter of the *seen* classes held out, two splits. `ranking` is the
share of the ranking loss in the last W step, both shares over the same values of λ_W. Takes some
minutes.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import load
from unseen import JLSE, ClassHoldout, ClassTable
from unseen.cli.output import show
from unseen.metrics import mean_average_precision, per_class_accuracy

PENALTIES = (8e-6, 4e-5)
SHARES = (0.0, 0.5, 1.0)


def main() -> None:
    data = load("CUB efflite0")
    X, y = data.training_set()
    splits = list(ClassHoldout(0.25, 2, 0).split(X, y))
    lines = []
    for penalty in PENALTIES:
        for share in SHARES:
            found = [_measured(X, y, data.classes, *s, penalty, share) for s in splits]
            precision, accuracy = np.mean(found, axis=0)
            lines.append((f"{penalty:g}", f"{share:g}", f"{precision:.2%}", f"{accuracy:.2%}"))
    columns = ("similarity_penalty", "ranking", "mAP", "per-class accuracy")
    show("CUB, held-out seen classes, mean of two splits", columns, lines)


def _measured(
    X: np.ndarray,
    y: np.ndarray,
    classes: ClassTable,
    train: np.ndarray,
    test: np.ndarray,
    penalty: float,
    share: float,
) -> tuple[float, float]:
    """mAP and accuracy on the rows of held-out classes."""
    model = JLSE(400, similarity_penalty=penalty, ranking=share, max_iter=0, calibration=None)
    model.fit(X[train], y[train], classes=classes.select(np.unique(y[train])))
    names = np.unique(y[test])
    scores = model.similarities(X[test], classes.select(names))
    precision = mean_average_precision(y[test], scores, names)
    return precision, per_class_accuracy(y[test], names[scores.argmax(axis=1)])


if __name__ == "__main__":
    main()
