"""How far the Gaussian model is too sure, as classes held out of its means tell.

The model holds only nearly: a mean is further from its prediction in some directions than in
others, and rows of a class share what is odd about it. So the softmax of its scores is too sure by
a factor, the temperature T. Nothing is trained again for it: the directions of all classes are
narrowed to those of the classes that stay, in which the others are predicted and their rows scored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.estimators.calibration import HeldOut, best_temperature
from unseen.model.gaussian import Posterior
from unseen.training.gaussian import Directions, Settings, between_of, fit_posterior

# Two classes stay and two are held out.
_FEWEST_CLASSES = 4
_MOST_CLASSES, _MOST_ROUNDS = 1000, 16
_SHARE, _ENOUGH = 0.2, 80
# Rows are looked for in a few stretches of all rows, so that of blocks that lie elsewhere few are
# read again.
_STRETCHES, _STRETCH = 16, 1024
_ROWS_EACH, _MOST_ROWS = 12, 4000
# The model is not less sure than it may be, and a factor above ten is a sign of something else.
_RANGE = 1.0, 10.0
_ROUNDING = 1e-6


def learn_temperature(
    model: Any, X: Any, labels: Any, S: np.ndarray, settings: Settings
) -> float | None:
    """T of a model that has its posterior, or None if the rows are of too few classes.

    labels : numbers of seen classes. S : scaled descriptions of these, C x d_s.
    """
    rows = stretches_of(X.shape[0])
    looked_at = np.asarray(labels[rows])
    numbers, few = some_of_each(looked_at)
    if numbers.size < _FEWEST_CLASSES:
        return None
    rng = np.random.default_rng(0)
    if numbers.size > _MOST_CLASSES:
        numbers = np.sort(rng.choice(numbers, _MOST_CLASSES, replace=False))
        few = few[np.isin(looked_at[few], numbers)]
    codes = model._row_codes(np.asarray(X[rows[few]]))
    owner = np.searchsorted(numbers, looked_at[few])
    means, counts = model.posterior_.means[numbers], model.posterior_.counts[numbers]
    S = S[numbers]
    n_held = max(round(_SHARE * numbers.size), 2)
    held = []
    for _ in range(min(-(-_ENOUGH // n_held), _MOST_ROUNDS)):
        is_out = np.isin(np.arange(numbers.size), rng.choice(numbers.size, n_held, replace=False))
        found = _narrowed(means[~is_out], counts[~is_out])
        smaller = fit_posterior(found, S[~is_out], settings)
        held.append(_scored(smaller, S[is_out], codes[is_out[owner]], owner, is_out))
    return float(np.clip(best_temperature(held), *_RANGE))


def stretches_of(n_rows: int) -> np.ndarray:
    """Numbers of rows in a few stretches, evenly spread; of all rows if they are not many."""
    if n_rows <= _STRETCHES * _STRETCH:
        return np.arange(n_rows)
    starts = np.linspace(0, n_rows - _STRETCH, _STRETCHES).astype(np.intp)
    return (starts[:, None] + np.arange(_STRETCH)).ravel()


def some_of_each(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that occur, and places of a few of each, evenly spread; both in order."""
    order = np.argsort(labels, kind="stable")
    numbers, first, sizes = np.unique(labels[order], return_index=True, return_counts=True)
    most = np.clip(_MOST_ROWS // max(numbers.size, 1), 2, _ROWS_EACH)
    few = np.minimum(sizes, most)[:, None]
    steps = np.arange(most)
    places = first[:, None] + steps * sizes[:, None] // few
    return numbers, np.sort(order[places[steps < few]])


def _narrowed(means: np.ndarray, counts: np.ndarray) -> Directions:
    """The directions in which these classes differ, within those of all classes."""
    origin = means.mean(axis=0)
    U, sizes, Vt = np.linalg.svd(means - origin, full_matrices=False)
    keep = sizes > _ROUNDING * sizes[0]
    T, R = U[:, keep] * sizes[keep], Vt[keep].T
    return Directions(R, origin @ R, T, between_of(T, counts), counts)


def _scored(
    model: Posterior, S: np.ndarray, codes: np.ndarray, owner: np.ndarray, is_out: np.ndarray
) -> HeldOut:
    """Rows of the classes held out (by their codes), with these classes."""
    classes = model.class_terms(S, np.full(len(S), -1))
    scores = model.gallery_scores(model.gallery_codes(model.codes(codes)), classes)
    return HeldOut(scores, (np.cumsum(is_out) - 1)[owner[is_out[owner]]])
