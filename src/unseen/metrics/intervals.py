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
    def of(cls, draws: np.ndarray, found: float) -> Interval:
        """The middle 95 % of draws, and what was found."""
        low, high = np.quantile(draws, _TAILS).tolist()
        return cls(min(low, found), max(high, found))


class Draws(NamedTuple):
    """The per-class and per-image accuracy of each draw."""

    per_class: np.ndarray
    per_image: np.ndarray


def accuracy_draws(y_true: ArrayLike, y_pred: ArrayLike, random_state: int = 0) -> Draws:
    """Both accuracies under a bootstrap of 2,000 draws over classes and, in each, over its rows.

    C classes are drawn with replacement, then from each as many rows as it has. Of a class with n
    rows, of which the share a is right, the number of right ones is binomial (n, a), so no row is
    touched. With one class only rows are drawn.

    Where all rows are right, or none, each draw would be the same, which says nothing of other
    rows. Then the ends are those of the exact binomial interval: of n rows, and for the per-class
    accuracy of as many rows as would be as sure of it in classes of equal size, C² / Σ 1/n_c.
    """
    true, predicted = label_pair(y_true, y_pred)
    _, index, sizes = np.unique(true, return_inverse=True, return_counts=True)
    share = np.bincount(index, weights=true == predicted) / sizes
    rng = np.random.default_rng(random_state)
    if share.min() == share.max() and share[0] in (0, 1):
        ns = sizes.size**2 / np.sum(1 / sizes), sizes.sum()
        even = rng.permutation((np.arange(_N_DRAWS) + 0.5) / _N_DRAWS)
        return Draws(*(np.abs(1 - share[0] - even ** (1 / n)) for n in ns))
    drawn = rng.integers(sizes.size, size=(_N_DRAWS, sizes.size))
    right = rng.binomial(sizes[drawn], share[drawn])
    per_class = (right / sizes[drawn]).mean(axis=1)
    return Draws(per_class, right.sum(axis=1) / sizes[drawn].sum(axis=1))
