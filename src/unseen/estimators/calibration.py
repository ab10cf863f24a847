"""What seen classes lose when they compete with unseen ones, learned from training rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from unseen.classes import ClassTable
from unseen.classes.splits import ClassHoldout
from unseen.errors import InputError
from unseen.metrics import seen_unseen_curve
from unseen.rows.store import chosen_rows

FEWEST_CLASSES = 6
_MOST_ROWS = 20_000
_N_SPLITS = 3


def learn_seen_penalty(
    estimator: Any, X: Any, labels: np.ndarray, table: ClassTable, random_state: int = 0
) -> float:
    """What to take off the scores of seen classes, so that unseen ones have a fair chance.

    A fifth of the seen classes play the unseen ones, and a fifth of the rows of the others the new
    rows of seen classes. A copy of the estimator is trained on what is left; the penalty with the
    best harmonic mean of the two accuracies is taken. It depends on which classes are held out, so
    the median of three such choices is returned. `labels` are names of `table`.
    """
    if np.unique(labels).size < FEWEST_CLASSES:
        raise InputError(
            f"to hold out classes at least {FEWEST_CLASSES} seen classes are needed, there are "
            f"{np.unique(labels).size}"
        )
    seeds = range(random_state, random_state + _N_SPLITS)
    return float(np.median([_best_penalty(estimator, X, labels, table, seed) for seed in seeds]))


def _best_penalty(
    estimator: Any, X: Any, labels: np.ndarray, table: ClassTable, seed: int
) -> float:
    """The best penalty for one choice of held-out classes."""
    rng = np.random.default_rng(seed)
    kept, held = (
        rows if rows.size <= _MOST_ROWS else np.sort(rng.choice(rows, _MOST_ROWS, replace=False))
        for rows in next(ClassHoldout(0.2, 1, seed).split(labels, labels))
    )
    is_new = rng.random(kept.size) < 0.2
    train, new = kept[~is_new], kept[is_new]
    names = np.unique(labels[train])
    test = np.concatenate([new[np.isin(labels[new], names)], held])
    candidates = table.select(np.concatenate([names, np.unique(labels[held])]))
    copy: Any = clone(estimator)
    copy.fit(chosen_rows(X, train), labels[train], classes=table.select(names))
    scores = copy.similarities(chosen_rows(X, test), candidates)
    return seen_unseen_curve(labels[test], scores, candidates.names, names).best_factor
