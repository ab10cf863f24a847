"""How sure an accuracy is: intervals by drawing classes and rows anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unseen.metrics.input import label_pair

_N_DRAWS = 2000
_TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Interval:
    """The ends of a 95 % interval."""

    low: float
    high: float

    @classmethod
    def of(cls, draws: np.ndarray) -> Interval:
        """The middle 95 % of draws."""
        return cls(*np.quantile(draws, _TAILS).tolist())


class Draws(NamedTuple):
    """The per-class and per-image accuracy of each draw."""

    per_class: np.ndarray
    per_image: np.ndarray


def accuracy_draws(y_true: ArrayLike, y_pred: ArrayLike, random_state: int = 0) -> Draws:
    """Both accuracies under a bootstrap of 2,000 draws over classes and, in each, over its rows.

    C classes are drawn with replacement, then from each as many rows as it has. Of a class with n
    rows, of which the share a is right, the number of right ones is binomial (n, a), so no row is
    touched. With one class only rows are drawn.
    """
    true, predicted = label_pair(y_true, y_pred)
    _, index, sizes = np.unique(true, return_inverse=True, return_counts=True)
    share = np.bincount(index, weights=true == predicted) / sizes
    rng = np.random.default_rng(random_state)
    drawn = rng.integers(sizes.size, size=(_N_DRAWS, sizes.size))
    right = rng.binomial(sizes[drawn], share[drawn])
    per_class = (right / sizes[drawn]).mean(axis=1)
    return Draws(per_class, right.sum(axis=1) / sizes[drawn].sum(axis=1))
