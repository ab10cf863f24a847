"""The calibration factor of the generalised setting, learned without a single test row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unseen.inference.latent import Latent
from unseen.metrics import seen_unseen_curve
from unseen.selection import ClassHoldout
from unseen.training.alternating import Training
from unseen.training.rows import TrainingRows

_FEWEST_CLASSES = 6
_MOST_ROWS = 20_000


def learn_calibration(
    S: np.ndarray,
    rows: TrainingRows,
    labels: np.ndarray,
    D: np.ndarray,
    start: Callable[[np.ndarray, TrainingRows, np.ndarray, np.ndarray], Training],
    latent_of: Callable[[Training], Latent],
    random_state: int,
) -> float:
    """What to take off the scores of seen classes, so that unseen ones have a fair chance.

    A fifth of the seen classes play the unseen ones, and a fifth of the rows of the others the new
    rows of seen classes. A model without joint training (`start`), on the initial dictionary D, is
    fitted on what is left; the factor with the best harmonic mean of the two accuracies is taken.
    With fewer than six classes it is 0.
    """
    if np.unique(labels).size < _FEWEST_CLASSES:
        return 0.0
    train, new, held = _parts(labels, random_state)
    names, inside = np.unique(labels[train], return_inverse=True)
    others = np.setdiff1d(labels[held], names)
    new = new[np.isin(labels[new], names)]
    if names.size < 2 or new.size == 0:
        return 0.0
    latent = latent_of(start(S[names], rows.select(train), inside, D))
    classes = np.concatenate([names, others])
    number = np.concatenate([np.arange(names.size), np.full(others.size, -1)])
    test = np.concatenate([new, held])
    scores = latent.scores(rows.select(test).project(D), latent.candidates(S[classes], number))
    return float(seen_unseen_curve(labels[test], scores, classes, names).best_factor)


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
