"""How sure a comparison over data sets and their splits is: standard errors, ranks, intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

LEVEL = 0.95
_DRAWS = 5000


class Estimate(NamedTuple):
    """A mean over data sets for each method, its standard error and its interval, an array each.

    The standard error is of the splits: how well the mean on these data sets is known. The interval
    is of data sets too: what it might be on others like them.
    """

    mean: np.ndarray
    error: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Comparison:
    """One measure of several methods: for each data set an array of splits x methods."""

    methods: tuple[str, ...]
    scores: dict[str, np.ndarray]

    def means(self) -> np.ndarray:
        """Means over splits, data sets x methods."""
        return np.array([of_data.mean(axis=0) for of_data in self.scores.values()])

    def errors(self) -> np.ndarray:
        """Standard errors of the means, data sets x methods."""
        return np.array([standard_error(of_data) for of_data in self.scores.values()])

    def average(self) -> Estimate:
        """The mean over data sets of the means over their splits: each data set counts the same."""
        errors = self.errors()
        low, high = interval(list(self.scores.values()))
        error = np.sqrt((errors**2).sum(axis=0)) / len(errors)
        return Estimate(self.means().mean(axis=0), error, low, high)

    def ranks(self) -> Comparison:
        """The place of each method on each split, 1 for the highest score."""
        return self._each(places)

    def to_first(self) -> Comparison:
        """What each method has more than the first on the same split."""
        return self._each(lambda scores: scores - scores[:, :1])

    def _each(self, change: Callable[[np.ndarray], np.ndarray]) -> Comparison:
        changed = {name: change(of_data) for name, of_data in self.scores.items()}
        return Comparison(self.methods, changed)


def standard_error(values: np.ndarray) -> np.ndarray:
    """Of the mean over the first axis; NaN for a single value, which has none."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return values.std(axis=0, ddof=1) / np.sqrt(n)


def places(scores: np.ndarray) -> np.ndarray:
    """Places of the columns in each line, 1 for the highest; equal scores share their mean place.

    Scores that differ by rounding alone are equal.
    """
    return rankdata(-np.round(scores, 12), axis=1)


def interval(
    groups: Sequence[np.ndarray], level: float = LEVEL, draws: int = _DRAWS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the interval of the mean over groups (each lines x columns), for every column.

    Bootstrap in two steps: draw as many groups as there are, with replacement, and in each as many
    lines as it has. Lines of one group are alike, so drawing from all lines would be too sure.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros((draws, groups[0].shape[1]))
    for chosen in rng.integers(len(groups), size=(len(groups), draws)):
        for g, lines in enumerate(groups):
            here = np.flatnonzero(chosen == g)
            drawn = rng.integers(len(lines), size=(here.size, len(lines)))
            total[here] += lines[drawn].mean(axis=1)
    low, high = np.quantile(total / len(groups), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high
