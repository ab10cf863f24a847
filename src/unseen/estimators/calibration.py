"""What seen classes lose when they compete with unseen ones, learned from training rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from unseen.classes import ClassTable
from unseen.classes.splits import ClassHoldout
from unseen.errors import InputError
from unseen.metrics import seen_unseen_curve

FEWEST_CLASSES = 6
_MOST_ROWS = 20_000


def learn_seen_penalty(
    estimator: Any, X: Any, labels: np.ndarray, table: ClassTable, random_state: int = 0
) -> float:
    """What to take off the scores of seen classes, so that unseen ones have a fair chance.

    A fifth of the seen classes play the unseen ones, and a fifth of the rows of the others the new
    rows of seen classes. A copy of the estimator is trained on what is left; the penalty with the
    best harmonic mean of the two accuracies is taken. `labels` are names of `table`.
    """
    if np.unique(labels).size < FEWEST_CLASSES:
        raise InputError(
            f"to hold out classes at least {FEWEST_CLASSES} seen classes are needed, there are "
            f"{np.unique(labels).size}"
        )
    train, new, held = _parts(labels, random_state)
    names = np.unique(labels[train])
    test = np.concatenate([new[np.isin(labels[new], names)], held])
    candidates = table.select(np.concatenate([names, np.unique(labels[held])]))
    copy: Any = clone(estimator)
    copy.fit(X[train], labels[train], classes=table.select(names))
    scores = copy.similarities(X[test], candidates)
    return float(seen_unseen_curve(labels[test], scores, candidates.names, names).best_factor)


def _parts(labels: np.ndarray, random_state: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers to train on, of new rows of the same classes, and of held-out classes."""
    rng = np.random.default_rng(random_state)
    kept, held = next(ClassHoldout(0.2, 1, random_state).split(labels, labels))
    if kept.size > _MOST_ROWS:
        kept = np.sort(rng.choice(kept, _MOST_ROWS, replace=False))
    if held.size > _MOST_ROWS:
        held = np.sort(rng.choice(held, _MOST_ROWS, replace=False))
    is_new = rng.random(kept.size) < 0.2
    return kept[~is_new], kept[is_new], held
