"""Means over splits, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan, sqrt
from statistics import fmean, variance
from typing import NamedTuple

# A difference of more standard errors than this is taken for one.
CLEAR = 2.0


class Estimate(NamedTuple):
    """A mean over splits with its standard error, which is infinite for a single split."""

    mean: float
    error: float

    @property
    def in_errors(self) -> float:
        """The mean in units of its standard error."""
        if self.error == 0:
            return 0.0 if self.mean == 0 else inf if self.mean > 0 else -inf
        return self.mean / self.error

    @property
    def is_clear(self) -> bool:
        """Whether the mean is more than two standard errors above zero."""
        return self.in_errors > CLEAR


def estimate(values: Sequence[float], n_held: int, n_classes: int) -> Estimate:
    """The mean over random splits that each hold out `n_held` of `n_classes` classes.

    Splits share classes, so that n of them tell less than n independent ones: the standard error is
    sqrt((1/n + h/(c - h)) · variance), after Nadeau and Bengio, "Inference for the generalization
    error", Machine Learning 52, 2003.
    """
    if len(values) < 2:
        return Estimate(values[0] if len(values) else nan, inf)
    overlap = n_held / (n_classes - n_held)
    return Estimate(fmean(values), sqrt((1 / len(values) + overlap) * variance(values)))
