"""What held-out seen classes teach: what seen classes lose, and how sure a score is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone

from unseen.classes import ClassTable
from unseen.classes.splits import ClassHoldout
from unseen.errors import InputError
from unseen.metrics import seen_unseen_curve
from unseen.rows.store import chosen_rows

FEWEST_CLASSES = 6
_MOST_ROWS = 20_000
_N_SPLITS = 3
# No probability counts as less than this, so that one row does not decide alone.
_LEAST = np.log(1e-9)


class Calibration(NamedTuple):
    """What comes off the scores of seen classes, and what scores are divided by for a softmax."""

    penalty: float
    temperature: float


class HeldOut(NamedTuple):
    """Rows of held-out classes: scores with these classes, and the column of the right one."""

    scores: np.ndarray
    truth: np.ndarray


def learn_calibration(
    estimator: Any, X: Any, labels: np.ndarray, table: ClassTable, random_state: int = 0
) -> Calibration:
    """What to take off the scores of seen classes, and the temperature of probabilities.

    A fifth of the seen classes play the unseen ones, and a fifth of the rows of the others the new
    rows of seen classes. A copy of the estimator is trained on what is left; the penalty with the
    best harmonic mean of the two accuracies is taken. It depends on which classes are held out, so
    the median of three such choices is returned. The temperature is that of the rows of all three.
    `labels` are names of `table`.
    """
    if np.unique(labels).size < FEWEST_CLASSES:
        raise InputError(
            f"to hold out classes at least {FEWEST_CLASSES} seen classes are needed, there are "
            f"{np.unique(labels).size}"
        )
    seeds = range(random_state, random_state + _N_SPLITS)
    found = [_one_choice(estimator, X, labels, table, seed) for seed in seeds]
    penalty = float(np.median([best for best, _ in found]))
    return Calibration(penalty, best_temperature([held for _, held in found]))


def _one_choice(
    estimator: Any, X: Any, labels: np.ndarray, table: ClassTable, seed: int
) -> tuple[float, HeldOut]:
    """The best penalty for one choice of held-out classes, and how their rows score with them."""
    rng = np.random.default_rng(seed)
    kept, held = (
        rows if rows.size <= _MOST_ROWS else np.sort(rng.choice(rows, _MOST_ROWS, replace=False))
        for rows in next(ClassHoldout(0.2, 1, seed).split(labels, labels))
    )
    is_new = rng.random(kept.size) < 0.2
    train, new = kept[~is_new], kept[is_new]
    names = np.unique(labels[train])
    new = new[np.isin(labels[new], names)]
    test = np.concatenate([new, held])
    others, truth = np.unique(labels[held], return_inverse=True)
    candidates = table.select(np.concatenate([names, others]))
    copy: Any = clone(estimator)
    copy.fit(chosen_rows(X, train), labels[train], classes=table.select(names))
    scores = copy.similarities(chosen_rows(X, test), candidates)
    best = seen_unseen_curve(labels[test], scores, candidates.names, names).best_factor
    # On their own, as the scores of some methods depend on the other candidates.
    return best, HeldOut(copy.similarities(chosen_rows(X, held), table.select(others)), truth)


def best_temperature(splits: list[HeldOut]) -> float:
    """T with the largest likelihood of the right classes under softmax(scores / T).

    Each class has one vote, as in the accuracy. The scale of T is that of the scores.
    """
    splits = [HeldOut(scores.astype(np.float64), truth) for scores, truth in splits]
    usual = float(np.mean([_spread(scores) for scores, _ in splits])) or 1.0

    def loss(log_t: float) -> float:
        return sum(_loss(held, usual * np.exp(log_t)) for held in splits)

    # From a thousandth of the spread, where the best class has everything, to a thousand times it,
    # where all classes are equal; a grid first, as the bound _LEAST may leave more than one valley.
    grid = np.linspace(-7.0, 7.0, 57)
    start = grid[np.argmin([loss(t) for t in grid])]
    found = minimize_scalar(loss, bounds=(start - 0.25, start + 0.25), method="bounded")
    return usual * float(np.exp(found.x))  # pyright: ignore[reportAttributeAccessIssue]


def _spread(scores: np.ndarray) -> float:
    finite = np.where(np.isfinite(scores), scores, np.nan)
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(np.nanmean(np.nanstd(finite, axis=1))))


def _loss(held: HeldOut, temperature: float) -> float:
    """The mean over classes of the mean over their rows of -log p of the right class."""
    p = log_softmax(held.scores / temperature, axis=1)
    right = np.maximum(p[np.arange(held.truth.size), held.truth], _LEAST)
    sizes = np.bincount(held.truth)
    return -float(np.mean(np.bincount(held.truth, weights=right)[sizes > 0] / sizes[sizes > 0]))


def probabilities(scores: np.ndarray, temperature: float) -> np.ndarray:
    """softmax(scores / T) of each row, in the precision of the scores.

    By the steps of SciPy's `log_softmax`, without what it does for any array: a service asks for
    single rows.
    """
    below = scores - scores.max(axis=1, keepdims=True)
    below /= scores.dtype.type(temperature)
    return np.exp(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))
